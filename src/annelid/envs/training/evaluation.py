"""Returns of whole episodes: of a trained agent, and of what it must beat."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from annelid.envs.baselines import has_script, scripted
from annelid.envs.spaces import host_observations, packed
from annelid.envs.worlds import Policy, Worlds

FIRST_SEED = 1_000_000
"""Seeds of evaluation episodes begin here, away from those of training."""


def episode_returns(
    worlds: Worlds, policy: Policy, episodes: int, *, repeat: int = 1, seed: int = FIRST_SEED
) -> np.ndarray:
    """Return of each of some episodes, whose seeds follow each other; worlds run side by side.

    Args:
        worlds: A batch.
        policy: What acts.
        episodes: How many.
        repeat: Actions for which it holds what it has chosen.
        seed: Seed of the first.
    """
    found: list[np.ndarray] = []
    while sum(len(part) for part in found) < episodes:
        first = seed + sum(len(part) for part in found)
        found.append(_batch_returns(worlds, held(policy, repeat), first))
    return np.concatenate(found)[:episodes]


def baseline_returns(name: str, worlds: Worlds, episodes: int, *, seed: int = 0) -> Iterator[tuple[str, np.ndarray]]:
    """Returns of doing nothing ("zero"), of chance ("random"), and of the scripted policy if there is one ("scripted").

    Args:
        name: Name of the environment.
        worlds: A batch of it.
        episodes: How many of each; all begin with the same seeds.
        seed: Seed of the random actions.
    """
    yield "zero", episode_returns(worlds, constant(worlds), episodes)
    yield "random", episode_returns(worlds, uniform(worlds, seed), episodes)
    if has_script(name):
        yield "scripted", episode_returns(worlds, scripted(name, worlds), episodes)


def constant(worlds: Worlds, value: float = 0.0) -> Policy:
    """The same action always: its first number is `value`, the others are 0."""
    action = np.zeros((worlds.count, worlds.action_size), np.float32)
    action[:, 0] = value
    return lambda _: action


def uniform(worlds: Worlds, seed: int = 0) -> Policy:
    """Actions that are drawn anew each time."""
    generator = np.random.default_rng(seed)
    return lambda _: generator.uniform(-1.0, 1.0, (worlds.count, worlds.action_size)).astype(np.float32)


def held(policy: Policy, repeat: int) -> Policy:
    """What chooses anew only every so many actions; the first time it is asked it chooses."""
    asked, chosen = -1, np.zeros(0)

    def act(observations: Any) -> np.ndarray:
        nonlocal asked, chosen
        asked += 1
        if asked % repeat == 0:
            chosen = policy(observations)
        return chosen

    return act


def _batch_returns(worlds: Worlds, policy: Policy, seed: int) -> np.ndarray:
    """Returns of one episode of each world."""
    worlds.restart(seeds=np.arange(worlds.count) + seed)
    totals, going = np.zeros(worlds.count), np.ones(worlds.count, bool)
    while going.any():
        worlds.step(policy(packed(host_observations(worlds))))
        totals += np.where(going, worlds.rewards.numpy(), 0.0)
        going &= ~worlds.done.numpy()
    return totals
