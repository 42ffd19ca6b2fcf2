"""The acceleration of one mass: everything that acts on it besides the sum over its springs."""

from dataclasses import dataclass
from typing import Any

import warp as wp

from annelid.core.kernels.loading import once
from annelid.shapes.kernels.free_bodies import Wrench
from annelid.shapes.kernels.gaps import GRID, ONE_SIDED
from annelid.shapes.kernels.moving import FREE, Moment, carried, moment_at, moved
from annelid.springs.kernels.layout import Layout
from annelid.springs.kernels.resisting import resist_of
from annelid.springs.kernels.surfaces import obstacle_gap, shaped_obstacle

wp.set_module_options({"enable_backward": False})


@dataclass(frozen=True)
class Plugins:
    """Warp functions of the user, each a tuple of functions that are all applied.

    Time and index are those of the mass in its own world.

    Attributes:
        forces: `(time, index, position, velocity, mass) -> force [N]`.
        constraints: `(time, index, position, velocity) -> velocity` that the mass may have.
        surfaces: `(time, position) -> (unit normal, gap)`, each with the contact constants of its obstacle.
    """

    forces: tuple[wp.Function, ...] = ()
    constraints: tuple[wp.Function, ...] = ()
    surfaces: tuple[wp.Function, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.forces or self.constraints or self.surfaces)


@once
def mass_acceleration(
    types: Layout,
    *,
    pushed: bool,
    guided: bool,
    touching: tuple[int, ...],
    plugins: Plugins,
    varied: bool,
    shaped: bool,
    moving: bool = False,
    free: bool = False,
    growing: bool = False,
    own: bool = False,
    resisted: tuple[int, ...] = (),
    ahead: float = 1.0,
) -> wp.Function:
    """Acceleration of mass i under the spring force and all the rest, with friction and constraints applied.

    `number` is the mass and `time` the time as the user's functions know them: in its own world.

    Friction and constraints look ahead by `horizon`, the time for which the integrator will use the acceleration: they
    stop a mass exactly, rather than overshoot. Forces depend on `v`; the integrator will add the acceleration to
    `v_from`, which is another velocity in the Verlet integrator. `touching` are the kinds of obstacles. `pull` is the
    gravity of its world and `scale` its factors, the third of them on friction, where worlds are `varied`; `ground` is
    what makes the ground of its world, where it is `shaped`. Dashpots of contacts may be `growing` with the depth, and
    worlds may have a list of obstacles of their `own` each. Some obstacles are `moving`: `now` is the time in steps,
    and `begun` the step at which the world began. Some are `free`: what the mass does to them is noted. Motions are
    `resisted` by sand of these kinds.

    A mass that would go below the core of an obstacle within so many steps `ahead` is stopped: from its middle on the
    push would drive it out on the other side.
    """
    real, vec3, vec4, Arrays, Parameters = types.real, types.vec3, types.vec4, types.Arrays, types.Parameters
    touch, obstacle_at, obstacles = touch_of(types, growing, free), obstacle_gap(types, touching), bool(touching)
    slope_at, stop = obstacle_gap(types, touching, sloped=True), stop_of(types, free)
    thin = any(kind not in ONE_SIDED for kind in touching)
    move, velocity_at, ease, note = moved(types.Obstacle, real), carried(real), ease_of(types, growing), note_of(types)
    shape, resist, sunk = shaped_obstacle(types), resist_of(types, resisted), bool(resisted)
    user_force, user_constraint = _all_forces(types, plugins.forces), _all_constraints(types, plugins.constraints)
    touch_surfaces = _all_surfaces(types, plugins.surfaces, growing, ahead)

    @wp.func
    def acceleration(
        i: int,
        number: int,
        time: real,
        now: wp.float64,
        begun: wp.int64,
        horizon: real,
        model: Arrays,
        parameters: Parameters,
        x: vec3,
        v: vec3,
        v_from: vec3,
        inverse_mass: real,
        spring_force: vec3,
        pull: vec3,
        scale: vec4,
        ground: vec3,
    ) -> vec3:
        force = spring_force - v * (parameters.drag * wp.length(v))
        if wp.static(pushed):
            if i < model.forces.shape[0]:  # teams are compiled for pushed masses even where there are none
                force += model.forces[i]
        if wp.static(len(plugins.forces) > 0):
            force += user_force(time, number, x, v, real(1.0) / inverse_mass)
        gravity = parameters.gravity
        if wp.static(varied):
            gravity = pull
        a = force * inverse_mass + gravity - v * parameters.velocity_damping
        if wp.static(obstacles):
            first_obstacle = int(0)
            if wp.static(own):
                first_obstacle = i // model.masses_a_world * parameters.obstacle_count
            world = int(0)
            if wp.static(moving):
                world = wp.min(i // model.masses_a_world, model.world_count - 1)
            for k in range(parameters.obstacle_count):
                obstacle = model.obstacles[first_obstacle + k]
                if wp.static(varied):
                    obstacle.friction = obstacle.friction * scale[2]
                    obstacle.sliding_friction = obstacle.sliding_friction * scale[2]
                if wp.static(shaped):
                    obstacle = shape(obstacle, ground)
                near = v  # as the obstacle sees it
                near_from = v_from
                give = inverse_mass
                before = a
                if wp.static(moving):
                    moment = Moment()
                    if obstacle.track[1] != 0:
                        moment = moment_at(model.motions, obstacle.track, now, begun, world, parameters.dt)
                        obstacle = move(obstacle, moment)
                        near = v - velocity_at(moment, x)
                        near_from = v_from - velocity_at(moment, x)
                    if wp.static(free):
                        if obstacle.track[1] == wp.static(FREE):
                            if give == real(0.0):  # what is fixed bears the body all the same
                                give = real(1.0) / model.weights[i]
                            obstacle = ease(obstacle, moment, give)
                surface = obstacle_at(model.grid_values, obstacle, x)
                if surface[3] < real(0.0):
                    normal = vec3(surface[0], surface[1], surface[2])
                    a = touch(obstacle, normal, surface[3], near, near_from, give, horizon, a)
                if wp.static(thin):
                    normal = vec3(surface[0], surface[1], surface[2])
                    step = real(parameters.dt)
                    way = (near_from + a * step) * (step * real(wp.static(ahead)))
                    if surface[3] + wp.dot(normal, way) < real(0.0):
                        there = slope_at(model.grid_values, obstacle, x + way)
                        a = stop(obstacle, normal, there, near_from, step, a)
                if wp.static(free):
                    if obstacle.track[1] == wp.static(FREE):
                        note(i, obstacle, moment, x, (a - before) / give, give, model)
        if wp.static(len(plugins.surfaces) > 0):
            friction = real(1.0)
            if wp.static(varied):
                friction = scale[2]
            first = parameters.obstacle_count
            step = real(parameters.dt)
            a = touch_surfaces(first, model, time, step, x, v, v_from, inverse_mass, horizon, friction, a)
        if wp.static(sunk):
            rougher = real(1.0)
            if wp.static(varied):
                rougher = scale[2]
            a = resist(i, model.sand, x, v_from, inverse_mass, horizon, rougher, a)
        if wp.static(guided):
            axis = model.guide_axes[i]
            if model.guides[i] == 1:
                a = axis * wp.dot(axis, a)
            if model.guides[i] == 2:
                a = a - axis * wp.dot(axis, a)
        if wp.static(len(plugins.constraints) > 0):
            a = (user_constraint(time, number, x, v_from + a * horizon) - v_from) / horizon
        if inverse_mass == real(0.0):
            a = vec3()
        return a

    return acceleration


@once
def push_of(types: Layout, growing: bool) -> wp.Function:
    """Acceleration of a mass away from a surface that it is in: a spring and a dashpot that never pull.

    A dashpot that is `growing` in proportion to the depth begins at 0 when a mass touches down (Hunt and Crossley,
    1975); the other one jumps.
    """
    real, Obstacle = types.real, types.Obstacle

    @wp.func
    def push(surface: Obstacle, gap: real, speed: real, inverse_mass: real) -> real:
        over = wp.where(surface.per_mass, real(1.0), inverse_mass)
        if wp.static(growing):
            return -gap * surface.stiffness * over * wp.max(real(1.0) - surface.dashpot * speed, real(0.0))
        frequency = wp.sqrt(surface.stiffness * over)
        found = -gap * surface.stiffness * over - real(2.0) * surface.dashpot * frequency * speed
        return wp.max(found, real(0.0))

    return push


@once
def ease_of(types: Layout, growing: bool) -> wp.Function:
    """A free obstacle as a mass of an inverse `give` meets it: all that touch it share what it yields."""
    real, Obstacle = types.real, types.Obstacle

    @wp.func
    def ease(obstacle: Obstacle, moment: Moment, give: real) -> Obstacle:
        load = wp.max(real(moment.load), real(1.0) / give)
        obstacle.share = real(1.0) / (real(1.0) + load * obstacle.most)
        if wp.static(not growing):
            obstacle.dashpot = obstacle.dashpot / wp.sqrt(real(1.0) + load * obstacle.give)
        return obstacle

    return ease


@once
def note_of(types: Layout) -> wp.Function:
    """Note what a mass of an inverse `give` does to a free obstacle, which pushes it with a force."""
    real, vec3, Arrays, Obstacle = types.real, types.vec3, types.Arrays, types.Obstacle

    @wp.func
    def note(i: int, obstacle: Obstacle, moment: Moment, x: vec3, force: vec3, give: real, model: Arrays):
        wrench = Wrench()
        if wp.length_sq(force) > real(0.0):
            arm = wp.vec3d(wp.float64(x[0]), wp.float64(x[1]), wp.float64(x[2])) - moment.place
            wrench.force = -wp.vec3d(wp.float64(force[0]), wp.float64(force[1]), wp.float64(force[2]))
            wrench.torque = wp.cross(arm, wrench.force)
            wrench.mass = wp.float64(1.0) / wp.float64(give)
        model.free[0].wrenches[i * model.free[0].bodies.shape[0] + obstacle.body] = wrench

    return note


@once
def touch_of(types: Layout, growing: bool, free: bool = False) -> wp.Function:
    """Contact of one mass: a push that never pulls, and Coulomb friction."""
    real, vec3, Obstacle = types.real, types.vec3, types.Obstacle
    push_at = push_of(types, growing)

    @wp.func
    def touch(
        surface: Obstacle,
        normal: vec3,
        gap: real,
        v: vec3,
        v_from: vec3,
        inverse_mass: real,
        horizon: real,
        a: vec3,
    ) -> vec3:
        push = push_at(surface, gap, wp.dot(normal, v), inverse_mass)
        a = a + normal * push
        next_v = v_from + a * horizon
        slide = next_v - normal * wp.dot(normal, next_v)
        speed = wp.length(slide)
        hold = push * horizon
        if wp.static(free):
            slide = slide * surface.share
        if wp.static(free) and speed * surface.share <= surface.friction * hold:
            a = a - slide / horizon
        elif wp.static(free):
            a = a - slide * (surface.sliding_friction * push / (speed * surface.share))
        elif speed <= surface.friction * hold:
            a = a - slide / horizon
        else:
            a = a - slide * (surface.sliding_friction * push / speed)
        return a

    return touch


@once
def stop_of(types: Layout, free: bool = False) -> wp.Function:
    """Stop of a mass that would go below the core of an obstacle, or leave it on another side than it came from.

    It bounces and rubs there. `normal` is where it is; `there` are slope and gap where it would be.
    """
    real, vec3, vec4, Obstacle = types.real, types.vec3, types.vec4, types.Obstacle

    @wp.func
    def stop(surface: Obstacle, normal: vec3, there: vec4, v_from: vec3, step: real, a: vec3) -> vec3:
        next_v = v_from + a * step
        into = wp.dot(normal, next_v)
        grid = surface.geometry.kind == wp.static(GRID)  # whose slope does not jump
        least = wp.where(grid, real(0.5), real(0.0))
        same = wp.dot(normal, vec3(there[0], there[1], there[2])) >= least
        if into >= real(0.0) or (same and there[3] > -surface.core):
            return a
        change = -(real(1.0) + surface.restitution) * into
        slide = next_v - normal * into
        if wp.static(free):
            change = change * surface.share
            slide = slide * surface.share
        speed = wp.length(slide)
        slower = wp.min(surface.sliding_friction * change / wp.max(speed, real(1.0e-20)), real(1.0))
        return a + (normal * change - slide * slower) / step

    return stop


def _all_forces(types: Layout, functions: tuple[wp.Function, ...]) -> Any:
    real, vec3 = types.real, types.vec3
    if not functions:
        return None
    first, rest = functions[0], _all_forces(types, functions[1:])
    if rest is None:
        return first

    @wp.func
    def force(time: real, i: int, x: vec3, v: vec3, mass: real) -> vec3:
        return first(time, i, x, v, mass) + rest(time, i, x, v, mass)

    return force


def _all_constraints(types: Layout, functions: tuple[wp.Function, ...]) -> Any:
    real, vec3 = types.real, types.vec3
    if not functions:
        return None
    first, rest = functions[0], _all_constraints(types, functions[1:])
    if rest is None:
        return first

    @wp.func
    def constraint(time: real, i: int, x: vec3, v: vec3) -> vec3:
        return rest(time, i, x, first(time, i, x, v))

    return constraint


def _all_surfaces(types: Layout, functions: tuple[wp.Function, ...], growing: bool, ahead: float) -> Any:
    """Contact with each user surface; their contact constants follow those of the built-in obstacles."""
    real, vec3, Arrays = types.real, types.vec3, types.Arrays
    if not functions:
        return None
    touch, stop = touch_of(types, growing), stop_of(types)
    first, others = functions[0], _all_surfaces(types, functions[1:], growing, ahead)
    more = others is not None
    rest = others if more else first

    @wp.func
    def contact(
        k: int, model: Arrays, time: real, step: real, x: vec3, v: vec3, v_from: vec3, inverse_mass: real,
        horizon: real, friction: real, a: vec3,
    ) -> vec3:  # fmt: skip
        surface = first(time, x)
        normal = vec3(surface[0], surface[1], surface[2])
        obstacle = model.obstacles[k]
        obstacle.friction = obstacle.friction * friction
        obstacle.sliding_friction = obstacle.sliding_friction * friction
        if surface[3] < real(0.0):
            a = touch(obstacle, normal, surface[3], v, v_from, inverse_mass, horizon, a)
        way = (v_from + a * step) * (step * real(wp.static(ahead)))
        if surface[3] + wp.dot(normal, way) < real(0.0):
            there = first(time, x + way)
            a = stop(obstacle, normal, there, v_from, step, a)
        if wp.static(more):
            a = rest(k + 1, model, time, step, x, v, v_from, inverse_mass, horizon, friction, a)
        return a

    return contact
