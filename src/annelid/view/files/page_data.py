"""What an HTML recording contains: frames made small (16-bit positions, 8-bit fields), colours and numbers, as JSON.

Consecutive frames in which a part keeps its topology form a run; the page plays runs. Positions are rounded to 1/65535
of the part's extent over the whole run, field values to 1/254 of the colour scale: enough to look at, not to compute.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from annelid.core.recording import Recording
from annelid.core.snapshot import Field, Lines, Plane, Snapshot, Spheres
from annelid.view.colors import Scale, scale_for
from annelid.view.files.parts import Finite, finite_parts, points_of
from annelid.view.files.runs import Run, Runs

_MAX_BYTES = 160e6
_MAX_LINE_BYTES = 64e6
_MISSING = 255


def page_data(recording: Recording, *, title: str, fps: float, color_field: str | None) -> dict[str, Any]:
    """Everything that the page shows, ready for JSON."""
    picks = chosen_frames(recording, fps)
    runs, fields, planes, boxes = _collect(recording, picks)
    scales = {name: scale_for(name, found) for name, found in fields.items()}
    low, high = _extent(boxes)
    middles = boxes.mean(axis=1)
    radius, own_radius = 0.5 * float(np.linalg.norm(high - low)), 0.5 * float(np.linalg.norm(boxes[0, 1] - boxes[0, 0]))
    follow = radius > 2.5 * own_radius > 0.0
    return {
        "title": title,
        "times": [round(float(t), 9) for t in recording.reel[picks]],
        "runs": [_encoded_run(run, scales) for run in runs],
        "scales": {name: _encoded_scale(scale) for name, scale in scales.items()},
        "field": color_field if color_field in scales else next(iter(scales), ""),
        "planes": [_encoded_plane(plane) for plane in planes],
        "numbers": _numbers(recording, picks),
        "events": [{"time": e.time, "name": e.name, "text": e.text} for e in recording.events],
        "middles": np.round(middles, 6).tolist(),
        "middle": (middles[0] if follow else 0.5 * (low + high)).tolist(),
        "radius": (own_radius if follow else radius) or 1.0,
        "follow": follow,
    }


def chosen_frames(recording: Recording, fps: float) -> np.ndarray:
    """Frames to show: at most `fps` a second of the reel, and no more than a page can hold."""
    times = recording.reel
    slots = np.floor((times - times[0]) * fps + 1e-6)
    picks = np.flatnonzero(np.diff(slots, prepend=-1))
    room = max(2, int(_MAX_BYTES / max(_frame_bytes(recording.frame(0)), 1)))
    if len(picks) > room:
        picks = picks[np.unique(np.linspace(0, len(picks) - 1, room).astype(np.int64))]
    return picks


def _frame_bytes(snapshot: Snapshot) -> int:
    return sum(len(points_of(p)) * (6 + len(p.fields)) for p in finite_parts(snapshot))


def _collect(
    recording: Recording, picks: np.ndarray
) -> tuple[list[Run], dict[str, list[Field]], list[Plane], np.ndarray]:
    """Runs, the fields' values, the planes of the first frame that has any, and the corners of each frame."""
    runs = Runs()
    fields: dict[str, list[Field]] = {}
    planes: list[Plane] = []
    boxes = np.empty((len(picks), 2, 3))
    for number, pick in enumerate(picks.tolist()):
        snapshot = recording.frame(pick)
        boxes[number] = snapshot.bounds()
        planes = planes or [part for part in snapshot.parts if isinstance(part, Plane)]
        for part in (_thinned(p, len(picks)) for p in finite_parts(snapshot)):
            for name, values in part.fields.items():
                fields.setdefault(name, []).append(values)
            runs.add(part, number)
    return runs.all, fields, planes, boxes


def _extent(boxes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return boxes[:, 0].min(axis=0), boxes[:, 1].max(axis=0)


def _thinned(part: Finite, frames: int) -> Finite:
    """A part of lines with no more of them than a page can hold; a picture of a million springs is grey anyway."""
    if not isinstance(part, Lines):
        return part
    keep = max(1, -(-len(part.segments) * 12 * frames // int(_MAX_LINE_BYTES)))
    if keep == 1:
        return part
    fields = {name: Field(np.asarray(f.values)[::keep], f.unit, f.limits, f.labels) for name, f in part.fields.items()}
    return Lines(part.name, part.points, part.segments[::keep], fields, part.color)


# ------------------------------------------------------------------------------------------------ encoding


def _encoded_run(run: Run, scales: dict[str, Scale]) -> dict[str, Any]:
    part = run.part
    positions = np.nan_to_num(np.stack(run.positions))
    low, high = _box(positions)
    scaled = np.rint((positions - low) / np.where(high > low, high - low, 1.0) * 65535.0).astype("<u2")
    count, size = positions.shape[:2]
    entry: dict[str, Any] = {
        "kind": type(part).__name__.lower(),
        "name": part.name,
        "color": list(part.color),
        "first": run.first,
        "count": count,
        "size": size,
        "low": low.tolist(),
        "high": high.tolist(),
        "positions": encoded(scaled.reshape(count, -1)),
        "fields": {name: encoded(_bytes(np.stack(f), scales[name])) for name, f in run.fields.items()},
    }
    if isinstance(part, Spheres):
        entry["radii"] = [round(float(r), 7) for r in np.broadcast_to(np.asarray(part.radii), (size,))]
    else:
        entry["index"] = encoded(run.index.astype("<u4"))
    return entry


def _box(positions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    flat = positions.reshape(-1, 3).astype(np.float64)
    return (flat.min(axis=0), flat.max(axis=0)) if len(flat) else (np.zeros(3), np.ones(3))


def _bytes(values: np.ndarray, scale: Scale) -> np.ndarray:
    """Places in the colour table, 255 for what is not a number."""
    low, high = (0.0, 254.0) if scale.labels else scale.limits
    at = np.clip(np.rint((np.nan_to_num(values, nan=low) - low) / (high - low) * 254.0), 0, 254)
    return np.where(np.isnan(values), _MISSING, at).astype(np.uint8)


def encoded(array: np.ndarray) -> list[Any]:
    """Rows, columns, bytes a number, and the deflated differences from row to row, by byte planes, in base64."""
    rows, columns = array.shape
    steps = array.copy()
    steps[1:] -= array[:-1]
    planes = steps.reshape(-1).view(np.uint8).reshape(-1, array.itemsize).T
    text = base64.b64encode(zlib.compress(planes.tobytes(), 6)).decode("ascii")
    return [rows, columns, array.itemsize, text]


def _encoded_scale(scale: Scale) -> dict[str, Any]:
    table = scale.table()
    if not scale.labels:
        table = table[np.rint(np.linspace(0, len(table) - 1, 255)).astype(np.int64)]
    colors = np.column_stack([np.rint(255.0 * table), np.full(len(table), 255.0)]).astype(int)
    return {"unit": scale.unit, "limits": list(scale.limits), "labels": list(scale.labels), "table": colors.tolist()}


def _encoded_plane(plane: Plane) -> dict[str, Any]:
    offset = float(np.dot(plane.point, plane.normal))
    return {"name": plane.name, "normal": list(plane.normal), "offset": offset, "color": list(plane.color)}


def _numbers(recording: Recording, picks: np.ndarray) -> dict[str, Any]:
    units = recording.units
    return {
        name: {"unit": units[name], "values": _listed(values[picks])} for name, values in recording.numbers().items()
    }


def _listed(values: Sequence[float] | np.ndarray) -> list[float | None]:
    """Numbers with what JSON can hold; the rest becomes null."""
    return [float(f"{v:.7g}") if np.isfinite(v) else None for v in np.asarray(values, float).tolist()]
