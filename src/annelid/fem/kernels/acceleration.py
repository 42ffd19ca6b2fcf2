"""Steps of iterations that were taken, and a step that is made better by them."""
# Annotations are not postponed here: Warp reads the types of the kernels below from their closures.

import warp as wp

wp.set_module_options({"enable_backward": False})

f64 = wp.float64

KEPT = 5
"""Differences of steps that are kept."""

Shares = wp.types.vector(length=KEPT, dtype=wp.float64)
"""How much of each difference is taken away."""


@wp.kernel
def note_difference(
    # Parameters:
    slot: int,
    # State in:
    here: wp.array[wp.vec3d], step: wp.array[wp.vec3d],
    # State in place:
    last_here: wp.array[wp.vec3d], last_step: wp.array[wp.vec3d],
    # State out:
    ways_out: wp.array2d[wp.vec3d], changes_out: wp.array2d[wp.vec3d],
):  # fmt: skip
    """How far nodes have gone since the last step was found, and how another one is found here."""
    i = wp.tid()
    ways_out[slot, i] = here[i] - last_here[i]
    changes_out[slot, i] = step[i] - last_step[i]
    last_here[i] = here[i]
    last_step[i] = step[i]


@wp.kernel
def dot_changes(
    # Parameters:
    slot: int,
    # State in:
    step: wp.array[wp.vec3d], changes: wp.array2d[wp.vec3d],
    # State out:
    parts_out: wp.array3d[f64],
):  # fmt: skip
    """Partial sums of the products of each change with the one in a slot and with the step."""
    k, part = wp.tid()
    own = f64(0.0)
    along = f64(0.0)
    for i in range(part, step.shape[0], parts_out.shape[2]):
        own += wp.dot(changes[k, i], changes[slot, i])
        along += wp.dot(changes[k, i], step[i])
    parts_out[0, k, part] = own
    parts_out[1, k, part] = along


@wp.kernel
def combine(
    # Parameters:
    used: int, shares: Shares,
    # State in:
    step: wp.array[wp.vec3d], ways: wp.array2d[wp.vec3d], changes: wp.array2d[wp.vec3d],
    # State out:
    better_out: wp.array[wp.vec3d],
):  # fmt: skip
    """The step less some of each difference."""
    i = wp.tid()
    found = step[i]
    for k in range(used):
        found -= shares[k] * (ways[k, i] + changes[k, i])
    better_out[i] = found


@wp.kernel
def take_better(
    # Parameters:
    longest: f64,
    # State in:
    sizes: wp.array[f64], better: wp.array[wp.vec3d],
    # State in place:
    step: wp.array[wp.vec3d],
    # State out:
    plain_out: wp.array[wp.vec3d], taken_out: wp.array[wp.int32],
):  # fmt: skip
    """Take the better step unless it is so many times as long as the plain one, by the sizes of both."""
    i = wp.tid()
    plain_out[i] = step[i]
    taken = int(0)
    if sizes[0] <= longest * sizes[1]:
        taken = int(1)
        step[i] = better[i]
    if i == 0:
        taken_out[0] = taken
