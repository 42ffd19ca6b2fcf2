"""How nodes have turned since a factor was made: turned along with them, an old factor stays useful."""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from annelid.core.readback import Mirror
from annelid.core.replay import Launcher
from annelid.fem.kernels.iteration import node_rotations, turn_back, turn_forth
from annelid.fem.tetrahedra import Tetrahedra


class NodeFrames:
    """Rotations of the nodes of a solid.

    Args:
        tetrahedra: Elements that tell how nodes have rotated.
        held: Bits of the components of each node that do not move, int32 of shape [n].

    Attributes:
        now: Rotations as they are, mat33d of shape [n].
        then: Rotations when the factor was made, mat33d of shape [n].
    """

    def __init__(self, tetrahedra: Tetrahedra, held: wp.array[Any]) -> None:
        self.device, self._tetrahedra, self._held = tetrahedra.device, tetrahedra, held
        self.now, self.then = self.units(), self.units()
        self._launcher = Launcher(self.device)
        self._mirrors: tuple[Mirror, Mirror] | None = None
        nodes = tetrahedra.point_nodes
        order = np.argsort(nodes.ravel(), kind="stable")
        first = np.searchsorted(nodes.ravel()[order], np.arange(len(held) + 1))
        self._first, self._entries = self._indices(first), self._indices(order // nodes.shape[1])

    def find(self) -> None:
        """Take rotations from where the tetrahedra were evaluated last."""
        arguments = [self._first, self._entries, self._tetrahedra.volumes, self._tetrahedra.frames, self.now]
        self._launcher.launch(node_rotations, len(self._held), arguments)

    def back(self, vectors: wp.array[Any], out: wp.array[Any]) -> None:
        """Vectors, vec3d of shape [n, k], as they would have been then."""
        self._launcher.launch(turn_back, out.shape, [self.then, self.now, vectors, out])

    def forth(self, vectors: wp.array[Any], out: wp.array[Any]) -> None:
        """The inverse, without held components."""
        self._launcher.launch(turn_forth, out.shape, [self._held, self.then, self.now, vectors, out])

    def turns(self, nodes: np.ndarray) -> np.ndarray:
        """How some nodes have turned from then to now, shape [t, 3, 3]."""
        if self._mirrors is None:
            self._mirrors = Mirror(self.now), Mirror(self.then)
        now, then = (mirror.read()[nodes] for mirror in self._mirrors)
        return np.asarray(now @ then.transpose(0, 2, 1))

    def units(self) -> wp.array[Any]:
        """No rotations, mat33d of shape [n]."""
        unit = np.broadcast_to(np.eye(3), (len(self._held), 3, 3))
        return wp.array(np.ascontiguousarray(unit), dtype=wp.mat33d, device=self.device)

    def _indices(self, values: np.ndarray) -> wp.array[Any]:
        return wp.array(values.astype(np.int32), dtype=wp.int32, device=self.device)
