"""Cells that space is divided into, and the order of grains by cells.

A cell is as wide as a list reaches. Cells repeat after a number along each axis, like tiles on an endless wall: space
needs no bounds, the 27 cells around a grain are 27 different ones, and a period is nothing special. Grains of distant
cells that share a tile are told apart by their distance. Each world has tiles of its own.
"""

import warp as wp

from annelid.grains.kernels.layout import (
    APPROACH,
    FASTER,
    FASTEST,
    FLAGS,
    HALTED,
    LIMIT,
    MARGIN,
    SKIN,
    STALE,
    Bodies,
    Grains,
    Lists,
    Parameters,
    reach_place,
)

wp.set_module_options({"enable_backward": False})

_LASTING = 80.0  # lists that would last fewer than a half of this in steps reach further

SCAN_BLOCK = 256
SCAN_EACH = 8
SCAN_SPAN = SCAN_BLOCK * SCAN_EACH
"""Cells that a block sums on CUDA."""


@wp.func
def margin_for(fastest: float, parameters: Parameters) -> float:
    """How far apart two grains may be that touch within a step, as long as these lists last [m]."""
    return wp.max(2.0 * parameters.near * parameters.radius, wp.static(APPROACH * FASTER) * fastest * parameters.dt)


@wp.func
def skin_for(fastest: float, parameters: Parameters) -> float:
    """How much further than needed lists are to reach [m]: so far that they last, where grains are fast."""
    wanted = wp.sqrt(wp.static(_LASTING) * fastest * parameters.dt * parameters.skin)
    return wp.clamp(wanted, parameters.skin, parameters.widest_skin)


@wp.func
def cell_margin(world: int, parameters: Parameters, lists: Lists) -> float:
    """The margin of a world, with what its lists reach further than usual: what the width of cells follows [m]."""
    more = lists.reach[reach_place(wp.static(SKIN), world)] - parameters.skin
    return lists.reach[reach_place(wp.static(MARGIN), world)] + more


@wp.func
def cell_edge(axis: int, margin: float, parameters: Parameters) -> wp.vec2:
    """Edge of a cell along an axis [m], and the number of cells after which they repeat."""
    edge = 2.0 * parameters.radius + margin + parameters.skin + parameters.wider
    count = float(parameters.cells[axis])
    if parameters.period[axis] > 0.0:
        count = wp.max(wp.min(wp.floor(parameters.period[axis] / edge), count), 1.0)
        edge = parameters.period[axis] / count
    return wp.vec2(edge, count)


@wp.func
def tile(x: float, edge: wp.vec2) -> int:
    """Cell along one axis."""
    along = int(wp.floor(wp.clamp(x / edge[0], -1.0e8, 1.0e8)))
    count = int(edge[1])
    return ((along % count) + count) % count


@wp.func
def tile_index(world: int, cx: int, cy: int, cz: int, parameters: Parameters) -> int:
    return ((world * parameters.cells[2] + cz) * parameters.cells[1] + cy) * parameters.cells[0] + cx


@wp.func
def key_of(x: wp.vec4, world: int, margin: float, parameters: Parameters) -> int:
    """Cell of a grain."""
    cx = tile(x[0], cell_edge(0, margin, parameters))
    cy = tile(x[1], cell_edge(1, margin, parameters))
    cz = tile(x[2], cell_edge(2, margin, parameters))
    return tile_index(world, cx, cy, cz, parameters)


@wp.func
def cell_now(i: int, world: int, parameters: Parameters, grains: Grains, lists: Lists) -> int:
    """Cell of grain i, which is in a world whose lists are being made."""
    return key_of(grains.positions[i], world, cell_margin(world, parameters, lists), parameters)


@wp.func
def spans_of_world(parameters: Parameters) -> int:
    """Spans of cells that a world has; none has cells of two worlds."""
    return (parameters.cell_count + wp.static(SCAN_SPAN - 1)) // wp.static(SCAN_SPAN)


@wp.func
def set_margin(world: int, fastest: float, parameters: Parameters, lists: Lists):
    """Tell how far the lists of a world reach, which are to be made, and when they will be stale."""
    if lists.flags[wp.static(FLAGS) + world] == 1:
        lists.reach[reach_place(wp.static(MARGIN), world)] = margin_for(fastest, parameters)
        lists.reach[reach_place(wp.static(SKIN), world)] = skin_for(fastest, parameters)
    lists.reach[reach_place(wp.static(FASTEST), world)] = 0.0


@wp.kernel
def set_margins(parameters: Parameters, lists: Lists):
    world = wp.tid()
    set_margin(world, lists.reach[reach_place(wp.static(FASTEST), world)], parameters, lists)
    limit = lists.reach[reach_place(wp.static(MARGIN), world)] / (wp.static(APPROACH) * parameters.dt)
    wp.atomic_max(lists.reach, wp.static(LIMIT), limit)


@wp.kernel
def call_short_lists(parameters: Parameters, lists: Lists):
    """Call lists stale that reach less far than is taken for granted here: a state may come from another device."""
    world = wp.tid()
    if lists.reach[reach_place(wp.static(SKIN), world)] < parameters.skin:
        lists.flags[wp.static(STALE)] = 1
        lists.flags[wp.static(FLAGS) + world] = 1


@wp.kernel
def settle_worlds(lists: Lists, bodies_out: Bodies):
    """Lists of all worlds that were stale are fresh, unless some did not fit."""
    world = wp.tid()
    place = wp.static(FLAGS) + world
    if lists.flags[wp.static(HALTED)] == 0 and lists.flags[place] == 1:
        lists.flags[place] = 0
    if world == 0:
        bodies_out.unlisted[0] = 0


@wp.func
def sort_world(world: int, parameters: Parameters, lists: Lists, grains: Grains):
    """Sort the grains of a world by cells, on one thread; they stay in the rows of their world."""
    low = lists.first_of_world[world]
    high = lists.first_of_world[world + 1]
    first = world * parameters.cell_count
    end = first + parameters.cell_count
    for c in range(first, end):
        lists.cursors[c] = 0
    for i in range(low, high):
        key = cell_now(i, world, parameters, grains, lists)
        lists.keys[i] = key
        lists.cursors[key] = lists.cursors[key] + 1
    start = int(low)
    for c in range(first, end):
        count = lists.cursors[c]
        lists.starts[c] = start
        lists.cursors[c] = start
        start += count
    lists.starts[end] = high
    for i in range(low, high):
        key = lists.keys[i]
        place = lists.cursors[key]
        lists.order[place] = i
        lists.cursors[key] = place + 1


@wp.kernel
def count_grains(parameters: Parameters, lists: Lists, grains: Grains):
    """Grains of each cell, in worlds whose lists are made."""
    i = wp.tid()
    world = grains.names[i][1]
    key = int(-1)
    if lists.flags[wp.static(FLAGS) + world] == 1:
        key = cell_now(i, world, parameters, grains, lists)
        wp.atomic_add(lists.cursors, key, 1)
    lists.keys[i] = key


@wp.func_native(
    """
#if defined(__CUDA_ARCH__)
    __shared__ int sums[32];
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = (blockDim.x + 31) >> 5;
    int sum = value;
    for (int hop = 1; hop < 32; hop <<= 1) {
        const int other = __shfl_up_sync(0xffffffffu, sum, hop);
        if (lane >= hop) sum += other;
    }
    __syncthreads();
    if (lane == 31) sums[warp] = sum;
    __syncthreads();
    if (warp == 0) {
        int all = lane < warps ? sums[lane] : 0;
        for (int hop = 1; hop < 32; hop <<= 1) {
            const int other = __shfl_up_sync(0xffffffffu, all, hop);
            if (lane >= hop) all += other;
        }
        sums[lane] = all;
    }
    __syncthreads();
    return warp > 0 ? sum + sums[warp - 1] : sum;
#else
    return value;
#endif
"""
)
def block_scan(value: int) -> int:
    """Sum of a value over the threads of a block up to this one."""


@wp.kernel
def scan_spans(parameters: Parameters, lists: Lists):
    """Sums of counts before each cell, within its span of cells; totals of the spans.

    A world whose lists are not made is passed over: its first span counts for all of it.
    """
    t = wp.tid()
    span = t // wp.static(SCAN_BLOCK)
    lane = t % wp.static(SCAN_BLOCK)
    spans = spans_of_world(parameters)
    world = span // spans
    within = span % spans
    if lists.flags[wp.static(FLAGS) + world] != 1:
        if lane == 0:
            lists.sums[span] = wp.where(within == 0, lists.first_of_world[world + 1] - lists.first_of_world[world], 0)
        return
    end = (world + 1) * parameters.cell_count
    first = world * parameters.cell_count + within * wp.static(SCAN_SPAN) + lane * wp.static(SCAN_EACH)
    own = int(0)
    for c in range(first, wp.min(first + wp.static(SCAN_EACH), end)):
        own += lists.cursors[c]
    through = block_scan(own)
    running = through - own
    for c in range(first, wp.min(first + wp.static(SCAN_EACH), end)):
        lists.starts[c] = running
        running += lists.cursors[c]
    if lane == wp.static(SCAN_BLOCK - 1):
        lists.sums[span] = through


@wp.kernel
def scan_totals(lists: Lists, spans: int):
    """Sums of totals before each span, by one block."""
    t = wp.tid()
    each = (spans + wp.static(SCAN_BLOCK - 1)) // wp.static(SCAN_BLOCK)
    own = int(0)
    for s in range(t * each, wp.min((t + 1) * each, spans)):
        own += lists.sums[s]
    running = block_scan(own) - own
    for s in range(t * each, wp.min((t + 1) * each, spans)):
        here = lists.sums[s]
        lists.sums[s] = running
        running += here


@wp.kernel
def add_totals(parameters: Parameters, lists: Lists):
    """Where each cell begins, in worlds whose lists are made."""
    c = wp.tid()
    world = c // parameters.cell_count
    if lists.flags[wp.static(FLAGS) + world] != 1:
        return
    within = c - world * parameters.cell_count
    start = lists.starts[c] + lists.sums[world * spans_of_world(parameters) + within // wp.static(SCAN_SPAN)]
    lists.starts[c] = start
    lists.cursors[c] = start
    if within == parameters.cell_count - 1:
        following = bool(False)
        if world + 1 < parameters.worlds:
            following = lists.flags[wp.static(FLAGS) + world + 1] == 1
        if not following:  # else it is the first cell of that world
            lists.starts[c + 1] = lists.first_of_world[world + 1]


@wp.kernel
def place_grains(lists: Lists):
    """Put each grain of these worlds into its cell, in any order."""
    i = wp.tid()
    key = lists.keys[i]
    if key >= 0:
        place = wp.atomic_add(lists.cursors, key, 1)
        lists.placed[place] = i


@wp.func
def ordered_place(p: int, lists: Lists) -> int:
    """Where the grain belongs that was put into place p: the few grains of a cell are always in the same order."""
    grain = lists.placed[p]
    key = lists.keys[grain]
    first = lists.starts[key]
    place = int(first)
    for other in range(first, lists.starts[key + 1]):
        if lists.placed[other] < grain:
            place += 1
    lists.order[place] = grain
    return place
