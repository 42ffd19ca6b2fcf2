"""Outer nodes of a solid against rigid things, as one more element set: one element a node, so no matrix grows."""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from annelid.fem.elements import ElementSet
from annelid.fem.kernels.contact import follow_nodes, free_parts, keep_stretches, node_gaps, touch_nodes


class NodeContacts(ElementSet):
    """Contact of outer nodes with obstacles.

    Friction has a limit and a plane, which follow from how hard a pair presses and where. Both lag behind by one
    iteration of Newton's method, `follow` takes them from where nodes are: so the tangent is symmetric and there is an
    energy.

    Args:
        outer: Nodes that can touch, shape [k].
        node_count: Nodes of the solid.
        forms: The obstacles, see `kernels.obstacles`.
        reach: Gap at which contact begins [m].
        skin: Gap that is kept beside [m].
        device: Where it is computed.

    Attributes:
        pair_forces: Force of each pair on its node [N], vec3d of shape [k · o].
        pair_tangents: How it resists motion of the node [N/m], mat33d of shape [k · o].
    """

    def __init__(
        self, outer: np.ndarray, node_count: int, forms: Any, *, reach: float, skin: float, device: wp.Device
    ) -> None:
        super().__init__(outer[:, None], device)
        self.forms, self.reach, self.skin = forms, reach, skin
        self._outer = wp.array(outer, dtype=wp.int32, device=device)
        self.size = len(outer), len(forms.kinds)
        pairs = len(outer) * len(forms.kinds)
        self._strengths = wp.zeros(pairs, dtype=wp.float64, device=device)
        self._normals, self.stretches = (wp.zeros(pairs, dtype=wp.vec3d, device=device) for _ in range(2))
        self.pair_forces = wp.zeros(pairs, dtype=wp.vec3d, device=device)
        self.pair_tangents = wp.zeros(pairs, dtype=wp.mat33d, device=device)
        self._starts = wp.zeros(node_count, dtype=wp.vec3d, device=device)
        self._parts = wp.zeros(len(outer), dtype=wp.float64, device=device)
        self._gaps = wp.zeros(self.size, dtype=wp.float64, device=device)

    def begin(self, begin: Any, now: Any, stretches: wp.array[Any], positions: wp.array[Any]) -> None:
        """Start a step: where obstacles were and, in an array that is written to, are; stretches; where nodes are."""
        self._begin, self._now = begin, now
        wp.copy(self.stretches, stretches)
        wp.copy(self._starts, positions)

    def follow(self, positions: wp.array[Any]) -> None:
        """Take the limits and planes of friction from where nodes are."""
        numbers = [wp.float64(self.skin), wp.float64(self.reach), self.forms, self._outer]
        outputs = [self._strengths, self._normals]
        wp.launch(follow_nodes, self.size, [*numbers, self._now, positions], outputs, device=self.device)

    def evaluate(self, positions: wp.array[Any], *, tangent: bool = True) -> None:
        """Energy, forces and tangent of push and friction."""
        numbers = [wp.float64(self.skin), wp.float64(self.reach), int(tangent), self.forms, self._outer]
        lagging = [self._begin, self._now, self._starts, self.stretches, self._strengths, self._normals]
        outputs = [self.energy, self.forces, self.tangent, self.pair_forces, self.pair_tangents]
        wp.launch(touch_nodes, self.element_count, [*numbers, *lagging, positions], outputs, device=self.device)

    def end(self, positions: wp.array[Any], stretches: wp.array[Any], forces: wp.array[Any]) -> None:
        """End a step: what friction keeps, and the forces, into arrays of a state."""
        self.follow(positions)
        self.evaluate(positions, tangent=False)
        wp.copy(forces, self.pair_forces)
        fixed = [self.forms, self._outer, self._begin, self._now, self._starts, self._strengths, self._normals]
        wp.launch(keep_stretches, self.size, [*fixed, positions, self.stretches], device=self.device)
        wp.copy(stretches, self.stretches)

    def free_part(self, positions: wp.array[Any], step: wp.array[Any], begin: Any, end: Any) -> float:
        """Part of a step of nodes and obstacles on which no gap falls below a tenth of itself, at most 1."""
        inputs = [wp.float64(self.skin), self.forms, self._outer, begin, end, positions, step]
        wp.launch(free_parts, self.element_count, inputs, [self._parts], device=self.device)
        return float(self._parts.numpy().min(initial=1.0))

    def gaps(self, positions: wp.array[Any], poses: Any) -> np.ndarray:
        """Gaps of all pairs [m], shape [k, o]."""
        inputs = [wp.float64(self.skin), self.forms, self._outer, poses, positions]
        wp.launch(node_gaps, self.size, inputs, [self._gaps], device=self.device)
        return np.asarray(self._gaps.numpy())
