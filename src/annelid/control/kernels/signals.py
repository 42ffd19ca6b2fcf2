"""Signals of controllers: waves, functions of the user, and the function that drives a network."""

from typing import Any

import warp as wp

from annelid.control.kernels.layout import brain_layout
from annelid.core.kernels.loading import once

wp.set_module_options({"enable_backward": False})


@once
def user_value(functions: tuple[wp.Function, ...], real: Any) -> wp.Function:
    """Value of the user's function of some number, counted from 1."""
    if not functions:

        @wp.func
        def nothing(
            number: int, time: wp.float64, channel: int, inputs: wp.array[real], first_input: int, count: int,
            parameters: wp.array[real], first_parameter: int,
        ) -> real:  # fmt: skip
            return real(0.0)

        return nothing
    last, this, others = functions[-1], len(functions), user_value(functions[:-1], real)

    @wp.func
    def value(
        number: int, time: wp.float64, channel: int, inputs: wp.array[real], first_input: int, count: int,
        parameters: wp.array[real], first_parameter: int,
    ) -> real:  # fmt: skip
        result = others(number, time, channel, inputs, first_input, count, parameters, first_parameter)
        if number == wp.static(this):
            result = last(time, channel, inputs, first_input, count, parameters, first_parameter)
        return result

    return value


@once
def wave(real: Any) -> wp.Function:
    """A sin(2π (f t + turns)), accurate at any time."""

    @wp.func
    def value(time: wp.float64, amplitude: wp.float64, frequency: wp.float64, turns: wp.float64) -> real:
        turn = frequency * time + turns
        turn = turn - wp.floor(turn)
        return real(amplitude) * wp.sin(real(turn) * real(6.283185307179586))

    return value


@once
def driving_value(real: Any) -> wp.Function:
    """A function `(brain, brains, time, call) -> real`: value of the function that drives a network; 0 without one."""
    types, sine = brain_layout(real), wave(real)
    Brain, Brains = types.Brain, types.Brains

    @wp.func
    def drive(brain: Brain, brains: Brains, time: wp.float64, call: wp.int64) -> real:
        value = real(0.0)
        if brain.driven == 1:
            value = sine(time, brain.drive[0], brain.drive[1], brain.drive[2])
        if brain.driven == 2:
            value = brains.table[int(call - brains.first_call[0]), brain.column]
        return value

    return drive
