"""Sensors of contact: forces on nodes and on obstacles, and where obstacles are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from annelid.core.errors import InvalidValue
from annelid.core.sensors import Reading, Sensor, side_of
from annelid.core.solver import Solver as AnySolver
from annelid.core.state_view import Members, StateView
from annelid.fem.contact.contacts import Contacts
from annelid.fem.sensors import SOLVERS
from annelid.fem.solid import Where
from annelid.shapes import Obstacle

_UNITS = {"forces": "N", "point_forces": "N", "own_forces": "N", "places": "m", "velocities": "m/s"}


@dataclass(frozen=True, eq=False)
class ContactSensor(Sensor):
    """Reads a sum over pairs of node and obstacle, or a row of an obstacle; made by `contact_force_on` and its like.

    Attributes:
        quantity: "forces", "point_forces" (of rigid things on each other), "own_forces" (of the surface on itself),
            "places" or "velocities".
        obstacle: The obstacle: as it was given, its name, or its number; None for all.
        where: Which nodes.
        sign: 1 for forces on the solid, -1 for those on obstacles.
        other: The other obstacle, where rigid things push each other; None for all.
    """

    quantity: str
    obstacle: Obstacle | int | str | None = None
    where: Where = None
    sign: float = 1.0
    other: Obstacle | int | str | None = None

    def attach(self, solver: AnySolver) -> Reading:
        """The sensor of a solid that touches."""
        own, side = side_of(solver, SOLVERS, "contact of a solid")
        if own.contacts is None:
            raise InvalidValue(
                "contact is read of a solid among obstacles: give fem.simulation obstacles, or a fem.Robot obstacles "
                "and contact=fem.Contact()."
            )
        rows, signs, count = self._rows(own.contacts)
        members = Members(own.device, [rows], stride=count, weights=self.sign * signs)
        view = StateView(lambda: members, lambda state: vars(state.touch)[self.quantity])
        return view.reading(own, side, _UNITS[self.quantity])

    def _rows(self, contacts: Contacts) -> tuple[np.ndarray, np.ndarray, int]:
        """Rows of one world that are summed, their signs, and how many it has."""
        if self.quantity == "own_forces":
            return self._rows_of_surface(contacts)
        every = np.arange(len(contacts.rigids))
        if len(every) == 0:
            raise InvalidValue(
                "there is no obstacle whose contact could be read: give fem.simulation obstacles; what pieces of the "
                "solid do to each other is read by fem.self_contact_force_on."
            )
        if self.obstacle is None and self.quantity != "forces":  # only forces can be summed over all of them
            raise InvalidValue("a sensor of an obstacle needs one: give its number, its name, or the thing itself.")
        chosen = every if self.obstacle is None else np.array([contacts.number_of(self.obstacle)])
        if self.quantity == "point_forces":
            return self._rows_of_points(contacts, int(chosen[0]))
        if self.quantity != "forces":
            return chosen, np.ones(len(chosen)), len(every)
        nodes = np.flatnonzero(np.isin(contacts.outer, contacts.solid.indices(self.where)))
        if len(nodes) == 0:
            raise InvalidValue("a sensor of contact needs at least one node of the outer surface that is not held.")
        rows = (nodes[:, None] * len(every) + chosen).ravel()
        return rows, np.ones(len(rows)), len(contacts.outer) * len(every)

    def _rows_of_surface(self, contacts: Contacts) -> tuple[np.ndarray, np.ndarray, int]:
        """Nodes of the surface that touches itself."""
        if contacts.surface is None:
            raise InvalidValue("this solid does not touch itself: give contact=fem.Contact(itself=True).")
        rows = np.flatnonzero(np.isin(contacts.surface, contacts.solid.indices(self.where)))
        if len(rows) == 0:
            raise InvalidValue("a sensor of contact needs at least one node of the outer surface.")
        return rows, np.ones(len(rows)), len(contacts.surface)

    def _rows_of_points(self, contacts: Contacts, body: int) -> tuple[np.ndarray, np.ndarray, int]:
        """Pairs of points of free bodies and obstacles: the body's own, and those that push it from other bodies."""
        rigids, owners = contacts.rigids, contacts.bodies.owners
        other = None if self.other is None else contacts.number_of(self.other)
        if rigids[body].moves != "free" and (other is None or rigids[other].moves != "free"):
            raise InvalidValue(
                f"forces between rigid things are those of free bodies, and {rigids[body].called(body)}, is not free: "
                "name one that is (motion='free'), or read what the solid does to it by fem.contact_force_of."
            )
        owner, obstacle = np.repeat(owners, len(rigids)), np.tile(np.arange(len(rigids)), len(owners))
        signs = np.where(owner == body, 1.0, 0.0) * (True if other is None else obstacle == other)
        signs -= np.where(obstacle == body, 1.0, 0.0) * (True if other is None else owner == other)
        rows = np.flatnonzero(signs)
        return rows, signs[rows], len(signs)


def contact_force_on(where: Where = None, *, obstacle: Obstacle | int | str | None = None) -> Sensor:
    """Force of obstacles, or of one of them, on nodes of a solid at the end of the last step [N], x, y, z."""
    return ContactSensor("forces", obstacle, where)


def contact_force_of(obstacle: Obstacle | int | str) -> Sensor:
    """Force of a solid on an obstacle at the end of the last step [N], x, y, z."""
    return ContactSensor("forces", obstacle, sign=-1.0)


def contact_force_between(body: Obstacle | int | str, other: Obstacle | int | str | None = None) -> Sensor:
    """Force of rigid things, or of one of them, on a free body at the end of the last step [N], x, y, z.

    A table under a thing that is grasped: what is left of its weight there.
    """
    return ContactSensor("point_forces", body, other=other)


def self_contact_force_on(where: Where = None) -> Sensor:
    """Force of the solid's own surface on nodes at the end of the last step [N], x, y, z.

    Of the nodes of a piece it is what the other pieces do to it; of all nodes the sum is 0.
    """
    return ContactSensor("own_forces", where=where)


def obstacle_position(obstacle: Obstacle | int | str) -> Sensor:
    """Centre of mass of an obstacle [m], x, y, z."""
    return ContactSensor("places", obstacle)


def obstacle_velocity(obstacle: Obstacle | int | str) -> Sensor:
    """Velocity of the centre of mass of an obstacle [m/s], x, y, z."""
    return ContactSensor("velocities", obstacle)
