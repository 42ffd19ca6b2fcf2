"""Writing a snapshot as PLY (binary, little-endian), for Blender and mesh tools.

Meshes become faces, lines become edges, spheres become points with a property `radius`. Fields are properties of the
points, under their names; `part` numbers the parts, whose names are in the comments.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from annelid.core.files import replaced
from annelid.core.snapshot import Snapshot
from annelid.view.files.combined import Combined, combined


def write_ply(snapshot: Snapshot, path: Path) -> None:
    """Write the geometry of a snapshot."""
    whole = combined(snapshot)
    vertices = _vertices(whole)
    faces = np.empty(len(whole.triangles), [("count", "u1"), ("indices", "<i4", 3)])
    faces["count"], faces["indices"] = 3, whole.triangles
    with replaced(path) as temporary, temporary.open("wb") as file:
        file.write(_header(snapshot, whole, vertices.dtype).encode("ascii"))
        for block in (vertices, faces, whole.segments.astype("<i4")):
            file.write(block.tobytes())


def _vertices(whole: Combined) -> np.ndarray:
    columns = {"x": whole.points[:, 0], "y": whole.points[:, 1], "z": whole.points[:, 2]}
    if len(whole.balls):
        columns["radius"] = whole.radii
    for name, values in whole.point_fields.items():
        columns[_word(name)] = values
    dtype = np.dtype([*((name, "<f4") for name in columns), ("part", "<i4")])
    vertices = np.empty(len(whole.points), dtype)
    for name, values in columns.items():
        vertices[name] = values
    vertices["part"] = whole.part_of_point
    return vertices


def _header(snapshot: Snapshot, whole: Combined, dtype: np.dtype) -> str:
    kinds = {"<f4": "float", "<i4": "int"}
    lines = ["ply", "format binary_little_endian 1.0", f"comment Annelid, t = {snapshot.time:.9g} s, lengths in metres"]
    lines += [f"comment part {i}: {_word(name)}" for i, name in enumerate(whole.names)]
    lines += [f"element vertex {len(whole.points)}"]
    lines += [f"property {kinds[str(dtype[name].str)]} {name}" for name in dtype.names or ()]
    lines += [f"element face {len(whole.triangles)}", "property list uchar int vertex_indices"]
    if len(whole.segments):
        lines += [f"element edge {len(whole.segments)}", "property int vertex1", "property int vertex2"]
    return "\n".join([*lines, "end_header", ""])


def _word(name: str) -> str:
    """A name that can stand in a header: ASCII, one word."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "_", name) or "unnamed"
