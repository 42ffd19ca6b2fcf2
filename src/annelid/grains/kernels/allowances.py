"""How far each grain and each body may move before lists are made anew, where some move and most do not.

A pair can miss each other's lists only by what both have moved. Beside a soft body its guests move, some grains that it
throws up do, and the bed does not; so it is after a blow of a rigid one. Lists that reach further around these few last
longer, at little cost. There the fourth number of `Lists.built` is less what a row may move. Elsewhere it is another
number, 0 or more: each may move by half of what lists reach further than needed.

Bodies are few: lists reach further around each of them by what it will move while they last. A ball that falls onto a
bed would otherwise ask for new lists of the whole bed in every other step. While it is far above the bed, a team makes
none for its sake.
"""

import warp as wp

from annelid.grains.kernels.layout import MARGIN, SKIN, Bodies, Grains, Lists, Parameters, reach_place

wp.set_module_options({"enable_backward": False})

_LASTING = 64.0  # steps that they are to last for where a grain is fast
_STEPS = 10.0  # that they are to last for where a body is fast, beside those in which nobody looks at them
_FURTHEST = 4.0  # that lists reach further around a body, in radii of a grain
_ROOM = 100.0  # that a body is let go without lists, in radii: single precision adds up its way


@wp.func
def allowance(built: wp.vec4, half: float) -> float:
    """How far a row may move that was somewhere when lists were made [m]; `half` where it is not told there."""
    return wp.where(built[3] < 0.0, -built[3], half)


@wp.func
def set_allowance(i: int, parameters: Parameters, grains: Grains, lists: Lists):
    """Tell where row i is as lists are made, and how far it may move by its speed."""
    name = grains.names[i]
    allowed = parameters.guest_skin
    if name[0] < parameters.first_guest:
        v = grains.velocities[i]
        wanted = wp.static(_LASTING) * parameters.dt * wp.length(wp.vec3(v[0], v[1], v[2]))
        allowed = wp.clamp(wanted, parameters.calm_skin, parameters.fast_skin)
    x = grains.positions[i]
    lists.built[i] = wp.vec4(x[0], x[1], x[2], -allowed)


@wp.func
def body_speed(b: int, bodies: Bodies) -> float:
    """Largest speed of the surface of a body [m/s]."""
    return wp.length(bodies.velocities[b]) + wp.length(bodies.spins[b]) * bodies.forms[b].reach


@wp.func
def note_divergence(speed: float, step: int, lists: Lists):
    """Note the first step after which something is faster than can be, or not finite."""
    if not speed < 1.0e15:
        if lists.trouble[0] < wp.int64(0):
            lists.trouble[0] = lists.clock[0] + wp.int64(step + 1)


@wp.func
def others_move(world: int, parameters: Parameters, lists: Lists) -> float:
    """How far grains and guests beside a body may move before lists are made anew [m]."""
    told = wp.max(parameters.guest_skin, parameters.fast_skin)
    return wp.max(0.5 * lists.reach[reach_place(wp.static(SKIN), world)], told)


@wp.func
def body_lead(b: int, parameters: Parameters, bodies: Bodies) -> float:
    """How much further lists reach around a body by its speed when they are made [m]."""
    wanted = (wp.static(_STEPS) + parameters.patience) * parameters.dt * body_speed(b, bodies)
    return wp.min(wanted, wp.static(_FURTHEST) * parameters.smallest)


@wp.func
def is_away(b: int, parameters: Parameters, bodies: Bodies) -> bool:
    """Whether a body is so far from all grains that lists are made anew before it needs them; a team finds that.

    One that would be there within some steps is not, wherever it is.
    """
    least = wp.static(_FURTHEST) * parameters.smallest
    return bodies.travel[b] < -least and wp.static(_STEPS) * parameters.dt * body_speed(b, bodies) < least


@wp.func
def room_around(b: int, parameters: Parameters, grains: Grains, lists: Lists, bodies: Bodies) -> float:
    """How much further than lists lead it a body may move that is in none of them [m]."""
    form = bodies.forms[b]
    room = float(0.0)
    if form.reach > 0.0 and parameters.period == wp.vec3():
        nearest = float(1.0e6)
        for i in range(lists.first_of_world[form.world], lists.first_of_world[form.world + 1]):
            x = grains.positions[i]
            nearest = wp.min(nearest, wp.length(wp.vec3(x[0], x[1], x[2]) - bodies.places[b]))
        listed = lists.reach[reach_place(wp.static(MARGIN), form.world)] + parameters.body_skin + parameters.radius
        listed += others_move(form.world, parameters, lists) + body_lead(b, parameters, bodies)
        room = wp.clamp(nearest - form.reach - listed, 0.0, wp.static(_ROOM) * parameters.smallest)
    return room
