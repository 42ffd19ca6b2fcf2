"""Contacts of a few nodes with obstacles, always on the CPU: small problems on them wait for no device."""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from annelid.core.readback import Mirror
from annelid.core.replay import Launcher
from annelid.fem.contact.contacts import Contacts
from annelid.fem.contact.places import Pose
from annelid.fem.contact.points import PointContacts
from annelid.fem.kernels.few_points import OWN, PAIR, tell_points

_ROOM = 32  # nodes by which there is room for more: points of one size are made once


class FewPoints:
    """The contacts of some outer nodes, of a solid that touches obstacles with nodes only.

    Args:
        contacts: What the solid touches.
    """

    def __init__(self, contacts: Contacts) -> None:
        self._contacts, self._host, device = contacts, wp.get_device("cpu"), contacts.device
        self._forms = contacts.forms_on(self._host)
        self._begun, self._now = (Pose(len(contacts.rigids), self._host) for _ in range(2))
        self._frictions = contacts.nodes.frictions.reshape(contacts.nodes.size)
        count, obstacles = contacts.nodes.size
        told = wp.zeros((count, OWN + PAIR * obstacles), dtype=wp.float64, device=device)
        self._told, self._mirror, self._launcher = told, Mirror(told), Launcher(device)
        self._tables: dict[int, _Table] = {}

    def touched(self, places: wp.array[Any]) -> np.ndarray:
        """Whether a node resists motion as contacts were evaluated last, at these places [m], shape [n].

        What `begin` needs is read with it.
        """
        contacts, whole = self._contacts, self._contacts.nodes
        lagging = [whole.starts, whole.stretches, whole.strengths, whole.normals, whole.tangent]
        known = [whole.size[1], whole.points.numbers, places, *lagging]
        self._launcher.launch(tell_points, whole.size[0], [*known, self._told])
        found = np.zeros(len(contacts.rows), bool)
        found[contacts.outer] = self._mirror.read()[:, OWN - 1] > 0.0
        return found

    def begin(self, nodes: np.ndarray) -> None:
        """Take outer nodes, shape [t], where `touched` was asked last, and what the step began with."""
        contacts, count = self._contacts, len(nodes)
        rows = contacts.rows[nodes]
        room = -(-count // _ROOM) * _ROOM
        filled = np.concatenate([rows, np.broadcast_to(rows[:1], room - count)])  # the first one again and again
        self._begun.set(contacts.begun.places, contacts.begun.turns)
        self._now.set(contacts.now.places, contacts.now.turns)
        self._count, self._table = count, self._table_of(room)
        told, table = self._mirror.numbers[filled], self._table
        table.starts[:], self._here = told[:, :3], told[:, 3:6]
        pairs = told[:, OWN:].reshape(-1, PAIR)
        table.stretches[:], table.strengths[:], table.normals[:] = pairs[:, :3], pairs[:, 3], pairs[:, 4:]
        table.frictions[:] = self._frictions[filled].ravel()
        table.places[:] = self._here
        self.first = self._evaluated()

    def look(self, moved: np.ndarray) -> np.ndarray:
        """Forces after the nodes have moved [N], shape [t, 3], with friction as it is there."""
        self._place(moved)
        self._table.points.follow(self._table.positions)
        return self._evaluated()

    def tangents(self) -> np.ndarray:
        """How nodes resist motion from where they were looked at last [N/m], friction following, shape [t, 3, 3]."""
        self._table.follow()
        return self._table.followed[: self._count]

    def free_part(self, moved: np.ndarray, steps: np.ndarray) -> float:
        """Part of a further step on which no node goes through anything."""
        self._place(moved)
        table, pose = self._table, self._now.device_pose
        table.ways[: self._count] = steps
        table.ways[self._count :] = steps[0]
        return table.points.free_part(table.positions, table.way, pose, pose)

    def _place(self, moved: np.ndarray) -> None:
        places, count = self._table.places, self._count
        places[:count] = self._here[:count] + moved
        places[count:] = places[0]

    def _evaluated(self) -> np.ndarray:
        self._table.points.evaluate(self._table.positions)
        return self._table.forces[: self._count].copy()

    def _table_of(self, room: int) -> _Table:
        if room not in self._tables:
            contacts = self._contacts
            points = PointContacts(
                np.arange(room), room, self._forms, np.zeros((room, contacts.nodes.size[1])),
                reach=contacts.nodes.reach, skins=contacts.settings.skin, device=self._host,
            )  # fmt: skip
            points.begin(self._begun.device_pose, self._now.device_pose, points.stretches, points.starts)
            self._tables[room] = _Table(points)
        return self._tables[room]


class _Table:
    """Points of one number, whose arrays are read and written where they lie."""

    def __init__(self, points: PointContacts) -> None:
        self.points, count = points, points.size[0]
        self.positions, self.way = (wp.zeros(count, dtype=wp.vec3d, device=points.device) for _ in range(2))
        self.places, self.ways = self.positions.numpy(), self.way.numpy()
        self.starts, self.stretches = points.starts.numpy(), points.stretches.numpy()
        self.strengths, self.normals = points.strengths.numpy(), points.normals.numpy()
        self.frictions = points.points.frictions.numpy()
        self.forces = points.forces.numpy()[:, 0]
        self._followed = wp.zeros(count, dtype=wp.mat33d, device=points.device)
        self.followed = self._followed.numpy()

    def follow(self) -> None:
        """Find how points resist with friction that follows."""
        self.points.follow_tangents(self.positions, self._followed)
