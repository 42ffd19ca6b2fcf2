"""Energies of masses and of the springs around them."""

import warp as wp

from annelid.core.kernels.energy import ELASTIC, energies_of
from annelid.core.kernels.loading import once
from annelid.core.kernels.sums import PARTS, Sums
from annelid.springs.kernels.layout import layout
from annelid.springs.kernels.program import Features, mass_world

wp.set_module_options({"enable_backward": False})


@once
def elastic_energy(features: Features) -> wp.Function:
    """A function `(i, model, work, positions) -> energy [J]` of the unbroken springs of mass i, half of each."""
    types = layout(features.real)
    vec4, Arrays, Work = types.vec4, types.Arrays, types.Work
    actuated, breaking, varied = features.actuated, features.breaking, features.varied
    world_of = mass_world(features)

    @wp.func
    def energy(i: int, model: Arrays, work: Work, positions: wp.array[vec4]) -> wp.float64:
        own = positions[i]
        x = wp.vec3d(wp.float64(own[0]), wp.float64(own[1]), wp.float64(own[2]))
        row = model.rows[model.row_of[i]]
        base = world_of(i, model) * model.signal_count
        total = wp.float64(0.0)
        for s in range(row[1]):
            if wp.static(breaking):
                if ((work.broken[i] >> wp.uint64(s)) & wp.uint64(1)) != wp.uint64(0):
                    continue
            entry = row[0] + s * model.stride
            near = positions[i + model.offsets[entry]]
            d = wp.vec3d(wp.float64(near[0]), wp.float64(near[1]), wp.float64(near[2])) - x
            spring = model.elastic[entry]
            pull = wp.float64(spring[1])
            if wp.static(actuated):
                pull = pull * wp.float64(work.factors[base + model.signals[entry]])
            k = wp.max(wp.float64(spring[0]), wp.float64(1.0e-300))
            stretch = wp.length(d) - pull / k
            total += wp.float64(0.25) * k * stretch * stretch  # half of ½ k s²: the other mass has the rest
        if wp.static(varied):
            total = total * wp.float64(work.scales[world_of(i, model)][0])
        return total

    return energy


@once
def energy_kernel(features: Features) -> wp.Kernel:
    """Sum the energies of the members of a group, world by world; a spring counts half at each of its masses."""
    types = layout(features.real)
    vec3, vec4, Arrays, Work = types.vec3, types.vec4, types.Arrays, types.Work
    varied, elastic = features.varied, elastic_energy(features)

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
        heavier = wp.float64(1.0)
        if wp.static(varied):
            gravity = work.pulls[world]
            heavier = wp.float64(work.scales[world][3])
        g = wp.vec3d(wp.float64(gravity[0]), wp.float64(gravity[1]), wp.float64(gravity[2]))
        for k in range(part, members.shape[0], wp.static(PARTS)):
            i = world * model.masses_a_world + members[k]
            mass = heavier * masses[k]
            own = positions[i]
            speed = velocities[i]
            x = wp.vec3d(wp.float64(own[0]), wp.float64(own[1]), wp.float64(own[2]))
            v = wp.vec3d(wp.float64(speed[0]), wp.float64(speed[1]), wp.float64(speed[2]))
            total += energies_of(mass, wp.float64(0.0), g, x, v)
            total[wp.static(ELASTIC)] = total[wp.static(ELASTIC)] + elastic(i, model, work, positions)
        sums_out[world, part] = total

    return energies
