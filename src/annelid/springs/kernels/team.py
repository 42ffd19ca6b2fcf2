"""Many steps in one launch of a team of CPU threads, for one combination of features: see `program`."""

import warp as wp

from annelid.core.kernels.loading import once
from annelid.core.launch import team_barrier, team_range
from annelid.springs.kernels.bodies import bodies_team
from annelid.springs.kernels.collisions import contact_force, remember
from annelid.springs.kernels.contact_lists import first_slot, refresh_team, slot_of_mass, tidy, watch
from annelid.springs.kernels.gather import WIDTH, vector_gather
from annelid.springs.kernels.layout import layout
from annelid.springs.kernels.motors import drive_team, motor_force
from annelid.springs.kernels.parameters import derive_world
from annelid.springs.kernels.passes import GATHERLESS, buffers_of, time_shift
from annelid.springs.kernels.program import Features, mass_world, update_of
from annelid.springs.kernels.resisting import measure_team

wp.set_module_options({"enable_backward": False})


@once
def team_kernel(features: Features) -> wp.Kernel:
    """Many steps by a team of CPU threads, which meet after each pass."""
    types = layout(features.real)
    real, vec3, vec4, Arrays, Work = types.real, types.vec3, types.vec4, types.Arrays, types.Work
    evaluate, per_step = features.signal_at(), features.signal_rows_per_step
    one_step = _substepped(features) if features.substeps > 1 else in_order(features, features.passes)
    tidy_slot, colliding, derive = tidy(types), features.colliding, derive_world(types, features.shaped)

    @wp.kernel(module="unique", enable_backward=False)
    def run_team(
        rank: int,
        size: int,
        counter: wp.array[wp.int32],
        steps: int,
        model: Arrays,
        work: Work,
        xa: wp.array[vec4],
        va: wp.array[vec3],
        xb: wp.array[vec4],
        vb: wp.array[vec3],
    ):
        share = team_range(rank, size, (model.mass_count + wp.static(WIDTH - 1)) // wp.static(WIDTH), 8)
        ticket = int(0)
        begin = work.clock[0]
        if wp.static(features.varied):
            worlds = team_range(rank, size, model.world_count, 1)
            for world in range(worlds[0], worlds[1]):
                derive(world, model, work)
        if wp.static(features.varied and not features.actuated):
            ticket += 1
            team_barrier(counter, size, ticket)
        if wp.static(features.actuated):
            rows = steps * wp.static(per_step) + 1
            width = model.signal_count * model.world_count
            mine = team_range(rank, size, rows * width, 64)
            for item in range(mine[0], mine[1]):
                row = item // width
                moment = wp.float64(begin) + wp.float64(row) / wp.float64(wp.static(per_step))
                work.factors[item] = real(evaluate(item - row * width, moment, model, work))
            ticket += 1
            team_barrier(counter, size, ticket)
        if wp.static(colliding):
            slots = team_range(rank, size, work.contacts[0].slot_count, 16)
            for slot in range(slots[0], slots[1]):
                tidy_slot(slot, 1, work.contacts, xa)
            ticket += 1
            team_barrier(counter, size, ticket)
        for step in range(steps):
            odd = step % 2 == 1  # one call, not two, is half of the code to compile
            x, v = wp.where(odd, xb, xa), wp.where(odd, vb, va)
            x_out, v_out = wp.where(odd, xa, xb), wp.where(odd, va, vb)
            ticket = one_step(rank, size, counter, ticket, share, begin, step, model, work, x, v, x_out, v_out)

    return run_team


def _inlined(features: Features) -> bool | None:
    """Keep what is called once a pass apart where masses collide: one large function compiles a third longer."""
    return False if features.colliding else None


@once
def _ready(features: Features, kind: str) -> wp.Function:
    """What a team does before a pass: fresh lists of contacts, areas in sand, torques of motors; the new ticket."""
    types = layout(features.real)
    real, vec3, vec4, Arrays, Work = types.real, types.vec3, types.vec4, types.Arrays, types.Work
    refresh, drive = refresh_team(types), drive_team(types, features.motor_value(), features.steers)
    colliding, driven = features.colliding, bool(features.motors) and kind not in GATHERLESS
    keep, keeping = remember(types), colliding and kind == features.first_forces
    before, stamps, shift = features.stamp(kind) - 1, features.stamps, time_shift(kind)
    measure, resisted = measure_team(types), bool(features.resisted) and kind not in GATHERLESS

    @wp.func(inline=_inlined(features))
    def ready(
        rank: int, size: int, counter: wp.array[wp.int32], ticket: int, begin: wp.int64, step: int,
        model: Arrays, work: Work, x_at: wp.array[vec4], v_at: wp.array[vec3],
    ) -> int:  # fmt: skip
        if wp.static(colliding):
            stamp = step * wp.static(stamps) + wp.static(before)
            ticket = refresh(rank, size, counter, ticket, stamp, work.contacts, x_at)
        if wp.static(keeping):
            slots = team_range(rank, size, work.contacts[0].slot_count, 16)
            for slot in range(slots[0], slots[1]):
                keep(slot, real(model.parameters[0].dt), work.contacts, x_at, v_at)
        if wp.static(keeping and not driven):
            ticket += 1
            team_barrier(counter, size, ticket)
        if wp.static(resisted):
            ticket = measure(rank, size, counter, ticket, model.sand, real(model.parameters[0].dt), x_at, v_at)
        if wp.static(driven):
            moment = wp.float64(begin) + wp.float64(step) + wp.float64(wp.static(shift))
            ticket = drive(rank, size, counter, ticket, moment, model, work, x_at, v_at)
        return ticket

    return ready


def _sweep(features: Features, kind: str) -> wp.Function:
    """One pass of a team member over its groups of masses."""
    types = layout(features.real)
    real, vec3, vec4, Arrays, Work = types.real, types.vec3, types.vec4, types.Arrays, types.Work
    gather = vector_gather(types, features.springs(kind))
    update = update_of(features, kind)
    needs_forces = kind not in GATHERLESS
    touched, driven, look = contact_force(types), motor_force(types), watch(types)
    slot_of, slot_from, colliding = slot_of_mass(types), first_slot(types), features.colliding
    meets, turns = (kind != "inner" and feature for feature in (colliding, bool(features.motors)))
    stamp, stamps = features.stamp(kind), features.stamps
    per_step, shift = features.signal_rows_per_step, int(time_shift(kind) * features.signal_rows_per_step)
    varied, world_of = features.varied, mass_world(features)

    @wp.func(inline=_inlined(features))
    def sweep(
        share: wp.vec2i,
        begin: wp.int64,
        step: int,
        model: Arrays,
        work: Work,
        x_base: wp.array[vec4],
        v_base: wp.array[vec3],
        x_at: wp.array[vec4],
        v_at: wp.array[vec3],
        x_out: wp.array[vec4],
        v_out: wp.array[vec3],
    ):
        factor_base = (step * wp.static(per_step) + wp.static(shift)) * model.signal_count * model.world_count
        parameters = model.parameters[0]
        now = begin + wp.int64(step)
        pull = vec3()
        scale = vec4()
        for number in range(share[0], share[1]):
            group = number
            if wp.static(kind == "inner"):
                group = model.fast_groups[number]
            if wp.static(needs_forces):
                gather(
                    group, now, model.mass_count, model.row_of, model.rows, model.fast_counts, model.offsets,
                    model.elastic, model.damping, model.signals, model.limits, work.factors, factor_base,
                    model.signal_count, model.masses_a_world, work.scales, x_at, v_at, parameters.catching,
                    parameters.settling, work.settled, work.broken, work.breaks, work.forces,
                )  # fmt: skip
            first = group * wp.static(WIDTH)
            if wp.static(not (meets or turns)):
                for i in range(first, wp.min(first + wp.static(WIDTH), model.mass_count)):
                    mine = bool(True)
                    if wp.static(kind == "inner"):
                        mine = model.fast_counts[model.row_of[i]] > 0
                    if mine:
                        if wp.static(varied):
                            pull = work.pulls[world_of(i, model)]
                            scale = work.scales[world_of(i, model)]
                        if wp.static(features.own):
                            parameters = model.parameters[world_of(i, model)]
                        update(
                            i, now, model, parameters, work,
                            x_at[i], v_at[i], work.forces[i], pull, scale, x_base[i], v_base[i], x_out, v_out,
                        )  # fmt: skip
                        if wp.static(colliding):
                            slot = slot_of(i, work.contacts)
                            if slot >= 0:
                                look(slot, step * wp.static(stamps) + wp.static(stamp), x_out[i], work.contacts)
        # Loops of their own where masses touch or turn: what is between gathering and updating slows both down.
        if wp.static(meets or turns):
            first = share[0] * wp.static(WIDTH)
            last = wp.min(share[1] * wp.static(WIDTH), model.mass_count)
            slots = wp.vec2i(0, 0)
            if wp.static(meets):
                slots = wp.vec2i(slot_from(first, work.contacts), slot_from(last, work.contacts))
            if wp.static(needs_forces and meets):
                for slot in range(slots[0], slots[1]):
                    i = work.contacts[0].masses[slot]
                    push = touched(slot, real(parameters.dt), work.contacts, x_at, v_at)
                    work.forces[i] = work.forces[i] + push
            if wp.static(needs_forces and turns):
                for i in range(first, last):
                    work.forces[i] = work.forces[i] + driven(i, work.motors, x_at)
            for i in range(first, last):
                if wp.static(varied):
                    pull = work.pulls[world_of(i, model)]
                    scale = work.scales[world_of(i, model)]
                update(
                    i, now, model, parameters, work,
                    x_at[i], v_at[i], work.forces[i], pull, scale, x_base[i], v_base[i], x_out, v_out,
                )  # fmt: skip
            if wp.static(meets):
                for slot in range(slots[0], slots[1]):
                    here = x_out[work.contacts[0].masses[slot]]
                    look(slot, step * wp.static(stamps) + wp.static(stamp), here, work.contacts)

    return sweep


@once
def _buffers(features: Features, place: str) -> tuple[wp.Function, wp.Function]:
    """Functions `(base, out, work) -> array`: positions and velocities at a place that `passes.buffers_of` names."""
    types = layout(features.real)
    vec3, vec4, Work = types.vec3, types.vec4, types.Work

    @wp.func
    def positions(base: wp.array[vec4], out: wp.array[vec4], work: Work) -> wp.array[vec4]:
        if wp.static(place == "base"):
            return base
        elif wp.static(place == "out"):
            return out
        else:
            return work.x_p

    @wp.func
    def velocities(base: wp.array[vec3], out: wp.array[vec3], work: Work) -> wp.array[vec3]:
        if wp.static(place == "base"):
            return base
        elif wp.static(place == "out"):
            return out
        elif wp.static(place == "p"):
            return work.v_p
        else:
            return work.v_q

    return positions, velocities


@once
def one_pass(features: Features, kind: str) -> wp.Function:
    """A function for each member: a pass, with what comes before and after it; the new ticket."""
    types = layout(features.real)
    vec3, vec4, Arrays, Work = types.vec3, types.vec4, types.Arrays, types.Work
    sweep, ready = _sweep(features, kind), _ready(features, kind)
    fly, free = bodies_team(*features.flying), bool(features.free)
    x_from, v_from, x_to, v_to = (_buffers(features, place)[n % 2] for n, place in enumerate(buffers_of(kind)))

    @wp.func
    def go(
        rank: int, size: int, counter: wp.array[wp.int32], ticket: int, share: wp.vec2i,
        begin: wp.int64, step: int, model: Arrays, work: Work,
        x: wp.array[vec4], v: wp.array[vec3], x_out: wp.array[vec4], v_out: wp.array[vec3],
    ) -> int:  # fmt: skip
        x_at = x_from(x, x_out, work)
        v_at = v_from(v, v_out, work)
        ticket = ready(rank, size, counter, ticket, begin, step, model, work, x_at, v_at)
        sweep(share, begin, step, model, work, x, v, x_at, v_at, x_to(x, x_out, work), v_to(v, v_out, work))
        ticket += 1
        team_barrier(counter, size, ticket)
        if wp.static(free):
            ticket = fly(rank, size, counter, ticket, begin + wp.int64(step), model, work)
        return ticket

    return go


def in_order(features: Features, kinds: tuple[str, ...]) -> wp.Function:
    """Passes one after the other."""
    types = layout(features.real)
    vec3, vec4, Arrays, Work = types.vec3, types.vec4, types.Arrays, types.Work
    first, last = one_pass(features, kinds[0]), len(kinds) == 1
    rest = None if last else in_order(features, kinds[1:])

    @wp.func(inline=False)
    def one_step(
        rank: int, size: int, counter: wp.array[wp.int32], ticket: int, share: wp.vec2i,
        begin: wp.int64, step: int, model: Arrays, work: Work,
        x: wp.array[vec4], v: wp.array[vec3], x_out: wp.array[vec4], v_out: wp.array[vec3],
    ) -> int:  # fmt: skip
        ticket = first(rank, size, counter, ticket, share, begin, step, model, work, x, v, x_out, v_out)
        if wp.static(not last):
            ticket = rest(rank, size, counter, ticket, share, begin, step, model, work, x, v, x_out, v_out)
        return ticket

    return one_step


def _substepped(features: Features) -> wp.Function:
    """The slow springs and all else in one step, then the fast springs in many."""
    types = layout(features.real)
    vec3, vec4, Arrays, Work = types.vec3, types.vec4, types.Arrays, types.Work
    outer, inner, pairs = one_pass(features, "outer"), _sweep(features, "inner"), features.substeps // 2

    @wp.func(inline=False)
    def one_step(
        rank: int, size: int, counter: wp.array[wp.int32], ticket: int, share: wp.vec2i,
        begin: wp.int64, step: int, model: Arrays, work: Work,
        x: wp.array[vec4], v: wp.array[vec3], x_out: wp.array[vec4], v_out: wp.array[vec3],
    ) -> int:  # fmt: skip
        ticket = outer(rank, size, counter, ticket, share, begin, step, model, work, x, v, x_out, v_out)
        fast = team_range(rank, size, model.fast_groups.shape[0], 8)
        for pair in range(wp.static(pairs)):
            inner(fast, begin, step, model, work, x, v, x_out, v_out, work.x_p, work.v_p)
            team_barrier(counter, size, ticket + 1 + 2 * pair)
            inner(fast, begin, step, model, work, x, v, work.x_p, work.v_p, x_out, v_out)
            team_barrier(counter, size, ticket + 2 + 2 * pair)
        return ticket + 2 * wp.static(pairs)

    return one_step
