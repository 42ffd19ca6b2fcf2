"""Commands on the device: taken between two steps, and held or ramped from then on."""

from typing import Any

import warp as wp

from annelid.core.kernels.parameters import LAST

wp.set_module_options({"enable_backward": False})

NOT_FINITE, OUTSIDE = 1, 2
"""What can be wrong with a value."""


@wp.func
def held(command: wp.vec4d, now: wp.float64) -> wp.float64:
    """The value of a channel at a moment, counted in steps.

    A command is the value that it began with, the one that it leads to, the step at which it was given, and the steps
    that the change takes; where these are negative, the time constant of a lag in steps. Only the difference of steps
    counts, so that a world that began later moves to the bit alike.
    """
    if command[3] < wp.float64(0.0):
        return command[1] + (command[0] - command[1]) * wp.exp((now - command[2]) / command[3])
    part = wp.float64(1.0)
    if command[3] > wp.float64(0.0):
        part = wp.clamp((now - command[2]) / command[3], wp.float64(0.0), wp.float64(1.0))
    if part >= wp.float64(1.0):
        return command[1]
    smooth = part * part * (wp.float64(3.0) - wp.float64(2.0) * part)
    return command[0] + (command[1] - command[0]) * smooth


@wp.kernel(enable_backward=False)
def inspect_values(
    values: wp.array2d[Any],
    columns: wp.array[wp.int32],
    lows: wp.array[wp.float64],
    highs: wp.array[wp.float64],
    faults_out: wp.array[wp.int32],
):
    """Note what is wrong with the values of each world, before anything is changed; one thread a world."""
    world = wp.tid()
    fault = int(0)
    for k in range(columns.shape[0]):
        value = wp.float64(values[world, k])
        channel = columns[k]
        if not wp.isfinite(value):
            fault = fault | NOT_FINITE
        else:
            slack = wp.float64(1.0e-6) * (highs[channel] - lows[channel])  # limits in single precision are no fault
            if value < lows[channel] - slack or value > highs[channel] + slack:
                fault = fault | OUTSIDE
    faults_out[world] = fault


@wp.func
def taken(
    command: wp.vec4d,  # as it is
    value: wp.float64,
    low: wp.float64,
    high: wp.float64,
    rest: wp.float64,
    ramp: wp.float64,
    dt: wp.float64,
    following: int,  # place of gain and lag among the parameters of all worlds, negative for none
    parameters: wp.array[wp.float64],
    now: wp.float64,
) -> wp.vec4d:
    """The command that leads from where a channel is to a new value."""
    goal = wp.clamp(value, low, high)
    duration = ramp
    if following >= 0:
        goal = wp.clamp(rest + parameters[following] * (goal - rest), low, high)
        if parameters[following + 1] > wp.float64(0.0):
            duration = -parameters[following + 1] / dt
    return wp.vec4d(held(command, now), goal, now, duration)


@wp.func
def following_of(world: int, worlds: int, parameters: wp.array[wp.float64]) -> int:
    """Where gain and lag of a world are: the first of the last of its parameters."""
    place = int(-1)
    if parameters.shape[0] > 0:
        place = (world + 1) * (parameters.shape[0] // worlds) - wp.static(LAST)
    return place


@wp.struct
class Channels:
    """Channels and where their commands are kept, for kernels that command them."""

    lows: wp.array[wp.float64]
    highs: wp.array[wp.float64]
    rests: wp.array[wp.float64]
    dt: wp.float64
    worlds: wp.int32
    parameters: wp.array[wp.float64]
    clock: wp.array[wp.int64]
    commands: wp.array[wp.vec4d]


@wp.func
def command_channel(channels: Channels, world: int, c: int, value: wp.float64, ramp: wp.float64):
    """Let a channel of a world go from where it is to a new value, clipped to its limits, in `ramp` steps.

    In worlds that have parameters, with a gain and a lag, it goes so much further from rest, and follows late.
    """
    row = world * channels.lows.shape[0] + c
    following = following_of(world, channels.worlds, channels.parameters)
    now = wp.float64(channels.clock[0])
    channels.commands[row] = taken(
        channels.commands[row], value, channels.lows[c], channels.highs[c], channels.rests[c], ramp, channels.dt,
        following, channels.parameters, now,
    )  # fmt: skip


@wp.kernel(enable_backward=False)
def take_commands(
    mask: wp.array[wp.bool],  # of worlds; empty for all of them
    values: wp.array2d[Any],
    columns: wp.array[wp.int32],
    ramp: wp.float64,
    # State in and out:
    channels: Channels,
):
    """Command channels of masked worlds."""
    world, k = wp.tid()
    if mask.shape[0] > 0:
        if not mask[world]:
            return
    command_channel(channels, world, columns[k], wp.float64(values[world, k]), ramp)


@wp.kernel(enable_backward=False)
def read_commands(
    clock: wp.array[wp.int64],
    commands: wp.array[wp.vec4d],
    lows: wp.array[wp.float64],
    highs: wp.array[wp.float64],
    first: int,
    readings_out: wp.array2d[wp.float32],
):
    """The values of all channels now, from -1 for the least one to 1 for the largest."""
    world, k = wp.tid()
    value = held(commands[world * lows.shape[0] + k], wp.float64(clock[0]))
    share = (value - lows[k]) / (highs[k] - lows[k])
    readings_out[world, first + k] = wp.float32(wp.float64(2.0) * share - wp.float64(1.0))


@wp.kernel(enable_backward=False)
def hold_values(
    clock: wp.array[wp.int64],
    commands: wp.array[wp.vec4d],
    values_out: wp.array[wp.float64],
):
    """The values of all channels now."""
    row = wp.tid()
    values_out[row] = held(commands[row], wp.float64(clock[0]))


# All overloads at once: one that is first needed later would compile this module again.
for _real in (wp.float32, wp.float64):
    wp.overload(inspect_values, {"values": wp.array2d[_real]})
    wp.overload(take_commands, {"values": wp.array2d[_real]})
