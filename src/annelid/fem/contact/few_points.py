"""Contacts of a few nodes with obstacles, always on the CPU: small problems on them wait for no device."""

from __future__ import annotations

import numpy as np
import warp as wp

from annelid.fem.contact.contacts import Contacts
from annelid.fem.contact.places import Pose
from annelid.fem.contact.points import PointContacts
from annelid.fem.contact.sliding import sliding


class FewPoints:
    """The contacts of some outer nodes, of a solid that touches obstacles with nodes only.

    Args:
        contacts: What the solid touches.
    """

    def __init__(self, contacts: Contacts) -> None:
        self._contacts, self._host = contacts, wp.get_device("cpu")
        self._forms = contacts.forms_on(self._host)
        self._begun, self._now = (Pose(len(contacts.rigids), self._host) for _ in range(2))
        self._frictions = contacts.nodes.points.frictions.numpy().reshape(contacts.nodes.size)
        self._nodes = np.zeros(0, int)

    def begin(self, nodes: np.ndarray, here: np.ndarray) -> None:
        """Take nodes, shape [t], which are here [m], shape [t, 3], and what the step began with."""
        contacts, count = self._contacts, len(nodes)
        rows = contacts.rows[nodes]
        if not np.array_equal(nodes, self._nodes):
            self._nodes, skin = nodes, contacts.settings.skin
            self._points = PointContacts(
                np.arange(count), count, self._forms, self._frictions[rows],
                reach=contacts.nodes.reach, skins=skin, device=self._host,
            )  # fmt: skip
            self._places, self._way = (wp.zeros(count, dtype=wp.vec3d, device=self._host) for _ in range(2))
        whole = contacts.nodes
        self._begun.set(contacts.begun.places, contacts.begun.turns)
        self._now.set(contacts.now.places, contacts.now.turns)
        stretches = whole.stretches.numpy().reshape(*whole.size, 3)[rows].reshape(-1, 3)
        starts = whole.starts.numpy()[nodes]
        self._points.begin(
            self._begun.device_pose, self._now.device_pose, wp.array(stretches, dtype=wp.vec3d, device=self._host),
            wp.array(starts, dtype=wp.vec3d, device=self._host),
        )  # fmt: skip
        strengths, normals = whole.strengths.numpy(), whole.normals.numpy()
        self._points.strengths.numpy()[:] = strengths.reshape(whole.size)[rows].ravel()
        self._points.normals.numpy()[:] = normals.reshape(*whole.size, 3)[rows].reshape(-1, 3)
        self._here = here
        self.first = self._evaluated(np.zeros_like(here))

    def look(self, moved: np.ndarray) -> np.ndarray:
        """Forces after the nodes have moved [N], shape [t, 3], with friction as it is there."""
        self._places.numpy()[:] = self._here + moved
        self._points.follow(self._places)
        return self._evaluated(moved)

    def tangents(self) -> np.ndarray:
        """How nodes resist motion from where they were looked at last [N/m], friction following, shape [t, 3, 3]."""
        found = np.array(self._points.tangent.numpy()[:, 0, 0])
        slides = sliding(self._points, self._places.numpy(), self._begun, self._now)
        np.add.at(found, slides.points, -slides.gains[:, :, None] * slides.normals[:, None, :])
        return found

    def free_part(self, moved: np.ndarray, steps: np.ndarray) -> float:
        """Part of a further step on which no node goes through anything."""
        self._places.numpy()[:] = self._here + moved
        self._way.numpy()[:] = steps
        pose = self._now.device_pose
        return self._points.free_part(self._places, self._way, pose, pose)

    def _evaluated(self, moved: np.ndarray) -> np.ndarray:
        self._places.numpy()[:] = self._here + moved
        self._points.evaluate(self._places)
        return np.array(self._points.forces.numpy()[:, 0])
