"""Controllers of many worlds, all called at once on the device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import warp as wp

from annelid.control.bank import Bank
from annelid.control.controller import Program
from annelid.control.kernels.loops import pick_places, think_kernel
from annelid.core.errors import InvalidValue


class SideBySide:
    """A program in each of many worlds: the same with numbers of its own, or unlike ones of unlike robots.

    Args:
        programs: A controller for each world that has channels, bound to those and to what is read there.
        lows: Value of each channel for a control value of -1.
        highs: Value of each channel for a control value of 1.
        device: Where to compute.
        channels: Whether each world has each channel, shape [worlds, channels].
        readings: Whether each world has each of the numbers that are read, shape [worlds, n]; None: all have.
    """

    def __init__(
        self,
        programs: Sequence[Program],
        lows: Any,
        highs: Any,
        device: wp.Device,
        *,
        channels: np.ndarray,
        readings: np.ndarray | None = None,
    ) -> None:
        self._bank = Bank(programs, wp.float32, device)
        if self._bank.memory_count:
            raise InvalidValue("a network that remembers its neighbours' signals can only control voxel robots yet.")
        self._count, self._device = len(programs), device
        self._kernel = think_kernel(self._bank.kinds, self._bank.functions)
        self._neurons = wp.zeros(max(1, self._bank.neuron_count), dtype=wp.float32, device=device)
        self._places = _places(channels, device)
        self._outputs = wp.zeros(len(self._places), dtype=wp.float32, device=device)
        self._memory = wp.zeros(1, dtype=wp.float32, device=device)
        self._values = wp.zeros(channels.shape, dtype=wp.float64, device=device)
        self._limits = [wp.array(side, dtype=wp.float64, device=device) for side in (lows, highs)]
        self._read = None if readings is None or readings.all() else _places(readings, device)

    def set_parameters(self, rows: np.ndarray) -> None:
        """Give the first worlds the numbers that their programs compute with, shape [n, q]: see `Controller.packed`."""
        self._bank.set_parameters(rows.reshape(-1))

    def act(self, time: float, call: int, period: float, inputs: wp.array[Any]) -> wp.array[Any]:
        """Values of all channels, shape [worlds, channels], on the device; the next call overwrites them.

        Args:
            time: Time [s].
            call: Number of this call.
            period: Time between two calls [s].
            inputs: What the controllers read, float32 [worlds, inputs], on the device.
        """
        if self._bank.tabulated:
            self._bank.prepare(call, 1, period)
        flat = inputs.flatten()
        if self._read is not None:
            flat = wp.empty(len(self._read), dtype=wp.float32, device=self._device)
            wp.launch(pick_places, len(flat), [self._read, inputs], [flat], device=self._device)
        given = [time, call, self._bank.arrays, flat, self._neurons, self._memory, *self._limits, self._places]
        wp.launch(self._kernel, self._count, given, [self._outputs, self._values], device=self._device)
        return self._values


def _places(there: np.ndarray, device: wp.Device) -> wp.array[Any]:
    """World and column of each number that is there, world after world."""
    return wp.array(np.argwhere(there).astype(np.int32), dtype=wp.vec2i, device=device)


def inputs_of_channels(inputs: int, channels: int) -> list[int]:
    """How many of all inputs belong to each channel: the same number, or all to the first where that cannot be."""
    return [inputs // channels] * channels if inputs % channels == 0 else [inputs] + [0] * (channels - 1)
