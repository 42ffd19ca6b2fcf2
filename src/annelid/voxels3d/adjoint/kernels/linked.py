"""What links owe the state, from the rates by forces and moments on their two ends.

The formulas are the adjoint of those of `kernels.links`, in the same vectors of the world. Rates by rotations are three
numbers, by small turns about the axes of the world: a quaternion keeps its length, so that a fourth would say nothing.
"""

from typing import Any

import warp as wp

from annelid.core.kernels.loading import once
from annelid.voxels3d.adjoint.kernels.course import course_of, ledger_of
from annelid.voxels3d.kernels.layout import layout
from annelid.voxels3d.kernels.links import angle_per_sine

wp.set_module_options({"enable_backward": False})

_SMALL = 0.04
"""Squared sine below which a series serves."""


@once
def ratio_rate(real: Any) -> wp.Function:
    """Rate of an angle over its sine by the cosine, from the square of the sine, the cosine and the ratio."""

    @wp.func
    def rate(square: real, cosine: real, ratio: real) -> real:
        if square >= real(wp.static(_SMALL)) or cosine <= real(0.0):
            return (cosine * ratio - real(1.0)) / wp.max(square, real(1.0e-30))
        r = real(wp.static(315.0 / 2816.0)) + square * real(wp.static(693.0 / 6656.0))
        r = real(wp.static(15.0 / 112.0)) + square * (real(wp.static(35.0 / 288.0)) + square * r)
        return real(-2.0) * cosine * (real(wp.static(1.0 / 6.0)) + square * (real(wp.static(3.0 / 20.0)) + square * r))

    return rate


@once
def linked_pass(real: Any) -> wp.Function:
    """What the links of some voxels along +x, +y and +z owe both of their ends."""
    types = layout(real)
    vec3, quat, Tables = types.vec3, types.quat, types.Tables
    Course, Ledger = course_of(real), ledger_of(real)
    ratio, rate = angle_per_sine(real), ratio_rate(real)

    @wp.func
    def axis_image(axis: int, q: quat) -> vec3:
        unit = vec3()
        unit[axis] = real(1.0)
        return wp.quat_rotate(wp.normalize(q), unit)

    @wp.func
    def linked(first: int, last: int, stride: int, row_of_state: int, tables: Tables, course: Course, ledger: Ledger):
        for number in range(first, last, stride):
            i = wp.max(number, 0)
            u1, q1 = course.us[row_of_state, i], course.qs[row_of_state, i]
            v1, w1 = course.vs[row_of_state, i], course.ws[row_of_state, i]
            u_own, q_own, v_own, w_own, size_own = vec3(), vec3(), vec3(), vec3(), real(0.0)
            for axis in range(3):
                slot = 3 * i + axis
                row = tables.row_of_link[slot]
                if row >= 0:
                    link = tables.links[row]
                    j = wp.max(tables.next[slot], 0)
                    s = link.side
                    d = course.us[row_of_state, j] - u1
                    d[axis] = d[axis] + s
                    length = wp.length(d)
                    per_length = real(1.0) / length
                    u = d * per_length
                    grown = real(0.5) * (ledger.sizes[i] + ledger.sizes[j])
                    strain = length / (s * grown) - real(1.0)
                    q2 = course.qs[row_of_state, j]
                    w2 = course.ws[row_of_state, j]
                    rel = q2 * wp.quat_inverse(q1)
                    sine = vec3(rel[0], rel[1], rel[2])
                    phi_square = wp.dot(sine, sine)
                    phi_ratio = ratio(phi_square, rel[3])
                    phi = real(2.0) * phi_ratio * sine
                    along = axis_image(axis, q1 + q2)
                    turn = wp.cross(along, u)
                    rho_cosine, rho_square = wp.dot(along, u), wp.dot(turn, turn)
                    rho_ratio = ratio(rho_square, rho_cosine)
                    dv, dphi = course.vs[row_of_state, j] - v1, w2 - w1
                    swing = wp.cross(u, dv)
                    r = swing * per_length - real(0.5) * (w1 + w2)
                    r_along = wp.dot(r, u)
                    bent = link.shear * rho_ratio * turn
                    shear = bent + link.damp_shear * (r - r_along * u)
                    tension = link.axial * strain + link.damp * wp.dot(dv, u)
                    k1, k2 = link.twist - link.bend, link.damp_twist - link.damp_bend
                    twist = k1 * wp.dot(phi, u) + k2 * wp.dot(dphi, u)

                    # rates by the pair of forces, and by the moments that are equal and opposite at the ends
                    f = ledger.force_bars[i] - ledger.force_bars[j]
                    equal = ledger.moment_bars[i] + ledger.moment_bars[j]
                    opposite = ledger.moment_bars[i] - ledger.moment_bars[j]

                    by_tension = wp.dot(f, u)
                    by_shear = wp.cross(u, f) + real(0.5) * length * equal
                    by_length = real(0.5) * wp.dot(shear, equal)
                    opposite_along = wp.dot(opposite, u)
                    by_phi = link.bend * opposite + (k1 * opposite_along) * u
                    by_dphi = link.damp_bend * opposite + (k2 * opposite_along) * u
                    by_u = tension * f + wp.cross(f, shear) + twist * opposite
                    by_u += opposite_along * (k1 * phi + k2 * dphi)

                    if ledger.by_links.shape[0] > 0:  # forces grow with the modulus, those that damp with its root
                        elastic = link.axial * strain * by_tension + wp.dot(by_shear, bent) + wp.dot(by_phi, phi)
                        damping = link.damp * wp.dot(dv, u) * by_tension + wp.dot(by_shear, shear - bent)
                        damping += wp.dot(by_dphi, dphi)
                        ledger.by_links[slot] = ledger.by_links[slot] + elastic + real(0.5) * damping

                    by_drho = link.damp_shear * by_shear
                    drho_along = wp.dot(by_drho, u)
                    by_r = by_drho - drho_along * u
                    by_u -= r_along * by_drho + drho_along * r
                    by_u += wp.cross(dv, by_r) * per_length
                    by_dv = wp.cross(by_r, u) * per_length + (link.damp * by_tension) * u
                    by_length -= wp.dot(by_r, swing) * per_length * per_length
                    by_u += (link.damp * by_tension) * dv

                    by_strain = link.axial * by_tension
                    by_length += by_strain / (s * grown)
                    by_size = real(-0.5) * by_strain * length / (s * grown * grown)

                    by_rho = link.shear * by_shear
                    by_turn = rho_ratio * by_rho
                    by_cosine = wp.dot(by_rho, turn) * rate(rho_square, rho_cosine, rho_ratio)
                    by_u += wp.cross(by_turn, along) + by_cosine * along
                    by_along = wp.cross(u, by_turn) + by_cosine * u

                    # the mean image turns with both ends, almost by half of each
                    b = wp.cross(along, by_along)
                    skew = wp.cross(b, sine) / (real(2.0) * (real(1.0) + rel[3]))
                    by_q1, by_q2 = real(0.5) * b + skew, real(0.5) * b - skew

                    by_sine = real(2.0) * phi_ratio * by_phi
                    by_cosine = real(2.0) * wp.dot(by_phi, sine) * rate(phi_square, rel[3], phi_ratio)
                    straight = real(0.5) * (rel[3] * by_sine - by_cosine * sine)
                    skew = real(0.5) * wp.cross(sine, by_sine)
                    by_q1 += skew - straight
                    by_q2 += skew + straight

                    by_d = (by_u - wp.dot(by_u, u) * u) * per_length + by_length * u
                    u_own -= by_d
                    v_own -= by_dv
                    w_own -= by_dphi + real(0.5) * by_r
                    q_own += by_q1
                    size_own += by_size
                    ledger.ends[0, slot] = by_d
                    ledger.ends[1, slot] = by_q2
                    ledger.ends[2, slot] = by_dv
                    ledger.ends[3, slot] = by_dphi - real(0.5) * by_r
                    ledger.end_sizes[slot] = by_size
            ledger.own[0, i] = u_own
            ledger.own[1, i] = q_own
            ledger.own[2, i] = v_own
            ledger.own[3, i] = w_own
            ledger.own_sizes[i] = size_own

    return linked
