"""What touches each body: places of the lists of grains that name it, body after body.

Where lists of some worlds were made, their bodies are looked up in them; what belongs to others is moved along.
"""

import warp as wp

from annelid.grains.kernels.cells import block_scan
from annelid.grains.kernels.layout import FLAGS, PLANE, Bodies, Lists, Parameters

wp.set_module_options({"enable_backward": False})

SCAN_BLOCK = 1024
"""Threads that sum the counts of all bodies on CUDA."""


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
    if bodies.forms[b].kind == wp.static(PLANE):
        high = low
    return share_of(low, high, chunk, chunks)


@wp.func
def count_chunk(b: int, chunk: int, lists: Lists, bodies: Bodies) -> int:
    """How many places of a share name body b; those that are known are set aside."""
    found = int(0)
    if is_looked_up(b, lists, bodies):
        rows = row_share(b, chunk, bodies.chunks, lists, bodies)
        for i in range(rows[0], rows[1]):
            for k in range(lists.counts[i][1]):
                if lists.bodies[i * lists.body_places + k] == b:
                    found += 1
    else:
        known = share_of(bodies.touched_first[b], bodies.touched_first[b + 1], chunk, bodies.chunks)
        for at in range(known[0], known[1]):
            bodies.touched_before[at] = bodies.touched[at]
        found = known[1] - known[0]
    if chunk == 0:
        bodies.touched_first_before[b] = bodies.touched_first[b]
        bodies.touched_first_before[b + 1] = bodies.touched_first[b + 1]
    return found


@wp.func
def write_chunk(b: int, chunk: int, place: int, lists: Lists, bodies: Bodies):
    """Note down those places, from `place` on."""
    at = place
    if is_looked_up(b, lists, bodies):
        rows = row_share(b, chunk, bodies.chunks, lists, bodies)
        for i in range(rows[0], rows[1]):
            for k in range(lists.counts[i][1]):
                if lists.bodies[i * lists.body_places + k] == b:
                    bodies.touched[at] = i * lists.body_places + k
                    at += 1
    else:
        before = bodies.touched_first_before
        known = share_of(before[b], before[b + 1], chunk, bodies.chunks)
        for k in range(known[0], known[1]):
            bodies.touched[at] = bodies.touched_before[k]
            at += 1


@wp.func
def look_up(b: int, place: int, lists: Lists, bodies: Bodies) -> int:
    """Note down all places that name body b, from `place` on; where they end."""
    at = place
    rows = row_share(b, 0, 1, lists, bodies)
    for i in range(rows[0], rows[1]):
        for k in range(lists.counts[i][1]):
            if lists.bodies[i * lists.body_places + k] == b:
                bodies.touched[at] = i * lists.body_places + k
                at += 1
    return at


@wp.func
def list_touched(parameters: Parameters, lists: Lists, bodies: Bodies):
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
                if made:
                    bodies.travel[b] = 0.0
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
    t = wp.tid()
    bodies.chunk_counts[t] = count_chunk(t // bodies.chunks, t % bodies.chunks, lists, bodies)


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
def write_chunks(lists: Lists, bodies: Bodies):
    t = wp.tid()
    if t < bodies.count:  # lists around it were made: it has not travelled since
        if lists.flags[wp.static(FLAGS) + bodies.forms[t].world] == 1:
            bodies.travel[t] = 0.0
    write_chunk(t // bodies.chunks, t % bodies.chunks, bodies.chunk_counts[t], lists, bodies)
