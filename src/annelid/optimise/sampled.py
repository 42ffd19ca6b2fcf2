"""A gradient from samples: the loss smoothed over noise, where the exact gradient is useless or does not exist.

A loss that jumps, or a motion that forgets its start, has a gradient that says nothing about steps one would take. The
mean of the loss over normal noise around a point is smooth, and its gradient is a mean of differences.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from annelid.core.errors import InvalidValue, SimulationDiverged
from annelid.optimise.free import Free, Space

Values = Callable[[dict[str, np.ndarray]], Any]
"""From parameters by name to the loss; see `Sampled`."""


class Sampled:
    """The mean of a loss over noise, and its gradient, in the form that `minimise` takes.

    Samples come in pairs on both sides of the point. They depend on the point alone, so that a search can be repeated.

    Args:
        value: The loss of parameters by name. With `together`, of all samples at once: parameters and losses have a
            leading axis of 2 · samples, such as a rollout of as many worlds answers (`RolloutLoss.value`).
        free: The free parameters, as `minimise` takes them.
        width: Standard deviation of the noise in coordinates: 0.05 changes a positive parameter by 5 %.
        samples: Pairs of samples.
        together: Whether all samples are asked for at once.
        seed: Seed of the noise.
    """

    def __init__(
        self,
        value: Values,
        free: Mapping[str, Free | Any],
        *,
        width: float = 0.05,
        samples: int = 16,
        together: bool = False,
        seed: int = 0,
    ) -> None:
        if not (np.isfinite(width) and width > 0.0) or samples < 1:
            raise InvalidValue(f"a sampled gradient needs a width above 0 and samples, not {width!r} and {samples!r}.")
        self._value, self._space = value, Space(free)
        self._width, self._samples, self._together, self._seed = width, samples, together, seed

    def __call__(self, parameters: Mapping[str, Any]) -> tuple[float, dict[str, np.ndarray]]:
        """The mean loss around parameters, and its rates by them; pairs with a loss that is not finite are left out."""
        at = self._space.coordinates(parameters)
        bits = np.frombuffer(np.ascontiguousarray(at).tobytes(), np.uint32)
        noise = np.random.default_rng([self._seed, *bits.tolist()]).normal(size=(self._samples, self._space.count))
        points = np.concatenate([at + self._width * noise, at - self._width * noise])
        above, below = self._losses(self._space.clipped(points)).reshape(2, -1)
        good = np.isfinite(above) & np.isfinite(below)
        if not good.any():
            return np.inf, {name: np.zeros(np.shape(given)) for name, given in parameters.items()}
        slopes = ((above - below)[good, None] * noise[good]).mean(axis=0) / (2.0 * self._width)
        by = self._space.values(at)
        rates = slopes / self._space.slopes(at)
        found, begin = {}, 0
        for name, values in by.items():
            found[name] = rates[begin : begin + values.size].reshape(values.shape)
            begin += values.size
        return float(0.5 * (above[good] + below[good]).mean()), found

    def _losses(self, points: np.ndarray) -> np.ndarray:
        if self._together:
            return np.asarray(self._value(self._space.values(points)), float)
        return np.array([self._one(point) for point in points])

    def _one(self, point: np.ndarray) -> float:
        try:
            return float(self._value(self._space.values(point)))
        except SimulationDiverged:
            return np.inf
