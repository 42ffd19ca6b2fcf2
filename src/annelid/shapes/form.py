"""Rigid things as kernels know them, whichever physics they are of."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from annelid.core.errors import InvalidValue
from annelid.shapes.height_field import HeightField
from annelid.shapes.kernels.gaps import GRID, HEIGHTS, PLANE
from annelid.shapes.kernels.geometry import geometry_struct
from annelid.shapes.mesh import Shape
from annelid.shapes.plane import Plane
from annelid.shapes.primitives import Axial
from annelid.shapes.rigid import Rigid
from annelid.shapes.values import frame

ENDLESS = 1.0e30
"""Depth of what nothing can leave on another side [m]; single precision holds it."""

_CORE = 0.5  # part of half a thickness that something may sink in


class Form:
    """What a rigid thing is to kernels.

    Args:
        rigid: The rigid thing.

    Attributes:
        kind: Kind of geometry.
        size: What its closed form takes [m], or the normal of a plane, shape [3].
        side: -1 where things are kept inside, else 1.
        axes: Rotation from the frame of the kernels, where axes lie along z, to that of the geometry.
        middle: The origin of that frame in the frame of the geometry [m], shape [3]: the centre of mass of a shape.
        nodes: Number of what is looked up along each axis.
        origin: The first node [m], shape [3]; of heights with the cosine of their steepest slope.
        spacing: Distances between nodes [m], shape [3]; of heights with a factor on them.
        values: Distances or heights that are looked up [m], shape [k].
    """

    def __init__(self, rigid: Rigid) -> None:
        geometry = rigid.geometry
        self._rigid = rigid
        self.kind, self.size, self.axes, self.side = GRID, np.zeros(3), Rotation.identity(), 1.0 - 2.0 * rigid.inside
        self.nodes, self.origin, self.spacing = (0, 0, 0), np.zeros(3), np.ones(3)
        self.values = np.zeros(0, np.float32)
        if isinstance(geometry, Plane):
            self.kind, self.size, self.middle = PLANE, np.array(geometry.normal), np.array(geometry.point)
        elif isinstance(geometry, HeightField):
            self.kind, self.middle = HEIGHTS, np.zeros(3)
            self._take_heights(geometry)
        elif isinstance(geometry, Shape):
            self.kind, self.size, self.middle = geometry.kind, np.array(geometry.sizes), rigid.middle
            if self.kind == GRID:
                self._take_grid(rigid)
            elif isinstance(geometry, Axial):
                self.axes = Rotation.from_matrix(frame(geometry.axis))
        else:
            raise InvalidValue(f"{rigid.kind} has no form that kernels know.")

    def _take_grid(self, rigid: Rigid) -> None:
        grid = rigid.grid
        values = np.asarray(grid.values.numpy())
        self.nodes, self.values = values.shape, values.ravel()
        self.origin, self.spacing = np.array(grid.origin) - self.middle, np.full(3, grid.spacing)

    def _take_heights(self, field: HeightField) -> None:
        heights, steps = np.asarray(field.heights, float), field.steps
        steepest = np.hypot(*(np.abs(np.diff(heights, axis=a)).max(initial=0.0) / steps[a] for a in (0, 1)))
        self.nodes, self.values = (*heights.shape, 1), heights.ravel().astype(np.float32)
        self.origin = np.array([*field.begin, math.cos(math.atan(steepest))])
        self.spacing = np.array([*steps, 1.0])

    @property
    def core(self) -> float:
        """Depth that nothing goes below [m]: a part of half the thickness; what has no thickness has no limit."""
        return ENDLESS if self._rigid.inside else min(_CORE * 0.5 * self._rigid.thinnest, ENDLESS)

    def pose(self, position: np.ndarray, turn: Rotation) -> tuple[np.ndarray, np.ndarray]:
        """Place [m] and quaternion of the frame of the kernels, for a place and turn of that of the geometry."""
        return position + turn.apply(self.middle), (turn * self.axes).as_quat()

    def still(self, real: Any, first: int) -> tuple[Any, np.ndarray, np.ndarray]:
        """Structure of the kernels, place [m] and matrix of the turn of what does not move; a plane is turned itself.

        Args:
            real: `wp.float32` or `wp.float64`.
            first: Where what is looked up begins among that of all.
        """
        place, turn = self.pose(np.array(self._rigid.position), self._rigid.turn)
        if self.kind != PLANE:
            return self.struct(real, first, self.size), place, Rotation.from_quat(turn).as_matrix()
        return self.struct(real, first, self._rigid.turn.apply(self.size)), place, np.eye(3)

    def struct(self, real: Any, first: int, size: np.ndarray) -> Any:
        """Structure of the kernels with a size."""
        made: Any = geometry_struct(real)()
        made.kind, made.side, made.first, made.nodes = self.kind, self.side, first, self.nodes
        made.size, made.origin, made.spacing = size, self.origin, self.spacing
        return made
