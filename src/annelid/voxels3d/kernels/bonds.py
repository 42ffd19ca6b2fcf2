"""Bonds: beams between voxels that are no neighbours on a lattice, and may be turned to each other at rest.

Each end computes its bonds by itself, in their order; there are few of them. The formulas are those of `links`, with
the second voxel turned back by how it was turned to the first when the bond was made.
"""

from typing import Any

import warp as wp

from annelid.core.kernels.loading import once
from annelid.voxels3d.kernels.layout import layout
from annelid.voxels3d.kernels.links import angle_per_sine

wp.set_module_options({"enable_backward": False})


@once
def bond_pass(real: Any) -> wp.Function:
    """Add what bonds do to voxels to the sums over their own links."""
    types = layout(real)
    vec3, Tables, Motion = types.vec3, types.Tables, types.Motion
    ratio = angle_per_sine(real)

    @wp.func
    def grown(b: int, now: wp.int64, tables: Tables) -> real:
        """Part of its strength that a bond has."""
        age = wp.float64(now - tables.bond_born[b]) * tables.dt
        if age >= tables.bond_rise[b]:
            return real(1.0)
        return real(age / tables.bond_rise[b])

    @wp.func
    def bonds_of(first: int, last: int, stride: int, now: wp.int64, tables: Tables, motion: Motion):
        for i in range(first, last, stride):
            for k in range(tables.bond_begins[i], tables.bond_begins[i + 1]):
                b = tables.bond_numbers[k]
                one, other = tables.bond_ends[b][0], tables.bond_ends[b][1]
                link = tables.links[tables.bond_rows[b]]
                moved = motion.displacements[other] - motion.displacements[one]
                exact = tables.places[other] - tables.places[one]
                exact += wp.vec3d(wp.float64(moved[0]), wp.float64(moved[1]), wp.float64(moved[2]))
                d = vec3(real(exact[0]), real(exact[1]), real(exact[2]))
                length = wp.length(d)
                u = d / length
                rest = real(0.5) * link.side * (motion.sizes[one] + motion.sizes[other])
                q1 = motion.rotations[one]
                q2 = motion.rotations[other] * tables.bond_turns[b]
                if wp.dot(q1, q2) < real(0.0):
                    q2 = -q2
                w1, w2 = motion.spins[one], motion.spins[other]
                rel = q2 * wp.quat_inverse(q1)
                sine = vec3(rel[0], rel[1], rel[2])
                phi = real(2.0) * ratio(wp.dot(sine, sine), rel[3]) * sine
                along = wp.quat_rotate(wp.normalize(q1 + q2), tables.bond_axes[b])
                turn = wp.cross(along, u)
                rho = ratio(wp.dot(turn, turn), wp.dot(along, u)) * turn
                dv, dphi = motion.velocities[other] - motion.velocities[one], w2 - w1
                drho = wp.cross(u, dv) / length - real(0.5) * (w1 + w2)
                drho = drho - wp.dot(drho, u) * u
                arm, damp_arm = real(link.arm), real(link.damp_arm)
                if tables.balanced == 1:
                    arm, damp_arm = real(0.5) * link.shear * length, real(0.5) * link.damp_shear * length
                tension = link.axial * (length - rest) / rest + link.damp * wp.dot(dv, u)
                pair = tension * u - wp.cross(u, link.shear * rho + link.damp_shear * drho)
                shear = arm * rho + damp_arm * drho
                twist = (link.twist - link.bend) * wp.dot(phi, u) + (link.damp_twist - link.damp_bend) * wp.dot(dphi, u)
                bend = link.bend * phi + link.damp_bend * dphi + twist * u
                if i == other:
                    pair, bend = -pair, -bend
                part = grown(b, now, tables)
                motion.forces[i] = motion.forces[i] + part * pair
                motion.moments[i] = motion.moments[i] + part * (shear + bend)

    return bonds_of
