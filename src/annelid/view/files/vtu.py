"""Writing a snapshot as VTU (VTK unstructured grid, binary), for ParaView.

Meshes become triangles, lines become line cells, spheres become vertices with the point array `radius` (use a glyph
filter). Fields are point arrays; those of lines are cell arrays. The cell array `part` numbers the parts.
"""

from __future__ import annotations

import base64
from pathlib import Path
from xml.sax.saxutils import quoteattr

import numpy as np

from annelid.core.files import replaced
from annelid.core.snapshot import Snapshot
from annelid.view.files.combined import Combined, combined

_TYPES = {"<f4": "Float32", "<f8": "Float64", "<i4": "Int32", "<i8": "Int64", "|u1": "UInt8"}
_VERTEX, _LINE, _TRIANGLE = 1, 3, 5


def write_vtu(snapshot: Snapshot, path: Path) -> None:
    """Write the geometry of a snapshot."""
    whole = combined(snapshot)
    kinds = np.repeat([_TRIANGLE, _LINE, _VERTEX], [len(whole.triangles), len(whole.segments), len(whole.balls)])
    corners = np.array([0, 1, 0, 2, 0, 3])[kinds]
    connectivity = np.concatenate([whole.triangles.ravel(), whole.segments.ravel(), whole.balls.ravel()])
    ends = np.cumsum(corners)
    first = connectivity[ends - corners] if len(kinds) else np.empty(0, np.int64)
    lines = [
        '<?xml version="1.0"?>',
        '<VTKFile type="UnstructuredGrid" version="1.0" byte_order="LittleEndian" header_type="UInt64">',
        "<UnstructuredGrid>",
        "<FieldData>" + _array("TimeValue", np.array([snapshot.time], "<f8"), tuples=1) + "</FieldData>",
        f'<Piece NumberOfPoints="{len(whole.points)}" NumberOfCells="{len(kinds)}">',
        "<Points>" + _array("Points", whole.points) + "</Points>",
        "<Cells>",
        _array("connectivity", connectivity.astype("<i8")),
        _array("offsets", ends.astype("<i8")),
        _array("types", kinds.astype("u1")),
        "</Cells>",
        "<PointData>",
        *(_array(name, values) for name, values in _point_arrays(whole).items()),
        "</PointData>",
        "<CellData>",
        *(_array(name, values) for name, values in _cell_arrays(whole, first).items()),
        "</CellData>",
        "</Piece>",
        "</UnstructuredGrid>",
        "</VTKFile>",
        "",
    ]
    with replaced(path) as temporary:
        temporary.write_text("\n".join(lines), encoding="utf-8")


def _point_arrays(whole: Combined) -> dict[str, np.ndarray]:
    radius = {"radius": whole.radii} if len(whole.balls) else {}
    return {**radius, **whole.point_fields}


def _cell_arrays(whole: Combined, first: np.ndarray) -> dict[str, np.ndarray]:
    arrays = {"part": whole.part_of_point[first].astype("<i4")}
    for name, values in whole.segment_fields.items():
        column = np.full(len(first), np.nan, np.float32)
        column[len(whole.triangles) : len(whole.triangles) + len(values)] = values
        arrays[f"{name} of lines"] = column
    return arrays


def _array(name: str, values: np.ndarray, *, tuples: int | None = None) -> str:
    """One array: its size in bytes and its content, in base64."""
    data = np.ascontiguousarray(values)
    width = f' NumberOfComponents="{data.shape[1]}"' if data.ndim == 2 else ""
    width += f' NumberOfTuples="{tuples}"' if tuples else ""
    content = base64.b64encode(np.uint64(data.nbytes).tobytes() + data.tobytes()).decode("ascii")
    kind = _TYPES[data.dtype.newbyteorder("<").str]
    return f'<DataArray type="{kind}" Name={quoteattr(name)}{width} format="binary">{content}</DataArray>'
