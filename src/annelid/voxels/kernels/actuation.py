"""From control values to rest lengths and forces, and the work that a change of them does."""

import warp as wp

from annelid.core.kernels.loading import once
from annelid.voxels.kernels.layout import (
    CORNER_STRIDE,
    M_AREA,
    M_CENTRAL,
    M_FORCE,
    M_LENGTHS,
    M_LINEAR,
    M_MASK,
    M_MASS_SIDE,
    M_OMEGA2,
    M_SIDE,
    M_SOFT,
    M_SPIN,
    MATERIAL_STRIDE,
    Layout,
)
from annelid.voxels.kernels.memory import load, store

wp.set_module_options({"enable_backward": False})


@once
def actuated_lengths(types: Layout) -> wp.Function:
    """Rest lengths of side, side-cross and central springs [m], and the force [N], at a control value."""
    real, vec4 = types.real, types.vec4

    @wp.func
    def lengths(control: real, materials: wp.array[real], row: int) -> vec4:
        m = row * MATERIAL_STRIDE
        force = control * materials[m + M_FORCE]
        if materials[m + M_AREA] == real(0.0):
            r = m + M_LENGTHS + 3
            return vec4(materials[r], materials[r + 1], materials[r + 2], force)
        if materials[m + M_LINEAR] > real(0.5):
            r = m + M_LENGTHS
            rest = vec4(materials[r + 3], materials[r + 4], materials[r + 5], real(0.0))
            goal = vec4(materials[r], materials[r + 1], materials[r + 2], real(0.0))
            if control < real(0.0):
                goal = vec4(materials[r + 6], materials[r + 7], materials[r + 8], real(0.0))
            return rest + (goal - rest) * wp.abs(control)
        side = materials[m + M_SIDE] * wp.sqrt(real(1.0) - control * materials[m + M_AREA])
        mass = materials[m + M_MASS_SIDE]
        gap = side - real(2.0) * mass
        return vec4(gap, wp.sqrt(gap * gap + mass * mass), (side - mass) * real(1.4142135623730951), force)

    return lengths


@once
def stored_energy(types: Layout, varied: bool) -> wp.Function:
    """Elastic energy of a voxel's springs [J] with given rest lengths."""
    real, vec2, vec4, World, Tables = types.real, types.vec2, types.vec4, types.World, types.Tables
    read = load(vec4, 32 if real is wp.float32 else 64)

    @wp.func
    def rotated(p: vec4, x: real, y: real) -> vec2:
        return vec2(p[2] * x - p[3] * y, p[3] * x + p[2] * y)

    @wp.func
    def side_masses(side: int):
        """The two masses of a side, as `shape.SIDES` has them."""
        return wp.where(side == 1, 1, wp.where(side == 2, 3, 0)), wp.where(side == 0, 1, wp.where(side == 3, 3, 2))

    @wp.func
    def energy(voxel: int, rest: vec4, world: World, tables: Tables, positions: wp.uint64) -> real:
        row = world.shape_material + tables.material_of[world.shape_voxel + voxel]
        m = row * MATERIAL_STRIDE
        total = real(0.0)
        for side in range(4):
            s = 4 * (world.shape_voxel + voxel) + side
            pair = tables.side_bodies[s]
            pa = read(positions, pair[0])
            pb = read(positions, pair[1])
            first, second = side_masses(side)
            ga = tables.mass_arm[4 * (world.shape_voxel + voxel) + first]
            gb = tables.mass_arm[4 * (world.shape_voxel + voxel) + second]
            apart = vec2(pb[0] - pa[0], pb[1] - pa[1]) + rotated(pb, gb[0], gb[1]) - rotated(pa, ga[0], ga[1])
            for lane in range(4):
                c = row * CORNER_STRIDE + 16 * side + lane
                ra = rotated(pa, tables.corners[c], tables.corners[c + 4])
                rb = rotated(pb, tables.corners[c + 8], tables.corners[c + 12])
                d = apart + rb - ra
                length = wp.length(d)
                ca, cb = (ra[0] * d[1] - ra[1] * d[0]) / length, (rb[0] * d[1] - rb[1] * d[0]) / length
                soft = tables.materials[m + M_SOFT] + (ca * ca + cb * cb) * tables.materials[m + M_SPIN]
                stretch = length - rest[0]
                if lane >= 2:
                    stretch = length - rest[1]
                k = tables.materials[m + M_MASK + lane] * tables.materials[m + M_OMEGA2] / soft
                total += real(0.5) * k * stretch * stretch
        for i in range(2):
            mass = 4 * (world.shape_voxel + voxel) + i
            pa = read(positions, tables.mass_body[mass])
            pb = read(positions, tables.mass_body[mass + 2])
            ga = tables.mass_arm[mass]
            gb = tables.mass_arm[mass + 2]
            d = vec2(pb[0] - pa[0], pb[1] - pa[1]) + rotated(pb, gb[0], gb[1]) - rotated(pa, ga[0], ga[1])
            stretch = wp.length(d) - rest[2]
            total += real(0.5) * tables.materials[m + M_CENTRAL] * stretch * stretch
        if wp.static(varied):
            total = total * world.scale[0]
        return total

    return energy


@once
def apply_controls(types: Layout, worked: bool, varied: bool) -> wp.Function:
    """Clip the control values of a world and turn them into lengths; `fresh` ones count as effort and are checked."""
    real, vec4, World, Tables, Motion = types.real, types.vec4, types.World, types.Tables, types.Motion
    bits = 32 if real is wp.float32 else 64
    read, write = load(vec4, bits), store(vec4, bits)
    evaluate, energy = actuated_lengths(types), stored_energy(types, varied)

    @wp.func
    def apply(
        lane: int,
        width: int,
        fresh: bool,
        now: wp.int64,
        number: int,
        world: World,
        tables: Tables,
        motion: Motion,
        positions: wp.uint64,
        lengths: wp.uint64,
    ):
        for voxel in range(lane, world.voxel_count, width):
            control = motion.controls[world.voxel + voxel]
            if fresh:
                if wp.isnan(control):
                    motion.faults[number] = wp.vec2i(voxel, int(now))
                    control = real(0.0)
                control = wp.clamp(control, real(-1.0), real(1.0))
                motion.controls[world.voxel + voxel] = control
            rest = evaluate(
                control, tables.materials, world.shape_material + tables.material_of[world.shape_voxel + voxel]
            )
            if fresh:
                effort = motion.efforts[world.voxel + voxel]
                work = real(0.0)
                if wp.static(worked):
                    before = read(lengths, voxel)
                    work = energy(voxel, rest, world, tables, positions) - energy(
                        voxel, before, world, tables, positions
                    )
                    work = wp.max(work, real(0.0))
                square = wp.float64(control) * wp.float64(control)
                motion.efforts[world.voxel + voxel] = effort + wp.vec2d(square, wp.float64(work))
            write(lengths, voxel, rest)

    return apply
