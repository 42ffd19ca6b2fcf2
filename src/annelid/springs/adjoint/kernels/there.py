"""The way there: steps of the solver whose states are kept, factors of signals, checkpoints and looks."""

import functools
from typing import Any

import warp as wp

from annelid.core.launch import team_range
from annelid.springs.kernels.commands import command_signal
from annelid.springs.kernels.gather import WIDTH
from annelid.springs.kernels.layout import Layout, layout
from annelid.springs.kernels.program import Features, one_pass
from annelid.springs.kernels.signals import value_at

wp.set_module_options({"enable_backward": False})


@functools.cache
def stretch_kernel(features: Features) -> wp.Kernel:
    """The steps of a stretch by a team of CPU threads; state t is row t."""
    types = layout(features.real)
    vec3, vec4, Arrays, Work = types.vec3, types.vec4, types.Arrays, types.Work
    one_step = one_pass(features)

    @wp.kernel(module="unique", enable_backward=False)
    def run_stretch(
        rank: int,
        size: int,
        counter: wp.array[wp.int32],
        steps: int,
        model: Arrays,
        work: Work,
        xs: wp.array2d[vec4],
        vs: wp.array2d[vec3],
    ):
        share = team_range(rank, size, (model.mass_count + wp.static(WIDTH - 1)) // wp.static(WIDTH), 8)
        ticket = int(0)
        begin = work.clock[0]
        for step in range(steps):
            x = xs[step]
            v = vs[step]
            x_after = xs[step + 1]
            v_after = vs[step + 1]
            ticket = one_step(rank, size, counter, ticket, share, begin, step, model, work, x, v, x_after, v_after)

    return run_stretch


@functools.cache
def factor_kernel(features: Features) -> wp.Kernel:
    """Factors of all signals for the steps of a stretch: commands come from a table, where there is one.

    Parameters of signals are those of each world.
    """
    types = layout(features.real)
    real, Arrays, Work = types.real, types.Arrays, types.Work
    evaluate, functions, worlds = value_at(types, features.signals, features.worlds), features.signals, features.worlds
    commanded = 1 + functions.index(command_signal) if command_signal in functions else 0

    @wp.kernel(module="unique", enable_backward=False)
    def fill_factors(
        model: Arrays,
        parameters: wp.array2d[wp.vec4d],
        table: wp.array3d[wp.float64],  # of worlds, intervals and controls; empty where commands are held
        interval: int,
        first: wp.array[wp.int32],
        work: Work,
    ):
        row, item = wp.tid()
        world = int(0)
        if wp.static(worlds):
            world = item // model.signal_count
        signal = item - world * model.signal_count
        kind = model.signal_kinds[signal]
        numbers = parameters[world, signal]
        value = wp.float64(1.0)
        tabled = bool(False)
        if wp.static(commanded > 0):
            if kind == wp.static(commanded) and table.shape[1] > 0:
                tabled = True
                value = table[world, (first[0] + row) // interval, int(numbers[0])]
        if not tabled:
            value = evaluate(kind, world, wp.float64(work.clock[0]) + wp.float64(row), numbers, model, work)
        work.factors[row * model.signal_count * model.world_count + item] = real(value)

    return fill_factors


@functools.cache
def save_kernel(types: Layout) -> wp.Kernel:
    """Positions and velocities of a row to a checkpoint."""
    vec3, vec4 = types.vec3, types.vec4

    @wp.kernel(module="unique", enable_backward=False)
    def save(
        x: wp.array[vec4], v: wp.array[vec3], positions_out: wp.array[vec3], velocities_out: wp.array[vec3]
    ):  # fmt: skip
        i = wp.tid()
        here = x[i]
        positions_out[i] = vec3(here[0], here[1], here[2])
        velocities_out[i] = v[i]

    return save


@functools.cache
def load_kernel(types: Layout) -> wp.Kernel:
    """A checkpoint to a row."""
    vec3, vec4, real = types.vec3, types.vec4, types.real

    @wp.kernel(module="unique", enable_backward=False)
    def load(
        inverse_masses: wp.array[real],
        positions: wp.array[vec3],
        velocities: wp.array[vec3],
        x_out: wp.array[vec4],
        v_out: wp.array[vec3],
    ):
        i = wp.tid()
        here = positions[i]
        x_out[i] = vec4(here[0], here[1], here[2], inverse_masses[i])
        v_out[i] = velocities[i]

    return load


@functools.cache
def look_kernel(types: Layout) -> wp.Kernel:
    """States of a stretch that are looked at, to their places among the looks."""
    vec3, vec4 = types.vec3, types.vec4

    @wp.kernel(module="unique", enable_backward=False)
    def look(
        rows: wp.array[wp.int32],
        first: wp.array[wp.int32],
        xs: wp.array2d[vec4],
        vs: wp.array2d[vec3],
        positions_out: wp.array2d[vec3],
        velocities_out: wp.array2d[vec3],
    ):
        step, i = wp.tid()
        row = rows[first[0] + step + 1]
        if row >= 0:
            here = xs[step + 1, i]
            positions_out[row, i] = vec3(here[0], here[1], here[2])
            velocities_out[row, i] = vs[step + 1, i]

    return look


@functools.cache
def lay_kernel(kind: Any) -> wp.Kernel:
    """Numbers of springs to the entries of rows."""

    @wp.kernel(module="unique", enable_backward=False)
    def lay(springs: wp.array[wp.int32], values: wp.array[kind], entries_out: wp.array[kind]):
        entry = wp.tid()
        if springs[entry] >= 0:
            entries_out[entry] = values[springs[entry]]

    return lay
