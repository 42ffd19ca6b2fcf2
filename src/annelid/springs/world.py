"""What surrounds spring bodies and how they are integrated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import warp as wp

from annelid.core.described import Brief
from annelid.core.errors import InvalidValue
from annelid.core.numbers import is_number
from annelid.core.options import Auto, Named, is_among
from annelid.shapes import Obstacle, ResistiveGround
from annelid.shapes.resistive.among import sand_among
from annelid.shapes.values import as_vector, require_positive, require_step
from annelid.springs.actuation import require_function
from annelid.springs.collisions import Collide
from annelid.springs.kernels.passes import PASSES
from annelid.springs.motors import Motor
from annelid.springs.obstacles import Contact, contacts_of

PRECISIONS = {"float32": wp.float32, "float64": wp.float64}
PREPARED = ("damping", "breaking")


@dataclass(frozen=True, kw_only=True, repr=False)
class World(Brief, Named):
    """What surrounds a body and how it is integrated.

    Attributes:
        dt: Time step [s]; "auto" takes 0.8 of the stable step of springs, dampings and contacts, 0.5 of that of a
            contact alone where that is shorter, and at most 1e-3, or 1e-4 where masses touch each other.
        integrator: "euler" (forward), "symplectic", "verlet" or "rk4".
        precision: "float32" or "float64".
        gravity: Acceleration of gravity [m/s²].
        velocity_damping: Rate at which velocities decay [1/s].
        drag: Force on a mass per squared speed [kg/m].
        obstacles: What masses can touch: fixed rigid things, or bare geometries, see `annelid.shapes.Rigid`, and at
            most one `ResistiveGround`.
        collisions: Groups of masses that touch each other; nobody does unless told.
        motors: Motors on the hinges of the body.
        prepare: Features to make ready for later edits though the body does not use them yet: "damping", "breaking".
        forces: The user's forces, Warp functions `(time, index, position, velocity, mass) -> force [N]`.
        constraints: The user's constraints, Warp functions `(time, index, position, velocity) -> velocity`.
        dashpots: How contacts with obstacles slow masses down: "constant", or "growing" with the depth, so that the
            force begins at 0; None is "constant", and "growing" in rollouts.
        relaxation: Time over which dashpots of springs build up their force [s]: 0 for at once; "auto" takes as
            much as lets them shorten the step by no more than a factor of √2, where they would by more than 2.
        hardness: Stiffness over mass of contacts with surfaces that give no stiffness [1/s²]; "auto" takes what suits
            the body, see `annelid.springs.hardness`.

    Functions of the user get the time since their world began [s] and the number of the mass in it.
    """

    dt: float | Auto = "auto"
    integrator: str = "symplectic"
    precision: str = "float32"
    gravity: tuple[float, float, float] = (0.0, 0.0, -9.81)
    velocity_damping: float = 0.0
    drag: float = 0.0
    obstacles: Sequence[Obstacle] = ()
    collisions: Sequence[Collide] = ()
    motors: Sequence[Motor] = ()
    prepare: tuple[str, ...] = ()
    forces: Sequence[wp.Function] = ()
    constraints: Sequence[wp.Function] = ()
    dashpots: Literal["constant", "growing"] | None = None
    relaxation: float | Auto = "auto"
    hardness: float | Auto = "auto"

    def __post_init__(self) -> None:
        object.__setattr__(self, "dt", require_step("dt", self.dt))
        if not isinstance(self.integrator, str) or self.integrator not in PASSES:
            raise InvalidValue(f"integrator {self.integrator!r} must be one of {', '.join(PASSES)}.")
        if not isinstance(self.precision, str) or self.precision not in PRECISIONS:
            raise InvalidValue(f"precision {self.precision!r} must be 'float32' or 'float64'.")
        if not is_among(self.dashpots, (None, "constant", "growing")):
            raise InvalidValue(f"dashpots {self.dashpots!r} must be 'constant', 'growing' or None.")
        for name in ("velocity_damping", "drag"):
            value = getattr(self, name)
            if not (is_number(value) and value >= 0.0):
                raise InvalidValue(f"{name} must not be negative, not {value!r:.60}.")
        if self.hardness != "auto":
            require_positive("hardness", self.hardness)
        if self.relaxation != "auto" and not (is_number(self.relaxation) and self.relaxation >= 0.0):
            raise InvalidValue(f"relaxation must be a time of 0 s or more, or 'auto', not {self.relaxation!r:.60}.")
        object.__setattr__(self, "gravity", as_vector("gravity", self.gravity))
        listed = isinstance(self.prepare, list | tuple | set | frozenset)
        if not listed or not all(isinstance(one, str) and one in PREPARED for one in self.prepare):
            raise InvalidValue(
                f"prepare = {self.prepare!r:.60} cannot be used; give a tuple of {' and '.join(PREPARED)}."
            )
        for name in ("collisions", "motors", "forces", "constraints"):
            if not isinstance(getattr(self, name), Sequence):
                raise InvalidValue(f"{name} must be a list, not {type(getattr(self, name)).__name__}.")
        self.contacts  # noqa: B018 (obstacles that cannot be touched are refused here)
        _require_kind("collision", self.collisions, Collide, "Collide")
        _require_kind("motor", self.motors, Motor, "Motor")
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


def _require_kind(what: str, given: Sequence[Any], kind: type, accepted: str) -> None:
    for one in given:
        if not isinstance(one, kind):
            raise InvalidValue(f"each {what} must be a {accepted}, not {type(one).__name__}.")
