"""The way back: a stretch of kept states reversed, by a team of CPU threads or by a launch a step on CUDA.

A reverse step of a mass sums over its springs at the state before the step, which completes the bars there, and then
does what the step before needs of this mass alone. One pass a step suffices: what neighbours read, the rates by the
forces, lies in two buffers that take turns.
"""

import functools

import warp as wp

from annelid.core.launch import team_barrier, team_range
from annelid.springs.adjoint.kernels.gather import Way, thread_back, vector_back
from annelid.springs.adjoint.kernels.ledger import ledger_of
from annelid.springs.adjoint.kernels.own import own_back
from annelid.springs.kernels.gather import WIDTH
from annelid.springs.kernels.layout import layout
from annelid.springs.kernels.program import Features, mass_world

wp.set_module_options({"enable_backward": False})


@functools.cache
def _seeded(features: Features) -> wp.Function:
    """A bar with what the loss adds at the state after so many steps, where it looks there."""
    vec3 = layout(features.real).vec3

    @wp.func
    def seeded(bar: vec3, i: int, after: int, rows: wp.array[wp.int32], seeds: wp.array2d[vec3]) -> vec3:
        row = rows[after]
        if row >= 0:
            bar = bar + seeds[row, i]
        return bar

    return seeded


@functools.cache
def _chunk(features: Features) -> wp.Function:
    """Sum of the rates by the factor of a signal over some of its springs, for one step and world."""
    types = layout(features.real)
    real, Ledger = types.real, ledger_of(types)

    @wp.func
    def add_up(item: int, step: int, ledger: Ledger):
        count = ledger.chunks.shape[0]
        world = item // count
        chunk = ledger.chunks[item - world * count]
        total = real(0.0)
        for member in range(chunk[1], chunk[2]):
            total += ledger.by_factor[step % 2, ledger.members[world, member]]
        ledger.by_chunk[step, item] = total

    return add_up


@functools.cache
def team_back(features: Features, way: Way) -> wp.Kernel:
    """A stretch run back by a team of CPU threads, which meet after each step."""
    types = layout(features.real)
    real, vec3, vec4 = types.real, types.vec3, types.vec4
    Arrays, Work, Ledger = types.Arrays, types.Work, ledger_of(types)
    gather, own, seeded, add_up = (
        vector_back(types, way),
        own_back(features, way.own),
        _seeded(features),
        _chunk(features),
    )
    rated, factors = way.own, way.factors

    @wp.kernel(module="unique", enable_backward=False)
    def run_back(
        rank: int,
        size: int,
        counter: wp.array[wp.int32],
        steps: int,
        ends: int,  # whether the motion ends with this stretch: its last state may be looked at
        rows: wp.array[wp.int32],
        first: wp.array[wp.int32],
        position_seeds: wp.array2d[vec3],
        velocity_seeds: wp.array2d[vec3],
        model: Arrays,
        work: Work,
        xs: wp.array2d[vec4],
        vs: wp.array2d[vec3],
        ledger: Ledger,
    ):
        share = team_range(rank, size, (model.mass_count + wp.static(WIDTH - 1)) // wp.static(WIDTH), 8)
        begin = share[0] * wp.static(WIDTH)
        end = wp.min(share[1] * wp.static(WIDTH), model.mass_count)
        chunks = team_range(rank, size, ledger.by_chunk.shape[1], 8)
        start = first[0]
        ticket = int(1)
        last = steps - 1
        for i in range(begin, end):
            x_bar = ledger.position_bars[i]
            v_bar = ledger.velocity_bars[i]
            if ends == 1:
                x_bar = seeded(x_bar, i, start + steps, rows, position_seeds)
                v_bar = seeded(v_bar, i, start + steps, rows, velocity_seeds)
            own(
                i, last, model, work, x_bar, v_bar, xs[last, i], vs[last, i], vs[steps, i], xs[last], vs[last],
                ledger, ledger.pulls[last % 2],
            )  # fmt: skip
        team_barrier(counter, size, ticket)
        for turned in range(steps):
            step = last - turned
            before = wp.max(step - 1, 0)
            x_at = xs[step]
            v_at = vs[step]
            x_before = xs[before]
            v_before = vs[before]
            pulls = ledger.pulls[step % 2]
            pulls_before = ledger.pulls[(step + 1) % 2]
            by_factor = ledger.by_factor[step % 2]
            factor_base = step * model.signal_count * model.world_count
            for group in range(share[0], share[1]):
                gather(
                    group, model.mass_count, model.row_of, model.rows, model.offsets, model.elastic, model.damping,
                    model.signals, work.factors, factor_base, model.signal_count, model.masses_a_world,
                    ledger.first_places, x_at, v_at, pulls, ledger.position_sums, ledger.velocity_sums,
                    ledger.efforts, ledger.by_stiffness, ledger.by_tension, ledger.by_damping, by_factor,
                )  # fmt: skip
                lowest = group * wp.static(WIDTH)
                for i in range(lowest, wp.min(lowest + wp.static(WIDTH), model.mass_count)):
                    x_bar = ledger.position_bars[i] - ledger.position_sums[i]
                    v_bar = ledger.velocity_bars[i] - ledger.velocity_sums[i]
                    x_bar = seeded(x_bar, i, start + step, rows, position_seeds)
                    v_bar = seeded(v_bar, i, start + step, rows, velocity_seeds)
                    if wp.static(rated):
                        if x_at[i][3] > real(0.0):
                            ledger.by_inverse_mass[i] = ledger.by_inverse_mass[i] + ledger.efforts[i] / x_at[i][3]
                    if step > 0:
                        own(
                            i, before, model, work, x_bar, v_bar, x_before[i], v_before[i], v_at[i], x_before,
                            v_before, ledger, pulls_before,
                        )  # fmt: skip
                    else:
                        ledger.position_bars[i] = x_bar
                        ledger.velocity_bars[i] = v_bar
            if wp.static(factors):
                if step < last:
                    for item in range(chunks[0], chunks[1]):
                        add_up(item, step + 1, ledger)
            ticket += 1
            team_barrier(counter, size, ticket)
        if wp.static(factors):
            for item in range(chunks[0], chunks[1]):
                add_up(item, 0, ledger)

    return run_back


@functools.cache
def begin_back(features: Features, rated: bool) -> wp.Kernel:
    """What the last step of a stretch needs of each mass alone (CUDA)."""
    types = layout(features.real)
    vec3, vec4 = types.vec3, types.vec4
    Arrays, Work, Ledger = types.Arrays, types.Work, ledger_of(types)
    own, seeded = own_back(features, rated), _seeded(features)

    @wp.kernel(module="unique", enable_backward=False)
    def begin(
        steps: int,
        ends: int,
        rows: wp.array[wp.int32],
        first: wp.array[wp.int32],
        position_seeds: wp.array2d[vec3],
        velocity_seeds: wp.array2d[vec3],
        model: Arrays,
        work: Work,
        x_before: wp.array[vec4],
        v_before: wp.array[vec3],
        v_at: wp.array[vec3],
        ledger: Ledger,
    ):
        i = wp.tid()
        x_bar = ledger.position_bars[i]
        v_bar = ledger.velocity_bars[i]
        if ends == 1:
            x_bar = seeded(x_bar, i, first[0] + steps, rows, position_seeds)
            v_bar = seeded(v_bar, i, first[0] + steps, rows, velocity_seeds)
        own(
            i, steps - 1, model, work, x_bar, v_bar, x_before[i], v_before[i], v_at[i], x_before, v_before,
            ledger, ledger.pulls[(steps - 1) % 2],
        )  # fmt: skip

    return begin


@functools.cache
def step_back(features: Features, way: Way, lanes: int) -> wp.Kernel:
    """One step run back, `lanes` threads a mass (CUDA).

    Threads beyond those of masses sum the rates by factors of the step that was run back before, where these are asked
    for: a launch of its own would cost more.
    """
    types = layout(features.real)
    real, vec3, vec4 = types.real, types.vec3, types.vec4
    Arrays, Work, Ledger = types.Arrays, types.Work, ledger_of(types)
    sums = thread_back(types, way, lanes)
    own, seeded, add_up = own_back(features, way.own), _seeded(features), _chunk(features)
    rated, factors, world_of = way.own, way.factors, mass_world(features)

    @wp.kernel(module="unique", enable_backward=False, grid_stride=False)
    def run_step_back(
        step: int,
        threads: int,  # of masses, whole blocks
        rows: wp.array[wp.int32],
        first: wp.array[wp.int32],
        position_seeds: wp.array2d[vec3],
        velocity_seeds: wp.array2d[vec3],
        model: Arrays,
        work: Work,
        x_before: wp.array[vec4],
        v_before: wp.array[vec3],
        x_at: wp.array[vec4],
        v_at: wp.array[vec3],
        ledger: Ledger,
    ):
        thread = wp.tid()
        if wp.static(factors):
            if thread >= threads:
                if thread - threads < ledger.by_chunk.shape[1]:
                    add_up(thread - threads, step + 1, ledger)
                return
        i = thread // wp.static(lanes)
        lane = thread - i * wp.static(lanes)
        mass = wp.min(i, model.mass_count - 1)  # lanes beyond the last mass still take part in the warp's sums
        factor_base = step * model.signal_count * model.world_count + world_of(mass, model) * model.signal_count
        if i >= model.mass_count:
            lane = 1 << 20  # but have no springs
        found = sums(mass, lane, step % 2, factor_base, model, work, ledger, ledger.pulls[step % 2], x_at, v_at)
        if lane == 0:
            x_bar = ledger.position_bars[i] - vec3(found[0, 0], found[0, 1], found[0, 2])
            v_bar = ledger.velocity_bars[i] - vec3(found[1, 0], found[1, 1], found[1, 2])
            x_bar = seeded(x_bar, i, first[0] + step, rows, position_seeds)
            v_bar = seeded(v_bar, i, first[0] + step, rows, velocity_seeds)
            if wp.static(rated):
                if x_at[i][3] > real(0.0):
                    ledger.by_inverse_mass[i] = ledger.by_inverse_mass[i] + found[2, 0] / x_at[i][3]
            if step > 0:
                own(
                    i, step - 1, model, work, x_bar, v_bar, x_before[i], v_before[i], v_at[i], x_before, v_before,
                    ledger, ledger.pulls[(step + 1) % 2],
                )  # fmt: skip
            else:
                ledger.position_bars[i] = x_bar
                ledger.velocity_bars[i] = v_bar

    return run_step_back


@functools.cache
def chunk_kernel(features: Features) -> wp.Kernel:
    """The sums of rates by factors of the first step of a stretch (CUDA)."""
    Ledger, add_up = ledger_of(layout(features.real)), _chunk(features)

    @wp.kernel(module="unique", enable_backward=False)
    def add_first(ledger: Ledger):
        add_up(wp.tid(), 0, ledger)

    return add_first
