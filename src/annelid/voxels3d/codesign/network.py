"""The one network that all voxels of all bodies share, on a device, there and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import warp as wp

from annelid.core.errors import InvalidValue
from annelid.voxels3d.codesign.kernels.light import INPUTS
from annelid.voxels3d.codesign.kernels.network import (
    CHUNK,
    back_kernel,
    command_back_kernel,
    command_kernel,
    layer_kernel,
    rate_kernel,
    sum_kernel,
)


class Network:
    """Layers of tanh neurons from what a voxel senses to its command.

    Args:
        weights: All weights, layer by layer, each a matrix of inputs, the last of which is 1, and neurons.
        hidden: Neurons of the hidden layers.
        device: Warp device.
        real: Type of numbers.
    """

    def __init__(self, weights: np.ndarray, hidden: Sequence[int], device: wp.Device, real: Any) -> None:
        self._shapes, self._device, self._real = layer_shapes(hidden), device, real
        needed = sum(inputs * neurons for inputs, neurons in self._shapes)
        if np.shape(weights) != (needed,):
            raise InvalidValue(f"this network has {needed} weights, not {list(np.shape(weights))}.")
        self._weights = [self._array(each) for each in _split(np.asarray(weights, float), self._shapes)]
        self._values: list[wp.array[Any]] = []  # neurons of hidden layers, of calls and rows; with a 1 for the bias
        self._rates: list[wp.array[Any]] = []
        self._parts: list[wp.array[Any]] = []
        self._size = (0, 0)

    def begin(self, rows: int, calls: int) -> None:
        """Make room for calls."""
        if self._size != (rows, calls):
            self._size = (rows, calls)
            self._values = [self._ones(calls, rows, inputs) for inputs, _ in self._shapes[1:]]

    def act(self, call: int, inputs: wp.array[Any], table: wp.array[Any]) -> None:
        """Commands of a call, from inputs of calls, rows and sensors."""
        here = [inputs, *self._values]
        for weights, before, after in zip(self._weights, here, here[1:], strict=False):
            self._launch(layer_kernel, (self._size[0], weights.shape[1]), [call, weights, before, after])
        self._launch(command_kernel, self._size[0], [call, self._weights[-1], here[-1], table])

    def turn(self, rows: int) -> None:
        """Begin to run calls back, the last one first."""
        chunks = -(-rows // CHUNK)
        sizes = [(inputs, neurons) for inputs, neurons in self._shapes]
        self._parts = [wp.zeros((chunks, *size), dtype=self._real, device=self._device) for size in sizes]
        widths = [inputs for inputs, _ in self._shapes]
        self._rates = [wp.empty((rows, width), dtype=self._real, device=self._device) for width in (*widths, 1)]

    def back(self, call: int, table: wp.array[Any], by_table: wp.array[Any], inputs: wp.array[Any]) -> wp.array[Any]:
        """Run a call back: rates by its inputs from those by the commands."""
        self._begin_back(call, self._ones(self._size[0]), table, by_table)
        for number in reversed(range(len(self._shapes))):
            self._through(number, call, inputs)
        return self._rates[0]

    def book(
        self, call: int, shares: wp.array[Any], table: wp.array[Any], by_table: wp.array[Any], inputs: wp.array[Any]
    ) -> None:
        """Sum up the rates by weights of a call, from a share of the rates by each command."""
        self._begin_back(call, shares, table, by_table)
        for number in reversed(range(len(self._shapes))):
            before, parts = [inputs, *self._values][number], self._parts[number]
            self._launch(rate_kernel, parts.shape, [call, before, self._rates[number + 1], parts])
            if number:
                self._through(number, call, inputs)

    def _begin_back(self, call: int, shares: wp.array[Any], table: wp.array[Any], by_table: wp.array[Any]) -> None:
        self._launch(command_back_kernel, self._size[0], [call, shares, table, by_table, self._rates[-1]])

    def _through(self, number: int, call: int, inputs: wp.array[Any]) -> None:
        """From rates by the sums in a layer to those by the sums in the one before it, or by the inputs."""
        weights, before = self._weights[number], [inputs, *self._values][number]
        arguments = [call, int(number > 0), weights, before, self._rates[number + 1], self._rates[number]]
        self._launch(back_kernel, (self._size[0], weights.shape[0]), arguments)

    def rates(self) -> np.ndarray:
        """Rates by all weights of the calls that were run back, shape [p]."""
        found = []
        for parts in self._parts:
            sums = wp.zeros(parts.shape[1:], dtype=wp.float64, device=self._device)
            self._launch(sum_kernel, sums.shape, [parts, sums])
            found.append(sums)
        return np.concatenate([sums.numpy().ravel() for sums in found])

    def _ones(self, *shape: int) -> wp.array[Any]:
        return wp.full(shape, 1.0, dtype=self._real, device=self._device)

    def _array(self, values: np.ndarray) -> wp.array[Any]:
        return wp.array(np.ascontiguousarray(values), dtype=self._real, device=self._device)

    def _launch(self, kernel: Any, size: Any, arguments: list[Any]) -> None:
        wp.launch(kernel(self._real), size, arguments, device=self._device)


def layer_shapes(hidden: Sequence[int]) -> list[tuple[int, int]]:
    """Inputs, with one for the bias, and neurons of each layer."""
    sizes = [INPUTS, *hidden, 1]
    return [(before + 1, after) for before, after in zip(sizes, sizes[1:], strict=False)]


def random_weights(rng: np.random.Generator, hidden: Sequence[int]) -> np.ndarray:
    """Weights to begin with, in proportion to 1/√inputs; the command begins small."""
    parts = [rng.standard_normal(shape) / np.sqrt(shape[0]) for shape in layer_shapes(hidden)]
    for part in parts:
        part[-1] = 0.0
    parts[-1] *= 0.3
    return np.concatenate([part.ravel() for part in parts])


def _split(weights: np.ndarray, shapes: Sequence[tuple[int, int]]) -> list[np.ndarray]:
    edges = np.cumsum([inputs * neurons for inputs, neurons in shapes])[:-1]
    return [part.reshape(shape) for part, shape in zip(np.split(weights, edges), shapes, strict=True)]
