"""A baked signed distance inside kernels: the struct `SdfGrid` and the function `sdf_sample`, for any package."""

# mypy: ignore-errors
# Warp compiles this module; its annotations mean nothing to a Python type checker.
from __future__ import annotations

import warp as wp

wp.set_module_options({"enable_backward": False})


@wp.struct
class SdfGrid:
    """Signed distances at the nodes origin + spacing (i, j, k), at least two along each axis."""

    values: wp.array3d[wp.float32]  # [m], negative inside
    origin: wp.vec3  # [m]
    spacing: wp.float32  # [m]


@wp.func
def _outside(beyond: float, inner: float) -> float:
    """Slope along one axis, times the distance, outside the grid."""
    if beyond != 0.0:
        return beyond
    return inner


@wp.func
def sdf_sample(grid: SdfGrid, point: wp.vec3) -> wp.vec4:
    """Gradient (x, y, z) and signed distance [m] (w) at a point [m], trilinear.

    The gradient is that of the interpolant: outwards, of a length near 1 except at edges and half-way between surfaces.
    Outside the grid the distance is the root of a sum of squares: the distance to the grid and the value at the closest
    point of the grid. The true distance is not smaller, because the whole surface lies inside the grid.
    """
    last = wp.vec3i(grid.values.shape[0] - 1, grid.values.shape[1] - 1, grid.values.shape[2] - 1)
    local = (point - grid.origin) / grid.spacing
    x = wp.clamp(local[0], 0.0, float(last[0]))
    y = wp.clamp(local[1], 0.0, float(last[1]))
    z = wp.clamp(local[2], 0.0, float(last[2]))
    # The integers are clamped as well: a point that is not a number must not read outside the array.
    i = wp.clamp(int(x), 0, last[0] - 1)
    j = wp.clamp(int(y), 0, last[1] - 1)
    k = wp.clamp(int(z), 0, last[2] - 1)
    u = x - float(i)
    v = y - float(j)
    w = z - float(k)

    d000 = grid.values[i, j, k]
    d001 = grid.values[i, j, k + 1]
    d010 = grid.values[i, j + 1, k]
    d011 = grid.values[i, j + 1, k + 1]
    d100 = grid.values[i + 1, j, k]
    d101 = grid.values[i + 1, j, k + 1]
    d110 = grid.values[i + 1, j + 1, k]
    d111 = grid.values[i + 1, j + 1, k + 1]

    low = wp.lerp(wp.lerp(d000, d001, w), wp.lerp(d010, d011, w), v)
    high = wp.lerp(wp.lerp(d100, d101, w), wp.lerp(d110, d111, w), v)
    distance = wp.lerp(low, high, u)
    front = wp.lerp(wp.lerp(d000, d001, w), wp.lerp(d100, d101, w), u)
    back = wp.lerp(wp.lerp(d010, d011, w), wp.lerp(d110, d111, w), u)
    below = wp.lerp(wp.lerp(d000, d010, v), wp.lerp(d100, d110, v), u)
    above = wp.lerp(wp.lerp(d001, d011, v), wp.lerp(d101, d111, v), u)
    gradient = wp.vec3(high - low, back - front, above - below) / grid.spacing

    beyond = grid.spacing * (local - wp.vec3(x, y, z))
    gap = wp.length(beyond)
    if gap > 0.0:
        inner = wp.max(distance, 0.0)
        distance = wp.sqrt(gap * gap + inner * inner)
        slope = inner * gradient
        gradient = (
            wp.vec3(_outside(beyond[0], slope[0]), _outside(beyond[1], slope[1]), _outside(beyond[2], slope[2]))
            / distance
        )
    return wp.vec4(gradient[0], gradient[1], gradient[2], distance)


@wp.kernel
def sample_points(
    grid: SdfGrid,
    points: wp.array[wp.vec3],
    # Out:
    distance_out: wp.array[wp.float32],
    gradient_out: wp.array[wp.vec3],
):
    i = wp.tid()
    sample = sdf_sample(grid, points[i])
    distance_out[i] = sample[3]
    gradient_out[i] = wp.vec3(sample[0], sample[1], sample[2])
