"""Actions a second of the environments, for one world and for many side by side."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import warp as wp

from annelid.core.measurement import Measurement
from annelid.envs import make_worlds
from annelid.envs.worlds import Worlds

_ONE, _MANY = 20.0, 150.0  # actions a second of the bulldozer that a GPU should reach
_SOURCE = "100 steps of 1e-3 s an action, depth images included"


@dataclass(frozen=True)
class Options:
    """Options of `annelid bench envs`."""

    seconds: float = 5.0
    """Wall time for each rate [s]."""
    grains: int = 10_000
    """Grains of a bulldozer's field."""
    batch: int | None = None
    """Bulldozers side by side; 32 on CUDA and 2 on a CPU by default."""
    soft: int | None = None
    """Soft robots side by side; 1,024 on CUDA and 16 on a CPU by default."""


def bench(device: wp.Device, threads: int | None, options: Options) -> Iterator[Measurement]:
    """Rates of all environments; batches count the actions of all their worlds."""
    cuda = device.is_cuda
    batch, soft = options.batch or (32 if cuda else 2), options.soft or (1024 if cuda else 16)
    machine: dict[str, Any] = {"device": device, "threads": threads}
    bulldozer = {"grains": options.grains, **machine}
    whole = cuda and options.grains >= 10_000
    for count, goal in ((1, _ONE), (batch, _MANY)):
        worlds = make_worlds("annelid/Bulldozer-v0", count, **bulldozer)
        rate = actions_per_second(worlds, options.seconds)
        yield Measurement(
            f"bulldozer-{options.grains}-worlds-{count}", rate, "actions/s", goal if whole else None, bound="at-least",
            source=_SOURCE,
        )  # fmt: skip
    fast = make_worlds("annelid/Bulldozer-v0", 1, dt=1e-2, **bulldozer)
    yield Measurement(f"bulldozer-{options.grains}-fast", actions_per_second(fast, options.seconds), "actions/s")
    for count in (1, batch):
        worlds = make_worlds("annelid/Excavation-v0", count, **machine)
        yield Measurement(f"excavation-worlds-{count}", actions_per_second(worlds, options.seconds), "actions/s")
    for name, title in (("VoxelLocomotion", "voxel-locomotion"), ("SpringWalker", "spring-walker")):
        for count in (1, soft):
            worlds = make_worlds(f"annelid/{name}-v0", count, **machine)
            yield Measurement(f"{title}-worlds-{count}", actions_per_second(worlds, options.seconds), "actions/s")


def actions_per_second(worlds: Worlds, seconds: float) -> float:
    """Actions of all worlds a second of wall time, with random actions; the first ones, which compile, do not count."""
    generator = np.random.default_rng(0)
    shape = (worlds.count, worlds.action_size)
    worlds.restart(seeds=range(worlds.count))
    for _ in range(2):
        worlds.step(generator.uniform(-1.0, 1.0, shape).astype(np.float32))
    wp.synchronize_device(worlds.device)
    begin, steps = time.perf_counter(), 0
    while steps == 0 or time.perf_counter() - begin < seconds:
        worlds.step(generator.uniform(-1.0, 1.0, shape).astype(np.float32))
        wp.synchronize_device(worlds.device)
        steps += 1
    return steps * worlds.count / (time.perf_counter() - begin)
