"""The forces between masses that touch each other as spheres.

Pairs that do not touch add nothing and lists are in the order of the masses, so that results do not depend on when the
lists were made.
"""

from typing import Any

import warp as wp

from annelid.core.kernels.loading import once
from annelid.springs.kernels.contact_lists import collect_list, partner_of
from annelid.springs.kernels.layout import Layout, make_struct

wp.set_module_options({"enable_backward": False})

GRIP = 0.5
"""Stiffness of a sticking contact along the surface, by that across it."""

GRIP_VISCOSITY = 0.2
"""Dashpot along the surface in units of the reduced mass over the time step: several act on one mass."""


@once
def contact_force(types: Layout) -> wp.Function:
    """Force on a slot of all that touch it."""
    real, vec3, vec4, Contacts = types.real, types.vec3, types.vec4, types.Contacts
    pair, partner = _pair_force(types), partner_of(types)

    @wp.func
    def force_on(
        slot: int,
        dt: real,
        contacts: wp.array[Contacts],
        positions: wp.array[vec4],
        velocities: wp.array[vec3],
    ) -> vec3:
        force = vec3()
        last = int(-1)
        for entry in range(contacts[0].counts[slot]):
            j = partner(slot, entry, last, contacts)
            force += pair(contacts[0].masses[slot], j, dt, contacts, positions, velocities)
            last = j
        return force

    return force_on


@once
def _meeting(types: Layout) -> Any:
    """Two masses that touch."""
    real, vec3 = types.real, types.vec3
    return make_struct(
        f"SpringMeeting{8 * wp.types.type_size_in_bytes(real)}",
        push=real,  # force across the surface [N], negative where they do not touch
        normal=vec3,  # from the first to the second
        slide=vec3,  # velocity of the second against the first along the surface [m/s]
        grip=real,  # stiffness along the surface [N/m]
        drag=real,  # dashpot along the surface [N s/m]
        friction=real,
    )


@once
def _meet(types: Layout) -> wp.Function:
    """How i and j touch: a spring and a dashpot that never pull.

    Every operation is odd or even in the exchange of i and j, so that forces are opposite to the last bit.
    """
    real, vec3, vec4, Contacts, Meeting = types.real, types.vec3, types.vec4, types.Contacts, _meeting(types)

    @wp.func
    def meet(
        i: int,
        j: int,
        dt: real,
        contacts: wp.array[Contacts],
        positions: wp.array[vec4],
        velocities: wp.array[vec3],
    ) -> Meeting:
        found = Meeting()
        found.push = real(-1.0)
        here = positions[i]
        there = positions[j]
        d = vec3(there[0] - here[0], there[1] - here[1], there[2] - here[2])
        index = contacts[0].table[contacts[0].kinds[i] * contacts[0].kind_count + contacts[0].kinds[j]]
        if index >= 0:
            rule = contacts[0].rules[index]
            reach = rule.reach
            if reach == real(0.0):
                reach = contacts[0].radii[i] + contacts[0].radii[j]
            squared = wp.dot(d, d)
            inverse_mass = here[3] + there[3]
            if squared < reach * reach and inverse_mass > real(0.0):
                distance = wp.sqrt(squared)
                normal = d / wp.max(distance, real(1.0e-12))
                mass = real(1.0) / inverse_mass
                stiffness = rule.stiffness + rule.share * mass / (dt * dt)
                relative = velocities[j] - velocities[i]
                closing = wp.dot(relative, normal)
                dashpot = real(2.0) * rule.damping_ratio * wp.sqrt(stiffness * mass)
                found.push = wp.max((reach - distance) * stiffness - dashpot * closing, real(0.0))
                found.normal = normal
                found.slide = relative - normal * closing
                found.grip = real(wp.static(GRIP)) * stiffness
                found.drag = real(wp.static(GRIP_VISCOSITY)) * mass / dt
                found.friction = rule.friction
        return found

    return meet


@once
def _pair_force(types: Layout) -> wp.Function:
    """Force on i of j; friction holds what has been dragged along since they touched, up to Coulomb's bound."""
    real, vec3, vec4, Contacts = types.real, types.vec3, types.vec4, types.Contacts
    meet, place_of = _meet(types), _place_of(types)

    @wp.func
    def pair(
        i: int,
        j: int,
        dt: real,
        contacts: wp.array[Contacts],
        positions: wp.array[vec4],
        velocities: wp.array[vec3],
    ) -> vec3:
        force = vec3()
        met = meet(i, j, dt, contacts, positions, velocities)
        if met.push > real(0.0):
            hold = met.slide * met.drag
            place = place_of(contacts[0].slot_of[wp.min(i, j)], wp.max(i, j), contacts)
            if place >= 0:
                dragged = contacts[0].slips[place]
                if i > j:
                    dragged = -dragged
                hold = hold + dragged * met.grip
            bound = met.friction * met.push
            size = wp.length(hold)
            if size > bound:
                hold = hold * (bound / size)
            force = hold - met.normal * met.push
        return force

    return pair


@once
def remember(types: Layout) -> wp.Function:
    """Track how far the partners of a slot have been dragged along its surface since they touched.

    A pair is kept by the mass with the lower index, in one of a few places; a pair that finds none sticks by viscosity
    alone until one is free. Places are written before the forces of a step are computed, and only read by these.
    """
    real, vec3, vec4, Contacts = types.real, types.vec3, types.vec4, types.Contacts
    meet, place_of, partner = _meet(types), _place_of(types), partner_of(types)

    @wp.func
    def remember_slot(
        slot: int,
        dt: real,
        contacts: wp.array[Contacts],
        positions: wp.array[vec4],
        velocities: wp.array[vec3],
    ):
        i = contacts[0].masses[slot]
        base = slot * contacts[0].place_strides[0]
        stride = contacts[0].place_strides[1]
        kept = int(0)
        last = int(-1)
        for entry in range(contacts[0].counts[slot]):
            j = partner(slot, entry, last, contacts)
            last = j
            if j > i:
                met = meet(i, j, dt, contacts, positions, velocities)
                place = int(-1)
                if met.push >= real(0.0):
                    place = place_of(slot, j, contacts)
                    if place < 0:
                        place = place_of(slot, -1, contacts)
                        if place >= 0:
                            contacts[0].partners[place] = j
                            contacts[0].slips[place] = vec3()
                if place >= 0:
                    kept = kept | (1 << ((place - base) // stride))
                    dragged = contacts[0].slips[place]
                    dragged = dragged - met.normal * wp.dot(met.normal, dragged) + met.slide * dt
                    hold = met.slide * met.drag + dragged * met.grip
                    bound = met.friction * met.push
                    size = wp.length(hold)
                    if size > bound:
                        dragged = hold * (bound / (size * met.grip))
                    contacts[0].slips[place] = dragged
        if contacts[0].counts[slot] > 0:
            for number in range(contacts[0].places):
                if (kept >> number) % 2 == 0:
                    contacts[0].partners[base + number * stride] = -1

    return remember_slot


@once
def _place_of(types: Layout) -> wp.Function:
    """Where a slot keeps a partner, -1 if it does not."""
    Contacts = types.Contacts

    @wp.func
    def place_of(slot: int, mass: int, contacts: wp.array[Contacts]) -> int:
        found = int(-1)
        place = slot * contacts[0].place_strides[0]
        for _number in range(contacts[0].places):
            if found < 0 and contacts[0].partners[place] == mass:
                found = place
            place += contacts[0].place_strides[1]
        return found

    return place_of


@once
def meet_kernel(types: Layout) -> wp.Kernel:
    """Make the lists of all slots if pass `stamp` has left them stale, and track friction if asked to."""
    real, vec3, vec4, Arrays, Contacts = types.real, types.vec3, types.vec4, types.Arrays, types.Contacts
    collect, keep = collect_list(types), remember(types)

    @wp.kernel(module="unique", enable_backward=False)
    def meet_all(
        stamp: int,
        keeping: int,
        model: Arrays,
        contacts: wp.array[Contacts],
        positions: wp.array[vec4],
        velocities: wp.array[vec3],
    ):
        slot = wp.tid()
        if contacts[0].flags[stamp % 2] == stamp:
            collect(slot, contacts)
        if keeping == 1:
            keep(slot, real(model.parameters[0].dt), contacts, positions, velocities)

    return meet_all


@once
def force_kernel(types: Layout) -> wp.Kernel:
    """Forces on all slots, left in `forces`: a pass over the masses would be slow with this inside (CUDA)."""
    real, vec3, vec4, Arrays, Contacts = types.real, types.vec3, types.vec4, types.Arrays, types.Contacts
    touched = contact_force(types)

    @wp.kernel(module="unique", enable_backward=False)
    def push_all(
        model: Arrays,
        contacts: wp.array[Contacts],
        positions: wp.array[vec4],
        velocities: wp.array[vec3],
    ):
        slot = wp.tid()
        dt = real(model.parameters[0].dt)
        contacts[0].forces[slot] = touched(slot, dt, contacts, positions, velocities)

    return push_all
