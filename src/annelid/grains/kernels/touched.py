"""What touches each body: places of the lists of grains that name it, body after body.

Where lists of some worlds were made, their bodies are looked up in them; what belongs to others is moved along.
"""

import warp as wp

from annelid.grains.kernels.allowances import body_lead, room_around
from annelid.grains.kernels.cells import block_scan
from annelid.grains.kernels.layout import FLAGS, HALTED, Bodies, Grains, Lists, Parameters
from annelid.shapes.kernels.gaps import PLANE

wp.set_module_options({"enable_backward": False})

SCAN_BLOCK = 1024
"""Threads that sum the counts of all bodies on CUDA."""

LANES = 32
"""Threads that look through a share of the rows together on CUDA: a warp."""


@wp.func
def is_looked_up(b: int, lists: Lists, bodies: Bodies) -> bool:
    """Whether the lists of a body's world say what touches it, since they were made; else it is known."""
    return lists.flags[wp.static(FLAGS) + bodies.forms[b].world] == 1 or bodies.unlisted[0] == 1


@wp.func
def share_of(low: int, high: int, chunk: int, chunks: int) -> wp.vec2i:
    """One of several shares of a range."""
    each = (high - low + chunks - 1) // chunks
    first = wp.min(low + chunk * each, high)
    return wp.vec2i(first, wp.min(first + each, high))


@wp.func
def row_share(b: int, chunk: int, chunks: int, lists: Lists, bodies: Bodies) -> wp.vec2i:
    """A share of the rows of a body's world; nothing for walls, whose forces nobody sums."""
    world = bodies.forms[b].world
    low = lists.first_of_world[world]
    high = lists.first_of_world[world + 1]
    if bodies.forms[b].geometry.kind == wp.static(PLANE):
        high = low
    return share_of(low, high, chunk, chunks)


@wp.func
def place_in_row(i: int, b: int, lists: Lists) -> int:
    """Where the list of grain i names body b, -1 where it does not."""
    place = int(-1)
    for k in range(lists.counts[i][1]):
        if lists.bodies[i * lists.body_places + k] == b:
            place = i * lists.body_places + k
    return place


@wp.func_native(
    """
#if defined(__CUDA_ARCH__)
    const unsigned found = __ballot_sync(0xffffffffu, here);
    return wp::vec_t<2, wp::int32>(__popc(found & ((1u << (threadIdx.x & 31)) - 1u)), __popc(found));
#else
    return wp::vec_t<2, wp::int32>(0, here ? 1 : 0);
#endif
"""
)
def counted_by_lanes(here: bool) -> wp.vec2i:
    """In how many lanes of a warp before this one, and in how many of all, something is here."""


@wp.func
def count_chunk(b: int, chunk: int, lane: int, lists: Lists, bodies: Bodies) -> int:
    """How many places of a share name body b, by the lanes of a warp; those that are known are set aside."""
    found = int(0)
    if is_looked_up(b, lists, bodies):
        rows = row_share(b, chunk, bodies.chunks, lists, bodies)
        for first in range(rows[0], rows[1], wp.static(LANES)):
            here = bool(False)
            if first + lane < rows[1]:
                here = place_in_row(first + lane, b, lists) >= 0
            found += counted_by_lanes(here)[1]
    else:
        known = share_of(bodies.touched_first[b], bodies.touched_first[b + 1], chunk, bodies.chunks)
        for at in range(known[0] + lane, known[1], wp.static(LANES)):
            bodies.touched_before[at] = bodies.touched[at]
        found = known[1] - known[0]
    if chunk == 0 and lane == 0:
        bodies.touched_first_before[b] = bodies.touched_first[b]
        bodies.touched_first_before[b + 1] = bodies.touched_first[b + 1]
    return found


@wp.func
def write_chunk(b: int, chunk: int, lane: int, place: int, lists: Lists, bodies: Bodies):
    """Note down those places, from `place` on."""
    at = place
    if is_looked_up(b, lists, bodies):
        rows = row_share(b, chunk, bodies.chunks, lists, bodies)
        for first in range(rows[0], rows[1], wp.static(LANES)):
            here = int(-1)
            if first + lane < rows[1]:
                here = place_in_row(first + lane, b, lists)
            counted = counted_by_lanes(here >= 0)
            if here >= 0:
                bodies.touched[at + counted[0]] = here
            at += counted[1]
    else:
        before = bodies.touched_first_before
        known = share_of(before[b], before[b + 1], chunk, bodies.chunks)
        for k in range(lane, known[1] - known[0], wp.static(LANES)):
            bodies.touched[at + k] = bodies.touched_before[known[0] + k]


@wp.func
def look_up(b: int, place: int, lists: Lists, bodies: Bodies) -> int:
    """Note down all places that name body b, from `place` on; where they end."""
    at = place
    rows = row_share(b, 0, 1, lists, bodies)
    for i in range(rows[0], rows[1]):
        found = place_in_row(i, b, lists)
        if found >= 0:
            bodies.touched[at] = found
            at += 1
    return at


@wp.func
def list_touched(parameters: Parameters, grains: Grains, lists: Lists, bodies: Bodies):
    """List, on one thread, what touches each body; what belongs to the bodies of a world is moved as a whole."""
    for b in range(bodies.count + 1):
        bodies.touched_first_before[b] = bodies.touched_first[b]
    for at in range(bodies.touched_first[bodies.count]):
        bodies.touched_before[at] = bodies.touched[at]
    place = int(0)
    for w in range(parameters.worlds):
        first = bodies.first_of_world[w]
        last = bodies.first_of_world[w + 1]
        made = lists.flags[wp.static(FLAGS) + w] == 1
        if made or bodies.unlisted[0] == 1:
            for b in range(first, last):
                bodies.touched_first[b] = place
                place = look_up(b, place, lists, bodies)
                if (
                    made and lists.flags[wp.static(HALTED)] == 0
                ):  # else they are made once more, as if for the first time
                    lead = body_lead(b, parameters, bodies)
                    if place == bodies.touched_first[b]:
                        lead += room_around(b, parameters, grains, lists, bodies)
                    bodies.travel[b] = -lead
        else:
            begin = bodies.touched_first_before[first]
            end = bodies.touched_first_before[last]
            for at in range(begin, end):
                bodies.touched[place + at - begin] = bodies.touched_before[at]
            for b in range(first, last):
                bodies.touched_first[b] = place + bodies.touched_first_before[b] - begin
            place += end - begin
    bodies.touched_first[bodies.count] = place
    bodies.unlisted[0] = 0


@wp.kernel
def count_chunks(lists: Lists, bodies: Bodies):
    share = wp.tid() // wp.static(LANES)
    lane = wp.tid() % wp.static(LANES)
    found = count_chunk(share // bodies.chunks, share % bodies.chunks, lane, lists, bodies)
    if lane == 0:
        bodies.chunk_counts[share] = found


@wp.kernel
def scan_chunk_counts(bodies: Bodies):
    """Where the places of each body, and of each of its chunks, begin; by one block."""
    t = wp.tid()
    total = bodies.count * bodies.chunks
    each = (total + wp.static(SCAN_BLOCK - 1)) // wp.static(SCAN_BLOCK)
    own = int(0)
    for s in range(t * each, wp.min((t + 1) * each, total)):
        own += bodies.chunk_counts[s]
    through = block_scan(own)
    running = through - own
    for s in range(t * each, wp.min((t + 1) * each, total)):
        found = bodies.chunk_counts[s]
        bodies.chunk_counts[s] = running
        if s % bodies.chunks == 0:
            bodies.touched_first[s // bodies.chunks] = running
        running += found
    if t == wp.static(SCAN_BLOCK - 1):
        bodies.touched_first[bodies.count] = through


@wp.kernel
def write_chunks(parameters: Parameters, lists: Lists, bodies: Bodies):
    t = wp.tid()
    if t < bodies.count:  # lists around it were made, and lead it
        if lists.flags[wp.static(FLAGS) + bodies.forms[t].world] == 1:
            bodies.travel[t] = -body_lead(t, parameters, bodies)
    share = t // wp.static(LANES)
    lane = t % wp.static(LANES)
    write_chunk(share // bodies.chunks, share % bodies.chunks, lane, bodies.chunk_counts[share], lists, bodies)
