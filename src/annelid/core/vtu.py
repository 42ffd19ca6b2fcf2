"""Writing VTU files (VTK unstructured grid, binary), which ParaView reads: points, cells and named arrays."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.sax.saxutils import quoteattr

import numpy as np

from annelid.core.errors import InvalidValue
from annelid.core.files import write_text

VERTEX, LINE, TRIANGLE, TETRAHEDRON, TEN_NODES = 1, 3, 5, 10, 24
"""Types of cells; the nodes of a tetrahedron of ten are its corners and the middles of 01, 12, 02, 03, 13, 23."""

Arrays = Mapping[str, np.ndarray]
_NONE: Arrays = {}

_TYPES = {"<f4": "Float32", "<f8": "Float64", "<i4": "Int32", "<i8": "Int64", "|u1": "UInt8"}


def write_grid(
    path: Path,
    points: np.ndarray,
    cells: Sequence[tuple[int, np.ndarray]],
    *,
    point_arrays: Arrays = _NONE,
    cell_arrays: Arrays = _NONE,
    whole_arrays: Arrays = _NONE,
) -> None:
    """Write a grid, whole or not at all.

    Args:
        path: The file.
        points: Positions [m], shape [n, 3].
        cells: Types of cells, and the points of those of each type, shape [k, m].
        point_arrays: Values of points by name, shape [n] or [n, c].
        cell_arrays: Values of cells by name, in the order of the cells.
        whole_arrays: Values that belong to the whole, shape [k]; `TimeValue` is the time [s].
    """
    kinds = np.concatenate([np.full(len(nodes), kind, np.uint8) for kind, nodes in cells])
    widths = np.concatenate([np.full(len(nodes), nodes.shape[1], np.int64) for _, nodes in cells])
    lines = [
        '<?xml version="1.0"?>',
        '<VTKFile type="UnstructuredGrid" version="1.0" byte_order="LittleEndian" header_type="UInt64">',
        "<UnstructuredGrid>",
        "<FieldData>",
        *(_array(name, values, tuples=len(values)) for name, values in whole_arrays.items()),
        "</FieldData>",
        f'<Piece NumberOfPoints="{len(points)}" NumberOfCells="{len(kinds)}">',
        "<Points>" + _array("Points", points) + "</Points>",
        "<Cells>",
        _array("connectivity", np.concatenate([nodes.ravel() for _, nodes in cells]).astype("<i8")),
        _array("offsets", np.cumsum(widths).astype("<i8")),
        _array("types", kinds),
        "</Cells>",
        "<PointData>",
        *(_array(name, values) for name, values in point_arrays.items()),
        "</PointData>",
        "<CellData>",
        *(_array(name, values) for name, values in cell_arrays.items()),
        "</CellData>",
        "</Piece>",
        "</UnstructuredGrid>",
        "</VTKFile>",
        "",
    ]
    write_text(path, "\n".join(lines))


def write_list(path: Path, frames: Sequence[tuple[float, str]]) -> None:
    """Write a list of times [s] and files, which lie in a folder beside it: a PVD file, whole or not at all."""
    lines = ['<?xml version="1.0"?>', '<VTKFile type="Collection" version="0.1" byte_order="LittleEndian">']
    lines += ["<Collection>"]
    lines += [f'<DataSet timestep="{at!r}" group="" part="0" file={quoteattr(file)}/>' for at, file in frames]
    write_text(path, "\n".join([*lines, "</Collection>", "</VTKFile>", ""]))


def require_vtu(path: Path, suffix: str) -> Path:
    """Refuse a file for ParaView of another name."""
    if path.suffix.lower() != suffix:
        raise InvalidValue(f"{path.name!r} must end in {suffix}, so that ParaView knows what it is.")
    return path


def _array(name: str, values: np.ndarray, *, tuples: int | None = None) -> str:
    """One array: its size in bytes and its content, in base64."""
    data = np.ascontiguousarray(values)
    width = f' NumberOfComponents="{data.shape[1]}"' if data.ndim == 2 else ""
    width += "" if tuples is None else f' NumberOfTuples="{tuples}"'
    content = base64.b64encode(np.uint64(data.nbytes).tobytes() + data.tobytes()).decode("ascii")
    kind = _TYPES[data.dtype.newbyteorder("<").str]
    return f'<DataArray type="{kind}" Name={quoteattr(name)}{width} format="binary">{content}</DataArray>'
