"""Energies of a solid: sums over elements and nodes in a fixed order."""

import warp as wp

from annelid.core.kernels.energy import ELASTIC, GRAVITATIONAL, KINETIC
from annelid.core.kernels.parameters import world_pull
from annelid.core.kernels.sums import PARTS, Sums
from annelid.fem.kernels.parameters import MASS, STIFFNESS

wp.set_module_options({"enable_backward": False})


@wp.kernel(enable_backward=False)
def solid_energies(
    world: int,
    inertial: wp.array2d[wp.int32],  # nodes of each element of inertia
    masses: wp.array3d[wp.float64],  # of their pairs [kg]
    weights: wp.array[wp.float64],  # mass of each node [kg]
    gravity: wp.vec3d,
    width: int,  # parameters of a world
    parameters: wp.array[wp.float64],  # of all worlds; empty where they are alike
    elastic: wp.array[wp.float64],  # energy of each element [J]
    positions: wp.array[wp.vec3d],
    velocities: wp.array[wp.vec3d],  # empty where nothing moves
    sums_out: wp.array2d[Sums],
):
    """Sums of one world, in parts."""
    part = wp.tid()
    total = Sums()
    pull = gravity
    if parameters.shape[0] > 0:
        pull = world_pull(gravity, parameters, world * width)
    if velocities.shape[0] > 0:
        for k in range(part, inertial.shape[0], wp.static(PARTS)):
            for a in range(inertial.shape[1]):
                for b in range(inertial.shape[1]):
                    pair = wp.dot(velocities[inertial[k, a]], velocities[inertial[k, b]])
                    total[wp.static(KINETIC)] = total[wp.static(KINETIC)] + wp.float64(0.5) * masses[k, a, b] * pair
    for k in range(part, elastic.shape[0], wp.static(PARTS)):
        total[wp.static(ELASTIC)] = total[wp.static(ELASTIC)] + elastic[k]
    for k in range(part, weights.shape[0], wp.static(PARTS)):
        fall = wp.dot(pull, positions[k])
        total[wp.static(GRAVITATIONAL)] = total[wp.static(GRAVITATIONAL)] - weights[k] * fall
    if parameters.shape[0] > 0:
        heavier = parameters[world * width + wp.static(MASS)]
        stiffer = parameters[world * width + wp.static(STIFFNESS)]
        total[wp.static(KINETIC)] = heavier * total[wp.static(KINETIC)]
        total[wp.static(GRAVITATIONAL)] = heavier * total[wp.static(GRAVITATIONAL)]
        total[wp.static(ELASTIC)] = stiffer * total[wp.static(ELASTIC)]
    sums_out[world, part] = total
