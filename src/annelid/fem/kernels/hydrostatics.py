"""Pressure of a pump and of a fluid on the triangles of a cavity, with exact derivatives; volume and its slope.

A pressure p does the work p dV, and a fluid of specific weight γ presses with γ d at the depth d. Their potential is

    U = -p V - γ ∫ d dV = Σ [ -p v_t + γ A_z ⟨d²⟩ / 2 ],

with v_t the volume between a triangle and a fixed point and A_z the vertical part of its area vector; where the fluid
has a surface, only the part below it counts (see `wet`). Each term is a function of one triangle, so its Hessian is
too. A given volume V_f of fluid, whose level L follows the walls, adds γ L V_f, whose change with L cancels that of the
rest. Parts that cancel in the sum over a closed surface differ from triangle to triangle; only nodal sums are physical.
"""

import warp as wp

from annelid.fem.kernels.wet import square_bend, square_slope, wet_means

wp.set_module_options({"enable_backward": False})

_0 = wp.constant(wp.float64(0.0))
_HALF = wp.constant(wp.float64(0.5))
_SIXTH = wp.constant(wp.float64(1.0 / 6.0))


@wp.kernel
def press(
    offset: int,
    # Parameters:
    triangles: wp.array2d[wp.int32], origin: wp.vec3d, up: wp.vec3d, weight: wp.float64, held: wp.float64,
    share: wp.float64, clip: int, wanted: int,
    # State in:
    pressure: wp.array[wp.float64], level: wp.array[wp.float64], positions: wp.array[wp.vec3d],
    # State out:
    energy_out: wp.array[wp.float64], forces_out: wp.array2d[wp.vec3d],
    tangent_out: wp.array3d[wp.mat33d],
):  # fmt: skip
    """Energy, forces and, where wanted, tangent of every triangle, under a share of pressure and weight."""
    t = offset + wp.tid()
    a = positions[triangles[t, 0]] - origin
    b = positions[triangles[t, 1]] - origin
    c = positions[triangles[t, 2]] - origin
    p = share * pressure[0]
    high = level[0] - wp.dot(up, origin)
    d = wp.vec3d(high - wp.dot(up, a), high - wp.dot(up, b), high - wp.dot(up, c))
    square = wet_means(d, wp.vec3d(), wp.vec3d(), clip)[3]
    slope = square_slope(d, clip)
    area = _HALF * wp.dot(up, wp.cross(b - a, c - a))
    turned_a = _HALF * wp.cross(b - c, up)
    turned_b = _HALF * wp.cross(c - a, up)
    turned_c = _HALF * wp.cross(a - b, up)
    half = _HALF * share * weight
    energy_out[t] = -p * wp.dot(a, wp.cross(b, c)) * _SIXTH + half * area * square + share * held * level[0]
    forces_out[t, 0] = (p * _SIXTH) * wp.cross(b, c) - half * (square * turned_a - (area * slope[0]) * up)
    forces_out[t, 1] = (p * _SIXTH) * wp.cross(c, a) - half * (square * turned_b - (area * slope[1]) * up)
    forces_out[t, 2] = (p * _SIXTH) * wp.cross(a, b) - half * (square * turned_c - (area * slope[2]) * up)
    if wanted != 0:
        bend = square_bend(d, clip)
        vertical = wp.outer(up, up)
        spin = half * _HALF * square * wp.skew(up)
        sixth = p * _SIXTH
        for i in range(3):
            turned_i = wp.where(i == 0, turned_a, wp.where(i == 1, turned_b, turned_c))
            for j in range(3):
                turned_j = wp.where(j == 0, turned_a, wp.where(j == 1, turned_b, turned_c))
                block = half * (
                    (area * bend[i, j]) * vertical
                    - slope[j] * wp.outer(turned_i, up)
                    - slope[i] * wp.outer(up, turned_j)
                )
                if i != j:
                    k = 3 - i - j
                    opposite = wp.where(k == 0, a, wp.where(k == 1, b, c))
                    # j follows i around the triangle, or precedes it.
                    sign = wp.where((i + 1) % 3 == j, wp.float64(1.0), wp.float64(-1.0))
                    block = block + sign * (sixth * wp.skew(opposite) - spin)
                tangent_out[t, i, j] = block


@wp.kernel
def measure_volume(
    # Parameters:
    triangles: wp.array2d[wp.int32], origin: wp.vec3d,
    # State in:
    positions: wp.array[wp.vec3d],
    # State out:
    volume_out: wp.array[wp.float64],
):  # fmt: skip
    """Volume of a cavity. One block."""
    _, lane = wp.tid()
    sum = _0
    for t in range(lane, triangles.shape[0], wp.block_dim()):
        a = positions[triangles[t, 0]] - origin
        b = positions[triangles[t, 1]] - origin
        c = positions[triangles[t, 2]] - origin
        sum += _SIXTH * wp.dot(a, wp.cross(b, c))
    total = wp.tile_sum(wp.tile(sum))
    if lane == 0:
        volume_out[0] = total[0]


@wp.kernel
def volume_slope(
    # Parameters:
    triangles: wp.array2d[wp.int32], first: wp.array[wp.int32], corner: wp.array[wp.int32],
    # State in:
    positions: wp.array[wp.vec3d],
    # State out:
    slope_out: wp.array[wp.vec3d],
):  # fmt: skip
    """∂V/∂x of each node of the cavity: a third of the area vectors of the triangles around it."""
    i = wp.tid()
    sum = wp.vec3d()
    for q in range(first[i], first[i + 1]):
        t = corner[q] // 3
        a = positions[triangles[t, 0]]
        sum += wp.cross(positions[triangles[t, 1]] - a, positions[triangles[t, 2]] - a)
    slope_out[i] = _SIXTH * sum


@wp.func
def _wet_share(d: wp.vec3d) -> wp.float64:
    """Mean over a triangle of the shape function of its first corner, on the wet part only."""
    third = wp.float64(1.0 / 3.0)
    if d[0] > _0 and d[1] > _0 and d[2] > _0:
        return third
    if d[0] <= _0 and d[1] <= _0 and d[2] <= _0:
        return _0
    # The tip around the lone corner has sides shortened by x and y, and so the area x y.
    if (d[1] > _0) == (d[2] > _0):  # the first corner is alone
        x = d[0] / (d[0] - d[1])
        y = d[0] / (d[0] - d[2])
        tip = x * y * third * (wp.float64(3.0) - x - y)
        if d[0] > _0:
            return tip
        return third - tip
    lone = wp.where((d[0] > _0) == (d[1] > _0), d[2], d[1])
    other = wp.where((d[0] > _0) == (d[1] > _0), d[1], d[2])
    x = lone / (lone - d[0])
    y = lone / (lone - other)
    tip = x * y * third * x
    if lone > _0:
        return tip
    return third - tip


@wp.kernel
def level_slope(
    # Parameters:
    triangles: wp.array2d[wp.int32], first: wp.array[wp.int32], corner: wp.array[wp.int32],
    up: wp.vec3d,
    # State in:
    level: wp.array[wp.float64], positions: wp.array[wp.vec3d],
    # State out:
    slope_out: wp.array[wp.vec3d],
):  # fmt: skip
    """Slope of the wet volume by each node of the cavity, at a fixed level: shares of wet area vectors."""
    i = wp.tid()
    sum = wp.vec3d()
    for q in range(first[i], first[i + 1]):
        t = corner[q] // 3
        k = corner[q] % 3
        a = positions[triangles[t, k]]
        b = positions[triangles[t, (k + 1) % 3]]
        c = positions[triangles[t, (k + 2) % 3]]
        d = wp.vec3d(level[0] - wp.dot(up, a), level[0] - wp.dot(up, b), level[0] - wp.dot(up, c))
        sum += _wet_share(d) * _HALF * wp.cross(b - a, c - a)
    slope_out[i] = sum
