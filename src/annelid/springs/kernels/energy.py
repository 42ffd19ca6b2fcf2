"""Energies of masses and of the springs around them."""

import functools

import warp as wp

from annelid.core.kernels.energy import ELASTIC, GRAVITATIONAL, KINETIC
from annelid.core.kernels.sums import PARTS, Sums
from annelid.springs.kernels.layout import layout
from annelid.springs.kernels.program import Features

wp.set_module_options({"enable_backward": False})


@functools.cache
def energy_kernel(features: Features) -> wp.Kernel:
    """Sum the energies of the members of a group, world by world; a spring counts half at each of its masses."""
    types = layout(features.real)
    vec3, vec4, Arrays, Work = types.vec3, types.vec4, types.Arrays, types.Work
    actuated, worlds, varied = features.actuated, features.worlds, features.varied

    @wp.kernel(module="unique", enable_backward=False)
    def energies(
        members: wp.array[wp.int32],
        masses: wp.array[wp.float64],
        model: Arrays,
        work: Work,
        positions: wp.array[vec4],
        velocities: wp.array[vec3],
        sums_out: wp.array2d[Sums],
    ):
        world, part = wp.tid()
        total = Sums()
        gravity = model.parameters[0].gravity
        stiffer, heavier = wp.float64(1.0), wp.float64(1.0)
        if wp.static(varied):
            gravity = work.pulls[world]
            stiffer, heavier = wp.float64(work.scales[world][0]), wp.float64(work.scales[world][3])
        g = wp.vec3d(wp.float64(gravity[0]), wp.float64(gravity[1]), wp.float64(gravity[2]))
        base = int(0)
        if wp.static(worlds):
            base = world * model.signal_count
        for k in range(part, members.shape[0], wp.static(PARTS)):
            i = world * model.masses_a_world + members[k]
            mass = heavier * masses[k]
            own = positions[i]
            speed = velocities[i]
            x = wp.vec3d(wp.float64(own[0]), wp.float64(own[1]), wp.float64(own[2]))
            v = wp.vec3d(wp.float64(speed[0]), wp.float64(speed[1]), wp.float64(speed[2]))
            row = model.rows[model.row_of[i]]
            elastic = wp.float64(0.0)
            for s in range(row[1]):
                entry = row[0] + s * model.stride
                near = positions[i + model.offsets[entry]]
                d = wp.vec3d(wp.float64(near[0]), wp.float64(near[1]), wp.float64(near[2])) - x
                spring = model.elastic[entry]
                pull = wp.float64(spring[1])
                if wp.static(actuated):
                    pull = pull * wp.float64(work.factors[base + model.signals[entry]])
                stiffness = wp.max(wp.float64(spring[0]), wp.float64(1.0e-300))
                stretch = wp.length(d) - pull / stiffness
                elastic += wp.float64(0.25) * stiffness * stretch * stretch
            total[wp.static(KINETIC)] = total[wp.static(KINETIC)] + wp.float64(0.5) * mass * wp.dot(v, v)
            total[wp.static(ELASTIC)] = total[wp.static(ELASTIC)] + stiffer * elastic
            total[wp.static(GRAVITATIONAL)] = total[wp.static(GRAVITATIONAL)] - mass * wp.dot(g, x)
        sums_out[world, part] = total

    return energies
