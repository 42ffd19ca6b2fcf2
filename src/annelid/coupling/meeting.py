"""What surrounds a soft body and grains, whatever the body is made of, and how their contacts are computed."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal

import numpy as np

from annelid.core.described import Brief
from annelid.core.errors import InvalidValue, UnknownName
from annelid.core.options import Auto
from annelid.core.parameters import Checked, documented, parameter
from annelid.coupling.steps import LIVELY
from annelid.coupling.surface import STRETCH
from annelid.grains import Bed
from annelid.grains import World as GrainsWorld
from annelid.grains.controls import AnyControl
from annelid.grains.material import response_of
from annelid.grains.rigid import bounce_together
from annelid.grains.steps import Load, default_step, meeting_step
from annelid.shapes import Obstacle, Surface
from annelid.shapes.values import Vector

WHOLE = 1.0e-6
"""How far a ratio of steps may be from a whole number."""

_SKIN = 0.4  # of lists: those of guests take long to make, and the surface of a body moves more than a bed
_OF_BOTH = ("dt", "gravity", "obstacles", "controls")  # options that are not given to the sides one by one


@documented
@dataclass(frozen=True, kw_only=True, repr=False)
class MeetingWorld(Brief, Checked):
    """Gravity, obstacles, how a body meets grains, and options of these."""

    of_what: ClassVar[str] = "a simulation of bodies and grains"

    dt: float | Auto = parameter(
        "auto",
        'Time step [s], at whose ends body and grains meet; "auto" takes one that suits bed and body: beside a solid '
        "2 ms or a little less, and among free bodies half of it, a quarter... until the solid yields little more than "
        "its surface.",
        unit="s", above=0.0,
    )  # fmt: skip
    gravity: Vector = parameter((0.0, 0.0, -9.81), "Acceleration of gravity [m/s²].")
    obstacles: Sequence[Obstacle] = parameter(
        (),
        "What grains and the surface of the body touch: rigid things, or bare geometries, see `annelid.shapes.Rigid`.",
    )
    controls: Sequence[AnyControl] = parameter(
        (),
        "Channels of rigid bodies, see `grains.velocity_control`; spring bodies bring theirs (`body.control`), and a "
        "solid has those of its actuators.",
    )
    grains: Mapping[str, Any] | None = parameter(
        None, "Other attributes of `grains.World`: iterations, tolerance, softness, period..."
    )
    skin: Surface | None = parameter(
        None,
        "How the surface of the body responds to contact; None is that of the solid, `solid.surface`, or a plain "
        "`Surface()`.",
    )
    stretch: float = parameter(
        STRETCH, "How much longer the surface of the body may become before grains fit through it, as a factor.",
        least=1.0,
    )  # fmt: skip
    inside: Literal["refuse", "push", "remove", "allow"] = parameter(
        "refuse", 'What to do with grains that start inside the body: "refuse", "push", "remove" or "allow".'
    )
    overlapping: Literal["refuse", "push", "allow"] = parameter(
        "refuse", 'The same for grains inside each other or a rigid body: "refuse", "push" or "allow".'
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        require_apart("grains", self.grains, GrainsWorld)
        self.grains_world()  # refuses what grains cannot have

    def longest(self, bed: Bed, loads: Sequence[Load]) -> float:
        """Longest step of the grains that suits bed and bodies [s], whatever these are made of."""
        suits, solved = default_step(bed, self.grains_world(), loads=loads), self.converges
        return min(suits if solved else LIVELY * suits, meeting_step(bed, loads, solved=solved))

    @property
    def converges(self) -> bool:
        """Whether steps of the grains converge; before a world is fitted to bed and body: if nothing bounces."""
        return self.grains_world().converges(bouncing=False)

    def contact_options(self, bed: Bed, loads: Sequence[Load], skin: Surface) -> dict[str, Any]:
        """Options of the grains with contacts that do not depend on any step, in steps that converge or do not.

        Args:
            bed: The grains of one world.
            loads: What falls into them.
            skin: How the surface of the body responds to contact.
        """
        world = self.grains_world()
        own = [response_of(skin), *(bed.materials[kind].numbers for kind in np.unique(bed.kinds))]
        both = bounce_together(world.touched, [one.numbers[1] for one in world.touched])
        bouncing = both or any(numbers[1] > 0.0 for numbers in own)
        options = {"skin": _SKIN, **(self.grains or {})}
        options.setdefault("contact_step", default_step(bed, world, loads=loads))
        options["converge"] = world.converges(bouncing=bouncing)
        return options

    def grains_world(self, dt: float | Auto = "auto") -> GrainsWorld:
        """Where the grains live."""
        world = GrainsWorld(
            dt=dt, gravity=self.gravity, obstacles=self.obstacles, controls=self.controls, **(self.grains or {})
        )
        if world.method != "nonsmooth" or world.too_fast == "substep":
            raise InvalidValue(
                "grains beside soft bodies are computed by the nonsmooth method in steps of one length: leave out "
                "method and too_fast='substep'."
            )
        return world


def require_apart(
    side: str, options: Mapping[str, Any] | None, world: type[Any], but: Collection[str] = ()
) -> None:  # fmt: skip
    """Refuse options of a side that are given to the whole, and those that it does not have, or not beside others."""
    known = [one.name for one in fields(world) if one.name not in (*_OF_BOTH, *but)]
    for option in options or {}:
        if option in _OF_BOTH:
            raise InvalidValue(
                f"{option} cannot be among the options of {side}: give {option}= itself, for both sides."
            )
        if option not in known:
            raise UnknownName(f"option of the {side}", option, known)


def whole_multiple(name: str, dt: float, part: float) -> int:
    """How many shorter steps of a side there are in a step of the whole; other ratios than whole ones are refused.

    Args:
        name: Name of the option of the shorter step.
        dt: Step of the whole [s].
        part: The shorter step [s].
    """
    ratio = dt / part
    nearest = max(1, round(ratio)) if math.isfinite(ratio) else 1
    if not abs(ratio - nearest) <= WHOLE * nearest:
        raise InvalidValue(
            f"dt = {dt:g} s is not a whole multiple of {name} = {part:g} s: use dt = {nearest * part:.6g} s, or "
            f"{name} = {dt / nearest:.6g} s."
        )
    return nearest
