"""How far a point is from the surface of a body, and which way out, in the frame of the body."""

import warp as wp

from annelid.core.kernels.loading import once
from annelid.grains.kernels.layout import Bodies, Body
from annelid.shapes.kernels.gaps import BOX, CAPSULE, CYLINDER, GRID, PLANE, SPHERE

wp.set_module_options({"enable_backward": False})


@wp.func
def ball_gap(size: wp.vec3, x: wp.vec3) -> wp.vec4:
    distance = wp.length(x)
    n = x / wp.max(distance, 1.0e-20)
    return wp.vec4(n[0], n[1], n[2], distance - size[0])


@wp.func
def box_gap(size: wp.vec3, x: wp.vec3) -> wp.vec4:
    beyond = wp.vec3(wp.abs(x[0]) - size[0], wp.abs(x[1]) - size[1], wp.abs(x[2]) - size[2])
    outside = wp.vec3(wp.max(beyond[0], 0.0), wp.max(beyond[1], 0.0), wp.max(beyond[2], 0.0))
    gap = wp.length(outside)
    n = outside / wp.max(gap, 1.0e-20)
    if gap == 0.0:  # inside: out through the nearest face
        gap = wp.max(wp.max(beyond[0], beyond[1]), beyond[2])
        n = wp.vec3(wp.where(beyond[0] == gap, 1.0, 0.0), 0.0, 0.0)
        if beyond[0] != gap:
            n = wp.vec3(0.0, wp.where(beyond[1] == gap, 1.0, 0.0), wp.where(beyond[1] == gap, 0.0, 1.0))
    return wp.vec4(
        n[0] * wp.where(x[0] < 0.0, -1.0, 1.0),
        n[1] * wp.where(x[1] < 0.0, -1.0, 1.0),
        n[2] * wp.where(x[2] < 0.0, -1.0, 1.0),
        gap,
    )


@wp.func
def cylinder_gap(size: wp.vec3, x: wp.vec3) -> wp.vec4:
    """Radius size[0], half height size[1], along z."""
    across = wp.max(wp.sqrt(x[0] * x[0] + x[1] * x[1]), 1.0e-20)
    side = across - size[0]
    end = wp.abs(x[2]) - size[1]
    up = wp.where(x[2] < 0.0, -1.0, 1.0)
    radial = wp.vec3(x[0] / across, x[1] / across, 0.0)
    axial = wp.vec3(0.0, 0.0, up)
    gap = wp.max(side, end)
    n = radial
    if end > side:
        n = axial
    if side > 0.0 and end > 0.0:
        gap = wp.sqrt(side * side + end * end)
        n = (side * radial + end * axial) / gap
    return wp.vec4(n[0], n[1], n[2], gap)


@wp.func
def capsule_gap(size: wp.vec3, x: wp.vec3) -> wp.vec4:
    """Radius size[0], half length of the straight part size[1], along z."""
    away = wp.vec3(x[0], x[1], x[2] - wp.clamp(x[2], -size[1], size[1]))
    distance = wp.length(away)
    n = away / wp.max(distance, 1.0e-20)
    return wp.vec4(n[0], n[1], n[2], distance - size[0])


@wp.func
def grid_gap(distances: wp.array[wp.float32], body: Body, x: wp.vec3) -> wp.vec4:
    """Trilinear in baked distances; beyond the grid, from what is nearest to the grid's nearest point."""
    local = (x - body.origin) / body.spacing
    ny = body.nodes[1]
    nz = body.nodes[2]
    px = wp.clamp(local[0], 0.0, float(body.nodes[0] - 1))
    py = wp.clamp(local[1], 0.0, float(ny - 1))
    pz = wp.clamp(local[2], 0.0, float(nz - 1))
    # The integers are clamped as well: a point that is not a number must not read outside the array.
    i = wp.clamp(int(px), 0, body.nodes[0] - 2)
    j = wp.clamp(int(py), 0, ny - 2)
    k = wp.clamp(int(pz), 0, nz - 2)
    u = px - float(i)
    v = py - float(j)
    w = pz - float(k)
    at = body.first + (i * ny + j) * nz + k
    d000 = distances[at]
    d001 = distances[at + 1]
    d010 = distances[at + nz]
    d011 = distances[at + nz + 1]
    at += ny * nz
    d100 = distances[at]
    d101 = distances[at + 1]
    d110 = distances[at + nz]
    d111 = distances[at + nz + 1]
    low = wp.lerp(wp.lerp(d000, d001, w), wp.lerp(d010, d011, w), v)
    high = wp.lerp(wp.lerp(d100, d101, w), wp.lerp(d110, d111, w), v)
    front = wp.lerp(wp.lerp(d000, d001, w), wp.lerp(d100, d101, w), u)
    back = wp.lerp(wp.lerp(d010, d011, w), wp.lerp(d110, d111, w), u)
    below = wp.lerp(wp.lerp(d000, d010, v), wp.lerp(d100, d110, v), u)
    above = wp.lerp(wp.lerp(d001, d011, v), wp.lerp(d101, d111, v), u)
    gap = wp.lerp(low, high, u)
    n = wp.vec3(high - low, back - front, above - below) / body.spacing
    n = n / wp.max(wp.length(n), 1.0e-20)
    beyond = body.spacing * (local - wp.vec3(px, py, pz))
    if wp.length_sq(beyond) > 0.0:
        n = beyond + wp.max(gap, 0.0) * n
        gap = wp.length(n)
        n = n / wp.max(gap, 1.0e-20)
    return wp.vec4(n[0], n[1], n[2], gap)


@wp.func_native(
    """
#if defined(__CUDA_ARCH__)
    return false;
#else
    return turn[3] == 1.0f;
#endif
"""
)
def needs_no_turn(turn: wp.quat) -> bool:
    """Whether a CPU, which is quick to branch, can save itself a turn; planes in a state are not turned."""


@once
def surface_gap(kinds: tuple[int, ...]) -> wp.Function:
    """A function `(body number, point in the world, bodies) -> vec4`: unit normal in the world, and gap [m].

    Only the kinds in use are compiled.
    """
    planes, balls, boxes, cylinders, capsules, grids = (
        kind in kinds for kind in (PLANE, SPHERE, BOX, CYLINDER, CAPSULE, GRID)
    )

    @wp.func
    def gap(b: int, x: wp.vec3, bodies: Bodies) -> wp.vec4:
        body = bodies.forms[b]
        turn = bodies.turns[b]
        if wp.static(planes):
            if body.kind == wp.static(PLANE) and needs_no_turn(turn):
                out = body.size * body.inside
                return wp.vec4(out[0], out[1], out[2], wp.dot(body.size, x - bodies.places[b]) * body.inside)
        local = wp.quat_rotate_inv(turn, x - bodies.places[b])
        found = wp.vec4(0.0, 0.0, 1.0, 1.0e9)
        if wp.static(planes):
            if body.kind == wp.static(PLANE):
                found = wp.vec4(body.size[0], body.size[1], body.size[2], wp.dot(body.size, local))
        if wp.static(balls):
            if body.kind == wp.static(SPHERE):
                found = ball_gap(body.size, local)
        if wp.static(boxes):
            if body.kind == wp.static(BOX):
                found = box_gap(body.size, local)
        if wp.static(cylinders):
            if body.kind == wp.static(CYLINDER):
                found = cylinder_gap(body.size, local)
        if wp.static(capsules):
            if body.kind == wp.static(CAPSULE):
                found = capsule_gap(body.size, local)
        if wp.static(grids):
            if body.kind == wp.static(GRID):
                found = grid_gap(bodies.distances, body, local)
        n = wp.quat_rotate(turn, wp.vec3(found[0], found[1], found[2])) * body.inside
        return wp.vec4(n[0], n[1], n[2], found[3] * body.inside)

    return gap
