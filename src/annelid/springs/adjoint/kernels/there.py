"""The way there: steps of the solver whose states are kept, factors of signals, checkpoints and looks.

Where a motion stands is four numbers on the device, so that launches can be recorded: see `PLACE`.
"""

from typing import Any

import warp as wp

from annelid.core.kernels.loading import once
from annelid.core.launch import team_barrier, team_range
from annelid.springs.kernels.commands import command_signal
from annelid.springs.kernels.gather import WIDTH
from annelid.springs.kernels.layout import Layout, layout, make_struct
from annelid.springs.kernels.program import Features
from annelid.springs.kernels.signals import value_at
from annelid.springs.kernels.team import in_order

wp.set_module_options({"enable_backward": False})

PLACE = FIRST, NUMBER, FRESH, ENDS = 0, 1, 2, 3
"""Steps before the stretch, its number, whether it is run for the first time, and whether the motion ends with it."""


@once
def course_of(types: Layout) -> Any:
    """The structure that holds what a motion reads and writes besides model, workspace and rates."""
    bits = 32 if types.real is wp.float32 else 64
    return make_struct(
        f"SpringCourse{bits}",
        inverse_masses=wp.array[types.real],
        saved_positions=wp.array2d[types.vec3],  # checkpoints
        saved_velocities=wp.array2d[types.vec3],
        xs=wp.array2d[types.vec4],  # states of a stretch
        vs=wp.array2d[types.vec3],
        positions=wp.array2d[types.vec3],  # what is looked at
        velocities=wp.array2d[types.vec3],
        signals=wp.array2d[wp.vec4d],  # parameters of signals of each world
        table=wp.array3d[wp.float64],  # commands of worlds, intervals and controls; empty where they are held
        interval=wp.int32,  # steps of an interval
    )


@once
def sight_of(types: Layout) -> Any:
    """The structure that says where a motion stands and what the loss sees of it."""
    bits = 32 if types.real is wp.float32 else 64
    return make_struct(
        f"SpringSight{bits}",
        place=wp.array[wp.int32],  # where the motion stands: see `PLACE`
        rows=wp.array[wp.int32],  # place among the looks of the state after so many steps, -1 for none
        position_seeds=wp.array2d[types.vec3],  # rates of the loss by what is looked at
        velocity_seeds=wp.array2d[types.vec3],
    )


@once
def _load(types: Layout) -> wp.Function:
    """A mass of a checkpoint to the row of the first state."""
    vec4, Sight, Course = types.vec4, sight_of(types), course_of(types)

    @wp.func
    def load(i: int, row: int, sight: Sight, course: Course):
        number = sight.place[wp.static(NUMBER)]
        here = course.saved_positions[number, i]
        course.xs[row, i] = vec4(here[0], here[1], here[2], course.inverse_masses[i])
        course.vs[row, i] = course.saved_velocities[number, i]

    return load


@once
def _save(types: Layout) -> wp.Function:
    """A mass of a row to the next checkpoint."""
    vec3, Sight, Course = types.vec3, sight_of(types), course_of(types)

    @wp.func
    def save(i: int, row: int, sight: Sight, course: Course):
        number = sight.place[wp.static(NUMBER)] + 1
        here = course.xs[row, i]
        course.saved_positions[number, i] = vec3(here[0], here[1], here[2])
        course.saved_velocities[number, i] = course.vs[row, i]

    return save


@once
def _look(types: Layout) -> wp.Function:
    """A mass of a row to its place among the looks, if the state is looked at."""
    vec3, Sight, Course = types.vec3, sight_of(types), course_of(types)

    @wp.func
    def look(i: int, row: int, sight: Sight, course: Course):
        seen = sight.rows[sight.place[wp.static(FIRST)] + row]
        if seen >= 0:
            here = course.xs[row, i]
            course.positions[seen, i] = vec3(here[0], here[1], here[2])
            course.velocities[seen, i] = course.vs[row, i]

    return look


@once
def _factor(features: Features) -> wp.Function:
    """The factor of a signal in a step of a stretch: commands come from a table, where there is one."""
    types = layout(features.real)
    real, Arrays, Work = types.real, types.Arrays, types.Work
    Sight, Course = sight_of(types), course_of(types)
    evaluate, functions, worlds = value_at(types, features.signals, features.worlds), features.signals, features.worlds
    commanded = 1 + functions.index(command_signal) if command_signal in functions else 0

    @wp.func
    def factor(step: int, item: int, model: Arrays, work: Work, sight: Sight, course: Course):
        world = int(0)
        if wp.static(worlds):
            world = item // model.signal_count
        signal = item - world * model.signal_count
        kind = model.signal_kinds[signal]
        numbers = course.signals[world, signal]
        value = wp.float64(1.0)
        tabled = bool(False)
        if wp.static(commanded > 0):
            if kind == wp.static(commanded) and course.table.shape[1] > 0:
                tabled = True
                at = (sight.place[wp.static(FIRST)] + step) // course.interval
                value = course.table[world, at, int(numbers[0])]
        if not tabled:
            value = evaluate(kind, world, wp.float64(work.clock[0]) + wp.float64(step), numbers, model, work)
        work.factors[step * model.signal_count * model.world_count + item] = real(value)

    return factor


@once
def stretch_kernel(features: Features) -> wp.Kernel:
    """A stretch from its checkpoint by a team of CPU threads; state t is row t."""
    types = layout(features.real)
    Arrays, Work, Sight, Course = types.Arrays, types.Work, sight_of(types), course_of(types)
    one_step, load, save, look = in_order(features, features.passes), _load(types), _save(types), _look(types)
    factor, actuated = _factor(features), features.actuated

    @wp.kernel(module="unique", enable_backward=False)
    def run_stretch(
        rank: int,
        size: int,
        counter: wp.array[wp.int32],
        steps: int,
        model: Arrays,
        work: Work,
        sight: Sight,
        course: Course,
    ):
        share = team_range(rank, size, (model.mass_count + wp.static(WIDTH - 1)) // wp.static(WIDTH), 8)
        low = share[0] * wp.static(WIDTH)
        high = wp.min(share[1] * wp.static(WIDTH), model.mass_count)
        for i in range(low, high):
            load(i, 0, sight, course)
        if wp.static(actuated):
            width = model.signal_count * model.world_count
            mine = team_range(rank, size, steps * width, 64)
            for item in range(mine[0], mine[1]):
                step = item // width
                factor(step, item - step * width, model, work, sight, course)
        ticket = int(1)
        team_barrier(counter, size, ticket)
        begin = work.clock[0]
        fresh = sight.place[wp.static(FRESH)] == 1
        for step in range(steps):
            x = course.xs[step]
            v = course.vs[step]
            x_after = course.xs[step + 1]
            v_after = course.vs[step + 1]
            ticket = one_step(rank, size, counter, ticket, share, begin, step, model, work, x, v, x_after, v_after)
            if fresh:
                for i in range(low, high):
                    look(i, step + 1, sight, course)
        if fresh and sight.place[wp.static(ENDS)] == 0:
            for i in range(low, high):
                save(i, steps, sight, course)

    return run_stretch


@once
def load_kernel(types: Layout) -> wp.Kernel:
    """A checkpoint to the row of the first state (CUDA)."""
    load, Sight, Course = _load(types), sight_of(types), course_of(types)

    @wp.kernel(module="unique", enable_backward=False)
    def load_all(row: int, sight: Sight, course: Course):
        load(wp.tid(), row, sight, course)

    return load_all


@once
def keep_kernel(types: Layout) -> wp.Kernel:
    """What a stretch that is run for the first time leaves: looks, and the next checkpoint (CUDA)."""
    look, save, Sight, Course = _look(types), _save(types), sight_of(types), course_of(types)

    @wp.kernel(module="unique", enable_backward=False)
    def keep(first: int, steps: int, sight: Sight, course: Course):
        turn, i = wp.tid()
        look(i, first + turn, sight, course)
        if first + turn == steps and sight.place[wp.static(ENDS)] == 0:
            save(i, steps, sight, course)

    return keep


@once
def factor_kernel(features: Features) -> wp.Kernel:
    """Factors of all signals in all steps of a stretch (CUDA)."""
    types = layout(features.real)
    factor, Arrays, Work = _factor(features), types.Arrays, types.Work
    Sight, Course = sight_of(types), course_of(types)

    @wp.kernel(module="unique", enable_backward=False)
    def fill_factors(model: Arrays, work: Work, sight: Sight, course: Course):
        step, item = wp.tid()
        factor(step, item, model, work, sight, course)

    return fill_factors


@once
def lay_kernel(kind: Any) -> wp.Kernel:
    """Numbers of springs to the entries of rows."""

    @wp.kernel(module="unique", enable_backward=False)
    def lay(springs: wp.array[wp.int32], values: wp.array[kind], entries_out: wp.array[kind]):
        entry = wp.tid()
        if springs[entry] >= 0:
            entries_out[entry] = values[springs[entry]]

    return lay
