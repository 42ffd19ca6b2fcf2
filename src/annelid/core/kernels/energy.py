"""Energies of worlds from sums over what moves in them."""

import warp as wp

from annelid.core.kernels.sums import PARTS, Sums

wp.set_module_options({"enable_backward": False})

KINETIC, ROTATIONAL, ELASTIC, GRAVITATIONAL = range(4)
"""Places in the sums [J]; the kinetic energy includes that of rotation."""


@wp.kernel(enable_backward=False)
def finish_energy(sums: wp.array2d[Sums], weights: wp.vec4d, first: int, readings_out: wp.array2d[wp.float32]):
    """Write a weighted sum of the energies of each world."""
    world = wp.tid()
    total = Sums()
    for part in range(wp.static(PARTS)):
        total += sums[world, part]
    energy = wp.float64(0.0)
    for kind in range(4):
        energy += weights[kind] * total[kind]
    readings_out[world, first] = wp.float32(energy)
