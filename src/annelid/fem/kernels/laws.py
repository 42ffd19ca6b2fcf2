"""Hyperelastic laws on the device: energy and derivatives, which are made of the formula of each, `materials.laws`.

A law in invariants returns W, W₁, W₂, W₁₁, W₁₂, W₂₂ (indices are derivatives with respect to I₁ and I₂); one in
stretches returns W, its gradient and its second derivatives. Stretches are signed: the least one is below 0 in an
inverted element.
"""
# Annotations are not postponed here: Warp reads the types of the kernels below from their closures.

from collections.abc import Sequence
from typing import Any

import warp as wp

from annelid.core.kernels.loading import once
from annelid.materials.formulas import Formula, added, derivative, in_cpp, multiplied, symbol
from annelid.materials.laws import Form

wp.set_module_options({"enable_backward": False})

f64 = wp.float64
vec6d = wp.types.vector(length=6, dtype=wp.float64)
vec10d = wp.types.vector(length=10, dtype=wp.float64)


def constants_from(form: Form, array: str) -> dict[str, str]:
    """What the constants of a law are called where they are read from an array."""
    return {f"k{number}": f"{array}[{number}]" for number in range(form.count)}


def vector_of(formulas: Sequence[Formula], names: dict[str, str]) -> str:
    """C++ that returns formulas as a vector."""
    lines, called = in_cpp(formulas, names, "double")
    filled = " ".join(f"out[{place}] = {name};" for place, name in enumerate(called))
    return f"{lines}\nwp::vec_t<{len(formulas)}, wp::float64> out; {filled}\nreturn out;"


_CONSTANTS = "const double* k = constants.data + first;\n"
_STRETCHES = {f"s{axis}": f"s[{axis}]" for axis in range(3)}


@once
def invariant_law(form: Form) -> Any:
    """A law in invariants."""
    names = constants_from(form, "k") | {"i1": "i1", "i2": "i2"}
    text = _CONSTANTS + vector_of([form.formula, *form.slopes, *form.bends], names)

    @wp.func_native(text)
    def respond(i1: f64, i2: f64, first: int, constants: wp.array[f64]) -> vec6d: ...

    return respond


@wp.struct
class Response:
    """What a law in stretches answers: energy, its gradient and its second derivatives."""

    energy: f64
    slopes: wp.vec3d
    bends: wp.mat33d


@once
def stretch_law(form: Form) -> Any:
    """A law in principal stretches."""
    text = _CONSTANTS + vector_of([form.formula, *form.slopes, *form.bends], constants_from(form, "k") | _STRETCHES)

    @wp.func_native(text)
    def row_of(s: wp.vec3d, first: int, constants: wp.array[f64]) -> vec10d: ...

    @wp.func
    def respond(stretches: wp.vec3d, first: int, constants: wp.array[f64]) -> Response:
        row = row_of(stretches, first, constants)
        answer = Response()
        answer.energy = row[0]
        answer.slopes = wp.vec3d(row[1], row[2], row[3])
        answer.bends = wp.mat33d(row[4], row[5], row[6], row[5], row[7], row[8], row[6], row[8], row[9])
        return answer

    return respond


def power_rates(form: Form) -> tuple[Formula, ...]:
    """Derivatives by each constant of the stress power, Σ ∂W/∂v v̇, whose rates v̇ are called r0, r1 and r2."""
    power = multiplied(form.slopes[0], symbol("r0"))
    for place, slope in enumerate(form.slopes[1:], start=1):
        power = added(power, multiplied(slope, symbol(f"r{place}")))
    return tuple(derivative(power, constant) for constant in form.constants)


@once
def invariant_rates(form: Form) -> Any:
    """How the stress power W₁ İ₁ + W₂ İ₂ changes with each constant."""
    names = constants_from(form, "k") | {"i1": "i1", "i2": "i2", "r0": "one", "r1": "two"}
    row = wp.types.vector(length=form.count, dtype=wp.float64)

    @wp.func_native(_CONSTANTS + vector_of(power_rates(form), names))
    def rates(i1: f64, i2: f64, one: f64, two: f64, first: int, constants: wp.array[f64]) -> row: ...

    return rates


@once
def stretch_rates(form: Form) -> Any:
    """How the stress power Σ ∂W/∂λᵢ λ̇ᵢ changes with each constant."""
    names = constants_from(form, "k") | _STRETCHES | {f"r{axis}": f"r[{axis}]" for axis in range(3)}
    row = wp.types.vector(length=form.count, dtype=wp.float64)

    @wp.func_native(_CONSTANTS + vector_of(power_rates(form), names))
    def rates(s: wp.vec3d, r: wp.vec3d, first: int, constants: wp.array[f64]) -> row: ...

    return rates
