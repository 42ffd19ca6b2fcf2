"""How far a point is from a shape, the slope of that, and how the shape curves, in single or double precision alike.

Points are in the frame of the shape: its middle is the origin, rods lie along z. Every function returns

- the gap [m], negative inside;
- its gradient, a vector: of length 1 outwards for shapes in closed form, and nearly so for grids, where it is the exact
  slope of the interpolant, so that forces that follow from it have an energy;
- the curvature c [1/m] and a vector a: the second derivatives of the gap are c (I − n n' − a a'), where n is the
  gradient. The vector is a unit one along which the surface is straight, 0 on a sphere, and of another length where the
  surface curves otherwise along it. Grids and heights say 0.

All arguments are of one precision: float32 and vec3, or float64 and vec3d. Closed forms take what sizes the shape, and
the point. `kernels.geometry` chooses among them.
"""
# Annotations are not postponed here: Warp reads the types of the functions below from their closures.

from typing import Any

import warp as wp

from annelid.core.kernels.loading import once

wp.set_module_options({"enable_backward": False})

PLANE, SPHERE, BOX, CYLINDER, CAPSULE, TORUS, GRID, HEIGHTS = range(8)
"""Kinds of geometries, the same for every physics; those up to capsules are convex."""
ONE_SIDED = (PLANE, HEIGHTS)
"""Kinds that nothing can leave on another side than it came from."""
TINY = 1.0e-20
"""Distance from the middle of a round shape below which directions mean nothing [m]."""


@wp.func
def plane_gap(normal: Any, x: Any):
    """Above a plane through the origin."""
    return wp.dot(normal, x), normal, x[0] - x[0], type(x)()


@wp.func
def sphere_gap(size: Any, x: Any):
    """Around a ball of radius size[0]."""
    distance = wp.max(wp.length(x), type(x[0])(TINY))
    return distance - size[0], x / distance, type(x[0])(1.0) / distance, type(x)()


@wp.func
def capsule_gap(size: Any, x: Any):
    """Around a cylinder of radius size[0] with half a ball on each end; size[1] is half its straight length."""
    radius = size[0]
    half = size[1]
    zero = type(radius)(0.0)
    one = type(radius)(1.0)
    away = type(x)(x[0], x[1], x[2] - wp.clamp(x[2], -half, half))
    distance = wp.max(wp.length(away), type(radius)(TINY))
    straight = type(x)()
    if wp.abs(x[2]) < half:
        straight = type(x)(zero, zero, one)
    return distance - radius, away / distance, one / distance, straight


@wp.func
def cylinder_gap(size: Any, x: Any):
    """Around a cylinder of radius size[0] with flat ends; size[1] is half its length."""
    radius = size[0]
    half = size[1]
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
    if side > zero and end > zero:  # beside the rim, whose circle is of the radius
        gap = wp.sqrt(side * side + end * end)
        gradient = (side * radial + end * axial) / gap
        curvature = one / gap
        straight = wp.sqrt(radius / across) * type(x)(-radial[1], radial[0], zero)
    return gap, gradient, curvature, straight


@wp.func
def box_gap(size: Any, x: Any):
    """Around a box with half sides `size` [m]."""
    zero = x[0] - x[0]
    one = type(zero)(1.0)
    beyond = type(x)(wp.abs(x[0]) - size[0], wp.abs(x[1]) - size[1], wp.abs(x[2]) - size[2])
    less = wp.min(beyond[0], beyond[1])
    more = wp.max(beyond[0], beyond[1])
    gap = wp.max(more, beyond[2])  # beside a face, and inside, out through the nearest one
    gradient = type(x)(zero, zero, one)
    if beyond[1] == gap:
        gradient = type(x)(zero, one, zero)
    if beyond[0] == gap:
        gradient = type(x)(one, zero, zero)
    curvature = zero
    straight = type(x)()
    if wp.max(less, wp.min(more, beyond[2])) > zero:  # beside an edge or a corner
        outside = type(x)(wp.max(beyond[0], zero), wp.max(beyond[1], zero), wp.max(beyond[2], zero))
        gap = wp.length(outside)
        gradient = outside / gap
        curvature = one / gap
        if wp.min(less, beyond[2]) <= zero:
            straight = type(x)(
                wp.where(outside[0] > zero, zero, one),
                wp.where(outside[1] > zero, zero, one),
                wp.where(outside[2] > zero, zero, one),
            )
    gradient = type(x)(wp.sign(x[0]) * gradient[0], wp.sign(x[1]) * gradient[1], wp.sign(x[2]) * gradient[2])
    return gap, gradient, curvature, straight


@wp.func
def torus_gap(size: Any, x: Any):
    """Around a ring of radius size[0], whose section has the radius size[1]."""
    zero = type(x[0])(0.0)
    across = wp.max(wp.sqrt(x[0] * x[0] + x[1] * x[1]), type(x[0])(TINY))
    radial = type(x)(x[0] / across, x[1] / across, zero)
    away = (across - size[0]) * radial + type(x)(zero, zero, x[2])
    distance = wp.max(wp.length(away), type(x[0])(TINY))
    straight = wp.sqrt(size[0] / across) * type(x)(-radial[1], radial[0], zero)
    return distance - size[1], away / distance, type(x[0])(1.0) / distance, straight


CLOSED_FORMS = {SPHERE: sphere_gap, BOX: box_gap, CYLINDER: cylinder_gap, CAPSULE: capsule_gap, TORUS: torus_gap}
"""Functions of the kinds that no grid is needed for."""


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
def spline_in_grid(values: wp.array[wp.float32], first: int, nodes: wp.vec3i, p: Any):
    """Value of a grid at a place in units of the spacing, and its slope per cell: smooth, of 27 nodes."""
    i = middle_node(p[0], nodes[0])
    j = middle_node(p[1], nodes[1])
    k = middle_node(p[2], nodes[2])
    wx = spline_weights(p[0] - type(p[0])(i))
    wy = spline_weights(p[1] - type(p[0])(j))
    wz = spline_weights(p[2] - type(p[0])(k))
    sx = spline_slopes(p[0] - type(p[0])(i))
    sy = spline_slopes(p[1] - type(p[0])(j))
    sz = spline_slopes(p[2] - type(p[0])(k))
    found = type(p[0])(0.0)
    slope = type(p)()
    for a in range(3):
        for b in range(3):
            for c in range(3):
                at = first + ((i + a - 1) * nodes[1] + j + b - 1) * nodes[2] + k + c - 1
                value = type(p[0])(values[at])
                found += wx[a] * wy[b] * wz[c] * value
                slope += value * type(p)(sx[a] * wy[b] * wz[c], wx[a] * sy[b] * wz[c], wx[a] * wy[b] * sz[c])
    return found, slope


@wp.func
def trilinear(low: Any, high: Any, u: Any, v: Any, w: Any):
    """Value in a cell and its slope per cell, from the corners at the low and the high end of its first axis.

    The four of an end rise along the last axis first.
    """
    below = wp.lerp(wp.lerp(low[0], low[1], w), wp.lerp(low[2], low[3], w), v)
    above = wp.lerp(wp.lerp(high[0], high[1], w), wp.lerp(high[2], high[3], w), v)
    front = wp.lerp(wp.lerp(low[0], low[1], w), wp.lerp(high[0], high[1], w), u)
    back = wp.lerp(wp.lerp(low[2], low[3], w), wp.lerp(high[2], high[3], w), u)
    bottom = wp.lerp(wp.lerp(low[0], low[2], v), wp.lerp(high[0], high[2], v), u)
    top = wp.lerp(wp.lerp(low[1], low[3], v), wp.lerp(high[1], high[3], v), u)
    return wp.lerp(below, above, u), wp.vector(above - below, back - front, top - bottom)


@wp.func
def low_node(x: Any, nodes: int):
    """Number of the node below a coordinate in units of the spacing, also of one that is not a number."""
    return wp.clamp(int(x), 0, nodes - 2)


@wp.func
def linear_in_grid(values: wp.array[wp.float32], first: int, nodes: wp.vec3i, p: Any):
    """Value of a grid at a place in units of the spacing, and its slope per cell: of 8 nodes, bent between cells."""
    i = low_node(p[0], nodes[0])
    j = low_node(p[1], nodes[1])
    k = low_node(p[2], nodes[2])
    nz = nodes[2]
    at = first + (i * nodes[1] + j) * nz + k
    on = at + nodes[1] * nz
    low = wp.vector(
        type(p[0])(values[at]), type(p[0])(values[at + 1]), type(p[0])(values[at + nz]), type(p[0])(values[at + nz + 1])
    )
    high = wp.vector(
        type(p[0])(values[on]), type(p[0])(values[on + 1]), type(p[0])(values[on + nz]), type(p[0])(values[on + nz + 1])
    )
    found, slope = trilinear(low, high, p[0] - type(p[0])(i), p[1] - type(p[0])(j), p[2] - type(p[0])(k))
    return found, slope


@wp.func
def smoothly_beyond(beyond: Any, gap: Any, gradient: Any):
    """Gap and slope beyond a grid, from those where it is nearest: the root of a sum of squares, an exact slope."""
    inner = wp.max(gap, type(gap)(0.0))
    found = wp.sqrt(wp.length_sq(beyond) + inner * inner)
    slope = type(beyond)()
    for axis in range(3):  # along the axes on which the point is beyond, the inner value does not change
        slope[axis] = wp.where(beyond[axis] == type(gap)(0.0), inner * gradient[axis], beyond[axis]) / found
    return found, slope


@wp.func
def straight_beyond(beyond: Any, gap: Any, gradient: Any):
    """Gap and normal beyond a grid: the way to what is nearest to the point where the grid is."""
    away = beyond + wp.max(gap, type(gap)(0.0)) * wp.normalize(gradient)
    found = wp.length(away)
    return found, away / found


@once
def grid_gap(smooth: bool, points: bool = False) -> wp.Function:
    """In a grid of signed distances, and beyond it.

    Quadratic B-splines are `smooth`, with exact slopes everywhere, and round edges by a cell; the slope of a trilinear
    function jumps between cells. To `points`, which have no radius, what is beyond a grid is as far as that: nothing is
    looked up.
    """
    in_grid, out, rim = (spline_in_grid, smoothly_beyond, 0.5) if smooth else (linear_in_grid, straight_beyond, 0.0)

    @wp.func
    def gap(values: wp.array[wp.float32], first: int, nodes: wp.vec3i, origin: Any, spacing: Any, x: Any):
        """Gap at a point.

        Args:
            values: Distances of this and perhaps other grids [m].
            first: Where those of this grid begin; the last index is the fastest.
            nodes: Number of nodes along each axis, at least 3.
            origin: The first node [m].
            spacing: Distance between neighbouring nodes [m].
            x: The point [m].
        """
        low = type(spacing)(wp.static(rim))
        last = type(spacing)(wp.static(1.0 + rim))
        local = (x - origin) / spacing
        inner = type(x)(
            wp.clamp(local[0], low, type(spacing)(nodes[0]) - last),
            wp.clamp(local[1], low, type(spacing)(nodes[1]) - last),
            wp.clamp(local[2], low, type(spacing)(nodes[2]) - last),
        )
        beyond = spacing * (local - inner)
        if wp.static(points):
            distance = wp.length(beyond)
            if distance > type(spacing)(0.0):
                return distance, beyond / distance, type(spacing)(0.0), type(x)()
        found, slope = in_grid(values, first, nodes, inner)
        gradient = slope / spacing
        if wp.length_sq(beyond) > type(spacing)(0.0):
            found, gradient = out(beyond, found, gradient)
        return found, gradient, type(spacing)(0.0), type(x)()

    return gap


@wp.func
def spline_height(values: wp.array[wp.float32], first: int, nodes: wp.vec3i, u: Any, v: Any):
    """Height at a place in units of the spacing, and its slopes per cell: smooth, of 9 heights."""
    i = wp.clamp(int(u + type(u)(0.5)), 0, nodes[0] - 1)
    j = wp.clamp(int(v + type(u)(0.5)), 0, nodes[1] - 1)
    wx = spline_weights(u - type(u)(i))
    wy = spline_weights(v - type(u)(j))
    sx = spline_slopes(u - type(u)(i))
    sy = spline_slopes(v - type(u)(j))
    height = type(u)(0.0)
    du = type(u)(0.0)
    dv = type(u)(0.0)
    for a in range(3):
        for b in range(3):
            at = wp.clamp(i + a - 1, 0, nodes[0] - 1) * nodes[1] + wp.clamp(j + b - 1, 0, nodes[1] - 1)
            value = type(u)(values[first + at])
            height += wx[a] * wy[b] * value
            du += sx[a] * wy[b] * value
            dv += wx[a] * sy[b] * value
    return height, du, dv


@wp.func
def linear_height(values: wp.array[wp.float32], first: int, nodes: wp.vec3i, u: Any, v: Any):
    """Height at a place in units of the spacing, and its slopes per cell: bilinear, of 4 heights."""
    i = low_node(u, nodes[0])
    j = low_node(v, nodes[1])
    at = first + i * nodes[1] + j
    h00 = type(u)(values[at])
    h01 = type(u)(values[at + 1])
    h10 = type(u)(values[at + nodes[1]])
    h11 = type(u)(values[at + nodes[1] + 1])
    low = h00 + (h01 - h00) * (v - type(u)(j))
    high = h10 + (h11 - h10) * (v - type(u)(j))
    across = (h01 - h00) + ((h11 - h10) - (h01 - h00)) * (u - type(u)(i))
    return low + (high - low) * (u - type(u)(i)), high - low, across


@once
def heights_gap(smooth: bool) -> wp.Function:
    """Above a field of heights over x and y; flat beyond the rim.

    Where it is `smooth`, by quadratic B-splines, the gap is the height above the ground times the cosine of its
    steepest slope: never more than the distance, and an exact slope belongs to it. Else it is the distance to the plane
    that touches the bilinear surface above or below, with the normal of that.
    """
    height_at, rim = (spline_height, 0.5) if smooth else (linear_height, 0.0)  # half a cell beyond the spline is flat

    @wp.func
    def gap(values: wp.array[wp.float32], first: int, nodes: wp.vec3i, origin: Any, spacing: Any, x: Any):
        """Gap at a point.

        Args:
            values: Heights of this and perhaps other fields [m].
            first: Where those of this field begin; y is the fastest.
            nodes: Number of heights along x and y.
            origin: Where the first height is, x and y [m], and the cosine of the steepest slope.
            spacing: Distance between neighbouring heights along x and y [m], and a factor on them.
            x: The point [m].
        """
        low = type(x[0])(wp.static(-rim))
        last = type(x[0])(wp.static(1.0 - rim))
        u = (x[0] - origin[0]) / spacing[0]
        v = (x[1] - origin[1]) / spacing[1]
        pu = wp.clamp(u, low, type(x[0])(nodes[0]) - last)
        pv = wp.clamp(v, low, type(x[0])(nodes[1]) - last)
        height, du, dv = height_at(values, first, nodes, pu, pv)
        dx = wp.where(u == pu, spacing[2] * du / spacing[0], type(x[0])(0.0))
        dy = wp.where(v == pv, spacing[2] * dv / spacing[1], type(x[0])(0.0))
        up = type(x)(-dx, -dy, type(x[0])(1.0))
        if wp.static(smooth):
            up = origin[2] * up
        else:
            up = wp.normalize(up)
        return up[2] * (x[2] - spacing[2] * height), up, type(x[0])(0.0), type(x)()

    return gap
