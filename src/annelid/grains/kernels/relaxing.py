"""Pushing spheres apart in a room: lists of neighbours and one step of a heavy ball down the energy of overlaps.

The energy is the sum of overlaps squared. Its steps are taken in double precision, because an overlap of a millionth of
a diameter is below the last digit of a single-precision coordinate.
"""

import warp as wp

from annelid.shapes.kernels.sdf import SdfGrid, sdf_sample

wp.set_module_options({"enable_backward": False})

ANYWHERE = wp.constant(0)
BOX = wp.constant(1)
CYLINDER = wp.constant(2)
SOLID = wp.constant(3)


@wp.struct
class Room:
    """Where centres may be: a box, a cylinder, or a solid given by its signed distance on a grid."""

    kind: wp.int32
    center: wp.vec3d  # [m], of a box or a cylinder
    half: wp.vec3d  # [m], half sizes of a box; (radius, radius, half length) of a cylinder
    axis: wp.vec3d  # of a cylinder
    grid: SdfGrid  # of a solid
    inset: wp.float64  # [m], kept free inside the surface of a solid, for the error of the grid


@wp.func
def kept_inside(room: Room, point: wp.vec3d, radius: wp.float64) -> wp.vec3d:
    """The nearest place at which a sphere lies wholly in the room."""
    zero = wp.float64(0.0)
    if room.kind == BOX:
        local = point - room.center
        free = wp.vec3d(
            wp.max(room.half[0] - radius, zero),
            wp.max(room.half[1] - radius, zero),
            wp.max(room.half[2] - radius, zero),
        )
        x = wp.clamp(local[0], -free[0], free[0])
        y = wp.clamp(local[1], -free[1], free[1])
        z = wp.clamp(local[2], -free[2], free[2])
        return room.center + wp.vec3d(x, y, z)
    if room.kind == CYLINDER:
        local = point - room.center
        height = wp.dot(local, room.axis)
        across = local - height * room.axis
        distance = wp.length(across)
        most = wp.max(room.half[0] - radius, zero)
        if distance > most:
            across = across * (most / distance)
        reach = wp.max(room.half[2] - radius, zero)
        return room.center + across + wp.clamp(height, -reach, reach) * room.axis
    if room.kind == SOLID:
        result = point
        for _ in range(2):  # the second step mends what a corner leaves
            sample = sdf_sample(room.grid, wp.vec3(result))
            slope = wp.vec3d(wp.vec3(sample[0], sample[1], sample[2]))
            beyond = wp.float64(sample[3]) + radius + room.inset
            steep = wp.length_sq(slope)
            if beyond > zero and steep > wp.float64(1.0e-6):
                result = result - slope * (beyond / wp.max(steep, wp.float64(0.25)))
        return result
    return point


@wp.kernel
def count_neighbours(
    grid: wp.uint64,
    positions: wp.array[wp.vec3],
    radii: wp.array[wp.float64],
    largest: wp.float64,
    skin: wp.float64,
    # Out:
    count_out: wp.array[wp.int32],
):
    i = wp.tid()
    x = positions[i]
    count = int(0)
    query = wp.hash_grid_query(grid, x, wp.float32(radii[i] + largest + skin))
    j = int(0)
    while wp.hash_grid_query_next(query, j):
        if j != i and wp.float64(wp.length(x - positions[j])) <= radii[i] + radii[j] + skin:
            count += 1
    count_out[i] = count


@wp.kernel
def list_neighbours(
    grid: wp.uint64,
    positions: wp.array[wp.vec3],
    radii: wp.array[wp.float64],
    largest: wp.float64,
    skin: wp.float64,
    last: wp.array[wp.int32],
    # Out:
    neighbour_out: wp.array[wp.int32],
):
    """`last` is the running sum of the counts."""
    i = wp.tid()
    x = positions[i]
    at = int(0)
    if i > 0:
        at = last[i - 1]
    query = wp.hash_grid_query(grid, x, wp.float32(radii[i] + largest + skin))
    j = int(0)
    while wp.hash_grid_query_next(query, j):
        if j != i and wp.float64(wp.length(x - positions[j])) <= radii[i] + radii[j] + skin:
            neighbour_out[at] = j
            at += 1


@wp.kernel
def push(
    room: Room,
    radii: wp.array[wp.float64],
    last: wp.array[wp.int32],
    neighbour: wp.array[wp.int32],
    listed: wp.array[wp.vec3d],
    swell: wp.float64,
    stiffness: wp.float64,
    memory: wp.float64,
    # State in:
    positions: wp.array[wp.vec3d],
    steps: wp.array[wp.vec3d],
    # State out:
    position_out: wp.array[wp.vec3d],
    step_out: wp.array[wp.vec3d],
    depth_out: wp.array[wp.float64],
    moved_out: wp.array[wp.float64],
):
    """One step with radii swollen by a factor; `depth_out` is the deepest overlap of the true radii before it."""
    i = wp.tid()
    x = positions[i]
    radius = radii[i]
    force = wp.vec3d()
    depth = wp.float64(0.0)
    first = int(0)
    if i > 0:
        first = last[i - 1]
    for k in range(first, last[i]):
        j = neighbour[k]
        apart = x - positions[j]
        distance = wp.length(apart)
        touch = radius + radii[j]
        overlap = swell * touch - distance
        if overlap > wp.float64(0.0):
            normal = wp.vec3d(wp.float64(0.0), wp.float64(0.0), wp.float64(wp.where(i < j, 1.0, -1.0)))
            if distance > wp.float64(1.0e-9) * touch:
                normal = apart / distance
            force += overlap * normal
            depth = wp.max(depth, (touch - distance) / touch)
    moved = memory * steps[i] + stiffness * force
    length = wp.length(moved)
    if length > radius:  # nothing may jump over a neighbour
        moved = moved * (radius / length)
    place = kept_inside(room, x + moved, radius * (wp.float64(1.0) + wp.float64(1.0e-12)))
    position_out[i] = place
    step_out[i] = place - x
    depth_out[i] = depth
    moved_out[i] = wp.length(place - listed[i])
