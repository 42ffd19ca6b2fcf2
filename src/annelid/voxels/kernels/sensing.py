"""Sensors of voxels: what a controller can know of the robot and of its surroundings."""

import functools
from typing import Any

import warp as wp

from annelid.voxels.kernels.bodies import segment_at
from annelid.voxels.kernels.layout import M_MASS_SIDE, M_SIDE, MATERIAL_STRIDE, Layout
from annelid.voxels.kernels.memory import load

wp.set_module_options({"enable_backward": False})

KINDS = (
    "area-ratio", "velocity", "angle", "x-velocity", "y-velocity", "rotated-x-velocity", "rotated-y-velocity",
    "touching", "crumpling", "lidar", "applied-force", "time-function",
)  # fmt: skip
"""Sensors, in the order of their numbers."""
(AREA, SPEED, ANGLE, X_SPEED, Y_SPEED, X_ROTATED, Y_ROTATED, TOUCHING, CRUMPLING, LIDAR, APPLIED, TIME) = range(12)
CURRENT, MEAN, DIFFERENCE = range(3)
_CRUMPLED = 0.2  # distance of two masses, in sides of the voxel, below which it counts as crumpled


@functools.cache
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


@functools.cache
def lidar_distance(types: Layout) -> wp.Function:
    """Distance to the ground along a ray [m], at most its reach."""
    real, vec2, Terrain = types.real, types.vec2, types.Terrain
    find = segment_at(types)

    @wp.func
    def cast(terrain: Terrain, origin: vec2, ray: vec2, reach: real) -> real:
        result = reach
        if terrain.count > 1:
            low = find(terrain, wp.min(origin[0], origin[0] + ray[0] * reach))
            high = find(terrain, wp.max(origin[0], origin[0] + ray[0] * reach))
            for piece in range(low, high + 1):
                ax, ay = terrain.xs[piece] - origin[0], terrain.ys[piece] - origin[1]
                dx, dy = terrain.xs[piece + 1] - terrain.xs[piece], terrain.ys[piece + 1] - terrain.ys[piece]
                cross = ray[0] * dy - ray[1] * dx
                if cross != real(0.0):
                    along = (ax * dy - ay * dx) / cross
                    place = (ax * ray[1] - ay * ray[0]) / cross
                    # The ground goes on in a straight line beyond its two ends.
                    left = place >= real(0.0) or piece == 0
                    right = place <= real(1.0) or piece == terrain.count - 2
                    if left and right and along >= real(0.0):
                        result = wp.min(result, along)
        return result

    return cast


@functools.cache
def box_distance(types: Layout) -> wp.Function:
    """Distance to a box along a ray [m], at most its reach; 0 inside."""
    real, vec2, vec4 = types.real, types.vec2, types.vec4

    @wp.func
    def cast(p: vec4, box: vec4, origin: vec2, ray: vec2, reach: real) -> real:
        dx, dy = origin[0] - p[0], origin[1] - p[1]
        ox, oy = p[2] * dx + p[3] * dy - box[0], p[2] * dy - p[3] * dx - box[1]
        rx, ry = p[2] * ray[0] + p[3] * ray[1], p[2] * ray[1] - p[3] * ray[0]
        near, far = real(0.0), reach
        for axis in range(2):
            o, r, half = ox, rx, box[2]
            if axis == 1:
                o, r, half = oy, ry, box[3]
            if wp.abs(r) < real(1.0e-12):
                if wp.abs(o) > half:
                    far = real(-1.0)
            else:
                first, second = (-half - o) / r, (half - o) / r
                near = wp.max(near, wp.min(first, second))
                far = wp.min(far, wp.max(first, second))
        if near <= far:
            return near
        return reach

    return cast


@functools.cache
def voxel_reading(types: Layout, paired: bool) -> wp.Function:
    """One reading of one sensor."""
    real, vec2, vec4 = types.real, types.vec2, types.vec4
    World, Tables, Motion, Terrain, Sensors = (
        types.World, types.Tables, types.Motion, types.Terrain, sensor_layout(types.real),
    )  # fmt: skip
    read = load(vec4, 32 if real is wp.float32 else 64)
    ground, beside = lidar_distance(types), box_distance(types)

    @wp.func
    def direction(a: vec2, b: vec2) -> vec2:
        d = b - a
        return d / wp.max(wp.length(d), real(1.0e-12))

    @wp.func
    def touches(voxel: int, world: World, tables: Tables, motion: Motion, sensors: Sensors) -> real:
        result = real(0.0)
        for i in range(4):
            mass = 4 * (world.shape_voxel + voxel) + i
            bits = motion.touching[world.body + tables.mass_body[mass]]
            if ((bits | (bits >> 4)) & sensors.mass_mask[mass]) != 0:
                result = real(1.0)
        return result

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
        row = world.shape_material + tables.material_of[world.shape_voxel + voxel]
        side = tables.materials[row * MATERIAL_STRIDE + M_SIDE]
        north_west, north_east, south_east, south_west = vec2(), vec2(), vec2(), vec2()
        outer_area = real(0.0)
        last, first = vec2(), vec2()
        velocity = vec2()
        for i in range(4):
            mass = 4 * (world.shape_voxel + voxel) + i
            p, v = read(positions, tables.mass_body[mass]), read(velocities, tables.mass_body[mass])
            arm = tables.mass_arm[mass]
            r = vec2(p[2] * arm[0] - p[3] * arm[1], p[3] * arm[0] + p[2] * arm[1])
            place = vec2(p[0], p[1]) + r
            velocity += vec2(v[0] - v[2] * r[1], v[1] + v[2] * r[0]) * real(0.25)
            # the outer corner of the mass, a corner of the voxel
            half = real(0.5) * tables.materials[row * MATERIAL_STRIDE + M_MASS_SIDE]
            ox, oy = half, half
            if i == 0 or i == 3:
                ox = -half
            if i >= 2:
                oy = -half
            corner = place + vec2(p[2] * ox - p[3] * oy, p[3] * ox + p[2] * oy)
            if i == 0:
                north_west = place
                first = corner
            else:
                outer_area += last[0] * corner[1] - last[1] * corner[0]
            last = corner
            if i == 1:
                north_east = place
            if i == 2:
                south_east = place
            if i == 3:
                south_west = place
        outer_area += last[0] * first[1] - last[1] * first[0]
        if kind == AREA:
            return real(-0.5) * outer_area / (side * side)
        if kind == SPEED:
            return wp.length(velocity)
        if kind == X_SPEED:
            return velocity[0]
        if kind == Y_SPEED:
            return velocity[1]
        if kind == CRUMPLING:
            near = real(_CRUMPLED) * side
            count = real(0.0)
            if wp.length(north_west - north_east) < near:
                count += real(1.0)
            if wp.length(north_east - south_east) < near:
                count += real(1.0)
            if wp.length(south_east - south_west) < near:
                count += real(1.0)
            if wp.length(south_west - north_west) < near:
                count += real(1.0)
            if wp.length(north_west - south_east) < near:
                count += real(1.0)
            if wp.length(north_east - south_west) < near:
                count += real(1.0)
            return count / real(6.0)
        # The mean of two directions is the direction of the sum of their unit vectors.
        ahead = direction(north_west, north_east) + direction(south_west, south_east)
        ahead = ahead / wp.max(wp.length(ahead), real(1.0e-12))
        if kind == ANGLE:
            return wp.atan2(ahead[1], ahead[0])
        if kind == X_ROTATED:
            return wp.dot(velocity, ahead)
        if kind == Y_ROTATED:
            return velocity[1] * ahead[0] - velocity[0] * ahead[1]
        cs, sn = wp.cos(settings[0]), wp.sin(settings[0])
        ray = vec2(ahead[0] * cs - ahead[1] * sn, ahead[1] * cs + ahead[0] * sn)
        origin = (north_west + north_east + south_east + south_west) * real(0.25)
        distance = ground(terrain, origin, ray, settings[1])
        if wp.static(paired):
            own = tables.body_surface[world.shape_body + tables.mass_body[4 * (world.shape_voxel + voxel)]][3]
            for b in range(world.body_count):
                if tables.body_surface[world.shape_body + b][3] != own:
                    found = beside(read(positions, b), tables.body_box[world.shape_body + b], origin, ray, settings[1])
                    distance = wp.min(distance, found)
        return distance / settings[1]

    return reading


@functools.cache
def sense(types: Layout, paired: bool) -> wp.Function:
    """Inputs of one controller: readings, with noise, seen through their windows."""
    real = types.real
    World, Tables, Motion, Terrain, Sensors = (
        types.World, types.Tables, types.Motion, types.Terrain, sensor_layout(types.real),
    )  # fmt: skip
    reading = voxel_reading(types, paired)

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
                value += settings[3] * real(wp.randn(random))
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
