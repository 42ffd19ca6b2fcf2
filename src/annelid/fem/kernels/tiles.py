"""Elimination of many fronts at once in square tiles.

All tiles lie one below the other in one array; lists say which of them a stage works on. Blocks of a stage never write
what another one reads. `tile_pivots`, `tile_products` and `tile_solution` have the stages; here is how numbers get to
their tiles, and from those of children to those of parents.
"""
# Annotations are not postponed here: Warp reads the types of the kernels below from their closures.

import warp as wp

wp.set_module_options({"enable_backward": False})

f64 = wp.float64


@wp.kernel
def fill_entries(
    sources: wp.array[wp.int32],
    targets: wp.array[wp.int32],
    values: wp.array[wp.mat33d],
    numbers_out: wp.array[f64],
):
    """Numbers of the stored blocks to where they belong."""
    k = wp.tid()
    source = sources[k]
    within = source % 9
    value = values[source // 9]
    numbers_out[targets[k]] = value[within // 3, within % 3]


@wp.kernel
def add_at(targets: wp.array[wp.int32], amount: f64, numbers: wp.array[f64]):
    """Add a number to entries of which each is named once."""
    k = wp.tid()
    numbers[targets[k]] = numbers[targets[k]] + amount


@wp.func
def place_in_tile(tile: int, row: int, column: int) -> int:
    """Where a number of a tile is, in squares of 8 x 8."""
    return ((row // 8) * (tile // 8) + column // 8) * 64 + (row % 8) * 8 + column % 8


@wp.func
def tile_entry(tile: int, base: int, row: int, column: int) -> int:
    """Where the entry of a front is, whose tiles on and below the diagonal begin with `base`, row by row."""
    i = row // tile
    j = column // tile
    return (base + i * (i + 1) // 2 + j) * tile * tile + place_in_tile(tile, row % tile, column % tile)


@wp.kernel
def add_update(
    # Parameters:
    tile: int, first: int, items: wp.array2d[wp.int32], rows: wp.array[wp.int32],
    parent_rows: wp.array[wp.int32],
    # State:
    numbers: wp.array[f64],
):  # fmt: skip
    """What fronts leave of their edges, added to their parents; threads share the columns of a row, as they lie.

    Items are the base of a front, that of its parent, a row among those on its edge, and where these begin.
    """
    item, lane = wp.tid()
    item += first
    base, parent, row, begin = items[item, 0], items[item, 1], items[item, 2], items[item, 3]
    for column in range(begin + lane, row + 1, 32):
        source = tile_entry(tile, base, rows[row], rows[column])
        target = tile_entry(tile, parent, parent_rows[row], parent_rows[column])
        numbers[target] = numbers[target] + numbers[source]


@wp.kernel
def pull_at(nodes: wp.array[wp.int32], force_out: wp.array2d[wp.vec3d]):
    """Unit forces on nodes, along one axis after the other: three columns a node."""
    number, axis = wp.tid()
    force = wp.vec3d()
    force[axis] = f64(1.0)
    force_out[nodes[number], 3 * number + axis] = force


@wp.kernel
def pick(nodes: wp.array[wp.int32], vectors: wp.array2d[wp.vec3d], picked_out: wp.array2d[wp.vec3d]):
    """Rows of some nodes."""
    row, column = wp.tid()
    picked_out[row, column] = vectors[nodes[row], column]


@wp.kernel
def add_answers(
    first: int, count: int, pulls: wp.array[f64], answers: wp.array2d[wp.vec3d], vectors: wp.array2d[wp.vec3d]
):
    """Add what nodes answer to forces of which they know the answers to unit ones."""
    i = wp.tid()
    total = vectors[i, 0]
    for k in range(count):
        total += pulls[first + k] * answers[i, k]
    vectors[i, 0] = total
