"""Kernels of this package for the CPU, compiled with a header of Warp's that lacks what few kernels use.

Half of Warp's headers are about tiles, meshes, volumes, textures and the like. Every process that compiles reads all of
them once, in five seconds, and every kernel pays for them again: the compiler looks through all functions of a name for
each sum and product. Kernels of this package that name nothing of them get one header with the rest here.

This acts on modules of this package only, and on the versions of Warp for which it was tested. With
`ANNELID_PLAIN_WARP=1` in the environment all kernels are compiled as Warp does it.
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
from annelid.core.warp_build.references import with_references

TESTED = ("1.19.0",)
"""Versions of Warp whose headers and modules are known; with any other one nothing is changed."""

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


def is_on() -> bool:
    """Whether kernels are compiled with the lean header under this version of Warp, in this environment."""
    import warp as wp

    return wp.__version__ in TESTED and os.environ.get("ANNELID_PLAIN_WARP", "0") in ("", "0")


def compile_lean(module: Any) -> None:
    """Let a module be compiled with the lean header, where that is on."""
    if is_on():
        module._run_codegen = functools.partial(_generate, module._run_codegen)


def _generate(given: Callable[..., tuple[Any, ...]], options: dict[str, Any], is_cpu: bool) -> tuple[Any, ...]:
    """What Warp gives of a module: its source, with references and the lean header where that has all, and the rest."""
    source, *rest = given(options, is_cpu)
    if is_cpu:
        source = with_references(source, options.get("cpu_compiler_flags") or "")
    folder = _folder(source, options) if is_cpu else None
    if folder:
        source = source.replace(_SEPARATE, "")
        options["cpu_compiler_flags"] += f" -iquote {folder}"  # looked through before Warp's own folder
    return source, *rest


def _folder(source: str, options: dict[str, Any]) -> Path | None:
    """The folder of the lean header, where it has all that the C++ of a module names."""
    if options.get("mode") != "release" or options.get("verify_fp") or not source.startswith(_SMALL):
        return None
    import warp as wp

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
    return f"#pragma once\n{_SMALL}{_inlined('builtin.h', native, set())}{_WITHOUT_TILES}"


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
