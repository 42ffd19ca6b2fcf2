"""Nodes of which a factor was asked how they answer to forces on each other, and solutions with forces on them.

With what is kept for these nodes, the solution for a vector is known on them after half of the work, and further forces
on them cost next to nothing: so what such nodes do to each other can be found between the two halves of a solution.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import warp as wp

from annelid.core.linalg.blas import one_thread
from annelid.core.readback import Mirror
from annelid.core.replay import Launcher
from annelid.core.state import overwrite
from annelid.fem.kernels.tiles import add_answers, pick, pull_at
from annelid.fem.linalg.front_solver import FrontSolver
from annelid.fem.linalg.tile_solver import TileSolver

_PULLED = 24  # nodes that are pulled at together on CUDA


class Asked(Protocol):
    """Nodes of which a factor was asked; all have a free component."""

    def forget(self) -> None:
        """Know of no node, because there is another factor."""
        ...

    def ask(self, new: np.ndarray) -> np.ndarray:
        """Know of more nodes; how all that are known answer to forces on the new ones [m/N], shape [3 a, 3 t]."""
        ...

    def begin(self, right: wp.array[Any], out: wp.array[Any]) -> None:
        """Begin the solution for a nodal vector, both vec3d of shape [n, 1]."""
        ...

    def at(self, known: np.ndarray) -> np.ndarray:
        """The solution that was begun on some nodes, by their places among those known, shape [t, 3]."""
        ...

    def end(self, known: np.ndarray, forces: np.ndarray) -> None:
        """End it, with more forces on such nodes, shape [t, 3]."""
        ...


class AskedRoots:
    """On the CPU: of A = L Lᵀ, L⁻¹ of unit forces on the nodes is kept.

    Args:
        factor: The factor.
    """

    def __init__(self, factor: FrontSolver) -> None:
        self._factor = factor
        self.forget()

    def forget(self) -> None:
        """Know of no node, because there is another factor."""
        self._roots = np.zeros((0, self._factor.unknowns.count), np.float32 if self._factor.single else np.float64)

    def ask(self, new: np.ndarray) -> np.ndarray:
        """Know of more nodes; how all that are known answer to forces on the new ones [m/N], shape [3 a, 3 t]."""
        found = self._factor.roots(new)
        self._roots = np.concatenate([self._roots, found])
        with one_thread():
            return np.asarray(self._roots @ found.T, float)

    def begin(self, right: wp.array[Any], out: wp.array[Any]) -> None:
        """Begin the solution for a nodal vector, both vec3d of shape [n, 1]."""
        self._halfway, self._out = self._factor.lower(right), out

    def at(self, known: np.ndarray) -> np.ndarray:
        """The solution that was begun on some nodes, by their places among those known, shape [t, 3]."""
        scale = float(np.abs(self._halfway).max(initial=0.0)) or 1.0  # single precision has a small range
        with one_thread():
            found = self._roots @ (self._halfway / scale).astype(self._roots.dtype)
        return np.asarray(found.reshape(-1, 3)[known] * scale, float)

    def end(self, known: np.ndarray, forces: np.ndarray) -> None:
        """End it, with more forces on such nodes, shape [t, 3]."""
        wide = np.zeros((len(self._roots) // 3, 3))
        wide[known] = forces
        scale = float(np.abs(wide).max(initial=0.0)) or 1.0
        with one_thread():
            more = (wide.ravel() / scale).astype(self._roots.dtype) @ self._roots
        self._factor.upper(self._halfway + scale * more.astype(float), self._out)


class AskedAnswers:
    """On CUDA: the answers of all nodes to unit forces on these are kept.

    Args:
        factor: The factor.
    """

    def __init__(self, factor: TileSolver) -> None:
        self._factor, self._unknowns = factor, factor.unknowns
        self._solution = wp.zeros((self._unknowns.node_count, 1), dtype=wp.vec3d, device=factor.device)
        self.forget()

    def forget(self) -> None:
        """Know of no node, because there is another factor."""
        self._nodes = np.zeros(0, int)
        self._launcher = Launcher(self._factor.device)  # another one, which keeps no answers that are forgotten
        self._answers: list[tuple[int, wp.array[Any]]] = []

    def ask(self, new: np.ndarray) -> np.ndarray:
        """Know of more nodes; how all that are known answer to forces on the new ones [m/N], shape [3 a, 3 t]."""
        device, self._nodes = self._factor.device, np.concatenate([self._nodes, new])
        self._rows = wp.array(self._nodes.astype(np.int32), dtype=wp.int32, device=device)
        self._picked = wp.zeros((len(self._nodes), 1), dtype=wp.vec3d, device=device)
        self._pulls = wp.zeros(3 * len(self._nodes), dtype=wp.float64, device=device)
        self._mirror = Mirror(self._picked)
        found = np.zeros((3 * len(self._nodes), 0))
        for some in np.split(new, np.arange(_PULLED, len(new), _PULLED)):  # one size, of which a graph is kept
            shape = 3 * _PULLED, self._unknowns.node_count  # neighbouring threads of `add_answers` read neighbours
            columns = wp.zeros(shape, dtype=wp.vec3d, device=device).transpose()
            places = wp.array(some.astype(np.int32), dtype=wp.int32, device=device)
            wp.launch(pull_at, (len(some), 3), [places, columns], device=device)
            self._factor.solve(columns, columns)
            self._answers.append((len(some), columns))
            picked = wp.zeros((len(self._nodes), 3 * len(some)), dtype=wp.vec3d, device=device)
            wp.launch(pick, picked.shape, [self._rows, columns, picked], device=device)
            found = np.hstack([found, picked.numpy().transpose(0, 2, 1).reshape(len(found), -1)])
        return found

    def begin(self, right: wp.array[Any], out: wp.array[Any]) -> None:
        """Begin the solution for a nodal vector, both vec3d of shape [n, 1]."""
        self._out = out
        self._factor.solve(right, self._solution)

    def at(self, known: np.ndarray) -> np.ndarray:
        """The solution that was begun on some nodes, by their places among those known, shape [t, 3]."""
        if not len(self._nodes):
            return np.zeros((0, 3))
        self._launcher.launch(pick, self._picked.shape, [self._rows, self._solution, self._picked])
        return np.asarray(self._mirror.read()[known, 0])

    def end(self, known: np.ndarray, forces: np.ndarray) -> None:
        """End it, with more forces on such nodes, shape [t, 3]."""
        first = 0
        wp.copy(self._out, self._solution)
        if not len(known):
            return
        wide = np.zeros((len(self._nodes), 3))
        wide[known] = forces
        overwrite(self._pulls, wide.ravel())
        for count, columns in self._answers:
            inputs = [3 * first, 3 * count, self._pulls, columns, self._out]
            self._launcher.launch(add_answers, self._unknowns.node_count, inputs)
            first += count
