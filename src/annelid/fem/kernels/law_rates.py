"""How the stress power of hyperelastic laws changes with their constants, by hand, and for a user's energy by Warp.

A rate Z of the deformation makes the power P:Z = W₁ İ₁ + W₂ İ₂ in a law of invariants, and Σ ∂W/∂λᵢ λ̇ᵢ in one of
stretches. Each function takes the derivatives of that with respect to the constants of its law, times a scale, from the
rates of a point, one column a constant.
"""
# Annotations are not postponed here: Warp reads the types of the kernels below from their closures.

from typing import Any

import warp as wp

from annelid.core.kernels.loading import once
from annelid.fem.kernels.hyperelastic import FACTOR, FIRST, HyperPoints, principal
from annelid.fem.kernels.laws import LEAST_STRETCH, row_of
from annelid.materials.kernels.own_laws import OWN_CONSTANTS

wp.set_module_options({"enable_backward": False})

f64 = wp.float64
STRIDE = 1.0e-3
"""Change of invariants or stretches for differences, of fourth order, of a user's exact slopes."""


@wp.func
def take(p: int, k: int, scale: f64, value: f64, rates: wp.array2d[f64]):
    """Take a derivative with respect to the constant k of a law from the rates of a point."""
    rates[p, wp.static(FIRST) + k] = rates[p, wp.static(FIRST) + k] - scale * value


@wp.func
def neo_hooke_rates(
    p: int, scale: f64, i1: f64, i2: f64, one: f64, two: f64, first: int, constants: wp.array[f64],
    rates: wp.array2d[f64],
):  # fmt: skip
    take(p, 0, scale, f64(0.5) * one, rates)


@wp.func
def mooney_rivlin_rates(
    p: int, scale: f64, i1: f64, i2: f64, one: f64, two: f64, first: int, constants: wp.array[f64],
    rates: wp.array2d[f64],
):  # fmt: skip
    take(p, 0, scale, one, rates)
    take(p, 1, scale, two, rates)


@wp.func
def yeoh_rates(
    p: int, scale: f64, i1: f64, i2: f64, one: f64, two: f64, first: int, constants: wp.array[f64],
    rates: wp.array2d[f64],
):  # fmt: skip
    """The edge of the cubic stays where it is."""
    over = wp.min(i1 - f64(3.0), constants[first + 3])
    take(p, 0, scale, one, rates)
    take(p, 1, scale, f64(2.0) * over * one, rates)
    take(p, 2, scale, f64(3.0) * over * over * one, rates)


@wp.func
def gent_rates(
    p: int, scale: f64, i1: f64, i2: f64, one: f64, two: f64, first: int, constants: wp.array[f64],
    rates: wp.array2d[f64],
):  # fmt: skip
    limit = constants[first + 1]
    part = (i1 - f64(3.0)) / limit
    slope = f64(0.5) / (f64(1.0) - part)
    take(p, 0, scale, slope * one, rates)
    take(p, 1, scale, -constants[first] * slope * part / (limit * (f64(1.0) - part)) * one, rates)


@once
def ogden_rates(terms: int) -> Any:
    """Rates of the law of Ogden with so many terms."""

    @wp.func
    def add(
        p: int,
        scale: f64,
        stretches: wp.vec3d,
        speeds: wp.vec3d,
        first: int,
        constants: wp.array[f64],
        rates: wp.array2d[f64],
    ):
        for term in range(wp.static(terms)):
            mu = constants[first + 2 * term]
            alpha = constants[first + 2 * term + 1]
            by_mu = f64(0.0)
            by_alpha = f64(0.0)
            for i in range(3):
                base = wp.max(stretches[i], f64(LEAST_STRETCH))
                below = (stretches[i] - base) / base
                value = wp.pow(base, alpha - f64(1.0))
                slope = value * (f64(1.0) + below * (alpha - f64(1.0)))
                by_mu += slope * speeds[i]
                by_alpha += (wp.log(base) * slope + below * value) * speeds[i]
            take(p, 2 * term, scale, by_mu, rates)
            take(p, 2 * term + 1, scale, mu * by_alpha, rates)

    return add


@once
def own_invariant_rates(energy: Any) -> Any:
    """Rates of a user's energy of I₁, I₂ and constants."""

    @wp.func
    def add(
        p: int,
        scale: f64,
        i1: f64,
        i2: f64,
        one: f64,
        two: f64,
        first: int,
        constants: wp.array[f64],
        rates: wp.array2d[f64],
    ):
        size = wp.abs(one) + wp.abs(two)
        if size > f64(0.0):
            row = row_of(first, constants)
            a = f64(wp.static(STRIDE)) * one / size
            b = f64(wp.static(STRIDE)) * two / size
            _a, _b, ahead = wp.grad(energy)(i1 + a, i2 + b, row)
            _a, _b, behind = wp.grad(energy)(i1 - a, i2 - b, row)
            _a, _b, far_ahead = wp.grad(energy)(i1 + f64(2.0) * a, i2 + f64(2.0) * b, row)
            _a, _b, far_behind = wp.grad(energy)(i1 - f64(2.0) * a, i2 - f64(2.0) * b, row)
            change = f64(8.0) * (ahead - behind) - (far_ahead - far_behind)
            for k in range(wp.static(OWN_CONSTANTS)):
                take(p, k, scale * size / (f64(12.0) * f64(wp.static(STRIDE))), change[k], rates)

    return add


@once
def own_stretch_rates(energy: Any) -> Any:
    """Rates of a user's energy of three stretches and constants."""

    @wp.func
    def add(
        p: int,
        scale: f64,
        stretches: wp.vec3d,
        speeds: wp.vec3d,
        first: int,
        constants: wp.array[f64],
        rates: wp.array2d[f64],
    ):
        size = wp.length(speeds)
        if size > f64(0.0):
            row = row_of(first, constants)
            way = (f64(wp.static(STRIDE)) / size) * speeds
            _way, ahead = wp.grad(energy)(stretches + way, row)
            _way, behind = wp.grad(energy)(stretches - way, row)
            _way, far_ahead = wp.grad(energy)(stretches + f64(2.0) * way, row)
            _way, far_behind = wp.grad(energy)(stretches - f64(2.0) * way, row)
            change = f64(8.0) * (ahead - behind) - (far_ahead - far_behind)
            for k in range(wp.static(OWN_CONSTANTS)):
                take(p, k, scale * size / (f64(12.0) * f64(wp.static(STRIDE))), change[k], rates)

    return add


@once
def invariant_rates_kernel(law_rates: Any) -> Any:
    """Rates of the constants at points whose law speaks of invariants."""

    @wp.kernel(module="unique", enable_backward=False)
    def rate_points(
        offset: int,
        members: wp.array[wp.int32],
        width: int,
        constants: wp.array[f64],
        gains: wp.array[f64],
        points: HyperPoints,
        slopes: wp.array[wp.mat33d],
        rates: wp.array2d[f64],
    ):
        p = members[offset + wp.tid()]
        f = points.deformations[p]
        slope = slopes[p]
        material = points.materials[p]
        row = material * width
        scale = gains[material] * constants[row + wp.static(FACTOR)] * points.volumes[p]
        c = wp.transpose(f) * f
        i1 = wp.trace(c)
        i2 = f64(0.5) * (i1 * i1 - wp.ddot(c, c))
        one = f64(2.0) * wp.ddot(f, slope)
        two = i1 * one - f64(2.0) * wp.ddot(f * c, slope)
        law_rates(p, scale, i1, i2, one, two, row + wp.static(FIRST), constants, rates)

    return rate_points


@once
def stretch_rates_kernel(law_rates: Any) -> Any:
    """Rates of the constants at points whose law speaks of principal stretches."""

    @wp.kernel(module="unique", enable_backward=False)
    def rate_points(
        offset: int,
        members: wp.array[wp.int32],
        width: int,
        constants: wp.array[f64],
        gains: wp.array[f64],
        points: HyperPoints,
        slopes: wp.array[wp.mat33d],
        rates: wp.array2d[f64],
    ):
        p = members[offset + wp.tid()]
        material = points.materials[p]
        row = material * width
        scale = gains[material] * constants[row + wp.static(FACTOR)] * points.volumes[p]
        u, s, v = principal(points.deformations[p])
        speeds = wp.get_diag(wp.transpose(u) * slopes[p] * v)
        law_rates(p, scale, s, speeds, row + wp.static(FIRST), constants, rates)

    return rate_points
