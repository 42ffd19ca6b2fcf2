"""Distances along rays, for lidars: to the ground and to boxes."""

import warp as wp

from annelid.core.kernels.loading import once
from annelid.voxels.kernels.bodies import segment_at
from annelid.voxels.kernels.layout import Layout

wp.set_module_options({"enable_backward": False})


@once
def lidar_distance(types: Layout, shaped: bool) -> wp.Function:
    """Distance to the ground along a ray [m], at most its reach; `ground` tells how it is `shaped`, as elsewhere."""
    real, vec2, Terrain = types.real, types.vec2, types.Terrain
    find = segment_at(types)

    @wp.func
    def cast(terrain: Terrain, ground: vec2, eye: vec2, ray: vec2, reach: real) -> real:
        result = reach
        origin = eye
        higher = real(1.0)
        if wp.static(shaped):
            higher = ground[0]
            origin = vec2(eye[0] - ground[1], eye[1])
        if terrain.count > 1:
            low = find(terrain, wp.min(origin[0], origin[0] + ray[0] * reach))
            high = find(terrain, wp.max(origin[0], origin[0] + ray[0] * reach))
            for piece in range(low, high + 1):
                ax, ay = terrain.xs[piece] - origin[0], higher * terrain.ys[piece] - origin[1]
                dx = terrain.xs[piece + 1] - terrain.xs[piece]
                dy = higher * (terrain.ys[piece + 1] - terrain.ys[piece])
                cross = ray[0] * dy - ray[1] * dx
                if cross != real(0.0):
                    along = (ax * dy - ay * dx) / cross
                    place = (ax * ray[1] - ay * ray[0]) / cross
                    # The ground goes on in a straight line beyond its two ends.
                    left = place >= real(0.0) or piece == 0
                    right = place <= real(1.0) or piece == terrain.count - 2
                    if left and right and along >= real(0.0):
                        result = wp.min(result, along)
        return result

    return cast


@once
def box_distance(types: Layout) -> wp.Function:
    """Distance to a box along a ray [m], at most its reach; 0 inside."""
    real, vec2, vec4 = types.real, types.vec2, types.vec4

    @wp.func
    def cast(p: vec4, box: vec4, origin: vec2, ray: vec2, reach: real) -> real:
        dx, dy = origin[0] - p[0], origin[1] - p[1]
        ox, oy = p[2] * dx + p[3] * dy - box[0], p[2] * dy - p[3] * dx - box[1]
        rx, ry = p[2] * ray[0] + p[3] * ray[1], p[2] * ray[1] - p[3] * ray[0]
        near, far = real(0.0), reach
        for axis in range(2):
            o, r, half = ox, rx, box[2]
            if axis == 1:
                o, r, half = oy, ry, box[3]
            if wp.abs(r) < real(1.0e-12):
                if wp.abs(o) > half:
                    far = real(-1.0)
            else:
                first, second = (-half - o) / r, (half - o) / r
                near = wp.max(near, wp.min(first, second))
                far = wp.min(far, wp.max(first, second))
        if near <= far:
            return near
        return reach

    return cast
