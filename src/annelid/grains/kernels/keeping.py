"""Copies of grains and of their lists, made before grains change places and lists are made anew."""

import warp as wp

from annelid.grains.kernels.layout import Grains, Lists

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
    """
    struct alignas(16) Four { int numbers[4]; };  // lists are whole groups of neighbours
    const size_t row = (size_t)i * lists.places;
    #define COPY(name, first, fours) \\
        for (int k = lane; k < fours; k += lanes) \\
            ((Four*)(kept.name.data + first))[k] = ((const Four*)(lists.name.data + first))[k];
    COPY(neighbours, row, count / 4)
    COPY(impulses, 3 * row, 3 * count / 4)
    if (rolling) COPY(rollings, 3 * row, 3 * count / 4)
    #undef COPY
"""
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
