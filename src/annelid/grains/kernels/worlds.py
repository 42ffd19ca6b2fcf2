"""Worlds side by side: those that begin again, and whose lists are looked at when."""

import warp as wp

from annelid.grains.kernels.layout import FLAGS, STALE, Lists

wp.set_module_options({"enable_backward": False})


@wp.kernel
def make_stale(
    mask: wp.array[wp.bool],
    # State out:
    flags_out: wp.array[wp.int32],
):
    """The lists of worlds that begin again must be made."""
    world = wp.tid()
    if mask[world]:
        flags_out[wp.static(FLAGS) + world] = 1
        flags_out[wp.static(STALE)] = 1


@wp.kernel
def call_worlds(step: int, patience: int, begun: wp.array[wp.int64], lists: Lists):
    """Of the worlds whose lists are stale, call those whose turn it is: every few steps from their own beginning.

    Others wait, marked by 2. A world that began later is so looked at in the same steps of its own as one alone.
    """
    world = wp.tid()
    if lists.flags[wp.static(FLAGS) + world] == 0:
        return
    age = lists.clock[0] + wp.int64(step) - begun[world]
    if age % wp.int64(patience) == wp.int64(0):
        lists.flags[wp.static(FLAGS) + world] = 1
        lists.flags[wp.static(STALE)] = 1
    else:
        lists.flags[wp.static(FLAGS) + world] = 2


@wp.kernel
def place_bodies(
    mask: wp.array[wp.bool],
    first: int,  # number of the body in the first world
    each: int,  # bodies of a world
    axes: wp.quat,  # from its frame to that of the kernels
    places: wp.array[wp.vec3],
    turns: wp.array[wp.quat],
    # State out:
    places_out: wp.array[wp.vec3],
    turns_out: wp.array[wp.quat],
    travel_out: wp.array[wp.float32],
):
    """Put a body of masked worlds somewhere else, from where nothing is known of what is near."""
    world = wp.tid()
    if mask[world]:
        b = first + world * each
        places_out[b] = places[world]
        turns_out[b] = turns[world] * axes
        travel_out[b] = 0.0
