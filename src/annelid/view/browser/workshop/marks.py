"""What stands in the scene of the workshop: the box that marks a part, dots on what is fixed, the handle that pulls."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations, product
from typing import Any

import numpy as np

_BOX_COLOR = (60, 120, 200)
_HELD_COLOR = (40, 44, 52)
_PULL_COLOR = (200, 85, 61)


class MarkBox:
    """A box that is dragged in the scene and sized in the panel.

    Args:
        server: The viser server.
    """

    def __init__(self, server: Any) -> None:
        self._scene = server.scene
        self._gizmo: Any = None
        self._held: Any = None

    @property
    def value(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Middle and lengths of the sides [m]."""
        return tuple(map(float, self.middle.value)), tuple(map(float, self.size.value))

    def add_controls(self, gui: Any) -> None:
        """Controls for place and size, in the current folder."""
        self.shown = gui.add_checkbox("Show the box", True)
        self.middle = gui.add_vector3("Middle [m]", (0.0, 0.0, 0.0), step=0.001)
        self.size = gui.add_vector3("Size [m]", (0.1, 0.1, 0.1), min=(1e-6,) * 3, step=0.001)
        self.shown.on_update(lambda _: self._move())
        self.middle.on_update(lambda event: self._move() if event.client is not None else None)
        self.size.on_update(lambda _: self._resize())

    def place(self, low: np.ndarray, high: np.ndarray) -> None:
        """Put it over the left quarter of what lies between two corners [m]."""
        extent = np.maximum(high - low, 1e-6)
        middle = 0.5 * (low + high) - [0.415 * extent[0], 0.0, 0.0]
        size = extent * [0.25, 1.2, 1.2] + [0.0, 1e-3, 1e-3]
        self.middle.value, self.size.value = _rounded(middle), _rounded(size)
        if self._gizmo is not None:
            self._gizmo.remove()
        self._gizmo = self._scene.add_transform_controls(
            "/all/workshop/box",
            scale=0.35 * float(extent.max()),
            disable_rotations=True,
            line_width=2.0,
            position=self.middle.value,
        )
        self._sides = self._scene.add_box(
            "/all/workshop/box/sides", _BOX_COLOR, opacity=0.18, side="double", cast_shadow=False, receive_shadow=False
        )
        self._edges = self._scene.add_line_segments(
            "/all/workshop/box/edges", _edges(self.size.value), _BOX_COLOR, thickness=1.5, thickness_units="screen"
        )
        self._gizmo.on_update(lambda event: self._dragged(event.target.position))
        self._resize()
        self._move()

    def show_held(self, points: np.ndarray, pitch: float) -> None:
        """Put dots on fixed masses [m], shape [k, 3]."""
        if self._held is not None:
            self._held.remove()
            self._held = None
        if len(points):
            self._held = self._scene.add_point_cloud(
                "/all/workshop/held",
                points.astype(np.float32),
                colors=_HELD_COLOR,
                point_size=0.2 * pitch,
                point_shape="circle",
            )

    def remove(self) -> None:
        """Take everything out of the scene."""
        for handle in (self._gizmo, self._held):
            if handle is not None:
                handle.remove()
        self._gizmo = self._held = None

    def _dragged(self, position: np.ndarray) -> None:
        self.middle.value = _rounded(position)

    def _move(self) -> None:
        if self._gizmo is not None:
            self._gizmo.position, self._gizmo.visible = self.middle.value, bool(self.shown.value)

    def _resize(self) -> None:
        if self._gizmo is not None:
            self._sides.dimensions = self.size.value
            self._edges.points = _edges(self.size.value)


class Handle:
    """A point that is dragged, with a line to the mass that it pulls.

    Args:
        server: The viser server.
        moved: Called when it was dragged, once until `take`.

    Attributes:
        size: Size of the handle [m].
    """

    def __init__(self, server: Any, moved: Callable[[], None]) -> None:
        self.size = 0.1
        self._scene, self._moved = server.scene, moved
        self._gizmo: Any = None
        self._line: Any = None
        self._waiting: tuple[float, float, float] | None = None

    @property
    def shown(self) -> bool:
        """Whether it is there."""
        return self._gizmo is not None

    def show(self, place: np.ndarray) -> None:
        """Put it at a place [m]."""
        self.hide()
        self._gizmo = self._scene.add_transform_controls(
            "/all/workshop/handle", scale=self.size, disable_rotations=True, depth_test=False, position=tuple(place)
        )
        self._scene.add_icosphere("/all/workshop/handle/ball", 0.06 * self.size, _PULL_COLOR)
        self._gizmo.on_update(lambda event: self._dragged(event.target.position))

    def hide(self) -> None:
        """Remove it."""
        for node in (self._gizmo, self._line):
            if node is not None:
                node.remove()
        self._gizmo = self._line = self._waiting = None

    remove = hide

    def draw(self, ends: tuple[np.ndarray, np.ndarray] | None) -> None:
        """Draw the line between two points [m]; None: there is nothing to pull any more."""
        if ends is None:
            self.hide()
            return
        points = np.array([ends], np.float32)
        if self._line is None:
            self._line = self._scene.add_line_segments(
                "/all/workshop/pull", points, _PULL_COLOR, thickness=3.0, thickness_units="screen"
            )
        else:
            self._line.points = points

    def take(self) -> tuple[float, float, float] | None:
        """Where it was dragged since the last time; only the latest place counts, however fast the mouse moves."""
        place, self._waiting = self._waiting, None
        return place

    def _dragged(self, position: np.ndarray) -> None:
        pending = self._waiting is not None
        self._waiting = (float(position[0]), float(position[1]), float(position[2]))
        if not pending:
            self._moved()


def _rounded(values: np.ndarray) -> tuple[float, float, float]:
    x, y, z = (round(float(v), 6) for v in values)
    return x, y, z


def _edges(size: tuple[float, float, float]) -> np.ndarray:
    """The twelve edges of a box around the origin, shape [12, 2, 3]."""
    corners = np.array(list(product((-0.5, 0.5), repeat=3)), np.float32)
    pairs = [(a, b) for a, b in combinations(range(8), 2) if np.abs(corners[a] - corners[b]).sum() == 1.0]
    return corners[np.array(pairs)] * np.array(size, np.float32)
