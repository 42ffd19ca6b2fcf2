"""Where rigid things of many worlds are while a step is solved: on the way they are driven, or where free ones got to.

The six unknowns of a free body are two more nodes of its world: how far its centre has moved in the step, and the
rotation vector of the step.
"""
# Annotations are not postponed here: Warp reads the types of the kernels below from their closures.

import warp as wp

from annelid.core.kernels.parameters import LAST
from annelid.fem.kernels.obstacles import Poses
from annelid.fem.kernels.parameters import BODY_MASS, BODY_SIZE, FRICTION
from annelid.shapes.kernels.spinning import spinning

wp.set_module_options({"enable_backward": False})

f32 = wp.float32
f64 = wp.float64

halfway = spinning(f64).halfway


@wp.struct
class Things:
    """Obstacles of all worlds at the beginning of a step, world after world, how they are driven, and how they differ.

    What they have in common is for a size, a friction and a mass of 1.
    """

    places: wp.array[wp.vec3d]
    turns: wp.array[wp.quatd]
    velocities: wp.array[wp.vec3d]
    spins: wp.array[wp.vec3d]
    sizes: wp.array[f64]  # of each obstacle, world after world
    frictions: wp.array[f64]  # of each world
    masses: wp.array[f64]  # of the free bodies of each world


@wp.struct
class Bodies:
    """The free ones among obstacles."""

    numbers: wp.array[wp.int32]  # which of the obstacles they are
    slots: wp.array[wp.int32]  # which of the bodies each obstacle is, negative for others
    first: wp.int32  # the node that is the centre of the first; its rotation is the next one
    masses: wp.array[f64]  # [kg]
    inertias: wp.array[wp.mat33d]  # in their own frames [kg m²]


@wp.kernel
def vary_things(
    # Parameters:
    bodies: Bodies, width: int, parameters: wp.array[f64],
    # State out:
    things_out: Things,
):  # fmt: skip
    """How obstacles of worlds differ, as their parameters say: so many a world, none where all are alike."""
    b, w = wp.tid()
    first = w * width
    row = w * bodies.slots.shape[0] + b
    things_out.sizes[row] = f64(1.0)
    if bodies.slots[b] >= 0 and width > wp.static(BODY_SIZE + LAST):
        things_out.sizes[row] = parameters[first + wp.static(BODY_SIZE)]
    if b == 0:
        things_out.frictions[w] = f64(1.0)
        things_out.masses[w] = f64(1.0)
        if width > wp.static(FRICTION + LAST):
            things_out.frictions[w] = parameters[first + wp.static(FRICTION)]
        if width > wp.static(BODY_MASS + LAST):
            things_out.masses[w] = parameters[first + wp.static(BODY_MASS)]


@wp.func
def moved(moves: wp.array2d[f32], i: int, w: int) -> wp.vec3d:
    return wp.vec3d(f64(moves[3 * i, w]), f64(moves[3 * i + 1, w]), f64(moves[3 * i + 2, w]))


@wp.func
def turned_by(vector: wp.vec3d, turn: wp.quatd) -> wp.quatd:
    """A turn after another one, by a rotation vector."""
    angle = wp.length(vector)
    found = turn
    if angle > f64(0.0):
        found = wp.normalize(wp.quat_from_axis_angle(vector / angle, angle) * turn)
    return found


@wp.func
def flown(bodies: Bodies, body: int, turn: wp.quatd, spin: wp.vec3d, dt: f64) -> wp.vec3d:
    """Rotation vector of a step of a body in flight, as vectors of single precision hold it [rad]."""
    inertia = bodies.inertias[body]
    vector = dt * halfway(turn, inertia, wp.inverse(inertia), spin, dt)
    return wp.vec3d(f64(f32(vector[0])), f64(f32(vector[1])), f64(f32(vector[2])))


@wp.func
def centre_of(bodies: Bodies, body: int) -> int:
    """The node that is the centre of a body."""
    return bodies.first + 2 * body


@wp.func
def pose(
    bodies: Bodies,
    things: Things,
    b: int,
    w: int,
    time: f64,
    part: f64,
    moves: wp.array2d[f32],
    steps: wp.array2d[f32],
    to: int,
    poses_out: Poses,
):
    """Write where an obstacle is: a time after the beginning of a step, or a part of its step further than its move."""
    row = w * bodies.slots.shape[0] + b
    body = bodies.slots[b]
    way = time * things.velocities[row]
    rotation = time * things.spins[row]
    if body >= 0:
        node = centre_of(bodies, body)
        way = moved(moves, node, w) + part * moved(steps, node, w)
        rotation = moved(moves, node + 1, w) + part * moved(steps, node + 1, w)
    poses_out.places[to] = things.places[row] + way
    poses_out.turns[to] = turned_by(rotation, things.turns[row])


@wp.kernel
def pose_things(
    # Parameters:
    dt: f64, part: f64, bodies: Bodies,
    # State in:
    progress: wp.array[f32], things: Things, moves: wp.array2d[f32], steps: wp.array2d[f32],
    # State out:
    poses_out: Poses,
):  # fmt: skip
    """Where obstacles are a part of what is left of their way further on."""
    b, w = wp.tid()
    time = (f64(progress[w]) + part * (f64(1.0) - f64(progress[w]))) * dt
    pose(bodies, things, b, w, time, part, moves, steps, w * bodies.slots.shape[0] + b, poses_out)


@wp.kernel
def pose_lengths(
    # Parameters:
    lengths: int, worlds: int, dt: f64, bodies: Bodies,
    # State in:
    active: wp.array[wp.int32], longest: wp.array[f32], progress: wp.array[f32], things: Things,
    moves: wp.array2d[f32], steps: wp.array2d[f32],
    # State out:
    poses_out: Poses,
):  # fmt: skip
    """Where obstacles are after each of the parts of a step that are compared."""
    b, w = wp.tid()
    if active[w] == 0:
        return
    for j in range(lengths):
        part = f64(longest[w]) * wp.pow(f64(2.0), f64(-0.5) * f64(j))
        time = (f64(progress[w]) + part * (f64(1.0) - f64(progress[w]))) * dt
        to = (j * worlds + w) * bodies.slots.shape[0] + b
        pose(bodies, things, b, w, time, part, moves, steps, to, poses_out)
