"""Resistive force theory in kernels: the stress of sand on a small piece of surface, from its normal and its velocity.

The same laws as `shapes.resistive.law`, without angles. With m the normal or its opposite, whichever looks down, and u
the direction of motion, the law in space is f1 m + f2 u - f3 z, which needs no frame and has no special directions.
"""

from dataclasses import dataclass
from typing import Any

import warp as wp

from annelid.core.kernels.loading import once
from annelid.shapes.resistive.kernels.polynomials import F1, F2, F3

wp.set_module_options({"enable_backward": False})

PLANE_LAW, SPACE_LAW = range(2)
"""Kinds of laws."""


@dataclass(frozen=True)
class Resistance:
    """Types and functions for one precision.

    Attributes:
        Ground: Structure of what resists.
        stress: `(ground, normal, velocity) -> stress [N/m³]` for each metre of depth, on a surface whose outward unit
            normal is given; none where it does not move into the ground.
        flow: `(ground, normal, velocity) -> stress [Pa]` of the sand that is hurled away, at any depth.
    """

    Ground: Any
    stress: wp.Function
    flow: wp.Function


@once
def resistance(real: Any) -> Resistance:
    """Types and functions for `wp.float32` or `wp.float64`."""
    ground = _ground(real)
    return Resistance(ground, _stress(real, ground), _flow(real, ground))


def _ground(real: Any) -> Any:
    bits = 32 if real is wp.float32 else 64
    nine = wp.types.vector(length=9, dtype=real)
    members = {
        "law": wp.int32,  # PLANE_LAW or SPACE_LAW
        "height": real,  # of the surface [m]
        "coefficients": nine,  # of the law in a vertical plane [N/m³]
        "resistance": real,  # of the law in space [N/m³]
        "parts": wp.types.vector(length=3, dtype=real),  # factors on its three terms
        "friction": real,  # Coulomb coefficient between body and ground, of the law in space
        "inertia": real,  # stress per squared normal speed [kg/m³]
    }
    name = f"ResistiveGround{bits}"
    return wp.struct(type(name, (), {"__annotations__": members, "__qualname__": name, "__module__": __name__}))


def _stress(real: Any, Ground: Any) -> wp.Function:
    vec3 = wp.types.vector(length=3, dtype=real)
    in_plane, in_space = _plane(real, Ground), _space(real, Ground)

    @wp.func
    def stress(ground: Ground, normal: vec3, velocity: vec3) -> vec3:
        found = vec3()
        speed = wp.length(velocity)
        if speed > real(0.0):
            u = velocity / speed
            if wp.dot(normal, u) > real(0.0):
                if ground.law == wp.static(PLANE_LAW):
                    found = in_plane(ground, normal, u)
                else:
                    found = in_space(ground, normal, u)
                # Grains press, they do not pull: the fits do, a little, on faces that look up and slide along.
                if wp.dot(found, normal) > real(0.0):
                    found = vec3()
        return found

    return stress


def _plane(real: Any, Ground: Any) -> wp.Function:
    """The law in the vertical plane of the motion, on the part of the surface that is seen along the other axis."""
    vec3 = wp.types.vector(length=3, dtype=real)
    vec2 = wp.types.vector(length=2, dtype=real)

    @wp.func
    def stress(ground: Ground, normal: vec3, u: vec3) -> vec3:
        level = wp.sqrt(u[0] * u[0] + u[1] * u[1])
        ahead = vec2(u[0], u[1])
        if level < real(1.0e-6):  # straight up or down: the plane is that of the normal
            ahead = vec2(normal[0], normal[1])
        size = wp.length(ahead)
        if size > real(0.0):
            ahead = ahead / size
        n_ahead = normal[0] * ahead[0] + normal[1] * ahead[1]
        seen = wp.sqrt(n_ahead * n_ahead + normal[2] * normal[2])
        found = vec3()
        if seen > real(0.0):
            side = wp.where(normal[2] > real(0.0), real(-1.0), real(1.0))  # beta is from -90° to 90°
            sine = side * n_ahead / seen
            cosine = -side * normal[2] / seen
            cos_2b = cosine * cosine - sine * sine
            sin_2b = real(2.0) * sine * cosine
            sin_g = -u[2]
            cos_g = level
            c = ground.coefficients
            up = (
                c[0] + c[1] * cos_2b + c[2] * (sin_2b * cos_g + cos_2b * sin_g) + c[3] * sin_g
                + c[4] * (sin_g * cos_2b - cos_g * sin_2b)
            )  # fmt: skip
            against = (
                c[5] * (cos_2b * cos_g - sin_2b * sin_g) + c[6] * cos_g + c[7] * (cos_g * cos_2b + sin_g * sin_2b)
                + c[8] * sin_2b
            )  # fmt: skip
            found = vec3(-ahead[0] * against, -ahead[1] * against, up) * seen
        return found

    return stress


def _space(real: Any, Ground: Any) -> wp.Function:
    """The law in space, with what friction allows along the surface."""
    vec3 = wp.types.vector(length=3, dtype=real)
    polynomials = polynomials_of(real)

    @wp.func
    def stress(ground: Ground, normal: vec3, u: vec3) -> vec3:
        level = u[0] * normal[0] + u[1] * normal[1]
        down = normal[2] < real(0.0) or (normal[2] == real(0.0) and level >= real(0.0))
        m = wp.where(down, normal, -normal)
        x1 = -u[2]
        x2 = -m[2]
        x3 = wp.dot(m, u)
        f = wp.cw_mul(polynomials(x1, x2, x3), ground.parts)
        found = f[0] * m + f[1] * u - vec3(real(0.0), real(0.0), f[2])
        across = wp.dot(found, normal)
        along = found - across * normal
        size = wp.length(along)
        allowed = ground.friction * wp.abs(across)
        if size > allowed:
            along = along * (allowed / size)
        return (across * normal + along) * ground.resistance

    return stress


@once
def polynomials_of(real: Any) -> wp.Function:
    """Three polynomials of third degree in three numbers, with coefficients in the order of the paper.

    Products of the numbers are computed once for all three: the law is most of what sand costs.
    """
    vec3 = wp.types.vector(length=3, dtype=real)
    linear = wp.types.vector(length=4, dtype=real)
    squares, products = (wp.types.vector(length=count, dtype=real) for count in (6, 10))
    terms = [(linear(*row[:4]), squares(*row[4:10]), products(*row[10:])) for row in (F1, F2, F3)]

    @wp.func
    def values(x1: real, x2: real, x3: real) -> vec3:
        x = linear(real(1.0), x1, x2, x3)
        s = squares(x1 * x1, x2 * x2, x3 * x3, x1 * x2, x2 * x3, x3 * x1)
        p = products(
            s[0] * x1, s[1] * x2, s[2] * x3, s[1] * x1, s[0] * x2, s[2] * x2, s[1] * x3, s[0] * x3, s[2] * x1, s[3] * x3
        )  # fmt: skip
        f1 = wp.dot(wp.static(terms[0][0]), x) + wp.dot(wp.static(terms[0][1]), s) + wp.dot(wp.static(terms[0][2]), p)
        f2 = wp.dot(wp.static(terms[1][0]), x) + wp.dot(wp.static(terms[1][1]), s) + wp.dot(wp.static(terms[1][2]), p)
        f3 = wp.dot(wp.static(terms[2][0]), x) + wp.dot(wp.static(terms[2][1]), s) + wp.dot(wp.static(terms[2][2]), p)
        return vec3(f1, f2, f3)

    return values


def _flow(real: Any, Ground: Any) -> wp.Function:
    vec3 = wp.types.vector(length=3, dtype=real)

    @wp.func
    def stress(ground: Ground, normal: vec3, velocity: vec3) -> vec3:
        speed = wp.max(wp.dot(normal, velocity), real(0.0))
        return normal * (-ground.inertia * speed * speed)

    return stress
