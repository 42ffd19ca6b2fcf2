"""Pushing overlapping spheres apart inside a room, without physics: a heavy ball rolls down the energy of overlaps.

Radii are swollen by half a thousandth while they push, so that the true spheres part in a finite number of steps and
not in the limit only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import warp as wp

from annelid.core.device import device as find_device
from annelid.grains.kernels import relaxing as kernels
from annelid.shapes import Box, Cylinder, Shape, SignedDistanceGrid, baked
from annelid.shapes.values import Floats

SWELL = 1.0005
"""Radii that push over true radii."""

_STIFFNESS = 0.4  # share of an overlap that each of two spheres moves; 0.3 and 0.5 took up to twice the steps
_MEMORY = 0.9  # of the last step; 0.8 took four times the steps at a packing of 0.58, 0.95 did not settle
_CALM = 30  # steps with little memory at the beginning, while overlaps are deep
_SKINS = (0.8, 0.3)  # reach of the lists beyond contact, in radii, at the beginning and later
_CELLS = 128  # along each side of the hash grid
_MOST_GRID = 160  # cells along the longest side of a baked room


class Relaxation:
    """Spheres that push each other apart.

    Args:
        positions: Centres [m], shape [n, 3].
        radii: Radii [m], shape [n].
        room: Where they are kept; None for anywhere.
        grid: Signed distance of the room, on the device, if it is neither a box nor a cylinder; baked unless given.
        device: Where it is computed.
    """

    def __init__(
        self,
        positions: Floats,
        radii: Floats,
        *,
        room: Shape | None = None,
        grid: SignedDistanceGrid | None = None,
        device: str | wp.Device = "cpu",
    ) -> None:
        self.device = find_device(device)
        self.radii = radii
        self._count, self._largest, self._smallest = len(radii), float(radii.max()), float(radii.min())
        if room is not None and grid is None and not isinstance(room, (Box, Cylinder)):
            grid = bake_room(room, self._smallest, self.device)
        self._grid = grid  # the room below reads its values
        self.room = _room(room, grid, self.device)
        self._radii = self._array(radii, wp.float64)
        self._now = [self._array(positions, wp.vec3d), self._zeros(wp.vec3d)]
        self._next = [self._zeros(wp.vec3d), self._zeros(wp.vec3d)]
        self._depth, self._moved = self._zeros(wp.float64), self._zeros(wp.float64)
        self._cells = wp.HashGrid(_CELLS, _CELLS, _CELLS, device=self.device)
        self._margin = 0.0
        self._lists: tuple[wp.array, wp.array, wp.array] | None = None
        self.steps = 0

    @property
    def positions(self) -> Floats:
        """Centres [m], shape [n, 3]."""
        return np.array(self._now[0].numpy())

    def place(self, positions: Floats) -> None:
        """Put the spheres elsewhere [m], shape [n, 3]; those that are moved by it come to rest."""
        steps = self._now[1].numpy()
        steps = np.where((positions != self._now[0].numpy()).any(axis=1)[:, None], 0.0, steps)
        self._now = [self._array(positions, wp.vec3d), self._array(steps, wp.vec3d)]
        self._lists = None

    def widen_inset(self, by: float) -> None:
        """Keep spheres further from the surface of a room that is a solid [m]."""
        self.room.inset = self.room.inset + by

    def push(self, steps: int) -> None:
        """Take some steps."""
        for _ in range(steps):
            self._step(_STIFFNESS, _MEMORY if self.steps >= _CALM else 0.3)
            self.steps += 1

    def depth(self) -> float:
        """Deepest overlap, over the sum of the two radii; 0 if there is none."""
        self._step(0.0, 0.0)
        self._now, self._next = self._next, self._now  # as it was, with its momentum
        return float(self._depth.numpy().max(initial=0.0))

    def settle(
        self, *, tolerance: float = 1e-8, most: int = 8000, watch: Callable[[float], None] | None = None
    ) -> float:
        """Push until no overlap is deeper than the tolerance, or the steps are spent; the deepest one that is left.

        Args:
            tolerance: Overlap over the sum of two radii that counts as none.
            most: Steps at most.
            watch: Called with the deepest overlap now and then.
        """
        last = self.steps + most
        self.push(1)  # into the room, at least
        depth = self.depth()
        while depth > tolerance and self.steps < last:
            self.push(10)
            depth = self.depth()
            if watch is not None:
                watch(depth)
        return depth

    def _step(self, stiffness: float, memory: float) -> None:
        if self._lists is None or float(self._moved.numpy().max()) > 0.5 * self._margin:
            self._list()
        assert self._lists is not None
        wp.launch(
            kernels.push,
            self._count,
            inputs=[self.room, self._radii, *self._lists, SWELL, stiffness, memory, *self._now],
            outputs=[*self._next, self._depth, self._moved],
            device=self.device,
        )
        self._now, self._next = self._next, self._now

    def _list(self) -> None:
        """Lists of all pairs that can touch before one of them has moved by half the margin."""
        self._margin = _SKINS[0 if self.steps < 2 * _CALM else 1] * self._smallest
        reach = self._margin + (SWELL - 1.0) * 2.0 * self._largest
        points = self._array(self._now[0].numpy().astype(np.float32), wp.vec3)
        self._cells.build(points, radius=2.0 * self._largest + reach)
        question = [self._cells.id, points, self._radii, self._largest, reach]
        counts = self._zeros(wp.int32)
        wp.launch(kernels.count_neighbours, self._count, question, [counts], device=self.device)
        last = self._array(np.cumsum(counts.numpy(), dtype=np.int32), wp.int32)
        neighbours = wp.empty(int(last.numpy()[-1]), dtype=wp.int32, device=self.device)
        wp.launch(kernels.list_neighbours, self._count, [*question, last], [neighbours], device=self.device)
        self._lists = last, neighbours, wp.clone(self._now[0])
        self._moved.zero_()

    def _array(self, values: Any, dtype: Any) -> wp.array:
        return wp.array(values, dtype=dtype, device=self.device)

    def _zeros(self, dtype: Any) -> wp.array:
        return wp.zeros(self._count, dtype=dtype, device=self.device)


def bake_room(shape: Shape, radius: float, device: str | wp.Device = "cpu") -> SignedDistanceGrid:
    """The signed distance of a room for grains of a radius [m], as fine as half of it if the grid allows."""
    low, high = shape.bounds()
    spacing = max(0.5 * radius, float((high - low).max()) / _MOST_GRID)
    return baked(shape, spacing=spacing, padding=2.0 * spacing, device=str(find_device(device)))


def _room(shape: Shape | None, grid: SignedDistanceGrid | None, device: wp.Device) -> Any:
    """The room as the kernel takes it."""
    room: Any = kernels.Room()  # Warp gives the fields their types
    room.kind, room.inset = kernels.ANYWHERE, 0.0
    room.grid.values = wp.zeros((2, 2, 2), dtype=wp.float32, device=device)
    if isinstance(shape, Box):
        room.kind, room.center, room.half = (
            kernels.BOX,
            wp.vec3d(*shape.center),
            wp.vec3d(*np.multiply(0.5, shape.size)),
        )
    elif isinstance(shape, Cylinder):
        room.kind, room.center, room.axis = kernels.CYLINDER, wp.vec3d(*shape.center), wp.vec3d(*shape.axis)
        room.half = wp.vec3d(shape.radius, shape.radius, 0.5 * shape.length)
    elif grid is not None:
        room.kind, room.grid = kernels.SOLID, grid.struct
    return room
