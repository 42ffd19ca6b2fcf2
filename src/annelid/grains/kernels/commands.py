"""What bodies are given: velocities and spins of driven ones, forces and torques on free ones, or commands instead."""

import functools

import warp as wp

from annelid.core.kernels.controls import held
from annelid.grains.kernels.layout import DRIVEN, Bodies, Features, Lists

wp.set_module_options({"enable_backward": False})


@wp.func
def commanded(b: int, place: int, given: wp.vec3, step: int, lists: Lists, bodies: Bodies) -> wp.vec3:
    """What a body is given in a step of a batch, with the commands of its controls in place of what they control.

    Args:
        b: The body.
        place: 0 for velocity or force, 1 for spin or torque.
        given: What it is given without commands.
        step: Step of the batch.
        lists: Its clock counts the steps before.
        bodies: Bodies, their channels and commands.
    """
    out = given
    pace = bodies.pace[0]
    moment = pace[0] + (wp.float64(lists.clock[0] + wp.int64(step)) - pace[0]) * pace[1]
    first = bodies.forms[b].world * bodies.control_count
    for axis in range(3):
        channel = bodies.channels[6 * b + 3 * place + axis]
        if channel >= 0:
            out[axis] = wp.float32(held(bodies.commands[first + channel], moment))
    return out


@functools.cache
def given_to(features: Features, *, driven: bool) -> wp.Function:
    """A function `(b, place, step, ...) -> vec3` of what a body is given in a step: place 0 for x, y, z, 1 for turns.

    That is velocity and spin of a `driven` body, force and torque from outside on a free one.
    """
    follows = features.commanded

    @wp.func
    def given(b: int, place: int, step: int, lists: Lists, bodies: Bodies) -> wp.vec3:
        out = wp.vec3()
        if wp.static(driven):
            out = bodies.drives[2 * b + place]
        else:
            out = bodies.loads[2 * b + place]
        if wp.static(follows):
            out = commanded(b, place, out, step, lists, bodies)
        return out

    return given


@wp.kernel
def expect_commands(lists: Lists, bodies: Bodies):
    """Let contacts reckon with what driven bodies are told to do in the next step, after commands may have come."""
    b = wp.tid()
    if bodies.forms[b].motion == wp.static(DRIVEN) and bodies.path_of[b] < 0:
        bodies.forecast[b] = commanded(b, 0, bodies.forecast[b], 0, lists, bodies)
        bodies.turning[b] = commanded(b, 1, bodies.turning[b], 0, lists, bodies)
