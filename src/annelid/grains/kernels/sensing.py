"""What sensors read of bodies and of the grains of a world: sums in a fixed order, and heights."""

import warp as wp

from annelid.core.kernels.sums import PARTS, Sums

wp.set_module_options({"enable_backward": False})

TOUCH = 1.0e-20
"""What contacts that are only near bring is smaller [N]."""


@wp.kernel(enable_backward=False)
def read_turns(
    numbers: wp.array[wp.int32],
    axes: wp.quat,
    turns: wp.array[wp.quat],
    first: int,
    readings_out: wp.array2d[wp.float32],
):
    """Write how the frame of a body is turned, with w not negative; `axes` leads from its shape to the kernels'."""
    world = wp.tid()
    turn = turns[numbers[world]] * axes
    sign = wp.where(turn[3] < 0.0, -1.0, 1.0)
    for k in range(4):
        readings_out[world, first + k] = sign * turn[k]


@wp.kernel(enable_backward=False)
def read_touch(
    numbers: wp.array[wp.int32],
    forces: wp.array[wp.vec3],
    torques: wp.array[wp.vec3],
    first: int,
    readings_out: wp.array2d[wp.float32],
):
    """Write 1 where something touched a body in the last step, else 0."""
    world = wp.tid()
    b = numbers[world]
    felt = wp.length(forces[b]) + wp.length(torques[b])
    readings_out[world, first] = wp.where(felt > wp.static(TOUCH), 1.0, 0.0)


@wp.kernel(enable_backward=False)
def sum_grains(
    starts: wp.array[wp.int32],  # first row of each world, and one past the last
    first_guest: int,
    low: wp.vec3,
    high: wp.vec3,
    moving: int,  # 1 for velocities, 0 for positions
    names: wp.array[wp.vec2i],
    positions: wp.array[wp.vec4],
    velocities: wp.array[wp.vec4],
    spins: wp.array[wp.vec4],
    sums_out: wp.array2d[Sums],
):
    """Sum over the grains of a world inside a box, in parts.

    Number, mass, mass times position x, y, z or velocity x, y, z, and kinetic energy.
    """
    world, part = wp.tid()
    total = Sums()
    for i in range(starts[world] + part, starts[world + 1], wp.static(PARTS)):
        x = positions[i]
        inside = names[i][0] < first_guest
        for axis in range(3):
            inside = inside and x[axis] >= low[axis] and x[axis] <= high[axis]
        if inside:
            v = velocities[i]
            w = spins[i]
            mass = wp.float64(1.0) / wp.float64(w[3])
            inertia = wp.float64(0.4) * mass * wp.float64(v[3]) * wp.float64(v[3])
            total[0] = total[0] + wp.float64(1.0)
            total[1] = total[1] + mass
            for axis in range(3):
                speed, spin = wp.float64(v[axis]), wp.float64(w[axis])
                total[2 + axis] = total[2 + axis] + mass * wp.where(moving == 1, speed, wp.float64(x[axis]))
                total[5] = total[5] + wp.float64(0.5) * (mass * speed * speed + inertia * spin * spin)
    sums_out[world, part] = total


@wp.kernel(enable_backward=False)
def clear_heights(floor: float, first: int, readings_out: wp.array2d[wp.float32]):
    """Begin with the floor."""
    world, cell = wp.tid()
    readings_out[world, first + cell] = floor


@wp.kernel(enable_backward=False)
def raise_heights(
    first_guest: int,
    low: wp.vec2,
    size: wp.vec2,  # of a cell [m]
    cells: wp.vec2i,
    first: int,
    names: wp.array[wp.vec2i],
    positions: wp.array[wp.vec4],
    velocities: wp.array[wp.vec4],
    heights: wp.array2d[wp.float32],
):
    """Raise cells to the highest point of a grain above them."""
    i = wp.tid()
    if names[i][0] >= first_guest:
        return
    x = positions[i]
    radius = velocities[i][3]
    a0 = wp.max(int(wp.floor((x[0] - radius - low[0]) / size[0])), 0)
    a1 = wp.min(int(wp.floor((x[0] + radius - low[0]) / size[0])), cells[0] - 1)
    b0 = wp.max(int(wp.floor((x[1] - radius - low[1]) / size[1])), 0)
    b1 = wp.min(int(wp.floor((x[1] + radius - low[1]) / size[1])), cells[1] - 1)
    for a in range(a0, a1 + 1):
        for b in range(b0, b1 + 1):
            corner = wp.vec2(low[0] + float(a) * size[0], low[1] + float(b) * size[1])
            aside = x[0] - wp.clamp(x[0], corner[0], corner[0] + size[0])
            across = x[1] - wp.clamp(x[1], corner[1], corner[1] + size[1])
            left = radius * radius - aside * aside - across * across
            if left >= 0.0:
                wp.atomic_max(heights, names[i][1], first + a * cells[1] + b, x[2] + wp.sqrt(left))
