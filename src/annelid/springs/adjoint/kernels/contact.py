"""The contact of one mass with one obstacle, run back."""

from typing import Any

import warp as wp

from annelid.core.kernels.loading import once
from annelid.springs.adjoint.kernels.surfaces import gap_back
from annelid.springs.kernels.dynamics import push_of
from annelid.springs.kernels.layout import Layout, make_struct

wp.set_module_options({"enable_backward": False})


@once
def touched_of(types: Layout) -> Any:
    """What a contact hands back: rates by what went into it."""
    bits = 32 if types.real is wp.float32 else 64
    return make_struct(
        f"SpringTouched{bits}",
        acceleration=types.vec3,  # by the acceleration before the contact
        velocity=types.vec3,
        position=types.vec3,
        friction=types.real,
        product=types.real,  # by stiffness times inverse mass; summed over contacts, by the inverse mass
    )


@once
def push_slopes(types: Layout, growing: bool) -> wp.Function:
    """How the push changes with the gap, the normal speed, and the product of stiffness and inverse mass."""
    real, vec3, Obstacle = types.real, types.vec3, types.Obstacle

    @wp.func
    def slopes(surface: Obstacle, gap: real, speed: real, inverse_mass: real) -> vec3:
        product = surface.stiffness * wp.where(surface.per_mass, real(1.0), inverse_mass)
        if wp.static(growing):
            grip = wp.max(real(1.0) - surface.dashpot * speed, real(0.0))
            by_speed = wp.where(grip > real(0.0), gap * product * surface.dashpot, real(0.0))
            return vec3(-product * grip, by_speed, -gap * grip)
        rate = surface.dashpot * wp.sqrt(product)
        if -gap * product - real(2.0) * rate * speed <= real(0.0):
            return vec3()
        return vec3(-product, real(-2.0) * rate, -gap - rate * speed / product)

    return slopes


@once
def touch_back(types: Layout, kinds: tuple[int, ...], growing: bool) -> wp.Function:
    """Rates by what goes into a contact from those by the acceleration that comes out of it.

    `tentative` is the velocity that the mass would have after the step without friction, `sticks` whether friction
    held it.
    """
    real, vec3, vec4, Obstacle = types.real, types.vec3, types.vec4, types.Obstacle
    Touched, push_at, slopes_at = touched_of(types), push_of(types, growing), push_slopes(types, growing)
    to_point = gap_back(types, kinds)

    @wp.func
    def back(
        values: wp.array[wp.float32],
        obstacle: Obstacle,
        surface: vec4,
        x: vec3,
        v: vec3,
        inverse_mass: real,
        horizon: real,
        tentative: vec3,
        sticks: bool,
        bar: vec3,
    ) -> Touched:
        n = vec3(surface[0], surface[1], surface[2])
        speed = wp.dot(n, v)
        push = push_at(obstacle, surface[3], speed, inverse_mass)
        slopes = slopes_at(obstacle, surface[3], speed, inverse_mass)
        into = wp.dot(n, tentative)
        slide = tentative - n * into
        found = Touched()
        by_push = real(0.0)
        by_slide = vec3()
        if sticks:
            by_slide = bar * (real(-1.0) / horizon)
        else:
            length = wp.max(wp.length(slide), real(1.0e-30))
            along = slide / length
            share = obstacle.sliding_friction * push / length
            dot = wp.dot(along, bar)
            by_slide = (bar - along * dot) * (-share)
            by_push = -obstacle.sliding_friction * dot
            found.friction = -push * dot
        across = wp.dot(n, by_slide)
        by_tentative = by_slide - n * across
        by_normal = by_slide * (-into) - tentative * across
        by_before = bar + by_tentative * horizon
        by_push += wp.dot(n, by_before)
        by_normal += by_before * push
        by_speed = by_push * slopes[1]
        by_normal += v * by_speed
        found.acceleration = by_before
        found.velocity = by_tentative + n * by_speed
        found.position = to_point(values, obstacle, x, surface, by_normal, by_push * slopes[0])
        found.product = by_push * slopes[2]
        return found

    return back
