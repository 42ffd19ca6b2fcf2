"""What sensors read of the surface of spring bodies: forces of contacts, summed in a fixed order."""

import warp as wp

wp.set_module_options({"enable_backward": False})

PARTS = 64
"""Parts in which the masses of a world are summed, whatever the device: the same bits everywhere."""

TOUCH = 1.0e-20
"""What contacts that are only near bring is smaller [N]."""


@wp.kernel(enable_backward=False)
def sum_contacts(
    members: wp.array[wp.int32],  # places among the surface masses of a world
    surface: int,  # surface masses of a world
    forces: wp.array[wp.vec3],
    sums_out: wp.array2d[wp.vec4d],
):
    """Sum forces, and count masses that feel one, in parts."""
    world, part = wp.tid()
    total = wp.vec4d()
    for k in range(part, members.shape[0], wp.static(PARTS)):
        force = forces[world * surface + members[k]]
        touches = wp.where(wp.length(force) > wp.static(TOUCH), wp.float64(1.0), wp.float64(0.0))
        total += wp.vec4d(wp.float64(force[0]), wp.float64(force[1]), wp.float64(force[2]), touches)
    sums_out[world, part] = total


@wp.kernel(enable_backward=False)
def finish_contacts(
    sums: wp.array2d[wp.vec4d], start: int, count: int, scale: wp.float64, first: int,
    readings_out: wp.array2d[wp.float32],
):  # fmt: skip
    """Write `count` of the sums from `start` on, times `scale`."""
    world = wp.tid()
    total = wp.vec4d()
    for part in range(wp.static(PARTS)):
        total += sums[world, part]
    for k in range(count):
        readings_out[world, first + k] = wp.float32(scale * total[start + k])
