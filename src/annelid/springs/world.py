"""What surrounds spring bodies and how they are integrated."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

import warp as wp

from annelid.core.described import Brief
from annelid.core.errors import InvalidValue
from annelid.core.options import Auto, Precision
from annelid.core.parameters import Checked, documented, parameter
from annelid.shapes import Obstacle, ResistiveGround
from annelid.shapes.resistive.among import sand_among
from annelid.shapes.values import Vector
from annelid.springs.actuation import require_function
from annelid.springs.collisions import Collide
from annelid.springs.motors import Motor
from annelid.springs.obstacles import Contact, contacts_of

PRECISIONS = {"float32": wp.float32, "float64": wp.float64}
PREPARED = ("damping", "breaking")


@documented
@dataclass(frozen=True, kw_only=True, repr=False)
class World(Brief, Checked):
    """What surrounds a body and how it is integrated.

    Functions of the user get the time since their world began [s] and the number of the mass in it.
    """

    of_what: ClassVar[str] = "a simulation of springs"

    dt: float | Auto = parameter(
        "auto",
        'Time step [s]; "auto" takes 0.8 of the stable step of springs, dampings and contacts, 0.5 of that of a '
        "contact alone where that is shorter, and at most 1e-3, or 1e-4 where masses touch each other.",
        unit="s", above=0.0,
    )  # fmt: skip
    integrator: Literal["euler", "symplectic", "verlet", "rk4"] = parameter(
        "symplectic", '"euler" (forward), "symplectic", "verlet" or "rk4".'
    )
    precision: Precision = parameter("float32", '"float32" or "float64".')
    gravity: Vector = parameter((0.0, 0.0, -9.81), "Acceleration of gravity [m/s²].")
    velocity_damping: float = parameter(0.0, "Rate at which velocities decay [1/s].", unit="1/s", least=0.0)
    drag: float = parameter(0.0, "Force on a mass per squared speed [kg/m].", unit="kg/m", least=0.0)
    obstacles: Sequence[Obstacle] = parameter(
        (),
        "What masses can touch: rigid things, or bare geometries, see `annelid.shapes.Rigid`, and at "
        "most one `ResistiveGround`.",
    )
    collisions: Sequence[Collide] = parameter((), "Groups of masses that touch each other; no others do.")
    motors: Sequence[Motor] = parameter((), "Motors on the hinges of the body.")
    prepare: Collection[str] = parameter(
        (), 'Features to make ready for later edits though the body does not use them yet: "damping", "breaking".'
    )
    forces: Sequence[Any] = parameter(
        (), "The user's forces, Warp functions `(time, index, position, velocity, mass) -> force [N]`."
    )
    constraints: Sequence[Any] = parameter(
        (), "The user's constraints, Warp functions `(time, index, position, velocity) -> velocity`."
    )
    dashpots: Literal["constant", "growing"] | None = parameter(
        None,
        'How contacts with obstacles slow masses down: "constant", or "growing" with the depth, so that the force '
        'begins at 0 (restitution is then that of an impact at 1 m/s); None is "constant", and "growing" in rollouts.',
    )
    relaxation: float | Auto = parameter(
        "auto",
        'Time over which dashpots of springs build up their force [s]: 0 for at once; "auto" takes as much as lets '
        "them shorten the step by no more than a factor of √2, where they would by more than 2.",
        unit="s", least=0.0,
    )  # fmt: skip
    hardness: float | Auto = parameter(
        "auto",
        'Stiffness over mass of contacts with surfaces that give no stiffness [1/s²]; "auto" takes what suits the '
        "body, see `annelid.springs.hardness`.",
        unit="1/s²", above=0.0,
    )  # fmt: skip

    def __post_init__(self) -> None:
        super().__post_init__()
        listed = isinstance(self.prepare, list | tuple | set | frozenset)
        if not listed or not all(isinstance(one, str) and one in PREPARED for one in self.prepare):
            raise InvalidValue(
                f"prepare = {self.prepare!r:.60} cannot be used; give a tuple of {' and '.join(PREPARED)}."
            )
        self.contacts  # noqa: B018 (obstacles that cannot be touched are refused here)
        for function in (*self.forces, *self.constraints):
            require_function(function)

    @cached_property
    def contacts(self) -> tuple[Contact, ...]:
        """The rigid obstacles as masses touch them."""
        return contacts_of(self.obstacles, 0.0 if self.hardness == "auto" else self.hardness)

    @cached_property
    def sand(self) -> ResistiveGround | None:
        """The obstacle that resists like sand."""
        return sand_among(self.obstacles, "springs")
