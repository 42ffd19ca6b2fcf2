"""Integrals over the wet part of a triangle whose corners lie at given depths below the level of a fluid.

With d the depth, linear on the triangle, the part where d > 0 is the whole triangle, a tip, or all but a tip. Inside a
closed surface with area vectors A, whose vertical parts are A_z, vertical fields turn volumes into such integrals:

    ∫ dV = -Σ A_z ⟨d₊⟩,   ∫ u dV = -Σ A_z ⟨u d₊⟩ (u horizontal),   ∫ d dV = -Σ A_z ⟨d₊²⟩ / 2,

where ⟨ ⟩ is the mean over a triangle. The surface of the fluid adds nothing, because d vanishes there.
"""

import warp as wp

wp.set_module_options({"enable_backward": False, "fuse_fp": False})

_0 = wp.constant(wp.float64(0.0))
_1 = wp.constant(wp.float64(1.0))
_2 = wp.constant(wp.float64(2.0))
_4 = wp.constant(wp.float64(4.0))
_6 = wp.constant(wp.float64(6.0))
_12 = wp.constant(wp.float64(12.0))


@wp.func
def lone_corner(d: wp.vec3d) -> int:
    """The corner that is alone on its side of the level; -1 if all are wet, -2 if all are dry."""
    wet = int(0)
    for i in range(3):
        if d[i] > _0:
            wet += 1
    if wet == 3:
        return -1
    if wet == 0:
        return -2
    for i in range(2):
        if (d[i] > _0) == (wet == 1):
            return i
    return 2


@wp.func
def _full_means(d: wp.vec3d, u: wp.vec3d, v: wp.vec3d) -> wp.vec4d:
    """⟨d⟩, ⟨u d⟩, ⟨v d⟩, ⟨d²⟩ over a whole triangle."""
    sum = d[0] + d[1] + d[2]
    return (
        wp.vec4d(
            _4 * sum,
            wp.dot(u, d) + (u[0] + u[1] + u[2]) * sum,
            wp.dot(v, d) + (v[0] + v[1] + v[2]) * sum,
            wp.dot(d, d) + sum * sum,
        )
        / _12
    )


@wp.func
def wet_means(d: wp.vec3d, u: wp.vec3d, v: wp.vec3d, clip: int) -> wp.vec4d:
    """⟨d₊⟩, ⟨u d₊⟩, ⟨v d₊⟩, ⟨d₊²⟩ over a triangle; without `clip`, depths count as they are."""
    lone = int(-1)
    if clip != 0:
        lone = lone_corner(d)
    if lone == -1:
        return _full_means(d, u, v)
    if lone == -2:
        return wp.vec4d()
    j = (lone + 1) % 3
    k = (lone + 2) % 3
    depth = d[lone]
    x = depth / (depth - d[j])
    y = depth / (depth - d[k])
    tip_u = wp.vec3d(u[lone], u[lone] + x * (u[j] - u[lone]), u[lone] + y * (u[k] - u[lone]))
    tip_v = wp.vec3d(v[lone], v[lone] + x * (v[j] - v[lone]), v[lone] + y * (v[k] - v[lone]))
    tip = (x * y) * _full_means(wp.vec3d(depth, _0, _0), tip_u, tip_v)
    if depth > _0:
        return tip
    return _full_means(d, u, v) - tip


@wp.func
def wet_area(d: wp.vec3d) -> wp.float64:
    """Wet part of the area of a triangle."""
    lone = lone_corner(d)
    if lone == -1:
        return _1
    if lone == -2:
        return _0
    depth = d[lone]
    part = depth * depth / ((depth - d[(lone + 1) % 3]) * (depth - d[(lone + 2) % 3]))
    if depth > _0:
        return part
    return _1 - part


@wp.func
def square_slope(d: wp.vec3d, clip: int) -> wp.vec3d:
    """Derivatives of ⟨d₊²⟩ by the three depths."""
    sum = d[0] + d[1] + d[2]
    full = (d + wp.vec3d(sum, sum, sum)) / _6
    lone = int(-1)
    if clip != 0:
        lone = lone_corner(d)
    if lone == -1:
        return full
    if lone == -2:
        return wp.vec3d()
    j = (lone + 1) % 3
    k = (lone + 2) % 3
    depth = d[lone]
    x = depth / (depth - d[j])
    y = depth / (depth - d[k])
    scale = depth * x * y / _6
    tip = wp.vec3d()
    tip[lone] = scale * (_4 - x - y)
    tip[j] = scale * x
    tip[k] = scale * y
    if depth > _0:
        return tip
    return full - tip


@wp.func
def square_bend(d: wp.vec3d, clip: int) -> wp.mat33d:
    """Second derivatives of ⟨d₊²⟩ by the three depths."""
    full = wp.mat33d(_2, _1, _1, _1, _2, _1, _1, _1, _2) / _6
    lone = int(-1)
    if clip != 0:
        lone = lone_corner(d)
    if lone == -1:
        return full
    if lone == -2:
        return wp.mat33d()
    j = (lone + 1) % 3
    k = (lone + 2) % 3
    depth = d[lone]
    x = depth / (depth - d[j])
    y = depth / (depth - d[k])
    scale = x * y / _6
    own = _4 - x - y
    tip = wp.mat33d()
    tip[lone, lone] = scale * (own * own - _4 + x * x + y * y)
    tip[lone, j] = scale * x * (own - x)
    tip[lone, k] = scale * y * (own - y)
    tip[j, j] = _2 * scale * x * x
    tip[k, k] = _2 * scale * y * y
    tip[j, k] = scale * x * y
    tip[j, lone] = tip[lone, j]
    tip[k, lone] = tip[lone, k]
    tip[k, j] = tip[j, k]
    if depth > _0:
        return tip
    return full - tip
