"""Writing a recording as RRD, for the viewer of Rerun (extra `export`): geometry and numbers over time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from annelid.core.files import replaced
from annelid.core.packages import optional
from annelid.core.snapshot import Color, Mesh, Snapshot, Spheres
from annelid.view.files.parts import Finite, finite_parts, index_of, points_of, radii_of, square_of
from annelid.view.files.reel import Reel

TIMELINE = "time"
"""Name of the timeline, in seconds."""


def write_rrd(reel: Reel, path: Path) -> None:
    """Write all frames; what has not changed since the frame before is written once."""
    rr = optional("rerun", purpose="a recording for Rerun", extra="export", package="rerun-sdk")
    name = reel.recording.header.scene or path.stem
    with replaced(path) as temporary:
        stream = rr.RecordingStream(f"annelid {name}", recording_id=f"annelid-{path.stem}")
        stream.save(temporary)
        stream.log("world", rr.ViewCoordinates.RIGHT_HAND_Z_UP, static=True)
        for plane in reel.planes():
            square = square_of(plane, reel.low, reel.high)
            stream.log(_entity("world", plane.name), _entry(rr, square, None), static=True)
        before: dict[str, Finite] = {}
        for time, snapshot in reel.frames():
            stream.set_time(TIMELINE, duration=time)
            before = _log_parts(rr, stream, reel, snapshot, before)
            for number, value in snapshot.numbers.items():
                stream.log(_entity("numbers", number), rr.Scalars([value.value]))
        stream.flush()
        stream.disconnect()


def _log_parts(rr: Any, stream: Any, reel: Reel, snapshot: Snapshot, before: dict[str, Finite]) -> dict[str, Finite]:
    parts = {part.name: part for part in finite_parts(snapshot)}
    for name in before.keys() - parts.keys():
        stream.log(_entity("world", name), rr.Clear(recursive=False))
    for name, part in parts.items():
        known = before.get(name)
        if known is None or not _alike(reel, known, part):
            stream.log(_entity("world", name), _entry(rr, part, reel.colors(part)))
    return parts


def _alike(reel: Reel, one: Finite, two: Finite) -> bool:
    """Whether two frames of a part look the same; arrays that did not change are the same objects."""
    if type(one) is not type(two) or points_of(one) is not points_of(two) or index_of(one) is not index_of(two):
        return False
    if isinstance(one, Spheres) and isinstance(two, Spheres) and one.radii is not two.radii:
        return False
    name = reel.scale.name if reel.scale is not None else ""
    first, second = one.fields.get(name), two.fields.get(name)
    return (first is None) == (second is None) and (first is None or second is None or first.values is second.values)


def _entry(rr: Any, part: Finite, colors: np.ndarray | None) -> Any:
    shown = _bytes(part.color) if colors is None else np.rint(255.0 * colors).astype(np.uint8)
    points = np.asarray(points_of(part), np.float32)
    if isinstance(part, Mesh):
        painted = np.broadcast_to(shown, (len(points), 3))
        return rr.Mesh3D(vertex_positions=points, triangle_indices=index_of(part), vertex_colors=painted)
    if isinstance(part, Spheres):
        return rr.Points3D(points, radii=radii_of(part), colors=shown)
    return rr.LineStrips3D(points[index_of(part)], colors=shown)


def _bytes(color: Color) -> np.ndarray:
    return np.rint(255.0 * np.asarray(color)).astype(np.uint8)


def _entity(folder: str, name: str) -> list[str]:
    """A path of Rerun, whose parts may hold any characters when given one by one."""
    return [folder, name or "unnamed"]
