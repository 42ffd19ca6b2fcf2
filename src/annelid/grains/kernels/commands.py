"""What bodies are given: velocities and spins of driven ones, forces and torques on free ones, or commands instead."""

import warp as wp

from annelid.core.kernels.controls import held
from annelid.core.kernels.loading import once
from annelid.grains.kernels.layout import DRIVEN, Bodies, Features, Lists

wp.set_module_options({"enable_backward": False})


mat43 = wp.types.matrix(shape=(4, 3), dtype=wp.float32)


@wp.func
def moment_of(step: int, lists: Lists, bodies: Bodies) -> wp.float64:
    """The moment of a step of a batch for commands, counted in steps; the clock of the lists counts those before."""
    pace = bodies.pace[0]
    return pace[0] + (wp.float64(lists.clock[0] + wp.int64(step)) - pace[0]) * pace[1]


@wp.func
def commanded_number(b: int, n: int, step: int, given: float, lists: Lists, bodies: Bodies) -> float:
    """One of the twelve numbers that a body is given, see `commanded`, or the command of a control in its place."""
    out = given
    channel = bodies.channels[6 * b + n % 6]
    if channel >= 0:
        command = bodies.commands[bodies.forms[b].world * bodies.control_count + channel]
        out = wp.float32(held(command, moment_of(step + n // 6, lists, bodies)))
    return out


@wp.func
def commanded(b: int, step: int, given: mat43, lists: Lists, bodies: Bodies) -> mat43:
    """What a body is given, with the commands of its controls in place of what they control.

    Two rows are velocity and spin, or force and torque, in a step of a batch, and two more those in the step after it.
    One loop serves all of them: a GPU would spend longer on fetching twelve copies of its code than on running them.
    """
    out = given
    n = int(0)
    while n < 12:
        out[n // 3, n % 3] = commanded_number(b, n, step, given[n // 3, n % 3], lists, bodies)
        n += 1
    return out


@wp.func_native(
    """
#if defined(__CUDA_ARCH__)
    __shared__ float numbers[12];
    if (threadIdx.x < 12) numbers[threadIdx.x] = number;
    __syncthreads();
    wp::mat_t<4, 3, wp::float32> out;
    for (int row = 0; row < 4; ++row)
        for (int column = 0; column < 3; ++column) out.data[row][column] = numbers[3 * row + column];
    return out;
#else
    return wp::mat_t<4, 3, wp::float32>(number);
#endif
"""
)
def block_matrix(number: float) -> mat43:
    """What the first twelve threads of a block hold, row by row; every thread gets it (CUDA)."""


@once
def block_given(features: Features) -> wp.Function:
    """As `given_to`, by the threads of a block: one finds one number, so that none waits for the others (CUDA)."""
    follows = features.commanded

    @wp.func
    def given(b: int, lane: int, step: int, lists: Lists, bodies: Bodies) -> mat43:
        number = float(0.0)
        if lane < 12:
            row = 2 * b + (lane // 3) % 2
            vector = bodies.loads[row]
            if bodies.forms[b].motion == wp.static(DRIVEN):
                vector = bodies.drives[row]
            number = vector[lane % 3]
            if wp.static(follows):
                number = commanded_number(b, lane, step, number, lists, bodies)
        return block_matrix(number)

    return given


@once
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
            if bodies.control_count > 0:
                out = commanded(b, step, out, lists, bodies)
        return out

    return given


@wp.kernel(module="unique", enable_backward=False)
def expect_commands(lists: Lists, bodies: Bodies):
    """Let contacts reckon with what driven bodies are told to do in the next step, after commands may have come."""
    b, n = wp.tid()  # a thread for each of the six numbers of a body: none waits for the others
    if bodies.forms[b].motion == wp.static(DRIVEN) and bodies.path_of[b] < 0 and bodies.channels[6 * b + n] >= 0:
        told = commanded_number(b, n, 0, 0.0, lists, bodies)
        if n < 3:
            bodies.forecast[b][n] = told
        else:
            bodies.turning[b][n - 3] = told
