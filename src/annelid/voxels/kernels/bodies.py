"""Motion of the rigid bodies that welded masses form, and their contact with the ground.

Semi-implicit Euler with substeps. Contact impulses on a body are found by a few rounds over the points that are near
the ground: the corners of its masses, and the peaks of the ground under its faces. The ground does not move, so bodies
do not depend on each other here.
"""

import warp as wp

from annelid.core.kernels.loading import once
from annelid.voxels.kernels.layout import Layout
from annelid.voxels.kernels.links import link_sum
from annelid.voxels.kernels.memory import load, store

wp.set_module_options({"enable_backward": False})

_ROUNDS = 4  # of contact impulses a substep
_CAPACITY = 8  # points of a body that can touch at once
_SLOP = 0.005  # penetration that is left alone [m]
_RECOVERY = 0.2  # share of the rest of it that a substep takes back
_RECOVERY_SPEED = 3.0  # at most [m/s]
_REBOUND_SPEED = 1.0  # slower impacts do not bounce [m/s]
_NEAR = 0.05  # gap from which a point is watched [m]


@once
def bucket_at(types: Layout) -> wp.Function:
    """Number of the stretch of ground under x; beyond the ends, the first or last."""
    real, Terrain = types.real, types.Terrain

    @wp.func
    def find(terrain: Terrain, x: real) -> int:
        return wp.clamp(int((x - terrain.left) * terrain.density), 0, terrain.starts.shape[0] - 1)

    return find


@once
def segment_at(types: Layout) -> wp.Function:
    """Number of the piece of ground under x; beyond the ends, the first or last."""
    real, Terrain = types.real, types.Terrain
    bucket = bucket_at(types)

    @wp.func
    def find(terrain: Terrain, x: real) -> int:
        piece = terrain.starts[bucket(terrain, x)]
        while piece < terrain.count - 2 and x > terrain.xs[piece + 1]:
            piece += 1
        return piece

    return find


@once
def piece_of(types: Layout, shaped: bool) -> wp.Function:
    """Left end and normal of a piece of ground, of a world whose heights are multiplied where it is `shaped`."""
    real, vec2, vec4, Terrain = types.real, types.vec2, types.vec4, types.Terrain

    @wp.func
    def get(terrain: Terrain, number: int, ground: vec2) -> vec4:
        piece = terrain.pieces[number]
        if wp.static(shaped):
            if ground[0] != real(1.0):
                normal = wp.normalize(vec2(ground[0] * piece[2], piece[3]))
                piece = vec4(piece[0], ground[0] * piece[1], normal[0], normal[1])
        return piece

    return get


@once
def ground_points(types: Layout, varied: bool, shaped: bool) -> wp.Function:
    """Contact impulses of the ground on a body: its new velocity, and the bits of the masses that touch.

    Where worlds are `varied`, friction is multiplied by `rougher`; where they are `shaped`, heights by the first number
    of `ground`, and the second tells how far they are shifted.
    """
    real, vec2, vec3, vec4, vec8 = types.real, types.vec2, types.vec3, types.vec4, types.vec8
    Tables, Terrain = types.Tables, types.Terrain
    bucket, find, get = bucket_at(types), segment_at(types), piece_of(types, shaped)

    @wp.func
    def goal_speed(gap: real, speed: real, rebound: real, h: real, rate: real) -> real:
        """Normal speed that a point must have at least [m/s]."""
        wanted = -gap * rate
        if gap < real(0.0):
            wanted = wp.min(real(_RECOVERY) * wp.max(-gap - real(_SLOP), real(0.0)) * rate, real(_RECOVERY_SPEED))
        if speed < -real(_REBOUND_SPEED) and gap + speed * h < real(0.0):
            wanted = wp.max(wanted, -rebound * speed)
        return wanted

    @wp.func
    def touch(
        body: int,
        tables: Tables,
        terrain: Terrain,
        position: vec4,
        velocity: vec3,
        inverse: vec2,
        rougher: real,
        ground: vec2,
        h: real,
    ) -> vec4:
        x, y, c, s = position[0], position[1], position[2], position[3]
        higher = real(1.0)
        if wp.static(shaped):
            higher = ground[0]
            x = x - ground[1]
        v = velocity
        surface = tables.body_surface[body]
        radius = surface[0]
        if y - radius > higher * terrain.tops[bucket(terrain, x)] + real(wp.static(_NEAR)):
            return vec4(v[0], v[1], v[2], real(0.0))
        im, ii, rate = inverse[0], inverse[1], real(1.0) / h
        count = int(0)
        nx = vec8()
        ny = vec8()
        lever = vec8()  # of the normal about the centre of the body, and of the tangent (ny, -nx)
        slide = vec8()
        goal = vec8()
        normal = vec8()
        tangent = vec8()
        bits = int(0)
        rebound = wp.max(surface[2], terrain.restitution)
        leftmost = find(terrain, x - radius)
        piece = get(terrain, leftmost, ground)
        # Most bodies stand over one piece of ground: they need not ask what is under each of their points.
        alone = leftmost == terrain.count - 2 or terrain.xs[leftmost + 1] >= x + radius
        for p in range(tables.point_begin[body], tables.point_begin[body + 1]):
            arm = tables.points[p]
            ax, ay = c * arm[0] - s * arm[1], s * arm[0] + c * arm[1]
            if not alone:
                piece = get(terrain, find(terrain, x + ax), ground)
            ux, uy = piece[2], piece[3]
            gap = (x + ax - piece[0]) * ux + (y + ay - piece[1]) * uy
            if gap < real(wp.static(_NEAR)) and count < wp.static(_CAPACITY):
                nx[count] = ux
                ny[count] = uy
                turning = ax * uy - ay * ux
                lever[count] = turning
                slide[count] = -ax * ux - ay * uy
                goal[count] = goal_speed(gap, v[0] * ux + v[1] * uy + v[2] * turning, rebound, h, rate)
                if gap < real(wp.static(_SLOP)):
                    bits |= tables.point_bits[p]
                count += 1
        if not alone:
            box = tables.body_box[body]
            filled = tables.body_quadrants[body]
            peak = leftmost + 1
            while peak < terrain.count - 1 and terrain.xs[peak] < x + radius:
                ox, oy = terrain.xs[peak] - x, higher * terrain.ys[peak] - y
                before = (terrain.ys[peak] - terrain.ys[peak - 1]) * (terrain.xs[peak + 1] - terrain.xs[peak])
                after = (terrain.ys[peak + 1] - terrain.ys[peak]) * (terrain.xs[peak] - terrain.xs[peak - 1])
                bx, by = c * ox + s * oy - box[0], c * oy - s * ox - box[1]
                wide, high = box[2] - wp.abs(bx), box[3] - wp.abs(by)
                corner = wp.where(bx < real(0.0), 0, 1) + wp.where(by < real(0.0), 0, 2)
                if (
                    higher * before > higher * after
                    and wide > -real(wp.static(_NEAR))
                    and high > -real(wp.static(_NEAR))
                    and (filled >> corner) & 1 == 1
                ):
                    depth = wp.min(wide, high)
                    fx = wp.where(wide < high, -wp.sign(bx), real(0.0))
                    fy = wp.where(wide < high, real(0.0), -wp.sign(by))
                    ux, uy = c * fx - s * fy, s * fx + c * fy
                    if uy > real(0.0) and count < wp.static(_CAPACITY):
                        nx[count] = ux
                        ny[count] = uy
                        turning = ox * uy - oy * ux
                        lever[count] = turning
                        slide[count] = -ox * ux - oy * uy
                        goal[count] = goal_speed(-depth, v[0] * ux + v[1] * uy + v[2] * turning, rebound, h, rate)
                        if depth > -real(wp.static(_SLOP)):
                            bits |= 1 << corner
                        count += 1
                peak += 1
        if count > 0:
            friction = wp.sqrt(surface[1] * terrain.friction)
            if wp.static(varied):
                friction = friction * rougher
            heavy = vec8()  # masses that a point feels along normal and tangent
            lazy = vec8()
            for i in range(count):
                heavy[i] = real(1.0) / (im + ii * lever[i] * lever[i])
                lazy[i] = real(1.0) / (im + ii * slide[i] * slide[i])
            rounds = int(_ROUNDS)
            for _ in range(rounds):
                for i in range(count):
                    ux, uy, turning, sliding = nx[i], ny[i], lever[i], slide[i]
                    speed = v[0] * ux + v[1] * uy + v[2] * turning
                    push = wp.max(normal[i] + (goal[i] - speed) * heavy[i], real(0.0))
                    change = push - normal[i]
                    normal[i] = push
                    v += vec3(im * change * ux, im * change * uy, ii * turning * change)
                    speed = v[0] * uy - v[1] * ux + v[2] * sliding
                    drag = wp.clamp(tangent[i] - speed * lazy[i], -friction * push, friction * push)
                    change = drag - tangent[i]
                    tangent[i] = drag
                    v += vec3(im * change * uy, -im * change * ux, ii * sliding * change)
        return vec4(v[0], v[1], v[2], real(bits))

    return touch


@once
def turn(types: Layout) -> wp.Function:
    """Position after a substep; the rotation is Cayley's, whose result keeps its length to rounding."""
    real, vec3, vec4 = types.real, types.vec3, types.vec4

    @wp.func
    def moved(position: vec4, v: vec3, h: real) -> vec4:
        half = real(0.5) * h * v[2]
        square = half * half
        scale = real(1.0) / (real(1.0) + square)
        cs, sn = (real(1.0) - square) * scale, real(2.0) * half * scale
        c = position[2] * cs - position[3] * sn
        s = position[2] * sn + position[3] * cs
        norm = real(1.5) - real(0.5) * (c * c + s * s)
        return vec4(position[0] + h * v[0], position[1] + h * v[1], c * norm, s * norm)

    return moved


@once
def body_step(types: Layout, grounded: bool, loaded: bool, moving: bool, varied: bool, shaped: bool) -> wp.Function:
    """A substep of all bodies of a world: forces, damping, ground; and positions, unless pairs come in between."""
    real, vec2, vec3, vec4 = types.real, types.vec2, types.vec3, types.vec4
    World, Tables, Terrain, Motion = types.World, types.Tables, types.Terrain, types.Motion
    bits = 32 if real is wp.float32 else 64
    read, write, total = load(vec4, bits), store(vec4, bits), link_sum(types)
    touch, moved = ground_points(types, varied, shaped), turn(types)

    @wp.func
    def step(
        lane: int,
        width: int,
        now: wp.int64,
        h: real,
        world: World,
        tables: Tables,
        terrain: Terrain,
        motion: Motion,
        positions: wp.uint64,
        velocities: wp.uint64,
        links: wp.uint64,
    ):
        for b in range(lane, world.body_count, width):
            body = world.shape_body + b
            constants = tables.body_constants[body]
            im, ii = constants[0], constants[1]
            gx, gy, rougher = tables.gravity[0], tables.gravity[1], real(1.0)
            if wp.static(varied):
                gx, gy, rougher = world.pull[0], world.pull[1], world.scale[2]
                im, ii = im / world.scale[3], ii / world.scale[3]
            if im > real(0.0) or ii > real(0.0):
                force = total(links, tables.entries, tables.entry_begin[body], tables.entry_begin[body + 1])
                position, old = read(positions, b), read(velocities, b)
                if wp.static(loaded):
                    load_now = tables.loads[world.body + b]
                    if now < tables.load_end[world.body + b]:
                        moment = position[2] * load_now[2] - position[3] * load_now[3]
                        force += vec3(load_now[0], load_now[1], moment)
                slow = real(1.0) - h * constants[2]
                v = vec3(
                    old[0] * slow + h * im * force[0],
                    old[1] * slow + h * im * force[1],
                    old[2] * (real(1.0) - h * constants[3]) + h * ii * force[2],
                )
                if im > real(0.0):
                    v += vec3(h * gx, h * gy, real(0.0))
                touching = int(0)
                if wp.static(grounded):
                    result = touch(body, tables, terrain, position, v, vec2(im, ii), rougher, world.ground, h)
                    v = vec3(result[0], result[1], result[2])
                    touching = int(result[3])
                motion.touching[world.body + b] = touching
                write(velocities, b, vec4(v[0], v[1], v[2], real(0.0)))
                if wp.static(moving):
                    write(positions, b, moved(position, v, h))

    return step


@once
def body_move(types: Layout) -> wp.Function:
    """Positions of all bodies after a substep."""
    real, vec3, vec4, World = types.real, types.vec3, types.vec4, types.World
    bits = 32 if real is wp.float32 else 64
    read, write, moved = load(vec4, bits), store(vec4, bits), turn(types)

    @wp.func
    def move(lane: int, width: int, h: real, world: World, positions: wp.uint64, velocities: wp.uint64):
        for b in range(lane, world.body_count, width):
            v = read(velocities, b)
            write(positions, b, moved(read(positions, b), vec3(v[0], v[1], v[2]), h))

    return move
