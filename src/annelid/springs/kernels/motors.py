"""Motors: equal and opposite torques on two sets of masses, computed before the pass that uses them.

A torque on a set of masses is given to it as the forces m (turn x (x - center)) of a rigid angular acceleration about
its centre of mass: they sum to no force, and to exactly the wanted torque. Sums run in double precision over the masses
of a side, in a fixed order.
"""

from typing import Any

import warp as wp

from annelid.core.kernels.loading import once
from annelid.core.launch import team_barrier, team_range
from annelid.springs.kernels.gather import lane_sum
from annelid.springs.kernels.layout import ANGLE, TORQUE, Layout

wp.set_module_options({"enable_backward": False})

SPEED_SHARE = 0.5
"""Share of a speed's error that a motor below its limit takes from the masses that it acts on in one step."""


@wp.struct
class Side:
    """A set of masses as a rigid body."""

    center: wp.vec3d  # [m]
    spin: wp.vec3d  # angular velocity [rad/s]
    inverse: wp.mat33d  # of the inertia about the centre [1/(kg m²)], zero where nothing is free to turn


@once
def _side(types: Layout, lanes: int) -> wp.Function:
    """Centre, angular velocity and inertia of some masses, summed by `lanes` threads of a warp; held ones do not count.

    Sums are taken from a point nearby, so that one pass over the masses is enough.
    """
    vec3, vec4, Motors = types.vec3, types.vec4, types.Motors
    total = lane_sum(wp.vec3d, lanes)

    @wp.func
    def side(
        span: wp.vec2i,
        lane: int,
        origin: wp.vec3d,
        motors: wp.array[Motors],
        positions: wp.array[vec4],
        velocities: wp.array[vec3],
    ) -> Side:
        weight = wp.vec3d()  # in its first component
        moment = wp.vec3d()
        drift = wp.vec3d()
        spin = wp.vec3d()
        squares = wp.vec3d()
        products = wp.vec3d()
        entry = span[0] + lane
        while entry < span[1]:
            j = motors[0].members[entry]
            p = positions[j]
            v = velocities[j]
            if wp.float64(p[3]) > wp.float64(0.0):
                m = wp.float64(1.0) / wp.float64(p[3])
                y = wp.vec3d(wp.float64(p[0]), wp.float64(p[1]), wp.float64(p[2])) - origin
                u = wp.vec3d(wp.float64(v[0]), wp.float64(v[1]), wp.float64(v[2]))
                weight += wp.vec3d(m, wp.float64(0.0), wp.float64(0.0))
                moment += m * y
                drift += m * u
                spin += m * wp.cross(y, u)
                squares += m * wp.cw_mul(y, y)
                products += m * wp.vec3d(y[1] * y[2], y[2] * y[0], y[0] * y[1])
            entry += wp.static(lanes)
        if wp.static(lanes > 1):
            weight, moment, drift = total(weight), total(moment), total(drift)
            spin, squares, products = total(spin), total(squares), total(products)
        result = Side()
        mass = wp.max(weight[0], wp.float64(1.0e-300))
        c = moment / mass
        spin = spin - wp.cross(c, drift)
        squares = squares - mass * wp.cw_mul(c, c)
        products = products - mass * wp.vec3d(c[1] * c[2], c[2] * c[0], c[0] * c[1])
        inertia = wp.mat33d(
            squares[1] + squares[2], -products[2], -products[1],
            -products[2], squares[2] + squares[0], -products[0],
            -products[1], -products[0], squares[0] + squares[1],
        )  # fmt: skip
        result.center = origin + c
        size = squares[0] + squares[1] + squares[2]
        if wp.determinant(inertia) > wp.float64(1.0e-12) * size * size * size:
            result.inverse = wp.inverse(inertia)
            result.spin = result.inverse * spin
        return result

    return side


@once
def _arm(types: Layout, lanes: int) -> wp.Function:
    """The vector that turns with a side, held masses included, summed by `lanes` threads of a warp."""
    vec4, Motors = types.vec4, types.Motors
    total = lane_sum(wp.vec3d, lanes)

    @wp.func
    def arm(
        span: wp.vec2i, lane: int, origin: wp.vec3d, motors: wp.array[Motors], positions: wp.array[vec4]
    ) -> wp.vec3d:
        result = wp.vec3d()
        entry = span[0] + lane
        while entry < span[1]:
            p = positions[motors[0].members[entry]]
            y = wp.vec3d(wp.float64(p[0]), wp.float64(p[1]), wp.float64(p[2])) - origin
            result += motors[0].arms[entry] * y
            entry += wp.static(lanes)
        if wp.static(lanes > 1):
            result = total(result)
        return result

    return arm


@wp.func
def _wrapped(angle: wp.float64) -> wp.float64:
    """The same angle from -pi to pi."""
    turn = wp.float64(6.283185307179586)
    return angle - turn * wp.floor(angle / turn + wp.float64(0.5))


@wp.func
def _speed_towards(error: wp.float64, response: wp.float64, slowing: wp.float64) -> wp.float64:
    """Speed at which the error of an angle fades, or from which half of `slowing` [rad/s²] still stops in time."""
    size = wp.abs(error)
    return wp.sign(error) * wp.min(size / response, wp.sqrt(slowing * size))


@once
def motor_pass(types: Layout, value: Any, steers: bool, lanes: int) -> wp.Function:
    """Find out what motor m does at a moment, counted in steps, and leave it in `drives`.

    `value` evaluates what motors follow; `steers` says whether some follow an angle.
    """
    vec3, vec4, Arrays, Work = types.vec3, types.vec4, types.Arrays, types.Work
    side, arm = _side(types, lanes), _arm(types, lanes)

    @wp.func
    def drive(
        m: int, lane: int, moment: wp.float64, model: Arrays, work: Work,
        positions: wp.array[vec4], velocities: wp.array[vec3],
    ):  # fmt: skip
        motors = work.motors
        dt = model.parameters[0].dt
        motor = motors[0].motors[m]
        a = positions[motor.axle[0]]
        b = positions[motor.axle[1]]
        origin = wp.vec3d(wp.float64(a[0]), wp.float64(a[1]), wp.float64(a[2]))
        axis = wp.normalize(wp.vec3d(wp.float64(b[0]), wp.float64(b[1]), wp.float64(b[2])) - origin)
        rotor = side(motor.rotor, lane, origin, motors, positions, velocities)
        stator = side(motor.stator, lane, origin, motors, positions, velocities)
        speed = wp.dot(axis, rotor.spin - stator.spin)
        torque = value(m, motor.kind, moment, motor.parameters, model, work)
        if motor.goal != wp.static(TORQUE):
            ease = wp.dot(axis, rotor.inverse * axis) + wp.dot(axis, stator.inverse * axis)
            if wp.static(steers):
                if motor.goal == wp.static(ANGLE):
                    here = arm(motor.rotor, lane, origin, motors, positions)
                    there = arm(motor.stator, lane, origin, motors, positions)
                    across = wp.dot(there, here) - wp.dot(axis, there) * wp.dot(axis, here)
                    angle = wp.atan2(wp.dot(axis, wp.cross(there, here)), across) - motor.built
                    torque = _speed_towards(_wrapped(torque - angle), motor.response, motor.slowing)
            lag = torque - speed
            torque = wp.float64(wp.static(SPEED_SHARE)) * lag / (wp.max(ease, wp.float64(1.0e-300)) * dt)
        torque = wp.clamp(torque, -motor.limit, motor.limit)
        if lane == 0:
            motors[0].drives[2 * m].center = rotor.center
            motors[0].drives[2 * m].turn = rotor.inverse * (torque * axis)
            motors[0].drives[2 * m + 1].center = stator.center
            motors[0].drives[2 * m + 1].turn = stator.inverse * (-torque * axis)
            motors[0].torques[m] = wp.vec2d(torque, speed)

    return drive


@once
def motor_force(types: Layout) -> wp.Function:
    """Force of all motors on mass i."""
    real, vec3, vec4, Motors = types.real, types.vec3, types.vec4, types.Motors

    @wp.func
    def force_on(i: int, motors: wp.array[Motors], positions: wp.array[vec4]) -> vec3:
        force = vec3()
        if i < motors[0].mass_count:
            first = motors[0].side_first[i]
            last = motors[0].side_first[i + 1]
            here = positions[i]
            if first < last and here[3] > real(0.0):
                x = wp.vec3d(wp.float64(here[0]), wp.float64(here[1]), wp.float64(here[2]))
                total = wp.vec3d()
                for entry in range(first, last):
                    drive = motors[0].drives[motors[0].sides[entry]]
                    total += wp.cross(drive.turn, x - drive.center)
                total = total / wp.float64(here[3])
                force = vec3(real(total[0]), real(total[1]), real(total[2]))
        return force

    return force_on


@once
def drive_team(types: Layout, value: Any, steers: bool) -> wp.Function:
    """All motors, shared among the members of a CPU team; the new ticket."""
    vec3, vec4, Arrays, Work = types.vec3, types.vec4, types.Arrays, types.Work
    drive = motor_pass(types, value, steers, 1)

    @wp.func(inline=False)
    def drive_all(
        rank: int, size: int, counter: wp.array[wp.int32], ticket: int, moment: wp.float64,
        model: Arrays, work: Work, positions: wp.array[vec4], velocities: wp.array[vec3],
    ) -> int:  # fmt: skip
        share = team_range(rank, size, work.motors[0].motor_count, 1)
        for m in range(share[0], share[1]):
            drive(m, 0, moment, model, work, positions, velocities)
        team_barrier(counter, size, ticket + 1)
        return ticket + 1

    return drive_all


@once
def drive_kernel(types: Layout, value: Any, steers: bool, lanes: int) -> wp.Kernel:
    """All motors, `lanes` threads each."""
    vec3, vec4, Arrays, Work = types.vec3, types.vec4, types.Arrays, types.Work
    drive = motor_pass(types, value, steers, lanes)

    @wp.kernel(module="unique", enable_backward=False)
    def drive_all(
        model: Arrays, work: Work, step: int, shift: wp.float64, positions: wp.array[vec4],
        velocities: wp.array[vec3],
    ):  # fmt: skip
        m, lane = wp.tid()
        moment = wp.float64(work.clock[0]) + wp.float64(step) + shift
        drive(m, lane, moment, model, work, positions, velocities)

    return drive_all
