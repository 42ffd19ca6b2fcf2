"""Neural controllers: one network for the whole robot, or one in each voxel that talks to its neighbours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from annelid.control.controller import Controller, Program, expect, flat
from annelid.control.kernels.kinds import DISTRIBUTED
from annelid.control.kernels.kinds import MLP as MLP_KIND
from annelid.control.signals import Sine
from annelid.core.arrays import array_or_none, whole_numbers
from annelid.core.errors import InvalidValue
from annelid.core.options import require_truth

Driving = Sine | Callable[[np.ndarray], np.ndarray] | None
"""An additional input: a sine, any function of times [s], or none."""


_ONCE_A_SECOND = Sine()


def weight_count(sizes: Sequence[int], *, driven: bool, bias_all: bool = False) -> int:
    """Number of weights of a network whose layers have these sizes, readings first.

    The driving function, if any, and a bias are inputs of the first layer; hidden layers have a bias on request only.
    """
    inputs = [sizes[0] + driven + 1, *(size + bias_all for size in sizes[1:-1])]
    return sum(before * after for before, after in zip(inputs, sizes[1:], strict=True))


class MLP(Controller):
    """One multilayer perceptron with tanh neurons that reads all inputs and drives all channels.

    Weights stand layer by layer, and in a layer neuron by neuron: those of its inputs, of the driving function, of the
    bias.

    Args:
        weights: Weights, as many as `weight_count` says.
        hidden: Sizes of hidden layers.
        driving: Driving function; by default sin(2πt).
        bias_all: Whether hidden layers feed a bias to the next layer too.
    """

    kind: ClassVar[str] = "mlp"

    def __init__(
        self, weights: Any, *, hidden: Sequence[int] = (), driving: Driving = _ONCE_A_SECOND, bias_all: bool = False
    ) -> None:
        require_truth("bias_all of a network", bias_all)
        self.parameters, self.hidden, self.driving = flat(weights, "weight"), _sizes(hidden), _known_driving(driving)
        self.bias_all = bias_all

    def sizes(self, channels: int, inputs: Sequence[int]) -> tuple[int, ...]:
        """Sizes of all layers for a robot."""
        return (int(sum(inputs)), *self.hidden, channels)

    def weights_needed(self, channels: int, inputs: Sequence[int]) -> int:
        """Number of weights for a robot."""
        return weight_count(self.sizes(channels, inputs), driven=self.driving is not None, bias_all=self.bias_all)

    def bind(self, channels: int, inputs: Sequence[int], neighbours: np.ndarray | None = None) -> Program:
        """The program for a robot."""
        sizes = self.sizes(channels, inputs)
        needed = self.weights_needed(channels, inputs)
        expect(len(self.parameters), needed, "weights", f"layers {'-'.join(map(str, sizes))}")
        sine, tables = _driving(self.driving)
        return Program(MLP_KIND, channels, sizes[0], self.parameters, sizes, self.bias_all, driving=sine, tables=tables)

    def with_parameters(self, parameters: np.ndarray) -> MLP:
        """The same network with other weights."""
        return MLP(parameters, hidden=self.hidden, driving=self.driving, bias_all=self.bias_all)

    def act(self, time: float, inputs: np.ndarray, channels: int) -> np.ndarray:
        """Control values at a time [s] for inputs of shape [m], in NumPy."""
        extra = [] if self.driving is None else [float(self.driving(np.array([time]))[0])]
        return _forward(self.parameters, [*inputs, *extra], (*self.hidden, channels), self.bias_all)

    def to_dict(self) -> dict[str, Any]:
        """For files; a driving function other than a sine cannot be written."""
        values = {"weights": self.parameters.tolist(), "hidden": list(self.hidden), "bias_all": self.bias_all}
        return {"kind": self.kind, **values, "driving": _driving_dict(self.driving)}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Controller:
        """Back from a file."""
        return cls(**_with_driving(values))


class DistributedMLP(Controller):
    """A network in each channel that reads its own inputs and what its four neighbours sent it a call before.

    Its first output is the control value, the others go to the neighbours in the order north, east, south, west.

    Args:
        weights: Weights of the one network that all channels share, or of all networks, one after the other.
        signals: Values sent to each neighbour.
        hidden: Sizes of hidden layers.
        driving: Driving function; none by default.
        shared: Whether all channels have the same weights.
    """

    kind: ClassVar[str] = "distributed-mlp"

    def __init__(
        self,
        weights: Any,
        *,
        signals: int = 1,
        hidden: Sequence[int] = (),
        driving: Driving = None,
        shared: bool = True,
    ) -> None:
        if isinstance(signals, bool) or not isinstance(signals, int | np.integer) or signals < 0:
            raise InvalidValue(f"the number of signals must not be negative, not {signals!r:.60}: give 0 or more.")
        require_truth("shared of a distributed network", shared)
        self.parameters, self.hidden, self.driving = flat(weights, "weight"), _sizes(hidden), _known_driving(driving)
        self.signals, self.shared = signals, shared

    def sizes(self, inputs: int) -> tuple[int, ...]:
        """Sizes of the layers of the network in one channel."""
        return (inputs + 4 * self.signals, *self.hidden, 1 + 4 * self.signals)

    def weights_needed(self, channels: int, inputs: Sequence[int]) -> int:
        """Number of weights for a robot."""
        sizes = self.sizes(_same(inputs))
        one = weight_count(sizes, driven=self.driving is not None)
        return one if self.shared else one * channels

    def bind(self, channels: int, inputs: Sequence[int], neighbours: np.ndarray | None = None) -> Program:
        """The program for a robot."""
        sizes = self.sizes(_same(inputs))
        reason = f"layers {'-'.join(map(str, sizes))} in {'every' if self.shared else 'each'} voxel"
        expect(len(self.parameters), self.weights_needed(channels, inputs), "weights", reason)
        around = np.full((channels, 4), -1) if neighbours is None else neighbours
        sine, tables = _driving(self.driving)
        return Program(
            DISTRIBUTED, channels, int(sum(inputs)), self.parameters, sizes, driving=sine, tables=tables,
            signals=self.signals, shared=self.shared, neighbours=around,
        )  # fmt: skip

    def with_parameters(self, parameters: np.ndarray) -> DistributedMLP:
        """The same networks with other weights."""
        return DistributedMLP(
            parameters, signals=self.signals, hidden=self.hidden, driving=self.driving, shared=self.shared
        )

    def to_dict(self) -> dict[str, Any]:
        """For files; a driving function other than a sine cannot be written."""
        values = {"weights": self.parameters.tolist(), "hidden": list(self.hidden), "signals": self.signals}
        return {"kind": self.kind, **values, "shared": self.shared, "driving": _driving_dict(self.driving)}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Controller:
        """Back from a file."""
        return cls(**_with_driving(values))


def _forward(weights: np.ndarray, inputs: Sequence[float], sizes: Sequence[int], bias_all: bool) -> np.ndarray:
    values, start = np.append(np.asarray(inputs, float), 1.0), 0
    for layer, size in enumerate(sizes):
        block = weights[start : start + size * len(values)].reshape(size, len(values))
        start += block.size
        outputs = np.tanh(block @ values)
        values = np.append(outputs, 1.0) if bias_all and layer < len(sizes) - 1 else outputs
    return values


def _sizes(hidden: Sequence[int]) -> tuple[int, ...]:
    if array_or_none(hidden).ndim != 1:
        raise InvalidValue(f"hidden layers must be a list of sizes, such as (8,), not {hidden!r:.60}.")
    sizes = tuple(map(int, whole_numbers("sizes of hidden layers", hidden)))
    if any(size < 1 for size in sizes):
        raise InvalidValue(f"hidden layers must have at least one neuron, not {sizes}.")
    return sizes


def _known_driving(given: Driving) -> Driving:
    if given is not None and not callable(given):
        raise InvalidValue(f"driving of a network must be a Sine, a function of times or None, not {given!r:.60}.")
    return given


def _same(inputs: Sequence[int]) -> int:
    counts = sorted({int(count) for count in inputs})
    if len(counts) > 1:
        raise InvalidValue(
            f"a distributed network needs the same number of sensors in every voxel, not {counts[0]} to {counts[-1]}."
        )
    return counts[0] if counts else 0


def _driving(driving: Driving) -> tuple[tuple[float, float, float] | None, tuple[Any, ...]]:
    if isinstance(driving, Sine):
        return (driving.amplitude, driving.frequency, driving.phase), ()
    return None, () if driving is None else (driving,)


def _driving_dict(driving: Driving) -> dict[str, float] | None:
    if driving is None:
        return None
    if not isinstance(driving, Sine):
        raise InvalidValue("a driving function other than a Sine cannot be written to a file.")
    return {"frequency": driving.frequency, "phase": driving.phase, "amplitude": driving.amplitude}


def _with_driving(values: dict[str, Any]) -> dict[str, Any]:
    driving = values.get("driving")
    return {**values, "driving": None if driving is None else Sine(**driving)}
