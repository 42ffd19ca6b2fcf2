"""Contact between the bodies of different robots and objects of one world.

Corners of one body inside the box of another are pushed out along its nearest face, with friction. One thread of the
group goes through all pairs in a fixed order; a world without a second robot or object does not come here at all.
"""

import warp as wp

from annelid.core.kernels.loading import once
from annelid.voxels.kernels.layout import Layout
from annelid.voxels.kernels.memory import load, store

wp.set_module_options({"enable_backward": False})

_ROUNDS = 8
_SLOP = 0.005  # [m]
_RECOVERY = 0.2
_RECOVERY_SPEED = 3.0  # [m/s]
_REBOUND_SPEED = 1.0  # [m/s]
_NEAR = 0.02  # gap from which a corner is watched [m]


@once
def pair_contacts(types: Layout, varied: bool) -> wp.Function:
    """Impulses between all bodies of a world that belong to different compounds, for one substep."""
    real, vec2, vec4 = types.real, types.vec2, types.vec4
    World, Tables, Motion = types.World, types.Tables, types.Motion
    bits = 32 if real is wp.float32 else 64
    read, write = load(vec4, bits), store(vec4, bits)

    @wp.func
    def corners_in(
        a: int, b: int, first_round: bool, h: real, world: World, tables: Tables, motion: Motion,
        positions: wp.uint64, velocities: wp.uint64,
    ):  # fmt: skip
        """Corners of body a against the box of body b."""
        pa, pb = read(positions, a), read(positions, b)
        va, vb = read(velocities, a), read(velocities, b)
        body_a, body_b = world.shape_body + a, world.shape_body + b
        heavier = real(1.0)
        if wp.static(varied):
            heavier = world.scale[3]
        ka, kb = tables.body_constants[body_a] / heavier, tables.body_constants[body_b] / heavier
        sa, sb = tables.body_surface[body_a], tables.body_surface[body_b]
        box = tables.body_box[body_b]
        friction, rebound = wp.sqrt(sa[1] * sb[1]), wp.max(sa[2], sb[2])
        for p in range(tables.point_begin[body_a], tables.point_begin[body_a + 1]):
            arm = tables.points[p]
            ra = vec2(pa[2] * arm[0] - pa[3] * arm[1], pa[3] * arm[0] + pa[2] * arm[1])
            rb = vec2(pa[0] - pb[0], pa[1] - pb[1]) + ra
            bx, by = pb[2] * rb[0] + pb[3] * rb[1] - box[0], pb[2] * rb[1] - pb[3] * rb[0] - box[1]
            wide, high = box[2] - wp.abs(bx), box[3] - wp.abs(by)
            corner = wp.where(bx < real(0.0), 0, 1) + wp.where(by < real(0.0), 0, 2)
            near = real(_NEAR)
            if wide > -near and high > -near and (tables.body_quadrants[body_b] >> corner) & 1 == 1:
                depth = wp.min(wide, high)
                fx = wp.where(wide < high, wp.sign(bx), real(0.0))
                fy = wp.where(wide < high, real(0.0), wp.sign(by))
                n = vec2(pb[2] * fx - pb[3] * fy, pb[3] * fx + pb[2] * fy)
                t = vec2(n[1], -n[0])
                motion_a = vec2(va[0] - va[2] * ra[1], va[1] + va[2] * ra[0])
                motion_b = vec2(vb[0] - vb[2] * rb[1], vb[1] + vb[2] * rb[0])
                speed = wp.dot(motion_a - motion_b, n)
                goal = depth / h
                if depth > real(0.0):
                    beyond = wp.max(depth - real(wp.static(_SLOP)), real(0.0))
                    goal = wp.min(real(_RECOVERY) * beyond / h, real(_RECOVERY_SPEED))
                if first_round and speed < -real(_REBOUND_SPEED) and speed * h < depth:
                    goal = wp.max(goal, -rebound * speed)
                la, lb = ra[0] * n[1] - ra[1] * n[0], rb[0] * n[1] - rb[1] * n[0]
                soft = ka[0] + kb[0] + ka[1] * la * la + kb[1] * lb * lb
                push = real(0.0)
                if soft > real(0.0):
                    push = wp.max((goal - speed) / soft, real(0.0))
                if push > real(0.0):
                    ta, tb = ra[0] * t[1] - ra[1] * t[0], rb[0] * t[1] - rb[1] * t[0]
                    slide = wp.dot(motion_a - motion_b, t)
                    drag = -slide / (ka[0] + kb[0] + ka[1] * ta * ta + kb[1] * tb * tb)
                    drag = wp.clamp(drag, -friction * push, friction * push)
                    j = n * push + t * drag
                    va += vec4(ka[0] * j[0], ka[0] * j[1], ka[1] * (ra[0] * j[1] - ra[1] * j[0]), real(0.0))
                    vb -= vec4(kb[0] * j[0], kb[0] * j[1], kb[1] * (rb[0] * j[1] - rb[1] * j[0]), real(0.0))
                if depth > -real(wp.static(_SLOP)):
                    motion.touching[world.body + a] = motion.touching[world.body + a] | (tables.point_bits[p] << 4)
                    motion.touching[world.body + b] = motion.touching[world.body + b] | (1 << (4 + corner))
        write(velocities, a, va)
        write(velocities, b, vb)

    @wp.func
    def solve(h: real, world: World, tables: Tables, motion: Motion, positions: wp.uint64, velocities: wp.uint64):
        for a in range(1, world.body_count):
            pa = read(positions, a)
            sa = tables.body_surface[world.shape_body + a]
            for b in range(a):
                pb = read(positions, b)
                sb = tables.body_surface[world.shape_body + b]
                reach = sa[0] + sb[0] + real(wp.static(_NEAR))
                dx, dy = pa[0] - pb[0], pa[1] - pb[1]
                if sa[3] != sb[3] and dx * dx + dy * dy < reach * reach:
                    rounds = int(_ROUNDS)
                    for r in range(rounds):
                        corners_in(a, b, r == 0, h, world, tables, motion, positions, velocities)
                        corners_in(b, a, r == 0, h, world, tables, motion, positions, velocities)

    return solve
