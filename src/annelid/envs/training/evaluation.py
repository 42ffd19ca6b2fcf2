"""Returns of whole episodes: of a trained agent, and of what it must beat."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from annelid.envs.baselines.registry import has_script, scripted
from annelid.envs.spaces import host_observations, packed
from annelid.envs.worlds import Policy, Worlds

FIRST_SEED = 1_000_000
"""Seeds of evaluation episodes begin here, away from those of training."""


def episode_returns(
    worlds: Worlds, policy: Policy, episodes: int, *, repeat: int = 1, seed: int = FIRST_SEED
) -> np.ndarray:
    """Return of each of some episodes; see `episode_outcomes`."""
    return episode_outcomes(worlds, policy, episodes, repeat=repeat, seed=seed)[0]


def episode_outcomes(
    worlds: Worlds, policy: Policy, episodes: int, *, repeat: int = 1, seed: int = FIRST_SEED
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Return of each of some episodes, whose seeds follow each other, and what `info` told of each at its end.

    Worlds run side by side.

    Args:
        worlds: A batch.
        policy: What acts.
        episodes: How many.
        repeat: Actions for which it holds what it has chosen.
        seed: Seed of the first.
    """
    found: list[np.ndarray] = []
    told: list[dict[str, np.ndarray]] = []
    while len(found) * worlds.count < episodes:
        first = seed + len(found) * worlds.count
        returns, ends = _batch_outcomes(worlds, held(policy, repeat), first)
        found.append(returns)
        told.append(ends)
    ends = {name: np.concatenate([each[name] for each in told])[:episodes] for name in told[0]}
    return np.concatenate(found)[:episodes], ends


def successes(ends: dict[str, np.ndarray]) -> float | None:
    """Share of episodes that ended well, of what `info` told at their ends; None where tasks do not say."""
    return float(ends["success"].mean()) if "success" in ends else None


def baseline_outcomes(
    name: str, worlds: Worlds, episodes: int, *, seed: int = 0
) -> Iterator[tuple[str, np.ndarray, dict[str, np.ndarray]]]:
    """Outcomes of doing nothing ("zero"), of chance ("random"), and of a script if there is one ("scripted").

    Args:
        name: Name of the environment.
        worlds: A batch of it.
        episodes: How many of each; all begin with the same seeds.
        seed: Seed of the random actions.
    """
    yield "zero", *episode_outcomes(worlds, constant(worlds), episodes)
    yield "random", *episode_outcomes(worlds, uniform(worlds, seed), episodes)
    if has_script(name):
        yield "scripted", *episode_outcomes(worlds, scripted(name, worlds), episodes)


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


def _batch_outcomes(worlds: Worlds, policy: Policy, seed: int) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Returns of one episode of each world, and what was told at its end."""
    worlds.restart(seeds=np.arange(worlds.count) + seed)
    totals, going, ends = np.zeros(worlds.count), np.ones(worlds.count, bool), {}
    while going.any():
        worlds.step(policy(packed(host_observations(worlds))))
        totals += np.where(going, worlds.rewards.numpy(), 0.0)
        over = going & worlds.done.numpy()
        if over.any():
            for name, values in worlds.info().items():
                ends.setdefault(name, np.zeros(worlds.count))[over] = values[over]
        going &= ~over
    return totals, ends
