"""What contacts add to the matrix of a solid, as a dense matrix on the few nodes that they concern."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from annelid.fem.contact.contacts import Contacts
from annelid.fem.linalg.kept_factor import KeptFactor

_SAME = 0.05  # of what a contact had added to a factor: a change of less is left to iterations
_LITTLE = 0.002  # of the mean stiffness of elements: so is a contact of less


@dataclass(frozen=True, eq=False)
class Stiffness:
    """A matrix on some nodes.

    Attributes:
        nodes: The nodes, ascending, shape [t].
        matrix: The matrix [N/m], shape [3 t, 3 t].
    """

    nodes: np.ndarray
    matrix: np.ndarray


def own_blocks(contacts: Contacts, node_count: int) -> np.ndarray:
    """What contacts of nodes with obstacles add to the blocks on the diagonal [N/m], shape [n, 3, 3]."""
    found = np.zeros((node_count, 3, 3))
    found[contacts.outer] = contacts.nodes.tangent.numpy()[:, 0, 0]
    return found


def added(contacts: Contacts, factor: KeptFactor, scale: float) -> Stiffness:
    """What contacts add to the matrix of a factor, beyond what they had added when it was made.

    Args:
        contacts: The contacts, evaluated with their tangents.
        factor: The factor.
        scale: Mean stiffness of the elements [N/m].
    """
    own, had = own_blocks(contacts, len(factor.touching)), _had(contacts, factor)
    change, size = own - had, np.sqrt((had**2).sum(axis=(1, 2)))
    much = np.greater(np.sqrt((change**2).sum(axis=(1, 2))), np.maximum(_SAME * size, _LITTLE * scale))
    changed = np.flatnonzero(much)
    parts = [Blocks.on_diagonal(changed, change[changed])]
    parts += [Blocks.of_groups(*group) for group in contacts.groups()]
    rows, columns = (np.concatenate([getattr(part, name) for part in parts]) for name in ("rows", "columns"))
    blocks = np.concatenate([part.blocks for part in parts])
    free = np.flatnonzero(contacts.movable[rows] & contacts.movable[columns])
    rows, columns, blocks = rows[free], columns[free], blocks[free]
    nodes = np.unique(rows)
    return Stiffness(nodes, _dense(np.searchsorted(nodes, rows), np.searchsorted(nodes, columns), blocks, len(nodes)))


@dataclass(frozen=True, eq=False)
class Blocks:
    """Blocks of 3 × 3 by nodes of their rows and columns; those of the same place are to be summed."""

    rows: np.ndarray
    columns: np.ndarray
    blocks: np.ndarray

    @staticmethod
    def on_diagonal(nodes: np.ndarray, blocks: np.ndarray) -> Blocks:
        """Blocks of nodes with themselves."""
        return Blocks(nodes, nodes, blocks)

    @staticmethod
    def of_groups(nodes: np.ndarray, coefficients: np.ndarray, blocks: np.ndarray) -> Blocks:
        """Of groups of nodes [g, m] whose mixture by coefficients is what resists, by blocks [g, 3, 3].

        Coefficients are numbers, shape [g, m], or matrices, shape [g, m, 3, 3].
        """
        width = nodes.shape[1]
        rows, columns = np.repeat(nodes, width, axis=1).ravel(), np.tile(nodes, width).ravel()
        if coefficients.ndim > 2:
            mixed = np.einsum("gaji,gjk,gbkl->gabil", coefficients, blocks, coefficients, optimize=True)
            return Blocks(rows, columns, mixed.reshape(-1, 3, 3))
        shares = coefficients[:, :, None] * coefficients[:, None, :]
        return Blocks(rows, columns, (shares[..., None, None] * blocks[:, None, None]).reshape(-1, 3, 3))


def _had(contacts: Contacts, factor: KeptFactor) -> np.ndarray:
    """What contacts of nodes had added to the factor, shape [n, 3, 3]."""
    found = np.zeros_like(factor.touching)
    nodes = np.flatnonzero(factor.touching.any(axis=(1, 2)))
    found[nodes] = factor.had_touching(nodes)
    return found


def dense_on(count: int, parts: Sequence[Blocks]) -> np.ndarray:
    """A matrix of parts with places among some nodes as rows and columns, shape [3 count, 3 count]; -1 is left out."""
    rows, columns = (np.concatenate([getattr(part, name) for part in parts]) for name in ("rows", "columns"))
    blocks = np.concatenate([part.blocks for part in parts])
    some = np.flatnonzero((rows >= 0) & (columns >= 0))
    return _dense(rows[some], columns[some], blocks[some], count)


def _dense(rows: np.ndarray, columns: np.ndarray, blocks: np.ndarray, count: int) -> np.ndarray:
    axes = np.arange(3)
    i = np.broadcast_to(3 * rows[:, None, None] + axes[:, None], blocks.shape).ravel()
    j = np.broadcast_to(3 * columns[:, None, None] + axes, blocks.shape).ravel()
    return np.asarray(sparse.coo_array((blocks.ravel(), (i, j)), shape=(3 * count, 3 * count)).toarray())
