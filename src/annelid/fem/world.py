"""What surrounds a solid of finite elements and how time passes for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from annelid.core.described import Brief
from annelid.core.errors import InvalidValue
from annelid.core.options import Auto
from annelid.core.parameters import Checked, documented, parameter
from annelid.fem.contact.obstacles import touched_by_solids
from annelid.fem.contact.settings import Contact
from annelid.fem.integrators import Integrator
from annelid.shapes import Obstacle, ResistiveGround
from annelid.shapes.resistive.among import require_no_hollows, sand_among
from annelid.shapes.values import Vector

_SHORTEST = 1e-15
"""Shortest time step [s]: in a shorter one nothing moves by as much as positions can tell."""

USUAL_STEP = 0.01
"""Time step where none is given [s]."""


@documented
@dataclass(frozen=True, kw_only=True, repr=False)
class World(Brief, Checked):
    """What surrounds a solid and how time passes for it."""

    of_what: ClassVar[str] = "a simulation of a solid"

    dt: float | Auto = parameter(
        "auto",
        'Time step [s], "auto" is 0.01 s; of a solid without inertia, the time that a step from equilibrium to '
        "equilibrium stands for.",
        unit="s", least=_SHORTEST,
    )  # fmt: skip
    gravity: Vector = parameter((0.0, 0.0, -9.81), "Acceleration of gravity [m/s²].")
    integrator: Integrator = parameter(
        "backward-euler",
        'How a solid in motion is stepped: "backward-euler", which damps oscillations the more the longer the step, '
        '"midpoint", which does not but costs two to three times as much, or "linearly-implicit", which damps like the '
        "first and solves one linear system a step; of no use without inertia.",
    )
    velocity_damping: float = parameter(
        0.0, "Rate at which velocities decay [1/s]; of no use without inertia.", unit="1/s", least=0.0
    )
    ramp: float = parameter(
        0.0,
        "Time over which loads and offsets grow from nothing to all [s]; 0 applies all in the first step.",
        unit="s", least=0.0,
    )  # fmt: skip
    obstacles: Sequence[Obstacle] = parameter(
        (),
        "Rigid things that the solid touches, with friction, and at most one `ResistiveGround`, if it is in motion.",
    )
    contact: Contact = parameter(
        Contact(),
        "How it touches them, and whether it touches itself: at what gap, how stiffly; by default as mesh and material "
        "say, and one piece of a mesh touches another.",
    )

    def __post_init__(self) -> None:
        if self.contact is None:
            object.__setattr__(self, "contact", Contact())
        if not isinstance(self.contact, Contact):
            raise InvalidValue(f"contact must be a fem.Contact, such as fem.Contact(reach=1e-3), not {self.contact!r}.")
        super().__post_init__()
        require_no_hollows(self.sand, "solids")
        touched_by_solids(self.touched)  # refuses what cannot be touched

    @property
    def step(self) -> float:
        """Time step [s]."""
        return USUAL_STEP if self.dt == "auto" else self.dt

    @property
    def sand(self) -> ResistiveGround | None:
        """The ground among the obstacles that resists like sand; None where there is none."""
        return sand_among(self.obstacles, "solids")

    @property
    def touched(self) -> list[Obstacle]:
        """The other obstacles."""
        return [one for one in self.obstacles if not isinstance(one, ResistiveGround)]
