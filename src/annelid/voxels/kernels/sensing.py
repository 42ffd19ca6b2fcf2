"""Sensors of voxels: what a controller can know of the robot and of its surroundings."""

from typing import Any

import warp as wp

from annelid.core.kernels.loading import once
from annelid.voxels.kernels.layout import M_SIDE, MATERIAL_STRIDE, Layout
from annelid.voxels.kernels.memory import load
from annelid.voxels.kernels.pose import crumpled, heading_of, pose_layout, voxel_pose
from annelid.voxels.kernels.rays import box_distance, lidar_distance

wp.set_module_options({"enable_backward": False})

KINDS = (
    "area-ratio", "velocity", "angle", "x-velocity", "y-velocity", "rotated-x-velocity", "rotated-y-velocity",
    "touching", "crumpling", "lidar", "applied-force", "time-function",
)  # fmt: skip
"""Sensors, in the order of their numbers."""
(AREA, SPEED, ANGLE, X_SPEED, Y_SPEED, X_ROTATED, Y_ROTATED, TOUCHING, CRUMPLING, LIDAR, APPLIED, TIME) = range(12)
CURRENT, MEAN, DIFFERENCE = range(3)
_CRUMPLED = 0.2  # distance of two masses, in sides of the voxel, below which it counts as crumpled


@once
def sensor_layout(real: Any) -> Any:
    """The inputs of all controllers: one row of each array an input."""
    bits = 32 if real is wp.float32 else 64
    vec4 = wp.types.vector(length=4, dtype=real)
    members = {
        "kinds": wp.array[wp.int32],
        "voxels": wp.array[wp.int32],  # within the world
        "modes": wp.array[wp.int32],
        "lengths": wp.array[wp.int32],  # readings in the window
        "histories": wp.array[wp.int32],  # first of its remembered readings
        "settings": wp.array[vec4],
        "seeds": wp.array[wp.int32],  # of the noise
        "mass_mask": wp.array[wp.int32],  # per mass of the shapes
    }
    name = f"VoxelSensors{bits}"
    return wp.struct(type(name, (), {"__annotations__": members, "__qualname__": name, "__module__": __name__}))


@once
def touch_reading(types: Layout) -> wp.Function:
    """A function `-> real`: 1 if a mass of the voxel touches something, else 0."""
    real, World, Tables, Motion = types.real, types.World, types.Tables, types.Motion
    Sensors = sensor_layout(real)

    @wp.func
    def touches(voxel: int, world: World, tables: Tables, motion: Motion, sensors: Sensors) -> real:
        result = real(0.0)
        for i in range(4):
            mass = 4 * (world.shape_voxel + voxel) + i
            bits = motion.touching[world.body + tables.mass_body[mass]]
            if ((bits | (bits >> 4)) & sensors.mass_mask[mass]) != 0:
                result = real(1.0)
        return result

    return touches


@once
def lidar_reading(types: Layout, paired: bool, shaped: bool) -> wp.Function:
    """A function `-> real`: distance along a ray to what is not the robot itself, over the reach of the lidar."""
    real, vec2, vec4 = types.real, types.vec2, types.vec4
    World, Tables, Terrain, Pose = types.World, types.Tables, types.Terrain, pose_layout(types)
    read = load(vec4, 32 if real is wp.float32 else 64)
    ground, beside = lidar_distance(types, shaped), box_distance(types)

    @wp.func
    def seen(
        voxel: int, settings: vec4, heading: vec2, pose: Pose, world: World, tables: Tables, terrain: Terrain,
        positions: wp.uint64,
    ) -> real:  # fmt: skip
        cs, sn = wp.cos(settings[0]), wp.sin(settings[0])
        ray = vec2(heading[0] * cs - heading[1] * sn, heading[1] * cs + heading[0] * sn)
        origin = (pose.north_west + pose.north_east + pose.south_east + pose.south_west) * real(0.25)
        distance = ground(terrain, world.ground, origin, ray, settings[1])
        if wp.static(paired):
            own = tables.body_surface[world.shape_body + tables.mass_body[4 * (world.shape_voxel + voxel)]][3]
            for b in range(world.body_count):
                if tables.body_surface[world.shape_body + b][3] != own:
                    found = beside(read(positions, b), tables.body_box[world.shape_body + b], origin, ray, settings[1])
                    distance = wp.min(distance, found)
        return distance / settings[1]

    return seen


@once
def voxel_reading(types: Layout, paired: bool, shaped: bool) -> wp.Function:
    """One reading of one sensor."""
    real, vec4 = types.real, types.vec4
    World, Tables, Motion, Terrain, Sensors = (
        types.World, types.Tables, types.Motion, types.Terrain, sensor_layout(types.real),
    )  # fmt: skip
    touches, pose_of, share_crumpled, heading_in = (
        touch_reading(types), voxel_pose(types), crumpled(types), heading_of(types),
    )  # fmt: skip
    seen = lidar_reading(types, paired, shaped)

    @wp.func
    def reading(
        kind: int, voxel: int, settings: vec4, time: wp.float64, world: World, tables: Tables, terrain: Terrain,
        motion: Motion, sensors: Sensors, positions: wp.uint64, velocities: wp.uint64,
    ) -> real:  # fmt: skip
        if kind == TOUCHING:
            return touches(voxel, world, tables, motion, sensors)
        if kind == APPLIED:
            return motion.controls[world.voxel + voxel]
        if kind == TIME:
            turn = wp.float64(settings[1]) * time + wp.float64(settings[2])
            return settings[0] * wp.sin(real(turn - wp.floor(turn)) * real(6.283185307179586))
        material = world.shape_material + tables.material_of[world.shape_voxel + voxel]
        side = tables.materials[material * MATERIAL_STRIDE + M_SIDE]
        pose = pose_of(voxel, material, world, tables, positions, velocities)
        velocity = pose.velocity
        if kind == AREA:
            return real(-0.5) * pose.doubled_area / (side * side)
        if kind == SPEED:
            return wp.length(velocity)
        if kind == X_SPEED:
            return velocity[0]
        if kind == Y_SPEED:
            return velocity[1]
        if kind == CRUMPLING:
            return share_crumpled(pose, real(_CRUMPLED) * side)
        heading = heading_in(pose)
        if kind == ANGLE:
            return wp.atan2(heading[1], heading[0])
        if kind == X_ROTATED:
            return wp.dot(velocity, heading)
        if kind == Y_ROTATED:
            return velocity[1] * heading[0] - velocity[0] * heading[1]
        return seen(voxel, settings, heading, pose, world, tables, terrain, positions)

    return reading


@once
def sense(types: Layout, paired: bool, varied: bool, shaped: bool) -> wp.Function:
    """Inputs of one controller: readings, with noise, seen through their windows.

    Where worlds are `varied`, they have factors of their own on noise; where they are `shaped`, ground of their own.
    """
    real = types.real
    World, Tables, Motion, Terrain, Sensors = (
        types.World, types.Tables, types.Motion, types.Terrain, sensor_layout(types.real),
    )  # fmt: skip
    reading = voxel_reading(types, paired, shaped)

    @wp.func
    def inputs(
        lane: int,
        width: int,
        first: int,
        count: int,
        time: wp.float64,
        call: wp.int64,
        world: World,
        tables: Tables,
        terrain: Terrain,
        motion: Motion,
        sensors: Sensors,
        positions: wp.uint64,
        velocities: wp.uint64,
    ):
        for i in range(first + lane, first + count, width):
            settings = sensors.settings[i]
            value = reading(
                sensors.kinds[i], sensors.voxels[i], settings, time, world, tables, terrain, motion, sensors,
                positions, velocities,
            )  # fmt: skip
            if settings[3] > real(0.0):
                random = wp.rand_init(sensors.seeds[i], int(call))
                spread = settings[3]
                if wp.static(varied):
                    spread *= world.noise
                value += spread * real(wp.randn(random))
            length = sensors.lengths[i]
            if length > 1:
                start = sensors.histories[i]
                motion.history[start + int(call % wp.int64(length))] = value
                known = int(wp.min(call + wp.int64(1), wp.int64(length)))
                oldest = int((call + wp.int64(1 - known)) % wp.int64(length))
                if sensors.modes[i] == MEAN:
                    total = real(0.0)
                    for k in range(known):
                        total += motion.history[start + (oldest + k) % length]
                    value = total / real(known)
                if sensors.modes[i] == DIFFERENCE:
                    value = value - motion.history[start + oldest]
            motion.inputs[i] = value

    return inputs
