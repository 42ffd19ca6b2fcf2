"""Where rigid things that move are in a step, and how fast a point of them moves, for every physics."""
# Annotations are not postponed here: Warp reads the types of the functions below from their closures.

from typing import Any

import warp as wp

from annelid.core.kernels.loading import once
from annelid.shapes.kernels.gaps import PLANE

wp.set_module_options({"enable_backward": False})


DRIVEN, FREE = -1, -2
"""What stands for the length of a path in the track of a thing that keeps its velocity, and of a free one."""


@wp.struct
class Moment:
    """Where a rigid thing is at the beginning of a step, and how it goes on from there."""

    place: wp.vec3d  # [m]
    turn: wp.quatd
    velocity: wp.vec3d  # [m/s]
    spin: wp.vec3d  # [rad/s]
    load: wp.float64  # mass of what touched it in the last step, if it is free [kg]


@wp.struct
class Motions:
    """Moments of all that moves: of paths one for each step to come; others are rows of a state."""

    moments: wp.array[Moment]
    begin: wp.array[wp.int64]  # step of the first moment of paths
    clock: wp.array[wp.int64]  # steps done
    begun: wp.array[wp.int64]  # step at which each world began; empty where they began together
    count: wp.int32  # rows of each world in what follows; see `motions.Bodies`
    places: wp.array[wp.vec3d]
    turns: wp.array[wp.quatd]
    velocities: wp.array[wp.vec3d]
    spins: wp.array[wp.vec3d]
    since: wp.array[wp.int64]
    loads: wp.array[wp.float64]


@wp.func
def moment_at(
    motions: Motions, track: wp.vec2i, now: wp.float64, begun: wp.int64, world: int, dt: wp.float64
) -> Moment:  # fmt: skip
    """Where a thing is at a time in steps, in a world that began at a step.

    Args:
        motions: All that moves.
        track: Its first moment and how many it has, or its row and what stands for how it moves.
        now: The time [steps].
        begun: When the world began [steps].
        world: Number of the world.
        dt: The time step [s].
    """
    found = Moment()
    steps = wp.float64(0.0)
    if track[1] < 0:
        row = world * motions.count + track[0]
        found.place = motions.places[row]
        found.turn = motions.turns[row]
        found.velocity = motions.velocities[row]
        found.spin = motions.spins[row]
        found.load = motions.loads[row]
        if track[1] == wp.static(DRIVEN):
            steps = now - wp.float64(begun + motions.since[row])
    else:
        steps = now - wp.float64(motions.begin[0])
        row = wp.clamp(int(wp.floor(steps)), 0, track[1] - 1)
        found = motions.moments[track[0] + row]
        steps = steps - wp.float64(row)
    time = steps * dt
    angle = wp.length(found.spin) * time
    if angle != wp.float64(0.0):
        found.turn = wp.normalize(wp.quat_from_axis_angle(wp.normalize(found.spin), angle) * found.turn)
    found.place = found.place + time * found.velocity
    return found


@once
def moved(Obstacle: Any, real: Any) -> wp.Function:
    """A function `(obstacle, moment) -> obstacle` as it is then; it has a geometry, a place and a matrix, its turn."""
    vec3, mat33 = wp.types.vector(length=3, dtype=real), wp.types.matrix(shape=(3, 3), dtype=real)

    @wp.func
    def move(obstacle: Obstacle, moment: Moment) -> Obstacle:
        turn = wp.quat_to_matrix(moment.turn)
        obstacle.place = vec3(real(moment.place[0]), real(moment.place[1]), real(moment.place[2]))
        obstacle.turn = mat33(
            real(turn[0, 0]), real(turn[0, 1]), real(turn[0, 2]),
            real(turn[1, 0]), real(turn[1, 1]), real(turn[1, 2]),
            real(turn[2, 0]), real(turn[2, 1]), real(turn[2, 2]),
        )  # fmt: skip
        geometry = obstacle.geometry
        if geometry.kind == wp.static(PLANE):
            geometry.size = obstacle.turn * geometry.size
            obstacle.geometry = geometry
        return obstacle

    return move


@once
def carried(real: Any) -> wp.Function:
    """A function `(moment, point) -> velocity` of the point of a thing that is there [m/s]."""
    vec3 = wp.types.vector(length=3, dtype=real)

    @wp.func
    def velocity(moment: Moment, x: vec3) -> vec3:
        arm = wp.vec3d(wp.float64(x[0]), wp.float64(x[1]), wp.float64(x[2])) - moment.place
        found = moment.velocity + wp.cross(moment.spin, arm)
        return vec3(real(found[0]), real(found[1]), real(found[2]))

    return velocity
