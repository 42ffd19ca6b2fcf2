"""Obstacles that a soft robot must not enter: its surface nodes are kept out of them, without friction."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import warp as wp

from annelid.fem.elements import ElementSet
from annelid.fem.kernels.actuation import carry
from annelid.fem.mesh import Hollow
from annelid.fem.robots.barriers import barriers_of
from annelid.fem.solid import Solid
from annelid.shapes import Obstacle


class ContactLoads(ElementSet):
    """Forces of obstacles on the outer nodes of a solid, as they were found last.

    Args:
        solid: The solid.
        device: Where it is computed.

    Attributes:
        outer: Nodes that can touch: those of the surface that belong to no cavity and are not held, shape [k].
    """

    def __init__(self, solid: Solid, device: wp.Device) -> None:
        hollow = [np.unique(cavity) for cavity in solid.mesh.cavities()] if isinstance(solid.mesh, Hollow) else []
        idle = np.concatenate([np.flatnonzero(solid.held.all(axis=1)), *hollow])
        self.outer = np.setdiff1d(np.unique(solid.boundary), idle).astype(np.int32)
        super().__init__(self.outer[:, None], device)
        self._nodes = wp.array(self.nodes, dtype=wp.int32, device=device)
        self._loads = wp.zeros(len(self.outer), dtype=wp.vec3d, device=device)

    def load(self, forces: np.ndarray, blocks: np.ndarray) -> None:
        """Act with these forces from now on.

        Args:
            forces: Force on each outer node [N], shape [k, 3].
            blocks: How it resists motion: minus its slope [N/m], shape [k, 3, 3].
        """
        self._loads.assign(forces)
        self.tangent.assign(blocks[:, None, None])

    def evaluate(self, positions: wp.array[Any], *, tangent: bool = True) -> None:
        """Energy and forces; they stay as they were given."""
        arguments = [self._nodes, self._loads, positions, self.energy, self.forces]
        wp.launch(carry, self.element_count, arguments, device=self.device)


class Contacts:
    """All obstacles of a robot and the forces between them and its outer nodes.

    Args:
        obstacles: The obstacles.
        solid: The solid.
        device: Where it is computed.

    Attributes:
        obstacles: The obstacles as the robot touches them.
        forces: Force of each obstacle on each outer node, along its normal [N], shape [o, k].
        gaps: Distance of each outer node from each obstacle [m], shape [o, k], when it was last looked at.
        normals: Normals there, shape [o, k, 3].
    """

    def __init__(self, obstacles: Sequence[Obstacle], solid: Solid, device: wp.Device) -> None:
        self.obstacles = barriers_of(obstacles)
        self.loads = ContactLoads(solid, device)
        shape = len(self.obstacles), len(self.loads.outer)
        self.forces, self.gaps = np.zeros(shape), np.full(shape, np.inf)
        self.normals, self._bends = np.zeros((*shape, 3)), np.zeros((*shape, 3, 3))

    def look(self, positions: np.ndarray) -> None:
        """Find gaps and normals at positions of all nodes [m], shape [n, 3]."""
        points = positions[self.loads.outer]
        for i, obstacle in enumerate(self.obstacles):
            touch = obstacle.touch(points)
            self.gaps[i], self.normals[i], self._bends[i] = touch.gaps, touch.normals, touch.bends

    def near(self, margin: float) -> np.ndarray:
        """Pairs of obstacle and outer node that press or are nearer than a margin [m], shape [c, 2]."""
        return np.argwhere((self.forces > 0.0) | (self.gaps < margin))

    def press(self) -> None:
        """Act with the forces from now on, along the normals that were found last."""
        self.loads.load(
            np.einsum("ok,okx->kx", self.forces, self.normals), -np.einsum("ok,okxy->kxy", self.forces, self._bends)
        )
