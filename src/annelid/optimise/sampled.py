"""A gradient from samples: the loss smoothed over noise, where the exact gradient is useless or does not exist.

A loss that jumps, or a motion that forgets its start, has a gradient that says nothing about steps one would take. The
mean of the loss over normal noise around a point is smooth, and its gradient is a mean of differences.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from annelid.core.errors import InvalidValue, SimulationDiverged
from annelid.core.options import require_taking, require_truth
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
        if not callable(value):
            raise InvalidValue(f"a sampled loss must be a function of parameters by name, not {type(value).__name__}.")
        require_taking("a sampled loss", value, "parameters")
        require_truth("together", together)
        if not isinstance(width, int | float | np.number) or not 0.0 < width < np.inf:
            raise InvalidValue(f"a sampled gradient needs a width that is a number above 0, not {width!r:.40}.")
        if not isinstance(samples, int | np.integer) or isinstance(samples, bool) or samples < 1:
            raise InvalidValue(f"a sampled gradient needs a whole number of samples, 1 or more, not {samples!r:.40}.")
        if not isinstance(seed, int | np.integer) or seed < 0:
            raise InvalidValue(f"the seed of a sampled gradient must be a whole number of 0 or more, not {seed!r:.40}.")
        self._value, self._space = value, Space(free)
        self._width, self._samples, self._together, self._seed = width, samples, together, seed

    def __call__(self, parameters: Mapping[str, Any]) -> tuple[Any, dict[str, np.ndarray]]:
        """The mean loss around parameters, and its rates by them; pairs with a loss that is not finite are left out.

        With a leading axis of starts, as `minimise` gives them, losses and rates have it, too; with `together`, samples
        of all starts are asked for at once, start after start.
        """
        if set(parameters) != set(self._space.free):
            raise InvalidValue(
                f"the loss is sampled by {', '.join(self._space.free)}, and was given {', '.join(parameters)}: name "
                "the same free parameters to Sampled and to minimise."
            )
        at = self._space.coordinates(parameters)
        rows = at.reshape(-1, self._space.count)
        noise = np.array([self._noise(row) for row in rows])
        signed = self._width * np.concatenate([noise, -noise], axis=1)
        losses = self._losses(self._space.clipped((rows[:, None] + signed).reshape(-1, self._space.count)))
        means, slopes = zip(*map(self._mean, losses.reshape(len(rows), 2, -1), noise), strict=True)
        rates = np.reshape(slopes, at.shape) / self._space.slopes(at)
        found, begin = {}, 0
        for name, values in self._space.values(at).items():
            size = self._space.free[name].start.size
            found[name] = rates[..., begin : begin + size].reshape(values.shape)
            begin += size
        return (np.array(means) if at.ndim > 1 else means[0]), found

    def _noise(self, at: np.ndarray) -> np.ndarray:
        """Noise around a point, shape [samples, p]."""
        bits = np.frombuffer(np.ascontiguousarray(at).tobytes(), np.uint32)
        return np.random.default_rng([self._seed, *bits.tolist()]).normal(size=(self._samples, self._space.count))

    def _mean(self, sides: np.ndarray, noise: np.ndarray) -> tuple[float, np.ndarray]:
        """Mean of the losses on both sides of a point, and their slopes by coordinates."""
        above, below = sides
        good = np.isfinite(above) & np.isfinite(below)
        if not good.any():
            return np.inf, np.zeros(self._space.count)
        slopes = ((above - below)[good, None] * noise[good]).mean(axis=0) / (2.0 * self._width)
        return float(0.5 * (above[good] + below[good]).mean()), slopes

    def _losses(self, points: np.ndarray) -> np.ndarray:
        if self._together:
            return np.asarray(self._value(self._space.values(points)), float)
        return np.array([self._one(point) for point in points])

    def _one(self, point: np.ndarray) -> float:
        try:
            return float(self._value(self._space.values(point)))
        except SimulationDiverged:
            return np.inf
