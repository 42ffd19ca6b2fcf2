"""Mitchell's best-candidate selection, one point after the other, with a grid of cells to find neighbours in."""

# mypy: ignore-errors
# Warp compiles this module; its annotations mean nothing to a Python type checker.
import warp as wp

wp.set_module_options({"enable_backward": False})

MAX_NEIGHBOURS = 8
"""Most nearest neighbours that a candidate can be judged by."""

_Nearest = wp.types.vector(length=MAX_NEIGHBOURS, dtype=wp.float64)


@wp.struct
class Cells:
    low: wp.vec3d  # corner of the grid [m]
    size: wp.float64  # edge of a cell [m]
    counts: wp.vec3i
    heads: wp.array[wp.int32]  # last point put into each cell, -1 for none
    links: wp.array[wp.int32]  # the point put there before it


@wp.func
def _cell(cells: Cells, point: wp.vec3d) -> wp.vec3i:
    place = (point - cells.low) / cells.size
    x = wp.clamp(int(wp.floor(place[0])), 0, cells.counts[0] - 1)
    y = wp.clamp(int(wp.floor(place[1])), 0, cells.counts[1] - 1)
    z = wp.clamp(int(wp.floor(place[2])), 0, cells.counts[2] - 1)
    return wp.vec3i(x, y, z)


@wp.func
def _insert(cells: Cells, point: wp.vec3d, index: int):
    at = _cell(cells, point)
    cell = (at[0] * cells.counts[1] + at[1]) * cells.counts[2] + at[2]
    cells.links[index] = cells.heads[cell]
    cells.heads[cell] = index


@wp.func
def _score(cells: Cells, points: wp.array[wp.vec3d], count: int, wanted: int, here: wp.vec3d, best: wp.float64):
    """Distance to the nearest point and mean distance to the `wanted` nearest; (0, 0) as soon as `best` is missed."""
    near = _Nearest(wp.float64(1.0e300))
    found = int(0)
    at = _cell(cells, here)
    widest = wp.max(cells.counts[0], wp.max(cells.counts[1], cells.counts[2]))
    ring = int(0)
    more = bool(True)
    while more and ring < widest:
        for x in range(wp.max(at[0] - ring, 0), wp.min(at[0] + ring, cells.counts[0] - 1) + 1):
            for y in range(wp.max(at[1] - ring, 0), wp.min(at[1] + ring, cells.counts[1] - 1) + 1):
                step = int(1)
                if wp.abs(x - at[0]) < ring and wp.abs(y - at[1]) < ring:
                    step = 2 * ring  # of this column only the two ends belong to the ring
                z = at[2] - ring
                while z <= at[2] + ring:
                    if z >= 0 and z < cells.counts[2]:
                        other = cells.heads[(x * cells.counts[1] + y) * cells.counts[2] + z]
                        while other >= 0:
                            distance = wp.length(points[other] - here)
                            if distance < near[wanted - 1]:
                                slot = wanted - 1
                                while slot > 0 and near[slot - 1] > distance:
                                    near[slot] = near[slot - 1]
                                    slot -= 1
                                near[slot] = distance
                            found += 1
                            other = cells.links[other]
                    z += step
        have = wp.min(wanted, count)
        if found >= have:
            mean = wp.float64(0.0)
            for i in range(have):
                mean += near[i] / wp.float64(have)
            if mean <= best:
                return wp.vec2d(wp.float64(0.0), wp.float64(0.0))
            if near[have - 1] <= wp.float64(ring) * cells.size or found >= count:
                more = False
        ring += 1
    mean = wp.float64(0.0)
    for i in range(wp.min(wanted, count)):
        mean += near[i] / wp.float64(wp.min(wanted, count))
    return wp.vec2d(near[0], mean)


@wp.kernel
def choose_points(
    # Parameters
    cells: Cells,
    pool: wp.array[wp.vec3d],  # places in the shape [m]
    candidates: wp.array[wp.int32],  # places that are tried, in this order
    choice: int,  # candidates for each point
    wanted: int,  # nearest neighbours that a candidate is judged by
    spacing: wp.float64,  # least distance of two points [m]
    patience: int,  # rounds without a point before the shape counts as full
    begin: int,  # points already there
    end: int,  # points to have
    # State
    points: wp.array[wp.vec3d],
    counts: wp.array[wp.int32],  # points there now, and rounds in a row that found none
):
    for i in range(begin):
        _insert(cells, points[i], i)
    count = int(begin)
    misses = counts[1]
    rounds = candidates.shape[0] // choice
    turn = int(0)
    while turn < rounds and count < end and misses < patience:
        best = wp.float64(0.0)
        winner = int(-1)
        for c in range(choice):
            score = _score(cells, points, count, wanted, pool[candidates[turn * choice + c]], best)
            if score[0] >= spacing and score[1] > best:
                best = score[1]
                winner = candidates[turn * choice + c]
        if winner >= 0:
            points[count] = pool[winner]
            _insert(cells, pool[winner], count)
            count += 1
            misses = int(0)
        else:
            misses += 1
        turn += 1
    counts[0] = count
    counts[1] = misses
