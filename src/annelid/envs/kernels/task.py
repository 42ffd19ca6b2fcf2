"""Tasks of users: actions become values of channels, readings become observations, rewards are looked at."""

import warp as wp

wp.set_module_options({"enable_backward": False})


@wp.kernel(enable_backward=False)
def span_actions(
    actions: wp.array2d[wp.float32],
    lows: wp.array[wp.float64],
    highs: wp.array[wp.float64],
    values_out: wp.array2d[wp.float64],
):
    """From -1 for the least value of a channel to 1 for its largest."""
    world, c = wp.tid()
    share = wp.float64(0.5) * (wp.float64(1.0) + wp.float64(actions[world, c]))
    values_out[world, c] = lows[c] + share * (highs[c] - lows[c])


@wp.kernel(enable_backward=False)
def draw_uniform(
    seeds: wp.array[wp.int32],
    episodes: wp.array[wp.int32],
    low: float,
    high: float,
    numbers_out: wp.array2d[wp.float32],
):
    """Numbers of a range."""
    world = wp.tid()
    random = wp.rand_init(seeds[world], episodes[world])
    for k in range(numbers_out.shape[1]):
        numbers_out[world, k] = wp.randf(random, low, high)


@wp.kernel(enable_backward=False)
def draw_normal(
    seeds: wp.array[wp.int32], episodes: wp.array[wp.int32], spread: float, numbers_out: wp.array2d[wp.float32]
):
    """Numbers about 0."""
    world = wp.tid()
    random = wp.rand_init(seeds[world], episodes[world])
    for k in range(numbers_out.shape[1]):
        numbers_out[world, k] = spread * wp.randn(random)


@wp.kernel(enable_backward=False)
def copy_rows(mask: wp.array[wp.bool], rows: wp.array2d[wp.float32], rows_out: wp.array2d[wp.float32]):
    """The rows of masked worlds."""
    world, k = wp.tid()
    if mask[world]:
        rows_out[world, k] = rows[world, k]


@wp.kernel(enable_backward=False)
def copy_columns(rows: wp.array2d[wp.float32], begin: int, first: int, rows_out: wp.array2d[wp.float32]):
    """Columns from `begin` on to those from `first` on."""
    world, k = wp.tid()
    rows_out[world, first + k] = rows[world, begin + k]


@wp.kernel(enable_backward=False)
def judge(
    worth: wp.array[wp.float32],
    readings: wp.array2d[wp.float32],
    troubles: wp.array[wp.int64],  # first step of each world that is not finite, -1 for none
    steps: wp.array[wp.int32],
    rewards_out: wp.array[wp.float32],
    faults_out: wp.array[wp.int32],
):
    """Rewards; a fault is one that is not finite where all readings are, noted as the number of the action.

    A world that diverged ends elsewhere.
    """
    world = wp.tid()
    rewards_out[world] = worth[world]
    fine = bool(troubles[world] < wp.int64(0))
    for k in range(readings.shape[1]):
        if not wp.isfinite(readings[world, k]):
            fine = False
    known = readings.shape[1] > 0  # or nothing tells whether the world has diverged
    faults_out[world] = wp.where(known and fine and not wp.isfinite(worth[world]), steps[world] + 1, 0)
    if not fine:
        rewards_out[world] = wp.nan
