"""Ray casting in Warp: what a ray meets, what shadows a point, and depth images. No light, no colour.

A ray is `origin + t * direction`. Camera rays have a direction whose component along the optical axis is one, so that
the `t` of a hit is its depth. Kernels take one row of `Eye` a camera, so many cameras and many worlds share one launch.
A thread takes a run of pixels: one on CUDA; many on a CPU, where fetching a kernel's arguments costs as much as a ray.
"""

# mypy: ignore-errors
# Warp compiles this module; its annotations mean nothing to a Python type checker.
from __future__ import annotations

import warp as wp

wp.set_module_options({"enable_backward": False})

NOTHING = wp.constant(0)
MESH = wp.constant(1)
SPHERE = wp.constant(2)
LINE = wp.constant(3)
PLANE = wp.constant(4)

ABSENT = wp.constant(-2)
"""Root of a world that has no geometry of a kind; -1 means the whole tree."""


@wp.struct
class Eye:
    """One camera, as kernels see it; the axes are unit vectors."""

    position: wp.vec3
    right: wp.vec3
    up: wp.vec3
    forward: wp.vec3
    half_height: (
        wp.float32
    )  # perspective: tangent of half the vertical field of view; orthographic: half the height [m]
    focus: wp.float32  # distance to what is looked at [m]; the ground fades beyond it, not at all if 0
    orthographic: wp.int32
    world: wp.int32


@wp.struct
class Geometry:
    """What rays can meet. All worlds share the arrays; a root a world and kind confines a ray to its own subtree."""

    mesh: wp.uint64
    mesh_roots: wp.array[wp.int32]  # [worlds]
    vertices: wp.array[wp.vec3]
    triangles: wp.array[wp.int32]  # [3 * triangles]
    corner_normals: wp.array[wp.vec3]  # [3 * triangles]
    vertex_colors: wp.array[wp.vec3]  # linear light
    vertex_shades: wp.array[wp.float32]  # place in the colour table, negative where the vertex has its own colour
    color_table: wp.array[wp.vec3]  # linear light
    categories: wp.int32  # whether the table is one of categories, between which nothing is

    spheres: wp.uint64
    sphere_roots: wp.array[wp.int32]
    sphere_centers: wp.array[wp.vec3]
    sphere_radii: wp.array[wp.float32]
    sphere_colors: wp.array[wp.vec3]

    lines: wp.uint64
    line_roots: wp.array[wp.int32]
    line_starts: wp.array[wp.vec3]
    line_ends: wp.array[wp.vec3]
    line_colors: wp.array[wp.vec3]
    line_radius: wp.float32

    plane_first: wp.array[wp.int32]  # [worlds + 1]
    plane_points: wp.array[wp.vec3]
    plane_normals: wp.array[wp.vec3]
    plane_axes: wp.array[wp.vec3]  # unit vectors along one family of grid lines
    plane_colors: wp.array[wp.vec3]
    grid_pitch: wp.float32


@wp.struct
class Hit:
    kind: wp.int32
    index: wp.int32
    t: wp.float32
    u: wp.float32
    v: wp.float32
    normal: wp.vec3  # of the geometry, unit, not yet turned towards the viewer


@wp.struct
class Ray:
    origin: wp.vec3
    direction: wp.vec3


@wp.func
def pixel_of(index: int, width: int, height: int) -> wp.vec2i:
    """Column and row of the pixel with a number; 8 x 4 tiles where they fit, so that a GPU warp casts like rays."""
    if width % 8 == 0 and height % 4 == 0:
        tile = index // 32
        lane = index - tile * 32
        tiles = width // 8
        row = tile // tiles
        return wp.vec2i((tile - row * tiles) * 8 + lane % 8, row * 4 + lane // 8)
    return wp.vec2i(index % width, index // width)


@wp.func
def image_place(index: int, width: int, height: int) -> wp.vec3i:
    """Camera, row and column of the pixel with a number, counted over the images of all cameras."""
    camera = index // (width * height)
    pixel = pixel_of(index - camera * width * height, width, height)
    return wp.vec3i(camera, pixel[1], pixel[0])


@wp.func
def away_from_zero(x: float) -> float:
    # The slab test of the trees multiplies by 1 / direction, and 0 * inf is no number.
    return wp.where(wp.abs(x) < 1.0e-12, wp.where(x < 0.0, -1.0e-12, 1.0e-12), x)


@wp.func
def eye_ray(eye: Eye, x: float, y: float, width: int, height: int) -> Ray:
    """The ray through the image point (x, y) in pixels, x to the right and y down from the top left corner."""
    aspect = float(width) / float(height)
    side = (2.0 * x / float(width) - 1.0) * aspect * eye.half_height
    rise = (1.0 - 2.0 * y / float(height)) * eye.half_height
    offset = side * eye.right + rise * eye.up
    ray = Ray()
    ray.origin = eye.position
    ray.direction = eye.forward
    if eye.orthographic != 0:
        ray.origin = eye.position + offset
    else:
        ray.direction = eye.forward + offset
    d = ray.direction
    ray.direction = wp.vec3(away_from_zero(d[0]), away_from_zero(d[1]), away_from_zero(d[2]))
    return ray


@wp.func
def sphere_distance(origin: wp.vec3, direction: wp.vec3, center: wp.vec3, radius: float) -> float:
    """Parameter of the first point of a sphere on a ray, or -1."""
    # Through the point of the ray nearest to the centre: no difference of squares of large numbers
    # (Haines et al., "Precision improvements for ray/sphere intersection", Ray Tracing Gems, 2019).
    offset = origin - center
    square = wp.dot(direction, direction)
    middle = -wp.dot(offset, direction) / square
    nearest = offset + middle * direction
    rest = radius * radius - wp.dot(nearest, nearest)
    if rest < 0.0:
        return -1.0
    half = wp.sqrt(rest / square)
    return wp.where(middle - half >= 0.0, middle - half, middle + half)


@wp.func
def capsule_distance(origin: wp.vec3, direction: wp.vec3, start: wp.vec3, end: wp.vec3, radius: float) -> float:
    """Parameter of the first point of a segment thickened to a capsule on a ray, or -1."""
    # Seen from the nearest approach to the middle of the segment, where float32 is finest.
    square = wp.dot(direction, direction)
    shift = wp.dot(0.5 * (start + end) - origin, direction) / square
    near = origin + shift * direction - start
    axis = end - start
    axis_axis = wp.dot(axis, axis)
    axis_direction = wp.dot(axis, direction)
    axis_near = wp.dot(axis, near)
    a = axis_axis * square - axis_direction * axis_direction
    b = axis_axis * wp.dot(direction, near) - axis_near * axis_direction
    c = axis_axis * (wp.dot(near, near) - radius * radius) - axis_near * axis_near
    rest = b * b - a * c
    along = float(0.0)
    if rest >= 0.0 and a > 1.0e-12 * axis_axis * square:
        t = (-b - wp.sqrt(rest)) / a
        along = axis_near + t * axis_direction
        if along > 0.0 and along < axis_axis:
            return shift + t
    # Not on the side: the round ends.
    first = sphere_distance(origin, direction, start, radius)
    second = sphere_distance(origin, direction, end, radius)
    if first < 0.0 or (second >= 0.0 and second < first):
        return second
    return first


@wp.func
def plane_distance(origin: wp.vec3, direction: wp.vec3, point: wp.vec3, normal: wp.vec3) -> float:
    """Parameter where a ray meets a plane from its free side, or -1."""
    slope = wp.dot(direction, normal)
    if slope >= 0.0:
        return -1.0
    return wp.dot(point - origin, normal) / slope


@wp.func_native(
    """
    // By reference: a query copies the tree's record and clears a stack before its first look.
    const wp::BVH& bvh = *(const wp::BVH*)(tree);
    const int node = root < 0 ? *bvh.root : root;
    const wp::BVHPackedNodeHalf low = bvh.node_lowers[node];
    const wp::BVHPackedNodeHalf high = bvh.node_uppers[node];
    const float x1 = (low.x - origin[0]) * inverse[0], x2 = (high.x - origin[0]) * inverse[0];
    const float y1 = (low.y - origin[1]) * inverse[1], y2 = (high.y - origin[1]) * inverse[1];
    const float z1 = (low.z - origin[2]) * inverse[2], z2 = (high.z - origin[2]) * inverse[2];
    const float enter = wp::max(wp::max(wp::min(x1, x2), wp::min(y1, y2)), wp::min(z1, z2));
    const float leave = wp::min(wp::min(wp::max(x1, x2), wp::max(y1, y2)), wp::max(z1, z2));
    // With room for rounding: what this turns away is never asked again.
    return leave >= 0.0f && enter < far && enter <= leave + 1.0e-5f * wp::abs(leave);
    """
)
def meets_tree(tree: wp.uint64, root: int, origin: wp.vec3, inverse: wp.vec3, far: float) -> bool:
    """Whether a ray, with one over its direction, meets the box around a tree before `far`; most need no query then."""


@wp.func
def may_meet(tree: wp.uint64, root: int, origin: wp.vec3, direction: wp.vec3, far: float) -> bool:
    """Whether a world has geometry of a kind, and a ray meets the box around it."""
    if root == ABSENT:
        return False
    inverse = wp.vec3(
        1.0 / away_from_zero(direction[0]), 1.0 / away_from_zero(direction[1]), 1.0 / away_from_zero(direction[2])
    )
    return meets_tree(tree, root, origin, inverse, far)


@wp.func
def meet_planes(geometry: wp.array[Geometry], world: int, origin: wp.vec3, direction: wp.vec3, far: float) -> Hit:
    """The first plane that a ray meets before `far`."""
    hit = Hit()
    hit.t = far
    for i in range(geometry[0].plane_first[world], geometry[0].plane_first[world + 1]):
        t = plane_distance(origin, direction, geometry[0].plane_points[i], geometry[0].plane_normals[i])
        if t >= 0.0 and t < hit.t:
            hit.t = t
            hit.kind = PLANE
            hit.index = i
            hit.normal = geometry[0].plane_normals[i]
    return hit


@wp.func
def meet_mesh(geometry: wp.array[Geometry], world: int, origin: wp.vec3, direction: wp.vec3, hit: Hit) -> Hit:
    """The first triangle that a ray meets before a hit, or that hit."""
    root = geometry[0].mesh_roots[world]
    if may_meet(wp.mesh_get_bvh(geometry[0].mesh), root, origin, direction, hit.t):
        query = wp.mesh_query_ray(geometry[0].mesh, origin, direction, hit.t, root)
        if query.result:
            hit.t = query.t
            hit.kind = MESH
            hit.index = query.face
            hit.u = query.u
            hit.v = query.v
            hit.normal = query.normal
    return hit


@wp.func
def meet_spheres(geometry: wp.array[Geometry], world: int, origin: wp.vec3, direction: wp.vec3, hit: Hit) -> Hit:
    """The first sphere that a ray meets before a hit, or that hit."""
    root = geometry[0].sphere_roots[world]
    if may_meet(geometry[0].spheres, root, origin, direction, hit.t):
        candidate = int(0)
        balls = wp.bvh_query_ray(geometry[0].spheres, origin, direction, root)
        while wp.bvh_query_next(balls, candidate, hit.t):
            hit = meet_sphere(geometry, candidate, origin, direction, hit)
    return hit


@wp.func
def meet_sphere(geometry: wp.array[Geometry], index: int, origin: wp.vec3, direction: wp.vec3, hit: Hit) -> Hit:
    t = sphere_distance(origin, direction, geometry[0].sphere_centers[index], geometry[0].sphere_radii[index])
    if t >= 0.0 and t < hit.t:
        hit.t = t
        hit.kind = SPHERE
        hit.index = index
    return hit


@wp.func
def meet_lines(geometry: wp.array[Geometry], world: int, origin: wp.vec3, direction: wp.vec3, hit: Hit) -> Hit:
    """The first line that a ray meets before a hit, or that hit."""
    root = geometry[0].line_roots[world]
    if may_meet(geometry[0].lines, root, origin, direction, hit.t):
        candidate = int(0)
        rods = wp.bvh_query_ray(geometry[0].lines, origin, direction, root)
        while wp.bvh_query_next(rods, candidate, hit.t):
            hit = meet_line(geometry, candidate, origin, direction, hit)
    return hit


@wp.func
def meet_line(geometry: wp.array[Geometry], index: int, origin: wp.vec3, direction: wp.vec3, hit: Hit) -> Hit:
    start = geometry[0].line_starts[index]
    t = capsule_distance(origin, direction, start, geometry[0].line_ends[index], geometry[0].line_radius)
    if t >= 0.0 and t < hit.t:
        hit.t = t
        hit.kind = LINE
        hit.index = index
    return hit


@wp.func
def cast(geometry: wp.array[Geometry], world: int, origin: wp.vec3, direction: wp.vec3, far: float) -> Hit:
    """The first thing that a ray meets before `far`."""
    hit = meet_planes(geometry, world, origin, direction, far)
    hit = meet_mesh(geometry, world, origin, direction, hit)
    hit = meet_spheres(geometry, world, origin, direction, hit)
    return meet_lines(geometry, world, origin, direction, hit)


@wp.func
def occluded_by_mesh(geometry: wp.array[Geometry], world: int, origin: wp.vec3, direction: wp.vec3, far: float) -> bool:
    """Whether a triangle stands in the way before `far`."""
    root = geometry[0].mesh_roots[world]
    if may_meet(wp.mesh_get_bvh(geometry[0].mesh), root, origin, direction, far):
        return wp.mesh_query_ray_anyhit(geometry[0].mesh, origin, direction, far, root)
    return False


@wp.func
def occluded_by_spheres(
    geometry: wp.array[Geometry], world: int, origin: wp.vec3, direction: wp.vec3, far: float
) -> bool:
    """Whether a sphere stands in the way before `far`."""
    root = geometry[0].sphere_roots[world]
    if may_meet(geometry[0].spheres, root, origin, direction, far):
        candidate = int(0)
        balls = wp.bvh_query_ray(geometry[0].spheres, origin, direction, root)
        while wp.bvh_query_next(balls, candidate, far):
            t = sphere_distance(
                origin, direction, geometry[0].sphere_centers[candidate], geometry[0].sphere_radii[candidate]
            )
            if t > 0.0 and t < far:
                return True
    return False


@wp.func
def occluded_by_line(geometry: wp.array[Geometry], world: int, origin: wp.vec3, direction: wp.vec3, far: float) -> bool:
    """Whether a line stands in the way before `far`."""
    root = geometry[0].line_roots[world]
    if may_meet(geometry[0].lines, root, origin, direction, far):
        candidate = int(0)
        rods = wp.bvh_query_ray(geometry[0].lines, origin, direction, root)
        while wp.bvh_query_next(rods, candidate, far):
            t = capsule_distance(
                origin,
                direction,
                geometry[0].line_starts[candidate],
                geometry[0].line_ends[candidate],
                geometry[0].line_radius,
            )
            if t > 0.0 and t < far:
                return True
    return False


@wp.kernel
def cast_depth(
    offset: int,
    run: int,
    # Cameras and scene:
    eyes: wp.array[Eye],
    geometry: wp.array[Geometry],
    far: float,
    # Images out:
    depth_out: wp.array3d[wp.float32],
):
    width = depth_out.shape[2]
    height = depth_out.shape[1]
    first = (offset + wp.tid()) * run
    for index in range(first, wp.min(first + run, depth_out.shape[0] * height * width)):
        place = image_place(index, width, height)
        eye = eyes[place[0]]
        ray = eye_ray(eye, float(place[2]) + 0.5, float(place[1]) + 0.5, width, height)
        hit = cast(geometry, eye.world, ray.origin, ray.direction, far)
        depth_out[place[0], place[1], place[2]] = hit.t
