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
from annelid.grains.kernels.simd4 import add, mul, put_row, row_of, sub, with_last, xyz  # noqa: F401 (what + means)
from annelid.grains.kernels.sums import ContactSum

wp.set_module_options({"enable_backward": False})


@once
def free_motion(features: Features) -> wp.Function:
    """A function `(i, parameters, grains) -> vec4`: what gravity adds to the velocity of a grain in a step [m/s].

    The fourth number is what an angular impulse on it is multiplied by. Both are 0 for guests: others move these.
    """
    guests, pull = features.guests, pull_on(features)

    @wp.func
    def motion(i: int, parameters: Parameters, grains: Grains) -> wp.vec4:
        radius = row_of(grains.velocities, i)[3]
        g = pull(i, parameters, grains) * parameters.dt
        out = wp.vec4(g[0], g[1], g[2], 2.5 * row_of(grains.spins, i)[3] / (radius * radius))
        if wp.static(guests):
            if grains.names[i][0] >= parameters.first_guest:
                out = wp.vec4()
        return out

    return motion


@once
def foresee(features: Features) -> wp.Function:
    """A function that predicts, between two sweeps, the velocities of grain i at the end of the step."""
    bouncing, converging, free = features.bouncing, features.converging, free_motion(features)

    @wp.func
    def look_ahead(i: int, total: ContactSum, parameters: Parameters, grains: Grains, grains_out: Grains):
        here = row_of(grains.positions, i)
        v = row_of(grains.velocities, i)
        w = row_of(grains.spins, i)
        gain = free(i, parameters, grains)
        if wp.static(converging):  # contacts count from the first sweep on
            here = with_last(here, wp.max(here[3], total.impulse[3]))
        put_row(i, here, grains_out.positions)
        put_row(i, with_last(v + gain + w[3] * total.impulse, v[3]), grains_out.forecast)
        put_row(i, with_last(w + gain[3] * total.angular, w[3]), grains_out.turning)
        if wp.static(bouncing):
            put_row(i, row_of(grains.starts, i), grains_out.starts)

    return look_ahead


@once
def wrapping(features: Features) -> wp.Function:
    """A function `(place, contacts, parameters) -> vec4`: a place within the periods of a bed, and contacts."""
    periodic = features.periodic

    @wp.func
    def within(place: wp.vec4, contacts: float, parameters: Parameters) -> wp.vec4:
        out = with_last(place, contacts)
        if wp.static(any(periodic)):
            for axis in range(3):
                period = parameters.period[axis]
                if period > 0.0:
                    out[axis] = place[axis] - period * wp.floor(place[axis] / period)
        return out

    return within


@once
def watch_lists(features: Features) -> wp.Function:
    """A function that asks for new lists where grain i has moved too far or is too fast for those there are."""
    world, periodic = world_of(features), features.periodic

    @wp.func
    def watch(i: int, end: wp.vec4, speed: float, radius: float, parameters: Parameters, grains: Grains, lists: Lists):
        dt = parameters.dt
        built = row_of(lists.built, i)
        away = xyz(end - built)
        if wp.static(any(periodic)):
            for axis in range(3):
                period = parameters.period[axis]
                if period > 0.0:
                    away[axis] = away[axis] - period * wp.round(away[axis] / period)
        number = world(i, grains)
        allowed = allowance(built, 0.5 * lists.reach[reach_place(wp.static(SKIN), number)])
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
    watch, within, free = watch_lists(features), wrapping(features), free_motion(features)

    @wp.func
    def move(
        i: int, step: int, total: ContactSum, parameters: Parameters, grains: Grains, lists: Lists, grains_out: Grains
    ):  # fmt: skip
        dt = parameters.dt
        v = row_of(grains.velocities, i)
        w = row_of(grains.spins, i)
        gain = free(i, parameters, grains)
        velocity = with_last(v + (gain + w[3] * total.impulse), v[3])
        spin = with_last(w + gain[3] * total.angular, w[3])
        end = row_of(grains.positions, i) + dt * velocity
        forecast = velocity
        turning = spin
        if wp.static(foresees):
            forecast = with_last(velocity + (gain + w[3] * total.predicted), v[3])
            turning = with_last(spin + gain[3] * total.predicted_angular, w[3])
        put_row(i, velocity, grains.velocities)
        put_row(i, spin, grains.spins)
        put_row(i, forecast, grains_out.forecast)
        put_row(i, turning, grains_out.turning)
        if wp.static(bouncing):
            put_row(i, velocity, grains_out.starts)
        if wp.static(guests):
            guest = grains.names[i][0] - parameters.first_guest
            if guest >= 0:
                lists.pushes[3 * guest] = xyz(total.impulse)
                lists.pushes[3 * guest + 1] = xyz(total.angular)
                lists.pushes[3 * guest + 2] = xyz(total.predicted)
                lists.touches[guest] = total.impulse[3]
        speed = wp.length(xyz(velocity))
        watch(i, end, speed, v[3], parameters, grains, lists)
        put_row(i, within(end, total.impulse[3], parameters), grains_out.positions)
        note_divergence(speed, step, lists)

    return move
