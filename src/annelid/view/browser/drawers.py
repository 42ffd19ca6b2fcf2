"""The parts of a snapshot as nodes of a viser scene; each is made once and then only moved and recoloured.

viser's meshes have one colour each. A surface coloured by a field is therefore drawn as a few meshes, one a colour,
among which the triangles are dealt out anew for each frame; buffers keep their size, so the browser only refills them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import trimesh

from annelid.core.snapshot import Field, Lines, Mesh, Plane, Spheres, host_array
from annelid.view.browser.decimate import Thinned, thinned
from annelid.view.browser.relief import relief
from annelid.view.colors import MISSING, Scale

MAX_TRIANGLES = 30_000
MAX_SPHERES = 30_000
MAX_POINTS = 100_000
MAX_LINES = 6_000
MAX_SHADOW = 2_000
_BALLS = ((300, 3), (5_000, 2), (MAX_SPHERES, 1))  # so many balls have icospheres of so many subdivisions
_SHADES = 28
_SMALLEST = 64
_LIGHT = np.array([0.3, -0.2, 1.0], np.float32)


class Drawer(Protocol):
    """Draws one part, again and again."""

    def draw(self, part: Any, scale: Scale | None) -> None:
        """Show the part as it is now."""
        ...

    def remove(self) -> None:
        """Take it out of the scene."""
        ...


def make_drawer(scene: Any, path: str, part: Any, span: float = 1.0) -> Drawer:
    """The drawer for a kind of part in a scene of some size [m]."""
    kinds: dict[type, Callable[[Any, str], Drawer]] = {
        Mesh: MeshDrawer,
        Spheres: SphereDrawer,
        Lines: LineDrawer,
        Plane: lambda scene, path: PlaneDrawer(scene, path, span),
    }
    return kinds[type(part)](scene, path)


def to_bytes(color: Any) -> tuple[int, int, int]:
    """A colour in [0, 1] as integers up to 255."""
    r, g, b = (round(255.0 * float(c)) for c in color)
    return r, g, b


def linear(colors: np.ndarray) -> np.ndarray:
    """Colours as shares of light, both up to 255: what viser takes for many meshes, without which they are pale."""
    share = colors / 255.0
    return np.rint(255.0 * np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)).astype(np.uint8)


def _chosen(part: Any, scale: Scale | None) -> Field | None:
    return part.fields.get(scale.name) if scale is not None else None


class MeshDrawer:
    """A surface: one mesh in one colour, or one for each shade of a field."""

    def __init__(self, scene: Any, path: str) -> None:
        self._scene, self._path = scene, path
        self._plain: Any = None
        self._shades: dict[int, Any] = {}
        self._capacity: dict[int, int] = {}
        self._source: Any = None
        self._thin: Thinned | None = None
        self._colors: bytes = b""

    def draw(self, part: Mesh, scale: Scale | None) -> None:
        """Show the surface as it is now."""
        vertices = np.asarray(host_array(part.vertices), np.float32)
        thin = self._topology(part, vertices)
        moved = vertices if len(thin.vertices) == len(vertices) else vertices[thin.vertices]
        field = _chosen(part, scale)
        if field is None or scale is None or not len(thin.triangles):
            self._drop_shades()
            self._draw_plain(moved, thin, part)
        else:
            self._drop_plain()
            values = np.asarray(host_array(field.values), np.float32)[thin.vertices]
            self._draw_shades(moved[thin.triangles], values[thin.triangles], scale)

    def remove(self) -> None:
        """Take it out of the scene."""
        self._drop_plain()
        self._drop_shades()

    def _topology(self, part: Mesh, vertices: np.ndarray) -> Thinned:
        if self._thin is None or part.triangles is not self._source:
            self._source = part.triangles
            self._thin = thinned(vertices, np.asarray(host_array(part.triangles)), MAX_TRIANGLES)
            self._drop_plain()
        return self._thin

    def _draw_plain(self, vertices: np.ndarray, thin: Thinned, part: Mesh) -> None:
        if self._plain is None:
            faces = thin.triangles.astype(np.uint32)
            color = to_bytes(part.color)
            self._plain = self._scene.add_mesh_simple(
                self._path, vertices, faces, color=color, flat_shading=True, side="double"
            )
        else:
            self._plain.vertices = vertices

    def _draw_shades(self, corners: np.ndarray, values: np.ndarray, scale: Scale) -> None:
        """Deal the triangles, shape [m, 3, 3], out among the shades by the mean of their values, shape [m, 3]."""
        colors = shade_colors(scale)
        if colors.tobytes() != self._colors:
            self._drop_shades()
            self._colors = colors.tobytes()
        shades = shade_numbers(values, scale, len(colors))
        order = np.argsort(shades, kind="stable")
        ends = np.searchsorted(shades[order], np.arange(len(colors)), side="right")
        for shade, (begin, end) in enumerate(zip(np.concatenate([[0], ends[:-1]]), ends, strict=True)):
            if end > begin or shade in self._shades:
                self._fill(shade, corners[order[begin:end]].reshape(-1, 3), colors[shade])

    def _fill(self, shade: int, soup: np.ndarray, color: np.ndarray) -> None:
        needed, room = len(soup) // 3, self._capacity.get(shade, 0)
        if needed > room or needed < room // 6:
            room = max(_SMALLEST, int(1.5 * needed))
        padded = np.zeros((3 * room, 3), np.float32)
        padded[: len(soup)] = soup
        padded[len(soup) :] = soup[0] if len(soup) else 0.0
        if shade not in self._shades:
            faces = np.arange(3 * room, dtype=np.uint32).reshape(-1, 3)
            options: dict[str, Any] = {"color": to_bytes(color), "flat_shading": True, "side": "double"}
            self._shades[shade] = self._scene.add_mesh_simple(f"{self._path}/{shade}", padded, faces, **options)
        else:
            if room != self._capacity[shade]:
                self._shades[shade].faces = np.arange(3 * room, dtype=np.uint32).reshape(-1, 3)
            self._shades[shade].vertices = padded
        self._capacity[shade] = room

    def _drop_plain(self) -> None:
        if self._plain is not None:
            self._plain.remove()
            self._plain = None

    def _drop_shades(self) -> None:
        for handle in self._shades.values():
            handle.remove()
        self._shades, self._capacity = {}, {}


def shade_colors(scale: Scale) -> np.ndarray:
    """The colours of the shades, shape [shades, 3], the last one for what is not a number."""
    table = scale.table()
    if not scale.labels:
        table = table[np.rint(np.linspace(0, len(table) - 1, _SHADES)).astype(np.int64)]
    return np.vstack([table, np.array([MISSING], np.float32)])


def shade_numbers(values: np.ndarray, scale: Scale, count: int) -> np.ndarray:
    """The shade of each triangle from the values at its corners, shape [m, 3]."""
    if scale.labels:
        mean = values[:, 0]  # the mean of two categories would be a third
        at = np.rint(np.nan_to_num(mean))
    else:
        low, high = scale.limits
        mean = values.mean(axis=1)
        at = np.floor((np.nan_to_num(mean, nan=low) - low) / (high - low) * (count - 1))
    shades = np.clip(at, 0, count - 2).astype(np.int64)
    return np.where(np.isnan(mean), count - 1, shades)


class SingleDrawer:
    """Draws a part as one thing of the scene."""

    def __init__(self, scene: Any, path: str) -> None:
        self._scene, self._path = scene, path
        self._handle: Any = None
        self._count = -1  # of what is drawn

    def remove(self) -> None:
        """Take it out of the scene."""
        if self._handle is not None:
            self._handle.remove()
            self._handle = None


class SphereDrawer(SingleDrawer):
    """Balls, rounder the fewer they are, or dots if they are very many, which carry the light on their heap."""

    def draw(self, part: Spheres, scale: Scale | None) -> None:
        """Show the balls as they are now."""
        centers = np.asarray(host_array(part.centers), np.float32).reshape(-1, 3)
        radii = np.broadcast_to(np.asarray(host_array(part.radii), np.float32), (len(centers),))
        keep = slice(None, None, max(1, -(-len(centers) // MAX_POINTS)))
        colors = _element_colors(part, scale, len(centers))[keep]
        centers, radii = centers[keep], radii[keep]
        if len(centers) > MAX_SPHERES:
            brightness = relief(centers, float(np.median(radii)), _LIGHT)
            colors = np.rint(colors * brightness[:, None]).astype(np.uint8)
        if self._handle is None or len(centers) != self._count:
            self.remove()
            self._count = len(centers)
            self._handle = self._dots(centers, radii, colors) if self._many else self._balls(centers, radii, colors)
        elif self._many:
            self._handle.points, self._handle.colors = centers, colors
        else:
            self._handle.batched_positions, self._handle.batched_colors = centers, linear(colors)

    @property
    def _many(self) -> bool:
        return self._count > MAX_SPHERES

    def _dots(self, centers: np.ndarray, radii: np.ndarray, colors: np.ndarray) -> Any:
        size = 2.0 * float(np.median(radii))
        options: dict[str, Any] = {"point_size": size, "point_shape": "circle", "precision": "float32"}
        return self._scene.add_point_cloud(self._path, centers, colors, **options, point_shading="gradient")

    def _balls(self, centers: np.ndarray, radii: np.ndarray, colors: np.ndarray) -> Any:
        detail = next(detail for count, detail in _BALLS if len(centers) <= count)
        ball = trimesh.creation.icosphere(subdivisions=detail, radius=1.0)
        upright = np.tile(np.array([1.0, 0.0, 0.0, 0.0], np.float32), (len(centers), 1))
        faces = np.asarray(ball.faces, np.uint32)
        vertices = np.asarray(ball.vertices, np.float32)
        options: dict[str, Any] = {"batched_scales": radii.copy(), "batched_colors": linear(colors), "lod": "off"}
        return self._scene.add_batched_meshes_simple(self._path, vertices, faces, upright, centers, **options)


class LineDrawer(SingleDrawer):
    """Segments, or an even choice of them if they are many."""

    def draw(self, part: Lines, scale: Scale | None) -> None:
        """Show the lines as they are now."""
        segments = np.asarray(host_array(part.segments))
        keep = slice(None, None, max(1, -(-len(segments) // MAX_LINES)))
        ends = np.asarray(host_array(part.points), np.float32)[segments[keep]]
        colors = np.repeat(_element_colors(part, scale, len(segments))[keep, None], 2, axis=1)
        if self._handle is None or len(ends) != self._count:
            self.remove()
            self._count = len(ends)
            if len(ends):
                self._handle = self._scene.add_line_segments(
                    self._path, ends, colors, thickness=1.6, thickness_units="screen"
                )
        else:
            self._handle.points, self._handle.colors = ends, colors


class PlaneDrawer(SingleDrawer):
    """An endless plane, drawn as a grid as fine as the scene is large [m].

    It reaches far, but no farther than one can see: the depth of the pixels of huge triangles is so coarse that the
    plane would hide what lies on it.
    """

    def __init__(self, scene: Any, path: str, span: float = 1.0) -> None:
        super().__init__(scene, path)
        self._section = 10.0 ** math.floor(math.log10(min(max(span, 1e-6), 1e6)))
        self._drawn: Plane | None = None

    def draw(self, part: Plane, scale: Scale | None) -> None:
        """Show the plane."""
        if part == self._drawn:
            return
        self.remove()
        self._drawn = part
        self._handle = self._scene.add_grid(
            self._path,
            infinite_grid=True,
            width=2.0,
            height=2.0,
            fade_distance=50.0 * self._section,
            cell_size=0.1 * self._section,
            section_size=self._section,
            cell_color=(208, 211, 215),
            section_color=(172, 177, 184),
            plane_color=to_bytes(part.color),
            plane_opacity=0.5,
            shadow_opacity=0.0,
            position=part.point,
            wxyz=_turn_to(part.normal),
        )


class ShadowDrawer(SingleDrawer):
    """The shadow of a surface on a plane: its triangles, fewer of them, pressed flat along the light."""

    def __init__(self, scene: Any, path: str) -> None:
        super().__init__(scene, path)
        self._source: Any = None
        self._thin: Thinned | None = None

    def draw(self, part: Mesh, plane: Plane) -> None:
        """Cast the shadow of the surface as it is now."""
        vertices = np.asarray(host_array(part.vertices), np.float32)
        if self._thin is None or part.triangles is not self._source:
            self.remove()
            self._source = part.triangles
            self._thin = thinned(vertices, np.asarray(host_array(part.triangles)), MAX_SHADOW)
        flat = _pressed(vertices[self._thin.vertices], plane)
        if self._handle is not None:
            self._handle.vertices = flat
        elif len(flat):
            faces = self._thin.triangles.astype(np.uint32)
            options: dict[str, Any] = {"color": (176, 179, 184), "flat_shading": True, "side": "double"}
            self._handle = self._scene.add_mesh_simple(self._path, flat, faces, **options)


def _pressed(points: np.ndarray, plane: Plane) -> np.ndarray:
    """Points moved along the light into a plane, or rather a little above it, so that it does not hide them."""
    normal = np.asarray(plane.normal, np.float32)
    height = (points - np.asarray(plane.point, np.float32)) @ normal
    height -= 1e-3 * float(np.ptp(points, axis=0).max()) if len(points) else 0.0
    return np.asarray(points - np.outer(height / float(_LIGHT @ normal), _LIGHT), np.float32)


def _turn_to(normal: tuple[float, float, float]) -> np.ndarray:
    """The quaternion that turns z into the normal."""
    n = np.asarray(normal, float) / np.linalg.norm(normal)
    if n[2] < -1.0 + 1e-9:
        return np.array([0.0, 1.0, 0.0, 0.0])
    quaternion = np.array([1.0 + n[2], -n[1], n[0], 0.0])
    return np.asarray(quaternion / np.linalg.norm(quaternion))


def _element_colors(part: Spheres | Lines, scale: Scale | None, count: int) -> np.ndarray:
    field = _chosen(part, scale)
    if field is None or scale is None:
        return np.tile(np.array(to_bytes(part.color), np.uint8), (count, 1))
    return np.rint(255.0 * scale.colors(field.values)).astype(np.uint8)
