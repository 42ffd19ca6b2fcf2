"""One network for all bodies learns to walk to lights: worlds to learn in, Adam with restarts, files to go on from."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import warp as wp

from annelid.core.archives import Kind, read_archive, write_archive
from annelid.core.errors import FileFormatError
from annelid.core.options import Precision
from annelid.voxels3d.codesign.batch import Ground
from annelid.voxels3d.codesign.bodies import random_bodies
from annelid.voxels3d.codesign.network import Network, random_weights
from annelid.voxels3d.codesign.seekers import Seekers

NEAR, FAR = 0.4, 2.0
"""Distances of lights from bodies at the beginning [m]."""

_KIND = Kind("annelid-codesign-pretraining", 1, "a pretrained network of the co-design study")
_MEMORY, _DECAY, _CLIP = (0.9, 0.999), 5e-3, 1.0
_EACH = 2.0  # times the median that a body has a say in the gradient at most
_FIRST, _LOWER, _LEAST = 10, 0.65, 1e-5  # restarts after 10, 20, 40... batches, each from a lower rate


@dataclass(frozen=True)
class Task:
    """How long bodies walk, and with what network.

    Attributes:
        intervals: Calls of the network.
        every: Steps between two calls.
        hidden: Neurons of its hidden layers.
        device: Where to compute.
        threads: CPU threads.
        precision: "float32" or "float64".
    """

    intervals: int
    every: int
    hidden: tuple[int, ...]
    device: wp.Device
    threads: int
    precision: Precision = "float32"

    @property
    def ground(self) -> Ground:
        """The floor."""
        return Ground(self.device, self.precision)

    def seekers(self, ground: Ground, grids: np.ndarray, lights: np.ndarray, *, keep: bool) -> Seekers:
        """Bodies with their lights."""
        return Seekers(
            ground, grids, lights, intervals=self.intervals, every=self.every, threads=self.threads, keep=keep
        )

    def network(self, weights: np.ndarray, ground: Ground) -> Network:
        """The network with some weights."""
        return Network(weights, self.hidden, self.device, ground.real)

    def losses(self, weights: np.ndarray, grids: np.ndarray, lights: np.ndarray) -> np.ndarray:
        """Loss of each body with its light; not a number where a motion diverged."""
        ground = self.ground
        return self.seekers(ground, grids, lights, keep=False).run(self.network(weights, ground))


def random_lights(rng: np.random.Generator, count: int) -> np.ndarray:
    """Places of lights around the origin [m], shape [count, 2]."""
    angle, far = rng.uniform(0.0, 2.0 * np.pi, count), rng.uniform(NEAR, FAR, count)
    return np.stack([far * np.cos(angle), far * np.sin(angle)], axis=1)


def fresh(seed: int, number: int, bodies: int) -> tuple[np.ndarray, np.ndarray]:
    """Bodies and lights of a batch."""
    rng = np.random.default_rng([seed, number])
    return random_bodies(rng, bodies), random_lights(rng, bodies)


def rate_at(batch: int, peak: float) -> float:
    """Length of a step of Adam: half a cosine from a peak to nearly 0, again and again, longer and lower each time."""
    length = _FIRST
    while batch >= length:
        batch, length, peak = batch - length, 2 * length, _LOWER * peak
    return _LEAST + 0.5 * (max(peak, _LEAST) - _LEAST) * (1.0 + float(np.cos(np.pi * batch / length)))


@dataclass(eq=False)
class Pretraining:
    """A network that learns, and all that is needed to go on.

    Attributes:
        weights: Its weights, shape [p].
        mean: Smoothed rates of Adam, shape [p].
        square: Smoothed squares of them, shape [p].
        rate: Length of its first step.
        losses: Mean loss of each batch so far.
        seconds: Time that the batches took [s].
    """

    weights: np.ndarray
    mean: np.ndarray
    square: np.ndarray
    rate: float
    losses: list[float] = field(default_factory=list)
    seconds: float = 0.0

    @classmethod
    def begin(cls, seed: int, hidden: tuple[int, ...], rate: float) -> Pretraining:
        """A random network."""
        weights = random_weights(np.random.default_rng(seed), hidden)
        return cls(weights, np.zeros_like(weights), np.zeros_like(weights), rate)

    def learn(self, task: Task, ground: Ground, grids: np.ndarray, lights: np.ndarray) -> None:
        """One batch."""
        begin = time.perf_counter()
        losses, rates = task.seekers(ground, grids, lights, keep=True).gradient(
            task.network(self.weights, ground), clip=_EACH
        )
        finite = np.isfinite(losses)
        self.losses.append(float(losses[finite].mean()) if finite.any() else float("nan"))
        if np.isfinite(rates).all():
            self._descend(rates)
        self.seconds += time.perf_counter() - begin

    def _descend(self, rates: np.ndarray) -> None:
        """A step of Adam with decoupled decay (Loshchilov and Hutter, 2019)."""
        size = float(np.linalg.norm(rates))
        given = rates * min(1.0, _CLIP / max(size, 1e-30))
        keep, keep_square = _MEMORY
        self.mean = keep * self.mean + (1.0 - keep) * given
        self.square = keep_square * self.square + (1.0 - keep_square) * given**2
        count, rate = len(self.losses), rate_at(len(self.losses) - 1, self.rate)
        step = self.mean / (1.0 - keep**count) / (np.sqrt(self.square / (1.0 - keep_square**count)) + 1e-8)
        self.weights = self.weights * (1.0 - rate * _DECAY) - rate * step

    def save(self, path: Path, identity: dict[str, Any]) -> None:
        """Write it, whole or not at all."""
        arrays = {"weights": self.weights, "mean": self.mean, "square": self.square, "losses": np.array(self.losses)}
        write_archive(path, _KIND, {"search": identity, "seconds": self.seconds}, arrays)

    @classmethod
    def load(cls, path: Path, identity: dict[str, Any], rate: float) -> Pretraining:
        """What was learnt before with the same options."""
        header, parts = read_archive(path, _KIND)
        if header.get("search") != identity:
            raise FileFormatError(f"{path} belongs to other options of the study: leave out --resume, or give --out.")
        names = ("weights", "mean", "square", "losses")
        if any(name not in parts for name in names) or not isinstance(header.get("seconds"), int | float):
            raise FileFormatError(f"{path} is damaged: delete it, and pretraining begins anew.")
        weights, mean, square, losses = (parts[name] for name in names)
        return cls(weights, mean, square, rate, losses.tolist(), float(header["seconds"]))
