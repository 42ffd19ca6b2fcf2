"""What bodies are given: velocities and spins of driven ones, forces and torques on free ones, or commands instead."""

import functools

import warp as wp

from annelid.core.kernels.controls import held
from annelid.grains.kernels.layout import DRIVEN, Bodies, Features, Lists

wp.set_module_options({"enable_backward": False})


mat43 = wp.types.matrix(shape=(4, 3), dtype=wp.float32)


@wp.func
def moment_of(step: int, lists: Lists, bodies: Bodies) -> wp.float64:
    """The moment of a step of a batch for commands, counted in steps; the clock of the lists counts those before."""
    pace = bodies.pace[0]
    return pace[0] + (wp.float64(lists.clock[0] + wp.int64(step)) - pace[0]) * pace[1]


@wp.func
def commanded(b: int, step: int, given: mat43, lists: Lists, bodies: Bodies) -> mat43:
    """What a body is given, with the commands of its controls in place of what they control.

    Two rows are velocity and spin, or force and torque, in a step of a batch, and two more those in the step after it.
    One loop serves all of them: a GPU would spend longer on fetching twelve copies of its code than on running them.
    """
    out = given
    first = bodies.forms[b].world * bodies.control_count
    n = int(0)
    while n < 12:
        channel = bodies.channels[6 * b + n % 6]
        if channel >= 0:
            command = bodies.commands[first + channel]
            out[n // 3, n % 3] = wp.float32(held(command, moment_of(step + n // 6, lists, bodies)))
        n += 1
    return out


@functools.cache
def given_to(features: Features) -> wp.Function:
    """A function `(b, step, ...) -> mat43` of what a body is given in a step and in the next, see `commanded`.

    That is velocity and spin of a driven body, force and torque from outside on a free one.
    """
    follows = features.commanded

    @wp.func
    def given(b: int, step: int, lists: Lists, bodies: Bodies) -> mat43:
        along = bodies.loads[2 * b]
        about = bodies.loads[2 * b + 1]
        if bodies.forms[b].motion == wp.static(DRIVEN):
            along = bodies.drives[2 * b]
            about = bodies.drives[2 * b + 1]
        out = mat43(
            along[0], along[1], along[2], about[0], about[1], about[2],
            along[0], along[1], along[2], about[0], about[1], about[2],
        )  # fmt: skip
        if wp.static(follows):
            out = commanded(b, step, out, lists, bodies)
        return out

    return given


@wp.kernel
def expect_commands(lists: Lists, bodies: Bodies):
    """Let contacts reckon with what driven bodies are told to do in the next step, after commands may have come."""
    b = wp.tid()
    if bodies.forms[b].motion == wp.static(DRIVEN) and bodies.path_of[b] < 0:
        along = bodies.forecast[b]
        about = bodies.turning[b]
        told = commanded(
            b, 0, mat43(along[0], along[1], along[2], about[0], about[1], about[2], 0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
            lists, bodies,
        )  # fmt: skip
        bodies.forecast[b] = told[0]
        bodies.turning[b] = told[1]
