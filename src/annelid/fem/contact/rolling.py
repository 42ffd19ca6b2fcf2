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
    """What friction does to pairs of round point and obstacle.

    Attributes:
        energy: Of the springs along the surfaces [J].
        forces: On the round bodies [N], shape [q, 3].
        tangents: How the friction resists motion of the places of contact [N/m], shape [q, 3, 3].
        places: Where it acts [m], shape [q, 3].
        stretches: What a step that ends here leaves of the stretches of the springs [m], shape [q, 3].
    """

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

    Attributes:
        points: The round point of each pair, shape [q].
        obstacles: What it rubs on, shape [q].
        owners: The obstacle that the point belongs to, shape [q].
    """

    def __init__(self, points: PointContacts, owners: np.ndarray, radii: np.ndarray, frictions: np.ndarray) -> None:
        others = np.arange(points.size[1])[None, :] != owners[:, None]
        self.points, self.obstacles = np.nonzero(others & (radii > 0.0)[:, None] & (frictions > 0.0))
        self.owners, self._radii = owners[self.points], radii[self.points, None]
        self._contacts, self._pairs = points, self.points * points.size[1] + self.obstacles
        self._built = frictions[self.points, self.obstacles]
        self._frictions, self._stiffness = self._built, points.forms.stiffnesses.numpy()[self.obstacles]

    def __len__(self) -> int:
        """How many pairs there are."""
        return len(self.points)

    def scale_friction(self, factor: float) -> None:
        """Let Coulomb coefficients be so many times what they were built with."""
        self._frictions = factor * self._built

    def look(self, places: np.ndarray, begin: Pose, now: Pose) -> Rubbing:
        """What friction does with points at places [m], shape [p, 3], limits and planes as followed last."""
        normals = self._contacts.normals.numpy()[self._pairs]
        limits = self._frictions * self._contacts.strengths.numpy()[self._pairs]
        trial = self._trial(places, normals, begin, now)
        length, stiffness = np.linalg.norm(trial, axis=1), self._stiffness
        slides = stiffness * length > limits
        factors = np.where(slides, limits / np.maximum(length, 1e-300), stiffness)
        along = np.where(slides[:, None], trial / np.maximum(length, 1e-300)[:, None], 0.0)
        across = np.eye(3) - _squares(normals) - _squares(along)
        pulls = np.minimum(stiffness * length, limits)
        return Rubbing(
            float((pulls * (length - 0.5 * pulls / stiffness)).sum()),
            -factors[:, None] * trial,
            factors[:, None, None] * across,
            places[self.points] - self._radii * normals,
            (factors / stiffness)[:, None] * trial,
        )

    def end(self, found: Rubbing, arrays: Sequence[wp.array[Any]]) -> None:
        """Write what friction keeps into the stretches of a state, and add what it does to the forces."""
        if not len(self):
            return
        stretches, forces = (np.array(array.numpy()) for array in arrays)
        stretches[self._pairs] = found.stretches
        forces[self._pairs] += found.forces
        for array, values in zip(arrays, (stretches, forces), strict=True):
            overwrite(array, values)

    def _trial(self, places: np.ndarray, normals: np.ndarray, begin: Pose, now: Pose) -> np.ndarray:
        """Stretches of the springs along the surfaces if nothing slid [m], shape [q, 3]."""
        others, contacts = self.obstacles, self._contacts
        turns = (Rotation.from_quat(now.turns) * Rotation.from_quat(begin.turns).inv()).as_rotvec()
        carried = Rotation.from_rotvec(turns[others])
        starts = contacts.starts.numpy()[self.points] - begin.places[others]
        moved = places[self.points] - now.places[others] - carried.apply(starts)
        rolled = np.cross(turns[self.owners] - turns[others], -self._radii * normals)
        way = carried.apply(contacts.stretches.numpy()[self._pairs]) + moved + rolled
        return np.asarray(way - (way * normals).sum(axis=1)[:, None] * normals)


def _squares(vectors: np.ndarray) -> np.ndarray:
    """Products of vectors with themselves, shape [q, 3, 3]."""
    return vectors[:, :, None] * vectors[:, None, :]
