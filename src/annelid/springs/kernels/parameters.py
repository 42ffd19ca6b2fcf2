"""What parameters of worlds make of the constants of a model."""

import warp as wp

from annelid.core.kernels.loading import once
from annelid.core.kernels.parameters import PULL, world_pull
from annelid.springs.kernels.layout import Layout

wp.set_module_options({"enable_backward": False})

SCALES = ("stiffness", "damping", "friction", "mass")
"""Factors of a world, in order; they follow what pulls in it."""

MASS = PULL + SCALES.index("mass")
"""Column of the factor on masses."""

TERRAIN = PULL + len(SCALES)
"""First column of what makes the ground of a world, where there are heights: a factor, and shifts along x and y."""


@wp.func
def ground_of(values: wp.array[wp.float64], first: int) -> wp.vec3d:
    """Factor on the heights of a world, and how far they are shifted along x and y [m]."""
    at = first + wp.static(TERRAIN)
    return wp.vec3d(values[at], values[at + 1], values[at + 2])


@once
def derive_world(types: Layout, shaped: bool) -> wp.Function:
    """A function `(world, model, work)` that makes the pull and the factors of a world from its parameters.

    Where the ground is `shaped`, it makes that too.
    """
    real, vec3, vec4, Arrays, Work = types.real, types.vec3, types.vec4, types.Arrays, types.Work

    @wp.func
    def derive(world: int, model: Arrays, work: Work):
        first = world * (work.parameters.shape[0] // model.world_count)
        g = model.parameters[0].gravity
        gravity = wp.vec3d(wp.float64(g[0]), wp.float64(g[1]), wp.float64(g[2]))
        pull = world_pull(gravity, work.parameters, first)
        work.pulls[world] = vec3(real(pull[0]), real(pull[1]), real(pull[2]))
        at = first + wp.static(PULL)
        work.scales[world] = vec4(
            real(work.parameters[at]),
            real(work.parameters[at + 1]),
            real(work.parameters[at + 2]),
            real(work.parameters[at + 3]),
        )
        if wp.static(shaped):
            ground = ground_of(work.parameters, first)
            work.grounds[world] = vec3(real(ground[0]), real(ground[1]), real(ground[2]))

    return derive


@once
def derive_kernel(types: Layout, shaped: bool) -> wp.Kernel:
    """`derive_world` for all worlds."""
    derive, Arrays, Work = derive_world(types, shaped), types.Arrays, types.Work

    @wp.kernel(module="unique", enable_backward=False)
    def derive_all(model: Arrays, work: Work):
        derive(wp.tid(), model, work)

    return derive_all
