"""Many steps in one launch: a team of CPU threads, or a block of CUDA threads for each world; large ones take the GPU.

A step is two passes with a barrier between them: links, then voxels, each of which touches only what is its own. Where
voxels touch each other, lists of who may are made before, when that is due.
"""

from typing import Any

import warp as wp

from annelid.core.kernels.loading import once
from annelid.core.launch import team_barrier, team_range
from annelid.voxels3d.kernels.bodies import body_pass, sum_pass
from annelid.voxels3d.kernels.bonds import bond_pass
from annelid.voxels3d.kernels.collisions import collision_pass, file_pass, list_pass, watch_pass
from annelid.voxels3d.kernels.contacts import Moves
from annelid.voxels3d.kernels.fused import SEPARATE
from annelid.voxels3d.kernels.lanes import link_lanes
from annelid.voxels3d.kernels.layout import layout
from annelid.voxels3d.kernels.links import link_pass, tension_pass
from annelid.voxels3d.kernels.motion import size_of, voxel_pass

wp.set_module_options({"enable_backward": False})

FUSED = {
    "cpu_compiler_flags": f"{wp.config.cpu_compiler_flags or '-march=native'} -ffp-contract=fast -fno-signed-zeros"
}
"""Products and sums in one instruction: a quarter faster, and rounded once instead of twice."""

BLOCK = 256
"""Threads of a CUDA block at most: with more, each would have fewer registers than a link needs."""

_GRAIN = 16  # voxels: what two threads write does not share a line of the cache for long


@wp.func_native("""
#if defined(__CUDA_ARCH__)
    __syncthreads();
#endif
""")
def block_barrier():
    """Wait for all threads of a block."""


@once
def team_kernel(real: Any, kinds: tuple[int, ...], moves: Moves) -> wp.Kernel:
    """Steps on a team of CPU threads, to which whole worlds are dealt, or which share all voxels."""
    types = layout(real)
    Tables, Motion = types.Tables, types.Motion
    links_of, move, resize = link_lanes(real), voxel_pass(real, kinds, moves=moves), size_of(real)
    watch, file, list_partners, collide = watch_pass(real), file_pass(real), list_pass(real), collision_pass(real)
    bonds_of, tensions_of = bond_pass(real), tension_pass(real)
    sum_of, fly, free = sum_pass(real), body_pass(real, kinds), moves[1]

    @wp.kernel(module="unique", enable_backward=False, module_options=FUSED)
    def team(
        rank: int,
        size: int,
        counter: wp.array[wp.int32],
        steps: int,
        divided: int,  # 1: voxels are divided among the members, 0: worlds are
        tables: Tables,
        motion: Motion,
    ):
        first = motion.clock[0]
        worlds = tables.begins.shape[0] - 1
        if divided == 0:
            for world in range(rank, worlds, size):
                low, high = tables.begins[world], tables.begins[world + 1]
                if tables.touching == 1:
                    watch(low, high, 1, tables, motion)
                for step in range(steps):
                    now = first + wp.int64(step)
                    if step == 0 or tables.actuated == 1:
                        resize(low, high, 1, now, tables, motion)
                    if tables.special == 1:
                        tensions_of(low, high, 1, tables, motion)
                    links_of(low, high, tables, motion)
                    if tables.bonded == 1:
                        bonds_of(low, high, 1, now, tables, motion)
                    if tables.touching == 1:
                        if motion.moved[world] == 1:
                            file(world, tables, motion)
                            list_partners(low, high, 1, tables, motion)
                            motion.moved[world] = 0
                        collide(low, high, 1, tables, motion)
                    move(low, high, 1, now, tables, motion)
                    if wp.static(free):
                        for group in range(tables.free[0].groups):
                            sum_of(world, group, tables)
                        fly(world, now, tables, motion)
                    if tables.touching == 1:
                        watch(low, high, 1, tables, motion)
        else:
            share = team_range(rank, size, tables.begins[worlds], wp.static(_GRAIN))
            ticket = int(0)
            if tables.touching == 1:
                watch(share[0], share[1], 1, tables, motion)
                ticket += 1
                team_barrier(counter, size, ticket)
            for step in range(steps):
                now = first + wp.int64(step)
                if step == 0 or tables.actuated == 1:
                    resize(share[0], share[1], 1, now, tables, motion)
                    ticket += 1
                    team_barrier(counter, size, ticket)
                if tables.special == 1:
                    tensions_of(share[0], share[1], 1, tables, motion)
                links_of(share[0], share[1], tables, motion)
                if tables.bonded == 1:
                    bonds_of(share[0], share[1], 1, now, tables, motion)
                if tables.touching == 1:
                    due = int(0)
                    for world in range(worlds):
                        due = wp.max(due, motion.moved[world])
                    if due == 1:
                        for world in range(rank, worlds, size):
                            file(world, tables, motion)
                        ticket += 1
                        team_barrier(counter, size, ticket)
                        for world in range(rank, worlds, size):
                            motion.moved[world] = 0
                        list_partners(share[0], share[1], 1, tables, motion)
                    collide(share[0], share[1], 1, tables, motion)
                ticket += 1
                team_barrier(counter, size, ticket)
                move(share[0], share[1], 1, now, tables, motion)
                if tables.touching == 1:
                    watch(share[0], share[1], 1, tables, motion)
                ticket += 1
                team_barrier(counter, size, ticket)
                if wp.static(free):
                    groups = tables.free[0].groups
                    some = team_range(rank, size, worlds * groups, 1)
                    for item in range(some[0], some[1]):
                        sum_of(item // groups, item % groups, tables)
                    team_barrier(counter, size, ticket + 1)
                    for world in range(rank, worlds, size):
                        fly(world, now, tables, motion)
                    ticket += 2
                    team_barrier(counter, size, ticket)

    return team


@once
def block_kernel(real: Any, kinds: tuple[int, ...], moves: Moves, meets: bool, plain: bool) -> wp.Kernel:
    """Steps on CUDA, a block of `width` threads for each world.

    Args:
        real: Type of numbers.
        kinds: Kinds of obstacles that are compiled.
        moves: Whether some of them move, and whether some of these are free.
        meets: Whether voxels touch each other or have bonds; code for it takes registers from those that do not.
        plain: Whether all links are linear, without a Poisson's ratio, and nothing but gravity and obstacles acts from
            outside. The rest takes 192 registers instead of 124: one robot fewer of three on a multiprocessor.
    """
    types = layout(real)
    Tables, Motion = types.Tables, types.Motion
    links_of, move, resize = link_pass(real, plain), voxel_pass(real, kinds, plain, moves), size_of(real)
    watch, file, list_partners, collide = watch_pass(real), file_pass(real), list_pass(real), collision_pass(real)
    bonds_of, tensions_of = bond_pass(real), tension_pass(real)
    sum_of, fly, free = sum_pass(real), body_pass(real, kinds), moves[1]

    @wp.kernel(module="unique", enable_backward=False, grid_stride=False, launch_bounds=BLOCK, module_options=SEPARATE)
    def blocks(width: int, steps: int, tables: Tables, motion: Motion):
        world = wp.tid() // width
        lane = wp.tid() - world * width
        first = motion.clock[0]
        low, high = tables.begins[world], tables.begins[world + 1]
        if wp.static(meets) and tables.touching == 1:
            watch(low + lane, high, width, tables, motion)
            block_barrier()
        for step in range(steps):
            now = first + wp.int64(step)
            if step == 0 or tables.actuated == 1:
                resize(low + lane, high, width, now, tables, motion)
                block_barrier()
            if wp.static(not plain) and tables.special == 1:
                tensions_of(low + lane, high, width, tables, motion)
            links_of(low + lane, high, width, tables, motion)
            if wp.static(meets) and tables.bonded == 1:
                bonds_of(low + lane, high, width, now, tables, motion)
            if wp.static(meets) and tables.touching == 1:
                if motion.moved[world] == 1:
                    if lane == 0:
                        file(world, tables, motion)
                    block_barrier()
                    if lane == 0:
                        motion.moved[world] = 0
                    list_partners(low + lane, high, width, tables, motion)
                collide(low + lane, high, width, tables, motion)
            block_barrier()
            move(low + lane, high, width, now, tables, motion)
            if wp.static(meets) and tables.touching == 1:
                watch(low + lane, high, width, tables, motion)
            block_barrier()
            if wp.static(free):
                for group in range(lane, tables.free[0].groups, width):
                    sum_of(world, group, tables)
                block_barrier()
                if lane == 0:
                    fly(world, now, tables, motion)
                block_barrier()

    return blocks


@once
def grid_kernels(
    real: Any, kinds: tuple[int, ...], moves: Moves, plain: bool
) -> tuple[wp.Kernel, wp.Kernel, wp.Kernel, wp.Kernel, wp.Kernel]:
    """One step of all voxels, a thread each (CUDA): sizes, links, motion, then free bodies; see `block_kernel`.

    To the bit what that does: in both, products and sums are fused only by hand.
    """
    types = layout(real)
    Tables, Motion = types.Tables, types.Motion
    links_of, move, resize = link_pass(real, plain), voxel_pass(real, kinds, plain, moves), size_of(real)
    bonds_of, tensions_of = bond_pass(real), tension_pass(real)
    sum_of, fly = sum_pass(real), body_pass(real, kinds)

    @wp.kernel(module="unique", enable_backward=False, module_options=SEPARATE)
    def resize_voxels(step: int, tables: Tables, motion: Motion):
        i = wp.tid()
        resize(i, i + 1, 1, motion.clock[0] + wp.int64(step), tables, motion)

    @wp.kernel(module="unique", enable_backward=False, module_options=SEPARATE)
    def load_links(step: int, tables: Tables, motion: Motion):
        i = wp.tid()
        if wp.static(not plain) and tables.special == 1:
            tensions_of(i, i + 1, 1, tables, motion)
        links_of(i, i + 1, 1, tables, motion)
        if tables.bonded == 1:
            bonds_of(i, i + 1, 1, motion.clock[0] + wp.int64(step), tables, motion)

    @wp.kernel(module="unique", enable_backward=False, module_options=SEPARATE)
    def move_voxels(step: int, tables: Tables, motion: Motion):
        i = wp.tid()
        move(i, i + 1, 1, motion.clock[0] + wp.int64(step), tables, motion)

    @wp.kernel(module="unique", enable_backward=False, module_options=SEPARATE)
    def sum_groups(tables: Tables):
        world, group = wp.tid()
        sum_of(world, group, tables)

    @wp.kernel(module="unique", enable_backward=False, module_options=SEPARATE)
    def fly_bodies(step: int, tables: Tables, motion: Motion):
        fly(wp.tid(), motion.clock[0] + wp.int64(step), tables, motion)

    return resize_voxels, load_links, move_voxels, sum_groups, fly_bodies
