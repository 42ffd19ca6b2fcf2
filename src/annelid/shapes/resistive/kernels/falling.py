"""Steps of rigid bodies that move in ground that resists, in double precision.

The whole body is held like a mass of springs is: it looks where weight would bring it within a step, and what the law
gives for that motion stops it exactly if the work done on the way would; else it is the force of the step. Forces are
summed over pieces of its surface, each at its own depth and velocity. Bodies do not touch each other.
"""

import warp as wp

from annelid.core.kernels.loading import once
from annelid.shapes.kernels.spinning import spinning
from annelid.shapes.resistive.kernels.stress import resistance

wp.set_module_options({"enable_backward": False})


@once
def fall_kernel() -> wp.Kernel:
    """Many steps of each body, by one thread; a driven one keeps its velocity and spin."""
    functions = resistance(wp.float64)
    stress, flow, Ground = functions.stress, functions.flow, functions.Ground
    flight = spinning(wp.float64)
    turned, turned_in_flight, spun_on = flight.turned, flight.turned_in_flight, flight.spun_on

    @wp.func
    def felt(
        ground: Ground, place: wp.vec3d, turn: wp.mat33d, v: wp.vec3d, w: wp.vec3d, first: int, last: int,
        normals: wp.array[wp.vec3d], arms: wp.array[wp.vec3d], areas: wp.array[wp.float64],
    ) -> wp.spatial_vectord:  # fmt: skip
        """Force and torque about the centre of mass on a body with velocity v and spin w."""
        force = wp.vec3d()
        torque = wp.vec3d()
        for k in range(first, last):
            arm = turn * arms[k]
            depth = ground.height - place[2] - arm[2]
            if depth > wp.float64(0.0):
                move = v + wp.cross(w, arm)
                n = turn * normals[k]
                push = areas[k] * (depth * stress(ground, n, move) + flow(ground, n, move))
                force += push
                torque += wp.cross(arm, push)
        return wp.spatial_vectord(force[0], force[1], force[2], torque[0], torque[1], torque[2])

    @wp.kernel(module="unique", enable_backward=False)
    def fall(
        steps: int, dt: wp.float64, gravity: wp.vec3d, ground: Ground, masses: wp.array[wp.float64],
        inertias: wp.array[wp.mat33d], driven: wp.array[wp.bool], firsts: wp.array[wp.int32],
        normals: wp.array[wp.vec3d], arms: wp.array[wp.vec3d], areas: wp.array[wp.float64],
        places: wp.array[wp.vec3d], turns: wp.array[wp.quatd], velocities: wp.array[wp.vec3d],
        spins: wp.array[wp.vec3d], forces_out: wp.array[wp.vec3d],
    ):  # fmt: skip
        body = wp.tid()
        place = places[body]
        q = turns[body]
        v = velocities[body]
        w = spins[body]
        mass = masses[body]
        inertia = inertias[body]
        back = wp.inverse(inertia)
        force = wp.vec3d()
        for _step in range(steps):
            turn = wp.quat_to_matrix(q)
            own = turn * inertia * wp.transpose(turn)
            yielding = turn * back * wp.transpose(turn)
            if not driven[body]:
                v = v + dt * gravity
            load = felt(ground, place, turn, v, w, firsts[body], firsts[body + 1], normals, arms, areas)
            force = wp.vec3d(load[0], load[1], load[2])
            torque = wp.vec3d(load[3], load[4], load[5])
            if not driven[body]:
                moving = mass * wp.dot(v, v) + wp.dot(w, own * w)
                slowing = -dt * (wp.dot(force, v) + wp.dot(torque, w))
                if slowing >= moving:
                    force = -mass * v / dt
                    v = wp.vec3d()
                    w = wp.vec3d()
                else:
                    v = v + (dt / mass) * force
                    w = w + dt * (yielding * torque)
            place = place + dt * v
            if driven[body]:
                q = turned(q, w, dt)
            else:
                end = turned_in_flight(q, inertia, back, w, dt)
                w = spun_on(q, end, inertia, back, w)
                q = end
        places[body] = place
        turns[body] = q
        velocities[body] = v
        spins[body] = w
        forces_out[body] = force

    return fall
