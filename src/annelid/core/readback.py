"""Arrays that are read on the host again and again, by way of memory that is made once."""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from annelid.core.device import device


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
            wp.copy(self._copy, self._array)
            wp.synchronize_stream(self._device)
        return self.numbers
