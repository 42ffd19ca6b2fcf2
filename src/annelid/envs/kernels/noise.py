"""What the noise of sensors is drawn from in episodes."""

import warp as wp

wp.set_module_options({"enable_backward": False})


@wp.kernel(enable_backward=False)
def episode_keys(
    seeds: wp.array[wp.int32],
    episodes: wp.array[wp.int32],
    steps: wp.array[wp.int32],  # actions of the episode before this one
    acted: int,  # 1 after an action, 0 at the beginning
    keys_out: wp.array[wp.int32],
):
    """A key for each world from its seed, the number of its episode, and the actions that it took in it."""
    world = wp.tid()
    episode = wp.rand_init(seeds[world], episodes[world])
    keys_out[world] = wp.randi(wp.rand_init(wp.randi(episode), steps[world] + acted))
