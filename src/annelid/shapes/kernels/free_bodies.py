"""A step of free rigid bodies: what touches them, what they touch, and how they go on, for every physics with steps.

The physics writes what each of its elements does to each body; sums over fixed groups of elements, in a fixed order,
make the result the same for any number of threads. Bodies touch other rigid things by points of their surface, with
impulses that are found one contact after the other (projected Gauss-Seidel): none pulls, friction is Coulomb's. All in
float64.
"""
# Annotations are not postponed here: Warp reads the types of the functions below from their closures.

import warp as wp

from annelid.core.kernels.loading import once
from annelid.shapes.kernels.gaps import HEIGHTS
from annelid.shapes.kernels.geometry import geometry_struct, surface_at
from annelid.shapes.kernels.moving import Motions, moment_at, moved
from annelid.shapes.kernels.spinning import spinning
from annelid.shapes.kernels.surfaces import mixed

wp.set_module_options({"enable_backward": False})

GROUP = 64
"""Elements whose wrenches are summed before the others."""

CONTACTS = 16
"""Contacts of a body with another thing, at most."""

_SWEEPS = 20
_EXACT = 1.0e-9  # part of the impulses that a sweep changes when no other follows
_BACK = 0.2  # of a penetration that a step takes back
_RESTING = 4.0  # changes of speed by gravity in a step: what approaches more slowly than these does not bounce

_FLIGHT = spinning(wp.float64)
turned_in_flight, spun_on = _FLIGHT.turned_in_flight, _FLIGHT.spun_on


@wp.struct
class Wrench:
    """What elements do to a body in a step."""

    force: wp.vec3d  # [N]
    torque: wp.vec3d  # about its centre of mass [N m]
    mass: wp.float64  # of those that touch it [kg]


@wp.struct
class Body:
    """A free body."""

    row: wp.int32  # among those of a world, see `moving.Motions`
    thing: wp.int32  # which of the things it is
    inverse_mass: wp.float64  # [1/kg]
    inertia: wp.mat33d  # in its own frame [kg m²]
    inverse_inertia: wp.mat33d
    reach: wp.float64  # radius of a ball that holds it [m]
    first: wp.int32  # point
    count: wp.int32  # of its points
    radius: wp.float64  # of balls around its points [m]


@wp.struct
class Thing:
    """A rigid thing that bodies touch."""

    geometry: geometry_struct(wp.float64)
    place: wp.vec3d  # [m]
    turn: wp.mat33d
    track: wp.vec2i  # see `moving.moment_at`
    holds: wp.float64  # frictions, see `shapes.surface`
    rubs: wp.float64
    restitution: wp.float64  # below 0 where it is not stated
    body: wp.int32  # which free body it is, -1: none


@wp.struct
class Touch:
    """A contact of a body in a step."""

    body: wp.int32
    other: wp.int32  # free body, -1: none
    normal: wp.vec3d  # towards the body
    arm: wp.vec3d  # from the centre of mass to the contact [m]
    other_arm: wp.vec3d
    ground: wp.vec3d  # velocity of what is not free there [m/s]
    parting: wp.float64  # least speed at which they part at the end of the step [m/s]
    holds: wp.float64
    rubs: wp.float64
    push: wp.float64  # impulses so far [N s]
    drag: wp.vec3d


@wp.struct
class FreeBodies:
    """All free bodies, and what they touch; bodies of a world are numbered from 0 in each."""

    bodies: wp.array[Body]
    things: wp.array[Thing]
    points: wp.array[wp.vec3d]  # in the frames of bodies [m]
    values: wp.array[wp.float32]  # heights and distances that are looked up [m]
    groups: wp.int32  # of elements of a world
    wrenches: wp.array[Wrench]  # of each element on each body
    sums: wp.array[Wrench]  # of each group of each world on each body
    inverses: wp.array[wp.mat33d]  # of the inertia of each body of each world, as it lies
    touches: wp.array[Touch]
    room: wp.int32  # contacts of a world, at most


@wp.func
def sum_group(world: int, group: int, first: int, last: int, free: FreeBodies):
    """Sum what a group of the elements `first` to `last` of a world does to each body."""
    count = free.bodies.shape[0]
    begin = first + wp.static(GROUP) * group
    for b in range(count):
        force, torque, mass = wp.vec3d(), wp.vec3d(), wp.float64(0.0)
        for i in range(begin, wp.min(begin + wp.static(GROUP), last)):
            one = free.wrenches[i * count + b]
            force += one.force
            torque += one.torque
            mass += one.mass
        total = Wrench()
        total.force = force
        total.torque = torque
        total.mass = mass
        free.sums[(world * free.groups + group) * count + b] = total


@wp.func
def speed_at(b: int, first: int, arm: wp.vec3d, free: FreeBodies, motions: Motions) -> wp.vec3d:
    """Velocity of a point of a body, rows of whose world begin at `first` [m/s]."""
    row = first + free.bodies[b].row
    return motions.velocities[row] + wp.cross(motions.spins[row], arm)


@wp.func
def give_at(b: int, first: int, arm: wp.vec3d, way: wp.vec3d, free: FreeBodies, motions: Motions) -> wp.float64:
    """Speed along a direction that an impulse of 1 N s along it gives a point of a body [1/kg]."""
    turning = wp.cross(arm, way)
    return free.bodies[b].inverse_mass + wp.dot(turning, free.inverses[first + free.bodies[b].row] * turning)


@wp.func
def hit(b: int, first: int, arm: wp.vec3d, impulse: wp.vec3d, free: FreeBodies, motions: Motions):
    """Give a body an impulse at a point [N s]."""
    row = first + free.bodies[b].row
    motions.velocities[row] = motions.velocities[row] + free.bodies[b].inverse_mass * impulse
    motions.spins[row] = motions.spins[row] + free.inverses[row] * wp.cross(arm, impulse)


@wp.func
def apart(touch: Touch, first: int, free: FreeBodies, motions: Motions) -> wp.vec3d:
    """Velocity of a body against what it touches there [m/s]."""
    other = touch.ground
    if touch.other >= 0:
        other = speed_at(touch.other, first, touch.other_arm, free, motions)
    return speed_at(touch.body, first, touch.arm, free, motions) - other


@wp.func
def give_of(touch: Touch, first: int, way: wp.vec3d, free: FreeBodies, motions: Motions) -> wp.float64:
    """Relative speed along a direction that an impulse of 1 N s between the two gives [1/kg]."""
    give = give_at(touch.body, first, touch.arm, way, free, motions)
    if touch.other >= 0:
        give += give_at(touch.other, first, touch.other_arm, way, free, motions)
    return give


@wp.func
def exchange(touch: Touch, first: int, impulse: wp.vec3d, free: FreeBodies, motions: Motions):
    """Give the two opposite impulses [N s]."""
    hit(touch.body, first, touch.arm, impulse, free, motions)
    if touch.other >= 0:
        hit(touch.other, first, touch.other_arm, -impulse, free, motions)


@wp.func
def relax(k: int, first: int, free: FreeBodies, motions: Motions) -> wp.vec2d:
    """Correct the impulse of one contact, given those of the others: by how much, and how large it is then [N s]."""
    touch = free.touches[k]
    normal = touch.normal
    lacking = touch.parting - wp.dot(normal, apart(touch, first, free, motions))
    push = wp.max(touch.push + lacking / give_of(touch, first, normal, free, motions), wp.float64(0.0))
    exchange(touch, first, (push - touch.push) * normal, free, motions)
    slide = apart(touch, first, free, motions)
    slide = slide - wp.dot(normal, slide) * normal
    speed = wp.length(slide)
    drag = touch.drag
    if speed > wp.float64(0.0):
        drag = drag - slide / give_of(touch, first, slide / speed, free, motions)
    size = wp.length(drag)
    if size > touch.holds * push:
        drag = drag * (touch.rubs * push / size)
    exchange(touch, first, drag - touch.drag, free, motions)
    free.touches[k].push = push
    free.touches[k].drag = drag
    return wp.vec2d(wp.abs(push - touch.push) + wp.length(drag - touch.drag), push)


@wp.func
def add_touch(
    slot: int, b: int, arm: wp.vec3d, met: wp.vec4d, thing: Thing, speed: wp.vec3d, spin: wp.vec3d, dt: wp.float64,
    pull: wp.vec3d, rough: wp.float64, first: int, free: FreeBodies, motions: Motions,
):  # fmt: skip
    """Note a contact: how fast the two must part, and how they rub."""
    body = free.bodies[b]
    own = free.things[body.thing]
    touch = Touch()
    touch.body = b
    touch.other = thing.body
    touch.normal = wp.vec3d(met[0], met[1], met[2])
    touch.arm = arm - body.radius * touch.normal
    touch.other_arm = motions.places[first + body.row] + touch.arm - thing.place
    touch.ground = speed + wp.cross(spin, touch.other_arm)
    touch.holds = rough * mixed(own.holds, thing.holds)
    touch.rubs = rough * mixed(own.rubs, thing.rubs)
    gap = met[3] - body.radius
    touch.parting = -gap / dt
    if gap < wp.float64(0.0):
        touch.parting = wp.float64(wp.static(_BACK)) * touch.parting
    falling = wp.float64(0.0)
    if thing.body < 0:
        falling = wp.dot(touch.normal, pull) * dt
    into = falling - wp.dot(touch.normal, apart(touch, first, free, motions))  # without the fall of this step
    if into > wp.float64(wp.static(_RESTING)) * wp.length(pull) * dt and into * dt > gap:
        touch.parting = wp.max(touch.parting, wp.abs(mixed(own.restitution, thing.restitution)) * into)
    free.touches[slot] = touch


@once
def fly_bodies(kinds: tuple[int, ...]) -> wp.Function:
    """A function that takes a step of the free bodies of a world, after their wrenches were summed.

    `rough` is a factor on frictions, and `ground` a factor on heights and how far these are shifted along x and y [m],
    in that world. It returns whether all is finite.
    """
    find = _find_touches(kinds)

    @wp.func
    def fly(
        world: int, now: wp.float64, begun: wp.int64, dt: wp.float64, pull: wp.vec3d, rough: wp.float64,
        ground: wp.vec3d, free: FreeBodies, motions: Motions,
    ) -> bool:  # fmt: skip
        count = free.bodies.shape[0]
        first = world * motions.count
        for b in range(count):
            body = free.bodies[b]
            row = first + body.row
            force, torque, mass = wp.vec3d(), wp.vec3d(), wp.float64(0.0)
            for group in range(free.groups):
                one = free.sums[(world * free.groups + group) * count + b]
                force += one.force
                torque += one.torque
                mass += one.mass
            motions.loads[row] = mass
            axes = wp.quat_to_matrix(motions.turns[row])
            free.inverses[row] = axes * body.inverse_inertia * wp.transpose(axes)
            motions.velocities[row] = motions.velocities[row] + (pull + body.inverse_mass * force) * dt
            motions.spins[row] = motions.spins[row] + free.inverses[row] * (torque * dt)
        found = find(world, now, begun, dt, pull, rough, ground, free, motions)
        sweep = int(0)
        while sweep < wp.static(_SWEEPS):
            size = wp.vec2d()
            for k in range(found):
                size += relax(world * free.room + k, first, free, motions)
            sweep += 1
            if size[0] <= wp.float64(wp.static(_EXACT)) * size[1]:
                sweep = wp.static(_SWEEPS)
        total = wp.float64(0.0)
        for b in range(count):
            body = free.bodies[b]
            row = first + body.row
            turn = motions.turns[row]
            spin = motions.spins[row]
            end = turned_in_flight(turn, body.inertia, body.inverse_inertia, spin, dt)
            spin = spun_on(turn, end, body.inertia, body.inverse_inertia, spin)
            motions.turns[row] = end
            motions.spins[row] = spin
            motions.places[row] = motions.places[row] + dt * motions.velocities[row]
            total += wp.length_sq(motions.velocities[row]) + wp.length_sq(spin)
        return wp.isfinite(total)

    return fly


@once
def _find_touches(kinds: tuple[int, ...]) -> wp.Function:
    """A function that lists the contacts of the bodies of a world, and returns how many there are."""
    at, move, heights = surface_at(kinds, wp.float64, still=True), moved(Thing, wp.float64), HEIGHTS in kinds

    @wp.func
    def find(
        world: int, now: wp.float64, begun: wp.int64, dt: wp.float64, pull: wp.vec3d, rough: wp.float64,
        ground: wp.vec3d, free: FreeBodies, motions: Motions,
    ) -> int:  # fmt: skip
        found = int(0)
        first = world * motions.count
        for b in range(free.bodies.shape[0]):
            body = free.bodies[b]
            row = first + body.row
            for k in range(free.things.shape[0]):
                thing = free.things[k]
                speed, spin = wp.vec3d(), wp.vec3d()
                if thing.track[1] != 0:
                    moment = moment_at(motions, thing.track, now, begun, world, dt)
                    thing = move(thing, moment)
                    speed = moment.velocity
                    spin = moment.spin
                if wp.static(heights):
                    if thing.geometry.kind == wp.static(HEIGHTS):
                        thing.place = thing.place + wp.vec3d(ground[1], ground[2], wp.float64(0.0))
                        geometry = thing.geometry
                        geometry.spacing = wp.vec3d(geometry.spacing[0], geometry.spacing[1], ground[0])
                        thing.geometry = geometry
                centre = motions.places[row]
                away = wp.length(motions.velocities[row] - speed - wp.cross(spin, centre - thing.place))
                margin = dt * (away + (wp.length(motions.spins[row]) + wp.length(spin)) * body.reach)
                margin += wp.float64(1.0e-6) * body.reach
                near = k != body.thing
                if near:
                    near = at(thing.geometry, thing.place, thing.turn, free.values, centre)[3] < body.reach + margin
                if near:
                    limit = wp.min(found + wp.static(CONTACTS), free.room)
                    p = int(0)
                    while p < body.count and found < limit:
                        arm = wp.quat_rotate(motions.turns[row], free.points[body.first + p])
                        met = at(thing.geometry, thing.place, thing.turn, free.values, centre + arm)
                        if met[3] - body.radius < margin:
                            slot = world * free.room + found
                            add_touch(slot, b, arm, met, thing, speed, spin, dt, pull, rough, first, free, motions)
                            found += 1
                        p += 1
        return found

    return find
