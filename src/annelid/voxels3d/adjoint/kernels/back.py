"""The way back: rates by the state after a step become rates by the state before it.

A reverse step is two passes: voxels, which need no neighbour, hand rates on to the forces on them; links hand these on
to both of their ends. Nothing is scattered: a link leaves what it owes its far end at a place of its own.
"""

from typing import Any

import warp as wp

from annelid.core.kernels.loading import once
from annelid.voxels3d.adjoint.kernels.course import COMMANDED, WAVING, course_of, ledger_of, sight_of
from annelid.voxels3d.adjoint.kernels.linked import linked_pass
from annelid.voxels3d.adjoint.kernels.there import size_at, wave_of
from annelid.voxels3d.adjoint.kernels.touching import GROWS, depth_of, response_of, rub_of
from annelid.voxels3d.kernels.layout import layout
from annelid.voxels3d.kernels.program import BLOCK, FUSED, block_barrier

wp.set_module_options({"enable_backward": False})


@once
def _spun_back(real: Any) -> wp.Function:
    """Rates by the angle of a step, a vector, from those by turns after it; its transposed left Jacobian."""
    vec3 = layout(real).vec3

    @wp.func
    def jacobian(angle: vec3, by_turn: vec3) -> vec3:
        square = wp.dot(angle, angle)
        first = real(0.5) - square * (
            real(wp.static(1.0 / 24.0))
            - square * (real(wp.static(1.0 / 720.0)) - square * real(wp.static(1.0 / 40320.0)))
        )
        second = real(wp.static(1.0 / 6.0)) - square * (
            real(wp.static(1.0 / 120.0))
            - square * (real(wp.static(1.0 / 5040.0)) - square * real(wp.static(1.0 / 362880.0)))
        )
        if square > real(0.09):
            size = wp.sqrt(square)
            first = (real(1.0) - wp.cos(size)) / square
            second = (size - wp.sin(size)) / (square * size)
        across = wp.cross(angle, by_turn)
        return by_turn - first * across + second * wp.cross(angle, across)

    return jacobian


@once
def _rubbed_back(real: Any) -> wp.Function:
    """Through friction and push of the planes: rates by the velocity before the step, by the place and by the size."""
    types = layout(real)
    vec3, Voxel, Tables, Ledger = types.vec3, types.Voxel, types.Tables, ledger_of(real)
    depth, response, rub = depth_of(real), response_of(real), rub_of(real)

    @wp.func
    def touched(i: int, voxel: Voxel, u: vec3, v: vec3, head: vec3, given: vec3, dt: real, tables: Tables,
                ledger: Ledger) -> vec3:  # fmt: skip
        """Rates by the velocity that the voxel would have without friction; adds to those by place, size and speed."""
        by_head = vec3(given)
        size = ledger.sizes[i]
        for back in range(tables.obstacles.shape[0]):
            k = tables.obstacles.shape[0] - 1 - back
            deep = depth(i, k, size, u, tables)
            law = response(k, voxel, dt, tables)
            most = law[1] * deep
            if most > real(0.0):
                n = vec3(tables.obstacles[k].geometry.size)
                before = rub(i, k, voxel, size, u, head, dt, tables)
                t = before - wp.dot(before, n) * n
                square = wp.dot(t, t)
                per = real(1.0) / wp.sqrt(square + most * most)
                along = wp.dot(by_head, t)
                by_t = (along * most * per * per * per) * t - (most * per) * by_head
                by_head += by_t - wp.dot(by_t, n) * n
                by_most = -along * square * per * per * per
                by_depth = by_most * law[1]
                if ledger.by_links.shape[0] > 0 and tables.obstacles[k].press < real(0.0):
                    ledger.by_moduli[i] = ledger.by_moduli[i] + by_most * most
                ledger.u_bars[i] = ledger.u_bars[i] - by_depth * n
                ledger.size_bars[i] = ledger.size_bars[i] + real(0.5) * voxel.side * by_depth
        by_force = (voxel.per_mass * dt) * by_head
        for k in range(tables.obstacles.shape[0]):
            deep = depth(i, k, size, u, tables)
            if deep > real(0.0):
                n = vec3(tables.obstacles[k].geometry.size)
                by_push = wp.dot(by_force, n)
                soft = real(wp.static(GROWS)) * voxel.side
                per = real(1.0) / (deep + soft)
                damp = voxel.press_damp * per
                stiff = response(k, voxel, dt, tables)[0]
                by_depth = by_push * (stiff - damp * soft * per * wp.dot(v, n))
                if ledger.by_links.shape[0] > 0:
                    by_modulus = real(-0.5) * damp * deep * wp.dot(v, n)
                    if tables.obstacles[k].press < real(0.0):
                        by_modulus += stiff * deep
                    ledger.by_moduli[i] = ledger.by_moduli[i] + by_push * by_modulus
                ledger.v_bars[i] = ledger.v_bars[i] - (damp * deep * by_push) * n
                ledger.u_bars[i] = ledger.u_bars[i] - by_depth * n
                ledger.size_bars[i] = ledger.size_bars[i] + real(0.5) * voxel.side * by_depth
        return by_head

    return touched


@once
def _stretch(real: Any) -> wp.Function:
    """Some steps of a world back, by a lane of those that share it."""
    types = layout(real)
    vec3, Tables, Motion = types.vec3, types.Tables, types.Motion
    Course, Ledger, Sight = course_of(real), ledger_of(real), sight_of(real)
    linked, size_of, wave_at = linked_pass(real), size_at(real), wave_of(real)
    jacobian, touched = _spun_back(real), _rubbed_back(real)

    @wp.func
    def gather(low: int, high: int, stride: int, begun: wp.int64, step: int, tables: Tables, course: Course,
               ledger: Ledger):  # fmt: skip
        """Add what the links of a step owe to the rates by the state before it, and book rates by sizes in it."""
        for number in range(low, high, stride):
            i = wp.max(number, 0)
            by_u, by_q = ledger.u_bars[i] + ledger.own[0, i], ledger.q_bars[i] + ledger.own[1, i]
            by_v, by_w = ledger.v_bars[i] + ledger.own[2, i], ledger.w_bars[i] + ledger.own[3, i]
            by_size = ledger.size_bars[i] + ledger.own_sizes[i]
            for axis in range(3):
                slot = 3 * wp.max(tables.before[3 * i + axis], 0) + axis
                by_u += ledger.ends[0, slot]
                by_q += ledger.ends[1, slot]
                by_v += ledger.ends[2, slot]
                by_w += ledger.ends[3, slot]
                by_size += ledger.end_sizes[slot]
            ledger.u_bars[i] = by_u
            ledger.q_bars[i] = by_q
            ledger.v_bars[i] = by_v
            ledger.w_bars[i] = by_w
            ledger.size_bars[i] = real(0.0)
            wave = course.waves[i]
            if course.drives[i] == wp.static(COMMANDED):
                at = step // course.interval
                ledger.by_table[at, i] = ledger.by_table[at, i] + real(wave[0]) * by_size
                share = wp.float64(by_size * course.table[at, i])
                ledger.by_waves[i] = ledger.by_waves[i] + wp.vec3d(share, wp.float64(0.0), wp.float64(0.0))
            if course.drives[i] == wp.static(WAVING):
                time = wp.float64(begun + wp.int64(step)) * tables.dt
                part = wave_at(time, wave, tables.crests[i])
                by_turns = wp.float64(by_size * part[1]) * wave[0]
                rates = wp.vec3d(wp.float64(by_size * part[0]), by_turns * time, by_turns)
                ledger.by_waves[i] = ledger.by_waves[i] + rates

    @wp.func
    def unmove(low: int, high: int, stride: int, world: int, begun: wp.int64, row: int, step: int, tables: Tables,
               course: Course, sight: Sight, ledger: Ledger):  # fmt: skip
        """From rates by the state after a step to those by the state before it and by forces and moments in it."""
        for number in range(low, high, stride):
            i = wp.max(number, 0)
            voxel = tables.voxels[tables.row_of_voxel[i]]
            dt = real(tables.dt)
            by_u, by_v = vec3(ledger.u_bars[i]), vec3(ledger.v_bars[i])
            seen = sight.rows[step + 1]
            if seen >= 0:
                by_u += sight.position_seeds[seen, i]
                by_v += sight.velocity_seeds[seen, i]
            if tables.pushed == 1 and tables.ties[i] >= 0:  # held: the state after a step depends on nothing
                by_u, by_v = vec3(), vec3()
                ledger.q_bars[i] = vec3()
                ledger.w_bars[i] = vec3()
            by_v += dt * by_u
            ledger.u_bars[i] = by_u
            angle = course.ws[row + 1, i] * dt
            by_turn = ledger.q_bars[i]
            by_w = ledger.w_bars[i] + dt * jacobian(angle, by_turn)
            half = course.qs[row + 1, i] * wp.quat_inverse(course.qs[row, i])
            ledger.q_bars[i] = wp.quat_rotate_inv(half, by_turn)
            by_moment = (voxel.per_inertia * dt) * by_w
            ledger.moment_bars[i] = by_moment
            if ledger.by_links.shape[0] > 0:
                braked = voxel.spin_drag * wp.dot(course.ws[row, i], by_moment)
                ledger.by_moduli[i] = ledger.by_moduli[i] - real(0.5) * braked
            ledger.w_bars[i] = by_w - voxel.spin_drag * by_moment
            ledger.sizes[i] = size_of(i, step, begun, tables, course)
            ledger.v_bars[i] = vec3()
            if tables.obstacles.shape[0] > 0:
                u, v = course.us[row, i], course.vs[row, i]
                by_v = touched(i, voxel, u, v, course.heads[row, i], by_v, dt, tables, ledger)
            by_force = (voxel.per_mass * dt) * by_v
            ledger.force_bars[i] = by_force
            if ledger.by_links.shape[0] > 0:
                braked = voxel.drag * wp.dot(course.vs[row, i], by_force)
                ledger.by_moduli[i] = ledger.by_moduli[i] - real(0.5) * braked
            ledger.v_bars[i] = ledger.v_bars[i] + by_v - voxel.drag * by_force
            ledger.by_gravity[i] = ledger.by_gravity[i] + voxel.mass * by_force

    @wp.func
    def stretch(low: int, high: int, stride: int, world: int, row: int, first: int, steps: int, tables: Tables,
                motion: Motion, course: Course, sight: Sight, ledger: Ledger):  # fmt: skip
        begun = motion.clock[0] - motion.origins[world]
        for done in range(steps):
            step = steps - 1 - done
            unmove(low, high, stride, world, begun, row + step, first + step, tables, course, sight, ledger)
            block_barrier()
            linked(low, high, stride, row + step, tables, course, ledger)
            block_barrier()
            gather(low, high, stride, begun, first + step, tables, course, ledger)

    return stretch


@once
def back_team(real: Any) -> wp.Kernel:
    """A stretch back on a team of CPU threads, to which worlds are dealt; see `there.there_team`."""
    types = layout(real)
    Tables, Motion = types.Tables, types.Motion
    Course, Ledger, Sight = course_of(real), ledger_of(real), sight_of(real)
    stretch = _stretch(real)

    @wp.kernel(module="unique", enable_backward=False, module_options=FUSED)
    def team(
        rank: int,
        size: int,
        counter: wp.array[wp.int32],
        row: int,
        first: int,
        steps: int,
        tables: Tables,
        motion: Motion,
        course: Course,
        sight: Sight,
        ledger: Ledger,
    ):
        for world in range(rank, tables.begins.shape[0] - 1, size):
            low, high = tables.begins[world], tables.begins[world + 1]
            stretch(low, high, 1, world, row, first, steps, tables, motion, course, sight, ledger)

    return team


@once
def back_blocks(real: Any) -> wp.Kernel:
    """A stretch back on CUDA, a block of `width` threads for each world."""
    types = layout(real)
    Tables, Motion = types.Tables, types.Motion
    Course, Ledger, Sight = course_of(real), ledger_of(real), sight_of(real)
    stretch = _stretch(real)

    @wp.kernel(module="unique", enable_backward=False, grid_stride=False, launch_bounds=BLOCK)
    def blocks(
        width: int,
        row: int,
        first: int,
        steps: int,
        tables: Tables,
        motion: Motion,
        course: Course,
        sight: Sight,
        ledger: Ledger,
    ):
        world = wp.tid() // width
        lane = wp.tid() - world * width
        low, high = tables.begins[world], tables.begins[world + 1]
        stretch(low + lane, high, width, world, row, first, steps, tables, motion, course, sight, ledger)

    return blocks
