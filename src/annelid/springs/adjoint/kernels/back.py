"""The way back: a stretch of kept states reversed, by a team of CPU threads or by a launch a step on CUDA.

A reverse step of a mass sums over its springs at the state before the step, which completes the bars there, and then
does what the step before needs of this mass alone. One pass a step suffices: what neighbours read, the rates by the
forces, lies in two buffers that take turns.
"""

import warp as wp

from annelid.core.kernels.loading import once
from annelid.core.launch import team_barrier, team_range
from annelid.springs.adjoint.kernels.gather import Way, thread_back, vector_back
from annelid.springs.adjoint.kernels.ledger import ledger_of, shelf_of
from annelid.springs.adjoint.kernels.own import own_back
from annelid.springs.adjoint.kernels.resisting import corners_back
from annelid.springs.adjoint.kernels.signals import Kinds, add_chunk, add_chunk_by_lanes, add_signal
from annelid.springs.adjoint.kernels.there import ENDS, FIRST, course_of, sight_of
from annelid.springs.kernels.gather import WIDTH
from annelid.springs.kernels.layout import Layout, layout
from annelid.springs.kernels.program import Features, mass_world

wp.set_module_options({"enable_backward": False})


@once
def _seeded(types: Layout) -> wp.Function:
    """A bar with what the loss adds to it at a state, which has this row among the looks, or -1."""
    vec3 = types.vec3

    @wp.func
    def seeded(bar: vec3, i: int, row: int, seeds: wp.array2d[vec3]) -> vec3:
        if row >= 0:
            bar = bar + seeds[row, i]
        return bar

    return seeded


@once
def _begin(features: Features, rated: bool) -> wp.Function:
    """What the last step of a stretch needs of mass i alone."""
    types = layout(features.real)
    real, vec3, vec4 = types.real, types.vec3, types.vec4
    Arrays, Work, Sight, Ledger = types.Arrays, types.Work, sight_of(types), ledger_of(types)
    own, seeded, world_of = own_back(features, rated), _seeded(types), mass_world(features)

    @wp.func
    def begin(
        i: int,
        steps: int,
        model: Arrays,
        work: Work,
        sight: Sight,
        x_before: wp.array[vec4],
        v_before: wp.array[vec3],
        v_at: wp.array[vec3],
        ledger: Ledger,
    ):
        last = steps - 1
        row = int(-1)
        if sight.place[wp.static(ENDS)] == 1:  # else it was looked at as the first state of the stretch after this one
            row = sight.rows[sight.place[wp.static(FIRST)] + steps]
        x_bar = seeded(ledger.position_bars[i], i, row, sight.position_seeds)
        v_bar = seeded(ledger.velocity_bars[i], i, row, sight.velocity_seeds)
        parameters = model.parameters[world_of(i, model)]
        own(
            i, last, model, parameters, work, x_bar, v_bar, real(0.0), x_before[i], v_before[i], v_at[i], x_before,
            v_before, ledger, ledger.pulls[last % 2], ledger.speeds[last % 2],
        )  # fmt: skip

    return begin


@once
def _finish(types: Layout, rated: bool) -> wp.Function:
    """Leave the bars of the first state of a stretch."""
    real, vec3, vec4, Ledger = types.real, types.vec3, types.vec4, ledger_of(types)

    @wp.func
    def finish(i: int, x_bar: vec3, v_bar: vec3, effort: real, ledger: Ledger):
        ledger.position_bars[i] = x_bar
        ledger.velocity_bars[i] = v_bar
        if wp.static(rated):
            ledger.by_pull[i] = ledger.by_pull[i] + vec4(real(0.0), real(0.0), real(0.0), effort)

    return finish


@once
def team_back(features: Features, way: Way, kinds: Kinds) -> wp.Kernel:
    """A stretch run back by a team of CPU threads, which meet after each step."""
    types = layout(features.real)
    real, Arrays, Work, Sight, Course = types.real, types.Arrays, types.Work, sight_of(types), course_of(types)
    Ledger, Shelf = ledger_of(types), shelf_of(types)
    gather, begin, own = vector_back(types, way), _begin(features, way.own), own_back(features, way.own)
    seeded, add_up, add_signals = _seeded(types), add_chunk(types), add_signal(features, kinds)
    rated, factors, finish, world_of = way.own, way.factors, _finish(types, way.own), mass_world(features)
    resisted, from_corners = bool(features.resisted), corners_back(types)

    @wp.kernel(module="unique", enable_backward=False)
    def run_back(
        rank: int,
        size: int,
        counter: wp.array[wp.int32],
        steps: int,
        model: Arrays,
        work: Work,
        sight: Sight,
        course: Course,
        ledger: Ledger,
        shelf: Shelf,
    ):
        share = team_range(rank, size, (model.mass_count + wp.static(WIDTH - 1)) // wp.static(WIDTH), 8)
        chunks = team_range(rank, size, ledger.by_chunk.shape[1], 8)
        start = sight.place[wp.static(FIRST)]
        last = steps - 1
        for i in range(share[0] * wp.static(WIDTH), wp.min(share[1] * wp.static(WIDTH), model.mass_count)):
            begin(i, steps, model, work, sight, course.xs[last], course.vs[last], course.vs[steps], ledger)
        ticket = int(1)
        team_barrier(counter, size, ticket)
        for turned in range(steps):
            step = last - turned
            before = wp.max(step - 1, 0)
            x_at = course.xs[step]
            v_at = course.vs[step]
            x_before = course.xs[before]
            v_before = course.vs[before]
            pulls = ledger.pulls[step % 2]
            speeds = ledger.speeds[step % 2]
            pulls_before = ledger.pulls[(step + 1) % 2]
            speeds_before = ledger.speeds[(step + 1) % 2]
            by_factor = ledger.by_factor[step % 2]
            row = sight.rows[start + step]
            factor_base = step * model.signal_count * model.world_count
            for group in range(share[0], share[1]):
                gather(
                    group, model.mass_count, work.factors, factor_base, model.signal_count, model.masses_a_world,
                    ledger.first_places, shelf.first_owned, shelf.offsets, shelf.stiffness, shelf.tensions,
                    shelf.damping, shelf.signals, x_at, pulls, speeds, shelf.position_sums, shelf.velocity_sums,
                    shelf.efforts, ledger.by_stiffness, ledger.by_tension, ledger.by_damping, by_factor,
                )  # fmt: skip
                lowest = group * wp.static(WIDTH)
                for i in range(lowest, wp.min(lowest + wp.static(WIDTH), model.mass_count)):
                    x_bar = ledger.position_bars[i] - shelf.position_sums[i]
                    if wp.static(resisted):
                        x_bar += from_corners(i, model.sand, step % 2, x_at)
                    v_bar = ledger.velocity_bars[i] - shelf.velocity_sums[i]
                    x_bar = seeded(x_bar, i, row, sight.position_seeds)
                    v_bar = seeded(v_bar, i, row, sight.velocity_seeds)
                    effort = real(0.0)
                    if wp.static(rated):
                        effort = shelf.efforts[i]
                    if step > 0:
                        parameters = model.parameters[world_of(i, model)]
                        own(
                            i, before, model, parameters, work, x_bar, v_bar, effort, x_before[i], v_before[i], v_at[i],
                            x_before, v_before, ledger, pulls_before, speeds_before,
                        )  # fmt: skip
                    else:
                        finish(i, x_bar, v_bar, effort, ledger)
            if wp.static(factors):
                if step < last:
                    for item in range(chunks[0], chunks[1]):
                        add_up(item, step + 1, ledger)
            ticket += 1
            team_barrier(counter, size, ticket)
        if wp.static(factors):
            for item in range(chunks[0], chunks[1]):
                add_up(item, 0, ledger)
            team_barrier(counter, size, ticket + 1)
            signals = team_range(rank, size, model.signal_count * model.world_count, 1)
            for item in range(signals[0], signals[1]):
                world = item // model.signal_count
                add_signals(world, item - world * model.signal_count, steps, model, work, sight, course, ledger)

    return run_back


@once
def begin_kernel(features: Features, rated: bool) -> wp.Kernel:
    """What the last step of a stretch needs of each mass alone (CUDA)."""
    types = layout(features.real)
    vec3, vec4 = types.vec3, types.vec4
    Arrays, Work, Sight, Ledger = types.Arrays, types.Work, sight_of(types), ledger_of(types)
    begin = _begin(features, rated)

    @wp.kernel(module="unique", enable_backward=False)
    def begin_back(
        steps: int,
        model: Arrays,
        work: Work,
        sight: Sight,
        x_before: wp.array[vec4],
        v_before: wp.array[vec3],
        v_at: wp.array[vec3],
        ledger: Ledger,
    ):
        begin(wp.tid(), steps, model, work, sight, x_before, v_before, v_at, ledger)

    return begin_back


@once
def step_kernel(features: Features, way: Way, lanes: int, chunk_lanes: int, *, single: bool) -> wp.Kernel:
    """One step run back, `lanes` threads a mass (CUDA).

    Threads beyond those of masses sum the rates by factors of the step that was run back before, where these are asked
    for, `chunk_lanes` for each chunk: a launch of its own would cost more. `single` tells that there is one obstacle.
    """
    types = layout(features.real)
    vec3, vec4 = types.vec3, types.vec4
    Arrays, Work, Sight, Ledger = types.Arrays, types.Work, sight_of(types), ledger_of(types)
    sums, own = thread_back(types, way, lanes), own_back(features, way.own, single)
    seeded, add_up = _seeded(types), add_chunk_by_lanes(types, chunk_lanes)
    factors, world_of, finish = way.factors, mass_world(features), _finish(types, way.own)
    early = lanes > 2  # as on the way there: small bodies wait for memory, large ones would only lose registers

    @wp.kernel(module="unique", enable_backward=False, grid_stride=False)
    def run_step_back(
        step: int,
        threads: int,  # of masses, whole blocks
        model: Arrays,
        work: Work,
        sight: Sight,
        x_before: wp.array[vec4],
        v_before: wp.array[vec3],
        x_at: wp.array[vec4],
        v_at: wp.array[vec3],
        ledger: Ledger,
    ):
        thread = wp.tid()
        if wp.static(factors):
            if thread >= threads:
                add_up(thread - threads, step + 1, ledger)
                return
        i = thread // wp.static(lanes)
        lane = thread - i * wp.static(lanes)
        mass = wp.min(i, model.mass_count - 1)  # lanes beyond the last mass still take part in the warp's sums
        world = world_of(mass, model)
        row = sight.rows[sight.place[wp.static(FIRST)] + step]
        here = vec4()
        v = vec3()
        after = vec3()
        x_bar = vec3()
        v_bar = vec3()
        parameters = model.parameters[world]
        if wp.static(early):
            here = x_before[mass]
            v = v_before[mass]
            after = v_at[mass]
            x_bar = ledger.position_bars[mass]
            v_bar = ledger.velocity_bars[mass]
        factor_base = (step * model.world_count + world) * model.signal_count
        if i >= model.mass_count:
            lane = 1 << 20  # but have no springs
        pulls = ledger.pulls[step % 2]
        speeds = ledger.speeds[step % 2]
        found = sums(mass, lane, step % 2, factor_base, model, work, ledger, pulls, speeds, x_at)
        if lane == 0:
            if wp.static(not early):
                here = x_before[mass]
                v = v_before[mass]
                after = v_at[mass]
                x_bar = ledger.position_bars[mass]
                v_bar = ledger.velocity_bars[mass]
            x_bar = seeded(x_bar - vec3(found[0, 0], found[0, 1], found[0, 2]), i, row, sight.position_seeds)
            v_bar = seeded(v_bar - vec3(found[1, 0], found[1, 1], found[1, 2]), i, row, sight.velocity_seeds)
            if step > 0:
                own(
                    i, step - 1, model, parameters, work, x_bar, v_bar, found[2, 0], here, v, after, x_before, v_before,
                    ledger, ledger.pulls[(step + 1) % 2], ledger.speeds[(step + 1) % 2],
                )  # fmt: skip
            else:
                finish(i, x_bar, v_bar, found[2, 0], ledger)

    return run_step_back


@once
def chunk_kernel(types: Layout, lanes: int) -> wp.Kernel:
    """The sums of rates by factors of the first step of a stretch (CUDA)."""
    Ledger, add_up = ledger_of(types), add_chunk_by_lanes(types, lanes)

    @wp.kernel(module="unique", enable_backward=False, grid_stride=False)
    def add_first(ledger: Ledger):
        add_up(wp.tid(), 0, ledger)

    return add_first
