"""Time of gradients through motions of springs: there, there and back, and the ratio of the two."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
import warp as wp

from annelid import Rollout, Simulation, Travel, springs
from annelid.core.errors import InvalidValue
from annelid.core.measurement import Measurement
from annelid.core.options import Precision
from annelid.core.timing import shortest_time
from annelid.shapes import Plane

_CONTROLS = 3
_SPRING, _MASS = ("stiffness", "rest_lengths", "damping"), ("masses", "friction", "velocity_damping")


@dataclass(frozen=True)
class Options:
    """Options of `annelid bench gradients`."""

    steps: int = 1000
    """Steps of each motion."""
    robots: int = 0
    """Robots side by side; 0 takes 1,024 on CUDA and 8 on a CPU."""
    repeats: int = 3
    """How often each time is measured; the shortest counts."""


def bench(device: wp.Device, threads: int | None, options: Options) -> Iterator[Measurement]:
    """Times of a block with rates by everything, and of many robots with rates by their commands and springs."""
    if min(options.steps, options.repeats) < 1 or options.robots < 0 or options.steps % 20:
        raise InvalidValue(
            f"--steps {options.steps} must be a multiple of 20, --repeats {options.repeats} at least 1 and --robots "
            f"{options.robots} not negative."
        )
    most = 3.0 if device.is_cuda else 3.2
    for precision in get_args(Precision):
        walker = _walker(springs.block((12, 4, 4), damping=2.0, stiffness=1e3), device, threads, precision)
        rollout = Rollout(walker, options.steps)
        given = {name: rollout.value(name) for name in (*_SPRING, *_MASS, "positions", "velocities")}
        yield from _times(f"block-12x4x4-{precision}", rollout, given, options, most)
    robots = options.robots or (1024 if device.is_cuda else 8)
    rollout = Rollout(_walker(_robot(), device, threads, "float32", robots), options.steps)
    given = {"stiffness": rollout.value("stiffness")}
    yield from _times(f"robots-{robots}-of-7x7x5", rollout, given, options, most)


def _robot() -> springs.Body:
    """A block of 245 masses joined along edges and face diagonals by 1,648 springs."""
    pitch = 0.1
    block = springs.block((7, 7, 5), pitch, damping=2.0, stiffness=1e3)
    kept = block.rest_lengths < 1.5 * pitch
    return springs.Body(
        positions=block.positions, masses=block.masses, springs=block.springs[kept],
        rest_lengths=block.rest_lengths[kept], stiffness=block.stiffness[kept], damping=block.damping[kept],
    )  # fmt: skip


def _walker(
    body: springs.Body, device: wp.Device, threads: int | None, precision: Precision, worlds: int | None = None
) -> Simulation[springs.Solver]:
    """A body on the ground that commands stretch in three parts."""
    middle = body.positions[body.springs].mean(axis=1)[:, 0]
    part = (0.999 * _CONTROLS * middle / body.positions[:, 0].max()).astype(int)
    for number in range(_CONTROLS):
        body.control(f"part-{number}", part == number)
    return springs.simulation(
        body, dt=5e-4, precision=precision, velocity_damping=15.0, obstacles=[Plane()], worlds=worlds, device=device,
        threads=threads,
    )  # fmt: skip


def _times(
    name: str, rollout: Rollout, given: dict[str, Any], options: Options, most: float
) -> Iterator[Measurement]:  # fmt: skip
    """Times of a motion with a wave of commands, there, and there and back."""
    moments = np.arange(options.steps // 20)[:, None]
    wave = 1.0 + 0.1 * np.sin(0.19 * moments - 2.1 * np.arange(_CONTROLS))
    given = {**given, "controls": np.broadcast_to(wave, (rollout.worlds, *wave.shape)).copy()}
    loss = Travel("x")
    there = shortest_time(lambda: rollout.forward(given), options.repeats, warm_up=2)
    both = shortest_time(lambda: rollout.gradient(loss, given), options.repeats, warm_up=2)
    source = f"checkpoints every {rollout.plan.every} of {options.steps} steps"
    yield Measurement(f"{name}-forward", there, "s", source=source)
    goal = 1.0 if (rollout.worlds, options.steps) == (1024, 1000) else None
    yield Measurement(f"{name}-gradient", both, "s", goal, bound="at-most")
    yield Measurement(f"{name}-ratio", both / there, "", most, bound="at-most", source="forward alone = 1")
    yield Measurement(f"{name}-step", 1e6 * both / options.steps, "us", source="there and back")
