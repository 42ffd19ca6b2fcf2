"""Launches that happen once a step: prepared once on the CPU, where preparing one takes longer than running it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import warp as wp


class Launcher:
    """Launches kernels, and remembers how.

    Args:
        device: Where to.
    """

    def __init__(self, device: wp.Device) -> None:
        self._device = device
        self._known: dict[wp.Kernel, tuple[tuple[Any, ...], Any]] = {}

    def launch(self, kernel: wp.Kernel, dim: int, arguments: list[Any], arrays: Sequence[wp.array] = ()) -> None:
        """Launch a kernel; again with the same arrays, it is the same launch.

        Args:
            kernel: The kernel.
            dim: Number of its threads.
            arguments: Its arguments.
            arrays: Those among them, and in structures among them, that may move; none for a launch of its own.
        """
        if self._device.is_cuda or not arrays:
            wp.launch(kernel, dim, arguments, device=self._device)
            return
        places = tuple(array.ptr for array in arrays)
        known = self._known.get(kernel)
        if known is None or known[0] != places:
            known = places, wp.launch(kernel, dim, arguments, device=self._device, record_cmd=True)
            self._known[kernel] = known
        known[1].launch()
