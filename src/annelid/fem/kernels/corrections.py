"""Corrections that were made with an old factor, and the next one, made better by what they have shown."""
# Annotations are not postponed here: Warp reads the types of the kernels below from their closures.

import warp as wp

wp.set_module_options({"enable_backward": False})

f64 = wp.float64

KEPT = 6
"""Moves that are remembered."""

Shares = wp.types.vector(length=KEPT, dtype=wp.float64)
"""How much of each move is made again."""


@wp.kernel
def begin_with(
    # State in:
    shares: wp.array[f64], right: wp.array2d[wp.vec3d], move: wp.array[wp.vec3d],
    # State out:
    last_rest_out: wp.array[wp.vec3d], last_made_out: wp.array[wp.vec3d], last_step_out: wp.array[wp.vec3d],
):  # fmt: skip
    """Note a move that a factor has made of a combination of right-hand sides."""
    i = wp.tid()
    rest = wp.vec3d()
    for k in range(right.shape[1]):
        rest += shares[k] * right[i, k]
    last_rest_out[i] = rest
    last_made_out[i] = move[i]
    last_step_out[i] = move[i]


@wp.kernel
def note_move(
    # Parameters:
    slot: int,
    # State in:
    rest: wp.array[wp.vec3d], made: wp.array[wp.vec3d],
    last_rest: wp.array[wp.vec3d], last_made: wp.array[wp.vec3d], last_step: wp.array[wp.vec3d],
    # State out:
    moves_out: wp.array2d[wp.vec3d], changes_out: wp.array2d[wp.vec3d], made_out: wp.array2d[wp.vec3d],
):  # fmt: skip
    """The last move, how it has changed the forces, and what the factor makes of that."""
    i = wp.tid()
    moves_out[slot, i] = last_step[i]
    changes_out[slot, i] = rest[i] - last_rest[i]
    made_out[slot, i] = made[i] - last_made[i]


@wp.kernel
def dot_moves(
    # Parameters:
    slot: int,
    # State in:
    rest: wp.array[wp.vec3d], moves: wp.array2d[wp.vec3d], changes: wp.array2d[wp.vec3d],
    # State out:
    parts_out: wp.array3d[f64],
):  # fmt: skip
    """Partial sums of twice the stiffness between each move and the one in a slot, and of the work along each."""
    k, part = wp.tid()
    both = f64(0.0)
    work = f64(0.0)
    for i in range(part, rest.shape[0], parts_out.shape[2]):
        both -= wp.dot(moves[k, i], changes[slot, i]) + wp.dot(moves[slot, i], changes[k, i])
        work += wp.dot(moves[k, i], rest[i])
    parts_out[0, k, part] = both
    parts_out[1, k, part] = work


@wp.kernel
def correct_better(
    # Parameters:
    used: int, shares: Shares,
    # State in:
    rest: wp.array[wp.vec3d], moves: wp.array2d[wp.vec3d], made: wp.array2d[wp.vec3d],
    # State in place:
    step: wp.array[wp.vec3d],
    # State out:
    last_rest_out: wp.array[wp.vec3d], last_made_out: wp.array[wp.vec3d], last_step_out: wp.array[wp.vec3d],
):  # fmt: skip
    """A correction and some of each move, with what the factor makes of the change of forces along it."""
    i = wp.tid()
    last_rest_out[i] = rest[i]
    last_made_out[i] = step[i]
    found = step[i]
    for k in range(used):
        found += shares[k] * (moves[k, i] + made[k, i])
    step[i] = found
    last_step_out[i] = found
