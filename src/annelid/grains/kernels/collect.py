"""Lists of grains and bodies that can touch a grain before lists are made again."""

import warp as wp

from annelid.core.kernels.loading import once
from annelid.grains.kernels.allowances import body_lead, others_move
from annelid.grains.kernels.cells import cell_edge, cell_margin, tile, tile_index
from annelid.grains.kernels.layout import (
    BODY_OVERFLOW,
    GROUP,
    HALTED,
    MARGIN,
    OVERFLOW,
    SKIN,
    Bodies,
    Features,
    Grains,
    Lists,
    Parameters,
    is_stale,
    reach_place,
)
from annelid.grains.kernels.maxima import largest
from annelid.grains.kernels.rows import FORGET, GROUP_OF_LANES, PLACES
from annelid.grains.kernels.simd8 import look_at_eight
from annelid.grains.kernels.surfaces import surface_gap

wp.set_module_options({"enable_backward": False})


@wp.func
def note_guest(i: int, parameters: Parameters, grains: Grains, lists_out: Lists):
    """Tell in which row a guest is."""
    guest = grains.names[i][0] - parameters.first_guest
    if guest >= 0:
        lists_out.guest_rows[guest] = i


@wp.kernel(module="unique", enable_backward=False)
def note_guests(parameters: Parameters, grains: Grains, lists_out: Lists):
    """Tell in which rows guests are."""
    note_guest(wp.tid(), parameters, grains, lists_out)


@wp.func
def reorder(i: int, parameters: Parameters, old: Grains, grains: Grains, lists: Lists, materials: int, guests: int):
    """Bring grain i to its new place."""
    o = lists.order[i]
    grains.positions[i] = old.positions[o]
    grains.velocities[i] = old.velocities[o]
    grains.spins[i] = old.spins[o]
    grains.forecast[i] = old.forecast[o]
    grains.turning[i] = old.turning[o]
    grains.names[i] = old.names[o]
    if materials == 1:
        grains.surfaces[i] = old.surfaces[o]
    if guests == 1:
        grains.facets[i] = old.facets[o]
        note_guest(i, parameters, grains, lists)


_OWN_RADIUS = "const float own = ((const float*)(grains.forecast.data + i))[3];"


def _look_at(features: Features, *, allowed: bool = False) -> str:
    """Text that finds how far grain j is from grain i at `x`, as dx, dy, dz, and how `far` it may be, given `near`.

    That is further by what j is allowed to move, if `all` tells so.

    Of guests the nearest place of their disc or rod counts, as in contacts. They move with the masses that the guest
    and its neighbours hang on: while none of these moves further than lists allow for, no place of a disc does.
    """
    wrap = "".join(
        f"if (d{axis} > 0.5f * parameters.period[{n}]) d{axis} -= parameters.period[{n}];\n"
        f"if (d{axis} < -0.5f * parameters.period[{n}]) d{axis} += parameters.period[{n}];\n"
        for n, axis in enumerate("xyz")
        if features.periodic[n]
    )
    radius = "((const float*)(grains.forecast.data + j))[3]" if features.sizes else "parameters.radius"
    reach = "near + radius - all[4 * j + 3]" if allowed else "near + radius"
    far = f"wp::max({reach}, 0.0f)" if features.guests else reach
    return f"""
        float dx = x[0] - all[4 * j], dy = x[1] - all[4 * j + 1], dz = x[2] - all[4 * j + 2];
        {wrap}
        const float radius = {radius}, far = {far};
        {_TO_FACETS if features.guests else ""}
"""


_TO_FACETS = """
        if ((own < parameters.smallest) != (radius < parameters.smallest)) {  // guests do not touch each other
            const float* facet = (const float*)(grains.facets.data + (own < parameters.smallest ? i : j));
            const float extent = facet[3], along = dx * facet[0] + dy * facet[1] + dz * facet[2];
            const float bx = dx - along * facet[0], by = dy - along * facet[1], bz = dz - along * facet[2];
            const float aside = wp::sqrt(bx * bx + by * by + bz * bz);
            const float part = 1.0f - wp::min(wp::max(extent, 0.0f) / wp::max(aside, 1.0e-20f), 1.0f);
            const float rest = along - wp::min(wp::max(along, wp::min(extent, 0.0f)), wp::max(-extent, 0.0f));
            dx = part * bx + rest * facet[0]; dy = part * by + rest * facet[1]; dz = part * bz + rest * facet[2];
        }
"""


@once
def put_first(features: Features) -> wp.Function:
    """Put neighbours that are so near to grain i at the front of its list, where sums are made a group at a time.

    Groups of neighbours that are all further away are passed over on a CPU; on CUDA it would gain nothing. How many are
    so near.
    """
    text = f"""
#if !defined(__CUDA_ARCH__)
    int* row = lists.neighbours.data + (size_t)i * lists.places;
    const float* all = (const float*)grains.positions.data;
    {_OWN_RADIUS}
    int front = 0;
    for (int k = 0; k < length; ++k) {{
        const int j = row[k];
        {_look_at(features)}
        // No branch: which of them are close cannot be guessed.
        const bool close = dx * dx + dy * dy + dz * dz < far * far;
        const int other = row[front];
        row[k] = close ? other : j; row[front] = close ? j : other;
        front += close;
    }}
    return front;
#else
    return length;
#endif
"""

    @wp.func_native(text)
    def close_first(
        i: int, length: int, x: wp.vec4, near: float, parameters: Parameters, grains: Grains, lists: Lists
    ) -> int: ...

    return close_first


@once
def gather_row(features: Features, *, allowed: bool = False) -> wp.Function:
    """Add the grains `first` to `last` that are in reach of grain i to its list; the new length.

    With `allowed`, `Lists.built` tells where grains are and how far they may move, see `kernels.allowances`.

    Lanes that share a grain look at one each and agree on places: the list is the same for any number of them. So it is
    where a core looks at eight at a time, see `kernels.simd8`.
    """
    guests = ""
    if features.guests:  # which do not touch each other, and are smaller than all grains
        guests = "if (own < parameters.smallest && radius < parameters.smallest) near_by = false;"

    text = f"""
    {PLACES}
    int count = found;
    const float* all = (const float*){"lists.built" if allowed else "grains.positions"}.data;
    {_OWN_RADIUS}
#if defined(__CUDA_ARCH__)
    const unsigned group = {GROUP_OF_LANES}, before = group & ((1u << (threadIdx.x & 31)) - 1u);
#endif
#if !defined(__CUDA_ARCH__) && defined(__AVX512VL__)
    {look_at_eight(features, allowed=allowed)}
#else
    for (int at = first; at < last; at += lanes) {{
        const int j = wp::min(at + lane, last - 1);
        {_look_at(features, allowed=allowed)}
        bool near_by = at + lane < last && dx * dx + dy * dy + dz * dz < far * far && j != i;
        {guests}
#if defined(__CUDA_ARCH__)
        const unsigned found_here = __ballot_sync(group, near_by);
        const int place = count + __popc(found_here & before);
        count += __popc(found_here & group);
#else
        const int place = count;
        count += near_by;
#endif
#if defined(__CUDA_ARCH__)
        if (near_by && place < lists.places) lists.neighbours.data[AT(lists, i, place)] = j;
#else
        // What is not near is overwritten by the next: to guess which are costs more than to write all.
        if (place < lists.places) lists.neighbours.data[AT(lists, i, place)] = j;
#endif
    }}
#endif
    {FORGET}
    return count;
"""

    @wp.func_native(text)
    def gather(
        i: int, lane: int, lanes: int, first: int, last: int, found: int, x: wp.vec4, near: float,
        parameters: Parameters, grains: Grains, lists: Lists,
    ) -> int: ...  # fmt: skip

    return gather


@once
def inherit(rolling: bool) -> wp.Function:
    """Take over the impulses of neighbours that were in the list before, and fill the list up with ghosts.

    Lanes that share a grain take a neighbour each. The length with ghosts.
    """
    also = "lists.rollings.data[to] = same < 0 ? 0.0f : old.rollings.data[from];" if rolling else ""

    text = f"""
    {PLACES}
#if !defined(__CUDA_ARCH__)
    typedef int Numbers __attribute__((ext_vector_type({GROUP})));
#else
    struct alignas(16) Four {{ int numbers[{GROUP}]; }};
    __syncwarp({GROUP_OF_LANES});
#endif
    const int o = order.data[i], before = ((const int*)old.counts.data)[2 * o], ghost = (int)lists.counts.shape[0];
    const int padded = (length + {GROUP - 1}) / {GROUP} * {GROUP};
    for (int k = lane; k < padded; k += lanes) {{
        int same = -1;
        if (k < length) {{
            const int was = order.data[lists.neighbours.data[AT(lists, i, k)]];
#if defined(__CUDA_ARCH__)
            for (int q = 0; q < before; q += {GROUP}) {{
                const Four four = *(const Four*)(old.neighbours.data + AT(old, o, q));
                for (int c = 0; c < {GROUP}; ++c) same = four.numbers[c] == was ? q + c : same;
                if (same >= 0) break;
            }}
#else
            // It is there once or not at all, and where cannot be guessed: all are looked at.
            Numbers found = 0, number = {{1, 2, 3, 4}};
            for (int q = 0; q < before; q += {GROUP}, number += {GROUP})
                found |= (*(const Numbers*)(old.neighbours.data + AT(old, o, q)) == was) & number;
            same = __builtin_reduce_or(found) - 1;
#endif
        }} else lists.neighbours.data[AT(lists, i, k)] = ghost;
        for (int c = 0; c < 3; ++c) {{
            const size_t to = WIDE_AT(lists, i, k, c), from = WIDE_AT(old, o, wp::max(same, 0), c);
            lists.impulses.data[to] = same < 0 ? 0.0f : old.impulses.data[from];
            {also}
        }}
    }}
    {FORGET}
    return padded;
"""

    @wp.func_native(text)
    def take_over(
        i: int, lane: int, lanes: int, length: int, order: wp.array[wp.int32], old: Lists, lists: Lists
    ) -> int: ...

    return take_over


@once
def near_bodies(features: Features) -> wp.Function:
    """List the bodies that are close to grain i, with their impulses; the length of the list."""
    gap_of = surface_gap(features.kinds)
    rolls = features.keeps_rolling

    @wp.func
    def near(
        i: int, o: int, x: wp.vec3, radius: float, world: int, parameters: Parameters, old: Lists, lists: Lists,
        bodies: Bodies,
    ) -> int:  # fmt: skip
        count = int(0)
        usual = lists.reach[reach_place(wp.static(MARGIN), world)] + parameters.body_skin + radius
        usual += others_move(world, parameters, lists)
        for b in range(bodies.first_of_world[world], bodies.first_of_world[world + 1]):
            reach = usual + body_lead(b, parameters, bodies)
            close = bool(True)
            if bodies.forms[b].reach > 0.0:
                close = wp.length(x - bodies.places[b]) - bodies.forms[b].reach < reach
            if close:
                close = gap_of(b, x, bodies)[3] < reach
            if close:
                if count < lists.body_places:
                    at = i * lists.body_places + count
                    lists.bodies[at] = b
                    lists.body_predicted[at] = wp.vec3()
                    if wp.static(rolls):
                        lists.body_rollings[at] = wp.vec3()
                    for q in range(old.counts[o][1]):
                        if old.bodies[o * old.body_places + q] == b:
                            lists.body_predicted[at] = old.body_predicted[o * old.body_places + q]
                            if wp.static(rolls):
                                lists.body_rollings[at] = old.body_rollings[o * old.body_places + q]
                count += 1
        return count

    return near


@once
def collect(features: Features, *, allowed: bool = False) -> wp.Function:
    """A function that lists the neighbours of grain i, which has just come to its place, by lanes that share it.

    With `allowed`, rows were told how far they may move, see `kernels.allowances`.
    """
    sizes, stale = features.sizes, is_stale(features)
    gather, take_over = gather_row(features, allowed=allowed), inherit(features.keeps_rolling)
    close_first = put_first(features)

    @wp.func
    def make(
        i: int, lane: int, lanes: int, parameters: Parameters, grains: Grains, old: Lists, lists: Lists
    ):  # fmt: skip
        x = grains.positions[i]
        world = grains.names[i][1]
        if not stale(world, lists):
            return
        margin = lists.reach[reach_place(wp.static(MARGIN), world)]
        reach = margin
        if wp.static(allowed):
            reach -= lists.built[i][3]
        else:
            reach += lists.reach[reach_place(wp.static(SKIN), world)]
        wide = cell_margin(world, parameters, lists)
        width = parameters.radius
        if wp.static(sizes):
            width = grains.forecast[i][3]
        ex = cell_edge(0, wide, parameters)
        ey = cell_edge(1, wide, parameters)
        ez = cell_edge(2, wide, parameters)
        nx = int(ex[1])
        ny = int(ey[1])
        nz = int(ez[1])
        cx = tile(x[0], ex)
        cy = tile(x[1], ey)
        cz = tile(x[2], ez)
        length = int(0)
        for dz in range(wp.min(3, nz)):
            az = dz
            if nz >= 3:
                az = (cz + dz + nz - 1) % nz
            for dy in range(wp.min(3, ny)):
                ay = dy
                if ny >= 3:
                    ay = (cy + dy + ny - 1) % ny
                row = tile_index(world, 0, ay, az, parameters)
                if nx < 3:
                    length = gather(
                        i, lane, lanes, lists.starts[row], lists.starts[row + nx], length, x, width + reach,
                        parameters, grains, lists,
                    )  # fmt: skip
                else:
                    low = wp.max(cx - 1, 0)
                    high = wp.min(cx + 1, nx - 1)
                    length = gather(
                        i, lane, lanes, lists.starts[row + low], lists.starts[row + high + 1], length, x,
                        width + reach, parameters, grains, lists,
                    )  # fmt: skip
                    if cx == 0 or cx == nx - 1:
                        wrapped = row + (nx - 1 if cx == 0 else 0)
                        length = gather(
                            i, lane, lanes, lists.starts[wrapped], lists.starts[wrapped + 1], length, x,
                            width + reach, parameters, grains, lists,
                        )  # fmt: skip
        if length > lists.places:
            if lane == 0:
                largest(lists.flags, wp.static(OVERFLOW), length)
                lists.flags[wp.static(HALTED)] = 1
            length = lists.places
        # What is about to come close lies behind what is close, and both before all others, while these lists last.
        soon = close_first(i, length, x, width + margin + 0.5 * parameters.skin, parameters, grains, lists)
        close_first(i, soon, x, width + margin, parameters, grains, lists)
        padded = take_over(i, lane, lanes, length, lists.order, old, lists)
        if lane == 0:
            if wp.static(not allowed):
                lists.built[i] = x
            lists.counts[i][0] = padded

    return make


@once
def collect_bodies(features: Features) -> wp.Function:
    """A function that lists the bodies that are close to grain i, before, after or while its neighbours are listed."""
    sizes, near, stale = features.sizes, near_bodies(features), is_stale(features)

    @wp.func
    def make(i: int, parameters: Parameters, grains: Grains, old: Lists, lists: Lists, bodies: Bodies):
        x = grains.positions[i]
        world = grains.names[i][1]
        if not stale(world, lists):
            return
        own = parameters.radius
        if wp.static(sizes):
            own = grains.forecast[i][3]
        touched = near(i, lists.order[i], wp.vec3(x[0], x[1], x[2]), own, world, parameters, old, lists, bodies)
        if touched > lists.body_places:
            largest(lists.flags, wp.static(BODY_OVERFLOW), touched)
            lists.flags[wp.static(HALTED)] = 1
            touched = lists.body_places
        lists.counts[i][1] = touched

    return make
