"""A controller in each of many worlds, all called at once on the device."""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from annelid.control.bank import Bank
from annelid.control.controller import Program
from annelid.control.kernels.loops import think_kernel
from annelid.core.errors import InvalidValue


class SideBySide:
    """The same program in each of many worlds; its numbers may differ from world to world.

    Args:
        program: A controller, bound to as many channels as there are limits.
        worlds: Number of worlds.
        lows: Value of each channel for a control value of -1.
        highs: Value of each channel for a control value of 1.
        device: Where to compute.
    """

    def __init__(self, program: Program, worlds: int, lows: Any, highs: Any, device: wp.Device) -> None:
        self._bank = Bank([program] * worlds, wp.float32, device)
        if self._bank.memory_count:
            raise InvalidValue("a network that remembers its neighbours' signals can only control voxel robots yet.")
        self.worlds, self._device = worlds, device
        self._kernel = think_kernel(self._bank.kinds, self._bank.functions)
        self._neurons = wp.zeros(max(1, self._bank.neuron_count), dtype=wp.float32, device=device)
        self._outputs = wp.zeros(worlds * program.channels, dtype=wp.float32, device=device)
        self._memory = wp.zeros(1, dtype=wp.float32, device=device)
        self._values = wp.zeros((worlds, program.channels), dtype=wp.float64, device=device)
        self._limits = [wp.array(side, dtype=wp.float64, device=device) for side in (lows, highs)]

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
        given = [time, call, self._bank.arrays, inputs.flatten(), self._neurons, self._memory, *self._limits]
        wp.launch(self._kernel, self.worlds, given, [self._outputs, self._values], device=self._device)
        return self._values


def inputs_of_channels(inputs: int, channels: int) -> list[int]:
    """How many of all inputs belong to each channel: the same number, or all to the first where that cannot be."""
    return [inputs // channels] * channels if inputs % channels == 0 else [inputs] + [0] * (channels - 1)
