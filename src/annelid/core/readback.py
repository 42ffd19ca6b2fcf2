"""Arrays that are read on the host again and again, by way of memory that is made once."""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from annelid.core.device import device

_KEPT = 4  # sets of arrays whose mirrors are kept


class Mirror:
    """Reads an array of a device; the copy that `wp.array.numpy` makes each time costs more than a small array does.

    Args:
        array: The array; it stays where it is.

    Attributes:
        numbers: What was in it when it was read last; on the CPU the array itself.
    """

    def __init__(self, array: wp.array[Any]) -> None:
        self._array, self._device = array, array.device
        here = array.device is not None and array.device.is_cpu
        self._copy = array if here else wp.empty(array.shape, dtype=array.dtype, device=device("cpu"), pinned=True)
        self.numbers = np.asarray(self._copy.numpy())

    def read(self) -> np.ndarray:
        """What is in the array, once the device has done what it was asked for; the next call overwrites it."""
        if self._copy is not self._array:
            self.ask()
            wp.synchronize_stream(self._device)
        return self.numbers

    def ask(self) -> None:
        """Ask for what is in the array; it is in `numbers` once the device has done what it was asked for."""
        if self._copy is not self._array and self._array.size:
            wp.copy(self._copy, self._array)


class Readings:
    """Reads some arrays of a device at once, and waits for it once."""

    def __init__(self) -> None:
        self._mirrors: dict[tuple[int, ...], tuple[tuple[wp.array[Any], ...], tuple[Mirror, ...]]] = {}

    def read(self, *arrays: wp.array[Any]) -> tuple[np.ndarray, ...]:
        """What is in the arrays, each as an array of its own."""
        if all(array.device is not None and array.device.is_cpu for array in arrays):
            return tuple(np.array(array.numpy()) for array in arrays)
        key = tuple(map(id, arrays))
        if key not in self._mirrors:
            if len(self._mirrors) >= _KEPT:
                self._mirrors.clear()
            # The arrays are kept, or another one could get the identity of one of these.
            self._mirrors[key] = arrays, tuple(Mirror(array) for array in arrays)
        mirrors = self._mirrors[key][1]
        for mirror in mirrors:
            mirror.ask()
        wp.synchronize_stream(arrays[0].device)
        return tuple(np.array(mirror.numbers) for mirror in mirrors)
