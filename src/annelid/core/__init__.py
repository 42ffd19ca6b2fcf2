"""The base of all physics: devices, launches, the run loop, snapshots, recordings, measurements and errors."""

from annelid.core import device as _device  # starts Warp quietly before anything else can

__all__: list[str] = []
del _device
