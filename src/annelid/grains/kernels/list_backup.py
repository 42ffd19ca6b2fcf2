"""Copies of grains and of their lists, made before grains change places and lists are made anew."""

import warp as wp

from annelid.grains.kernels.layout import Grains, Lists
from annelid.grains.kernels.rows import FORGET, PLACES

wp.set_module_options({"enable_backward": False})


@wp.func
def keep_grain(i: int, materials: int, guests: int, grains: Grains, old_out: Grains):
    """Copy a grain, before grains change places."""
    old_out.positions[i] = grains.positions[i]
    old_out.velocities[i] = grains.velocities[i]
    old_out.spins[i] = grains.spins[i]
    old_out.forecast[i] = grains.forecast[i]
    old_out.turning[i] = grains.turning[i]
    old_out.names[i] = grains.names[i]
    if materials == 1:
        old_out.surfaces[i] = grains.surfaces[i]
    if guests == 1:
        old_out.facets[i] = grains.facets[i]


@wp.func_native(
    PLACES
    + """
    struct alignas(16) Four { int numbers[4]; };  // lists are whole groups of neighbours
    #define COPY(name, at) \\
        { const size_t here = at; *(Four*)(kept.name.data + here) = *(const Four*)(lists.name.data + here); }
    for (int k = 4 * lane; k < count; k += 4 * lanes) {
        COPY(neighbours, AT(lists, i, k))
        for (int c = 0; c < 3; ++c) COPY(impulses, WIDE_AT(lists, i, k, c))
        if (rolling) for (int c = 0; c < 3; ++c) COPY(rollings, WIDE_AT(lists, i, k, c))
    }
    #undef COPY
"""
    + FORGET
)
def keep_row(i: int, count: int, lane: int, lanes: int, rolling: int, lists: Lists, kept: Lists) -> None:
    """Copy a share of a list of neighbours."""


@wp.func
def keep_list(i: int, lane: int, lanes: int, rolling: int, lists: Lists, kept_out: Lists):
    """Copy a share of the lists of a grain: threads that share a row read and write memory side by side."""
    count = lists.counts[i]
    if lane == 0:
        kept_out.counts[i] = count
    keep_row(i, count[0], lane, lanes, rolling, lists, kept_out)
    for k in range(lane, count[1], lanes):
        at = i * lists.body_places + k
        kept_out.bodies[at] = lists.bodies[at]
        kept_out.body_predicted[at] = lists.body_predicted[at]
        if rolling == 1:
            kept_out.body_rollings[at] = lists.body_rollings[at]


@wp.func
def hand_back(i: int, grains: Grains, grains_out: Grains):
    """Copy what a sweep has changed of a grain."""
    grains_out.positions[i] = grains.positions[i]
    grains_out.forecast[i] = grains.forecast[i]
    grains_out.turning[i] = grains.turning[i]
