"""Motion of one grain: what it would do between two sweeps, and its step after the last."""

import warp as wp

from annelid.core.kernels.loading import once
from annelid.grains.kernels.allowances import allowance, note_divergence
from annelid.grains.kernels.layout import (
    APPROACH,
    FLAGS,
    MARGIN,
    SKIN,
    STALE,
    TOO_FAST,
    Features,
    Grains,
    Lists,
    Parameters,
    pull_on,
    reach_place,
    world_of,
)
from annelid.grains.kernels.sums import ContactSum

wp.set_module_options({"enable_backward": False})


@wp.func
def wrapped(x: float, period: float) -> float:
    """A coordinate within its period."""
    out = x
    if period > 0.0:
        out = x - period * wp.floor(x / period)
    return out


@once
def foresee(features: Features) -> wp.Function:
    """A function that predicts, between two sweeps, the velocities of grain i at the end of the step."""
    guests, bouncing, pull = features.guests, features.bouncing, pull_on(features)
    converging = features.converging

    @wp.func
    def look_ahead(i: int, total: ContactSum, parameters: Parameters, grains: Grains, grains_out: Grains):
        v = grains.velocities[i]
        w = grains.spins[i]
        share = 2.5 * w[3] / (v[3] * v[3])
        g = pull(i, parameters, grains) * parameters.dt
        if wp.static(guests):
            if grains.names[i][0] >= parameters.first_guest:  # their velocity is that which the step would bring
                share = 0.0
                g = wp.vec3()
        grains_out.positions[i] = grains.positions[i]
        if wp.static(bouncing):
            grains_out.starts[i] = grains.starts[i]
        push, twist = total.impulse, total.angular
        if wp.static(converging):  # contacts count from the first sweep on
            here = grains.positions[i]
            grains_out.positions[i] = wp.vec4(here[0], here[1], here[2], wp.max(here[3], total.contacts))
        grains_out.forecast[i] = wp.vec4(
            v[0] + g[0] + w[3] * push[0], v[1] + g[1] + w[3] * push[1], v[2] + g[2] + w[3] * push[2], v[3]
        )
        grains_out.turning[i] = wp.vec4(w[0] + share * twist[0], w[1] + share * twist[1], w[2] + share * twist[2], w[3])

    return look_ahead


@once
def watch_lists(features: Features) -> wp.Function:
    """A function that asks for new lists where grain i has moved too far or is too fast for those there are."""
    world = world_of(features)

    @wp.func
    def watch(i: int, end: wp.vec3, speed: float, radius: float, parameters: Parameters, grains: Grains, lists: Lists):
        dt = parameters.dt
        old = lists.built[i]
        away = wp.vec3(end[0] - old[0], end[1] - old[1], end[2] - old[2])
        for axis in range(3):
            if parameters.period[axis] > 0.0:
                away[axis] = away[axis] - parameters.period[axis] * wp.round(away[axis] / parameters.period[axis])
        number = world(i, grains)
        allowed = allowance(old, 0.5 * lists.reach[reach_place(wp.static(SKIN), number)])
        margin = lists.reach[reach_place(wp.static(MARGIN), number)]
        moved = wp.length(away) + parameters.patience * dt * speed > allowed
        if moved or wp.static(APPROACH) * dt * speed > margin:
            lists.flags[wp.static(STALE)] = 1
            lists.flags[wp.static(FLAGS) + number] = 1
        if dt * speed > wp.max(wp.abs(radius), parameters.smallest):
            lists.flags[wp.static(TOO_FAST)] = 1

    return watch


@once
def finish(features: Features) -> wp.Function:
    """A function that moves grain i by a step of a batch, given the sum of its impulses."""
    foresees, guests, bouncing = features.method == "nonsmooth", features.guests, features.bouncing
    watch, pull = watch_lists(features), pull_on(features)

    @wp.func
    def move(
        i: int, step: int, total: ContactSum, parameters: Parameters, grains: Grains, lists: Lists, grains_out: Grains
    ):  # fmt: skip
        dt = parameters.dt
        x = grains.positions[i]
        v = grains.velocities[i]
        w = grains.spins[i]
        share = 2.5 * w[3] / (v[3] * v[3])
        g = pull(i, parameters, grains) * dt
        push, twist = total.impulse, total.angular
        if wp.static(guests):
            guest = grains.names[i][0] - parameters.first_guest
            if guest >= 0:
                share = 0.0
                g = wp.vec3()
                lists.pushes[3 * guest] = push
                lists.pushes[3 * guest + 1] = twist
                lists.pushes[3 * guest + 2] = total.predicted
                lists.touches[guest] = total.contacts
        change = wp.vec3(g[0] + w[3] * push[0], g[1] + w[3] * push[1], g[2] + w[3] * push[2])
        turn = wp.vec3(share * twist[0], share * twist[1], share * twist[2])
        velocity = wp.vec3(v[0], v[1], v[2]) + change
        spin = wp.vec3(w[0], w[1], w[2]) + turn
        grains.velocities[i] = wp.vec4(velocity[0], velocity[1], velocity[2], v[3])
        if wp.static(bouncing):
            grains_out.starts[i] = grains.velocities[i]
        grains.spins[i] = wp.vec4(spin[0], spin[1], spin[2], w[3])
        path = dt * velocity
        end = wp.vec3(x[0] + path[0], x[1] + path[1], x[2] + path[2])
        grains_out.positions[i] = wp.vec4(
            wrapped(end[0], parameters.period[0]),
            wrapped(end[1], parameters.period[1]),
            wrapped(end[2], parameters.period[2]),
            total.contacts,
        )
        if wp.static(foresees):
            later, later_twist = total.predicted, total.predicted_angular
            change = wp.vec3(g[0] + w[3] * later[0], g[1] + w[3] * later[1], g[2] + w[3] * later[2])
            turn = wp.vec3(share * later_twist[0], share * later_twist[1], share * later_twist[2])
        else:
            change = wp.vec3()
            turn = wp.vec3()
        grains_out.forecast[i] = wp.vec4(
            velocity[0] + change[0], velocity[1] + change[1], velocity[2] + change[2], v[3]
        )
        grains_out.turning[i] = wp.vec4(spin[0] + turn[0], spin[1] + turn[1], spin[2] + turn[2], w[3])
        speed = wp.length(velocity)
        watch(i, end, speed, v[3], parameters, grains, lists)
        note_divergence(speed, step, lists)

    return move
