"""The container of glTF 2.0 in one file (GLB): lists of things in JSON that refer to arrays in one block of bytes.

The Khronos Group, glTF 2.0 Specification (ISO/IEC 12113:2022).
"""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np

from annelid.core.errors import InvalidValue
from annelid.core.files import replaced

_MAGIC, _JSON, _BINARY = 0x46546C67, 0x4E4F534A, 0x004E4942
_KINDS = {"<f4": 5126, "<u4": 5125}
_WIDTHS = {1: "SCALAR", 3: "VEC3", 4: "VEC4"}
_MOST_BYTES = 2**32 - 1  # sizes are numbers of 32 bits

POINTS, LINES, TRIANGLES = 0, 1, 4
"""Modes of primitives."""


class Document:
    """A glTF file that is being put together."""

    def __init__(self) -> None:
        self.lists: dict[str, list[dict[str, Any]]] = {}
        self._blocks: list[bytes] = []
        self._bytes = 0

    def add(self, kind: str, **entry: Any) -> int:
        """Append a node, mesh, material...; returns its number."""
        entries = self.lists.setdefault(kind, [])
        entries.append(entry)
        return len(entries) - 1

    def array(self, values: np.ndarray, *, bounds: bool = False) -> int:
        """Append an array of float32 or uint32, shape [n] or [n, 3 or 4]; returns the number of its accessor.

        Args:
            values: The array.
            bounds: Tell its extremes, as positions and times must.
        """
        data = np.ascontiguousarray(values, "<u4" if values.dtype.kind in "iu" else "<f4")
        view = self.add("bufferViews", buffer=0, byteOffset=self._bytes, byteLength=data.nbytes)
        self._blocks.append(data.tobytes())
        self._bytes += data.nbytes
        entry: dict[str, Any] = {
            "bufferView": view, "componentType": _KINDS[data.dtype.str], "count": len(data),
            "type": _WIDTHS[data.shape[1] if data.ndim == 2 else 1],
        }  # fmt: skip
        if bounds:
            flat = data.reshape(len(data), -1)
            entry["min"], entry["max"] = flat.min(axis=0).tolist(), flat.max(axis=0).tolist()
        return self.add("accessors", **entry)

    def write(self, path: Path, *, scene: dict[str, Any], asset: dict[str, Any]) -> None:
        """Write the file.

        Args:
            path: The file.
            scene: The scene that is shown.
            asset: What is told about the file besides its version.
        """
        whole = {"asset": {"version": "2.0", **asset}, "scene": 0, "scenes": [scene], **self.lists}
        whole["buffers"] = [{"byteLength": self._bytes}]
        text = json.dumps(whole, separators=(",", ":"), allow_nan=False).encode()
        text += b" " * (-len(text) % 4)
        total = 12 + 8 + len(text) + 8 + self._bytes
        if total > _MOST_BYTES:
            raise InvalidValue(
                f"{path.name} would have {total} bytes, more than the {_MOST_BYTES} of a glTF file: keep fewer frames, "
                "with every=10 (--every 10)."
            )
        with replaced(path) as temporary, temporary.open("wb") as file:
            file.write(struct.pack("<III", _MAGIC, 2, total))
            file.write(struct.pack("<II", len(text), _JSON) + text)
            file.write(struct.pack("<II", self._bytes, _BINARY))
            file.writelines(self._blocks)
