"""Where the four masses of a voxel are, and how it moves."""

from typing import Any

import warp as wp

from annelid.core.kernels.loading import once
from annelid.voxels.kernels.layout import M_MASS_SIDE, MATERIAL_STRIDE, Layout
from annelid.voxels.kernels.memory import load

wp.set_module_options({"enable_backward": False})


@once
def pose_layout(types: Layout) -> Any:
    """The structure `VoxelPose` for one precision."""
    members = {
        "north_west": types.vec2,  # centres of the masses [m]
        "north_east": types.vec2,
        "south_east": types.vec2,
        "south_west": types.vec2,
        "velocity": types.vec2,  # mean of the masses [m/s]
        "doubled_area": types.real,  # minus twice the area within the outer corners [m²]
    }
    name = f"VoxelPose{32 if types.real is wp.float32 else 64}"
    return wp.struct(type(name, (), {"__annotations__": members, "__qualname__": name, "__module__": __name__}))


@once
def voxel_pose(types: Layout) -> wp.Function:
    """A function `(voxel, material, world, tables, positions, velocities) -> VoxelPose`."""
    real, vec2, vec4, World, Tables = types.real, types.vec2, types.vec4, types.World, types.Tables
    Pose = pose_layout(types)
    read = load(vec4, 32 if real is wp.float32 else 64)

    @wp.func
    def pose_of(
        voxel: int, material: int, world: World, tables: Tables, positions: wp.uint64, velocities: wp.uint64
    ) -> Pose:
        pose = Pose()
        last, first = vec2(), vec2()
        velocity = vec2()
        doubled_area = real(0.0)
        for i in range(4):
            mass = 4 * (world.shape_voxel + voxel) + i
            p, v = read(positions, tables.mass_body[mass]), read(velocities, tables.mass_body[mass])
            arm = tables.mass_arm[mass]
            r = vec2(p[2] * arm[0] - p[3] * arm[1], p[3] * arm[0] + p[2] * arm[1])
            place = vec2(p[0], p[1]) + r
            velocity += vec2(v[0] - v[2] * r[1], v[1] + v[2] * r[0]) * real(0.25)
            # the outer corner of the mass, a corner of the voxel
            half = real(0.5) * tables.materials[material * MATERIAL_STRIDE + M_MASS_SIDE]
            ox, oy = half, half
            if i == 0 or i == 3:
                ox = -half
            if i >= 2:
                oy = -half
            corner = place + vec2(p[2] * ox - p[3] * oy, p[3] * ox + p[2] * oy)
            if i == 0:
                pose.north_west = place
                first = corner
            else:
                doubled_area += last[0] * corner[1] - last[1] * corner[0]
            last = corner
            if i == 1:
                pose.north_east = place
            if i == 2:
                pose.south_east = place
            if i == 3:
                pose.south_west = place
        pose.doubled_area = doubled_area + (last[0] * first[1] - last[1] * first[0])
        pose.velocity = velocity
        return pose

    return pose_of


@once
def crumpled(types: Layout) -> wp.Function:
    """A function `(pose, near) -> real`: share of the six pairs of masses that are nearer to each other than `near`."""
    real, vec2, Pose = types.real, types.vec2, pose_layout(types)

    @wp.func
    def closeness(a: vec2, b: vec2, near: real) -> real:
        if wp.length(a - b) < near:
            return real(1.0)
        return real(0.0)

    @wp.func
    def share(pose: Pose, near: real) -> real:
        count = closeness(pose.north_west, pose.north_east, near)
        count += closeness(pose.north_east, pose.south_east, near)
        count += closeness(pose.south_east, pose.south_west, near)
        count += closeness(pose.south_west, pose.north_west, near)
        count += closeness(pose.north_west, pose.south_east, near)
        count += closeness(pose.north_east, pose.south_west, near)
        return count / real(6.0)

    return share


@once
def heading_of(types: Layout) -> wp.Function:
    """A function `(pose) -> vec2`: unit vector from the left to the right of a voxel."""
    real, vec2, Pose = types.real, types.vec2, pose_layout(types)

    @wp.func
    def direction(a: vec2, b: vec2) -> vec2:
        d = b - a
        return d / wp.max(wp.length(d), real(1.0e-12))

    @wp.func
    def heading(pose: Pose) -> vec2:
        # The mean of two directions is the direction of the sum of their unit vectors.
        both = direction(pose.north_west, pose.north_east) + direction(pose.south_west, pose.south_east)
        return both / wp.max(wp.length(both), real(1.0e-12))

    return heading
