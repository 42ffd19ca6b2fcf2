"""Calls of a network that are kept, so that they can be run back: rates by its weights and by what it read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import warp as wp

import annelid.core.device  # noqa: F401  starts Warp quietly
from annelid.control.controller import expect
from annelid.control.kernels import backward as kernels
from annelid.control.kernels.kinds import MLP as MLP_KIND
from annelid.control.networks import MLP, DistributedMLP
from annelid.core.errors import InvalidValue
from annelid.core.options import require_kind


@dataclass(frozen=True, eq=False)
class _Layer:
    """Where the weights of a layer begin, its inputs with drive and bias, those of them that are neurons, its size."""

    first: int
    width: int
    before: int
    size: int


class Unrolled:
    """A network in many worlds whose calls can be run back, the last one first; in double precision.

    Sums have a fixed order: a world comes out to the bit as it would alone, on any device.

    Args:
        network: An `MLP` or a `DistributedMLP`.
        channels: Number of control values.
        inputs: Number of readings that belong to each channel, shape [channels].
        worlds: Number of worlds.
        device: Where to compute.
        neighbours: Channel to the north, east, south and west of each, -1 where there is none; None for none.

    Attributes:
        weights: Weights of each world, shape [worlds, p]; a copy on the host.
    """

    def __init__(
        self,
        network: MLP | DistributedMLP,
        channels: int,
        inputs: Sequence[int],
        *,
        worlds: int = 1,
        device: Any = None,
        neighbours: np.ndarray | None = None,
    ) -> None:
        require_kind("a network that is run back", network, (MLP, DistributedMLP), "an MLP or a DistributedMLP")
        program = network.bind(channels, inputs, neighbours)
        self.network, self.worlds, self.channels, self.device = network, worlds, channels, wp.get_device(device)
        self._joint = program.kind == MLP_KIND
        self._rows = 1 if self._joint else channels
        self._signals, self._readings = program.signals, program.inputs
        self._own = self._readings // self._rows
        self._driven = network.driving is not None
        self._layers = _layers(program.layers, self._driven, program.bias_all)
        count = len(program.parameters)
        self._stride = 0 if self._joint or program.shared else count // channels
        self._around = self._neighbours(program.neighbours)
        self._weights, self._by_weights = (self._zeros(worlds, count) for _ in range(2))
        self._calls: list[list[wp.array[Any]]] = []  # inputs of each layer and values of the last one, call by call
        self._count = 0
        self._heard = self._zeros(self._all, self._layers[0].width)  # rates by inputs, of the call that comes later
        self.weights = np.zeros((worlds, count))
        self.begin(program.parameters)

    @property
    def _all(self) -> int:
        """Rows of all worlds."""
        return self.worlds * self._rows

    def begin(self, weights: Any = None) -> None:
        """Forget all calls.

        Args:
            weights: Weights from now on, shape [p] or [worlds, p]; None leaves them as they are.
        """
        self._count = 0
        if weights is not None:
            given = np.asarray(weights, float)
            expect(given.shape[-1] if given.ndim else 1, self.weights.shape[1], "weights", "as the network has")
            if given.shape not in (self.weights.shape[1:], self.weights.shape) or not np.isfinite(given).all():
                raise InvalidValue(
                    f"weights must be finite numbers of shape [{self.weights.shape[1]}] or {list(self.weights.shape)}."
                )
            self.weights = np.broadcast_to(given, self.weights.shape).copy()
            self._weights.assign(self.weights)

    def act(self, time: float, readings: Any) -> np.ndarray:
        """Control values from -1 to 1 at a time [s], shape [worlds, channels].

        Args:
            time: Time [s].
            readings: What the network reads, shape [worlds, n].
        """
        given = np.asarray(readings, float)
        if given.shape != (self.worlds, self._readings):
            raise InvalidValue(f"readings must have shape [{self.worlds}, {self._readings}], not {list(given.shape)}.")
        driving = 0.0 if self.network.driving is None else float(self.network.driving(np.array([time]))[0])
        here = self._room()
        said = self._calls[self._count - 1][-1] if self._count else self._silence
        there = wp.array(given, dtype=wp.float64, device=self.device)
        sizes = [self._rows, self._own, self._signals]
        self._launch(kernels.fill_inputs, here[0].shape, [*sizes, driving, self._around, there, said, here[0]])
        for layer, before, after in zip(self._layers, here[:-1], here[1:], strict=True):
            inputs = [self._rows, self._stride, layer.first, self._weights, before, after]
            self._launch(kernels.pass_layer, (self._all, layer.size), inputs)
        self._count += 1
        values = self._zeros(self.worlds, self.channels)
        self._launch(kernels.pick_values, values.shape, [self._rows, here[-1], values])
        return np.array(values.numpy())

    def turn(self) -> None:
        """Begin to run calls back: forget the rates of the last time."""
        self._by_weights.zero_()
        self._heard.zero_()

    def back(self, rates: Any) -> np.ndarray:
        """Run the last call back that was not yet; rates of a loss by its readings, shape [worlds, n].

        Args:
            rates: Rates by its control values, shape [worlds, channels].
        """
        if self._count == 0:
            raise InvalidValue("there is no call to run back: all were, or none was made.")
        self._count -= 1
        here = self._calls[self._count]
        given = wp.array(np.ascontiguousarray(rates, float), dtype=wp.float64, device=self.device)
        by = self._zeros(self._all, self._layers[-1].size)
        sizes = [self._rows, self._own, self._signals]
        self._launch(kernels.heard_rates, by.shape, [*sizes, self._around, given, self._heard, by])
        for number in reversed(range(len(self._layers))):
            layer, inputs, neurons = self._layers[number], here[number], here[number + 1]
            self._launch(kernels.through_tanh, by.shape, [neurons, by])
            where = [self._rows, self._stride, layer.first]
            groups = self._rows if self._stride else 1
            size = (self.worlds, groups, layer.size * layer.width)
            self._launch(kernels.rate_weights, size, [*where, inputs, by, self._by_weights])
            before = self._zeros(self._all, layer.width if number == 0 else layer.before)
            self._launch(kernels.rate_inputs, before.shape, [*where, layer.width, self._weights, by, before])
            by = before
        self._heard = by
        found = self._zeros(self.worlds, self._readings)
        if self._readings:
            self._launch(kernels.gather_readings, found.shape, [self._rows, self._own, by, found])
        return np.array(found.numpy())

    def rates(self) -> np.ndarray:
        """Rates of a loss by weights, of the calls that were run back, shape [worlds, p]."""
        return np.array(self._by_weights.numpy())

    # --- parts ---

    @property
    def _silence(self) -> wp.array[Any]:
        """What neighbours have said before the first call."""
        return self._zeros(self._all, self._layers[-1].size)

    def _room(self) -> list[wp.array[Any]]:
        """Arrays of the next call: inputs of each layer, with a bias that stays 1, and values of the last one."""
        if self._count == len(self._calls):
            widths = [layer.width for layer in self._layers]
            hidden = [wp.array(np.ones((self._all, w)), dtype=wp.float64, device=self.device) for w in widths]
            self._calls.append([*hidden, self._zeros(self._all, self._layers[-1].size)])
        return self._calls[self._count]

    def _neighbours(self, given: np.ndarray | None) -> wp.array[Any]:
        around = np.full((self._rows, 4), -1) if given is None else np.asarray(given)
        for side in range(4):
            here = np.flatnonzero(around[:, side] >= 0)
            if (around[around[here, side], (side + 2) % 4] != here).any():
                raise InvalidValue(
                    "neighbours must be those of a grid: one that has another to the north is to its south."
                )
        return wp.array(np.ascontiguousarray(around, np.int32), dtype=wp.int32, device=self.device)

    def _zeros(self, *shape: int) -> wp.array[Any]:
        return wp.zeros(shape, dtype=wp.float64, device=self.device)

    def _launch(self, kernel: Any, size: tuple[int, ...], arguments: list[Any]) -> None:
        wp.launch(kernel, size, arguments, device=self.device)


def _layers(sizes: Sequence[int], driven: bool, bias_all: bool) -> list[_Layer]:
    found, first = [], 0
    for number, (before, size) in enumerate(zip(sizes, sizes[1:], strict=False)):
        width = before + (driven + 1 if number == 0 else bias_all)
        found.append(_Layer(first, width, before, size))
        first += width * size
    return found
