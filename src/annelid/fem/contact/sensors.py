"""Sensors of contact: forces on nodes and on obstacles, and where obstacles are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
import warp as wp

from annelid.core.errors import InvalidValue
from annelid.core.kernels.sums import PARTS, Sums, finish_sum
from annelid.core.sensors import Reading, Sensor
from annelid.core.solver import Solver as AnySolver
from annelid.fem.contact.contacts import Contacts
from annelid.fem.kernels.sensing import sum_vectors
from annelid.fem.solid import Where
from annelid.shapes import Obstacle

_XYZ = ("x", "y", "z")
_UNITS = {"forces": "N", "places": "m", "velocities": "m/s"}


@runtime_checkable
class Surrounded(Protocol):
    """A solver of a solid or a robot that may have obstacles around it."""

    device: wp.Device

    @property
    def worlds(self) -> int:
        """Number of independent worlds side by side."""
        ...

    @property
    def contacts(self) -> Contacts | None:
        """What is touched; None where there is nothing."""
        ...


@dataclass(frozen=True, eq=False)
class ContactSensor(Sensor):
    """Reads a sum over pairs of node and obstacle, or a row of an obstacle; made by `contact_force_on` and its like.

    Attributes:
        quantity: "forces", "places" or "velocities".
        obstacle: The obstacle: as it was given, its name, or its number; None for all.
        where: Which nodes.
        sign: 1 for forces on the solid, -1 for those on obstacles.
    """

    quantity: str
    obstacle: Obstacle | int | str | None = None
    where: Where = None
    sign: float = 1.0

    def attach(self, solver: AnySolver) -> Reading:
        """The sensor of a solid that touches."""
        if not isinstance(solver, Surrounded) or not isinstance(solver.contacts, Contacts):
            raise InvalidValue(
                "contact is read of a solid among obstacles: give fem.simulation obstacles, or a fem.Robot obstacles "
                "and contact=fem.Contact()."
            )
        device, worlds = solver.device, solver.worlds
        rows, count = self._rows(solver.contacts)
        members = wp.array(rows.astype(np.int32), dtype=wp.int32, device=device)
        shares = wp.array(np.full(len(rows), self.sign), dtype=wp.float64, device=device)
        sums = wp.zeros((worlds, PARTS), dtype=Sums, device=device)

        def read(state: Any, out: wp.array[Any], first: int) -> None:
            vectors = vars(state.touch)[self.quantity]
            wp.launch(sum_vectors, sums.shape, [count, members, shares, vectors], [sums], device=device)
            wp.launch(finish_sum, worlds, [sums, 1.0, 0, 3, first], [out], device=device)

        return Reading(read, (3,), _UNITS[self.quantity], _XYZ)

    def _rows(self, contacts: Contacts) -> tuple[np.ndarray, int]:
        """Rows of one world that are summed, and how many it has."""
        every = np.arange(len(contacts.rigids))
        chosen = every if self.obstacle is None else np.array([contacts.number_of(self.obstacle)])
        if self.quantity != "forces":
            return chosen, len(every)
        nodes = np.flatnonzero(np.isin(contacts.outer, contacts.solid.indices(self.where)))
        if len(nodes) == 0:
            raise InvalidValue("a sensor of contact needs at least one node of the outer surface that is not held.")
        return (nodes[:, None] * len(every) + chosen).ravel(), len(contacts.outer) * len(every)


def contact_force_on(where: Where = None, *, obstacle: Obstacle | int | str | None = None) -> Sensor:
    """Force of obstacles, or of one of them, on nodes of a solid at the end of the last step [N], x, y, z."""
    return ContactSensor("forces", obstacle, where)


def contact_force_of(obstacle: Obstacle | int | str) -> Sensor:
    """Force of a solid on an obstacle at the end of the last step [N], x, y, z."""
    return ContactSensor("forces", obstacle, sign=-1.0)


def obstacle_position(obstacle: Obstacle | int | str) -> Sensor:
    """Centre of mass of an obstacle [m], x, y, z."""
    return ContactSensor("places", obstacle)


def obstacle_velocity(obstacle: Obstacle | int | str) -> Sensor:
    """Velocity of the centre of mass of an obstacle [m/s], x, y, z."""
    return ContactSensor("velocities", obstacle)
