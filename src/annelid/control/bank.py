"""Many controllers packed for a device, so that one launch can call them all."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import warp as wp

from annelid.control.controller import Program
from annelid.control.kernels.kinds import DISTRIBUTED, FUNCTION, HOST, MLP
from annelid.control.kernels.layout import brain_layout

TABLE_ROWS = 512
"""Calls that time functions are sampled ahead."""


class Bank:
    """The controllers of a batch of robots; channels, inputs and parameters of one follow those of the one before.

    Args:
        programs: Controllers bound to their robots.
        real: `wp.float32` or `wp.float64`.
        device: Warp device.
    """

    def __init__(self, programs: Sequence[Program], real: Any, device: wp.Device) -> None:
        self.programs, self.device = programs, device
        self._numpy_real = np.float32 if real is wp.float32 else np.float64
        self.kinds = frozenset(p.kind for p in programs if p.kind != HOST)
        self.functions = tuple(dict.fromkeys(p.function for p in programs if p.kind == FUNCTION))
        self.first_channels = _starts([p.channels for p in programs])
        self.first_inputs = _starts([p.inputs for p in programs])
        self._first_parameters = _starts([len(p.parameters) for p in programs])
        self._columns = _starts([len(p.tables) for p in programs])
        self.neuron_count = int(sum(_scratch(p) for p in programs))
        self.memory_counts = [_memory(p) for p in programs]
        self.arrays = self._upload(real)

    @property
    def memory_count(self) -> int:
        """Signals that controllers keep from call to call."""
        return sum(self.memory_counts)

    @property
    def tabulated(self) -> bool:
        """Whether time functions must be sampled by `prepare` ahead of the calls."""
        return bool(self._columns[-1])

    def prepare(self, first_call: int, calls: int, period: float) -> None:
        """Sample time functions for the calls from `first_call` on, which are `period` [s] apart."""
        times = (first_call + np.arange(calls)) * period
        rows = np.zeros((TABLE_ROWS, int(self._columns[-1])), self._numpy_real)
        for program, column in zip(self.programs, self._columns[:-1], strict=True):
            for i, function in enumerate(program.tables):
                rows[:calls, column + i] = function(times)
        self.arrays.table.assign(rows)
        self.arrays.first_call.assign(np.array([first_call], np.int64))

    def set_parameters(self, parameters: np.ndarray) -> None:
        """Replace the numbers that programs compute with, one after the other; the last ones may stay as they are."""
        values = np.asarray(parameters, self._numpy_real)
        self.arrays.parameters[: len(values)].assign(values)

    def _upload(self, real: Any) -> Any:
        types, device = brain_layout(real), self.device
        arrays = types.Brains()
        rows = np.zeros(len(self.programs), dtype=types.Brain.numpy_dtype())
        layers = _starts([len(p.layers) for p in self.programs])
        neurons, memory = _starts([_scratch(p) for p in self.programs]), _starts([_memory(p) for p in self.programs])
        for number, p in enumerate(self.programs):
            row = rows[number]
            row["kind"], row["channels"], row["inputs"], row["layers"] = p.kind, p.channels, p.inputs, len(p.layers)
            row["bias_all"], row["signals"] = p.bias_all, p.signals
            row["widest"] = max(p.layers[1:], default=0)
            row["driven"] = _driven(p)
            row["weights"] = 0 if p.shared or p.channels == 0 else len(p.parameters) // p.channels
            row["function"] = 1 + self.functions.index(p.function) if p.kind == FUNCTION else 0
            if p.driving is not None:
                row["drive"] = (p.driving[0], p.driving[1], p.driving[2] / (2.0 * math.pi))
        for name, starts in (
            ("channel", self.first_channels), ("input", self.first_inputs), ("parameter", self._first_parameters),
            ("layer", layers), ("neuron", neurons), ("memory", memory), ("column", self._columns),
        ):  # fmt: skip
            rows[name] = starts[:-1]
        arrays.brains = wp.array(rows, dtype=types.Brain, device=device)
        arrays.parameters = self._array([p.parameters for p in self.programs], self._numpy_real, real)
        arrays.layers = self._array([p.layers for p in self.programs], np.int32, wp.int32)
        arrays.neighbours = self._neighbours()
        arrays.table = wp.zeros(
            (TABLE_ROWS if self.tabulated else 1, max(1, int(self._columns[-1]))), dtype=real, device=device
        )
        arrays.first_call = wp.zeros(1, dtype=wp.int64, device=device)
        return arrays

    def _neighbours(self) -> wp.array:
        if DISTRIBUTED not in self.kinds:
            return wp.zeros(0, dtype=wp.vec4i, device=self.device)
        rows = [np.full((p.channels, 4), -1) if p.neighbours is None else p.neighbours for p in self.programs]
        return wp.array(np.concatenate(rows).astype(np.int32), dtype=wp.vec4i, device=self.device)

    def _array(self, parts: Sequence[Any], dtype: Any, kind: Any) -> wp.array:
        values = (
            np.concatenate([np.asarray(part, dtype).reshape(-1) for part in parts]) if parts else np.zeros(0, dtype)
        )
        return wp.array(values, dtype=kind, device=self.device)


def _starts(counts: Sequence[int]) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(np.asarray(counts, int))]).astype(int)


def _driven(program: Program) -> int:
    if program.kind not in (MLP, DISTRIBUTED):
        return 0
    return 1 if program.driving is not None else 2 * bool(program.tables)


def _scratch(program: Program) -> int:
    copies = {MLP: 1, DISTRIBUTED: program.channels}.get(program.kind, 0)
    return 2 * copies * max(program.layers[1:], default=0)


def _memory(program: Program) -> int:
    return 8 * program.channels * program.signals if program.kind == DISTRIBUTED else 0
