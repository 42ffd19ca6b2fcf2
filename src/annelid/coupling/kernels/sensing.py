"""What sensors read of the surface of spring bodies: forces of contacts, summed in a fixed order."""

import warp as wp

from annelid.core.kernels.sums import PARTS, Sums

wp.set_module_options({"enable_backward": False})

TOUCH = 1.0e-20
"""What contacts that are only near bring is smaller [N]."""


@wp.kernel(enable_backward=False)
def sum_contacts(
    members: wp.array[wp.int32],  # places among the surface masses of a world
    surface: int,  # surface masses of a world
    forces: wp.array[wp.vec3],
    sums_out: wp.array2d[Sums],
):
    """Sum forces, and count masses that feel one, in parts."""
    world, part = wp.tid()
    total = Sums()
    for k in range(part, members.shape[0], wp.static(PARTS)):
        force = forces[world * surface + members[k]]
        for axis in range(3):
            total[axis] = total[axis] + wp.float64(force[axis])
        if wp.length(force) > wp.static(TOUCH):
            total[3] = total[3] + wp.float64(1.0)
    sums_out[world, part] = total
