"""What surrounds a soft body and grains, whatever the body is made of, and how their contacts are computed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from annelid.core.errors import InvalidValue, UnknownName
from annelid.core.options import Auto, Named, require_kind
from annelid.coupling.steps import LIVELY
from annelid.grains import Bed
from annelid.grains import World as GrainsWorld
from annelid.grains.controls import AnyControl, require_controls
from annelid.grains.material import response_of
from annelid.grains.rigid import bounce_together, touched_by_grains
from annelid.grains.steps import Load, default_step, meeting_step
from annelid.shapes import Obstacle, Surface
from annelid.shapes.values import as_vector

_SKIN = 0.4  # of lists: those of guests take long to make, and the surface of a body moves more than a bed
OF_BOTH = frozenset({"dt", "gravity", "obstacles", "controls"})
"""Options that are not given to the sides one by one."""


@dataclass(frozen=True, kw_only=True)
class MeetingWorld(Named):
    """Gravity, obstacles, and options of the grains.

    Attributes:
        gravity: Acceleration of gravity [m/s²].
        obstacles: What grains and the surface of the body touch: rigid things, or bare geometries, see
            `annelid.shapes.Rigid`.
        controls: Channels of rigid bodies, see `grains.velocity_control`.
        grains: Other attributes of `grains.World`: iterations, tolerance, softness, period...
    """

    gravity: tuple[float, float, float] = (0.0, 0.0, -9.81)
    obstacles: Sequence[Obstacle] = field(default=(), repr=False)
    controls: Sequence[AnyControl] = ()
    grains: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "gravity", as_vector("gravity", self.gravity))
        touched_by_grains(self.obstacles)  # refuses what cannot be touched
        require_controls(self.controls)
        require_options("grains", self.grains, [one.name for one in fields(GrainsWorld)])

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
        options = {"skin": _SKIN, **self.grains}
        options.setdefault("contact_step", default_step(bed, world, loads=loads))
        options["converge"] = world.converges(bouncing=bouncing)
        return options

    def grains_world(self, dt: float | Auto = "auto") -> GrainsWorld:
        """Where the grains live."""
        world = GrainsWorld(
            dt=dt, gravity=self.gravity, obstacles=self.obstacles, controls=self.controls, **self.grains
        )
        if world.method != "nonsmooth" or world.too_fast == "substep":
            raise InvalidValue(
                "grains beside soft bodies are computed by the nonsmooth method in steps of one length: leave out "
                "method and too_fast='substep'."
            )
        return world


def require_options(name: str, options: Mapping[str, Any], known: Iterable[str]) -> None:
    """Refuse options of a side that it does not have, or that are given to the world itself."""
    require_kind(f"options of the {name}", options, Mapping, "values by name, {name: value}")
    both = sorted(OF_BOTH & set(options))
    if both:
        raise InvalidValue(f"{both[0]} cannot be among the options of {name}: give {both[0]}= itself, for both sides.")
    own = [one for one in known if one not in OF_BOTH]
    for option in options:
        if option not in own:
            raise UnknownName(f"option of the {name}", option, own)
