"""Friction of round bodies: balls and capsules are points with a radius, and rub where they touch, not in the middle.

How far the surface of a ball slips on an obstacle in a step is what its middle moves along it, seen from the obstacle,
and what it turns, seen from there too, times its radius. What rolls slips nowhere. The friction acts where they touch,
on both; the push goes through the middle.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import warp as wp
from scipy.spatial.transform import Rotation

from annelid.core.state import overwrite
from annelid.fem.contact.places import Pose
from annelid.fem.contact.points import PointContacts


@dataclass(frozen=True, eq=False)
class Rubbing:
    """What friction does to the pairs of round point and obstacle that press.

    Attributes:
        points: The points, shape [q].
        obstacles: What they rub on, shape [q].
        energy: Of the springs along the surfaces [J].
        forces: On the round bodies [N], shape [q, 3].
        tangents: How the friction resists motion of the places of contact [N/m], shape [q, 3, 3].
        places: Where it acts [m], shape [q, 3].
        stretches: What a step that ends here leaves of the stretches of the springs [m], shape [q, 3].
    """

    points: np.ndarray
    obstacles: np.ndarray
    energy: float
    forces: np.ndarray
    tangents: np.ndarray
    places: np.ndarray
    stretches: np.ndarray


class Rolling:
    """Friction of round points of free bodies on other rigid things.

    Args:
        points: All points of free bodies, whose own friction is 0 where they are round.
        owners: The obstacles that they belong to, shape [p].
        radii: Their radii [m], shape [p]; 0 where they are not round.
        frictions: Coulomb coefficients of all pairs of point and obstacle, shape [p, o].
    """

    def __init__(self, points: PointContacts, owners: np.ndarray, radii: np.ndarray, frictions: np.ndarray) -> None:
        others = np.arange(points.size[1])[None, :] != owners[:, None]
        self._contacts, self._owners, self._radii = points, owners, radii
        self._built = np.where(others & (radii > 0.0)[:, None], frictions, 0.0).ravel()
        self._frictions, self._stiffness = self._built, points.forms.stiffnesses.numpy()
        self._round = bool(self._built.any())

    def scale_friction(self, factor: float) -> None:
        """Let Coulomb coefficients be so many times what they were built with."""
        self._frictions = factor * self._built

    def look(self, places: np.ndarray, begin: Pose, now: Pose) -> Rubbing:
        """What friction does with points at places [m], shape [p, 3], limits and planes as followed last."""
        pairs, limits = np.zeros(0, int), np.zeros(0)
        if self._round:
            limits = self._frictions * self._contacts.strengths.numpy()
            pairs = np.flatnonzero(limits > 0.0)
        if not len(pairs):
            return _NONE
        points, obstacles = np.divmod(pairs, self._contacts.size[1])
        normals, limits, stiffness = self._contacts.normals.numpy()[pairs], limits[pairs], self._stiffness[obstacles]
        trial = self._trial(places, pairs, normals, begin, now)
        length = np.linalg.norm(trial, axis=1)
        slides = stiffness * length > limits
        factors = np.where(slides, limits / np.maximum(length, 1e-300), stiffness)
        along = np.where(slides[:, None], trial / np.maximum(length, 1e-300)[:, None], 0.0)
        across = np.eye(3) - _squares(normals) - _squares(along)
        pulls = np.minimum(stiffness * length, limits)
        return Rubbing(
            points,
            obstacles,
            float((pulls * (length - 0.5 * pulls / stiffness)).sum()),
            -factors[:, None] * trial,
            factors[:, None, None] * across,
            places[points] - self._radii[points, None] * normals,
            (factors / stiffness)[:, None] * trial,
        )

    def end(self, found: Rubbing, arrays: Sequence[wp.array[Any]]) -> None:
        """Write what friction keeps into the stretches of a state, and add what it does to the forces."""
        if not len(found.points):
            return
        pairs = found.points * self._contacts.size[1] + found.obstacles
        stretches, forces = (np.array(array.numpy()) for array in arrays)
        stretches[pairs] = found.stretches
        forces[pairs] += found.forces
        for array, values in zip(arrays, (stretches, forces), strict=True):
            overwrite(array, values)

    def _trial(self, places: np.ndarray, pairs: np.ndarray, normals: np.ndarray, begin: Pose, now: Pose) -> np.ndarray:
        """Stretches of the springs along the surfaces if nothing slid [m], shape [q, 3]."""
        points, others = np.divmod(pairs, self._contacts.size[1])
        turns = (Rotation.from_quat(now.turns) * Rotation.from_quat(begin.turns).inv()).as_rotvec()
        carried = Rotation.from_rotvec(turns[others])
        starts = self._contacts.starts.numpy()[points] - begin.places[others]
        moved = places[points] - now.places[others] + carried.apply(self._contacts.stretches.numpy()[pairs] - starts)
        rolled = np.cross(turns[others] - turns[self._owners[points]], self._radii[points, None] * normals)
        way = moved + rolled
        return np.asarray(way - (way * normals).sum(axis=1)[:, None] * normals)


def _squares(vectors: np.ndarray) -> np.ndarray:
    """Products of vectors with themselves, shape [q, 3, 3]."""
    return vectors[:, :, None] * vectors[:, None, :]


_NONE = Rubbing(
    np.zeros(0, int), np.zeros(0, int), 0.0, np.zeros((0, 3)), np.zeros((0, 3, 3)), np.zeros((0, 3)), np.zeros((0, 3))
)
