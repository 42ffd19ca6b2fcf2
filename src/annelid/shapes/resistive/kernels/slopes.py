"""How the force of sand on a piece of surface changes with all that goes into it, run back.

Formulas of `stress` and `holding`, derived by hand: from the rate of a loss by what comes out, its *bar*, to those by
what went in. The laws have kinks, such as where a surface begins to move into the ground: there the side that holds is
taken.
"""

from dataclasses import dataclass
from typing import Any

import warp as wp

from annelid.core.kernels.loading import once
from annelid.shapes.resistive.kernels.polynomials import F1, F2, F3
from annelid.shapes.resistive.kernels.stress import PLANE_LAW, polynomials_of, resistance

wp.set_module_options({"enable_backward": False})


@dataclass(frozen=True)
class Slopes:
    """Types and functions for one precision.

    Attributes:
        Pushed: Structure of rates by what a push on a surface is made of.
        push_back: `(ground, area, depth, velocity, bar) -> Pushed` of the push
            |area| (depth stress(n, velocity) + flow(n, velocity)), with n along the area.
        Slowed: Structure of rates by the acceleration, the velocity and the push that went into `slowed`.
        slowed_back: `(velocity, push, horizon, bar) -> Slowed`, see `holding.slowed_of`.
    """

    Pushed: Any
    push_back: wp.Function
    Slowed: Any
    slowed_back: wp.Function


@once
def slopes_of(real: Any) -> Slopes:
    """Types and functions for `wp.float32` or `wp.float64`."""
    vec3 = wp.types.vector(length=3, dtype=real)
    bits = 32 if real is wp.float32 else 64
    pushed = _struct(
        f"SandPushed{bits}",
        area=vec3,
        depth=real,
        velocity=vec3,
        resistance=real,
        parts=vec3,
        friction=real,
        inertia=real,
        coefficients=wp.types.vector(length=9, dtype=real),
    )
    slowed = _struct(f"SandSlowed{bits}", acceleration=vec3, velocity=vec3, push=vec3)
    return Slopes(pushed, _push_back(real, pushed), slowed, _slowed_back(real, slowed))


def _struct(name: str, **members: Any) -> Any:
    return wp.struct(type(name, (), {"__annotations__": members, "__qualname__": name, "__module__": __name__}))


def _push_back(real: Any, Pushed: Any) -> wp.Function:
    """Through the area and its normal, the depth, and what sand is hurled away, to the law itself."""
    vec3 = wp.types.vector(length=3, dtype=real)
    functions = resistance(real)
    Ground, stress = functions.Ground, functions.stress
    through_plane, through_space = _plane_back(real, Pushed), _space_back(real, Pushed)

    @wp.func
    def back(ground: Ground, area: vec3, depth: real, velocity: vec3, bar: vec3) -> Pushed:
        found = Pushed()
        size = wp.length(area)
        speed = wp.length(velocity)
        if size > real(0.0) and speed > real(0.0):
            n = area / size
            u = velocity / speed
            into = wp.dot(n, velocity)
            if into > real(0.0):
                pressed = stress(ground, n, velocity)
                by_stress = bar * (size * depth)
                by_normal = vec3()
                by_u = vec3()
                if wp.length(pressed) > real(0.0):
                    if ground.law == wp.static(PLANE_LAW):
                        found = through_plane(ground, n, u, by_stress)
                    else:
                        found = through_space(ground, n, u, by_stress)
                    by_normal = found.area  # both are by unit vectors so far
                    by_u = found.velocity
                hurled = -bar * size  # by n times inertia times the squared speed along it
                along = wp.dot(hurled, n)
                found.inertia = along * into * into
                by_into = real(2.0) * along * ground.inertia * into
                by_normal += hurled * (ground.inertia * into * into) + velocity * by_into
                by_size = wp.dot(bar, pressed) * depth - wp.dot(bar, n) * (ground.inertia * into * into)
                found.depth = wp.dot(bar, pressed) * size
                found.velocity = (by_u - u * wp.dot(u, by_u)) / speed + n * by_into
                found.area = n * by_size + (by_normal - n * wp.dot(n, by_normal)) / size
        return found

    return back


def _space_back(real: Any, Pushed: Any) -> wp.Function:
    """The law in space; `area` and `velocity` of what is found are by the unit normal and the unit velocity."""
    vec3 = wp.types.vector(length=3, dtype=real)
    Ground, values, slopes = resistance(real).Ground, polynomials_of(real), _polynomial_slopes(real)

    @wp.func
    def back(ground: Ground, n: vec3, u: vec3, bar: vec3) -> Pushed:
        found = Pushed()
        level = u[0] * n[0] + u[1] * n[1]
        down = n[2] < real(0.0) or (n[2] == real(0.0) and level >= real(0.0))
        side = wp.where(down, real(1.0), real(-1.0))
        m = side * n
        x = vec3(-u[2], -m[2], wp.dot(m, u))
        p = values(x[0], x[1], x[2])
        f = wp.cw_mul(p, ground.parts)
        force = f[0] * m + f[1] * u - vec3(real(0.0), real(0.0), f[2])
        across = wp.dot(force, n)
        along = force - across * n
        size = wp.length(along)
        allowed = ground.friction * wp.abs(across)
        by = bar * ground.resistance
        by_force = by
        by_n = vec3()
        whole = force
        if size > allowed:  # friction limits what acts along the surface
            t = along / size
            whole = across * n + t * allowed
            by_along = (by - t * wp.dot(t, by)) * (allowed / size)
            sign = wp.where(across < real(0.0), real(-1.0), real(1.0))
            by_across = wp.dot(by, n) + ground.friction * sign * wp.dot(by, t) - wp.dot(by_along, n)
            by_n = by * across - by_along * across + force * by_across
            by_force = by_along + n * by_across
            found.friction = wp.abs(across) * wp.dot(by, t)
        found.resistance = wp.dot(bar, whole)
        by_f = vec3(wp.dot(by_force, m), wp.dot(by_force, u), -by_force[2])
        found.parts = wp.cw_mul(by_f, p)
        by_x = slopes(x[0], x[1], x[2], wp.cw_mul(by_f, ground.parts))
        by_m = by_force * f[0] + u * by_x[2] - vec3(real(0.0), real(0.0), by_x[1])
        found.velocity = by_force * f[1] + m * by_x[2] - vec3(real(0.0), real(0.0), by_x[0])
        found.area = by_n + side * by_m
        return found

    return back


def _polynomial_slopes(real: Any) -> wp.Function:
    """Rates by three numbers from those by the three polynomials in them: one polynomial, as they were weighed."""
    vec3 = wp.types.vector(length=3, dtype=real)
    linear = wp.types.vector(length=4, dtype=real)
    squares, products = (wp.types.vector(length=count, dtype=real) for count in (6, 10))
    terms = [(linear(*row[:4]), squares(*row[4:10]), products(*row[10:])) for row in (F1, F2, F3)]

    @wp.func
    def slopes(x1: real, x2: real, x3: real, by: vec3) -> vec3:
        c = by[0] * wp.static(terms[0][0]) + by[1] * wp.static(terms[1][0]) + by[2] * wp.static(terms[2][0])
        s = by[0] * wp.static(terms[0][1]) + by[1] * wp.static(terms[1][1]) + by[2] * wp.static(terms[2][1])
        p = by[0] * wp.static(terms[0][2]) + by[1] * wp.static(terms[1][2]) + by[2] * wp.static(terms[2][2])
        two = real(2.0)
        three = real(3.0)
        by_1 = (
            c[1] + two * s[0] * x1 + s[3] * x2 + s[5] * x3
            + three * p[0] * x1 * x1 + p[3] * x2 * x2 + two * p[4] * x1 * x2 + two * p[7] * x1 * x3 + p[8] * x3 * x3
            + p[9] * x2 * x3
        )  # fmt: skip
        by_2 = (
            c[2] + two * s[1] * x2 + s[3] * x1 + s[4] * x3
            + three * p[1] * x2 * x2 + two * p[3] * x1 * x2 + p[4] * x1 * x1 + p[5] * x3 * x3 + two * p[6] * x2 * x3
            + p[9] * x1 * x3
        )  # fmt: skip
        by_3 = (
            c[3] + two * s[2] * x3 + s[4] * x2 + s[5] * x1
            + three * p[2] * x3 * x3 + two * p[5] * x2 * x3 + p[6] * x2 * x2 + p[7] * x1 * x1 + two * p[8] * x1 * x3
            + p[9] * x1 * x2
        )  # fmt: skip
        return vec3(by_1, by_2, by_3)

    return slopes


def _plane_back(real: Any, Pushed: Any) -> wp.Function:
    """The law in the vertical plane of the motion, likewise."""
    vec3 = wp.types.vector(length=3, dtype=real)
    vec2 = wp.types.vector(length=2, dtype=real)
    nine = wp.types.vector(length=9, dtype=real)
    Ground = resistance(real).Ground

    @wp.func
    def back(ground: Ground, n: vec3, u: vec3, bar: vec3) -> Pushed:
        found = Pushed()
        level = wp.sqrt(u[0] * u[0] + u[1] * u[1])
        upright = level < real(1.0e-6)  # then the plane is that of the normal
        ahead = vec2(u[0], u[1])
        if upright:
            ahead = vec2(n[0], n[1])
        size = wp.length(ahead)
        if size > real(0.0):
            ahead = ahead / size
        n_ahead = n[0] * ahead[0] + n[1] * ahead[1]
        seen = wp.sqrt(n_ahead * n_ahead + n[2] * n[2])
        if seen > real(0.0):
            sine = n_ahead / seen  # which side is taken does not matter to twice the angle
            cosine = -n[2] / seen
            cos_2b = cosine * cosine - sine * sine
            sin_2b = real(2.0) * sine * cosine
            sin_g = -u[2]
            cos_g = level
            c = ground.coefficients
            up = nine(
                real(1.0), cos_2b, sin_2b * cos_g + cos_2b * sin_g, sin_g, sin_g * cos_2b - cos_g * sin_2b,
                real(0.0), real(0.0), real(0.0), real(0.0),
            )  # fmt: skip
            against = nine(
                real(0.0), real(0.0), real(0.0), real(0.0), real(0.0),
                cos_2b * cos_g - sin_2b * sin_g, cos_g, cos_g * cos_2b + sin_g * sin_2b, sin_2b,
            )  # fmt: skip
            lift = wp.dot(c, up)
            drag = wp.dot(c, against)
            by_up = bar[2] * seen
            by_against = -(bar[0] * ahead[0] + bar[1] * ahead[1]) * seen
            by_seen = bar[2] * lift - (bar[0] * ahead[0] + bar[1] * ahead[1]) * drag
            found.coefficients = up * by_up + against * by_against
            by_ahead = vec2(bar[0], bar[1]) * (-drag * seen)
            by_cos_2b = by_up * (c[1] + (c[2] + c[4]) * sin_g) + by_against * (c[5] + c[7]) * cos_g
            by_sin_2b = by_up * (c[2] - c[4]) * cos_g + by_against * ((c[7] - c[5]) * sin_g + c[8])
            by_sin_g = by_up * ((c[2] + c[4]) * cos_2b + c[3]) + by_against * (c[7] - c[5]) * sin_2b
            by_cos_g = by_up * (c[2] - c[4]) * sin_2b + by_against * ((c[5] + c[7]) * cos_2b + c[6])
            by_sine = real(2.0) * (cosine * by_sin_2b - sine * by_cos_2b)
            by_cosine = real(2.0) * (sine * by_sin_2b + cosine * by_cos_2b)
            by_seen -= (by_sine * sine + by_cosine * cosine) / seen
            by_n_ahead = by_sine / seen + by_seen * n_ahead / seen
            by_nz = -by_cosine / seen + by_seen * n[2] / seen
            by_ahead += vec2(n[0], n[1]) * by_n_ahead
            by_n = vec3(ahead[0] * by_n_ahead, ahead[1] * by_n_ahead, by_nz)
            by_u = vec3(real(0.0), real(0.0), -by_sin_g)
            if size > real(0.0):
                turned = (by_ahead - ahead * wp.dot(ahead, by_ahead)) / size
                if upright:
                    by_n += vec3(turned[0], turned[1], real(0.0))
                else:
                    by_u += vec3(turned[0] + ahead[0] * by_cos_g, turned[1] + ahead[1] * by_cos_g, real(0.0))
            found.area = by_n
            found.velocity = by_u
        return found

    return back


def _slowed_back(real: Any, Slowed: Any) -> wp.Function:
    vec3 = wp.types.vector(length=3, dtype=real)

    @wp.func
    def back(v: vec3, push: vec3, horizon: real, bar: vec3) -> Slowed:
        found = Slowed()
        found.acceleration = bar
        speed = wp.length(v)
        if speed > real(0.0):
            u = v / speed
            slowing = -wp.dot(push, u)
            if slowing * horizon >= speed:
                found.velocity = -bar / horizon
            else:
                found.push = bar
                if slowing < real(0.0):
                    along = wp.dot(bar, u)
                    by_u = bar * slowing - push * along
                    found.push = bar - u * along
                    found.velocity = (by_u - u * wp.dot(u, by_u)) / speed
        return found

    return back
