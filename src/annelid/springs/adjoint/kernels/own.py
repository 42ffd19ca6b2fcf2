"""What of a step run back is up to one mass: gravity, drag, forces, contacts, ground that resists and guides."""

import warp as wp

from annelid.core.kernels.loading import once
from annelid.springs.adjoint.kernels.contact import touch_back, touched_of
from annelid.springs.adjoint.kernels.ledger import ledger_of
from annelid.springs.adjoint.kernels.resisting import resist_back
from annelid.springs.adjoint.kernels.surfaces import FLAT
from annelid.springs.kernels.dynamics import push_of, touch_of
from annelid.springs.kernels.gather import thread_gather
from annelid.springs.kernels.layout import layout
from annelid.springs.kernels.program import Features
from annelid.springs.kernels.surfaces import obstacle_gap

wp.set_module_options({"enable_backward": False})


@once
def own_back(features: Features, rated: bool, single: bool = False) -> wp.Function:
    """Run step `step` back for mass i, from bars by its state after the step to those by the state before it.

    What its springs add to the latter is gathered afterwards, from the rates by the forces (`pulls_out`) of the masses
    at both ends; `speeds_out` are their velocities. Rates by parameters are booked where they are `rated`. There is one
    obstacle where it is `single`.
    """
    types = layout(features.real)
    real, vec3, vec4 = types.real, types.vec3, types.vec4
    Arrays, Work, Ledger = types.Arrays, types.Work, ledger_of(types)
    contacts, touches = contacts_back(features, rated, single), bool(features.touching)
    pushed, guided, Parameters = features.pushed, features.guided, types.Parameters
    resisted, alone, sand_back = bool(features.resisted), untouched(features), resist_back(types, rated)

    @wp.func
    def own(
        i: int,
        step: int,
        model: Arrays,
        parameters: Parameters,  # of its world
        work: Work,
        x_bar: vec3,
        v_bar: vec3,
        effort: real,  # of the step after this one
        here: vec4,
        v: vec3,
        after: vec3,
        positions: wp.array[vec4],
        velocities: wp.array[vec3],
        ledger: Ledger,
        pulls_out: wp.array[vec4],
        speeds_out: wp.array[vec4],
    ):
        dt = real(parameters.dt)
        inverse_mass = here[3]
        p = v_bar + x_bar * dt  # by the velocity after the step
        a_bar = p * dt
        v_bar = p
        q = vec3()
        if inverse_mass > real(0.0):
            if wp.static(guided):
                axis = model.guide_axes[i]
                if model.guides[i] == 1:
                    a_bar = axis * wp.dot(axis, a_bar)
                if model.guides[i] == 2:
                    a_bar = a_bar - axis * wp.dot(axis, a_bar)
            if wp.static(resisted):
                a = alone(i, step, model, work, parameters, here, v, positions, velocities)
                sunk = sand_back(i, model.sand, here, v, a, dt, a_bar, positions, step % 2)
                a_bar = sunk.acceleration
                v_bar += sunk.velocity
                x_bar += sunk.position
            if wp.static(touches):
                found = contacts(i, step, model, parameters, work, here, v, after, a_bar, positions, velocities, ledger)
                a_bar = found.acceleration
                v_bar += found.velocity
                x_bar += found.position
            q = a_bar * inverse_mass
            v_bar -= a_bar * parameters.velocity_damping
            speed = real(0.0)
            if wp.static(rated):
                speed = wp.length(v)
            if parameters.drag > real(0.0):
                speed = wp.length(v)
                v_bar -= (q * speed + v * (wp.dot(v, q) / wp.max(speed, real(1.0e-30)))) * parameters.drag
            if wp.static(rated):
                force = v * (-parameters.drag * speed)
                if wp.static(pushed):
                    force += model.forces[i]
                along = wp.dot(v, a_bar)
                more = wp.dot(force, a_bar)
                if wp.static(touches):
                    more += found.product
                if wp.static(resisted):
                    more += sunk.inverse_mass
                ledger.by_pull[i] = ledger.by_pull[i] + vec4(a_bar[0], a_bar[1], a_bar[2], effort)
                ledger.by_mass[i] = ledger.by_mass[i] + vec4(more, -along, -speed * along, real(0.0))
        ledger.position_bars[i] = x_bar
        ledger.velocity_bars[i] = v_bar
        pulls_out[i] = vec4(q[0], q[1], q[2], real(0.0))
        speeds_out[i] = vec4(v[0], v[1], v[2], real(0.0))

    return own


@once
def untouched(features: Features) -> wp.Function:
    """The acceleration of a mass that touches nothing, found once more from the springs as on the way there."""
    types = layout(features.real)
    real, vec3, vec4 = types.real, types.vec3, types.vec4
    Arrays, Work, Parameters = types.Arrays, types.Work, types.Parameters
    spring_force = thread_gather(types, features.springs("symplectic"), 1)
    pushed, worlds = features.pushed, features.worlds

    @wp.func
    def alone(
        i: int, step: int, model: Arrays, work: Work, parameters: Parameters, here: vec4, v: vec3,
        positions: wp.array[vec4], velocities: wp.array[vec3],
    ) -> vec3:  # fmt: skip
        x = vec3(here[0], here[1], here[2])
        factors = step * model.signal_count * model.world_count
        if wp.static(worlds):
            factors += i // model.masses_a_world * model.signal_count
        force = spring_force(
            i, 0, wp.int64(0), x, v, model, work, factors, vec4(), positions, velocities, real(0.0), real(0.0), False
        )
        force = force - v * (parameters.drag * wp.length(v))
        if wp.static(pushed):
            force += model.forces[i]
        return force * here[3] + parameters.gravity - v * parameters.velocity_damping

    return alone


@once
def contacts_back(features: Features, rated: bool, single: bool) -> wp.Function:
    """All contacts of mass i run back, from the last obstacle to the first.

    Where one plane or box touches it, what friction did follows from the velocity after the step, which is at hand.
    Else the acceleration before each contact is found once more from the springs; few masses need that. Where there is
    a `single` obstacle, which is neither curved nor met by guided masses, none does, and the kernel is a smaller one.
    """
    types = layout(features.real)
    real, vec3, vec4 = types.real, types.vec3, types.vec4
    Arrays, Work, Ledger, Parameters = types.Arrays, types.Work, ledger_of(types), types.Parameters
    Touched, back_through = touched_of(types), touch_back(types, features.touching, features.growing)
    gap_at, push_at = obstacle_gap(types, features.touching), push_of(types, features.growing)
    touch, before_contacts = touch_of(types, features.growing), untouched(features)
    curved, guided, own = any(kind not in FLAT for kind in features.touching), features.guided, features.own
    several = curved or guided or not single
    noise = 16.0 * (1.2e-7 if features.real is wp.float32 else 2.2e-16)

    @wp.func
    def back(
        i: int,
        step: int,
        model: Arrays,
        parameters: Parameters,
        work: Work,
        here: vec4,
        v: vec3,
        after: vec3,
        bar: vec3,
        positions: wp.array[vec4],
        velocities: wp.array[vec3],
        ledger: Ledger,
    ) -> Touched:
        found = Touched()
        found.acceleration = bar
        x = vec3(here[0], here[1], here[2])
        first = int(0)
        if wp.static(own):
            first = i // model.masses_a_world * parameters.obstacle_count
        dt = real(parameters.dt)
        count = int(0)
        only = int(0)
        for k in range(parameters.obstacle_count):
            if gap_at(model.grid_values, model.obstacles[first + k], x)[3] < real(0.0):
                count += 1
                only = k
        if count == 0:
            return found
        simple = count == 1
        tentative = after
        sticks = bool(False)
        if wp.static(guided):
            simple = simple and model.guides[i] == 0
        if simple:
            obstacle = model.obstacles[first + only]
            surface = gap_at(model.grid_values, obstacle, x)
            n = vec3(surface[0], surface[1], surface[2])
            push = push_at(obstacle, surface[3], wp.dot(n, v), here[3])
            slide = after - n * wp.dot(n, after)
            left = wp.length(slide)
            taken = obstacle.sliding_friction * push * dt
            most = obstacle.friction * push * dt
            sticks = left <= real(wp.static(noise)) * (wp.length(v) + push * dt + most) and push > real(0.0)
            if not sticks:
                tentative = after + slide * (taken / wp.max(left, real(1.0e-30)))
            if wp.static(curved):
                simple = not sticks
        start = vec3()
        if wp.static(several):
            if not simple:
                start = before_contacts(i, step, model, work, parameters, here, v, positions, velocities)
        for turned in range(parameters.obstacle_count):
            k = parameters.obstacle_count - 1 - turned
            obstacle = model.obstacles[first + k]
            surface = gap_at(model.grid_values, obstacle, x)
            if surface[3] < real(0.0):
                if wp.static(several):
                    if not simple:
                        n = vec3(surface[0], surface[1], surface[2])
                        a = start
                        for earlier in range(k):
                            other = model.obstacles[first + earlier]
                            met = gap_at(model.grid_values, other, x)
                            if met[3] < real(0.0):
                                a = touch(other, vec3(met[0], met[1], met[2]), met[3], v, v, here[3], dt, a)
                        push = push_at(obstacle, surface[3], wp.dot(n, v), here[3])
                        tentative = v + (a + n * push) * dt
                        slide = tentative - n * wp.dot(n, tentative)
                        sticks = wp.length(slide) <= obstacle.friction * (push * dt)
                part = back_through(
                    model.grid_values, obstacle, surface, x, v, here[3], dt, tentative, sticks, found.acceleration
                )
                found.acceleration = part.acceleration
                found.velocity = found.velocity + part.velocity
                found.position = found.position + part.position
                if wp.static(rated):
                    if not obstacle.per_mass:
                        found.product = found.product + part.product * obstacle.stiffness
                    ledger.by_contact[k, i] = ledger.by_contact[k, i] + part.product * here[3]
                    ledger.by_friction[k, i] = ledger.by_friction[k, i] + part.friction
        return found

    return back
