"""How far a point is from a shape, the slope of that, and how the shape curves, in single or double precision alike.

Points are in the frame of the shape: its middle is the origin, rods lie along z. Every function returns

- the gap [m], negative inside;
- its gradient, a vector: of length 1 outwards for shapes in closed form, and nearly so for grids, where it is the exact
  slope of the interpolant, so that forces that follow from it have an energy;
- the curvature c [1/m] and a direction a along which the surface is straight (0 where there is none): the second
  derivatives of the gap are c (I − n n' − a a'), where n is the gradient. Grids say 0.

All arguments are of one precision: float32 and vec3, or float64 and vec3d.
"""
# Annotations are not postponed here: Warp reads the types of the functions below from their closures.

from typing import Any

import warp as wp

wp.set_module_options({"enable_backward": False})

PLANE, SPHERE, BOX, CYLINDER, CAPSULE, GRID, HEIGHTS = range(7)
"""Kinds of geometries, the same for every physics."""
TINY = 1.0e-20
"""Distance from the middle of a round shape below which directions mean nothing [m]."""


@wp.func
def plane_gap(normal: Any, x: Any):
    """Above a plane through the origin."""
    return wp.dot(normal, x), normal, x[0] - x[0], type(x)()


@wp.func
def sphere_gap(radius: Any, x: Any):
    """Around a ball."""
    distance = wp.max(wp.length(x), type(radius)(TINY))
    return distance - radius, x / distance, type(radius)(1.0) / distance, type(x)()


@wp.func
def capsule_gap(radius: Any, half: Any, x: Any):
    """Around a cylinder with half a ball on each end; `half` is half the length of the straight part [m]."""
    zero = type(radius)(0.0)
    one = type(radius)(1.0)
    away = type(x)(x[0], x[1], x[2] - wp.clamp(x[2], -half, half))
    distance = wp.max(wp.length(away), type(radius)(TINY))
    straight = type(x)()
    if wp.abs(x[2]) < half:
        straight = type(x)(zero, zero, one)
    return distance - radius, away / distance, one / distance, straight


@wp.func
def cylinder_gap(radius: Any, half: Any, x: Any):
    """Around a cylinder with flat ends; `half` is half its length [m]."""
    zero = type(radius)(0.0)
    one = type(radius)(1.0)
    across = wp.max(wp.sqrt(x[0] * x[0] + x[1] * x[1]), type(radius)(TINY))
    side = across - radius
    end = wp.abs(x[2]) - half
    radial = type(x)(x[0] / across, x[1] / across, zero)
    axial = type(x)(zero, zero, wp.where(x[2] < zero, -one, one))
    gap = side
    gradient = radial
    curvature = one / across
    straight = type(x)(zero, zero, one)
    if end > side:
        gap = end
        gradient = axial
        curvature = zero
    if side > zero and end > zero:  # beside the rim, which is taken for straight
        gap = wp.sqrt(side * side + end * end)
        gradient = (side * radial + end * axial) / gap
        curvature = one / gap
        straight = type(x)(-radial[1], radial[0], zero)
    return gap, gradient, curvature, straight


@wp.func
def box_gap(size: Any, x: Any):
    """Around a box with half sides `size` [m]."""
    zero = x[0] - x[0]
    one = type(zero)(1.0)
    beyond = type(x)(wp.abs(x[0]) - size[0], wp.abs(x[1]) - size[1], wp.abs(x[2]) - size[2])
    outside = type(x)(wp.max(beyond[0], zero), wp.max(beyond[1], zero), wp.max(beyond[2], zero))
    gap = wp.length(outside)
    gradient = outside / wp.max(gap, type(zero)(TINY))
    curvature = zero
    straight = type(x)()
    sides = int(0)
    for i in range(3):
        if outside[i] > zero:
            sides += 1
        else:
            straight[i] = one
    if sides >= 2:
        curvature = one / gap
    if sides == 3:
        straight = type(x)()
    if sides == 0:  # inside: out through the nearest face
        gap = wp.max(wp.max(beyond[0], beyond[1]), beyond[2])
        gradient = type(x)(zero, zero, one)
        if beyond[1] == gap:
            gradient = type(x)(zero, one, zero)
        if beyond[0] == gap:
            gradient = type(x)(one, zero, zero)
    for i in range(3):
        if x[i] < zero:
            gradient[i] = -gradient[i]
    return gap, gradient, curvature, straight


@wp.func
def spline_weights(u: Any):
    """Weights of three neighbouring nodes at u from the middle one, between −1/2 and 1/2: a quadratic B-spline."""
    half = type(u)(0.5)
    return wp.vector(half * (half - u) * (half - u), type(u)(0.75) - u * u, half * (half + u) * (half + u))


@wp.func
def spline_slopes(u: Any):
    """Slopes of these weights."""
    half = type(u)(0.5)
    return wp.vector(u - half, type(u)(-2.0) * u, u + half)


@wp.func
def middle_node(x: Any, nodes: int):
    """Number of the middle one of the three nodes nearest to a coordinate in units of the spacing."""
    return wp.clamp(int(x + type(x)(0.5)), 1, nodes - 2)


@wp.func
def grid_gap(values: wp.array[wp.float32], first: int, nodes: wp.vec3i, origin: Any, spacing: Any, x: Any):
    """In a grid of signed distances, smoothly interpolated by quadratic B-splines, which round edges by a cell.

    Beyond the grid the gap is the root of a sum of squares: the distance to the grid and the value where it is
    nearest.

    Args:
        values: Distances of this and perhaps other grids [m].
        first: Where those of this grid begin; the last index is the fastest.
        nodes: Number of nodes along each axis, at least 3.
        origin: The first node [m].
        spacing: Distance between neighbouring nodes [m].
        x: The point [m].
    """
    zero = type(spacing)(0.0)
    half = type(spacing)(0.5)
    local = (x - origin) / spacing
    px = wp.clamp(local[0], half, type(spacing)(nodes[0]) - type(spacing)(1.5))
    py = wp.clamp(local[1], half, type(spacing)(nodes[1]) - type(spacing)(1.5))
    pz = wp.clamp(local[2], half, type(spacing)(nodes[2]) - type(spacing)(1.5))
    i = middle_node(px, nodes[0])
    j = middle_node(py, nodes[1])
    k = middle_node(pz, nodes[2])
    wx = spline_weights(px - type(spacing)(i))
    wy = spline_weights(py - type(spacing)(j))
    wz = spline_weights(pz - type(spacing)(k))
    sx = spline_slopes(px - type(spacing)(i))
    sy = spline_slopes(py - type(spacing)(j))
    sz = spline_slopes(pz - type(spacing)(k))
    gap = type(spacing)(0.0)
    slope = type(x)()
    for a in range(3):
        for b in range(3):
            for c in range(3):
                at = first + ((i + a - 1) * nodes[1] + j + b - 1) * nodes[2] + k + c - 1
                value = type(spacing)(values[at])
                gap += wx[a] * wy[b] * wz[c] * value
                slope += value * type(x)(sx[a] * wy[b] * wz[c], wx[a] * sy[b] * wz[c], wx[a] * wy[b] * sz[c])
    gradient = slope / spacing
    beyond = spacing * (local - type(x)(px, py, pz))
    if wp.length_sq(beyond) > zero:
        inner = wp.max(gap, zero)
        gap = wp.sqrt(wp.length_sq(beyond) + inner * inner)
        for axis in range(3):  # along the axes on which the point is beyond, the inner value does not change
            if beyond[axis] == zero:
                gradient[axis] = inner * gradient[axis] / gap
            else:
                gradient[axis] = beyond[axis] / gap
    return gap, gradient, zero, type(x)()


@wp.func
def heights_gap(values: wp.array[wp.float32], first: int, nodes: wp.vec3i, origin: Any, spacing: Any, x: Any):
    """Above a field of heights over x and y, smoothly interpolated by quadratic B-splines; flat beyond the rim.

    The gap is the height above the ground times the cosine of its steepest slope: never more than the distance.

    Args:
        values: Heights of this and perhaps other fields [m].
        first: Where those of this field begin; y is the fastest.
        nodes: Number of heights along x and y.
        origin: Where the first height is, x and y [m], and the cosine of the steepest slope.
        spacing: Distance between neighbouring heights along x and y [m].
        x: The point [m].
    """
    one = type(x[0])(1.0)
    zero = type(x[0])(0.0)
    u = (x[0] - origin[0]) / spacing[0]
    v = (x[1] - origin[1]) / spacing[1]
    # Half a cell beyond the rim the spline has got flat.
    half = type(x[0])(0.5)
    pu = wp.clamp(u, -half, type(x[0])(nodes[0]) - half)
    pv = wp.clamp(v, -half, type(x[0])(nodes[1]) - half)
    i = wp.clamp(int(pu + half), 0, nodes[0] - 1)
    j = wp.clamp(int(pv + half), 0, nodes[1] - 1)
    wx = spline_weights(pu - type(x[0])(i))
    wy = spline_weights(pv - type(x[0])(j))
    sx = spline_slopes(pu - type(x[0])(i))
    sy = spline_slopes(pv - type(x[0])(j))
    height = type(x[0])(0.0)
    dx = type(x[0])(0.0)
    dy = type(x[0])(0.0)
    for a in range(3):
        for b in range(3):
            at = wp.clamp(i + a - 1, 0, nodes[0] - 1) * nodes[1] + wp.clamp(j + b - 1, 0, nodes[1] - 1)
            value = type(x[0])(values[first + at])
            height += wx[a] * wy[b] * value
            dx += sx[a] * wy[b] * value / spacing[0]
            dy += wx[a] * sy[b] * value / spacing[1]
    if u != pu:
        dx = zero
    if v != pv:
        dy = zero
    cosine = origin[2]
    return cosine * (x[2] - height), cosine * type(x)(-dx, -dy, one), zero, type(x)()
