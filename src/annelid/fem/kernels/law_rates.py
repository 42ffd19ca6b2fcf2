"""How the stress power of hyperelastic laws changes with their constants.

A rate Z of the deformation makes the power P:Z = W₁ İ₁ + W₂ İ₂ in a law of invariants, and Σ ∂W/∂λᵢ λ̇ᵢ in one of
stretches. Each kernel takes the derivatives of that with respect to the constants of its law, times a scale, from the
rates of a point, one column a constant.
"""
# Annotations are not postponed here: Warp reads the types of the kernels below from their closures.

from typing import Any

import warp as wp

from annelid.core.kernels.loading import once
from annelid.fem.kernels.hyperelastic import FACTOR, FIRST, HyperPoints, principal
from annelid.fem.kernels.laws import invariant_rates, stretch_rates
from annelid.materials.laws import Form

wp.set_module_options({"enable_backward": False})

f64 = wp.float64


@once
def point_rates(form: Form) -> Any:
    """A function `(deformation, slope, first, constants)`: how a point's stress power changes with each constant."""
    if form.of == "invariants":
        of_invariants = invariant_rates(form)

        @wp.func
        def by_invariants(f: wp.mat33d, slope: wp.mat33d, first: int, constants: wp.array[f64]):
            c = wp.transpose(f) * f
            i1 = wp.trace(c)
            i2 = f64(0.5) * (i1 * i1 - wp.ddot(c, c))
            one = f64(2.0) * wp.ddot(f, slope)
            two = i1 * one - f64(2.0) * wp.ddot(f * c, slope)
            return of_invariants(i1, i2, one, two, first, constants)

        return by_invariants
    of_stretches = stretch_rates(form)

    @wp.func
    def by_stretches(f: wp.mat33d, slope: wp.mat33d, first: int, constants: wp.array[f64]):
        u, s, v = principal(f)
        speeds = wp.get_diag(wp.transpose(u) * slope * v)
        return of_stretches(s, speeds, first, constants)

    return by_stretches


@once
def rates_kernel(form: Form) -> Any:
    """Rates of the constants at points of a form of law."""
    law_rates, count = point_rates(form), form.count

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
        found = law_rates(points.deformations[p], slopes[p], row + wp.static(FIRST), constants)
        for k in range(wp.static(count)):
            rates[p, wp.static(FIRST) + k] = rates[p, wp.static(FIRST) + k] - scale * found[k]

    return rate_points
