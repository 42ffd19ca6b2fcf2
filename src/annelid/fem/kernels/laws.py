"""Hyperelastic laws on the device: energy and derivatives, in invariants or in principal stretches.

A law in invariants returns W, W₁, W₂, W₁₁, W₁₂, W₂₂ (indices are derivatives with respect to I₁ and I₂); one in
stretches returns W, its gradient and its second derivatives as rows of a matrix. Stretches are signed: the least one is
below 0 in an inverted element.
"""
# Annotations are not postponed here: Warp reads the types of the kernels below from their closures.

from typing import Any

import warp as wp

from annelid.core.kernels.loading import once
from annelid.materials.kernels.own_laws import OWN_CONSTANTS, Constants

wp.set_module_options({"enable_backward": False})

f64 = wp.float64
vec6d = wp.types.vector(length=6, dtype=wp.float64)

LEAST_STRETCH = 0.05
"""Below this stretch, which only inverted or flattened elements have, powers go on as parabolas."""
NUDGE = 1.0e-5
"""Change of an argument for the differences of exact gradients that make second derivatives of a user's energy."""


@wp.func
def neo_hooke(i1: f64, i2: f64, first: int, constants: wp.array[f64]) -> vec6d:
    half = f64(0.5) * constants[first]
    return vec6d(half * (i1 - f64(3.0)), half, f64(0.0), f64(0.0), f64(0.0), f64(0.0))


@wp.func
def mooney_rivlin(i1: f64, i2: f64, first: int, constants: wp.array[f64]) -> vec6d:
    one = constants[first]
    two = constants[first + 1]
    energy = one * (i1 - f64(3.0)) + two * (i2 - f64(3.0))
    return vec6d(energy, one, two, f64(0.0), f64(0.0), f64(0.0))


@wp.func
def yeoh(i1: f64, i2: f64, first: int, constants: wp.array[f64]) -> vec6d:
    """Goes on in a straight line where stress would fall."""
    one = constants[first]
    two = constants[first + 1]
    three = constants[first + 2]
    over = wp.min(i1 - f64(3.0), constants[first + 3])
    beyond = i1 - f64(3.0) - over
    energy = over * (one + over * (two + over * three))
    slope = one + over * (f64(2.0) * two + f64(3.0) * over * three)
    bend = f64(2.0) * two + f64(6.0) * over * three
    if beyond > f64(0.0):
        bend = f64(0.0)
    return vec6d(energy + slope * beyond, slope, f64(0.0), bend, f64(0.0), f64(0.0))


@wp.func
def gent(i1: f64, i2: f64, first: int, constants: wp.array[f64]) -> vec6d:
    """Infinite beyond the limit, so that a line search turns back."""
    shear = constants[first]
    limit = constants[first + 1]
    left = f64(1.0) - (i1 - f64(3.0)) / limit
    if left <= f64(0.0):
        return vec6d(f64(wp.inf), f64(0.0), f64(0.0), f64(0.0), f64(0.0), f64(0.0))
    slope = f64(0.5) * shear / left
    return vec6d(f64(-0.5) * shear * limit * wp.log(left), slope, f64(0.0), slope / (limit * left), f64(0.0), f64(0.0))


@wp.func
def power(stretch: f64, exponent: f64) -> wp.vec3d:
    """λ^α with its first two derivatives; a parabola below the least stretch."""
    base = wp.max(stretch, f64(LEAST_STRETCH))
    value = wp.pow(base, exponent)
    slope = exponent * value / base
    bend = (exponent - f64(1.0)) * slope / base
    below = stretch - base
    return wp.vec3d(value + below * (slope + f64(0.5) * below * bend), slope + below * bend, bend)


@wp.struct
class Response:
    """What a law in stretches answers: energy, its gradient and its second derivatives."""

    energy: f64
    slopes: wp.vec3d
    bends: wp.mat33d


@once
def ogden(terms: int) -> Any:
    """The law of Ogden with so many terms."""

    @wp.func
    def respond(stretches: wp.vec3d, first: int, constants: wp.array[f64]) -> Response:
        answer = Response()
        for term in range(wp.static(terms)):
            mu = constants[first + 2 * term]
            alpha = constants[first + 2 * term + 1]
            for i in range(3):
                found = power(stretches[i], alpha)
                answer.energy = answer.energy + mu / alpha * (found[0] - f64(1.0))
                answer.slopes[i] = answer.slopes[i] + mu / alpha * found[1]
                answer.bends[i, i] = answer.bends[i, i] + mu / alpha * found[2]
        return answer

    return respond


@wp.func
def row_of(first: int, constants: wp.array[f64]) -> Constants:
    """The constants of a user's law as a vector."""
    row = Constants()
    for i in range(wp.static(OWN_CONSTANTS)):
        row[i] = constants[first + i]
    return row


@once
def own_invariants(energy: Any) -> Any:
    """A user's energy of I₁, I₂ and constants: exact gradient, second derivatives from differences of it."""

    @wp.func
    def respond(i1: f64, i2: f64, first: int, constants: wp.array[f64]) -> vec6d:
        row = row_of(first, constants)
        step = f64(wp.static(NUDGE))
        one, two, _row = wp.grad(energy)(i1, i2, row)
        one_a, two_a, _row = wp.grad(energy)(i1 + step, i2, row)
        one_b, two_b, _row = wp.grad(energy)(i1 - step, i2, row)
        one_c, two_c, _row = wp.grad(energy)(i1, i2 + step, row)
        one_d, two_d, _row = wp.grad(energy)(i1, i2 - step, row)
        half = f64(0.5) / step
        mixed = f64(0.5) * half * (two_a - two_b + one_c - one_d)
        return vec6d(energy(i1, i2, row), one, two, half * (one_a - one_b), mixed, half * (two_c - two_d))

    return respond


@once
def own_stretches(energy: Any) -> Any:
    """A user's energy of three stretches and constants: exact gradient, second derivatives from differences of it."""

    @wp.func
    def respond(stretches: wp.vec3d, first: int, constants: wp.array[f64]) -> Response:
        row = row_of(first, constants)
        answer = Response()
        answer.energy = energy(stretches, row)
        slopes, _row = wp.grad(energy)(stretches, row)
        answer.slopes = slopes
        for i in range(3):
            nudge = wp.vec3d()
            nudge[i] = f64(wp.static(NUDGE))
            there, _row = wp.grad(energy)(stretches + nudge, row)
            here, _row = wp.grad(energy)(stretches - nudge, row)
            bend = (f64(0.5) / f64(wp.static(NUDGE))) * (there - here)
            for j in range(3):
                answer.bends[i, j] = answer.bends[i, j] + f64(0.5) * bend[j]
                answer.bends[j, i] = answer.bends[j, i] + f64(0.5) * bend[j]
        return answer

    return respond
