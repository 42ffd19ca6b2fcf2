"""Contact of a solid's surface with itself: vertices with triangles and edges with edges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import warp as wp

from annelid.core.linalg.blas import one_thread
from annelid.core.replay import Launcher
from annelid.core.state import overwrite
from annelid.fem.contact.candidates import Candidates, pieces_of
from annelid.fem.contact.sliding import followed_tangents
from annelid.fem.contact.state import TouchingItself
from annelid.fem.contact.surface import sides_of
from annelid.fem.elements import ElementSet
from annelid.fem.kernels import pairs as kernels
from annelid.fem.solid import Solid
from annelid.shapes.surface import friction_between
from annelid.shapes.tet.topology import flat_triangles

_AT_REST = 0.5  # of the distance at rest of a pair of one piece: its reach is no more
_LITTLE = 1e-6  # of the blocks on the diagonal: enough that the matrix can be factored where only contact holds a piece
_NOTHING = 1e-12  # of the largest stiffness
_KEPT_PAIRS = 8  # pairs a node of the surface whose friction a state can keep

_LAGGING = {
    "shares": wp.float64, "slips": wp.mat33d, "strengths": wp.float64, "normals": wp.vec3d, "stretches": wp.vec3d
}  # fmt: skip
_LOADS = {
    "energies": wp.float64, "coefficients": wp.vec4d, "pushes": wp.vec3d, "rubs": wp.vec3d,
    "push_tangents": wp.mat33d, "rub_tangents": wp.mat33d,
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Columns:
    """Columns whose squares sum up to the tangent of pairs.

    Attributes:
        nodes: Nodes that touch, shape [t].
        entries: Entries of the columns there, shape [t, 3, r].
    """

    nodes: np.ndarray
    entries: np.ndarray

    def __len__(self) -> int:
        """Number of columns."""
        return int(self.entries.shape[2])

    def dense(self, node_count: int) -> np.ndarray:
        """All entries, shape [n, r, 3]."""
        found = np.zeros((node_count, len(self), 3))
        found[self.nodes] = self.entries.transpose(0, 2, 1)
        return found


class SurfacePairs(ElementSet):
    """Contacts of a surface with itself, walls of chambers included: one element a node, whose pairs change each step.

    Forces and energies are whole. Of the tangent only blocks on the diagonal fit the pattern of the matrix: all of them
    where many pairs touch, and `add_product` adds what is missing; or a little of them where few do, and `columns` are
    what is missing.

    Args:
        solid: The solid.
        reach: Gap at which contact begins [m].
        stiffness: Of one pair [N/m].
        skin: Gap that is kept beside [m].
        device: Where it is computed.

    Attributes:
        candidates: Pairs that may touch.
        few: Largest number of columns for which these are what the matrix misses; -1 where nobody asks for columns.
    """

    few = 100

    def __init__(self, solid: Solid, *, reach: float, stiffness: float, skin: float, device: wp.Device) -> None:
        self.pieces = pieces_of(solid.elements, solid.node_count)
        sides = np.column_stack([self.pieces, sides_of(solid)])
        faces = np.asarray(flat_triangles(solid.boundary), np.int32)
        self.candidates = Candidates(faces, reach + skin, device, sides)
        self.numbers = self.candidates.numbers
        super().__init__(self.numbers[:, None], device)
        self.reach, self._skin, self._stiffness = reach, skin, stiffness
        self._built = self._friction = friction_between(solid.surface, solid.surface)
        self._rest = wp.array(solid.nodes, dtype=wp.vec3d, device=device)
        self._starts = wp.zeros(solid.node_count, dtype=wp.vec3d, device=device)
        self._device_numbers = wp.array(self.numbers, dtype=wp.int32, device=device)
        self._rows = np.full(solid.node_count, -1)
        self._rows[self.numbers] = np.arange(len(self.numbers))
        self._keys = np.zeros(0, np.int64)
        self._launcher = Launcher(device)
        self._yielding = 0.0
        self.columns: Columns | None = None
        self._make_room()

    # --- states ---

    def first_arrays(self) -> dict[str, wp.array[Any]]:
        """What it adds to a state, where nothing touches yet."""
        room = _KEPT_PAIRS * len(self.numbers)
        return {
            "pair_keys": wp.array(np.full(room, -1), dtype=wp.int64, device=self.device),
            "pair_stretches": wp.zeros(room, dtype=wp.vec3d, device=self.device),
            "own_forces": wp.zeros(len(self.numbers), dtype=wp.vec3d, device=self.device),
        }

    def scale_friction(self, factor: float) -> None:
        """Let friction be so many times what it was built with."""
        self._friction = factor * self._built
        self._pairs.friction = wp.float64(self._friction)

    def begin(self, positions: wp.array[Any], state: TouchingItself) -> None:
        """Start a step from where nodes are, with the stretches of a state."""
        wp.copy(self._starts, positions)
        self.candidates.forget()
        self._keys = self.candidates.keys
        self._make_room()
        rubbing = state.pair_keys.numpy()
        rubbing = rubbing[rubbing >= 0]
        if not len(rubbing):  # pairs are found once it is known where nodes go
            return
        self.cover(positions)
        stretches = np.zeros((len(self._keys), 3))
        here, there = _matched(self._keys, rubbing)
        stretches[here] = state.pair_stretches.numpy()[there]
        overwrite(self._lagging.stretches, stretches)
        self.follow(positions)

    def end(self, positions: wp.array[Any], state: TouchingItself) -> None:
        """End a step: what friction keeps, and the forces on nodes, into a state."""
        self.follow(positions)
        self.evaluate(positions, tangent=False)
        overwrite(state.own_forces, self.forces.numpy()[:, 0])
        self._launch(kernels.keep_pair_stretches, [self._pairs, self._starts, positions, self._lagging])
        stretches = self._lagging.stretches.numpy()
        kept = np.flatnonzero(stretches.any(axis=1))
        room = len(state.pair_keys)
        if len(kept) > room:  # those that are stretched most
            longest = np.argsort(-np.linalg.norm(stretches[kept], axis=1), kind="stable")[:room]
            kept = np.sort(kept[longest])
        keys, values = np.full(room, -1, np.int64), np.zeros((room, 3))
        keys[: len(kept)], values[: len(kept)] = self._keys[kept], stretches[kept]
        overwrite(state.pair_keys, keys)
        overwrite(state.pair_stretches, values)

    # --- iterations ---

    def cover(self, positions: wp.array[Any], step: wp.array[Any] | None = None) -> None:
        """Have all pairs that touch on a step of nodes; what lags behind stays with the pairs that there were."""
        if not self.candidates.cover(positions.numpy(), None if step is None else step.numpy()):
            return
        before, keys = self._lagging, self._keys
        self._keys = self.candidates.keys
        self._make_room()
        self._launch(kernels.pair_distances, [self._pairs, self._rest, self._distances, self._lagging.shares])
        self._limit_reaches()
        self._launch(kernels.pair_distances, [self._pairs, positions, self._distances, self._lagging.shares])
        here, there = _matched(self._keys, keys)
        for name in _LAGGING:
            target, source = getattr(self._lagging, name), getattr(before, name)
            values = target.numpy().copy()
            values[here] = source.numpy()[there]
            overwrite(target, values)

    def follow(self, positions: wp.array[Any]) -> None:
        """Take the limits and planes of friction, and the shares of edges, from where nodes are."""
        self.cover(positions)
        self._launch(kernels.follow_pairs, [self._pairs, positions, self._lagging])

    @property
    def limits(self) -> list[wp.array[Any]]:
        """How hard pairs pressed where friction was followed last [N], and the shares of edges, shape [p] each."""
        return [self._lagging.strengths, self._lagging.shares]

    def evaluate(self, positions: wp.array[Any], *, tangent: bool = True) -> None:
        """Energy, forces and the blocks on the diagonal of the tangent."""
        self._launch(kernels.load_pairs, [self._pairs, self._lagging, self._starts, positions, self._loads])
        if tangent and self.few >= 0:
            self.columns = self._found_columns()
        share = 1.0 if self.columns is None else _LITTLE
        inputs = [int(tangent), wp.float64(share), self._firsts, self._entries, self._lagging, self._loads]
        outputs = [self.energy, self.forces, self.tangent]
        self._launcher.launch(kernels.load_nodes, self.element_count, [*inputs, *outputs])

    def let_slide(self, yielding: float) -> None:
        """Leave a part of the resistance of what slides to further sliding out of tangents from now on, 0 to 1."""
        self._yielding = yielding
        self._pairs.yielding = wp.float64(yielding)

    def add_product(self, vectors: wp.array[Any], products: wp.array[Any]) -> None:
        """Add the blocks beside the diagonal to products with vectors, vec3d of shape [n, k]."""
        count, many = len(self._keys), vectors.shape[1]
        pushes, rubs = (wp.empty((count, many), dtype=wp.vec3d, device=self.device) for _ in range(2))
        known = [self._lagging, self._loads]
        wp.launch(kernels.resist, pushes.shape, [self._pairs, *known, vectors, pushes, rubs], device=self.device)
        lists = [self._device_numbers, self._firsts, self._entries]
        inputs = [*lists, *known, self.tangent, vectors, pushes, rubs, products]
        wp.launch(kernels.add_resistance, (self.element_count, many), inputs, device=self.device)

    def stiffness(self, *, losses: bool = False) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Pushes and frictions as evaluated last: nodes [p, 4], coefficients, tangents [N/m] [p, 3, 3].

        Coefficients of pushes are numbers, shape [p, 4], those of frictions matrices, shape [p, 4, 3, 3].

        Args:
            losses: Whether friction that is lost with gaps that open is a part of them.
        """
        found = []
        pushes, rubs = self._loads.push_tangents.numpy(), self._loads.rub_tangents.numpy()
        if losses:
            rubs = followed_tangents(
                self._friction, self._stiffness, self._lagging.normals.numpy(), pushes, self._loads.rubs.numpy(), rubs
            )
        for coefficients, blocks in ((self._loads.coefficients, pushes), (self._lagging.slips, rubs)):
            touching = np.flatnonzero(blocks.any(axis=(1, 2)))
            found.append((self.candidates.nodes[touching], coefficients.numpy()[touching], blocks[touching]))
        return found

    def _found_columns(self) -> Columns | None:
        """The tangent as a sum of squares of columns; None where these are too many."""
        pushes, rubs = self._loads.push_tangents.numpy(), self._loads.rub_tangents.numpy()
        active = [np.flatnonzero(each.any(axis=(1, 2))) for each in (pushes, rubs)]
        touching = self.candidates.nodes[np.union1d(*active)]
        nodes, count = np.unique(touching), len(active[0]) + 2 * len(active[1])
        if min(count, 3 * len(nodes)) > self.few:
            return None
        parts = [_squares(pushes[active[0]]), _squares(rubs[active[1]])]
        pairs = [part[chosen] for part, (chosen, _) in zip(active, parts, strict=True)]
        coefficients, slips = self._loads.coefficients.numpy()[pairs[0]], self._lagging.slips.numpy()[pairs[1]]
        on_nodes = [
            coefficients[:, :, None] * parts[0][1][:, None, :], np.einsum("raij,ri->raj", slips, parts[1][1])
        ]  # fmt: skip
        entries = np.zeros((sum(map(len, on_nodes)), len(nodes), 3))
        rows = np.searchsorted(nodes, self.candidates.nodes[np.concatenate(pairs)])
        entries[np.arange(len(entries))[:, None], rows] = np.concatenate(on_nodes)
        columns = _fewer(entries.reshape(len(entries), 3 * len(nodes)).T)
        return Columns(nodes, columns.reshape(len(nodes), 3, columns.shape[1]))

    def free_part(self, positions: wp.array[Any], step: wp.array[Any]) -> float:
        """Part of a step of nodes on which no pair gets nearer than a tenth of its gap, at most 1."""
        self.cover(positions, step)
        self._launch(kernels.free_pair_parts, [self._pairs, positions, step, self._distances])
        return float(self._distances.numpy().min(initial=1.0))

    def distances(self) -> np.ndarray:
        """Distances at rest of the pairs found last [m], shape [p]."""
        self._launch(kernels.pair_distances, [self._pairs, self._rest, self._distances, self._lagging.shares])
        return np.array(self._distances.numpy())

    def _limit_reaches(self) -> None:
        """Parts of one piece that are near at rest begin to touch nearer: they must not push there."""
        apart, nodes = self._distances.numpy(), self.candidates.nodes
        same = self.pieces[nodes[:, 0]] == self.pieces[nodes[:, 2]]
        most = np.where(same, _AT_REST * apart, np.inf)
        skins = np.minimum(self._skin, 0.5 * most)
        overwrite(self._pairs.skins, skins)
        overwrite(self._pairs.reaches, np.minimum(self.reach, most - skins))

    def _make_room(self) -> None:
        """Arrays for the pairs at hand, and for each node the list of its places in them."""
        nodes, count = self.candidates.nodes, len(self._keys)
        rows = self._rows[nodes.ravel()]
        order = np.argsort(rows, kind="stable")
        self._firsts = self._indices(np.searchsorted(rows[order], np.arange(len(self.numbers) + 1)))
        self._entries = self._indices(order)
        self._pairs: Any = kernels.Pairs()
        self._pairs.nodes = wp.array(nodes, dtype=wp.vec4i, device=self.device)
        self._pairs.edges_from = wp.int32(self.candidates.edges_from)
        self._pairs.reaches, self._pairs.skins = self._zeros(count, wp.float64), self._zeros(count, wp.float64)
        self._pairs.stiffness, self._pairs.friction = wp.float64(self._stiffness), wp.float64(self._friction)
        self._pairs.yielding = wp.float64(self._yielding)
        self._lagging = self._filled(kernels.Lagging(), _LAGGING, count)
        self._loads = self._filled(kernels.Loads(), _LOADS, count)
        self._distances = self._zeros(count, wp.float64)

    def _filled(self, structure: Any, columns: dict[str, Any], count: int) -> Any:
        """A structure of kernels with arrays of zeros."""
        for name, dtype in columns.items():
            setattr(structure, name, self._zeros((count, 4) if name == "slips" else count, dtype))
        return structure

    def _launch(self, kernel: Any, arguments: list[Any]) -> None:
        self._launcher.launch(kernel, len(self._keys), arguments)

    def _zeros(self, count: int | tuple[int, int], dtype: Any) -> wp.array[Any]:
        return wp.zeros(count, dtype=dtype, device=self.device)

    def _indices(self, values: np.ndarray) -> wp.array[Any]:
        return wp.array(values.astype(np.int32), dtype=wp.int32, device=self.device)


def _squares(tangents: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Vectors whose outer products sum up to tangents, shape [p, 3, 3]: of which tangent each is, and the vectors."""
    values, vectors = np.linalg.eigh(tangents)
    of, place = np.nonzero(values > _NOTHING * values.max(initial=0.0))
    return of, vectors[of, :, place] * np.sqrt(values[of, place])[:, None]


def _fewer(columns: np.ndarray) -> np.ndarray:
    """No more columns than rows, with the same sum of squares: many pairs share few nodes."""
    if columns.shape[1] <= columns.shape[0]:
        return columns
    with one_thread():
        root: Any = np.linalg.qr(columns.T, mode="r")
    return np.asarray(root.T)


def _matched(keys: np.ndarray, others: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where the same keys are in two ascending lists."""
    _, here, there = np.intersect1d(keys, others, assume_unique=True, return_indices=True)
    return here, there
