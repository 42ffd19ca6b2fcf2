"""The level below which a cavity holds a given volume: a Newton iteration inside a bracket, in one block."""

import warp as wp

from annelid.fem.kernels.wet import wet_area, wet_means

wp.set_module_options({"enable_backward": False})

_0 = wp.constant(wp.float64(0.0))
_HALF = wp.constant(wp.float64(0.5))
_FAR = wp.constant(wp.float64(1.0e300))
_CLOSE = wp.constant(wp.float64(1.0e-14))  # of the cavity's height
_MOST_STEPS = wp.constant(100)


@wp.func
def _held(
    triangles: wp.array2d[wp.int32], up: wp.vec3d, positions: wp.array[wp.vec3d], level: wp.float64,
    lane: int, width: int,
):  # fmt: skip
    """A lane's share of the volume below a level and of the area of the surface."""
    sum = wp.vec2d()
    for t in range(lane, triangles.shape[0], width):
        a = positions[triangles[t, 0]]
        b = positions[triangles[t, 1]]
        c = positions[triangles[t, 2]]
        area = -_HALF * wp.dot(up, wp.cross(b - a, c - a))
        depth = wp.vec3d(level - wp.dot(up, a), level - wp.dot(up, b), level - wp.dot(up, c))
        means = wet_means(depth, wp.vec3d(), wp.vec3d(), 1)
        sum += area * wp.vec2d(means[0], wet_area(depth))
    return sum


@wp.kernel
def find_level(
    # Parameters:
    triangles: wp.array2d[wp.int32], up: wp.vec3d, volume: wp.float64,
    # State in:
    positions: wp.array[wp.vec3d],
    # State out:
    level_out: wp.array[wp.float64], area_out: wp.array[wp.float64],
):  # fmt: skip
    """One block. A cavity that holds less than the volume is full to its highest point."""
    _, lane = wp.tid()
    width = wp.block_dim()
    low = _FAR
    high = -_FAR
    for t in range(lane, triangles.shape[0], width):
        for i in range(3):
            z = wp.dot(up, positions[triangles[t, i]])
            low = wp.min(low, z)
            high = wp.max(high, z)
    lowest = wp.tile_min(wp.tile(low))
    highest = wp.tile_max(wp.tile(high))
    low = lowest[0]
    high = highest[0]
    close = _CLOSE * (high - low)
    level = _HALF * (low + high)
    area = _0
    steps = int(0)
    searching = bool(True)
    while searching:
        share = _held(triangles, up, positions, level, lane, width)
        held = wp.tile_sum(wp.tile(share[0]))
        surface = wp.tile_sum(wp.tile(share[1]))
        missing = volume - held[0]
        area = surface[0]
        if missing > _0:
            low = level
        else:
            high = level
        before = level
        level = _HALF * (low + high)
        if area > _0:
            newton = before + missing / area
            if newton >= low and newton <= high:
                level = newton
        steps += 1
        if wp.abs(level - before) <= close or high - low <= close or steps >= _MOST_STEPS:
            searching = False
    if lane == 0:
        level_out[0] = level
        area_out[0] = area
