"""Motion of voxels: what links, loads, contacts and gravity do to one, symplectic Euler, and what holds it."""

from typing import Any

import warp as wp

from annelid.core.kernels.controls import held
from annelid.core.kernels.loading import once
from annelid.voxels3d.kernels.contacts import STILL, Moves, contact_of
from annelid.voxels3d.kernels.drag import drag_of
from annelid.voxels3d.kernels.fields import field_of
from annelid.voxels3d.kernels.layout import layout
from annelid.voxels3d.kernels.links import BROKEN
from annelid.voxels3d.kernels.resisting import resist_of

wp.set_module_options({"enable_backward": False})

_ALL_TRANSLATION, _ALL_ROTATION = 7, 56


@once
def size_of(real: Any) -> wp.Function:
    """Sizes of actuated voxels at a step, as factors: by their waves, or by the commands of their channels."""
    types = layout(real)
    Tables, Motion = types.Tables, types.Motion

    @wp.func
    def wave_at(time: wp.float64, wave: wp.vec4d, crest: real) -> real:
        """Change of size by a wave."""
        # Turns are reduced in float64: in float32 a gait would be spoilt within seconds.
        turns = wave[1] * time + wave[2]
        turns = turns - wp.floor(turns)
        grow = wp.float64(wave[0])
        if time < wave[3]:
            grow = grow * time / wave[3]
        return real(grow) * wp.min(wp.sin(real(6.283185307179586) * real(turns)), crest)

    @wp.func
    def resize(first: int, last: int, stride: int, now: wp.int64, tables: Tables, motion: Motion):
        for i in range(first, last, stride):
            size = real(tables.bases[i])
            wave = tables.waves[i]
            if wave[0] != wp.float64(0.0):
                world = tables.world_of[i]
                channel = tables.channels[i]
                if channel >= 0:
                    command = motion.commands[world * tables.channel_count + channel]
                    size += real(wave[0] * held(command, wp.float64(now)))
                else:
                    size += wave_at(wp.float64(now - motion.origins[world]) * tables.dt, wave, tables.crests[i])
            motion.sizes[i] = size

    return resize


@once
def spun(real: Any) -> wp.Function:
    """A rotation after a step with a spin; its length is brought back towards 1."""
    quat = layout(real).quat
    vec3 = layout(real).vec3

    @wp.func
    def turned(q: quat, angle: vec3) -> quat:
        """`angle` is half the angle of the step [rad], a vector."""
        square = wp.dot(angle, angle)
        halvings = int(0)
        while square >= real(0.01) and halvings < 40:  # series only: calls of sin and cos would empty the registers
            square = real(0.25) * square
            halvings += 1
        share = real(1.0) - square * (
            real(wp.static(1.0 / 6.0))
            - square * (real(wp.static(1.0 / 120.0)) - square * real(wp.static(1.0 / 5040.0)))
        )
        cosine = real(1.0) - square * (
            real(0.5) - square * (real(wp.static(1.0 / 24.0)) - square * real(wp.static(1.0 / 720.0)))
        )
        for _ in range(halvings):
            share = share * cosine
            cosine = real(2.0) * cosine * cosine - real(1.0)
        v = share * angle
        p = quat(v[0], v[1], v[2], cosine) * q
        return p * (real(1.5) - real(0.5) * wp.dot(p, p))

    return turned


@once
def strain_of(real: Any) -> wp.Function:
    """Strains of a voxel along its axes; those that nothing prescribes follow from the others by Poisson's ratio.

    Links that have broken prescribe nothing, however far their ends are from each other.
    """
    types = layout(real)
    vec3, Voxel, Tables, Motion = types.vec3, types.Voxel, types.Tables, types.Motion

    @wp.func
    def strain(i: int, voxel: Voxel, tables: Tables, motion: Motion) -> vec3:
        result = vec3()
        loaded = int(0)
        total = real(0.0)
        for axis in range(3):
            count = int(0)
            sum = real(0.0)
            row = tables.row_of_link[3 * i + axis]
            if row >= 0 and motion.tensions[3 * i + axis] < real(wp.static(BROKEN)):
                count += 1
                sum += motion.stretches[3 * i + axis] * tables.links[row].first_share
            slot = 3 * tables.before[3 * i + axis] + axis
            row = tables.row_of_link[slot]
            if row >= 0 and motion.tensions[slot] < real(wp.static(BROKEN)):
                count += 1
                sum += motion.stretches[slot] * (real(2.0) - tables.links[row].first_share)
            if count == 2 or (count == 1 and ((tables.loaded[i] >> axis) & 1) == 1):
                result[axis] = sum / real(count)
                loaded = loaded | (1 << axis)
                total += result[axis]
        if loaded != 7:
            # Two axes that are squeezed to less than half would ask for the power of a negative number.
            other = wp.pow(wp.max(real(1.0) + total, real(0.01)), -voxel.poisson) - real(1.0)
            for axis in range(3):
                if ((loaded >> axis) & 1) == 0:
                    result[axis] = other
        return result

    return strain


@once
def tie_pass(real: Any) -> wp.Function:
    """Bring the freedoms of a voxel that are held back to where they are prescribed to be."""
    types = layout(real)
    vec3, quat, Tables, Motion = types.vec3, types.quat, types.Tables, types.Motion

    @wp.func
    def part_of(time: wp.float64, span: wp.vec2d) -> wp.float64:
        if time < span[0]:
            return wp.float64(0.0)
        if span[1] <= wp.float64(0.0):
            return wp.float64(1.0)
        return wp.min((time - span[0]) / span[1], wp.float64(1.0))

    @wp.func
    def tie(i: int, tie: int, time: wp.float64, was: vec3, tables: Tables, motion: Motion):
        bits, span = tables.tie_bits[tie], tables.tie_spans[tie]
        part, before = part_of(time, span), part_of(time - tables.dt, span)
        moved = tables.tie_moves[tie]
        u, v, w = vec3(motion.displacements[i]), vec3(motion.velocities[i]), vec3(motion.spins[i])
        for axis in range(3):
            if ((bits >> axis) & 1) == 1:
                u[axis] = real(part * moved[axis])
                v[axis] = real((part - before) * moved[axis] / tables.dt)
            if ((bits >> (3 + axis)) & 1) == 1:
                w[axis] = real(0.0)
        if (bits & wp.static(_ALL_ROTATION)) == wp.static(_ALL_ROTATION):
            turn = tables.tie_turns[tie]
            angle = wp.length(turn)
            q = wp.quatd(wp.float64(0.0), wp.float64(0.0), wp.float64(0.0), wp.float64(1.0))
            if angle > wp.float64(0.0):
                q = wp.quat_from_axis_angle(turn / angle, part * angle)
            motion.rotations[i] = quat(real(q[0]), real(q[1]), real(q[2]), real(q[3]))
            w = vec3(turn * ((part - before) / tables.dt))
        motion.displacements[i] = u
        motion.velocities[i] = v
        motion.spins[i] = w

    return tie


@once
def voxel_pass(real: Any, kinds: tuple[int, ...], plain: bool = False, moves: Moves = STILL) -> wp.Function:
    """One step of some voxels among obstacles of these kinds; `plain` and `moves` as in `block_kernel`."""
    types = layout(real)
    vec3, Tables, Motion = types.vec3, types.Tables, types.Motion
    turned, strain, tie, contact = spun(real), strain_of(real), tie_pass(real), contact_of(real, kinds, *moves)
    field, drag, resist = field_of(real), drag_of(real), resist_of(real)

    @wp.func
    def loads(i: int, time: wp.float64, tables: Tables) -> wp.spatial_vectord:
        """Force and moment from outside."""
        force, moment = wp.vec3d(), wp.vec3d()
        for k in range(tables.load_begins[i], tables.load_begins[i + 1]):
            span = tables.load_spans[k]
            if time >= span[0] and time < span[2]:
                part = wp.float64(1.0)
                if time - span[0] < span[1]:
                    part = (time - span[0]) / span[1]
                force += part * tables.load_forces[k]
                moment += part * tables.load_moments[k]
        return wp.spatial_vectord(force[0], force[1], force[2], moment[0], moment[1], moment[2])

    @wp.func
    def frozen(i: int, tables: Tables) -> bool:
        """Whether the strain of a voxel is never renewed: as in Voxelyze, where all its freedoms are held."""
        if tables.balanced == 1 or tables.ties[i] < 0:
            return False
        return tables.tie_bits[tables.ties[i]] == wp.static(_ALL_TRANSLATION | _ALL_ROTATION)

    @wp.func
    def move(first: int, last: int, stride: int, now: wp.int64, tables: Tables, motion: Motion):
        for number in range(first, last, stride):
            i = wp.max(number, 0)  # see `links`
            voxel = tables.voxels[tables.row_of_voxel[i]]
            u, v, w = vec3(motion.displacements[i]), vec3(motion.velocities[i]), vec3(motion.spins[i])
            dt = real(tables.dt)
            force, moment = vec3(motion.forces[i]), vec3(motion.moments[i])
            for axis in range(3):
                slot = 3 * wp.max(tables.before[3 * i + axis], 0) + axis
                force += motion.end_forces[slot]
                moment += motion.end_moments[slot]
            force += voxel.mass * tables.gravity - voxel.drag * v
            moment -= voxel.spin_drag * w
            world = tables.world_of[i]
            time = wp.float64(now - motion.origins[world]) * tables.dt
            if wp.static(not plain) and tables.pushed == 1:
                load = loads(i, time, tables)
                force += vec3(real(load[0]), real(load[1]), real(load[2]))
                moment += vec3(real(load[3]), real(load[4]), real(load[5]))
            if wp.static(not plain) and tables.field_begins.shape[0] > 0:
                force += field(i, u, time, tables)
            if wp.static(not plain) and tables.fluid > real(0.0):
                force += drag(i, voxel.side, v, tables, motion)
            if wp.static(not plain) and tables.sand.shape[0] > 0:
                force = resist(i, voxel, force, u, v, dt, tables, motion)
            if tables.obstacles.shape[0] > 0:
                v = contact(i, voxel, force, u, v, dt, now, tables, motion)
            else:
                v = v + force * (voxel.per_mass * dt)
            w = w + moment * (voxel.per_inertia * dt)
            motion.displacements[i] = u + v * dt
            motion.velocities[i] = v
            motion.spins[i] = w
            motion.rotations[i] = turned(motion.rotations[i], w * (real(0.5) * dt))
            if wp.static(not plain) and tables.volumetric == 1 and not frozen(i, tables):
                motion.strains[i] = strain(i, voxel, tables, motion)
            if wp.static(not plain) and tables.pushed == 1:
                if tables.ties[i] >= 0:
                    tie(i, tables.ties[i], time + tables.dt, u, tables, motion)
            total = v[0] + v[1] + v[2] + w[0] + w[1] + w[2]
            if total - total != real(0.0):  # not finite; wp.isfinite is a call
                if motion.trouble[world] < wp.int64(0):
                    motion.trouble[world] = now + wp.int64(1)

    return move
