"""What sensors read of a group of masses: sums over its members in a fixed order."""

from typing import Any

import warp as wp

from annelid.core.kernels.loading import once
from annelid.core.kernels.sums import PARTS, Sums
from annelid.shapes.kernels.gaps import HEIGHTS
from annelid.shapes.kernels.moving import FREE, carried, moment_at, moved
from annelid.springs.kernels.dynamics import ease_of, push_of
from annelid.springs.kernels.layout import Layout
from annelid.springs.kernels.parameters import ground_of
from annelid.springs.kernels.surfaces import obstacle_gap, shaped_obstacle

wp.set_module_options({"enable_backward": False})


@once
def contact_kernel(types: Layout, kinds: tuple[int, ...], growing: bool, moving: bool) -> wp.Kernel:
    """Sum the push of obstacles on members of a group along their normals [N], and how many feel any, in each world.

    Of ground that resists it is all that it did in the last step, along surfaces as well. Where obstacles have heights,
    the parameters of worlds, if there are any, say what these are.
    """
    shaped = HEIGHTS in kinds
    real, vec3, vec4, Arrays = types.real, types.vec3, types.vec4, types.Arrays
    gap_of, shape, push_at = obstacle_gap(types, kinds), shaped_obstacle(types), push_of(types, growing)
    move, velocity_at, ease = moved(types.Obstacle, real), carried(real), ease_of(types, growing)

    @wp.func
    def value(i: int, model: Arrays, x: vec4, v: vec3, ground: vec3, sand: wp.array[vec3]) -> Sums:
        sums = Sums()
        if x[3] > real(0.0):  # what is fixed is held, whatever pushes
            for k in range(model.parameters[0].obstacle_count):
                obstacle = model.obstacles[k]
                if wp.static(shaped):
                    obstacle = shape(obstacle, ground)
                near = v  # as the obstacle sees it
                if wp.static(moving):
                    if obstacle.track[1] != 0:
                        motions = model.motions
                        begun = wp.int64(0)
                        world = wp.min(i // model.masses_a_world, model.world_count - 1)
                        if motions.begun.shape[0] > 0:
                            begun = motions.begun[world]
                        now = wp.float64(motions.clock[0])
                        moment = moment_at(motions, obstacle.track, now, begun, world, model.parameters[0].dt)
                        obstacle = move(obstacle, moment)
                        if obstacle.track[1] == wp.static(FREE):
                            obstacle = ease(obstacle, moment, x[3])
                        near = v - velocity_at(moment, vec3(x[0], x[1], x[2]))
                found = gap_of(model.grid_values, obstacle, vec3(x[0], x[1], x[2]))
                if found[3] < real(0.0):
                    normal = vec3(found[0], found[1], found[2])
                    stiffness = wp.where(obstacle.per_mass, obstacle.stiffness / x[3], obstacle.stiffness)
                    dashpot = real(2.0) * obstacle.dashpot * wp.sqrt(stiffness / x[3])
                    push = wp.max(-found[3] * stiffness - dashpot * wp.dot(normal, near), real(0.0))
                    if wp.static(growing):
                        push = push_at(obstacle, found[3], wp.dot(normal, near), x[3]) / x[3]
                    for axis in range(3):
                        sums[axis] = sums[axis] + wp.float64(push * normal[axis])
                    sums[3] = wp.float64(1.0)
        if i < sand.shape[0]:
            if wp.length_sq(sand[i]) > real(0.0):
                for axis in range(3):
                    sums[axis] = sums[axis] + wp.float64(sand[i][axis])
                sums[3] = wp.float64(1.0)
        return sums

    @wp.kernel(module="unique", enable_backward=False)
    def add(
        members: wp.array[wp.int32],
        model: Arrays,
        parameters: wp.array[wp.float64],  # of worlds; empty where they do not differ
        positions: wp.array[vec4],
        velocities: wp.array[vec3],
        sand: wp.array[vec3],  # what ground that resists did to each mass in the last step [N]; may be empty
        sums_out: wp.array2d[Sums],
    ):
        world, part = wp.tid()
        ground = vec3(real(1.0), real(0.0), real(0.0))
        if wp.static(shaped):
            if parameters.shape[0] > 0:
                own = ground_of(parameters, world * (parameters.shape[0] // model.world_count))
                ground = vec3(real(own[0]), real(own[1]), real(own[2]))
        total = Sums()
        for k in range(part, members.shape[0], wp.static(PARTS)):
            i = world * model.masses_a_world + members[k]
            total += value(i, model, positions[i], velocities[i], ground, sand)
        sums_out[world, part] = total

    return add


@once
def strain_kernel(vec4: Any, marked: bool) -> wp.Kernel:
    """Strain of springs against their passive rest lengths, and how many there are, in each world.

    Springs that were removed have negative masses. Where they are `marked`, a bit of the first mass tells those that
    have broken; a negative place has none.
    """

    @wp.kernel(module="unique", enable_backward=False)
    def strain(
        springs: wp.array[wp.vec2i],
        lengths: wp.array[wp.float64],
        places: wp.array[wp.int32],
        masses: int,
        positions: wp.array[vec4],
        broken: wp.array[wp.uint64],
        sums_out: wp.array2d[Sums],
    ):
        world, part = wp.tid()
        total = Sums()
        for s in range(part, springs.shape[0], wp.static(PARTS)):
            there = springs[s][0] >= 0
            if wp.static(marked):
                if there and places[s] >= 0:
                    bits = broken[world * masses + springs[s][0]] >> wp.uint64(places[s])
                    there = (bits & wp.uint64(1)) == wp.uint64(0)
            if there:
                a = positions[world * masses + springs[s][0]]
                b = positions[world * masses + springs[s][1]]
                d = wp.vec3d(wp.float64(b[0] - a[0]), wp.float64(b[1] - a[1]), wp.float64(b[2] - a[2]))
                total[0] = total[0] + wp.length(d) / lengths[s] - wp.float64(1.0)
                total[1] = total[1] + wp.float64(1.0)
        sums_out[world, part] = total

    return strain
