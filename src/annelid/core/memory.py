"""How much memory the machine has, so that what does not fit is refused before it is tried."""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from annelid.core.errors import TooLarge

if TYPE_CHECKING:
    import warp as wp

_GROUP = Path("/sys/fs/cgroup/memory.max")  # what a container may use
_PAGES = Path("/proc/self/statm")  # pages of this process: all, and those in memory...


def require_memory(what: str, needed: float, remedy: str) -> None:
    """Refuse what needs more memory than this machine has, in a sentence.

    Args:
        what: What is to be made, with its number: "a block of 8e12 masses".
        needed: Memory that it takes while it is built [B], about.
        remedy: What to make smaller, in words.
    """
    there = machine_memory()
    if there is not None and needed > there:
        raise TooLarge(
            f"{what} needs about {size_in_words(needed)} of memory, this machine has {size_in_words(there)}: {remedy}."
        )


def machine_memory() -> int | None:
    """Memory of the machine, or of the container that the process runs in [B]; None where it cannot be found."""
    found = _memory()
    try:
        return min(found, int(_GROUP.read_text(encoding="ascii"))) if found is not None else None
    except (OSError, ValueError):  # no such limit
        return found


def device_memory(device: wp.Device) -> int | None:
    """Memory that is free on a CUDA device, or all that the machine has [B]; None where it cannot be found."""
    return int(device.free_memory) if device.is_cuda else machine_memory()


def process_memory() -> int | None:
    """Memory that this process takes now [B]; None where the system does not tell it (other than Linux)."""
    if sys.platform == "win32":
        return None
    try:
        return int(_PAGES.read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return None


class _Status(ctypes.Structure):
    """MEMORYSTATUSEX."""

    _fields_ = [("length", ctypes.c_uint32), ("load", ctypes.c_uint32), *((f"m{i}", ctypes.c_uint64) for i in range(7))]


def _memory() -> int | None:
    if sys.platform == "win32":
        status = _Status()
        status.length = ctypes.sizeof(_Status)
        known = ctypes.windll.kernel32.GlobalMemoryStatusEx(ctypes.byref(status))
        return int(status.m0) if known else None
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError):
        return None


def size_in_words(amount: float) -> str:
    """A number of bytes in words."""
    if amount < 1e9:
        return f"{amount / 1e6:.3g} MB"
    return f"{amount / 1e9:.0f} GB" if 1e10 <= amount < 1e15 else f"{amount / 1e9:.2g} GB"
