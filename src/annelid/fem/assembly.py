"""Assembly: the sum of element sets as nodal forces and one symmetric block matrix with a fixed pattern.

Only blocks on and below the diagonal are stored. For every force and every block a list made once says which entries
of which set sum into it; kernels walk these lists, so that the order of a sum never changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import warp as wp
from scipy import sparse

from annelid.core.ready import ready
from annelid.core.replay import Command, Crew, Graphs, Launcher
from annelid.fem.elements import ElementSet
from annelid.fem.kernels.assembly import (
    COLUMNS,
    collect,
    gather_blocks,
    gather_forces,
    multiply_rows,
    sum_dots,
    sum_parts,
)

_PARTS = 256  # partial sums of a reduction; a fixed number, so that sums are the same on every device


class Pattern:
    """Blocks of a symmetric matrix that can differ from zero: those on the diagonal and those that elements couple.

    Args:
        node_count: Number of nodes n.
        connectivities: Nodes of the elements of each set, shape [k, m] each, -1 where there is none.

    Attributes:
        rows: Row of each stored block, shape [b]; rows and columns ascend.
        columns: Column of each stored block, at most its row, shape [b].
    """

    def __init__(self, node_count: int, connectivities: Sequence[np.ndarray]) -> None:
        self.node_count = node_count
        keys = [np.arange(node_count, dtype=np.int64) * (node_count + 1)]
        keys += [self._keys(nodes)[0] for nodes in connectivities]
        self._found = np.unique(np.concatenate(keys))
        self.rows, self.columns = np.divmod(self._found, node_count)

    @property
    def block_count(self) -> int:
        """Number of stored blocks."""
        return len(self._found)

    def sources(self, nodes: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Blocks that a set touches, and for each of them its entries: [b'], [b' + 1], [e].

        An entry counts the blocks of a tangent of shape [k, m, m]; entry e read transposed is written -e - 1.
        """
        keys, entries = self._keys(nodes)
        order = np.argsort(keys, kind="stable")
        touched, first = np.unique(keys[order], return_index=True)
        return np.searchsorted(self._found, touched), np.append(first, len(keys)), entries[order]

    def row_lists(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """For each row of the whole matrix: where its blocks begin, [n + 1], their columns and blocks, [e]."""
        number = np.arange(self.block_count)
        below = self.rows > self.columns
        rows = np.concatenate([self.rows, self.columns[below]])
        columns = np.concatenate([self.columns, self.rows[below]])
        blocks = np.concatenate([number, -number[below] - 1])
        order = np.lexsort((columns, rows))
        return np.searchsorted(rows[order], np.arange(self.node_count + 1)), columns[order], blocks[order]

    def _keys(self, nodes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Key of the stored block of every entry on or above the diagonal of the elements, and the entry."""
        width = nodes.shape[1]
        a, b = np.triu_indices(width)
        first, second = nodes[:, a].astype(np.int64), nodes[:, b].astype(np.int64)
        entry = np.arange(len(nodes), dtype=np.int64)[:, None] * width**2 + a * width + b
        used = (first >= 0) & (second >= 0)
        first, second, entry = first[used], second[used], entry[used]
        keys = np.maximum(first, second) * self.node_count + np.minimum(first, second)
        return keys, np.where(first >= second, entry, -entry - 1)


class Assembly:
    """Sums element sets.

    Args:
        node_count: Number of nodes n.
        sets: The element sets.
        crew: Where it is computed.

    Attributes:
        forces: Sum of the forces on each node [N], vec3d of shape [n].
        values: Stored blocks of the matrix [N/m], mat33d of shape [b], as `pattern` orders them.
        energy: Sum of the energies [J], float64 of shape [1].
    """

    def __init__(self, node_count: int, sets: Sequence[ElementSet], crew: Crew) -> None:
        self.crew, self.device, self.sets = crew, crew.device, tuple(sets)
        self.node_count = node_count
        self.pattern = Pattern(node_count, [each.nodes for each in self.sets if each.has_tangent])
        self.forces = self._zeros(node_count, wp.vec3d)
        self.values = self._zeros(self.pattern.block_count, wp.mat33d)
        self.energy = self._zeros(1, wp.float64)
        self._parts = self._zeros(_PARTS, wp.float64)
        self._launcher, self._graphs = Launcher(self.device), Graphs(self.device)
        self._gather_forces = [self._force_command(each) for each in self.sets]
        self._gather_blocks = [(each, self._block_command(each)) for each in self.sets if each.has_tangent]
        self._sum_energy = [part for each in self.sets for part in self._energy_launches(each)]
        self._row_lists = tuple(self._indices(a) for a in self.pattern.row_lists())

    def evaluate(self, positions: wp.array[Any], *, tangent: bool = True) -> None:
        """Fill `forces`, `energy` and, where asked for, `values`, without waiting for the device."""
        for each in self.sets:
            each.evaluate(positions, tangent=tangent)
        self.sum_forces()
        if tangent:
            self.sum_blocks()

    def sum_forces(self) -> None:
        """Fill `forces` and `energy` with what the sets were evaluated to last."""
        if self.device.is_cuda:
            self._graphs.run("forces", self._sum_forces)
        else:
            self._sum_forces()

    def _sum_forces(self) -> None:
        self.forces.zero_()
        for gather in self._gather_forces:
            gather()
        self.energy.zero_()
        for part in self._sum_energy:
            part.launch()

    def sum_blocks(self, *, without: Sequence[ElementSet] = ()) -> None:
        """Fill `values` with the tangents that the sets were evaluated to last, all but those of some."""
        self.values.zero_()
        for each, gather in self._gather_blocks:
            if each not in without:
                gather()

    def dot(self, first: wp.array[Any], second: wp.array[Any], out: wp.array[Any], place: int) -> None:
        """Scalar product of two nodal vectors into one place of an array."""
        self._launcher.launch(sum_dots, _PARTS, [self.node_count, first, second, self._parts])
        self._launcher.launch(collect, 1, [place, 0, self._parts, out])

    def multiply(self, vectors: wp.array[Any], out: wp.array[Any], values: wp.array[Any] | None = None) -> None:
        """Product of the matrix with vectors, vec3d of shape [n, k]."""
        chosen = self.values if values is None else values
        size = (self.node_count, -(-vectors.shape[1] // COLUMNS))
        self._launcher.launch(multiply_rows, size, [*self._row_lists, chosen, vectors, out])

    def matrix(self) -> sparse.csr_array:
        """The whole matrix on the host, shape [3n, 3n]."""
        first, columns, blocks = self.pattern.row_lists()
        values = self.values.numpy().reshape(-1, 3, 3)
        chosen = np.where(blocks < 0, -blocks - 1, blocks)
        data = np.where((blocks < 0)[:, None, None], values[chosen].transpose(0, 2, 1), values[chosen])
        size = 3 * self.node_count
        return sparse.csr_array(sparse.bsr_array((data, columns, first), shape=(size, size)))

    def _energy_launches(self, each: ElementSet) -> list[Any]:
        """Launches that add the energies of a set to the sum."""
        parts = [each.element_count, each.energy, self._parts]
        return [
            ready(wp.launch(sum_parts, _PARTS, parts, device=self.device, record_cmd=True)),
            ready(wp.launch(collect, 1, [0, 1, self._parts, self.energy], device=self.device, record_cmd=True)),
        ]

    def _force_command(self, each: ElementSet) -> Command:
        flat = each.nodes.ravel()
        used = np.flatnonzero(flat >= 0)
        entries = used[np.argsort(flat[used], kind="stable")]
        first = np.searchsorted(flat[entries], np.arange(self.node_count + 1))
        arguments = [self._indices(first), self._indices(entries), each.forces.flatten(), self.forces]
        return self.crew.command(gather_forces, self.node_count, arguments)

    def _block_command(self, each: ElementSet) -> Command:
        blocks, first, entries = (self._indices(a) for a in self.pattern.sources(each.nodes))
        arguments = [blocks, first, entries, each.tangent.flatten(), self.values]
        return self.crew.command(gather_blocks, len(blocks), arguments)

    def _indices(self, values: np.ndarray) -> wp.array[Any]:
        return wp.array(np.ascontiguousarray(values, np.int32), dtype=wp.int32, device=self.device)

    def _zeros(self, count: int, dtype: Any) -> wp.array[Any]:
        return wp.zeros(count, dtype=dtype, device=self.device)
