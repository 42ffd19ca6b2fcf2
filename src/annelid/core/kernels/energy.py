"""Energies of worlds from sums over what moves in them."""

import warp as wp

from annelid.core.kernels.sums import Sums, whole

wp.set_module_options({"enable_backward": False})

KINETIC, ROTATIONAL, ELASTIC, GRAVITATIONAL = range(4)
"""Places in the sums [J]; the kinetic energy includes that of rotation."""


@wp.func
def energies_of(mass: wp.float64, rotational: wp.float64, pull: wp.vec3d, x: wp.vec3d, v: wp.vec3d) -> Sums:
    """Energies of one thing at x, which moves with v and is pulled by gravity, with what its rotation holds."""
    sums = Sums()
    sums[wp.static(KINETIC)] = wp.float64(0.5) * mass * wp.dot(v, v) + rotational
    sums[wp.static(ROTATIONAL)] = rotational
    sums[wp.static(GRAVITATIONAL)] = -mass * wp.dot(pull, x)
    return sums


@wp.kernel(enable_backward=False)
def finish_energy(sums: wp.array2d[Sums], weights: wp.vec4d, first: int, readings_out: wp.array2d[wp.float32]):
    """Write a weighted sum of the energies of each world."""
    world = wp.tid()
    total = whole(sums, world)
    energy = wp.float64(0.0)
    for kind in range(4):
        energy += weights[kind] * total[kind]
    readings_out[world, first] = wp.float32(energy)
