"""The linked hash of GranularGym (its Algorithm 2 and eq. 6), and its response in three arrangements (its Fig. 5).

Kept to be measured beside the lists: one loop that answers contacts as it finds them, two loops in one kernel that
first note contacts down, and two kernels. Buckets that distant cells share are told apart by the cell of each
candidate, which the paper leaves out.
"""

import functools

import warp as wp

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


@wp.kernel
def clear(heads: wp.array(dtype=wp.int32)):
    heads[wp.tid()] = -1


@wp.kernel
def insert(
    positions: wp.array(dtype=wp.vec4), diameter: float, heads: wp.array(dtype=wp.int32),
    nexts: wp.array(dtype=wp.int32),
):  # fmt: skip
    """Algorithm 2: its loop of compare-and-swap is an exchange."""
    i = wp.tid()
    bucket = bucket_of(cell_of(positions[i], diameter), heads.shape[0])
    nexts[i] = wp.atomic_exch(heads, bucket, i)


@wp.func
def answer(
    i: int, j: int, change: wp.vec3, parameters: Parameters, positions: wp.array(dtype=wp.vec4),
    velocities: wp.array(dtype=wp.vec4),
) -> wp.vec3:  # fmt: skip
    """Change of the velocity of grain i by grain j, which it touches."""
    x = positions[i]
    y = positions[j]
    d = wp.vec3(x[0] - y[0], x[1] - y[1], x[2] - y[2])
    distance = wp.length(d)
    v = velocities[i]
    u = velocities[j]
    start = wp.vec3(v[0], v[1], v[2]) + parameters.gravity * parameters.time_step + change
    return projected(
        d / wp.max(distance, 1.0e-20), 2.0 * parameters.radius - distance, start, wp.vec3(u[0], u[1], u[2]),
        parameters.friction, parameters,
    )  # fmt: skip


@functools.cache
def walk(noting: bool) -> wp.Function:
    """Walk the 27 cells around grain i, and answer its contacts or note them down; the change, and how many."""

    @wp.func
    def go(
        i: int, parameters: Parameters, positions: wp.array(dtype=wp.vec4), velocities: wp.array(dtype=wp.vec4),
        heads: wp.array(dtype=wp.int32), nexts: wp.array(dtype=wp.int32), sweeps: int,
        notes: wp.array(dtype=wp.int32), candidates: wp.array(dtype=wp.int32),
    ) -> wp.vec4:  # fmt: skip
        x = positions[i]
        diameter = 2.0 * parameters.radius
        home = cell_of(x, diameter)
        change = wp.vec3()
        found = int(0)
        looked = int(0)
        for _sweep in range(sweeps):
            found = int(0)
            for place in range(27):
                cell = home + wp.vec3i(place % 3 - 1, (place // 3) % 3 - 1, place // 9 - 1)
                j = heads[bucket_of(cell, heads.shape[0])]
                while j >= 0:
                    if cell_of(positions[j], diameter) == cell and j != i:
                        y = positions[j]
                        away = wp.vec3(x[0] - y[0], x[1] - y[1], x[2] - y[2])
                        looked += 1
                        if wp.dot(away, away) < diameter * diameter:
                            if wp.static(noting):
                                if found < wp.static(MOST):
                                    notes[i * wp.static(MOST) + found] = j
                            else:
                                change += answer(i, j, change, parameters, positions, velocities)
                            found += 1
                    j = nexts[j]
        candidates[i] = looked // sweeps
        return wp.vec4(change[0], change[1], change[2], float(found))

    return go


@wp.func
def answer_notes(
    i: int, count: int, sweeps: int, parameters: Parameters, positions: wp.array(dtype=wp.vec4),
    velocities: wp.array(dtype=wp.vec4), notes: wp.array(dtype=wp.int32),
) -> wp.vec3:  # fmt: skip
    change = wp.vec3()
    for _sweep in range(sweeps):
        for k in range(wp.min(count, wp.static(MOST))):
            change += answer(i, notes[i * wp.static(MOST) + k], change, parameters, positions, velocities)
    return change


@functools.cache
def arrangement(name: str) -> tuple[wp.Kernel, ...]:
    """The kernels of "one-loop", "two-loops" or "two-kernels", to be launched one after the other."""
    find, find_and_answer = walk(True), walk(False)

    @wp.kernel(module="unique", enable_backward=False)
    def one_loop(
        parameters: Parameters, positions: wp.array(dtype=wp.vec4), velocities: wp.array(dtype=wp.vec4),
        heads: wp.array(dtype=wp.int32), nexts: wp.array(dtype=wp.int32), sweeps: int,
        notes: wp.array(dtype=wp.int32), candidates: wp.array(dtype=wp.int32), changes: wp.array(dtype=wp.vec4),
    ):  # fmt: skip
        i = wp.tid()
        changes[i] = find_and_answer(i, parameters, positions, velocities, heads, nexts, sweeps, notes, candidates)

    @wp.kernel(module="unique", enable_backward=False)
    def two_loops(
        parameters: Parameters, positions: wp.array(dtype=wp.vec4), velocities: wp.array(dtype=wp.vec4),
        heads: wp.array(dtype=wp.int32), nexts: wp.array(dtype=wp.int32), sweeps: int,
        notes: wp.array(dtype=wp.int32), candidates: wp.array(dtype=wp.int32), changes: wp.array(dtype=wp.vec4),
    ):  # fmt: skip
        i = wp.tid()
        found = find(i, parameters, positions, velocities, heads, nexts, 1, notes, candidates)
        change = answer_notes(i, int(found[3]), sweeps, parameters, positions, velocities, notes)
        changes[i] = wp.vec4(change[0], change[1], change[2], found[3])

    @wp.kernel(module="unique", enable_backward=False)
    def look(
        parameters: Parameters, positions: wp.array(dtype=wp.vec4), velocities: wp.array(dtype=wp.vec4),
        heads: wp.array(dtype=wp.int32), nexts: wp.array(dtype=wp.int32), sweeps: int,
        notes: wp.array(dtype=wp.int32), candidates: wp.array(dtype=wp.int32), changes: wp.array(dtype=wp.vec4),
    ):  # fmt: skip
        i = wp.tid()
        changes[i] = find(i, parameters, positions, velocities, heads, nexts, 1, notes, candidates)

    @wp.kernel(module="unique", enable_backward=False)
    def respond(
        parameters: Parameters, positions: wp.array(dtype=wp.vec4), velocities: wp.array(dtype=wp.vec4),
        heads: wp.array(dtype=wp.int32), nexts: wp.array(dtype=wp.int32), sweeps: int,
        notes: wp.array(dtype=wp.int32), candidates: wp.array(dtype=wp.int32), changes: wp.array(dtype=wp.vec4),
    ):  # fmt: skip
        i = wp.tid()
        count = changes[i][3]
        change = answer_notes(i, int(count), sweeps, parameters, positions, velocities, notes)
        changes[i] = wp.vec4(change[0], change[1], change[2], count)

    return {"one-loop": (one_loop,), "two-loops": (two_loops,), "two-kernels": (look, respond)}[name]
