"""The geometry of a snapshot as one set of arrays: points, triangles, segments, and fields by name over all of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from annelid.core.snapshot import Lines, Mesh, Snapshot, Spheres, host_array
from annelid.view.files.parts import Finite, finite_parts, points_of


@dataclass(frozen=True)
class Combined:
    """All parts of a snapshot but its endless planes.

    Attributes:
        names: Name of each part.
        points: Positions [m], shape [n, 3], float32.
        part_of_point: Number of the part that each point belongs to, shape [n].
        triangles: Point indices, shape [m, 3], int32.
        segments: Point indices, shape [k, 2], int32.
        balls: Indices of the points that are centres of spheres.
        radii: Radius of the sphere at each point [m], 0 where there is none, shape [n].
        point_fields: Scalars per point (of meshes and spheres), NaN where a part lacks one, shape [n] each.
        segment_fields: Scalars per segment, NaN where a part lacks one, shape [k] each.
    """

    names: tuple[str, ...]
    points: np.ndarray
    part_of_point: np.ndarray
    triangles: np.ndarray
    segments: np.ndarray
    balls: np.ndarray
    radii: np.ndarray
    point_fields: dict[str, np.ndarray]
    segment_fields: dict[str, np.ndarray]


def combined(snapshot: Snapshot) -> Combined:
    """The parts of a snapshot put together."""
    parts = finite_parts(snapshot)
    points = [points_of(part) for part in parts]
    counts = np.array([len(p) for p in points], np.int64)
    starts = np.concatenate([[0], np.cumsum(counts)])[:-1] if parts else counts
    pairs = list(zip(parts, starts.tolist(), strict=True))
    triangles = [host_array(p.triangles) + start for p, start in pairs if isinstance(p, Mesh)]
    segments = [host_array(p.segments) + start for p, start in pairs if isinstance(p, Lines)]
    balls = [np.arange(start, start + len(host_array(p.centers))) for p, start in pairs if isinstance(p, Spheres)]
    radii = [
        np.broadcast_to(host_array(p.radii), n) if isinstance(p, Spheres) else np.zeros(n)
        for p, n in zip(parts, counts.tolist(), strict=True)
    ]
    return Combined(
        names=tuple(part.name for part in parts),
        points=_joined(points, (0, 3), np.float32),
        part_of_point=np.repeat(np.arange(len(parts)), counts).astype(np.int32),
        triangles=_joined(triangles, (0, 3), np.int32),
        segments=_joined(segments, (0, 2), np.int32),
        balls=_joined(balls, (0,), np.int32),
        radii=_joined(radii, (0,), np.float32),
        point_fields=_fields(
            [(p, 0 if isinstance(p, Lines) else 1, n) for p, n in zip(parts, counts.tolist(), strict=True)]
        ),
        segment_fields=_fields([(p, 1, len(host_array(p.segments))) for p in parts if isinstance(p, Lines)]),
    )


def _fields(owners: list[tuple[Finite, int, int]]) -> dict[str, np.ndarray]:
    """Each field over all owners (part, whether its fields count, number of elements)."""
    names = dict.fromkeys(name for part, counts, _ in owners if counts for name in part.fields)
    return {
        name: np.concatenate(
            [
                np.asarray(host_array(part.fields[name].values), np.float32)
                if counts and name in part.fields
                else np.full(size, np.nan, np.float32)
                for part, counts, size in owners
            ]
        )
        for name in names
    }


def _joined(arrays: list[np.ndarray], empty: tuple[int, ...], dtype: type) -> np.ndarray:
    return np.concatenate(arrays).astype(dtype) if arrays else np.empty(empty, dtype)
