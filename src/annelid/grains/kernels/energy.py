"""Energies of the grains and free bodies of a world."""

import warp as wp

from annelid.core.kernels.energy import energies_of
from annelid.core.kernels.parameters import world_pull
from annelid.core.kernels.sums import PARTS, Sums

wp.set_module_options({"enable_backward": False})


@wp.func
def _wide(x: wp.vec4) -> wp.vec3d:
    return wp.vec3d(wp.float64(x[0]), wp.float64(x[1]), wp.float64(x[2]))


@wp.func
def _pull(gravity: wp.vec3d, values: wp.array[wp.float64], world: int, worlds: int) -> wp.vec3d:
    """What pulls in a world: gravity, or what its parameters make of it where there are some."""
    pull = gravity
    if values.shape[0] > 0:
        pull = world_pull(gravity, values, world * (values.shape[0] // worlds))
    return pull


@wp.kernel(enable_backward=False)
def grain_energies(
    starts: wp.array[wp.int32],  # first row of each world, and one past the last
    first_guest: int,
    gravity: wp.vec3d,
    values: wp.array[wp.float64],  # parameters of the worlds
    names: wp.array[wp.vec2i],
    positions: wp.array[wp.vec4],
    velocities: wp.array[wp.vec4],
    spins: wp.array[wp.vec4],
    sums_out: wp.array2d[Sums],
):
    """Sum over the grains of a world, in parts."""
    world, part = wp.tid()
    total = Sums()
    pull = _pull(gravity, values, world, starts.shape[0] - 1)
    for i in range(starts[world] + part, starts[world + 1], wp.static(PARTS)):
        if names[i][0] < first_guest:
            w = _wide(spins[i])
            radius = wp.float64(velocities[i][3])
            mass = wp.float64(1.0) / wp.float64(spins[i][3])
            inertial = wp.float64(0.2) * mass * radius * radius * wp.dot(w, w)
            total += energies_of(mass, inertial, pull, _wide(positions[i]), _wide(velocities[i]))
    sums_out[world, part] = total


@wp.kernel(enable_backward=False)
def body_energies(
    begins: wp.array[wp.int32],  # first body of each world in the lists below, and one past the last
    numbers: wp.array[wp.int32],
    masses: wp.array[wp.float64],
    inertias: wp.array[wp.mat33d],  # in the frame of the body
    gravity: wp.vec3d,
    values: wp.array[wp.float64],
    places: wp.array[wp.vec3],
    turns: wp.array[wp.quat],
    velocities: wp.array[wp.vec3],
    spins: wp.array[wp.vec3],
    sums: wp.array2d[Sums],
):
    """Add the bodies of a world to its sums."""
    world = wp.tid()
    total = sums[world, 0]
    pull = _pull(gravity, values, world, begins.shape[0] - 1)
    for k in range(begins[world], begins[world + 1]):
        b = numbers[k]
        spin = wp.vec3d(wp.quat_rotate_inv(turns[b], spins[b]))
        inertial = wp.float64(0.5) * wp.dot(spin, inertias[k] * spin)
        total += energies_of(masses[k], inertial, pull, wp.vec3d(places[b]), wp.vec3d(velocities[b]))
    sums[world, 0] = total
