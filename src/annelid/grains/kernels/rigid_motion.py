"""How bodies move: free ones as forces make them, driven ones along a path or as they are told."""

import warp as wp

from annelid.core.kernels.loading import once
from annelid.grains.kernels.allowances import body_speed, is_away, note_divergence
from annelid.grains.kernels.commands import given_to, mat43
from annelid.grains.kernels.layout import (
    APPROACH,
    BODY_TOO_FAST,
    DRIVEN,
    FIXED,
    FLAGS,
    FREE,
    MARGIN,
    STALE,
    TOO_FAST,
    Bodies,
    Features,
    Lists,
    Moment,
    Parameters,
    pull_in,
    reach_place,
)
from annelid.grains.kernels.simd4 import xyz
from annelid.grains.kernels.sums import ContactSum
from annelid.shapes.kernels.spinning import spinning

wp.set_module_options({"enable_backward": False})


_IN_FLIGHT = spinning(wp.float32)
turned, spin_by = _IN_FLIGHT.turned, _IN_FLIGHT.spin_by
turned_in_flight, spun_on = _IN_FLIGHT.turned_in_flight, _IN_FLIGHT.spun_on


@once
def foresee_body(features: Features) -> wp.Function:
    """A function that predicts, between two sweeps, the velocities of a free body at the end of the step."""
    given, pull, converging = given_to(features), pull_in(features), features.converging

    @wp.func
    def foresee(b: int, step: int, sums: ContactSum, parameters: Parameters, lists: Lists, bodies: Bodies):
        form = bodies.forms[b]
        if form.motion == wp.static(FREE):
            dt = parameters.dt
            turn = bodies.turns[b]
            load = given(b, step, lists, bodies)
            if wp.static(converging):  # contacts count from the first sweep on
                bodies.contacts[b] = wp.max(bodies.contacts[b], sums.impulse[3])
            twist = xyz(sums.angular) + load[1] * dt
            push = (pull(form.world, parameters) + form.inverse_mass * load[0]) * dt
            bodies.forecast[b] = bodies.velocities[b] + push + form.inverse_mass * xyz(sums.impulse)
            bodies.turning[b] = bodies.spins[b] + spin_by(turn, form.inverse_inertia, twist)

    return foresee


@once
def given_if_final(features: Features) -> wp.Function:
    """A function `(b, moment, ...) -> mat43`: what a body is given, see `given_to`, where it is about to be moved."""
    given = given_to(features)

    @wp.func
    def found(b: int, moment: Moment, lists: Lists, bodies: Bodies) -> mat43:
        told = mat43()
        if moment.final == 1:
            if bodies.forms[b].motion != wp.static(FIXED):
                told = given(b, moment.step, lists, bodies)
        return told

    return found


@once
def move_told_body(features: Features) -> wp.Function:
    """A function that advances a body by a step of a batch, given what touched it.

    `told` is what it is given in this step and in the next, see `given_to`.
    """
    pull = pull_in(features)

    @wp.func
    def move(
        b: int, step: int, told: mat43, sums: ContactSum, parameters: Parameters, lists: Lists, bodies: Bodies
    ):  # fmt: skip
        dt = parameters.dt
        impulse = xyz(sums.impulse)
        angular = xyz(sums.angular)
        bodies.forces[b] = impulse / dt
        bodies.torques[b] = angular / dt
        bodies.contacts[b] = sums.impulse[3]
        form = bodies.forms[b]
        velocity = bodies.velocities[b]
        spin = bodies.spins[b]
        if form.motion == wp.static(FREE):
            turn = bodies.turns[b]
            push = (pull(form.world, parameters) + form.inverse_mass * told[0]) * dt
            velocity += push + form.inverse_mass * impulse
            spin += spin_by(turn, form.inverse_inertia, angular + told[1] * dt)
            end = turned_in_flight(turn, form.inertia, form.inverse_inertia, spin, dt)
            spin = spun_on(turn, end, form.inertia, form.inverse_inertia, spin)
            push = (pull(form.world, parameters) + form.inverse_mass * told[2]) * dt
            response = spin_by(turn, form.inverse_inertia, xyz(sums.predicted_angular) + told[3] * dt)
            bodies.velocities[b] = velocity
            bodies.spins[b] = spin
            bodies.forecast[b] = velocity + push + form.inverse_mass * xyz(sums.predicted)
            bodies.turning[b] = spin + response
            bodies.places[b] = bodies.places[b] + dt * velocity
            bodies.turns[b] = end
        if form.motion == wp.static(DRIVEN):
            column = bodies.path_of[b]
            if column >= 0:
                row = int(lists.clock[0] - bodies.path_start[0]) + step
                here = row * bodies.path_columns + column
                velocity = bodies.path_velocities[2 * here]
                spin = bodies.path_velocities[2 * here + 1]
                bodies.places[b] = bodies.path_places[here]
                bodies.turns[b] = bodies.path_turns[here]
                later = here + bodies.path_columns
                bodies.forecast[b] = bodies.path_velocities[2 * later]
                bodies.turning[b] = bodies.path_velocities[2 * later + 1]
            else:
                velocity = told[0]
                spin = told[1]
                bodies.places[b] = bodies.places[b] + dt * velocity
                bodies.turns[b] = turned(bodies.turns[b], spin, dt)
                bodies.forecast[b] = told[2]
                bodies.turning[b] = told[3]
            bodies.velocities[b] = velocity
            bodies.spins[b] = spin
        speed = body_speed(b, bodies)
        note_divergence(speed, step, lists)
        if form.motion != wp.static(FIXED) and dt * speed > form.room:
            lists.flags[wp.static(TOO_FAST)] = wp.static(BODY_TOO_FAST)
        travel = bodies.travel[b] + dt * speed
        bodies.travel[b] = travel
        furthest = travel + parameters.patience * dt * speed
        margin = lists.reach[reach_place(wp.static(MARGIN), form.world)]
        hurries = wp.static(APPROACH) * dt * speed > margin and not is_away(b, parameters, bodies)
        if furthest > parameters.body_skin or hurries:
            lists.flags[wp.static(STALE)] = 1
            lists.flags[wp.static(FLAGS) + form.world] = 1

    return move
