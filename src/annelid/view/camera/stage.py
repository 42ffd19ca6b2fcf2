"""The stage: the geometry of one or many snapshots on a device, ready for rays, cheap to bring to the next moment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import warp as wp

from annelid.core.device import device as find_device
from annelid.core.errors import InvalidValue, UnknownName
from annelid.core.snapshot import Array, Field, Lines, Mesh, Plane, Snapshot, Spheres, host_array
from annelid.view.camera.kernels.rays import Geometry
from annelid.view.camera.layers import LineLayer, MeshLayer, PlaneLayer, SphereLayer
from annelid.view.camera.palette import ColorTable, Placed
from annelid.view.colors import Scale, merged, scale_for

Shading = Literal["smooth", "flat"]

# Cosines between which two faces pass from a crease to one smooth surface: 50 and 30 degrees, or never smooth.
_CREASES: dict[str, tuple[float, float]] = {"smooth": (0.64, 0.87), "flat": (0.99999, 1.0)}


class Stage:
    """Geometry of one snapshot, or of many worlds that do not see each other, as rays meet it.

    `update` copies positions and colours in place and refits the trees. It neither allocates nor waits for the device,
    so it can be captured in a CUDA graph, as long as the topology stays the same (`triangles` and `segments` are the
    same arrays), the arrays live on the device, and the colour field, if any, has limits. A changed topology lays the
    stage out anew.

    Attributes:
        geometry: What the kernels take.
        scale: How values become colours, for the legend; None where no field is chosen.
        worlds: Number of worlds.
    """

    def __init__(
        self,
        snapshots: Snapshot | Sequence[Snapshot],
        *,
        field: str | None = None,
        limits: tuple[float, float] | None = None,
        color_map: str | None = None,
        shading: Shading = "smooth",
        line_radius: float | None = None,
        grid_pitch: float | None = None,
        device: str | wp.Device = "auto",
    ) -> None:
        """Lay out the geometry.

        Args:
            snapshots: One snapshot, or one a world.
            field: Name of the scalar to colour by; parts without it keep their own colour.
            limits: Values at the ends of the colour map; None takes those of the field, or the range seen so far.
            color_map: Name of the colour map; None chooses by the sign of the limits.
            shading: "smooth" rounds all but sharp creases; "flat" shows the facets.
            line_radius: Radius that lines are drawn with [m]; None chooses by the size of the scene.
            grid_pitch: Distance of the lines on planes [m]; None chooses a round number by the size of the scene.
            device: Where the geometry lives.
        """
        if shading not in _CREASES:
            raise InvalidValue(f"shading {shading!r} must be 'smooth' or 'flat'.")
        self.device = find_device(device)
        self.field = field
        self.limits = limits
        self.color_map = color_map
        self.shading = shading
        self.line_radius = line_radius
        self.grid_pitch = grid_pitch
        self.scale: Scale | None = None
        self._seen: list[Field] = []
        self._table: ColorTable | None = None
        self._shown: list[Snapshot] = []
        self._lay_out(_as_list(snapshots))

    @property
    def worlds(self) -> int:
        """Number of worlds."""
        return len(self._shown)

    def update(self, snapshots: Snapshot | Sequence[Snapshot]) -> None:
        """Show the next moment."""
        current = _as_list(snapshots)
        if not _same_topology(self._shown, current):
            self._lay_out(current)
            return
        self._shown = current
        self._rescale()
        self._refresh()

    def move(self, vertices: Array, centers: Array, *, shaded: bool = True) -> None:
        """Show the next moment of the same parts; a few launches, however many worlds there are.

        Args:
            vertices: Vertices of all meshes [m], world by world and part by part.
            centers: Centres of all spheres [m], in the same order.
            shaded: Whether images in colour are taken of it; depth does without the normals that light needs.
        """
        self._meshes.move(vertices, shaded=shaded)
        self._spheres.move(centers)

    def _lay_out(self, snapshots: list[Snapshot]) -> None:
        self._shown = snapshots
        if self.scale is not None and self.scale.labels:
            self.scale, self._table, self._seen = None, None, []  # a new part may bring new categories
        self._rescale()
        worlds, size = len(snapshots), _size(snapshots)
        radius = self.line_radius or _line_radius(snapshots, size)
        self._meshes = MeshLayer(self._placed(Mesh), worlds, self.device, _CREASES[self.shading])
        self._spheres = SphereLayer(self._placed(Spheres), worlds, self.device)
        self._lines = LineLayer(self._placed(Lines), worlds, self.device, radius)
        planes = [[part for part in shot.parts if isinstance(part, Plane)] for shot in snapshots]
        self._planes = PlaneLayer(planes, self.device)
        row: Any = Geometry()
        row.grid_pitch = self.grid_pitch or _round_number(0.2 * size)
        if self._table is not None:
            row.color_table, row.categories = self._table.colors, int(bool(self._table.scale.labels))
        for layer in (self._meshes, self._spheres, self._lines, self._planes):
            layer.enter(row)
        self.geometry = wp.array([row], dtype=Geometry, device=self.device)
        self._refresh()

    def _placed(self, kind: type) -> list[Placed[Any]]:
        parts = [(world, part) for world, shot in enumerate(self._shown) for part in shot.parts]
        return [Placed(world, part) for world, part in parts if isinstance(part, kind) and _drawn(part)]

    def _refresh(self) -> None:
        self._meshes.refresh(self._placed(Mesh), self._table)
        self._spheres.refresh(self._placed(Spheres), self._table)
        self._lines.refresh(self._placed(Lines), self._table)

    def _rescale(self) -> None:
        if self.field is None:
            return
        fields = fields_called(self.field, self._shown)
        if self.scale is None or (self.limits is None and all(field.limits is None for field in fields)):
            # Limits only ever widen: among moments a colour keeps its meaning as far as it can.
            self._seen = [merged([*self._seen, *fields])]
            self.scale = scale_for(self.field, self._seen, limits=self.limits, color_map=self.color_map)
        if self._table is None:
            self._table = ColorTable.of(self.scale, self.device)
        elif self._table.scale != self.scale:
            self._table = self._table.rescaled(self.scale)


def _as_list(snapshots: Snapshot | Sequence[Snapshot]) -> list[Snapshot]:
    shots = [snapshots] if isinstance(snapshots, Snapshot) else list(snapshots)
    if not shots:
        raise InvalidValue("a stage needs at least one snapshot, and got none.")
    return shots


def field_names(snapshots: Sequence[Snapshot]) -> tuple[str, ...]:
    """Names of the fields that some part can be coloured by."""
    parts = [part for shot in snapshots for part in shot.parts if not isinstance(part, Plane)]
    return tuple(dict.fromkeys(name for part in parts for name in part.fields))


def fields_called(name: str, snapshots: Sequence[Snapshot]) -> list[Field]:
    """That field of each part that has it."""
    parts = [part for shot in snapshots for part in shot.parts if not isinstance(part, Plane)]
    fields = [part.fields[name] for part in parts if name in part.fields]
    if not fields:
        hint = f"This snapshot was taken without it: take one with simulation.snapshot(Look(fields=({name!r},)))."
        raise UnknownName("colour field", name, field_names(snapshots), hint=hint)
    return fields


def _drawn(part: Any) -> bool:
    """Whether there is anything of it to see."""
    if isinstance(part, Spheres):
        return len(part.centers) > 0
    return len(part.triangles if isinstance(part, Mesh) else part.segments) > 0


def _same_topology(before: Sequence[Snapshot], after: Sequence[Snapshot]) -> bool:
    if [len(shot.parts) for shot in before] != [len(shot.parts) for shot in after]:
        return False
    pairs = [pair for a, b in zip(before, after, strict=True) for pair in zip(a.parts, b.parts, strict=True)]
    return all(_same_part(a, b) for a, b in pairs)


def _same_part(a: Any, b: Any) -> bool:
    if a is b:
        return True
    if type(a) is not type(b) or a.color != b.color:
        return False
    if isinstance(a, Mesh):
        return _same_shape(a.vertices, b.vertices) and _same_array(a.triangles, b.triangles)
    if isinstance(a, Lines):
        return _same_shape(a.points, b.points) and _same_array(a.segments, b.segments)
    if isinstance(a, Spheres):
        return _same_shape(a.centers, b.centers)
    return bool(a == b)


def _same_shape(a: Array, b: Array) -> bool:
    return tuple(a.shape) == tuple(b.shape)


def _same_array(a: Array, b: Array) -> bool:
    if a is b:
        return True
    if isinstance(a, wp.array) and isinstance(b, wp.array) and a.ptr == b.ptr:
        return _same_shape(a, b)
    return _same_shape(a, b) and bool(np.array_equal(host_array(a), host_array(b)))


def _size(snapshots: Sequence[Snapshot]) -> float:
    """Diagonal of the largest world [m]."""
    corners = [shot.bounds() for shot in snapshots]
    size = max(float(np.linalg.norm(high - low)) for low, high in corners)
    return size if np.isfinite(size) and size > 0.0 else 1.0


def _line_radius(snapshots: Sequence[Snapshot], size: float) -> float:
    """Thin against the scene, and against a typical segment where there are many."""
    radius = 0.0022 * size
    for part in (part for shot in snapshots for part in shot.parts if isinstance(part, Lines)):
        points, segments = host_array(part.points), host_array(part.segments)
        if len(segments):
            lengths = np.linalg.norm(points[segments[:, 0]] - points[segments[:, 1]], axis=1)
            radius = min(radius, 0.05 * float(np.median(lengths)) or radius)
    return radius


def _round_number(x: float) -> float:
    """The largest of 1, 2 or 5 times a power of ten that is not above x."""
    power = 10.0 ** np.floor(np.log10(x))
    return float(power * max(step for step in (1.0, 2.0, 5.0) if step * power <= x * 1.0001))
