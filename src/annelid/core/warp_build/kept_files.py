"""Sums of the files that Warp keeps of a module: a bit that was flipped on a disk is found before code is run.

Warp loads whatever lies in the folder of a module, and its linker looks at headers only: of a flipped bit in the code
of a kernel come wrong numbers, or a crash.
"""

from __future__ import annotations

import json
import shutil
import zlib
from contextlib import suppress
from pathlib import Path

from annelid.core.errors import InvalidValue
from annelid.core.files import read_bytes, replaced

_LOADED = (".o", ".cubin", ".ptx", ".meta")
_NAME = "sums.json"


def drop_damaged(folder: Path) -> None:
    """Remove the folder of a module where a file is not what it was when its sum was taken."""
    noted = _noted(folder)
    if noted is not None and noted != {name: found for name, found in _sums(folder).items() if name in noted}:
        shutil.rmtree(folder, ignore_errors=True)


def note_sums(folder: Path) -> None:
    """Keep the sums of the files of a module that was loaded, where its folder can be written."""
    sums = _sums(folder)
    if sums != _noted(folder):
        with suppress(OSError, InvalidValue), replaced(folder / _NAME) as temporary:
            temporary.write_text(json.dumps(sums), encoding="utf-8")


def _sums(folder: Path) -> dict[str, int]:
    """CRCs of the files that are loaded, by name."""
    return {path.name: zlib.crc32(read_bytes(path)) for path in sorted(folder.glob("*")) if path.suffix in _LOADED}


def _noted(folder: Path) -> dict[str, int] | None:
    """The sums that were kept, None where there are none; damaged ones are those of no file."""
    try:
        noted = json.loads(read_bytes(folder / _NAME))
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        noted = None
    return noted if isinstance(noted, dict) else {"": 0}
