"""Kernels that look at a state without changing it: fields per mass, values per spring, totals of the whole."""

from typing import Any

import warp as wp

from annelid.core.kernels.loading import once
from annelid.springs.kernels.energy import elastic_energy
from annelid.springs.kernels.layout import layout
from annelid.springs.kernels.program import Features, mass_world

wp.set_module_options({"enable_backward": False})

SLOTS = 1024
"""Partial sums of `totals_kernel`; their number and order are fixed, so that sums are the same on every run."""

Totals = wp.types.vector(length=13, dtype=wp.float64)
"""Mass, mass times position (3), momentum (3), angular momentum (3), elastic, kinetic and gravitational energy."""


@once
def fields_kernel(features: Features) -> wp.Kernel:
    """Mean strain, von Mises stress of the virial and mean actuation of the springs around each of chosen masses."""
    types = layout(features.real)
    real, vec3, vec4, Arrays, Work = types.real, types.vec3, types.vec4, types.Arrays, types.Work
    actuated, breaking, worlds = features.actuated, features.breaking, features.worlds
    varied, world_of = features.varied, mass_world(features)
    mat33 = wp.types.matrix(shape=(3, 3), dtype=real)

    @wp.kernel(module="unique", enable_backward=False)
    def fields(
        model: Arrays,
        work: Work,
        volumes: wp.array[wp.float32],
        chosen: wp.array[wp.int32],
        positions: wp.array[vec4],
        strain_out: wp.array[wp.float32],
        stress_out: wp.array[wp.float32],
        actuation_out: wp.array[wp.float32],
    ):
        out = wp.tid()
        i = chosen[out]
        own = positions[i]
        x = vec3(own[0], own[1], own[2])
        row = model.rows[model.row_of[i]]
        base = int(0)
        if wp.static(worlds):
            base = i // model.masses_a_world * model.signal_count
        strain = real(0.0)
        actuation = real(0.0)
        virial = mat33()
        there = int(0)
        for s in range(row[1]):
            if wp.static(breaking):
                if ((work.broken[i] >> wp.uint64(s)) & wp.uint64(1)) != wp.uint64(0):
                    continue
            there += 1
            entry = row[0] + s * model.stride
            near = positions[i + model.offsets[entry]]
            d = vec3(near[0], near[1], near[2]) - x
            length = wp.max(wp.length(d), real(1.0e-15))
            spring = model.elastic[entry]
            factor = real(1.0)
            if wp.static(actuated):
                factor = work.factors[base + model.signals[entry]]
            rest = factor * spring[1] / wp.max(spring[0], real(1.0e-30))
            strain += length / wp.max(rest, real(1.0e-30)) - real(1.0)
            actuation += factor - real(1.0)
            virial += wp.outer(d, d) * ((spring[0] - factor * spring[1] / length) * real(0.5))
        if wp.static(varied):
            virial = virial * work.scales[world_of(i, model)][0]
        count = real(wp.max(there, 1))
        pressure = (virial[0, 0] + virial[1, 1] + virial[2, 2]) / real(3.0)
        squares = real(0.0)
        for a in range(3):
            for b in range(3):
                part = virial[a, b]
                if a == b:
                    part = part - pressure
                squares += part * part
        strain_out[out] = wp.float32(strain / count)
        actuation_out[out] = wp.float32(actuation / count)
        stress_out[out] = wp.float32(wp.sqrt(squares * real(1.5))) / wp.max(volumes[i], 1.0e-30)

    return fields


@once
def totals_kernel(features: Features) -> wp.Kernel:
    """Mass, first moment, momentum, angular momentum and energies, summed in double precision into `SLOTS` parts."""
    types = layout(features.real)
    vec3, vec4, Arrays, Work = types.vec3, types.vec4, types.Arrays, types.Work
    varied, world_of, elastic = features.varied, mass_world(features), elastic_energy(features)

    @wp.kernel(module="unique", enable_backward=False)
    def totals(
        model: Arrays,
        work: Work,
        masses: wp.array[wp.float64],
        positions: wp.array[vec4],
        velocities: wp.array[vec3],
        totals_out: wp.array[Totals],
    ):
        slot = wp.tid()
        sums = Totals()
        gravity = model.parameters[0].gravity
        i = slot
        while i < model.mass_count:
            own = positions[i]
            speed = velocities[i]
            m = masses[i]
            if wp.static(varied):
                world = world_of(i, model)
                gravity = work.pulls[world]
                m = m * wp.float64(work.scales[world][3])
            x = wp.vec3d(wp.float64(own[0]), wp.float64(own[1]), wp.float64(own[2]))
            v = wp.vec3d(wp.float64(speed[0]), wp.float64(speed[1]), wp.float64(speed[2]))
            g = wp.vec3d(wp.float64(gravity[0]), wp.float64(gravity[1]), wp.float64(gravity[2]))
            spin = wp.cross(x, v)
            sums[0] = sums[0] + m
            for c in range(3):
                sums[1 + c] = sums[1 + c] + m * x[c]
                sums[4 + c] = sums[4 + c] + m * v[c]
                sums[7 + c] = sums[7 + c] + m * spin[c]
            sums[10] = sums[10] + elastic(i, model, work, positions)
            sums[11] = sums[11] + wp.float64(0.5) * m * wp.dot(v, v)
            sums[12] = sums[12] - m * wp.dot(g, x)
            i += wp.static(SLOTS)
        totals_out[slot] = sums

    return totals


@once
def speed_kernel(vec3: Any) -> wp.Kernel:
    """Speed of chosen masses."""

    @wp.kernel(module="unique", enable_backward=False)
    def speed(chosen: wp.array[wp.int32], velocities: wp.array[vec3], speed_out: wp.array[wp.float32]):
        i = wp.tid()
        speed_out[i] = wp.float32(wp.length(velocities[chosen[i]]))

    return speed


@once
def spring_strain_kernel(vec4: Any) -> wp.Kernel:
    """Strain of every spring against its passive rest length."""

    @wp.kernel(module="unique", enable_backward=False)
    def strain(
        springs: wp.array[wp.vec2i],
        rest_lengths: wp.array[wp.float32],
        positions: wp.array[vec4],
        strain_out: wp.array[wp.float32],
    ):
        s = wp.tid()
        pair = springs[s]
        d = positions[pair[1]] - positions[pair[0]]
        squared = d[0] * d[0] + d[1] * d[1] + d[2] * d[2]
        strain_out[s] = wp.float32(wp.sqrt(squared)) / rest_lengths[s] - 1.0

    return strain
