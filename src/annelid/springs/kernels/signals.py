"""Numbers that springs and motors follow: functions of the time of a world, or what is commanded there."""

import warp as wp

from annelid.core.kernels.controls import held
from annelid.core.kernels.loading import once
from annelid.springs.kernels.commands import command_signal
from annelid.springs.kernels.layout import Layout

wp.set_module_options({"enable_backward": False})


@once
def _function_value(functions: tuple[wp.Function, ...]) -> wp.Function:
    """The factor on a rest length: 1 for kind 0, else that of the function of this kind."""
    if not functions:

        @wp.func
        def passive(kind: int, time: wp.float64, parameters: wp.vec4d) -> wp.float64:
            return wp.float64(1.0)

        return passive
    last, number, others = functions[-1], len(functions), _function_value(functions[:-1])

    @wp.func
    def value(kind: int, time: wp.float64, parameters: wp.vec4d) -> wp.float64:
        result = others(kind, time, parameters)
        if kind == wp.static(number):
            result = last(time, parameters)
        return result

    return value


@once
def value_at(types: Layout, functions: tuple[wp.Function, ...], worlds: bool) -> wp.Function:
    """One of these functions at a moment, in steps: of the time of a world, or what a channel commands there."""
    evaluate = _function_value(functions)
    commanded = 1 + functions.index(command_signal) if command_signal in functions else 0
    Arrays, Work = types.Arrays, types.Work

    @wp.func
    def value(
        kind: int, world: int, moment: wp.float64, parameters: wp.vec4d, model: Arrays, work: Work
    ) -> wp.float64:  # fmt: skip
        if wp.static(commanded > 0):
            if kind == wp.static(commanded):
                return held(work.commands[world * model.control_count + int(parameters[0])], moment)
        if wp.static(worlds):
            moment -= wp.float64(work.begun[world])
        return evaluate(kind, moment * model.parameters[0].dt, parameters)

    return value


@once
def signal_at(types: Layout, functions: tuple[wp.Function, ...], *, worlds: bool) -> wp.Function:
    """A function `(item, moment, model, work) -> factor`: a signal of a world at a moment, counted in steps.

    Signals are numbered world after world.
    """
    evaluate, Arrays, Work = value_at(types, functions, worlds), types.Arrays, types.Work

    @wp.func
    def value(item: int, moment: wp.float64, model: Arrays, work: Work) -> wp.float64:
        signal = item
        world = int(0)
        if wp.static(worlds):
            world = item // model.signal_count
            signal = item - world * model.signal_count
        return evaluate(model.signal_kinds[signal], world, moment, model.signal_parameters[signal], model, work)

    return value


@once
def motor_value(types: Layout, functions: tuple[wp.Function, ...], *, worlds: bool) -> wp.Function:
    """A function `(m, kind, moment, parameters, model, work) -> value`: what motor m follows at a moment, in steps."""
    evaluate, Arrays, Work = value_at(types, functions, worlds), types.Arrays, types.Work

    @wp.func
    def value(
        m: int, kind: int, moment: wp.float64, parameters: wp.vec4d, model: Arrays, work: Work
    ) -> wp.float64:  # fmt: skip
        world = int(0)
        if wp.static(worlds):
            world = m // work.motors[0].motors_a_world
        return evaluate(kind, world, moment, parameters, model, work)

    return value
