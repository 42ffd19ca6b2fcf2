"""Drag of a fluid at rest: it pushes on the open faces of voxels that move into it, with the square of their speed."""

from typing import Any

import warp as wp

from annelid.core.kernels.loading import once
from annelid.voxels3d.kernels.layout import layout

wp.set_module_options({"enable_backward": False})


@once
def drag_of(real: Any) -> wp.Function:
    """Force of the fluid on a voxel; it has no moment, since it acts on the middle of faces."""
    types = layout(real)
    vec3, Tables, Motion = types.vec3, types.Tables, types.Motion

    @wp.func
    def drag(i: int, side: real, v: vec3, tables: Tables, motion: Motion) -> vec3:
        open = tables.faces[i]
        length = side * motion.sizes[i]
        force = vec3()
        for axis in range(3):
            e = vec3()
            e[axis] = real(1.0)
            n = wp.quat_rotate(motion.rotations[i], e)
            speed = wp.dot(v, n)
            face = 2 * axis
            if speed < real(0.0):
                face += 1
            if ((open >> face) & 1) == 1:
                force -= (real(0.5) * tables.fluid * length * length * wp.abs(speed) * speed) * n
        return force

    return drag
