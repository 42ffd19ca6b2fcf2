"""Forces of links: Euler-Bernoulli beams between the centres of two voxels, written without a frame of their own.

With u the unit vector between the centres, φ = log(q₂ q₁*) and ρ the smallest rotation that takes the mean image of the
lattice axis onto u, a beam splits into four springs: stretch, twist (φ along u), bending (φ across u) and shear (ρ).
The form is symmetric under exchange of the ends. Each link is computed once, by the voxel at its lower end, which keeps
the sum of what its own links do to it; the other ends gather theirs. On the CPU `lanes` does the same.
"""

from typing import Any

import warp as wp

from annelid.core.kernels.loading import once
from annelid.voxels3d.kernels.fused import fma_of, quaternions, vectors
from annelid.voxels3d.kernels.layout import layout

wp.set_module_options({"enable_backward": False})

BROKEN = 1.0e30
"""Stands for the tension of a link that carries nothing any more [N]."""

PLAIN = -1.0e30
"""Stands for the tension of a link that has no Poisson's ratio, and neither flows nor breaks [N]."""

SMALL = 0.04
"""Squared sine below which a series for the angle is exact to ten digits."""


@once
def angle_per_sine(real: Any) -> wp.Function:
    """Angle over its sine, from the square of the sine and the cosine.

    Large angles are halved until the series serves. A call of atan2, though hardly ever made, would slow everything
    down: all that is in registers would have to be saved for it.
    """
    fma = fma_of(real)

    @wp.func
    def ratio(square: real, cosine: real) -> real:
        s, c, product = real(square), real(cosine), real(1.0)
        while s >= real(wp.static(SMALL)) or c <= real(0.0):
            s = real(0.5) * (real(1.0) - c)
            c = wp.sqrt(wp.max(real(0.5) * (real(1.0) + c), real(1.0e-30)))
            product = product * c
        r = fma(s, real(wp.static(231.0 / 13312.0)), real(wp.static(63.0 / 2816.0)))
        r = fma(s, fma(s, r, real(wp.static(35.0 / 1152.0))), real(wp.static(5.0 / 112.0)))
        r = fma(s, fma(s, fma(s, r, real(wp.static(3.0 / 40.0))), real(wp.static(1.0 / 6.0))), real(1.0))
        if product != real(1.0):
            r = r / product
        return r

    return ratio


@once
def axial_stress(real: Any) -> wp.Function:
    """Stress along a link that was never stretched further: its curve is followed beyond the elastic range."""
    types = layout(real)
    Link, Tables = types.Link, types.Tables

    @wp.func
    def stress(strain: real, across: real, link: Link, tables: Tables) -> real:
        slope = real(link.modulus)
        plain = slope * strain
        for k in range(link.curve + 1, link.curve + link.points):
            low = tables.curve_strains[k - 1]
            high = tables.curve_strains[k]
            if strain > low and (strain <= high or k == link.curve + link.points - 1):
                slope = (tables.curve_stresses[k] - tables.curve_stresses[k - 1]) / (high - low)
                plain = tables.curve_stresses[k - 1] + slope * (strain - low)
        if link.poisson > real(0.0):
            share = plain / slope  # the strain at which a linear material of this slope has this stress
            scale = real(1.0)
            if link.points > 0 and strain > tables.curve_strains[link.curve]:
                scale = share / strain
            nu = link.poisson
            hat = slope / ((real(1.0) + nu) * (real(1.0) - real(2.0) * nu))
            return hat * ((real(1.0) - nu) * share + nu * across * scale)
        return plain

    return stress


@once
def tension_pass(real: Any) -> wp.Function:
    """Tensions of links of some voxels where a material has a Poisson's ratio, flows or breaks.

    They are found before the other forces, since code for them among these would slow down all that are plain.
    """
    types = layout(real)
    Link, Tables, Motion = types.Link, types.Tables, types.Motion
    stress = axial_stress(real)

    @wp.func
    def remembered(strain: real, across: real, slot: int, link: Link, tables: Tables, motion: Motion) -> real:
        """Stress along a link that has been stretched before: it flows beyond its largest strain, or has broken."""
        elastic = real(link.modulus)
        if link.poisson > real(0.0):
            elastic = link.hat * (real(1.0) - link.poisson)
        most = real(motion.largest[slot])
        if strain > most:
            most = strain
            motion.largest[slot] = most
            motion.offsets[slot] = most - stress(most, real(0.0), link, tables) / elastic
        if most > link.fails:
            return real(0.0)
        if strain >= most:
            return stress(strain, across, link, tables)
        return elastic * (strain - motion.offsets[slot]) + link.hat * link.poisson * across

    @wp.func
    def tensions_of(first: int, last: int, stride: int, tables: Tables, motion: Motion):
        for i in range(first, last, stride):
            for axis in range(3):
                slot = 3 * i + axis
                row = tables.row_of_link[slot]
                if row >= 0:
                    link = tables.links[row]
                    j = tables.next[slot]
                    s = link.side
                    d = motion.displacements[j] - motion.displacements[i]
                    excess = real(2.0) * s * d[axis] + wp.dot(d, d)
                    twice = wp.sqrt(s * s + excess) + s
                    grown = real(0.5) * (motion.sizes[i] + motion.sizes[j])
                    strain = (excess - s * (grown - real(1.0)) * twice) / (twice * s * grown)
                    motion.stretches[slot] = strain
                    # A robot moves as it does alone, whatever those beside it are made of: the pass over all links
                    # rounds differently, and finds the tension of a plain one itself.
                    tension = real(wp.static(PLAIN))
                    across, area = real(0.0), s * s
                    if link.poisson > real(0.0):
                        one = motion.strains[i]
                        other = motion.strains[j]
                        b, c = (axis + 1) % 3, (axis + 2) % 3
                        across = real(0.5) * (one[b] + one[c] + other[b] + other[c])
                        area = real(0.5) * s * s * (
                            (real(1.0) + one[b]) * (real(1.0) + one[c])
                            + (real(1.0) + other[b]) * (real(1.0) + other[c])
                        )  # fmt: skip
                        nu = link.poisson
                        tension = link.hat * ((real(1.0) - nu) * strain + nu * across) * area
                    if link.remembers == 1:
                        tension = remembered(strain, across, slot, link, tables, motion) * area
                        if motion.largest[slot] > link.fails:
                            tension = real(wp.static(BROKEN))
                    motion.tensions[slot] = tension

    return tensions_of


@once
def link_pass(real: Any, plain: bool = False) -> wp.Function:
    """Forces and moments of the links of some voxels along +x, +y and +z; see `program.block_kernel` for `plain`."""
    types = layout(real)
    vec3, Tables, Motion = types.vec3, types.Tables, types.Motion
    ratio, fma = angle_per_sine(real), fma_of(real)
    (dot, cross, plus), (squared, between, image) = vectors(real), quaternions(real)

    @wp.func
    def links_of(first: int, last: int, stride: int, tables: Tables, motion: Motion):
        # The loop is in here since a function gets copies of the structures that it is called with.
        for number in range(first, last, stride):
            i = wp.max(
                number, 0
            )  # it is; but where the compiler does not know, each access looks for numbers from the end
            u1 = motion.displacements[i]
            q1 = motion.rotations[i]
            v1 = motion.velocities[i]
            w1 = motion.spins[i]
            size = motion.sizes[i]
            force, moment = vec3(), vec3()
            for axis in range(3):
                slot = 3 * i + axis
                row = tables.row_of_link[slot]
                if row >= 0:
                    link = tables.links[row]
                    j = wp.max(tables.next[slot], 0)
                    s = link.side
                    d = motion.displacements[j] - u1
                    # |d| - s without the difference of two lengths, which would cost float32 its digits
                    beyond = d[axis]
                    excess = fma(real(2.0) * s, beyond, dot(d, d))
                    d[axis] = s + beyond
                    length = wp.sqrt(fma(s, s, excess))
                    grown = real(0.5) * (size + motion.sizes[j])
                    twice = length + s
                    q2 = motion.rotations[j]
                    middle = q1 + q2
                    square = squared(middle)
                    # One quotient for three: a division takes as long as ten products.
                    divisor = twice * s * grown
                    quotient = real(1.0) / (divisor * length * square)
                    strain = fma(s * (real(1.0) - grown), twice, excess) * (quotient * length * square)
                    per_length = quotient * divisor * square
                    u = d * per_length
                    w2 = motion.spins[j]
                    rel = between(q2, q1)
                    sine = vec3(rel[0], rel[1], rel[2])
                    phi = real(2.0) * ratio(dot(sine, sine), rel[3]) * sine
                    along = image(axis, middle) * (quotient * divisor * length)
                    turn = cross(along, u)
                    rho = ratio(dot(turn, turn), dot(along, u)) * turn
                    dv = motion.velocities[j] - v1
                    dphi = w2 - w1
                    drho = plus(real(-0.5) * (w1 + w2), per_length, cross(u, dv))
                    drho = plus(drho, -dot(drho, u), u)
                    dphi_along = dot(dphi, u)
                    phi_along = dot(phi, u)
                    tension = link.axial * strain
                    if wp.static(not plain) and tables.special == 1:
                        found = motion.tensions[slot]
                        if found > real(wp.static(PLAIN)):
                            tension = found
                    arm, damp_arm = real(link.arm), real(link.damp_arm)
                    if tables.balanced == 1:
                        arm, damp_arm = real(0.5) * link.shear * length, real(0.5) * link.damp_shear * length
                    sideways = cross(plus(link.damp_shear * drho, link.shear, rho), u)
                    pair = plus(sideways, fma(link.damp, dot(dv, u), tension), u)
                    shear = plus(damp_arm * drho, arm, rho)
                    twist = fma(link.twist - link.bend, phi_along, (link.damp_twist - link.damp_bend) * dphi_along)
                    bend = plus(plus(twist * u, link.damp_bend, dphi), link.bend, phi)
                    if wp.static(not plain) and tables.special == 1 and tension >= real(wp.static(BROKEN)):
                        pair, shear, bend = vec3(), vec3(), vec3()
                    force += pair
                    moment += shear + bend
                    motion.end_forces[slot] = -pair
                    motion.end_moments[slot] = shear - bend
            motion.forces[i] = force
            motion.moments[i] = moment

    return links_of
