"""Blocks of pixels: what the rays of a block can meet is looked up once, in lists so short that each tries them all.

Neighbouring rays meet much the same things. The trees are asked once for all rays of a block, as a *beam*, and most
blocks see nothing, or a few triangles. Where a list would be too long, each ray asks the tree as before. On CUDA a
block is one pixel, which asks the trees itself.
"""

# mypy: ignore-errors
# Warp compiles this module; its annotations mean nothing to a Python type checker.
from __future__ import annotations

import warp as wp

from annelid.view.camera.kernels.rays import (
    ABSENT,
    MESH,
    Eye,
    Geometry,
    Hit,
    eye_ray,
    image_place,
    meet_line,
    meet_lines,
    meet_mesh,
    meet_planes,
    meet_sphere,
    meet_spheres,
    occluded_by_mesh,
    occluded_by_spheres,
    sphere_distance,
)

wp.set_module_options({"enable_backward": False})

LISTED = wp.constant(16)
"""Length of a list; a tree is asked about more than that as quickly."""

TOO_MANY = wp.constant(-1)


@wp.struct
class Beam:
    """Bounds of the origins and the directions of some rays."""

    origin_low: wp.vec3
    origin_high: wp.vec3
    direction_low: wp.vec3
    direction_high: wp.vec3


@wp.struct
class Near:
    """What rays of a block can meet: how many of each kind are listed, or `TOO_MANY`."""

    first: wp.int32  # place of its lists
    triangles: wp.int32
    spheres: wp.int32
    lines: wp.int32


@wp.func
def tile_place(index: int, columns: int, rows: int) -> wp.vec3i:
    """Camera, row and column of the tile with a number."""
    row = index // columns
    return wp.vec3i(row // rows, row % rows, index % columns)


@wp.func
def block_place(index: int, side: int, width: int, height: int) -> wp.vec3i:
    """Camera, top row and left column of the block with a number, counted over the images of all cameras."""
    if side == 1:
        return image_place(index, width, height)
    place = tile_place(index, (width + side - 1) // side, (height + side - 1) // side)
    return wp.vec3i(place[0], place[1] * side, place[2] * side)


@wp.func
def eye_beam(eye: Eye, top: int, left: int, side: int, width: int, height: int) -> Beam:
    """The rays through a block of pixels; places and directions change evenly, so its corners bound them."""
    first = eye_ray(eye, float(left), float(top), width, height)
    beam = Beam()
    beam.origin_low = first.origin
    beam.origin_high = first.origin
    beam.direction_low = first.direction
    beam.direction_high = first.direction
    for i in range(1, 4):
        ray = eye_ray(eye, float(left + (i % 2) * side), float(top + (i // 2) * side), width, height)
        beam.origin_low = wp.min(beam.origin_low, ray.origin)
        beam.origin_high = wp.max(beam.origin_high, ray.origin)
        beam.direction_low = wp.min(beam.direction_low, ray.direction)
        beam.direction_high = wp.max(beam.direction_high, ray.direction)
    return beam


@wp.func_native(
    """
    const wp::BVH& bvh = *(const wp::BVH*)(tree);
    // Where along the rays do the bounds of their places, which widen, overlap a box? On each axis two inequalities.
    float low_over[3], high_over[3];
    for (int axis = 0; axis < 3; ++axis) {
        low_over[axis] = 1.0f / direction_low[axis];
        high_over[axis] = 1.0f / direction_high[axis];
    }
    const auto meets = [&](const float* low, const float* high) {
        float enter = 0.0f, leave = far;
        for (int axis = 0; axis < 3; ++axis) {
            const float room = 1.0e-5f * (wp::abs(low[axis]) + wp::abs(high[axis]) + wp::abs(origin_low[axis]));
            const float up_to = high[axis] - origin_low[axis] + room;
            const float from = low[axis] - origin_high[axis] - room;
            if (direction_low[axis] > 0.0f) leave = wp::min(leave, up_to * low_over[axis]);
            else if (direction_low[axis] < 0.0f) enter = wp::max(enter, up_to * low_over[axis]);
            else if (up_to < 0.0f) return false;
            if (direction_high[axis] > 0.0f) enter = wp::max(enter, from * high_over[axis]);
            else if (direction_high[axis] < 0.0f) leave = wp::min(leave, from * high_over[axis]);
            else if (from > 0.0f) return false;
        }
        return enter <= leave + 1.0e-5f * wp::abs(leave);
    };
    int stack[64], waiting = 0, count = 0;
    stack[waiting++] = root < 0 ? *bvh.root : root;
    while (waiting > 0) {
        const int node = stack[--waiting];
        const wp::BVHPackedNodeHalf low = bvh.node_lowers[node];
        const wp::BVHPackedNodeHalf high = bvh.node_uppers[node];
        const float lows[3] = {low.x, low.y, low.z}, highs[3] = {high.x, high.y, high.z};
        if (!meets(lows, highs)) continue;
        if (!low.b) {
            if (waiting > 62) return -1;
            stack[waiting++] = low.i;
            stack[waiting++] = high.i;
            continue;
        }
        for (unsigned int i = low.i; i < high.i; ++i) {
            const int item = bvh.primitive_indices[i];
            if (!meets(&bvh.item_lowers[item][0], &bvh.item_uppers[item][0])) continue;
            if (count == room_for) return -1;
            lists.data[first + count++] = item;
        }
    }
    return count;
    """
)
def list_met(
    tree: wp.uint64,
    root: int,
    origin_low: wp.vec3,
    origin_high: wp.vec3,
    direction_low: wp.vec3,
    direction_high: wp.vec3,
    far: float,
    room_for: int,
    first: int,
    lists: wp.array[wp.int32],
) -> int:
    """List what is in boxes of a tree that a beam meets before `far`; how many, or -1 if there is no room for them."""


@wp.func
def look_up(tree: wp.uint64, root: int, beam: Beam, far: float, first: int, lists: wp.array[wp.int32]) -> int:
    if root == ABSENT:
        return 0
    return list_met(
        tree,
        root,
        beam.origin_low,
        beam.origin_high,
        beam.direction_low,
        beam.direction_high,
        far,
        LISTED,
        first,
        lists,
    )


@wp.func
def near_beam(
    geometry: wp.array[Geometry], world: int, beam: Beam, far: float, block: int, lists: wp.array[wp.int32]
) -> Near:
    """What a beam can meet before `far`, written into the lists of the block with a number."""
    near = Near()
    near.first = 3 * LISTED * block
    mesh = wp.mesh_get_bvh(geometry[0].mesh)
    near.triangles = look_up(mesh, geometry[0].mesh_roots[world], beam, far, near.first, lists)
    first = near.first + LISTED
    near.spheres = look_up(geometry[0].spheres, geometry[0].sphere_roots[world], beam, far, first, lists)
    first += LISTED
    near.lines = look_up(geometry[0].lines, geometry[0].line_roots[world], beam, far, first, lists)
    return near


@wp.func
def near_all() -> Near:
    """Where nothing was looked up."""
    near = Near()
    near.triangles = TOO_MANY
    near.spheres = TOO_MANY
    near.lines = TOO_MANY
    return near


@wp.func_native(
    """
    const wp::Mesh& data = *(const wp::Mesh*)(mesh);
    wp::vec4 nearest(far, 0.0f, 0.0f, -1.0f);
    for (int i = 0; i < count; ++i) {
        const int* corners = data.indices.data + 3 * lists.data[first + i];
        float t, u, v, sign;
        if (wp::intersect_ray_tri_woop(
                origin, direction, data.points[corners[0]], data.points[corners[1]], data.points[corners[2]],
                t, u, v, sign, nullptr) && t < nearest[0] && t >= 0.0f) {
            nearest = wp::vec4(t, u, v, static_cast<float>(i));
            if (any != 0) break;
        }
    }
    return nearest;
    """
)
def nearest_listed(
    mesh: wp.uint64,
    origin: wp.vec3,
    direction: wp.vec3,
    far: float,
    any: int,
    first: int,
    count: int,
    lists: wp.array[wp.int32],
) -> wp.vec4:
    """The nearest triangle of a list on a ray, or any of them: t, two weights, and its place in the list, -1 for none.

    The arithmetic is that of `wp.mesh_query_ray`, so that both find the same to the last bit.
    """


@wp.func
def facet_normal(geometry: wp.array[Geometry], face: int) -> wp.vec3:
    a = geometry[0].vertices[geometry[0].triangles[3 * face]]
    b = geometry[0].vertices[geometry[0].triangles[3 * face + 1]]
    c = geometry[0].vertices[geometry[0].triangles[3 * face + 2]]
    return wp.normalize(wp.cross(b - a, c - a))


@wp.func
def cast_near(
    geometry: wp.array[Geometry],
    near: Near,
    lists: wp.array[wp.int32],
    world: int,
    origin: wp.vec3,
    direction: wp.vec3,
    far: float,
) -> Hit:
    """The first thing that a ray of a block meets before `far`."""
    hit = meet_planes(geometry, world, origin, direction, far)
    if near.triangles > 0:
        found = nearest_listed(geometry[0].mesh, origin, direction, hit.t, 0, near.first, near.triangles, lists)
        if found[3] >= 0.0:
            hit.t = found[0]
            hit.kind = MESH
            hit.index = lists[near.first + int(found[3])]
            hit.u = found[1]
            hit.v = found[2]
            hit.normal = facet_normal(geometry, hit.index)
    elif near.triangles == TOO_MANY:
        hit = meet_mesh(geometry, world, origin, direction, hit)
    if near.spheres == TOO_MANY:
        hit = meet_spheres(geometry, world, origin, direction, hit)
    for i in range(near.spheres):
        hit = meet_sphere(geometry, lists[near.first + LISTED + i], origin, direction, hit)
    if near.lines == TOO_MANY:
        hit = meet_lines(geometry, world, origin, direction, hit)
    for i in range(near.lines):
        hit = meet_line(geometry, lists[near.first + 2 * LISTED + i], origin, direction, hit)
    return hit


@wp.func
def occluded_near(
    geometry: wp.array[Geometry],
    near: Near,
    lists: wp.array[wp.int32],
    world: int,
    origin: wp.vec3,
    direction: wp.vec3,
    far: float,
) -> bool:
    """Whether a mesh or a sphere stands in the way of a ray of a block before `far`."""
    if near.triangles > 0:
        found = nearest_listed(geometry[0].mesh, origin, direction, far, 1, near.first, near.triangles, lists)
        if found[3] >= 0.0:
            return True
    elif near.triangles == TOO_MANY:
        if occluded_by_mesh(geometry, world, origin, direction, far):
            return True
    if near.spheres == TOO_MANY:
        return occluded_by_spheres(geometry, world, origin, direction, far)
    for i in range(near.spheres):
        ball = lists[near.first + LISTED + i]
        t = sphere_distance(origin, direction, geometry[0].sphere_centers[ball], geometry[0].sphere_radii[ball])
        if t > 0.0 and t < far:
            return True
    return False
