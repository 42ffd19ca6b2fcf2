"""Episodes of many worlds, by masks: actions are checked, episodes begun and ended."""

import warp as wp

wp.set_module_options({"enable_backward": False})

NOT_A_NUMBER, OUT_OF_RANGE, BADLY_PAID = 1, 2, 4
"""Bits of what is wrong with the action of a world, or with the reward of the one before."""


@wp.kernel
def take_actions(
    given: wp.array2d[wp.float32],
    bad_rewards: wp.array[wp.int32],  # number of the action whose reward is no number, or 0
    # Out:
    action_out: wp.array2d[wp.float32],
    fault_out: wp.array[wp.int32],
):
    """Actions clipped to [-1, 1]; what was wrong with those of each world."""
    w = wp.tid()
    fault = int(0)
    if bad_rewards[w] > 0:
        fault = wp.static(BADLY_PAID)
    for k in range(given.shape[1]):
        value = given[w, k]
        if wp.isnan(value):
            fault = fault | wp.static(NOT_A_NUMBER)
            value = 0.0
        if wp.abs(value) > 1.0:
            fault = fault | wp.static(OUT_OF_RANGE)
        action_out[w, k] = wp.clamp(value, -1.0, 1.0)
    fault_out[w] = fault


@wp.kernel
def open_episodes(
    mask: wp.array[wp.bool],
    given: wp.array[wp.int32],  # new seeds; -1 for the next episode of the old one
    # State:
    episodes: wp.array[wp.int32],
    # State out:
    seeds_out: wp.array[wp.int32],
    steps_out: wp.array[wp.int32],
    actions_out: wp.array2d[wp.float32],
):
    w = wp.tid()
    if not mask[w]:
        return
    if given[w] >= 0:
        seeds_out[w] = given[w]
        episodes[w] = 0
    else:
        episodes[w] = episodes[w] + 1
    steps_out[w] = 0
    for k in range(actions_out.shape[1]):
        actions_out[w, k] = 0.0


@wp.kernel
def clear_results(
    mask: wp.array[wp.bool],
    # Out:
    reward_out: wp.array[wp.float32],
    terminated_out: wp.array[wp.bool],
    truncated_out: wp.array[wp.bool],
    done_out: wp.array[wp.bool],
):
    w = wp.tid()
    if mask[w]:
        reward_out[w] = 0.0
        terminated_out[w] = False
        truncated_out[w] = False
        done_out[w] = False


@wp.kernel
def close_steps(
    most: int,  # actions in an episode
    # State:
    steps: wp.array[wp.int32],
    rewards: wp.array[wp.float32],
    terminated: wp.array[wp.bool],
    truncated: wp.array[wp.bool],
    # Out:
    done_out: wp.array[wp.bool],
):
    """Count an action; the last one of an episode truncates it, and a world that is no longer finite ends."""
    w = wp.tid()
    steps[w] = steps[w] + 1
    if not wp.isfinite(rewards[w]):
        rewards[w] = 0.0
        terminated[w] = True
    if steps[w] >= most:
        truncated[w] = True
    done_out[w] = terminated[w] or truncated[w]
