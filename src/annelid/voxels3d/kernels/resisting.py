"""Ground that resists: what sand does to the open faces of voxels that move through it.

A face feels the stress at the mean depth of what is below the surface of it, where the velocity is that of its voxel;
like contacts with obstacles and the drag of a fluid, it has no moment.
"""

from typing import Any

import warp as wp

from annelid.core.kernels.loading import once
from annelid.shapes.resistive.kernels.holding import HELD, slowed_of
from annelid.shapes.resistive.kernels.stress import resistance
from annelid.voxels3d.kernels.layout import layout

wp.set_module_options({"enable_backward": False})

_FARTHEST = 0.8661  # of a corner from the middle of a cube, in sides


@once
def below_of(real: Any) -> wp.Function:
    """A function `(middle, tall) -> vec2`: mean depth of a flat face [m], 0 above the surface, and what is below of it.

    `middle` is the depth of its middle, and `tall` half of its height: exact where two of its edges are level.
    """
    vec2 = wp.types.vector(length=2, dtype=real)

    @wp.func
    def below(middle: real, tall: real) -> vec2:
        deepest = middle + tall
        found = vec2()
        if deepest >= real(2.0) * tall:
            found = vec2(wp.max(middle, real(0.0)), real(1.0))
        elif deepest > real(0.0):
            found = vec2(deepest * deepest / (real(4.0) * tall), deepest / (real(2.0) * tall))
        return found

    return below


@once
def resist_of(real: Any) -> wp.Function:
    """Force on voxel i, with what the ground adds to it; it holds a voxel where it can.

    Of a voxel that yields it is asked twice, like masses of springs: where it would go, and where it goes in the mean.
    """
    types = layout(real)
    vec3, Voxel, Tables, Motion = types.vec3, types.Voxel, types.Tables, types.Motion
    functions, slowed, below = resistance(real), slowed_of(real), below_of(real)
    stress, flow = functions.stress, functions.flow

    @wp.func
    def pushed(i: int, depth: real, length: real, v: vec3, tables: Tables, motion: Motion) -> vec3:
        """Stress on its open faces, of an area of 1 each, if it moved at v."""
        ground = tables.sand[0]
        push = vec3()
        turn = wp.quat_to_matrix(motion.rotations[i])
        for face in range(6):
            if ((tables.faces[i] >> face) & 1) == 1:
                axis = face // 2
                side = wp.where(face % 2 == 0, real(1.0), real(-1.0))
                n = side * vec3(turn[0, axis], turn[1, axis], turn[2, axis])
                tall = wp.abs(turn[2, (axis + 1) % 3]) + wp.abs(turn[2, (axis + 2) % 3])
                wet = below(depth - real(0.5) * length * n[2], real(0.5) * length * tall)
                if wet[1] > real(0.0):
                    push += wet[0] * stress(ground, n, v) + wet[1] * flow(ground, n, v)
        return push

    @wp.func
    def resist(i: int, voxel: Voxel, force: vec3, u: vec3, v: vec3, dt: real, tables: Tables, motion: Motion) -> vec3:
        ground = tables.sand[0]
        length = voxel.side * motion.sizes[i]
        depth = real(wp.float64(ground.height) - tables.places[i][2] - wp.float64(u[2]))
        if depth <= -real(wp.static(_FARTHEST)) * length:
            return force
        start = force * voxel.per_mass
        next_v = v + start * dt
        scale = length * length * voxel.per_mass
        a = slowed(start, next_v, pushed(i, depth, length, next_v, tables, motion) * scale, dt)
        slow_v = v + a * dt
        if wp.dot(slow_v, slow_v) > real(wp.static(HELD)) * wp.dot(next_v, next_v):
            push = pushed(i, depth, length, real(0.5) * (next_v + slow_v), tables, motion) * scale
            a = slowed(start, next_v, push, dt)
        return a * voxel.mass

    return resist
