"""Returns of what an agent must beat in each environment: doing nothing, chance, and a scripted policy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import warp as wp

from annelid.core.errors import InvalidValue, UnknownName
from annelid.core.measurement import Measurement
from annelid.envs import TASKS, make_worlds
from annelid.envs.registration import environment_names, short
from annelid.envs.training.evaluation import baseline_outcomes, successes

_MOST_SIDE_BY_SIDE = 16
_CHEAPER: dict[str, dict[str, Any]] = {
    "annelid/Bulldozer-v0": {"grains": 1000, "dt": 1e-2, "images": False},
    "annelid/Excavation-v0": {"images": False},
}
"""Options that make an episode affordable; scripts do not look at images."""


@dataclass(frozen=True)
class Options:
    """Options of `annelid bench tasks`."""

    names: tuple[str, ...] = ()
    """Environments; all of them by default, which takes long on a CPU."""
    episodes: int = 10
    """Episodes of each baseline."""
    seed: int = 0
    """Seed of the random actions."""


def bench(device: wp.Device, threads: int | None, options: Options) -> Iterator[Measurement]:
    """Mean of the returns, their deviation, share of successes; a bulldozer has 1,000 grains, nobody images."""
    if options.episodes < 1:
        raise InvalidValue(f"--episodes must be 1 or more, not {options.episodes}.")
    for name in _chosen(options.names):
        count = min(options.episodes, _MOST_SIDE_BY_SIDE)
        worlds = make_worlds(name, count, device=device, threads=threads, **_CHEAPER.get(name, {}))
        for kind, returns, ends in baseline_outcomes(name, worlds, options.episodes, seed=options.seed):
            title = f"{short(name).lower()}-{kind}"
            yield Measurement(f"{title}-mean", float(returns.mean()))
            yield Measurement(f"{title}-deviation", float(returns.std()))
            success = successes(ends)
            if success is not None:
                yield Measurement(f"{title}-success", success)


def _chosen(names: tuple[str, ...]) -> list[str]:
    known = {short(name).lower(): name for name in TASKS}
    for name in names:
        if name.lower() not in known:
            raise UnknownName("environment", name, environment_names())
    return [known[name.lower()] for name in names] or list(TASKS)
