"""What surrounds a solid of finite elements and how time passes for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from annelid.core.described import Brief
from annelid.core.errors import InvalidValue
from annelid.core.numbers import is_number
from annelid.core.options import Named
from annelid.fem.contact.obstacles import touched_by_solids
from annelid.fem.contact.settings import Contact
from annelid.fem.integrators import Integrator, stage_of
from annelid.shapes import Obstacle, ResistiveGround
from annelid.shapes.resistive.among import require_no_hollows, sand_among
from annelid.shapes.values import as_vector, step_or

_SHORTEST = 1e-15
"""Shortest time step [s]: in a shorter one nothing moves by as much as positions can tell."""


@dataclass(frozen=True, kw_only=True, repr=False)
class World(Brief, Named):
    """What surrounds a solid and how time passes for it.

    Attributes:
        dt: Time step [s]; of a solid without inertia, the time that a step from equilibrium to equilibrium stands for.
        gravity: Acceleration of gravity [m/s²].
        integrator: How a solid in motion is stepped: "backward-euler", which damps oscillations the more the longer the
            step, "midpoint", which does not but costs two to three times as much, or "linearly-implicit", which damps
            like the first and solves one linear system a step; of no use without inertia.
        velocity_damping: Rate at which velocities decay [1/s]; of no use without inertia.
        ramp: Time over which loads and offsets grow from nothing to all [s]; 0 applies all in the first step.
        obstacles: Rigid things that the solid touches; robots touch fewer of them, and without friction. A solid in
            motion may sink into one `ResistiveGround` among them.
        contact: How a solid touches them; of no use to robots.
    """

    dt: float = 0.01
    gravity: tuple[float, float, float] = (0.0, 0.0, -9.81)
    integrator: Integrator = "backward-euler"
    velocity_damping: float = 0.0
    ramp: float = 0.0
    obstacles: Sequence[Obstacle] = ()
    contact: Contact = field(default_factory=Contact)

    def __post_init__(self) -> None:
        object.__setattr__(self, "dt", step_or("dt", self.dt, World.dt))
        if self.dt < _SHORTEST:
            raise InvalidValue(f"dt = {self.dt:g} s cannot be used; give a time step of {_SHORTEST:g} s or more.")
        object.__setattr__(self, "gravity", as_vector("gravity", self.gravity))
        stage_of(self.integrator)  # refuses unknown ones
        if not (is_number(self.velocity_damping) and self.velocity_damping >= 0.0):
            raise InvalidValue(f"velocity_damping must be a rate of 0 or more [1/s], not {self.velocity_damping!r}.")
        if not (is_number(self.ramp) and self.ramp >= 0.0):
            raise InvalidValue(f"ramp must be a time of 0 or more in seconds, not {self.ramp!r}.")
        require_no_hollows(self.sand, "solids")
        touched_by_solids(self.touched)  # refuses what cannot be touched
        if not isinstance(self.contact, Contact):
            raise InvalidValue(f"contact must be a fem.Contact, such as fem.Contact(reach=1e-3), not {self.contact!r}.")

    @property
    def sand(self) -> ResistiveGround | None:
        """The ground among the obstacles that resists like sand; None where there is none."""
        return sand_among(self.obstacles, "solids")

    @property
    def touched(self) -> list[Obstacle]:
        """The other obstacles."""
        return [one for one in self.obstacles if not isinstance(one, ResistiveGround)]
