"""How bodies move: free ones as forces make them, driven ones along a path or as they are told."""

import functools

import warp as wp

from annelid.grains.kernels.commands import given_to
from annelid.grains.kernels.layout import (
    APPROACH,
    DRIVEN,
    FLAGS,
    FREE,
    MARGIN,
    STALE,
    Bodies,
    Features,
    Lists,
    Parameters,
    pull_in,
    reach_place,
)
from annelid.grains.kernels.sums import ContactSum

wp.set_module_options({"enable_backward": False})


@wp.func
def turned(turn: wp.quat, spin: wp.vec3, dt: float) -> wp.quat:
    """A turn after a short time."""
    rate = wp.quat(spin[0], spin[1], spin[2], 0.0) * turn
    return wp.normalize(turn + 0.5 * dt * rate)


@functools.cache
def foresee_body(features: Features) -> wp.Function:
    """A function that predicts, between two sweeps, the velocities of a free body at the end of the step."""
    load, pull = given_to(features, driven=False), pull_in(features)

    @wp.func
    def foresee(b: int, step: int, sums: ContactSum, parameters: Parameters, lists: Lists, bodies: Bodies):
        form = bodies.forms[b]
        if form.motion == wp.static(FREE):
            dt = parameters.dt
            turn = bodies.turns[b]
            twist = sums.angular + load(b, 1, step, lists, bodies) * dt
            push = (pull(form.world, parameters) + form.inverse_mass * load(b, 0, step, lists, bodies)) * dt
            bodies.forecast[b] = bodies.velocities[b] + push + form.inverse_mass * sums.impulse
            response = form.inverse_inertia * wp.quat_rotate_inv(turn, twist)
            bodies.turning[b] = bodies.spins[b] + wp.quat_rotate(turn, response)

    return foresee


@functools.cache
def move_body(features: Features) -> wp.Function:
    """A function that advances a body by a step of a batch, given what touched it."""
    load, drive = given_to(features, driven=False), given_to(features, driven=True)
    follows, pull = features.commanded, pull_in(features)

    @wp.func
    def move(b: int, step: int, sums: ContactSum, parameters: Parameters, lists: Lists, bodies: Bodies):
        dt = parameters.dt
        impulse = sums.impulse
        angular = sums.angular
        bodies.forces[b] = impulse / dt
        bodies.torques[b] = angular / dt
        bodies.contacts[b] = sums.contacts
        form = bodies.forms[b]
        velocity = bodies.velocities[b]
        spin = bodies.spins[b]
        if form.motion == wp.static(FREE):
            turn = bodies.turns[b]
            force = load(b, 0, step, lists, bodies)
            torque = load(b, 1, step, lists, bodies)
            push = (pull(form.world, parameters) + form.inverse_mass * force) * dt
            local = wp.quat_rotate_inv(turn, spin)
            gyro = wp.cross(form.inertia * local, local)
            twist = wp.quat_rotate_inv(turn, angular + torque * dt)
            velocity += push + form.inverse_mass * impulse
            spin += wp.quat_rotate(turn, form.inverse_inertia * (twist + gyro * dt))
            if wp.static(follows):
                torque = load(b, 1, step + 1, lists, bodies)
                push = (pull(form.world, parameters) + form.inverse_mass * load(b, 0, step + 1, lists, bodies)) * dt
            coming = wp.quat_rotate_inv(turn, sums.predicted_angular + torque * dt)
            response = wp.quat_rotate(turn, form.inverse_inertia * coming)
            bodies.velocities[b] = velocity
            bodies.spins[b] = spin
            bodies.forecast[b] = velocity + push + form.inverse_mass * sums.predicted
            bodies.turning[b] = spin + response
            bodies.places[b] = bodies.places[b] + dt * velocity
            bodies.turns[b] = turned(turn, spin, dt)
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
                velocity = drive(b, 0, step, lists, bodies)
                spin = drive(b, 1, step, lists, bodies)
                bodies.places[b] = bodies.places[b] + dt * velocity
                bodies.turns[b] = turned(bodies.turns[b], spin, dt)
                bodies.forecast[b] = velocity
                bodies.turning[b] = spin
                if wp.static(follows):
                    bodies.forecast[b] = drive(b, 0, step + 1, lists, bodies)
                    bodies.turning[b] = drive(b, 1, step + 1, lists, bodies)
            bodies.velocities[b] = velocity
            bodies.spins[b] = spin
        speed = wp.length(velocity) + wp.length(spin) * form.reach
        travel = bodies.travel[b] + dt * speed
        bodies.travel[b] = travel
        furthest = travel + parameters.patience * dt * speed
        margin = lists.reach[reach_place(wp.static(MARGIN), form.world)]
        if furthest > parameters.body_skin - 0.5 * parameters.skin or wp.static(APPROACH) * dt * speed > margin:
            lists.flags[wp.static(STALE)] = 1
            lists.flags[wp.static(FLAGS) + form.world] = 1

    return move
