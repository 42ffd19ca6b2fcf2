"""The way there: steps whose states are kept, with the links of plain simulations and contacts that are smooth."""

from typing import Any

import warp as wp

from annelid.core.kernels.loading import once
from annelid.voxels3d.adjoint.kernels.course import COMMANDED, STILL, course_of
from annelid.voxels3d.adjoint.kernels.touching import push_of, rub_of
from annelid.voxels3d.kernels.layout import layout
from annelid.voxels3d.kernels.links import link_pass
from annelid.voxels3d.kernels.motion import spun
from annelid.voxels3d.kernels.program import BLOCK, FUSED, block_barrier

wp.set_module_options({"enable_backward": False})


@once
def wave_of(real: Any) -> wp.Function:
    """How much of its change of size a voxel's wave gives at a time, and the rate of that by the phase."""
    vec2 = wp.types.vector(length=2, dtype=real)

    @wp.func
    def wave_at(time: wp.float64, wave: wp.vec4d, crest: real) -> vec2:
        turns = wave[1] * time + wave[2]
        turns = turns - wp.floor(turns)  # in float64: in float32 a gait would be spoilt within seconds
        grow = real(1.0)
        if time < wave[3]:
            grow = real(time / wave[3])
        angle = real(6.283185307179586) * real(turns)
        sine = wp.sin(angle)
        if sine >= crest:
            return vec2(grow * crest, real(0.0))
        return vec2(grow * sine, grow * real(6.283185307179586) * wp.cos(angle))

    return wave_at


@once
def size_at(real: Any) -> wp.Function:
    """Size of a voxel in a step of the motion, as a factor."""
    types = layout(real)
    Tables, Course = types.Tables, course_of(real)
    wave_at = wave_of(real)

    @wp.func
    def size(i: int, step: int, begun: wp.int64, tables: Tables, course: Course) -> real:
        if course.drives[i] == wp.static(STILL):
            return tables.bases[i]
        wave = course.waves[i]
        if course.drives[i] == wp.static(COMMANDED):
            return tables.bases[i] + real(wave[0]) * course.table[step // course.interval, i]
        time = wp.float64(begun + wp.int64(step)) * tables.dt
        return tables.bases[i] + real(wave[0]) * wave_at(time, wave, tables.crests[i])[0]

    return size


@once
def _stretch(real: Any) -> wp.Function:
    """Some steps of a world, by a lane of those that share it."""
    types = layout(real)
    vec3, Tables, Motion, Course = types.vec3, types.Tables, types.Motion, course_of(real)
    links_of, turned, size_of, push, rub = link_pass(real), spun(real), size_at(real), push_of(real), rub_of(real)

    @wp.func
    def load(low: int, high: int, stride: int, world: int, row: int, first: int, tables: Tables, motion: Motion,
             course: Course):  # fmt: skip
        begun = motion.clock[0] - motion.origins[world]
        for i in range(low, high, stride):
            motion.displacements[i] = course.us[row, i]
            motion.rotations[i] = course.qs[row, i]
            motion.velocities[i] = course.vs[row, i]
            motion.spins[i] = course.ws[row, i]
            motion.sizes[i] = size_of(i, first, begun, tables, course)

    @wp.func
    def move(low: int, high: int, stride: int, world: int, row: int, step: int, tables: Tables, motion: Motion,
             course: Course):  # fmt: skip
        begun = motion.clock[0] - motion.origins[world]
        for number in range(low, high, stride):
            i = wp.max(number, 0)
            voxel = tables.voxels[tables.row_of_voxel[i]]
            u, v, w = vec3(motion.displacements[i]), vec3(motion.velocities[i]), vec3(motion.spins[i])
            dt = real(tables.dt)
            force, moment = vec3(motion.forces[i]), vec3(motion.moments[i])
            for axis in range(3):
                slot = 3 * wp.max(tables.before[3 * i + axis], 0) + axis
                force += motion.end_forces[slot]
                moment += motion.end_moments[slot]
            force += voxel.mass * course.gravity[world] - voxel.drag * v
            moment -= voxel.spin_drag * w
            planes = tables.obstacles.shape[0]
            if planes > 0:
                size = motion.sizes[i]
                force += push(i, voxel, size, u, v, dt, tables)
                head = v + force * (voxel.per_mass * dt)
                course.heads[row, i] = head
                v = rub(i, planes, voxel, size, u, head, dt, tables)
            else:
                v = v + force * (voxel.per_mass * dt)
            w = w + moment * (voxel.per_inertia * dt)
            u = u + v * dt
            q = turned(motion.rotations[i], w * (real(0.5) * dt))
            if tables.pushed == 1 and tables.ties[i] >= 0:  # held in all freedoms; other ties are refused
                u, v, w = vec3(), vec3(), vec3()
                q = wp.quat_identity(dtype=real)
            motion.displacements[i] = u
            motion.velocities[i] = v
            motion.spins[i] = w
            motion.rotations[i] = q
            course.us[row + 1, i] = u
            course.qs[row + 1, i] = q
            course.vs[row + 1, i] = v
            course.ws[row + 1, i] = w
            if course.actuated == 1:
                motion.sizes[i] = size_of(i, step + 1, begun, tables, course)
            total = v[0] + v[1] + v[2] + w[0] + w[1] + w[2]
            if total - total != real(0.0) and motion.trouble[world] < wp.int64(0):
                motion.trouble[world] = wp.int64(step + 1)

    @wp.func
    def stretch(low: int, high: int, stride: int, world: int, row: int, first: int, steps: int, tables: Tables,
                motion: Motion, course: Course):  # fmt: skip
        load(low, high, stride, world, row, first, tables, motion, course)
        block_barrier()
        for step in range(steps):
            links_of(low, high, stride, tables, motion)
            block_barrier()
            move(low, high, stride, world, row + step, first + step, tables, motion, course)
            block_barrier()

    return stretch


@once
def there_team(real: Any) -> wp.Kernel:
    """A stretch on a team of CPU threads, to which worlds are dealt.

    States are kept from `row` on; `first` steps of the motion were before it.
    """
    types = layout(real)
    Tables, Motion, Course = types.Tables, types.Motion, course_of(real)
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
    ):
        for world in range(rank, tables.begins.shape[0] - 1, size):
            low, high = tables.begins[world], tables.begins[world + 1]
            stretch(low, high, 1, world, row, first, steps, tables, motion, course)

    return team


@once
def there_blocks(real: Any) -> wp.Kernel:
    """A stretch on CUDA, a block of `width` threads for each world."""
    types = layout(real)
    Tables, Motion, Course = types.Tables, types.Motion, course_of(real)
    stretch = _stretch(real)

    @wp.kernel(module="unique", enable_backward=False, grid_stride=False, launch_bounds=BLOCK)
    def blocks(width: int, row: int, first: int, steps: int, tables: Tables, motion: Motion, course: Course):
        world = wp.tid() // width
        lane = wp.tid() - world * width
        low, high = tables.begins[world], tables.begins[world + 1]
        stretch(low + lane, high, width, world, row, first, steps, tables, motion, course)

    return blocks
