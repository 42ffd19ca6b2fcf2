"""Lists of masses that are close enough to touch, from a grid of cells.

Lists hold every pair that can touch before some mass has moved by half of a margin. Each pass watches for that moment,
and the lists are made anew before the next forces are. A *slot* is a mass that may touch.
"""

import warp as wp

from annelid.core.kernels.loading import once
from annelid.core.launch import team_barrier, team_range
from annelid.springs.kernels.layout import Layout

wp.set_module_options({"enable_backward": False})


@once
def slot_of_mass(types: Layout) -> wp.Function:
    """Slot of mass i, -1 if it may not touch."""
    Contacts = types.Contacts

    @wp.func
    def slot_of(i: int, contacts: wp.array[Contacts]) -> int:
        slot = int(-1)
        if i < contacts[0].mass_count:  # masses that were added later do not touch
            slot = contacts[0].slot_of[i]
        return slot

    return slot_of


@once
def first_slot(types: Layout) -> wp.Function:
    """The first slot whose mass is i or comes after it; the number of slots if there is none."""
    Contacts = types.Contacts

    @wp.func
    def first_slot_from(i: int, contacts: wp.array[Contacts]) -> int:
        low = int(0)
        high = int(contacts[0].slot_count)
        while low < high:
            middle = (low + high) // 2
            if contacts[0].masses[middle] < i:
                low = middle + 1
            else:
                high = middle
        return low

    return first_slot_from


@once
def watch(types: Layout) -> wp.Function:
    """Mark the lists as stale from pass `stamp` on if a slot has come too far from where they were made."""
    real, vec3, vec4, Contacts = types.real, types.vec3, types.vec4, types.Contacts

    @wp.func
    def watch_slot(slot: int, stamp: int, here: vec4, contacts: wp.array[Contacts]):
        moved = vec3(here[0], here[1], here[2]) - contacts[0].built[slot]
        if wp.dot(moved, moved) > real(0.25) * contacts[0].margin * contacts[0].margin:
            # Two stamps alternate: a fast thread may mark the next pass while a slow one still reads this one.
            contacts[0].flags[stamp % 2] = stamp

    return watch_slot


@once
def tidy(types: Layout) -> wp.Function:
    """Look at a slot before a batch of steps: has the state been replaced?"""
    vec4, Contacts = types.vec4, types.Contacts
    look = watch(types)

    @wp.func
    def tidy_slot(slot: int, stamp: int, contacts: wp.array[Contacts], positions: wp.array[vec4]):
        look(slot, stamp, positions[contacts[0].masses[slot]], contacts)

    return tidy_slot


@once
def refresh_team(types: Layout) -> wp.Function:
    """Make the lists anew if pass `stamp` has left them stale; all members of a CPU team call it; the new ticket."""
    vec4, Contacts = types.vec4, types.Contacts
    insert, collect = _insert(types), collect_list(types)

    @wp.func(inline=False)
    def refresh(
        rank: int, size: int, counter: wp.array[wp.int32], ticket: int, stamp: int,
        contacts: wp.array[Contacts], positions: wp.array[vec4],
    ) -> int:  # fmt: skip
        if contacts[0].flags[stamp % 2] == stamp:
            cells = team_range(rank, size, contacts[0].cell_count, 64)
            for cell in range(cells[0], cells[1]):
                contacts[0].heads[cell] = -1
            team_barrier(counter, size, ticket + 1)
            if rank == 0:  # a cell may be anybody's: one thread links them all, which takes nanoseconds each
                for slot in range(contacts[0].slot_count):
                    cell = insert(slot, contacts, positions)
                    contacts[0].nexts[slot] = contacts[0].heads[cell]
                    contacts[0].heads[cell] = slot
            team_barrier(counter, size, ticket + 2)
            share = team_range(rank, size, contacts[0].slot_count, 16)
            for slot in range(share[0], share[1]):
                collect(slot, contacts)
            team_barrier(counter, size, ticket + 3)
            ticket += 3
        return ticket

    return refresh


@once
def refresh_kernels(types: Layout) -> tuple[wp.Kernel, wp.Kernel]:
    """The first half of the same as launches: clear the cells, link the slots; they do nothing unless stale."""
    vec4, Contacts = types.vec4, types.Contacts
    insert = _insert(types)

    @wp.kernel(module="unique", enable_backward=False)
    def clear(stamp: int, contacts: wp.array[Contacts]):
        if contacts[0].flags[stamp % 2] == stamp:
            contacts[0].heads[wp.tid()] = -1

    @wp.kernel(module="unique", enable_backward=False)
    def link(stamp: int, contacts: wp.array[Contacts], positions: wp.array[vec4]):
        if contacts[0].flags[stamp % 2] == stamp:
            slot = wp.tid()
            cell = insert(slot, contacts, positions)
            contacts[0].nexts[slot] = wp.atomic_exch(contacts[0].heads, cell, slot)

    return clear, link


@wp.kernel(module="unique", enable_backward=False)
def clear_stamps(stamps_out: wp.array[wp.int32]):
    """No lists are stale yet. A kernel, since memory cannot be set in a branch of a graph, where steps may be."""
    stamps_out[wp.tid()] = 0


@once
def tidy_kernel(types: Layout) -> wp.Kernel:
    """`tidy` for all slots, one thread each (CUDA)."""
    vec4, Contacts = types.vec4, types.Contacts
    tidy_slot = tidy(types)

    @wp.kernel(module="unique", enable_backward=False)
    def look_at_all(stamp: int, contacts: wp.array[Contacts], positions: wp.array[vec4]):
        tidy_slot(wp.tid(), stamp, contacts, positions)

    return look_at_all


@once
def _cell_of(types: Layout) -> wp.Function:
    """Integer coordinates of the cell of a point."""
    real, vec3 = types.real, types.vec3

    @wp.func
    def cell_of(x: vec3, edge: real) -> wp.vec3i:
        far = real(1.0e9)
        return wp.vec3i(
            int(wp.clamp(wp.floor(x[0] / edge), -far, far)),
            int(wp.clamp(wp.floor(x[1] / edge), -far, far)),
            int(wp.clamp(wp.floor(x[2] / edge), -far, far)),
        )

    return cell_of


@wp.func
def _bucket(cell: wp.vec3i, world: int, count: int) -> int:
    """Place of a cell in the table; several cells may share one, and worlds that lie in one place spread over it."""
    mixed = (
        wp.uint32(cell[0]) * wp.uint32(73856093)
        ^ wp.uint32(cell[1]) * wp.uint32(19349663)
        ^ wp.uint32(cell[2]) * wp.uint32(83492791)
        ^ wp.uint32(world) * wp.uint32(1640531513)
    )
    mixed = mixed ^ (mixed >> wp.uint32(15))
    return int(mixed & wp.uint32(count - 1))


@once
def _insert(types: Layout) -> wp.Function:
    """Remember where a slot is now; returns the place of its cell in the table."""
    vec3, vec4, Contacts = types.vec3, types.vec4, types.Contacts
    cell_of = _cell_of(types)

    @wp.func
    def insert(slot: int, contacts: wp.array[Contacts], positions: wp.array[vec4]) -> int:
        here = positions[contacts[0].masses[slot]]
        x = vec3(here[0], here[1], here[2])
        contacts[0].built[slot] = x
        world = slot // contacts[0].slots_a_world
        return _bucket(cell_of(x, contacts[0].cell), world, contacts[0].cell_count)

    return insert


@once
def _close(types: Layout) -> wp.Function:
    """Whether two slots may touch before the lists are made again."""
    real, Contacts = types.real, types.Contacts

    @wp.func
    def close(slot: int, other: int, contacts: wp.array[Contacts]) -> bool:
        i = contacts[0].masses[slot]
        j = contacts[0].masses[other]
        index = contacts[0].table[contacts[0].kinds[i] * contacts[0].kind_count + contacts[0].kinds[j]]
        found = bool(False)
        each = contacts[0].slots_a_world
        if index >= 0 and slot != other and slot // each == other // each:
            rule = contacts[0].rules[index]
            reach = rule.reach
            if reach == real(0.0):
                reach = contacts[0].radii[i] + contacts[0].radii[j]
            d = contacts[0].built[other] - contacts[0].built[slot]
            # A little more than the margin: two masses may each round their half of it.
            reach += contacts[0].margin * real(1.001)
            found = wp.dot(d, d) < reach * reach
            if found and contacts[0].pieces[slot] == contacts[0].pieces[other]:
                found = rule.itself == 1
                if found:
                    for entry in range(contacts[0].apart_first[slot], contacts[0].apart_first[slot + 1]):
                        if contacts[0].apart[entry] == j:
                            found = False
        return found

    return close


@once
def collect_list(types: Layout) -> wp.Function:
    """Write the list of a slot in ascending order; its length counts those that found no room, too."""
    Contacts = types.Contacts
    cell_of, close = _cell_of(types), _close(types)

    @wp.func
    def collect(slot: int, contacts: wp.array[Contacts]):
        base = slot * contacts[0].slot_stride
        step = contacts[0].entry_stride
        world = slot // contacts[0].slots_a_world
        home = cell_of(contacts[0].built[slot], contacts[0].cell)
        count = int(0)
        for neighbour in range(27):
            cell = home + wp.vec3i(neighbour % 3 - 1, (neighbour // 3) % 3 - 1, neighbour // 9 - 1)
            other = contacts[0].heads[_bucket(cell, world, contacts[0].cell_count)]
            while other >= 0:
                if cell_of(contacts[0].built[other], contacts[0].cell) == cell:
                    if close(slot, other, contacts):
                        j = contacts[0].masses[other]
                        if count < contacts[0].capacity:
                            place = count
                            while place > 0 and contacts[0].lists[base + wp.max(place - 1, 0) * step] > j:
                                contacts[0].lists[base + place * step] = contacts[0].lists[base + (place - 1) * step]
                                place -= 1
                            contacts[0].lists[base + place * step] = j
                        count += 1
                other = contacts[0].nexts[other]
        contacts[0].counts[slot] = count
        if count == 0:
            for number in range(contacts[0].places):
                place = slot * contacts[0].place_strides[0] + number * contacts[0].place_strides[1]
                contacts[0].partners[place] = -1
        if count > contacts[0].flags[2]:
            contacts[0].flags[2] = count  # any of the long lists will do: the host counts again when it makes room

    return collect


@once
def partner_of(types: Layout) -> wp.Function:
    """Entry of a slot's list; where the list is too long, the next mass after `last` is searched for in the grid."""
    Contacts = types.Contacts
    following = _following(types)

    @wp.func
    def partner(slot: int, entry: int, last: int, contacts: wp.array[Contacts]) -> int:
        j = int(-1)
        if contacts[0].counts[slot] <= contacts[0].capacity:
            j = contacts[0].lists[slot * contacts[0].slot_stride + entry * contacts[0].entry_stride]
        else:
            j = following(slot, last, contacts)
        return j

    return partner


@once
def _following(types: Layout) -> wp.Function:
    """The next mass after `last` that is close to a slot whose list is too long, -1 for none: slow, but complete."""
    Contacts = types.Contacts
    cell_of, close = _cell_of(types), _close(types)

    @wp.func
    def following(slot: int, last: int, contacts: wp.array[Contacts]) -> int:
        home = cell_of(contacts[0].built[slot], contacts[0].cell)
        world = slot // contacts[0].slots_a_world
        best = int(-1)
        for neighbour in range(27):
            cell = home + wp.vec3i(neighbour % 3 - 1, (neighbour // 3) % 3 - 1, neighbour // 9 - 1)
            other = contacts[0].heads[_bucket(cell, world, contacts[0].cell_count)]
            while other >= 0:
                j = contacts[0].masses[other]
                if j > last and (best < 0 or j < best):
                    if cell_of(contacts[0].built[other], contacts[0].cell) == cell:
                        if close(slot, other, contacts):
                            best = j
                other = contacts[0].nexts[other]
        return best

    return following
