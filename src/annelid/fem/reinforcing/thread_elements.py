"""Threads as an element set: one element for each segment, on the nodes that carry its two ends."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import warp as wp

from annelid.core.replay import Crew
from annelid.fem.kernels.threads import foresee_threads, stretch_threads
from annelid.fem.reinforcing.sets import Reinforcement
from annelid.fem.reinforcing.threads import LaidThread

_NOTHING = 1e-12
"""Factor below which a node has no part in a segment."""


class Threads(Reinforcement):
    """The segments of all threads of a solid.

    Args:
        threads: The threads, at least one.
        crew: Where it is computed.
    """

    def __init__(self, threads: Sequence[LaidThread], crew: Crew) -> None:
        parts = [_segments(each) for each in threads]
        width = max(nodes.shape[1] for nodes, _ in parts)
        nodes, factors = (np.concatenate([_widened(part[i], width, fill) for part in parts]) for i, fill in _FILLS)
        count = [len(each.lengths) for each in threads]
        lengths = np.concatenate([each.lengths for each in threads])
        stiffnesses = np.repeat([each.thread.axial_stiffness for each in threads], count)
        one_sided = np.repeat([int(each.thread.one_sided) for each in threads], count).astype(np.int32)
        stiffest = float((stiffnesses / lengths).max())
        super().__init__(nodes, crew, (factors, lengths, stiffnesses, one_sided), stiffest=stiffest)
        fixed = [
            self._array(self.nodes, wp.int32),
            self._array(factors, wp.float64),
            self._array((self.nodes >= 0).sum(axis=1), wp.int32),
            self._array(lengths, wp.float64),
            self._array(stiffnesses, wp.float64),
            self._array(one_sided, wp.int32),
        ]
        self._prepare(stretch_threads, foresee_threads, fixed, crew, parts=1)


_FILLS = ((0, -1), (1, 0.0))


def _segments(laid: LaidThread) -> tuple[np.ndarray, np.ndarray]:
    """Nodes of each segment, each once, and the factors with which they make end less start; shape [s, m] each.

    Nodes that have no part in it are left out: a point on a face needs its three corners only.
    """
    start, end = laid.segments.T
    nodes = np.concatenate([laid.points.nodes[start], laid.points.nodes[end]], axis=1)
    factors = np.concatenate([-laid.points.weights[start], laid.points.weights[end]], axis=1)
    order = np.argsort(nodes, axis=1, kind="stable")
    nodes, factors = np.take_along_axis(nodes, order, axis=1), np.take_along_axis(factors, order, axis=1)
    for i in range(nodes.shape[1] - 1):  # a node of both ends adds up at its last place
        same = nodes[:, i] == nodes[:, i + 1]
        factors[same, i + 1] += factors[same, i]
        factors[same, i] = 0.0
    unused = abs(factors) < _NOTHING
    nodes, factors = np.where(unused, -1, nodes), np.where(unused, 0.0, factors)
    order = np.argsort(unused, axis=1, kind="stable")
    nodes, factors = np.take_along_axis(nodes, order, axis=1), np.take_along_axis(factors, order, axis=1)
    width = int((~unused).sum(axis=1).max())
    return nodes[:, :width], factors[:, :width]


def _widened(values: np.ndarray, width: int, fill: float) -> np.ndarray:
    return np.pad(values, ((0, 0), (0, width - values.shape[1])), constant_values=fill)
