"""How ground that resists acts on what moves: like dry friction, it stops and never drives."""

from typing import Any

import warp as wp

from annelid.core.kernels.loading import once

wp.set_module_options({"enable_backward": False})

HELD = 1.0e-12
"""Part of its squared velocity without sand that a mass keeps by rounding where sand holds it."""


@once
def slowed_of(real: Any) -> wp.Function:
    """A function `(a, v, push, horizon) -> vec3`: an acceleration [m/s²] with what the ground adds to it.

    `v` is the velocity that `a` leads to within the `horizon` [s], and `push` what the law gives for a surface that
    moves like that, as an acceleration. Where it can stop the motion it does so exactly; else it acts as the law says.
    """
    vec3 = wp.types.vector(length=3, dtype=real)

    @wp.func
    def slowed(a: vec3, v: vec3, push: vec3, horizon: real) -> vec3:
        speed = wp.length(v)
        if speed > real(0.0):
            u = v / speed
            slowing = -wp.dot(push, u)
            if slowing * horizon >= speed:
                a = a - v / horizon
            else:
                a = a + push + u * wp.min(slowing, real(0.0))  # the fits drive a little where they should not
        return a

    return slowed
