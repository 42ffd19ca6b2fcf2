"""Energies of the bodies and voxels of a world, one thread a world."""

import warp as wp

from annelid.core.kernels.energy import ELASTIC, GRAVITATIONAL, KINETIC, ROTATIONAL
from annelid.core.kernels.loading import once
from annelid.core.kernels.sums import Sums
from annelid.voxels.kernels.layout import layout
from annelid.voxels.kernels.parameters import COLUMNS

wp.set_module_options({"enable_backward": False})


@once
def energy_kernel(real: type) -> wp.Kernel:
    """Sums of the energies of bodies, and of the springs of voxels, which are given."""
    vec4 = layout(real).vec4
    columns = {name: COLUMNS.index(name) for name in COLUMNS}

    @wp.kernel(module="unique", enable_backward=False)
    def energies(
        gravity: wp.float64,  # along z [m/s²]
        body_begins: wp.array[wp.int32],  # first body of each world in the list, and one past the last
        bodies: wp.array[wp.int32],
        weights: wp.array[wp.vec2d],  # mass [kg] and inertia [kg m²] of each of them
        voxel_begins: wp.array[wp.int32],
        voxels: wp.array[wp.int32],
        elastic: wp.array[wp.float64],  # energy of each voxel [J]
        values: wp.array[wp.float64],  # parameters of worlds; empty where they are alike
        positions: wp.array[vec4],
        velocities: wp.array[vec4],
        sums_out: wp.array2d[Sums],
    ):
        world = wp.tid()
        total = Sums()
        across, down = wp.float64(0.0), gravity
        heavier, stiffer = wp.float64(1.0), wp.float64(1.0)
        if values.shape[0] > 0:
            first = world * (values.shape[0] // sums_out.shape[0])
            slope = values[first + wp.static(columns["slope_x"])]
            down = gravity * values[first + wp.static(columns["gravity"])]
            across = wp.sin(slope) * down + values[first + wp.static(columns["push_x"])]
            down = wp.cos(slope) * down + values[first + wp.static(columns["push_z"])]
            heavier = values[first + wp.static(columns["mass"])]
            stiffer = values[first + wp.static(columns["stiffness"])]
        for k in range(body_begins[world], body_begins[world + 1]):
            p, v = wp.vec4d(positions[bodies[k]]), wp.vec4d(velocities[bodies[k]])
            mass, inertia = heavier * weights[k][0], heavier * weights[k][1]
            rotational = wp.float64(0.5) * inertia * v[2] * v[2]
            moving = wp.float64(0.5) * mass * (v[0] * v[0] + v[1] * v[1])
            fall = mass * (across * p[0] + down * p[1])
            total[wp.static(KINETIC)] = total[wp.static(KINETIC)] + moving + rotational
            total[wp.static(ROTATIONAL)] = total[wp.static(ROTATIONAL)] + rotational
            total[wp.static(GRAVITATIONAL)] = total[wp.static(GRAVITATIONAL)] - fall
        for k in range(voxel_begins[world], voxel_begins[world + 1]):
            total[wp.static(ELASTIC)] = total[wp.static(ELASTIC)] + stiffer * elastic[voxels[k]]
        sums_out[world, 0] = total

    return energies
