"""Warp's headers for the CPU, compiled once a machine instead of once a process.

Clang needs seconds for the headers that every kernel includes, and a fraction of a second for a kernel. Warp keeps the
compiled headers in a folder of each thread that ends with the process, so that the first kernel of every process would
pay for them again. Here they are kept beside the compiled kernels.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from annelid.core.compiled_once import is_whole, turn, write_digest
from annelid.core.errors import InvalidValue
from annelid.core.files import replaced


def share_compiled_headers() -> None:
    """Let all processes that keep their kernels in one folder share compiled headers; nothing where Warp has none."""
    try:
        from warp._src import build  # Warp has no public way to name the folder

        given = build.build_cpu
    except (ImportError, AttributeError):  # another Warp: slower, not broken
        return
    if not isinstance(given, _Sharing):
        build.build_cpu = _Sharing(given)


class _Sharing:
    """Warp's build of a CPU kernel, with headers from the shared folder, and new ones left there."""

    def __init__(self, build: Callable[..., None]) -> None:
        self._build = build

    def __call__(self, *arguments: Any, **options: Any) -> None:
        private = options.get("pch_dir")
        if not private or not options.get("use_precompiled_headers"):
            self._build(*arguments, **options)
            return
        shared = _folder(str(options.get("extra_flags")))
        # Who comes first compiles headers; who comes at the same time waits for them, which takes no core.
        own = Path(private)
        with nullcontext() if _fetched(shared, own) else turn(shared.parent, "headers"):
            known = _fetched(shared, own)
            self._build(*arguments, **options)  # with headers that it cannot read, Warp compiles without
            for header in own.glob("*.pch"):
                if header.name not in known and _copy(header, shared):
                    write_digest(shared / header.name)


def _folder(flags: str) -> Path:
    """The folder of headers that were compiled from these files for this processor, with these flags."""
    import warp as wp  # here: `core.device`, which starts it quietly, comes first

    root = Path(wp.__file__).parent / "native"
    files = [(entry.name, entry.stat()) for entry in sorted(os.scandir(root), key=lambda entry: entry.name)]
    content = repr([root, flags, [(name, state.st_size, state.st_mtime_ns) for name, state in files]])
    key = wp.get_cpu_kernel_cache_key(cpu_compiler_flags="-march=native")
    digest = hashlib.sha256(f"{key}\n{content}".encode()).hexdigest()[:12]
    return Path(wp.config.kernel_cache_dir or tempfile.gettempdir()) / f"wp_annelid_headers_{digest}"


def _fetched(shared: Path, own: Path) -> list[str]:
    """Headers that both folders have, after those that are whole were copied to one's own."""
    for header in shared.glob("*.pch"):
        if not (own / header.name).exists() and is_whole(header):
            _copy(header, own)
    return [header.name for header in shared.glob("*.pch") if (own / header.name).exists()]


def _copy(header: Path, folder: Path) -> bool:
    """Whether a header was copied to a folder, which stays as it is where it cannot be written."""
    try:
        with replaced(folder / header.name) as temporary:
            shutil.copy(header, temporary)
    except (OSError, InvalidValue):
        return False
    return True
