"""A factor that is kept over iterations and steps, to lead those of a large solid that touches.

It is turned along with the nodes. What contacts add to a matrix, or take away, since it was made is not in it: whoever
asks for `compliance`, how some nodes answer to forces on these nodes, can put that right by solving a small system.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import warp as wp

from annelid.core.readback import Mirror
from annelid.core.replay import Launcher
from annelid.core.state import new_state, overwrite, rows
from annelid.fem.assembly import Assembly
from annelid.fem.kernels.memory import note_other_blocks, tell_memory
from annelid.fem.linalg.asked import Asked, AskedAnswers, AskedRoots
from annelid.fem.linalg.frames import NodeFrames
from annelid.fem.linalg.front_solver import FrontSolver
from annelid.fem.linalg.memory import FactorMemory
from annelid.fem.linalg.tile_solver import TileSolver
from annelid.fem.linalg.unknowns import Unknowns, columns_of
from annelid.fem.tetrahedra import Tetrahedra

_NOBODY = np.zeros(0, int)


@dataclass(kw_only=True)
class KeptMemory(FactorMemory):
    """The same for a factor that is kept; `age` counts steps since it was made.

    Attributes:
        iterations: Iterations of the last step, shape [1].
        touching: What contacts had added to the block of each node on the diagonal [N/m], shape [n].
        batches: When the compliance of a node was asked for: the how manieth time, -1 if never; shape [n].
    """

    iterations: wp.array[Any] = rows("factor", wp.int64)
    touching: wp.array[Any] = rows("node", wp.mat33d)
    batches: wp.array[Any] = rows("node", wp.int32)


@dataclass(eq=False)
class _Turned:
    """Some nodes, how they have turned since the factor was made, shape [t, 3, 3], and their compliance, once asked."""

    nodes: np.ndarray
    turns: np.ndarray
    compliance: np.ndarray | None = None


class _Told:
    """Numbers of a memory and whether its blocks are those at hand, found on the device and read at once."""

    def __init__(self, device: wp.Device) -> None:
        self._numbers = wp.zeros(4, dtype=wp.float64, device=device)
        self._mirror, self._launcher = Mirror(self._numbers), Launcher(device)

    def tell(
        self, memory: KeptMemory, pairs: Sequence[tuple[wp.array[Any], wp.array[Any]]]
    ) -> tuple[int, int, float, bool]:
        """Iterations, age and shift of a memory, and whether blocks of a pair differ."""
        self._launcher.launch(tell_memory, 1, [memory.iterations, memory.age, memory.shift, self._numbers])
        for theirs, ours in pairs:
            self._launcher.launch(note_other_blocks, len(ours), [theirs, ours, self._numbers])
        iterations, age, shift, differs = self._mirror.read().tolist()
        return int(iterations), int(age), shift, bool(differs)


class KeptFactor:
    """Solves with an old factor, roughly.

    Args:
        unknowns: The unknowns.
        assembly: The sum whose matrices are factored.
        tetrahedra: Elements that tell how nodes have rotated.
        single: Whether a CPU keeps it in single precision.

    Attributes:
        age: Steps since the factor was made, -1 where there is none.
        iterations: Iterations of the last step.
        touching: What contacts had added to the block of each node on the diagonal [N/m], shape [n, 3, 3].
        touched: Nodes to which they had added anything, shape [n].
        factorings: Factors made.
    """

    def __init__(self, unknowns: Unknowns, assembly: Assembly, tetrahedra: Tetrahedra, *, single: bool = True) -> None:
        self.unknowns, self.device = unknowns, assembly.device
        cuda = unknowns.crew.device.is_cuda
        self._factor: FrontSolver | TileSolver
        self._asked: Asked
        if cuda:
            self._factor = tiles = TileSolver(unknowns)
            self._asked = AskedAnswers(tiles)
        else:
            self._factor = fronts = FrontSolver(unknowns, single=single)
            self._asked = AskedRoots(fronts)
        self._right, self._free = (wp.zeros((unknowns.node_count, 1), dtype=wp.vec3d, device=self.device) for _ in "ab")
        self._frames = NodeFrames(tetrahedra, unknowns.order.held)
        self._factored = wp.zeros_like(assembly.values)
        self._shift, self.age, self.iterations, self.factorings = 0.0, -1, 0, 0
        self._own_touching = wp.zeros(unknowns.node_count, dtype=wp.mat33d, device=self.device)
        self.touch(np.zeros((unknowns.node_count, 3, 3)))
        self._turned: _Turned | None = None
        self._told = _Told(self.device)
        self._forget()

    def factor(self, values: wp.array[Any], *, shift: float = 0.0) -> None:
        """Take a matrix, at positions where the tetrahedra were evaluated last."""
        self.factorings += 1
        self.age = -1  # a factor that fails leaves none
        self._factor.factor(values, shift=shift)
        wp.copy(self._factored, values)
        self.turn()
        wp.copy(self._frames.then, self._frames.now)
        self._shift, self.age = shift, 0
        self._forget()

    def touch(self, blocks: np.ndarray) -> None:
        """Note what contacts had added to the block of each node on the diagonal [N/m], shape [n, 3, 3]."""
        self.touching, self.touched = blocks, np.asarray(blocks.any(axis=(1, 2)))
        overwrite(self._own_touching, blocks)

    def turn(self) -> None:
        """Turn the factor along with the nodes, as the tetrahedra were evaluated last."""
        self._frames.find()
        self._turned = None

    def solve(self, right: wp.array[Any], out: wp.array[Any] | None = None) -> wp.array[Any]:
        """Rough solutions for nodal vectors, vec3d of shape [n] or [n, k]."""
        result = wp.empty_like(right) if out is None else out
        vectors, solutions = columns_of(right), columns_of(result)
        self._frames.back(vectors, solutions)
        self._factor.solve(solutions, solutions)
        self._frames.forth(solutions, solutions)
        return result

    def begin(self, right: wp.array[Any]) -> None:
        """Begin the rough solution for a nodal vector, vec3d of shape [n]; `at` and `end` go on."""
        self._frames.back(columns_of(right), self._right)
        self._asked.begin(self._right, self._free)

    def at(self, nodes: np.ndarray) -> np.ndarray:
        """The solution that was begun on some nodes, shape [t, 3]."""
        self._know(nodes)
        turned = (self._turned_with(nodes).turns @ self._asked.at(self._places[nodes])[:, :, None])[:, :, 0]
        return np.where(self.unknowns.held[nodes], 0.0, turned)

    def end(self, out: wp.array[Any], nodes: np.ndarray = _NOBODY, forces: np.ndarray | None = None) -> None:
        """The solution that was begun, with more forces on some nodes, shape [t, 3]."""
        pulls = np.zeros((0, 3))
        if forces is not None:
            self._know(nodes)
            pulls = (self._turned_with(nodes).turns.transpose(0, 2, 1) @ forces[:, :, None])[:, :, 0]
        self._asked.end(self._places[nodes], pulls)
        self._frames.forth(self._free, columns_of(out))

    def compliance(self, nodes: np.ndarray) -> np.ndarray:
        """How nodes answer to forces on them [m/N], shape [3 t, 3 t]."""
        found = self._turned_with(nodes)
        if found.compliance is None:
            self._know(nodes)
            places, count, turns = self._places[nodes], len(nodes), found.turns
            rows = (3 * places[:, None] + np.arange(3)).ravel()
            # Compliances are symmetric: half turned and transposed, they are turned from the other side.
            half = (turns @ self._known[rows][:, rows].reshape(count, 3, 3 * count)).reshape(3 * count, 3 * count)
            whole = turns @ np.ascontiguousarray(half.T).reshape(count, 3, 3 * count)
            found.compliance = whole.reshape(3 * count, 3 * count)
        return found.compliance

    def had_touching(self, nodes: np.ndarray) -> np.ndarray:
        """What contacts had added to the blocks of nodes, turned along with them [N/m], shape [t, 3, 3]."""
        turns = self._turned_with(nodes).turns
        return np.asarray(turns @ self.touching[nodes] @ turns.transpose(0, 2, 1))

    # --- what states hold ---

    def memory(self, device: wp.Device) -> KeptMemory:
        """A memory of nothing, as before the first matrix."""
        counts = {"factor": 1, "block": len(self._factored), "node": self.unknowns.node_count}
        found = new_state(KeptMemory, counts, device)
        found.age.fill_(-1)
        found.batches.fill_(-1)
        return found

    def remember(self, memory: FactorMemory) -> None:
        """Write the matrix and the rotations of the factor, and what was asked of it."""
        assert isinstance(memory, KeptMemory)
        memory.age.fill_(self.age)
        memory.iterations.fill_(self.iterations)
        memory.shift.fill_(self._shift)
        memory.batches.assign(self._batches)
        for theirs, ours in self._pairs(memory):
            wp.copy(theirs, ours)

    def recall(self, memory: FactorMemory) -> None:
        """Make the factor again, unless it is the one at hand."""
        assert isinstance(memory, KeptMemory)
        pairs = self._pairs(memory)
        iterations, age, shift, differs = self._told.tell(memory, pairs)
        batches = np.array(memory.batches.numpy())
        same = shift == self._shift and (age < 0) == (self.age < 0) and np.array_equal(batches, self._batches)
        self.age, self.iterations = age, iterations
        if same and not differs:
            return
        for theirs, ours in pairs:
            wp.copy(ours, theirs)
        self.touch(np.array(memory.touching.numpy()))
        self._shift = shift
        self._forget()
        if age >= 0:
            self._factor.factor(self._factored, shift=shift)
            self._ask_again(batches)

    def _pairs(self, memory: KeptMemory) -> list[tuple[wp.array[Any], wp.array[Any]]]:
        """Blocks that a memory has, and the own ones."""
        return [
            (memory.matrix, self._factored), (memory.rotations, self._frames.then),
            (memory.touching, self._own_touching),
        ]  # fmt: skip

    # --- compliances ---

    def _forget(self) -> None:
        """Know no compliances."""
        self._batches = np.full(self.unknowns.node_count, -1, np.int32)
        self._places = np.full(self.unknowns.node_count, -1)
        self._nodes, self._known = np.zeros(0, int), np.zeros((0, 0))
        self._asked.forget()
        self._turned = None

    def _turned_with(self, nodes: np.ndarray) -> _Turned:
        """What is known of nodes as the factor is turned, found once for as long as both stay the same."""
        if self._turned is None or not np.array_equal(self._turned.nodes, nodes):
            self._turned = _Turned(nodes, self._frames.turns(nodes))
        return self._turned

    def _know(self, nodes: np.ndarray) -> None:
        """Know the compliances of nodes."""
        new = nodes[self._places[nodes] < 0]
        if len(new):
            self._ask(new)

    def _ask(self, new: np.ndarray) -> None:
        """Find the compliances of nodes with each other and with those that are known."""
        before, count = 3 * len(self._nodes), 3 * (len(self._nodes) + len(new))
        nodes = np.concatenate([self._nodes, new])
        found = np.zeros((count, count))
        found[:before, :before] = self._known
        found[:, before:] = self._asked.ask(new)
        found[before:, :before] = found[:before, before:].T
        self._batches[new] = self._batches.max() + 1
        self._nodes, self._known = nodes, found
        self._places[new] = np.arange(before // 3, len(nodes))

    def _ask_again(self, batches: np.ndarray) -> None:
        """Know what was known, in the same order, so that the same rounding is made."""
        for batch in range(batches.max() + 1):
            self._ask(np.flatnonzero(batches == batch))
