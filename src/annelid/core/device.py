"""Choice of the device that computes, and of the number of CPU threads."""

from __future__ import annotations

import ctypes
import os
import re
import sys
import threading
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import warp as wp

from annelid.core.errors import DeviceUnavailable, InvalidValue
from annelid.core.parameters import Checked, parameter
from annelid.core.warp_build.own_modules import take_own_modules


def _start_warp() -> None:
    """Start Warp without its banner, and without its warning on machines that have no NVIDIA driver."""
    wp.config.log_level = max(wp.config.log_level, wp.LOG_ERROR)
    if _has_driver():
        _init()
        return
    saved = os.dup(2)
    with open(os.devnull, "wb") as nothing:
        os.dup2(nothing.fileno(), 2)
        try:
            _init()
        finally:
            os.dup2(saved, 2)
            os.close(saved)


def _has_driver() -> bool:
    try:
        ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
    except OSError:
        return False
    return True


def _init() -> None:
    try:
        wp.init()
    except OSError as error:
        raise DeviceUnavailable(
            f"Warp cannot keep its kernels in {error.filename}: {error.strerror}; set WARP_CACHE_PATH to a folder that "
            "can be written."
        ) from error


_start_warp()

_UNDISTURBED = threading.RLock()
_MOST_THREADS = 4096  # more than any machine has


def undisturbed(device: wp.Device) -> AbstractContextManager[object]:
    """What is launched on CUDA within this context is not mixed with what other threads launch or capture.

    Warp has one stream for all threads: a launch of another thread would become part of a graph that is being
    captured. Within it a thread takes at most the network of a body whose gate it holds.
    """
    return _UNDISTURBED if device.is_cuda else nullcontext()


def device(name: str | wp.Device = "auto") -> wp.Device:
    """The Warp device of that name.

    Args:
        name: "auto" (the first CUDA device, or the CPU where there is none), "cpu", "cuda" or "cuda:1".
    """
    take_own_modules()  # before the first kernel of a simulation is loaded
    if isinstance(name, wp.Device):
        return name
    if not isinstance(name, str):
        raise DeviceUnavailable(f"a device is named by a word, 'auto', 'cpu', 'cuda' or 'cuda:N', not by {name!r:.60}.")
    if name == "auto":
        return wp.get_device("cuda:0" if wp.is_cuda_available() else "cpu")
    if not re.fullmatch(r"cpu|cuda(:\d+)?", name):
        raise DeviceUnavailable(f"unknown device {name!r}: use 'auto', 'cpu', 'cuda' or 'cuda:N'.")
    if name == "cpu":
        return wp.get_device("cpu")
    number = int(name.partition(":")[2] or 0)
    found = wp.get_cuda_device_count() if wp.is_cuda_available() else 0
    if number >= found:
        raise DeviceUnavailable(
            f"device {name!r} is not there: Warp finds {found} CUDA device(s); use 'auto' or 'cpu'."
        )
    return wp.get_device(f"cuda:{number}")


def device_title(device: wp.Device) -> str:
    """A device in words for tables, such as "cpu (2 threads available)" or "cuda:0 (NVIDIA H200)"."""
    return f"{device.alias} ({device.name})" if device.is_cuda else f"cpu ({available_threads()} cores)"


def available_threads() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)


def thread_count(threads: int | None) -> int:
    """The number of CPU threads to use: all cores by default."""
    if threads is None:
        return available_threads()
    if isinstance(threads, bool) or not isinstance(threads, int) or threads < 1:
        raise InvalidValue(f"threads must be a whole number of at least 1, not {threads!r}.")
    if threads > _MOST_THREADS:
        raise InvalidValue(
            f"threads must be at most {_MOST_THREADS}, not {threads}; this process may use {available_threads()} cores."
        )
    return threads


@dataclass(frozen=True, kw_only=True)
class OnDevice(Checked):
    """Where a simulation is computed."""

    device: str | wp.Device = parameter("auto", '"auto", "cpu", "cuda" or "cuda:N".')
    threads: int | None = parameter(None, "CPU threads; None takes all cores.")
