"""Energy, forces and the stiffness matrix of a body in any state, on the host, in double precision.

The static counterpart of the solver: what `modes` and `equilibrium` are made of. Springs are passive here; contacts and
the user's forces are left out.
"""

from __future__ import annotations

from functools import cached_property
from types import NoneType

import numpy as np
from scipy import sparse

from annelid.core.errors import InvalidValue
from annelid.core.options import require_kind
from annelid.shapes.values import as_vector
from annelid.springs.body import FREE, ON_LINE, ON_PLANE, Body
from annelid.springs.volume import VolumeTerm


class Potential:
    """The springs of a body under its constant forces and gravity.

    Args:
        body: The body.
        gravity: Acceleration of gravity [m/s²].
        volume: A term that resists changes of volume.
    """

    def __init__(
        self,
        body: Body,
        gravity: tuple[float, float, float] = (0.0, 0.0, 0.0),
        *,
        volume: VolumeTerm | None = None,
    ) -> None:
        require_kind("the body", body, Body, "a springs.Body")
        require_kind("volume", volume, (VolumeTerm, NoneType), "a VolumeTerm or None")
        if body.mass_count == 0:
            raise InvalidValue("the body has no masses.")
        body.validate()
        self.body, self.volume = body, volume
        self.load = body.forces + body.masses[:, None] * np.array(as_vector("gravity", gravity))

    def energy(self, positions: np.ndarray) -> float:
        """Energy of springs, forces and gravity [J]; zero in the state in which the body was built, springs relaxed."""
        stretch = self._lengths(positions)[1] - self.body.rest_lengths
        work = np.sum(self.load * (positions - self.body.positions))
        squeezed = 0.0 if self.volume is None else self.volume.energy(positions)
        return float(0.5 * np.sum(self.body.stiffness * stretch**2) - work) + squeezed

    def forces(self, positions: np.ndarray) -> np.ndarray:
        """Force on every mass [N], shape [n, 3]."""
        along, lengths = self._lengths(positions)
        pull = (self.body.stiffness * (1.0 - self.body.rest_lengths / lengths))[:, None] * along
        first, second = self.body.springs.T
        count = self.body.mass_count
        sums = [np.bincount(first, p, count) - np.bincount(second, p, count) for p in pull.T]
        pressed = 0.0 if self.volume is None else self.volume.forces(positions)
        return self.load + np.stack(sums, axis=1) + pressed

    def stiffness(self, positions: np.ndarray, *, convex: bool = False) -> sparse.csc_array:
        """Second derivative of the energy [N/m], shape [3 n, 3 n]: x, y, z of the first mass, then of the second...

        Args:
            positions: The state [m], shape [n, 3].
            convex: Leave out the part of compressed springs that makes a straight path unstable, so that no eigenvalue
                is negative; exact where no spring is compressed.
        """
        along, lengths = self._lengths(positions)
        unit = along / lengths[:, None]
        tension = 1.0 - self.body.rest_lengths / lengths  # of the stiffness, acts across the spring
        across = self.body.stiffness * (np.maximum(tension, 0.0) if convex else tension)
        blocks = (self.body.stiffness - across)[:, None, None] * unit[:, :, None] * unit[:, None, :]
        blocks += across[:, None, None] * np.eye(3)
        matrix = self._assemble(blocks)
        return matrix if self.volume is None else matrix + self._of_volume(self.volume.blocks(positions, convex=convex))

    @cached_property
    def basis(self) -> sparse.csc_array:
        """Directions in which masses may move: orthonormal columns, shape [3 n, d]; fixed masses have none."""
        body = self.body
        kind = np.where(body.fixed, -1, body.guides)
        axes, frames = body.guide_axes, _frames(body.guide_axes)
        parts = [
            *(_columns(np.flatnonzero(kind == FREE), unit) for unit in np.eye(3)),
            _columns(np.flatnonzero(kind == ON_LINE), axes[kind == ON_LINE]),
            *(_columns(np.flatnonzero(kind == ON_PLANE), frames[kind == ON_PLANE, side]) for side in (0, 1)),
        ]
        mass = np.concatenate([m for m, _ in parts])
        vectors = np.concatenate([v for _, v in parts])
        order = np.argsort(mass, kind="stable")  # the three directions of a mass side by side keep factors sparse
        mass, vectors = mass[order], vectors[order]
        rows = (3 * mass[:, None] + np.arange(3)).ravel()
        columns = np.repeat(np.arange(len(mass)), 3)
        keep = vectors.ravel() != 0.0
        shape = (3 * body.mass_count, len(mass))
        return sparse.csc_array((vectors.ravel()[keep], (rows[keep], columns[keep])), shape=shape)

    @cached_property
    def basis_masses(self) -> np.ndarray:
        """The mass [kg] that moves in each direction of `basis`, shape [d]."""
        return np.asarray(self.body.masses[self.basis.indices[self.basis.indptr[:-1]] // 3])

    @cached_property
    def basis_points(self) -> np.ndarray:
        """Where the mass of each direction of `basis` was built [m], shape [d, 3]."""
        return np.asarray(self.body.positions[self.basis.indices[self.basis.indptr[:-1]] // 3])

    def _lengths(self, positions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        first, second = self.body.springs.T
        along = positions[second] - positions[first]
        return along, np.maximum(np.linalg.norm(along, axis=1), 1e-300)

    @cached_property
    def _pattern(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Block of each spring's four contributions, where rows begin, columns of the blocks, diagonal blocks."""
        count = self.body.mass_count
        first, second = self.body.springs.T.astype(np.int64)
        nodes = np.arange(count)
        keys = np.concatenate([first * count + second, second * count + first, nodes * count + nodes])
        blocks, which = np.unique(keys, return_inverse=True)
        starts = np.searchsorted(blocks // count, np.arange(count + 1))
        return which, starts, blocks % count, which[2 * len(first) :]

    def _assemble(self, blocks: np.ndarray) -> sparse.csc_array:
        which, starts, columns, diagonal = self._pattern
        links, count = len(blocks), self.body.mass_count
        first, second = self.body.springs.T
        data = np.empty((len(columns), 3, 3))
        for i in range(3):
            for j in range(i, 3):
                values = blocks[:, i, j]
                sums = np.bincount(which[: 2 * links], np.tile(-values, 2), len(columns))
                sums[diagonal] += np.bincount(first, values, count) + np.bincount(second, values, count)
                data[:, i, j] = data[:, j, i] = sums
        return sparse.bsr_array((data, columns, starts), shape=(3 * count, 3 * count)).tocsc()

    def _of_volume(self, blocks: np.ndarray) -> sparse.csc_array:
        assert self.volume is not None
        size = 3 * self.body.mass_count
        unknowns = (3 * self.volume.cells[:, :, None] + np.arange(3)).reshape(len(blocks), 24)
        values = blocks.transpose(0, 1, 3, 2, 4).reshape(len(blocks), 24, 24)
        rows = np.broadcast_to(unknowns[:, :, None], values.shape).ravel()
        columns = np.broadcast_to(unknowns[:, None, :], values.shape).ravel()
        return sparse.csc_array((values.ravel(), (rows, columns)), shape=(size, size))


def _columns(masses: np.ndarray, vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return masses, np.broadcast_to(vectors, (len(masses), 3))


def _frames(normals: np.ndarray) -> np.ndarray:
    """Two unit vectors across each normal, shape [n, 2, 3]."""
    helper = np.eye(3)[np.argmin(np.abs(normals), axis=1)]
    first = np.cross(normals, helper)
    first /= np.maximum(np.linalg.norm(first, axis=1, keepdims=True), 1e-300)
    return np.stack([first, np.cross(normals, first)], axis=1)
