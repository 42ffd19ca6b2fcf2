"""Controllers written by the user: in NumPy, called from the host, or as a Warp function, run inside the step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import warp as wp

from annelid.control.controller import Controller, Program, expect, flat
from annelid.control.kernels.kinds import FUNCTION, HOST
from annelid.core.options import require_callable, require_kind


class HostController(Controller):
    """A NumPy function, called between steps for all robots that hold the same function and have equal shapes.

    Args:
        function: From the time [s], inputs of shape [robots, inputs] and parameters of shape [robots, p] to control
            values of shape [robots, channels].
        parameters: Parameters of this robot.
    """

    def __init__(self, function: Callable[[float, np.ndarray, np.ndarray], np.ndarray], parameters: Any = ()) -> None:
        require_callable("what a HostController calls", function)
        self.function, self.parameters = function, flat(parameters, "parameter")

    def bind(self, channels: int, inputs: Sequence[int], neighbours: np.ndarray | None = None) -> Program:
        """The program for a robot."""
        return Program(HOST, channels, int(sum(inputs)), self.parameters, function=self.function)

    def with_parameters(self, parameters: np.ndarray) -> HostController:
        """The same function with other parameters."""
        expect(len(parameters), len(self.parameters), "parameters", "as before")
        return HostController(self.function, parameters)


class WarpController(Controller):
    """A Warp function, evaluated inside the step for each channel.

    Args:
        function: `wp.func` of (time [s], channel, inputs, first_input, input_count, parameters, first_parameter) that
            returns the control value; `inputs` and `parameters` are arrays that all robots share, hence where to begin.
        parameters: Parameters of this robot.
    """

    def __init__(self, function: Any, parameters: Any = ()) -> None:
        require_kind(
            "what a WarpController computes", function, wp.Function, "a Warp function, decorated with @wp.func"
        )
        self.function, self.parameters = function, flat(parameters, "parameter")

    def bind(self, channels: int, inputs: Sequence[int], neighbours: np.ndarray | None = None) -> Program:
        """The program for a robot."""
        return Program(FUNCTION, channels, int(sum(inputs)), self.parameters, function=self.function)

    def with_parameters(self, parameters: np.ndarray) -> WarpController:
        """The same function with other parameters."""
        expect(len(parameters), len(self.parameters), "parameters", "as before")
        return WarpController(self.function, parameters)
