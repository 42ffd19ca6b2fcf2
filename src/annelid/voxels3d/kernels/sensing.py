"""What sensors read of voxels: a value of each, summed over the members of groups in a fixed order."""

from typing import Any

import warp as wp

from annelid.core.kernels.energy import ELASTIC, energies_of
from annelid.core.kernels.loading import once
from annelid.core.kernels.sums import PARTS, Sums
from annelid.shapes.kernels.moving import moved
from annelid.voxels3d.kernels.contacts import moment_of, surface_of
from annelid.voxels3d.kernels.layout import layout
from annelid.voxels3d.kernels.links import angle_per_sine
from annelid.voxels3d.kernels.motion import size_of

wp.set_module_options({"enable_backward": False})

TURN, TOUCH, STRAIN, ENERGY = range(4)
"""What can be read."""


@once
def sizes_kernel(real: Any) -> wp.Kernel:
    """Sizes of all voxels at the step where a state is."""
    types = layout(real)
    Tables, Motion = types.Tables, types.Motion
    resize = size_of(real)

    @wp.kernel(module="unique", enable_backward=False)
    def sizes(tables: Tables, motion: Motion):
        i = wp.tid()
        resize(i, i + 1, 1, motion.clock[0], tables, motion)

    return sizes


@once
def _turn(real: Any) -> wp.Function:
    """Rotation of a voxel, as a matrix."""
    types = layout(real)
    Tables, Motion = types.Tables, types.Motion

    @wp.func
    def value(i: int, inside: wp.array[wp.int32], tables: Tables, motion: Motion) -> Sums:
        q = motion.rotations[i]
        turn = wp.quat_to_matrix(wp.quatd(wp.float64(q[0]), wp.float64(q[1]), wp.float64(q[2]), wp.float64(q[3])))
        sums = Sums()
        for row in range(3):
            for column in range(3):
                sums[3 * row + column] = turn[row, column]
        return sums

    return value


@once
def _touch(real: Any, kinds: tuple[int, ...], moving: bool) -> wp.Function:
    """1 where a voxel touches an obstacle."""
    types = layout(real)
    Tables, Motion = types.Tables, types.Motion
    surface, moment_at_step, move = surface_of(real, kinds), moment_of(real), moved(types.Obstacle, wp.float64)

    @wp.func
    def value(i: int, inside: wp.array[wp.int32], tables: Tables, motion: Motion) -> Sums:
        u = motion.displacements[i]
        place = tables.places[i] + wp.vec3d(wp.float64(u[0]), wp.float64(u[1]), wp.float64(u[2]))
        reach = wp.float64(0.5) * tables.sides[i] * wp.float64(motion.sizes[i])
        sums = Sums()
        for k in range(tables.obstacles.shape[0]):
            one = tables.obstacles[k]
            if wp.static(moving):
                if one.track[1] != 0:
                    one = move(one, moment_at_step(i, one, motion.clock[0], tables, motion))
            if surface(place, one, tables)[3] <= reach:
                sums[0] = wp.float64(1.0)
        return sums

    return value


@once
def _stretch(real: Any) -> wp.Function:
    """Strains of the links of a voxel to others of its group, against their lengths as built, and their number."""
    types = layout(real)
    Tables, Motion = types.Tables, types.Motion

    @wp.func
    def strain(slot: int, i: int, j: int, tables: Tables, motion: Motion) -> wp.float64:
        one, other = motion.displacements[i], motion.displacements[j]
        d = wp.vec3d()
        for axis in range(3):
            d[axis] = wp.float64(other[axis]) - wp.float64(one[axis])
        side = tables.sides[i]
        d[slot % 3] = d[slot % 3] + side
        return wp.length(d) / side - wp.float64(1.0)

    @wp.func
    def value(i: int, inside: wp.array[wp.int32], tables: Tables, motion: Motion) -> Sums:
        sums = Sums()
        for axis in range(3):
            slot = 3 * i + axis
            if tables.row_of_link[slot] >= 0:
                j = tables.next[slot]
                if inside[j] == 1:
                    sums[0] = sums[0] + strain(slot, i, j, tables, motion)
                    sums[1] = sums[1] + wp.float64(1.0)
            before = tables.before[slot]
            slot = 3 * before + axis
            if tables.row_of_link[slot] >= 0 and inside[before] == 1:
                sums[0] = sums[0] + strain(slot, before, i, tables, motion)
                sums[1] = sums[1] + wp.float64(1.0)
        return sums

    return value


@once
def _energy(real: Any) -> wp.Function:
    """Energies of a voxel [J], and half of those of its links, as if these were linear."""
    types = layout(real)
    vec3, quat, Tables, Motion = types.vec3, types.quat, types.Tables, types.Motion
    ratio = angle_per_sine(wp.float64)

    @wp.func
    def doubled(v: vec3) -> wp.vec3d:
        return wp.vec3d(wp.float64(v[0]), wp.float64(v[1]), wp.float64(v[2]))

    @wp.func
    def doubled_turn(q: quat) -> wp.quatd:
        return wp.normalize(wp.quatd(wp.float64(q[0]), wp.float64(q[1]), wp.float64(q[2]), wp.float64(q[3])))

    @wp.func
    def stored(slot: int, i: int, j: int, tables: Tables, motion: Motion) -> wp.float64:
        link = tables.links[tables.row_of_link[slot]]
        kept = wp.float64(0.0)
        if link.remembers == 1:
            if motion.largest[slot] > link.fails:
                return wp.float64(0.0)
            kept = wp.float64(motion.offsets[slot])
        d = doubled(motion.displacements[j]) - doubled(motion.displacements[i])
        axis = slot % 3
        side = tables.sides[i]
        d[axis] = d[axis] + side
        length = wp.length(d)
        u = d / length
        rest = wp.float64(0.5) * (wp.float64(motion.sizes[i]) + wp.float64(motion.sizes[j])) * side
        q1, q2 = doubled_turn(motion.rotations[i]), doubled_turn(motion.rotations[j])
        rel = q2 * wp.quat_inverse(q1)
        if rel[3] < wp.float64(0.0):
            rel = -rel
        sine = wp.vec3d(rel[0], rel[1], rel[2])
        phi = wp.float64(2.0) * ratio(wp.dot(sine, sine), rel[3]) * sine
        along = wp.dot(phi, u)
        e = wp.vec3d()
        e[axis] = wp.float64(1.0)
        image = wp.normalize(wp.quat_rotate(q1, e) + wp.quat_rotate(q2, e))
        rho = wp.atan2(wp.length(wp.cross(image, u)), wp.dot(image, u))
        stretched = length / rest - wp.float64(1.0) - kept
        arm = length
        if tables.balanced == 0:
            arm = side
        energy = wp.float64(link.axial) * stretched * stretched * rest + wp.float64(link.shear) * arm * rho * rho
        energy += wp.float64(link.bend) * (wp.dot(phi, phi) - along * along) + wp.float64(link.twist) * along * along
        return wp.float64(0.5) * energy

    @wp.func
    def value(i: int, inside: wp.array[wp.int32], tables: Tables, motion: Motion) -> Sums:
        half = wp.float64(0.5)
        voxel = tables.voxels[tables.row_of_voxel[i]]
        v, w = doubled(motion.velocities[i]), doubled(motion.spins[i])
        place = tables.places[i] + doubled(motion.displacements[i])
        spinning = half * wp.dot(w, w) / wp.float64(voxel.per_inertia)
        sums = energies_of(wp.float64(voxel.mass), spinning, doubled(tables.gravity), place, v)
        for axis in range(3):
            slot = 3 * i + axis
            if tables.row_of_link[slot] >= 0:
                sums[wp.static(ELASTIC)] = sums[wp.static(ELASTIC)] + half * stored(
                    slot, i, tables.next[slot], tables, motion
                )
            before = tables.before[slot]
            slot = 3 * before + axis
            if tables.row_of_link[slot] >= 0:
                sums[wp.static(ELASTIC)] = sums[wp.static(ELASTIC)] + half * stored(slot, before, i, tables, motion)
        return sums

    return value


@once
def reading_kernel(real: Any, kinds: tuple[int, ...], moving: bool) -> wp.Kernel:
    """Sum a quantity of the members of each world's group into `PARTS` parts, or write it for each member.

    What is read is no constant of the kernel: one is compiled for all sensors.
    """
    types = layout(real)
    Tables, Motion = types.Tables, types.Motion
    turn, touch, stretch, energy = _turn(real), _touch(real, kinds, moving), _stretch(real), _energy(real)

    @wp.func
    def value(kind: int, i: int, inside: wp.array[wp.int32], tables: Tables, motion: Motion) -> Sums:
        if kind == wp.static(TURN):
            return turn(i, inside, tables, motion)
        if kind == wp.static(TOUCH):
            return touch(i, inside, tables, motion)
        if kind == wp.static(STRAIN):
            return stretch(i, inside, tables, motion)
        return energy(i, inside, tables, motion)

    @wp.kernel(module="unique", enable_backward=False)
    def read(
        kind: int,
        each: int,  # 1: members are read by themselves; 0: they are summed
        begins: wp.array[wp.int32],  # first member of each world, and their number
        members: wp.array[wp.int32],  # -1 where one that is read by itself is gone
        inside: wp.array[wp.int32],  # 1 where a voxel is a member
        tables: Tables,
        motion: Motion,
        first: int,
        sums_out: wp.array2d[Sums],
        readings_out: wp.array2d[wp.float32],
    ):
        world, part = wp.tid()
        if each > 0:
            member = members[begins[world] + part]
            found = Sums()
            scale = wp.float64(wp.nan)
            if member >= 0:
                found = value(kind, member, inside, tables, motion)
                scale = wp.float64(1.0)
            if kind == wp.static(STRAIN):
                scale = scale / wp.max(found[1], wp.float64(1.0))
            readings_out[world, first + part] = wp.float32(scale * found[0])
        else:
            total = Sums()
            for k in range(begins[world] + part, begins[world + 1], wp.static(PARTS)):
                total += value(kind, members[k], inside, tables, motion)
            sums_out[world, part] = total

    return read
