"""What actuators do to the nodes of many worlds: pressure and weight in chambers, cables, forces at points.

Each node sums over what touches it. The pressure in a chamber is a linear function of place, p + ρ g·x, so that a full
liquid is one with a density; a triangle with corners a, b, c gives a the share (2 pₐ + p_b + p_c) / 12 of its area.
"""
# Annotations are not postponed here: Warp reads the types of the kernels below from their closures.

from dataclasses import dataclass

import warp as wp

from annelid.fem.kernels.batch_vectors import vector_of
from annelid.fem.kernels.batch_worlds import Each

wp.set_module_options({"enable_backward": False})

f32 = wp.float32


@dataclass(frozen=True)
class Features:
    """What acts on nodes; kernels are specialised on it.

    Attributes:
        pressed: Whether chambers press on faces of cells, which know how that changes with the shape.
        bend: Whether there are other actuators whose forces change with the shape: cables, or chambers of others.
        points: Whether there are forces at points.
        touch: Whether there are obstacles.
        bodies: Whether some of these are free.
    """

    pressed: bool = False
    bend: bool = False
    points: bool = False
    touch: bool = False
    bodies: bool = False

    @property
    def driven(self) -> bool:
        """Whether there are actuators."""
        return self.pressed or self.bend or self.points


@wp.struct
class Actors:
    """Lists of what touches each node; those of node i go from first[i] to first[i + 1]."""

    corner_first: wp.array[wp.int32]
    corners: wp.array[wp.vec3i]  # the next two corners of the triangle, and the actuator
    densities: wp.array[f32]  # of each actuator, 0 unless a liquid fills it [kg/m³]
    end_first: wp.array[wp.int32]
    ends: wp.array[wp.vec2i]  # node at the other end of the segment, negative where it is fixed, and the actuator
    anchors: wp.array[wp.vec3]  # where that is fixed [m]
    point_first: wp.array[wp.int32]
    points: wp.array[wp.int32]  # the actuator
    shares: wp.array[wp.vec3]  # of its force


@wp.func
def actor_force(
    actors: Actors,
    rest: wp.array[wp.vec3],
    i: int,
    w: int,
    each: Each,
    displacements: wp.array2d[f32],
) -> wp.vec3:
    """Force of all actuators on a node [N]."""
    force = wp.vec3()
    here = rest[i] + vector_of(displacements, i, w)
    pull = each.pull[w]
    share = each.fraction[w]
    for k in range(actors.corner_first[i], actors.corner_first[i + 1]):
        corner = actors.corners[k]
        b = rest[corner[0]] + vector_of(displacements, corner[0], w)
        c = rest[corner[1]] + vector_of(displacements, corner[1], w)
        density = actors.densities[corner[2]]
        pressure = each.efforts[corner[2], w] - each.datums[corner[2], w]
        mean = 4.0 * pressure + density * wp.dot(pull, 2.0 * here + b + c)
        force += (share * mean / 24.0) * wp.cross(b - here, c - here)
    for k in range(actors.end_first[i], actors.end_first[i + 1]):
        end = actors.ends[k]
        there = actors.anchors[k]
        if end[0] >= 0:
            there = rest[end[0]] + vector_of(displacements, end[0], w)
        along = there - here
        force += (each.efforts[end[1], w] / wp.max(wp.length(along), 1.0e-9)) * along
    for k in range(actors.point_first[i], actors.point_first[i + 1]):
        force += each.efforts[actors.points[k], w] * actors.shares[k]
    return force


@wp.func
def actor_product(
    actors: Actors,
    rest: wp.array[wp.vec3],
    i: int,
    w: int,
    each: Each,
    displacements: wp.array2d[f32],
    direction: wp.array2d[f32],
) -> wp.vec3:
    """How that force changes along a direction [N]."""
    change = wp.vec3()
    here = rest[i] + vector_of(displacements, i, w)
    way = vector_of(direction, i, w)
    pull = each.pull[w]
    share = each.fraction[w]
    for k in range(actors.corner_first[i], actors.corner_first[i + 1]):
        corner = actors.corners[k]
        b = rest[corner[0]] + vector_of(displacements, corner[0], w) - here
        c = rest[corner[1]] + vector_of(displacements, corner[1], w) - here
        db = vector_of(direction, corner[0], w) - way
        dc = vector_of(direction, corner[1], w) - way
        density = actors.densities[corner[2]]
        pressure = each.efforts[corner[2], w] - each.datums[corner[2], w]
        mean = 4.0 * pressure + density * wp.dot(pull, 4.0 * here + b + c)
        more = density * wp.dot(pull, 4.0 * way + db + dc)
        change += (share / 24.0) * (mean * (wp.cross(db, c) + wp.cross(b, dc)) + more * wp.cross(b, c))
    for k in range(actors.end_first[i], actors.end_first[i + 1]):
        end = actors.ends[k]
        there = actors.anchors[k]
        other = wp.vec3()
        if end[0] >= 0:
            there = rest[end[0]] + vector_of(displacements, end[0], w)
            other = vector_of(direction, end[0], w)
        along = there - here
        length = wp.max(wp.length(along), 1.0e-9)
        unit = along / length
        across = other - way
        across = across - wp.dot(across, unit) * unit
        change += (each.efforts[end[1], w] / length) * across
    return change


@wp.kernel
def find_datums(
    worlds: int,
    first: wp.array[wp.int32],
    nodes: wp.array[wp.int32],
    densities: wp.array[f32],
    heights: wp.array[f32],  # [m], not a number where a liquid's datum is the highest point of its chamber at rest
    rest: wp.array[wp.vec3],
    each: Each,
):
    """ρ g·x where the liquid in each chamber has the pressure of its pump."""
    k, w = wp.tid()
    if w >= worlds:
        return
    pull = each.pull[w]
    least = -wp.length(pull) * heights[k]
    if not wp.isfinite(heights[k]):
        least = float(1.0e30)
        for j in range(first[k], first[k + 1]):
            least = wp.min(least, wp.dot(pull, rest[nodes[j]]))
        if first[k] == first[k + 1]:
            least = 0.0
    each.datums[k, w] = densities[k] * least
