"""Warp's headers for the CPU without those that few kernels use.

Half of Warp's headers are about tiles, meshes, volumes, textures and the like. Every kernel pays for them, also where
they were compiled before: a tenth of a second, of which a small kernel has two, because the compiler looks through all
functions of a name for each sum and product. Kernels that name nothing of them get one header with the rest here.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from annelid.core.errors import InvalidValue
from annelid.core.files import replaced

LEFT_OUT = re.compile(r"(mesh|bvh|volume|texture|noise|tile\w*)\.h")
"""Headers that only kernels need which name something of them."""

_INCLUDE = re.compile(r'^[ \t]*#include "([^"]+)".*$', re.MULTILINE)
_ONCE = re.compile(r"^#pragma once\b.*$", re.MULTILINE)
_NAME = re.compile(r"\bwp::(\w+)")
_DEFINED = re.compile(r"^#.*$", re.MULTILINE)
_SEPARATE = '#include "deterministic.h"\n'  # of which Warp names functions where it is asked for them
_SMALL = "#define WP_NO_BFLOAT16\n"  # Warp writes it where nothing is of that type
_WITHOUT_TILES = """
namespace wp {
struct tile_shared_storage_t { };  // the memory of tiles, of which there are none
static tile_shared_storage_t* shared_tile_storage;
}
"""


def include_less() -> None:
    """Let kernels for the CPU that can do so include the lean header; nothing where Warp builds otherwise."""
    try:
        from warp._src import build  # Warp has no public way to come between

        given = build.build_cpu
    except (ImportError, AttributeError):  # another Warp: slower, not broken
        return
    if not isinstance(given, _Leaning):
        build.build_cpu = _Leaning(given)


class _Leaning:
    """Warp's build of a CPU kernel with the lean header; with all of Warp's where that cannot be compiled."""

    def __init__(self, build: Callable[..., None]) -> None:
        self._build = build

    def __call__(self, *arguments: Any, **options: Any) -> None:
        path = Path(arguments[1])  # after that of the object file
        given = path.read_text(encoding="utf-8")
        folder = _folder(given, options)
        if folder:
            path.write_text(given.replace(_SEPARATE, ""), encoding="utf-8")
            flags = f"{options.get('extra_flags') or ''} -iquote {folder}"  # looked through before Warp's own folder
            try:
                self._build(*arguments, **{**options, "extra_flags": flags})
                return
            except Exception:  # that is what Warp raises
                path.write_text(given, encoding="utf-8")
        self._build(*arguments, **options)


def _folder(source: str, options: dict[str, Any]) -> Path | None:
    """The folder of the lean header, where it has all that the C++ of a module names."""
    if options.get("mode") != "release" or options.get("verify_fp") or not source.startswith(_SMALL):
        return None
    import warp as wp  # here: `core.device`, which starts it quietly, comes first

    native = Path(wp.__file__).parent / "native"
    text, names, digest = _lean(native)
    if not set(_NAME.findall(_DEFINED.sub("", source))) <= names:
        return None
    folder = Path(wp.config.kernel_cache_dir or tempfile.gettempdir()) / f"wp_annelid_lean_{digest}"
    if re.search(r"\s", str(folder)):  # Warp takes flags apart at spaces
        return None
    try:
        _write(folder / "builtin.h", text, (native / "builtin.h").stat().st_mtime_ns)
    except (OSError, InvalidValue):  # a folder that cannot be written stays as it is
        return None
    return folder


@functools.cache
def _lean(native: Path) -> tuple[str, frozenset[str], str]:
    """The text of the lean header, the words in it, and its digest."""
    text = lean_header(native)
    return text, frozenset(re.findall(r"\w+", text)), hashlib.sha256(text.encode()).hexdigest()[:12]


def lean_header(native: Path) -> str:
    """Warp's `builtin.h` in that folder with all that it includes in place, besides what is left out."""
    try:
        text = _inlined("builtin.h", native, set())
    except OSError:  # another Warp: no kernel finds what it names
        return ""
    return f"#pragma once\n{_SMALL}{text}{_WITHOUT_TILES}"


def _inlined(name: str, folder: Path, seen: set[str]) -> str:
    if name in seen or LEFT_OUT.fullmatch(name):
        return ""
    seen.add(name)
    text = _ONCE.sub("", (folder / name).read_text(encoding="utf-8"))
    return _INCLUDE.sub(lambda found: _inlined(found[1], folder, seen), text)


def _write(path: Path, text: str, time: int) -> None:
    """Write a file that does not hold this, dated so that what was compiled from an earlier one stays valid."""
    if path.exists() and path.read_bytes() == text.encode():
        return
    with replaced(path) as temporary:
        temporary.write_bytes(text.encode())
        os.utime(temporary, ns=(time, time))
