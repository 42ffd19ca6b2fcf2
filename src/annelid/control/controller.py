"""What a controller is, and the form in which kernels take it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from annelid.core.arrays import as_numbers
from annelid.core.errors import InvalidValue, UnknownName
from annelid.core.options import require_kind
from annelid.core.words import with_article

TimeFunction = Callable[[np.ndarray], np.ndarray]
"""A function of times [s], shape [n], that returns values in [-1, 1]: shape [n] for one channel."""


@dataclass(frozen=True)
class Program:
    """A controller bound to a robot: what the kernels need of it.

    Attributes:
        kind: One of `kernels.kinds`.
        channels: Number of control values.
        inputs: Number of inputs.
        parameters: Numbers that it computes with.
        layers: Sizes of the layers of a network, without inputs that are not readings.
        bias_all: Whether hidden layers have a bias too.
        driving: Amplitude, frequency [Hz] and phase [rad] of a driving sine; None for no driving function or a table.
        tables: Time functions to be sampled on the host: those of the channels, or one that drives a network.
        signals: Values that a channel sends to each of its four neighbours.
        shared: Whether all channels of a distributed network have the same weights.
        neighbours: Channel to the north, east, south, west of each, -1 where there is none, shape [channels, 4].
        function: The user's function.
    """

    kind: int
    channels: int
    inputs: int = 0
    parameters: np.ndarray = field(default_factory=lambda: np.zeros(0))
    layers: tuple[int, ...] = ()
    bias_all: bool = False
    driving: tuple[float, float, float] | None = None
    tables: tuple[TimeFunction, ...] = ()
    signals: int = 0
    shared: bool = True
    neighbours: np.ndarray | None = None
    function: Any = None


class Controller:
    """Base of all controllers; `kind` names it in files."""

    kind: ClassVar[str] = ""
    parameters: np.ndarray

    def bind(self, channels: int, inputs: Sequence[int], neighbours: np.ndarray | None = None) -> Program:
        """The program for a robot.

        Args:
            channels: Number of control values.
            inputs: Number of inputs that belong to each channel, shape [channels].
            neighbours: Channel to the north, east, south and west of each, -1 where there is none.
        """
        raise NotImplementedError

    def with_parameters(self, parameters: np.ndarray) -> Controller:
        """The same controller with other parameters."""
        raise NotImplementedError

    def packed(self, rows: np.ndarray, channels: int) -> np.ndarray:
        """What programs of this controller compute with for rows of parameters [n, p], shape [n, q]."""
        if rows.shape[1] != len(self.parameters):
            raise InvalidValue(f"{len(self.parameters)} parameters are needed, not {rows.shape[1]}.")
        flat(rows, "parameter")
        return rows

    def to_dict(self) -> dict[str, Any]:
        """The controller in words and numbers, for files."""
        raise InvalidValue(f"{with_article(type(self).__name__)} holds a function and cannot be written to a file.")

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Controller:
        """The controller back from `to_dict`."""
        return cls(**values)


def controller_from_dict(values: dict[str, Any]) -> Controller:
    """A controller of any kind from its dictionary."""
    require_kind("a controller from a file", values, Mapping, "a table with its kind and parameters")
    known = {kind.kind: kind for kind in _kinds(Controller) if kind.kind}
    name = str(values.get("kind"))
    if name not in known:
        raise UnknownName("controller", name, known)
    return known[name].from_dict({key: value for key, value in values.items() if key != "kind"})


def _kinds(base: type[Controller]) -> list[type[Controller]]:
    return [kind for child in base.__subclasses__() for kind in (child, *_kinds(child))]


def flat(values: Any, what: str) -> np.ndarray:
    """A vector of finite numbers."""
    result = np.array(as_numbers(f"{what}s of a controller", values)).reshape(-1)
    if not np.isfinite(result).all():
        raise InvalidValue(f"{what} number {int(np.flatnonzero(~np.isfinite(result))[0])} is not a finite number.")
    result.setflags(write=False)
    return result


def expect(count: int, needed: int, what: str, reason: str) -> None:
    """Refuse a vector of the wrong length."""
    if count != needed:
        raise InvalidValue(f"{needed} {what} are needed ({reason}), not {count}.")
