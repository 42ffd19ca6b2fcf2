"""A step of the free bodies that masses touch: by a team of CPU threads, or as launches after a pass."""

from typing import Any

import warp as wp

from annelid.core.kernels.loading import once
from annelid.core.launch import team_barrier, team_range
from annelid.shapes.kernels.free_bodies import fly_bodies, sum_group
from annelid.springs.kernels.layout import layout

wp.set_module_options({"enable_backward": False})


@once
def _sum_masses(real: Any) -> wp.Function:
    Arrays = layout(real).Arrays

    @wp.func
    def sum_masses(item: int, model: Arrays):
        groups = model.free[0].groups
        world = item // groups
        first, last = world * model.masses_a_world, (world + 1) * model.masses_a_world
        if world == model.world_count - 1:
            last = model.mass_count
        sum_group(world, item - world * groups, first, last, model.free[0])

    return sum_masses


@once
def _fly(real: Any, kinds: tuple[int, ...], worlds: bool, varied: bool, shaped: bool) -> wp.Function:
    types = layout(real)
    Arrays, Work, vec3, fly_all = types.Arrays, types.Work, types.vec3, fly_bodies(kinds)

    @wp.func
    def fly(world: int, step: wp.int64, model: Arrays, work: Work):
        gravity = model.parameters[0].gravity
        rough, ground, begun = real(1.0), vec3(real(1.0), real(0.0), real(0.0)), wp.int64(0)
        if wp.static(varied):
            gravity = work.pulls[world]
            rough = work.scales[world][2]
        if wp.static(shaped):
            ground = work.grounds[world]
        if wp.static(worlds):
            begun = work.begun[world]
        pull = wp.vec3d(wp.float64(gravity[0]), wp.float64(gravity[1]), wp.float64(gravity[2]))
        heights = wp.vec3d(wp.float64(ground[0]), wp.float64(ground[1]), wp.float64(ground[2]))
        dt = model.parameters[0].dt
        now = wp.float64(step)
        good = fly_all(world, now, begun, dt, pull, wp.float64(rough), heights, model.free[0], model.motions)
        if not good and work.trouble[0] < wp.int64(0):
            work.trouble[0] = step + wp.int64(1)

    return fly


@once
def bodies_team(real: Any, kinds: tuple[int, ...], worlds: bool, varied: bool, shaped: bool) -> wp.Function:
    """What a team does with free bodies after a pass; the new ticket."""
    types = layout(real)
    Arrays, Work = types.Arrays, types.Work
    sum_masses, fly = _sum_masses(real), _fly(real, kinds, worlds, varied, shaped)

    @wp.func(inline=False)
    def bodies(
        rank: int, size: int, counter: wp.array[wp.int32], ticket: int, step: wp.int64, model: Arrays, work: Work
    ) -> int:  # fmt: skip
        share = team_range(rank, size, model.world_count * model.free[0].groups, 1)
        for item in range(share[0], share[1]):
            sum_masses(item, model)
        team_barrier(counter, size, ticket + 1)
        for world in range(rank, model.world_count, size):
            fly(world, step, model, work)
        team_barrier(counter, size, ticket + 2)
        return ticket + 2

    return bodies


@once
def bodies_kernels(
    real: Any, kinds: tuple[int, ...], worlds: bool, varied: bool, shaped: bool
) -> tuple[wp.Kernel, wp.Kernel]:
    """The same in two launches: for each group of masses, and for each world."""
    types = layout(real)
    Arrays, Work = types.Arrays, types.Work
    sum_masses, fly = _sum_masses(real), _fly(real, kinds, worlds, varied, shaped)

    @wp.kernel(module="unique", enable_backward=False)
    def sum_all(model: Arrays):
        sum_masses(wp.tid(), model)

    @wp.kernel(module="unique", enable_backward=False)
    def fly_all(model: Arrays, work: Work, step: int):
        fly(wp.tid(), work.clock[0] + wp.int64(step), model, work)

    return sum_all, fly_all
