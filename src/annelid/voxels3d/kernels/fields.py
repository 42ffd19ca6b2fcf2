"""Fields of force: formulas of place and time, lists of codes that are computed on a stack; see `files.formulas`."""

from typing import Any

import warp as wp

from annelid.core.kernels.loading import once
from annelid.voxels3d.files.formulas import OPERATORS
from annelid.voxels3d.kernels.layout import layout

wp.set_module_options({"enable_backward": False})

DEEPEST = 16
"""Numbers that may wait for their operator."""

_CODE = {name: code for code, name in enumerate(OPERATORS)}
_UNARY = 10  # operators of one operand come first

_Stack = wp.types.vector(length=DEEPEST, dtype=wp.float64)


@wp.func
def of_one(code: int, a: wp.float64) -> wp.float64:
    """An operator of one operand."""
    if code == wp.static(_CODE["mtSQRT"]):
        return wp.sqrt(a)
    if code == wp.static(_CODE["mtSIN"]):
        return wp.sin(a)
    if code == wp.static(_CODE["mtCOS"]):
        return wp.cos(a)
    if code == wp.static(_CODE["mtTAN"]):
        return wp.tan(a)
    if code == wp.static(_CODE["mtATAN"]):
        return wp.atan(a)
    if code == wp.static(_CODE["mtLOG"]):
        return wp.log(a)
    if code == wp.static(_CODE["mtINT"]):
        return wp.round(a)
    if code == wp.static(_CODE["mtABS"]):
        return wp.abs(a)
    if code == wp.static(_CODE["mtNOT"]):
        return wp.where(a == wp.float64(0.0), wp.float64(1.0), wp.float64(0.0))
    return wp.float64(0.5) * wp.erfc(wp.float64(-0.7071067811865476) * a)


@wp.func
def of_two(code: int, a: wp.float64, b: wp.float64) -> wp.float64:
    """An operator of two operands."""
    zero, one = wp.float64(0.0), wp.float64(1.0)
    if code == wp.static(_CODE["mtADD"]):
        return a + b
    if code == wp.static(_CODE["mtSUB"]):
        return a - b
    if code == wp.static(_CODE["mtMUL"]):
        return a * b
    if code == wp.static(_CODE["mtDIV"]):
        return a / b
    if code == wp.static(_CODE["mtPOW"]):
        return wp.pow(a, b)
    if code == wp.static(_CODE["mtAND"]):
        return wp.where(a != zero and b != zero, one, zero)
    if code == wp.static(_CODE["mtOR"]):
        return wp.where(a != zero or b != zero, one, zero)
    if code == wp.static(_CODE["mtGREATERTHAN"]):
        return wp.where(a > b, one, zero)
    return wp.where(a < b, one, zero)


@once
def field_of(real: Any) -> wp.Function:
    """Force of the fields on a voxel."""
    types = layout(real)
    vec3, Tables = types.vec3, types.Tables

    @wp.func
    def value(axis: int, place: wp.vec3d, time: wp.float64, tables: Tables) -> wp.float64:
        stack = _Stack()
        top = int(-1)
        for k in range(tables.field_begins[axis], tables.field_begins[axis + 1]):
            code = tables.field_codes[k]
            if code == -1:
                top += 1
                stack[top] = tables.field_numbers[k]
            elif code < 0:
                top += 1
                if code < -4:  # the fourth variable counts collisions, the fifth is the time
                    stack[top] = time
                else:
                    stack[top] = place[-2 - code]
            elif code < wp.static(_UNARY):
                stack[top] = of_one(code, stack[top])
            else:
                top -= 1
                stack[top] = of_two(code, stack[top + 1], stack[top])
        return wp.where(top < 0, wp.float64(0.0), stack[0])

    @wp.func
    def field(i: int, u: vec3, time: wp.float64, tables: Tables) -> vec3:
        place = tables.places[i] + wp.vec3d(wp.float64(u[0]), wp.float64(u[1]), wp.float64(u[2]))
        return vec3(
            real(value(0, place, time, tables)),
            real(value(1, place, time, tables)),
            real(value(2, place, time, tables)),
        )

    return field
