"""The linked hash of GranularGym (its Algorithm 2 and eq. 6), and its response in three arrangements (its Fig. 5).

Kept to be measured beside the lists: one loop that resolves contacts as it finds them, two loops in one kernel that
first note contacts down, and two kernels. Buckets that distant cells share are told apart by the cell of each
candidate, which the paper leaves out.
"""

import warp as wp

from annelid.core.kernels.loading import once
from annelid.grains.kernels.layout import Parameters
from annelid.grains.kernels.paper import projected

wp.set_module_options({"enable_backward": False})

MOST = 16
"""Contacts that a grain can note down."""


@wp.func
def cell_of(x: wp.vec4, diameter: float) -> wp.vec3i:
    """The cell that a centre rounds to."""
    return wp.vec3i(int(wp.round(x[0] / diameter)), int(wp.round(x[1] / diameter)), int(wp.round(x[2] / diameter)))


@wp.func
def bucket_of(cell: wp.vec3i, size: int) -> int:
    """Eq. 6: three large primes, an offset of 100."""
    h = (73856093 * (cell[0] - 100)) ^ (19349663 * (cell[1] - 100)) ^ (83492791 * (cell[2] - 100))
    return ((h % size) + size) % size


@wp.struct
class Table:
    positions: wp.array[wp.vec4]  # [m]
    velocities: wp.array[wp.vec4]  # [m/s]
    heads: wp.array[wp.int32]  # last grain of each bucket, -1 for none
    nexts: wp.array[wp.int32]  # the grain before it in its bucket
    notes: wp.array[wp.int32]  # grains that each one touches, MOST places each
    candidates: wp.array[wp.int32]  # grains that each one looked at
    changes: wp.array[wp.vec4]  # of the velocity of each [m/s], and its contacts


@wp.kernel(module="unique", enable_backward=False)
def clear(table_out: Table):
    table_out.heads[wp.tid()] = -1


@wp.kernel(module="unique", enable_backward=False)
def insert(parameters: Parameters, table: Table):
    """Algorithm 2: its loop of compare-and-swap is an exchange."""
    i = wp.tid()
    bucket = bucket_of(cell_of(table.positions[i], 2.0 * parameters.radius), table.heads.shape[0])
    table.nexts[i] = wp.atomic_exch(table.heads, bucket, i)


@wp.func
def resolve(i: int, j: int, change: wp.vec3, parameters: Parameters, table: Table) -> wp.vec3:
    """Change of the velocity of grain i by grain j, which it touches."""
    x = table.positions[i]
    y = table.positions[j]
    d = wp.vec3(x[0] - y[0], x[1] - y[1], x[2] - y[2])
    distance = wp.length(d)
    v = table.velocities[i]
    u = table.velocities[j]
    start = wp.vec3(v[0], v[1], v[2]) + parameters.gravity * parameters.dt + change
    return projected(
        d / wp.max(distance, 1.0e-20), 2.0 * parameters.radius - distance, start, wp.vec3(u[0], u[1], u[2]),
        parameters.friction, parameters,
    )  # fmt: skip


@once
def walk(noting: bool) -> wp.Function:
    """Walk the 27 cells around grain i, and resolve its contacts or note them down; the change, and how many."""

    @wp.func
    def go(i: int, sweeps: int, parameters: Parameters, table: Table) -> wp.vec4:
        x = table.positions[i]
        diameter = 2.0 * parameters.radius
        home = cell_of(x, diameter)
        change = wp.vec3()
        found = int(0)
        looked = int(0)
        for _sweep in range(sweeps):
            found = int(0)
            for place in range(27):
                cell = home + wp.vec3i(place % 3 - 1, (place // 3) % 3 - 1, place // 9 - 1)
                j = table.heads[bucket_of(cell, table.heads.shape[0])]
                while j >= 0:
                    y = table.positions[j]
                    if cell_of(y, diameter) == cell and j != i:
                        away = wp.vec3(x[0] - y[0], x[1] - y[1], x[2] - y[2])
                        looked += 1
                        if wp.dot(away, away) < diameter * diameter:
                            if wp.static(noting):
                                if found < wp.static(MOST):
                                    table.notes[i * wp.static(MOST) + found] = j
                            else:
                                change += resolve(i, j, change, parameters, table)
                            found += 1
                    j = table.nexts[j]
        table.candidates[i] = looked // sweeps
        return wp.vec4(change[0], change[1], change[2], float(found))

    return go


@wp.func
def resolve_notes(i: int, contacts: float, sweeps: int, parameters: Parameters, table: Table) -> wp.vec4:
    """What the contacts do that grain i has noted down; the change, and how many."""
    change = wp.vec3()
    for _sweep in range(sweeps):
        for k in range(wp.min(int(contacts), wp.static(MOST))):
            change += resolve(i, table.notes[i * wp.static(MOST) + k], change, parameters, table)
    return wp.vec4(change[0], change[1], change[2], contacts)


@once
def arrangement(name: str) -> tuple[wp.Kernel, ...]:
    """The kernels of "one-loop", "two-loops" or "two-kernels", to be launched one after the other."""
    find, find_and_resolve = walk(True), walk(False)

    @wp.kernel(module="unique", enable_backward=False)
    def one_loop(sweeps: int, parameters: Parameters, table: Table):
        i = wp.tid()
        table.changes[i] = find_and_resolve(i, sweeps, parameters, table)

    @wp.kernel(module="unique", enable_backward=False)
    def two_loops(sweeps: int, parameters: Parameters, table: Table):
        i = wp.tid()
        table.changes[i] = resolve_notes(i, find(i, 1, parameters, table)[3], sweeps, parameters, table)

    @wp.kernel(module="unique", enable_backward=False)
    def look(sweeps: int, parameters: Parameters, table: Table):
        i = wp.tid()
        table.changes[i] = find(i, 1, parameters, table)

    @wp.kernel(module="unique", enable_backward=False)
    def respond(sweeps: int, parameters: Parameters, table: Table):
        i = wp.tid()
        table.changes[i] = resolve_notes(i, table.changes[i][3], sweeps, parameters, table)

    return {"one-loop": (one_loop,), "two-loops": (two_loops,), "two-kernels": (look, respond)}[name]
