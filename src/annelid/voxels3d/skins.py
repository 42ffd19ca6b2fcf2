"""Rounded skins of robots: their faces, divided by the rule of Catmull and Clark (1978).

Vertices of the divided skin are fixed combinations of those of the faces, whatever these do: one sparse matrix is made
once, and a picture is one product with it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from annelid.core.distinct import distinct_rows

_MOST_FACES = 20_000  # of a skin that is divided twice; the 16 times as many of larger ones would slow every picture


@dataclass(frozen=True, eq=False)
class Rounded:
    """A divided skin.

    Attributes:
        matrix: New vertices from those of the faces, shape [new, v].
        quads: Its faces, shape [q, 4].
        face_of: The face that each is a part of, shape [q].
    """

    matrix: sparse.csr_array
    quads: np.ndarray
    face_of: np.ndarray

    @property
    def nearest(self) -> np.ndarray:
        """The old vertex that counts most for each new one, shape [new]."""
        return np.asarray(self.matrix.argmax(axis=1)).reshape(-1)


def rounded(quads: np.ndarray, vertex_count: int) -> Rounded:
    """Divide the faces of closed skins, twice where they are not too many.

    Args:
        quads: Vertices of the faces, in turn, shape [f, 4].
        vertex_count: Number of vertices; those of no face are left out.
    """
    used, faces = np.unique(quads, return_inverse=True)
    faces, face_of = faces.reshape(-1, 4), np.arange(len(quads))
    matrix = sparse.csr_array((np.ones(len(used)), (np.arange(len(used)), used)), shape=(len(used), vertex_count))
    for _ in range(2 if len(quads) <= _MOST_FACES else 1):
        step, faces = _divided(faces, matrix.shape[0])
        matrix, face_of = step @ matrix, np.repeat(face_of, 4)
    return Rounded(sparse.csr_array(matrix), faces, face_of)


def _divided(quads: np.ndarray, count: int) -> tuple[sparse.csr_array, np.ndarray]:
    """New vertices (those there were, then one an edge, then one a face) from old ones, and four quads of each.

    Edges at which more than two faces meet, as where voxels touch at an edge only, lie halfway to the mean of them all.
    """
    ends = np.sort(np.stack([quads, np.roll(quads, -1, axis=1)], axis=2).reshape(-1, 2), axis=1)
    edges, edge_of = distinct_rows(ends, return_inverse=True)
    edge_of, number = edge_of.reshape(-1, 4), np.arange(len(quads))
    middle = _mean(np.repeat(number, 4), quads.ravel(), (len(quads), count))
    halves = _mean(np.repeat(np.arange(len(edges)), 2), edges.ravel(), (len(edges), count))
    beside = _mean(edge_of.ravel(), np.repeat(number, 4), (len(edges), len(quads)))
    around = _mean(quads.ravel(), np.repeat(number, 4), (count, len(quads)))
    along = _mean(edges.ravel(), np.repeat(np.arange(len(edges)), 2), (count, len(edges)))
    met = np.bincount(quads.ravel(), minlength=count).astype(float)
    corner = sparse.diags_array(1.0 / met) @ (around @ middle + 2.0 * (along @ halves)) + sparse.diags_array(
        1.0 - 3.0 / met
    )
    edge = 0.5 * halves + 0.5 * (beside @ middle)
    matrix = sparse.csr_array(sparse.vstack([corner, edge, middle]))
    new_edge, new_face = count + edge_of, count + len(edges) + number
    before = np.roll(new_edge, 1, axis=1)
    parts = np.stack([quads, new_edge, np.repeat(new_face[:, None], 4, axis=1), before], axis=2)
    return matrix, parts.reshape(-1, 4)


def _mean(rows: np.ndarray, columns: np.ndarray, shape: tuple[int, int]) -> sparse.csr_array:
    """The mean over the columns of each row."""
    counts = np.bincount(rows, minlength=shape[0])
    return sparse.csr_array((1.0 / counts[rows], (rows, columns)), shape=shape)
