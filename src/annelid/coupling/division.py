"""Points on the masses of a surface and between them: triangles whose edges are divided into equal parts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

FINEST = 4
"""Most parts of an edge."""

_WHOLE = 12  # divisible by all numbers of parts: weights are counted in so many


@dataclass(frozen=True, eq=False)
class Division:
    """A divided surface. Its points come in the order of the first of their masses.

    Attributes:
        triangles: Masses of each triangle, shape [t, 3].
        parts: Parts of its edges, shape [t].
        corners: Masses that each point lies between, ascending, shape [g, 3]; the first also where there are fewer.
        weights: Their weights, 0 for the rest, shape [g, 3].
        place: Points of triangles, those on shared edges once for each, shape [r].
        owners: The triangle that each of these lies on, shape [r].
        first: Where the masses around each point begin in `around`, shape [g + 1].
        around: Corners of the triangles that it lies on, ascending.
    """

    triangles: np.ndarray
    parts: np.ndarray
    corners: np.ndarray
    weights: np.ndarray
    place: np.ndarray
    owners: np.ndarray
    first: np.ndarray
    around: np.ndarray

    def __len__(self) -> int:
        return len(self.corners)

    def mixed(self, values: np.ndarray) -> np.ndarray:
        """Values of masses, shape [n, ...], at the points, shape [g, ...]."""
        return np.asarray(np.einsum("gc,gc...->g...", self.weights, values[self.corners]))

    def largest(self, values: np.ndarray) -> np.ndarray:
        """The largest of the values of the triangles that each point lies on, shape [g]."""
        found = np.full(len(self), -np.inf)
        np.maximum.at(found, self.place, values[self.owners])
        return found

    def on_masses(self) -> np.ndarray:
        """The point on each mass, shape [n]; -1 where there is none."""
        points = np.full(int(self.triangles.max()) + 1, -1)
        on = np.flatnonzero(self.weights[:, 0] == 1.0)
        points[self.corners[on, 0]] = on
        return points

    def by_parts(self) -> list[tuple[int, np.ndarray, np.ndarray]]:
        """Numbers of parts, the triangles divided into so many, and their points, shape [t, points of one]."""
        groups, start = [], 0
        for count in np.unique(self.parts):
            of = np.flatnonzero(self.parts == count)
            each = (count + 1) * (count + 2) // 2
            groups.append((int(count), of, self.place[start : start + each * len(of)].reshape(-1, each)))
            start += each * len(of)
        return groups


def divided(triangles: np.ndarray, parts: np.ndarray) -> Division:
    """Divide the edges of triangles, shape [t, 3], into so many parts each, shape [t]."""
    size = int(triangles.max()) + 1
    rows, owners = [], []
    for count in np.unique(parts):
        of = np.flatnonzero(parts == count)
        weights = _WHOLE // count * grid(int(count))
        masses = np.where(weights > 0, triangles[of][:, None], size)
        order = np.argsort(masses, axis=2, kind="stable")
        shares = np.take_along_axis(np.broadcast_to(weights, masses.shape), order, axis=2)
        rows.append(np.concatenate([np.take_along_axis(masses, order, axis=2), shares], axis=2).reshape(-1, 6))
        owners.append(np.repeat(of, len(weights)))
    owner = np.concatenate(owners)
    found, place = np.unique(np.concatenate(rows), axis=0, return_inverse=True)
    place = place.ravel()
    pairs = np.repeat(place, 3) * np.int64(size) + triangles[owner].ravel()
    point, around = np.divmod(np.unique(pairs), size)
    corners = np.where(found[:, 3:] > 0, found[:, :3], found[:, :1])
    first = np.searchsorted(point, np.arange(len(found) + 1))
    return Division(triangles, parts, corners, found[:, 3:] / _WHOLE, place, owner, first, around)


def grid(parts: int) -> np.ndarray:
    """Weights of the points of a divided triangle, in parts, shape [points, 3]."""
    return np.array([(a, b, parts - a - b) for a in range(parts + 1) for b in range(parts + 1 - a)])
