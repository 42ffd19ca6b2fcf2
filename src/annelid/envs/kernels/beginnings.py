"""How episodes of tasks begin: goals are drawn, and channels begin a little away from rest."""

import warp as wp

wp.set_module_options({"enable_backward": False})

_GOALS, _STIR = 0x5EED, 0x571A  # streams of random numbers of their own


@wp.kernel
def draw_goals(
    mask: wp.array[wp.bool],
    seeds: wp.array[wp.int32],
    episodes: wp.array[wp.int32],
    lows: wp.array[wp.float32],
    highs: wp.array[wp.float32],
    goals_out: wp.array2d[wp.float32],
):
    """Evenly between their limits, as seed and episode say."""
    world = wp.tid()
    if not mask[world]:
        return
    random = wp.rand_init(seeds[world] ^ wp.static(_GOALS), episodes[world])
    for k in range(lows.shape[0]):
        goals_out[world, k] = lows[k] + wp.randf(random) * (highs[k] - lows[k])


@wp.kernel
def stir_commands(
    mask: wp.array[wp.bool],
    seeds: wp.array[wp.int32],
    episodes: wp.array[wp.int32],
    most: float,  # share of the range of a channel
    lows: wp.array[wp.float64],
    highs: wp.array[wp.float64],
    # State in and out:
    commands: wp.array[wp.vec4d],
):
    """Let channels begin up to so far from where they are."""
    world = wp.tid()
    if not mask[world]:
        return
    random = wp.rand_init(seeds[world] ^ wp.static(_STIR), episodes[world])
    for k in range(lows.shape[0]):
        row = world * lows.shape[0] + k
        away = wp.float64(most * (wp.randf(random) - 0.5)) * (highs[k] - lows[k])
        value = wp.clamp(commands[row][1] + away, lows[k], highs[k])
        commands[row] = wp.vec4d(value, value, wp.float64(0.0), wp.float64(0.0))
