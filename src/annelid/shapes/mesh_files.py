"""Reading and writing surface meshes: STL, OBJ and PLY. What is read is untrusted."""

from __future__ import annotations

import errno
import io
import os
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

from annelid.core.errors import InvalidMesh, InvalidValue
from annelid.core.files import as_path, new_folder_beside, read_bytes
from annelid.core.interrupts import held_back
from annelid.shapes.values import Floats, Indices, require_positive

SUFFIXES = (".stl", ".obj", ".ply")
"""Formats that can be read and written."""

MAX_BYTES = 512 * 1024**2
"""Largest file that is read by default [B]."""


_STL_HEAD = 84
_STL_ROW = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])


def read_triangles(path: str | os.PathLike[str], *, max_bytes: int = MAX_BYTES) -> tuple[Floats, Indices]:
    """Vertices [n, 3] and triangles [m, 3] of a file, checked but not merged."""
    path = as_path(path)
    require_positive("max_bytes", max_bytes)
    data = _read_bytes(path, _suffix(path), max_bytes)
    try:
        vertices, triangles = _parse(data, path.suffix.lower()[1:])
    except Exception as error:  # the parsers raise whatever their line of code happens to raise
        raise InvalidMesh(f"{path} cannot be read as {path.suffix.upper()[1:]}: {_first_line(error)}.") from error
    if len(triangles) == 0:
        raise InvalidMesh(f"{path} holds no triangles; it is cut off, or not a surface mesh.")
    return vertices, triangles


def write_triangles(path: str | os.PathLike[str], vertices: Floats, triangles: Indices) -> None:
    """Write a mesh; the suffix chooses the format. STL keeps single precision only."""
    path = as_path(path)
    encode = _ENCODERS[_suffix(path)]
    try:
        with new_folder_beside(path) as folder:
            part = folder / path.name
            part.write_bytes(encode(vertices, triangles))
            part.replace(path)
    except OSError as error:
        raise InvalidValue(f"{path} cannot be written: {error.strerror}.") from None


def _suffix(path: Path) -> str:
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise InvalidMesh(
            f"{path} has the suffix {path.suffix!r}; meshes are read and written as {', '.join(SUFFIXES)}."
        )
    return suffix


def _read_bytes(path: Path, suffix: str, max_bytes: float) -> bytes:
    if not path.exists():
        raise InvalidMesh(f"there is no file {path}; give the path of an STL, OBJ or PLY file.")
    if not path.is_file():
        raise InvalidMesh(f"{path} is not a file; give the path of an STL, OBJ or PLY file.")
    try:
        data = read_bytes(path, most=max_bytes)
    except OSError as error:
        remedy = "; simplify the mesh, or raise max_bytes" if error.errno == errno.EFBIG else ""
        raise InvalidMesh(f"{path} cannot be read: {error.strerror}{remedy}.") from None
    if not data.strip():
        raise InvalidMesh(f"{path} is empty; give a {suffix[1:].upper()} file with triangles.")
    return data


def _parse(data: bytes, kind: str) -> tuple[Floats, Indices]:
    if kind == "stl" and _stated(data) == len(data):
        corners = np.frombuffer(data, _STL_ROW, offset=_STL_HEAD)["corners"].reshape(-1, 3)
        return corners.astype(np.float64), np.arange(len(corners), dtype=np.int32).reshape(-1, 3)
    with held_back():  # its import swallows Ctrl-C
        import trimesh  # takes two seconds, and most programs read no mesh
    if kind == "stl":
        _check_stl(data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # Unreadable numbers would otherwise be cut off silently.
        warnings.filterwarnings("error", message="string or file could not be read")
        # No materials: they name further files, and an untrusted file must not choose what is opened.
        scene = trimesh.load_scene(io.BytesIO(data), file_type=kind, process=False, skip_materials=True)
        parts = [part for part in scene.geometry.values() if isinstance(part, trimesh.Trimesh) and len(part.faces)]
    if not parts:
        return np.empty((0, 3)), np.empty((0, 3), dtype=np.int32)
    starts = np.cumsum([0] + [len(part.vertices) for part in parts[:-1]])
    for part in parts:
        _check_indices(np.asarray(part.faces), len(part.vertices))
    triangles = np.concatenate([np.asarray(part.faces) + start for part, start in zip(parts, starts, strict=True)])
    vertices = np.concatenate([np.asarray(part.vertices, dtype=np.float64) for part in parts])
    return vertices, triangles.astype(np.int32)


def _check_stl(data: bytes) -> None:
    """Refuse what is neither binary nor text: the parser would search it for text, and find nothing."""
    if b"solid" not in data[:1024].lower():
        raise ValueError(
            f"it does not begin with 'solid', and its header states {_stated(data)} bytes where there are {len(data)}"
        )


def _stated(data: bytes) -> int:
    """How long a binary STL says that it is."""
    return _STL_HEAD + _STL_ROW.itemsize * int.from_bytes(data[_STL_HEAD - 4 : _STL_HEAD], "little")


def _check_indices(faces: Indices, size: int) -> None:
    if faces.min() < 0 or faces.max() >= size:
        bad = int(faces.min() if faces.min() < 0 else faces.max())
        raise IndexError(f"a triangle refers to vertex {bad} of {size}")


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return (lines[0] if lines else type(error).__name__)[:200].rstrip(".")


def _stl(vertices: Floats, triangles: Indices) -> bytes:
    corners = vertices[triangles]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), np.finfo(float).tiny)
    rows = np.zeros(len(triangles), dtype=_STL_ROW)
    rows["normal"], rows["corners"] = normals, corners
    return b"annelid".ljust(80) + np.uint32(len(triangles)).astype("<u4").tobytes() + rows.tobytes()


def _obj(vertices: Floats, triangles: Indices) -> bytes:
    text = io.StringIO()
    np.savetxt(text, vertices, fmt="v %.17g %.17g %.17g")
    np.savetxt(text, triangles + 1, fmt="f %d %d %d")
    return text.getvalue().encode("ascii")


def _ply(vertices: Floats, triangles: Indices) -> bytes:
    lines = ["ply", "format binary_little_endian 1.0", f"element vertex {len(vertices)}"]
    lines += [f"property double {name}" for name in "xyz"]
    lines += [f"element face {len(triangles)}", "property list uchar int vertex_indices", "end_header", ""]
    faces = np.empty(len(triangles), dtype=[("count", "u1"), ("indices", "<i4", 3)])
    faces["count"], faces["indices"] = 3, triangles
    return "\n".join(lines).encode("ascii") + vertices.astype("<f8").tobytes() + faces.tobytes()


_ENCODERS: dict[str, Callable[[Floats, Indices], bytes]] = {".stl": _stl, ".obj": _obj, ".ply": _ply}
