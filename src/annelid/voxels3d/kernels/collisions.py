"""Contact of surface voxels with each other: spheres that push along the line between their centres.

Whom a voxel may touch stands in a list, lowest number first. Lists reach further than contacts do and are made anew
when a voxel has moved by half of what they reach further. Who is listed without touching does not change a bit, so
results do not depend on when that was. Pairs come from a hash of cells; who does not fit into a list is sought there.
"""

from typing import Any

import warp as wp

from annelid.core.kernels.loading import once
from annelid.voxels3d.kernels.layout import LISTED, layout

wp.set_module_options({"enable_backward": False})

_ENVELOPE = 0.625
"""Radius of the sphere of a voxel, as a part of its size."""


@once
def watch_pass(real: Any) -> wp.Function:
    """Ask for new lists in worlds where a voxel has moved far since they were made."""
    types = layout(real)
    Tables, Motion = types.Tables, types.Motion

    @wp.func
    def watch(first: int, last: int, stride: int, tables: Tables, motion: Motion):
        for i in range(first, last, stride):
            if tables.skin[i] == 1:
                u = motion.displacements[i]
                away = tables.places[i] + wp.vec3d(wp.float64(u[0]), wp.float64(u[1]), wp.float64(u[2]))
                away -= motion.anchors[i]
                if wp.dot(away, away) > tables.margin * tables.margin:
                    motion.moved[tables.world_of[i]] = 1

    return watch


@wp.func
def cell_of(place: wp.vec3d, side: wp.float64) -> wp.vec3i:
    """The cell that a place is in."""
    return wp.vec3i(int(wp.floor(place[0] / side)), int(wp.floor(place[1] / side)), int(wp.floor(place[2] / side)))


@wp.func
def bucket_of(cell: wp.vec3i, first: int, count: int) -> int:
    """Where the voxels of a cell begin among those of its world."""
    x, y, z = wp.int64(cell[0]), wp.int64(cell[1]), wp.int64(cell[2])
    mixed = (x * wp.int64(73856093)) ^ (y * wp.int64(19349663)) ^ (z * wp.int64(83492791))
    return first + int((mixed & wp.int64(0x7FFFFFFF)) % wp.int64(count))


@once
def file_pass(real: Any) -> wp.Function:
    """Put all surface voxels of a world into cells, one after the other."""
    types = layout(real)
    Tables, Motion = types.Tables, types.Motion

    @wp.func
    def file(world: int, tables: Tables, motion: Motion):
        low, high = tables.begins[world], tables.begins[world + 1]
        for i in range(low, high):
            motion.heads[i] = -1
        for i in range(low, high):
            if tables.skin[i] == 1:
                u = motion.displacements[i]
                place = tables.places[i] + wp.vec3d(wp.float64(u[0]), wp.float64(u[1]), wp.float64(u[2]))
                motion.anchors[i] = place
                bucket = bucket_of(cell_of(place, tables.reach), low, high - low)
                motion.chain[i] = motion.heads[bucket]
                motion.heads[bucket] = i

    return file


@once
def partner_search(real: Any) -> wp.Function:
    """The voxel after a given number that a voxel may touch, -1: none."""
    types = layout(real)
    Tables, Motion = types.Tables, types.Motion

    @wp.func
    def linked(i: int, j: int, tables: Tables) -> bool:
        """Whether few links lead from one voxel to another: such pairs never touch."""
        low, high = int(tables.near_begins[i]), int(tables.near_begins[i] + tables.near_counts[i])
        end = int(high)
        while low < high:
            middle = (low + high) // 2
            if tables.near[middle] < j - i:
                low = middle + 1
            else:
                high = middle
        return low < end and tables.near[wp.min(low, end - 1)] == j - i

    @wp.func
    def following(i: int, after: int, tables: Tables, motion: Motion) -> int:
        world = tables.world_of[i]
        first, count = tables.begins[world], tables.begins[world + 1] - tables.begins[world]
        here = motion.anchors[i]
        center = cell_of(here, tables.reach)
        found = int(-1)
        for k in range(27):
            cell = center + wp.vec3i(k % 3 - 1, (k // 3) % 3 - 1, k // 9 - 1)
            j = int(motion.heads[bucket_of(cell, first, count)])
            while j >= 0:
                if j > after and j != i and (found < 0 or j < found):
                    there = motion.anchors[j]
                    away = there - here
                    if wp.dot(away, away) < tables.reach * tables.reach:
                        if cell_of(there, tables.reach) == cell:
                            if not linked(i, j, tables):
                                found = j
                j = motion.chain[j]
        return found

    return following


@once
def list_pass(real: Any) -> wp.Function:
    """Lists of those whom some voxels may touch; -1 ends one that is not full."""
    types = layout(real)
    Tables, Motion = types.Tables, types.Motion
    following = partner_search(real)

    @wp.func
    def list_partners(first: int, last: int, stride: int, tables: Tables, motion: Motion):
        for i in range(first, last, stride):
            j = int(-1)
            if tables.skin[i] == 1:
                j = following(i, -1, tables, motion)
            motion.partners[wp.static(LISTED) * i] = j
            k = int(1)
            while j >= 0 and k < wp.static(LISTED):
                j = following(i, j, tables, motion)
                motion.partners[wp.static(LISTED) * i + k] = j
                k += 1

    return list_partners


@once
def collision_pass(real: Any) -> wp.Function:
    """Add what their contacts with each other do to voxels to the sums over their own links."""
    types = layout(real)
    vec3, Tables, Motion = types.vec3, types.Tables, types.Motion
    following = partner_search(real)

    @wp.func
    def push(i: int, j: int, tables: Tables, motion: Motion) -> vec3:
        """Force of one voxel on another."""
        moved = motion.displacements[j] - motion.displacements[i]
        d = tables.places[j] - tables.places[i]
        d += wp.vec3d(wp.float64(moved[0]), wp.float64(moved[1]), wp.float64(moved[2]))
        distance = wp.length(d)
        touch = tables.sides[i] * wp.float64(motion.sizes[i]) + tables.sides[j] * wp.float64(motion.sizes[j])
        overlap = real(wp.float64(wp.static(_ENVELOPE)) * touch - distance)
        if overlap <= real(0.0) or distance == wp.float64(0.0):
            return vec3()
        n = vec3(real(d[0] / distance), real(d[1] / distance), real(d[2] / distance))
        one, other = tables.voxels[tables.row_of_voxel[i]], tables.voxels[tables.row_of_voxel[j]]
        stiff = real(2.0) * one.press * other.press / (one.press + other.press)
        damp = real(0.5) * (one.press_damp + other.press_damp)
        closing = wp.dot(motion.velocities[i] - motion.velocities[j], n)
        return -(stiff * overlap + damp * closing) * n

    @wp.func
    def collide(first: int, last: int, stride: int, tables: Tables, motion: Motion):
        for i in range(first, last, stride):
            j = int(motion.partners[wp.static(LISTED) * i])
            if j >= 0:
                force = motion.forces[i]
                k = int(1)
                while j >= 0:
                    force += push(i, j, tables, motion)
                    if k < wp.static(LISTED):
                        j = motion.partners[wp.static(LISTED) * i + k]
                    else:
                        j = following(i, j, tables, motion)
                    k += 1
                motion.forces[i] = force

    return collide
