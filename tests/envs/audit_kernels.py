"""Energy that contacts take out of moving grains, from the impulses and motions of one step."""

import warp as wp

from annelid.core.kernels.loading import once
from annelid.grains.kernels.layout import Bodies, Features, Grains, Lists, Parameters
from annelid.grains.kernels.rows import impulse_place, neighbour_place
from annelid.grains.kernels.surfaces import surface_gap

wp.set_module_options({"enable_backward": False})


@wp.func
def xyz(v: wp.vec4) -> wp.vec3:
    return wp.vec3(v[0], v[1], v[2])


@once
def loss_kernel(features: Features) -> wp.Kernel:
    """Add the loss of the last step to the account of each grain, which shares that of a pair with its neighbour.

    A step changes kinetic energy by impulses times the mean of the velocities before and after it, exactly; what is
    lost at a contact is its impulse times the mean velocity of its two sides against each other.
    """
    gap_of = surface_gap(features.kinds)

    @wp.kernel(module="unique", enable_backward=False)
    def add_losses(
        parameters: Parameters,
        grains: Grains,
        lists: Lists,
        bodies: Bodies,  # as they were before the step
        # Before the step, by name of the grain:
        places: wp.array[wp.vec3],
        velocities: wp.array[wp.vec3],
        spins: wp.array[wp.vec3],
        # Sums:
        losses: wp.array[wp.float64],
    ):
        i = wp.tid()
        name = grains.names[i][0]
        x = places[name]
        v = 0.5 * (velocities[name] + xyz(grains.velocities[i]))
        spin = 0.5 * (spins[name] + xyz(grains.spins[i]))
        radius = parameters.radius
        count = lists.counts[i]
        total = wp.float64(0.0)
        for k in range(count[0]):
            j = lists.neighbours[neighbour_place(i, k, lists)]
            if j < parameters.count:
                impulse = wp.vec3()
                for c in range(3):
                    impulse[c] = lists.impulses[impulse_place(i, k, c, lists)]
                if impulse[0] != 0.0 or impulse[1] != 0.0 or impulse[2] != 0.0:
                    other = grains.names[j][0]
                    away = x - places[other]
                    distance = wp.length(away)
                    n = away / wp.max(distance, 1.0e-20)
                    theirs = 0.5 * (velocities[other] + xyz(grains.velocities[j]))
                    turning = spin + 0.5 * (spins[other] + xyz(grains.spins[j]))
                    relative = v - theirs - 0.5 * distance * wp.cross(turning, n)
                    total -= wp.float64(0.5 * wp.dot(impulse, relative))
        for k in range(count[1]):
            at = i * lists.body_places + k
            impulse = lists.body_impulses[at]
            if impulse[0] != 0.0 or impulse[1] != 0.0 or impulse[2] != 0.0:
                b = lists.bodies[at]
                found = gap_of(b, x, bodies)
                n = wp.vec3(found[0], found[1], found[2])
                lever = 0.5 * (radius + found[3])
                arm = x - lever * n - bodies.places[b]
                relative = v - lever * wp.cross(spin, n)
                relative -= bodies.velocities[b] + wp.cross(bodies.spins[b], arm)
                total -= wp.float64(wp.dot(impulse, relative))
        losses[name] = losses[name] + total

    return add_losses


@wp.kernel
def remember(
    grains: Grains,
    # Out:
    place_out: wp.array[wp.vec3],
    velocity_out: wp.array[wp.vec3],
    spin_out: wp.array[wp.vec3],
):
    """Grains as they are, by name."""
    i = wp.tid()
    name = grains.names[i][0]
    place_out[name] = xyz(grains.positions[i])
    velocity_out[name] = xyz(grains.velocities[i])
    spin_out[name] = xyz(grains.spins[i])
