"""Where the time of a piece of work goes, part by part."""

from __future__ import annotations

import time

import warp as wp

import annelid.core.device  # noqa: F401  starts Warp quietly


class Stopwatch:
    """Adds up the wall time of parts that follow each other; each is waited for on the device.

    Args:
        device: Where the work is done.

    Attributes:
        seconds: Wall time of each part so far [s], by name.
    """

    def __init__(self, device: wp.Device) -> None:
        self.seconds: dict[str, float] = {}
        self._device = device
        self.start()

    def start(self) -> None:
        """Begin with the next part now; what was before belongs to none."""
        wp.synchronize_device(self._device)
        self._began = time.perf_counter()

    def lap(self, part: str) -> None:
        """End a part; the next one begins."""
        wp.synchronize_device(self._device)
        now = time.perf_counter()
        self.seconds[part] = self.seconds.get(part, 0.0) + now - self._began
        self._began = now
