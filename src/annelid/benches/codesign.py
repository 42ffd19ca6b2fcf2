"""Time of gradients of 3-D voxel robots that a network steers: there, and there and back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
import warp as wp

from annelid.core.device import thread_count
from annelid.core.errors import InvalidValue
from annelid.core.measurement import Measurement
from annelid.core.timing import shortest_time
from annelid.voxels3d.codesign.batch import Ground
from annelid.voxels3d.codesign.bodies import BOX, random_bodies
from annelid.voxels3d.codesign.network import Network, random_weights
from annelid.voxels3d.codesign.seekers import Seekers

_EVERY = 5


@dataclass(frozen=True)
class Options:
    """Options of `annelid bench codesign`."""

    steps: int = 1000
    """Steps of each walk."""
    bodies: int = 0
    """Bodies side by side; 0 takes 1,024 on CUDA and 8 on a CPU."""
    hidden: tuple[int, ...] = (32, 32)
    """Neurons of the hidden layers of the network in each voxel."""
    repeats: int = 3
    """How often each time is measured; the shortest counts."""


def bench(device: wp.Device, threads: int | None, options: Options) -> Iterator[Measurement]:
    """Times of random bodies in 6x6x4 cells, as the study of co-design has them, and of full ones."""
    if min(options.steps, options.repeats) < 1 or options.bodies < 0 or options.steps % _EVERY:
        raise InvalidValue(
            f"--steps {options.steps} must be a multiple of {_EVERY}, --repeats {options.repeats} at least 1 and "
            f"--bodies {options.bodies} not negative."
        )
    count, rng, ground = options.bodies or (1024 if device.is_cuda else 8), np.random.default_rng(0), Ground(device)
    network = Network(random_weights(rng, options.hidden), options.hidden, device, ground.real)
    angles = rng.uniform(0.0, 2.0 * np.pi, count)
    lights = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    for name, grids in {"random": random_bodies(rng, count), "full": np.ones((count, *BOX), bool)}.items():
        walk = Seekers(
            ground, grids, lights, intervals=options.steps // _EVERY, every=_EVERY, threads=thread_count(threads)
        )
        there = shortest_time(partial(walk.run, network), options.repeats)
        both = shortest_time(partial(walk.gradient, network), options.repeats)
        goal = 1.0 if (count, options.steps) == (1024, 1000) else None
        yield Measurement(f"{name}-{count}-forward", there, "s", source=f"{walk.bodies.count} voxels")
        yield Measurement(f"{name}-{count}-gradient", both, "s", goal, bound="at-most")
