"""Actions a second of the environments, for one world and for many side by side, and where their time goes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import warp as wp

from annelid.core.measurement import Measurement
from annelid.core.stopwatch import Stopwatch
from annelid.envs import make_worlds
from annelid.envs.worlds import Worlds

_ONE, _MANY = 20.0, 150.0  # actions a second of the bulldozer that a GPU should reach
_SOURCE = "100 steps of 1e-3 s an action, depth images included"
_PARTS = {
    "host": "actions are taken and looked at",
    "physics": "steps, with what acts between them",
    "sensors": "readings, and what the task measures",
    "rewards": "rewards and ends",
    "observations": "observations, images among them",
}


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
    """Rates of all environments; batches count the actions of all their worlds, and tell where their time goes."""
    cuda = device.is_cuda
    batch, soft = options.batch or (32 if cuda else 2), options.soft or (1024 if cuda else 16)
    machine: dict[str, Any] = {"device": device, "threads": threads}
    bulldozer = {"grains": options.grains, **machine}
    whole = cuda and options.grains >= 10_000
    for count, goal in ((1, _ONE), (batch, _MANY)):
        worlds = make_worlds("annelid/Bulldozer-v0", count, **bulldozer)
        rate, title = actions_per_second(worlds, options.seconds), f"bulldozer-{options.grains}-worlds-{count}"
        yield Measurement(
            title, rate, "actions/s", goal if whole else None, bound="at-least", source=_SOURCE,
        )  # fmt: skip
    yield from parts(title, worlds, options.seconds)
    fast = make_worlds("annelid/Bulldozer-v0", 1, dt=1e-2, **bulldozer)
    yield Measurement(f"bulldozer-{options.grains}-fast", actions_per_second(fast, options.seconds), "actions/s")
    cases: tuple[tuple[str, str, int, dict[str, Any]], ...] = (
        ("excavation", "Excavation", batch, {}),
        ("voxel-locomotion", "VoxelLocomotion", soft, {}),
        ("spring-walker", "SpringWalker", soft, {}),
        ("sand-worm", "SandWorm", batch, {}),
        ("sand-worm-resistive", "SandWorm", soft, {"ground": "resistive"}),
    )
    for short, name, many, given in cases:
        for count in (1, many):
            worlds, title = make_worlds(f"annelid/{name}-v0", count, **given, **machine), f"{short}-worlds-{count}"
            yield Measurement(title, actions_per_second(worlds, options.seconds), "actions/s")
        yield from parts(title, worlds, options.seconds)


def parts(title: str, worlds: Worlds, seconds: float) -> Iterator[Measurement]:
    """Wall time of the parts of an action of all worlds [ms], each waited for."""
    worlds.stopwatch = Stopwatch(worlds.device)
    taken = _act(worlds, seconds, begin=worlds.stopwatch.start)
    for part, spent in worlds.stopwatch.seconds.items():
        yield Measurement(f"{title}-{part}", 1e3 * spent / taken, "ms", source=_PARTS[part])
    worlds.stopwatch = None


def actions_per_second(worlds: Worlds, seconds: float) -> float:
    """Actions of all worlds a second of wall time, with random actions; the first ones, which compile, do not count."""
    worlds.restart(seeds=range(worlds.count))
    _act(worlds, 0.0)
    _act(worlds, 0.0)
    began = time.perf_counter()
    return _act(worlds, seconds) * worlds.count / (time.perf_counter() - began)


def _act(worlds: Worlds, seconds: float, begin: Callable[[], None] | None = None) -> int:
    """Take random actions for so long, one at least; returns how many."""
    generator, shape = np.random.default_rng(0), (worlds.count, worlds.action_size)
    began, taken = time.perf_counter(), 0
    while taken == 0 or time.perf_counter() - began < seconds:
        actions = generator.uniform(-1.0, 1.0, shape).astype(np.float32)
        if begin is not None:
            begin()
        worlds.step(actions)
        wp.synchronize_device(worlds.device)
        taken += 1
    return taken
