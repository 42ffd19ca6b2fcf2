"""Distance and normal of obstacles at a point: planes, balls, boxes, height fields, baked distances."""

import warp as wp

from annelid.core.kernels.loading import once
from annelid.shapes.kernels.gaps import BOX, GRID, HEIGHTS, PLANE, SPHERE
from annelid.springs.kernels.layout import Layout

wp.set_module_options({"enable_backward": False})


@once
def obstacle_gap(types: Layout, kinds: tuple[int, ...], shaped: bool = False, sloped: bool = False) -> wp.Function:
    """Unit normal (x, y, z) and gap [m] (w, negative inside) at a point; only the `kinds` in use are compiled.

    Where worlds have ground of their own, `shaped`, heights are multiplied by the factor of their obstacle. Of a grid
    it is the slope where `sloped`, which is short half-way between two surfaces.
    """
    real, vec3, vec4, Obstacle = types.real, types.vec3, types.vec4, types.Obstacle
    in_box, over_heights, in_grid = _box_gap(types), _heights_gap(types, shaped), _grid_gap(types, sloped)
    planes, balls, boxes, heights, grids = (kind in kinds for kind in (PLANE, SPHERE, BOX, HEIGHTS, GRID))

    @wp.func
    def gap(values: wp.array[wp.float32], obstacle: Obstacle, x: vec3) -> vec4:
        found = vec4(real(0.0), real(0.0), real(0.0), real(1.0))
        if wp.static(planes):
            if obstacle.kind == wp.static(PLANE):
                n = obstacle.place
                found = vec4(n[0], n[1], n[2], wp.dot(n, x) - obstacle.size)
        if wp.static(balls):
            if obstacle.kind == wp.static(SPHERE):
                away = x - obstacle.place
                distance = wp.length(away)
                n = away / wp.max(distance, real(1.0e-12))
                found = vec4(n[0], n[1], n[2], distance - obstacle.size)
        if wp.static(boxes):
            if obstacle.kind == wp.static(BOX):
                found = in_box(obstacle, x)
        if wp.static(heights):
            if obstacle.kind == wp.static(HEIGHTS):
                found = over_heights(values, obstacle, x)
        if wp.static(grids):
            if obstacle.kind == wp.static(GRID):
                found = in_grid(values, obstacle, x)
        return found

    return gap


@once
def shaped_obstacle(types: Layout) -> wp.Function:
    """A function `(obstacle, ground) -> obstacle`: as it is in a world with ground of its own."""
    vec3, Obstacle = types.vec3, types.Obstacle
    real = types.real

    @wp.func
    def shape(obstacle: Obstacle, ground: vec3) -> Obstacle:
        if obstacle.kind == wp.static(HEIGHTS):
            obstacle.place = obstacle.place + vec3(ground[1], ground[2], real(0.0))
            obstacle.spacing = vec3(obstacle.spacing[0], obstacle.spacing[1], ground[0])
        return obstacle

    return shape


@once
def _box_gap(types: Layout) -> wp.Function:
    """Inside, the way out is through the nearest face; outside it does not matter, only that the gap is positive."""
    real, vec3, vec4, Obstacle = types.real, types.vec3, types.vec4, types.Obstacle

    @wp.func
    def gap(box: Obstacle, x: vec3) -> vec4:
        local = wp.transpose(box.turn) * (x - box.place)
        face = int(0)
        depth = wp.abs(local[0]) - box.spacing[0]
        for axis in range(1, 3):
            beyond = wp.abs(local[axis]) - box.spacing[axis]
            if beyond > depth:
                face = axis
                depth = beyond
        side = wp.where(local[face] < real(0.0), real(-1.0), real(1.0))
        return vec4(box.turn[0, face] * side, box.turn[1, face] * side, box.turn[2, face] * side, depth)

    return gap


@once
def _heights_gap(types: Layout, shaped: bool) -> wp.Function:
    """Distance to the tangent plane of the bilinear surface above or below; the rim continues outwards for ever."""
    real, vec3, vec4, Obstacle = types.real, types.vec3, types.vec4, types.Obstacle

    @wp.func
    def gap(values: wp.array[wp.float32], field: Obstacle, point: vec3) -> vec4:
        nx = field.counts[0]
        ny = field.counts[1]
        px = (point[0] - field.place[0]) / field.spacing[0]
        py = (point[1] - field.place[1]) / field.spacing[1]
        x = wp.clamp(px, real(0.0), real(nx - 1))
        y = wp.clamp(py, real(0.0), real(ny - 1))
        # The integers are clamped as well: a point that is not a number must not read outside the array.
        i = wp.clamp(int(x), 0, nx - 2)
        j = wp.clamp(int(y), 0, ny - 2)
        u = x - real(i)
        v = y - real(j)
        at = field.first + i * ny + j
        h00 = real(values[at])
        h01 = real(values[at + 1])
        h10 = real(values[at + ny])
        h11 = real(values[at + ny + 1])
        if wp.static(shaped):
            h00 *= field.spacing[2]
            h01 *= field.spacing[2]
            h10 *= field.spacing[2]
            h11 *= field.spacing[2]
        low = h00 + (h01 - h00) * v
        high = h10 + (h11 - h10) * v
        slope_x = (high - low) / field.spacing[0]
        slope_y = ((h01 - h00) + ((h11 - h10) - (h01 - h00)) * u) / field.spacing[1]
        if px != x:
            slope_x = real(0.0)
        if py != y:
            slope_y = real(0.0)
        n = wp.normalize(vec3(-slope_x, -slope_y, real(1.0)))
        rise = point[2] - field.place[2] - (low + (high - low) * u)
        return vec4(n[0], n[1], n[2], rise * n[2])

    return gap


@once
def _grid_gap(types: Layout, sloped: bool) -> wp.Function:
    """Trilinear in the baked signed distance; outside the grid, which reaches beyond the surface, the way to it."""
    real, vec3, vec4, Obstacle = types.real, types.vec3, types.vec4, types.Obstacle

    @wp.func
    def gap(values: wp.array[wp.float32], grid: Obstacle, point: vec3) -> vec4:
        local = wp.transpose(grid.turn) * (point - grid.place) / grid.size
        ny = grid.counts[1]
        nz = grid.counts[2]
        beyond = vec3()
        inside = bool(True)
        for axis in range(3):
            if not (local[axis] >= real(0.0) and local[axis] <= real(grid.counts[axis] - 1)):
                inside = False
                beyond[axis] = local[axis] - wp.clamp(local[axis], real(0.0), real(grid.counts[axis] - 1))
        n = grid.turn * wp.normalize(beyond)
        found = vec4(n[0], n[1], n[2], grid.size * wp.length(beyond))
        if inside:
            i = wp.min(int(local[0]), grid.counts[0] - 2)
            j = wp.min(int(local[1]), ny - 2)
            k = wp.min(int(local[2]), nz - 2)
            u = local[0] - real(i)
            v = local[1] - real(j)
            w = local[2] - real(k)
            at = grid.first + (i * ny + j) * nz + k
            d000 = real(values[at])
            d001 = real(values[at + 1])
            d010 = real(values[at + nz])
            d011 = real(values[at + nz + 1])
            at += ny * nz
            d100 = real(values[at])
            d101 = real(values[at + 1])
            d110 = real(values[at + nz])
            d111 = real(values[at + nz + 1])
            low = wp.lerp(wp.lerp(d000, d001, w), wp.lerp(d010, d011, w), v)
            high = wp.lerp(wp.lerp(d100, d101, w), wp.lerp(d110, d111, w), v)
            front = wp.lerp(wp.lerp(d000, d001, w), wp.lerp(d100, d101, w), u)
            back = wp.lerp(wp.lerp(d010, d011, w), wp.lerp(d110, d111, w), u)
            below = wp.lerp(wp.lerp(d000, d010, v), wp.lerp(d100, d110, v), u)
            above = wp.lerp(wp.lerp(d001, d011, v), wp.lerp(d101, d111, v), u)
            # The interpolant's slope is a unit vector but for edges and half-way between surfaces.
            n = grid.turn * vec3(high - low, back - front, above - below)
            if wp.static(sloped):
                n = n / grid.size
            else:
                n = wp.normalize(n)
            found = vec4(n[0], n[1], n[2], wp.lerp(low, high, u))
        return found

    return gap
