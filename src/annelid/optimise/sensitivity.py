"""How sensitive a motion is to its beginning, along the motion: whether its gradient means anything.

The gradient of a chaotic motion is exact and useless: it holds for changes far smaller than any step. Sensitivity to
the first positions tells: constant is good, growing is bad.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from types import NoneType
from typing import Any

import numpy as np

from annelid.core.options import require_kind
from annelid.core.rollout import Rollout
from annelid.shapes.values import seeded

_LOOKS = 4  # at which sensitivity is found
_MUCH = 10.0  # growth, from the first of these to the last, from which a motion is called chaotic


class SensitivityGrows(UserWarning):
    """Gradients of a motion grow along it, and say little about steps of a useful length."""


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """How far ends of a motion move with its beginning.

    Attributes:
        times: Moments [s], shape [k].
        sizes: Change of positions then, along a direction of chance, with first positions, in all worlds together,
            shape [k].
    """

    times: np.ndarray
    sizes: np.ndarray

    @property
    def growth(self) -> float:
        """How many times it grows from the first moment to the last."""
        return float(self.sizes[-1] / max(self.sizes[0], np.finfo(float).tiny))

    @property
    def rate(self) -> float:
        """Rate at which it grows [1/s], by a line through logarithms; below 0 where the beginning is forgotten."""
        sizes = np.log(np.maximum(self.sizes, np.finfo(float).tiny))
        return float(np.polyfit(self.times, sizes, 1)[0])

    @property
    def chaotic(self) -> bool:
        """Whether it grows so much that gradients say little."""
        return not self.growth < _MUCH

    def __str__(self) -> str:
        return (
            f"sensitivity grows {self.growth:.3g} times from {self.times[0]:.3g} to {self.times[-1]:.3g} s, at a "
            f"rate of {self.rate:.3g} 1/s"
        )


def sensitivity(rollout: Rollout, parameters: Mapping[str, Any] | None = None, *, seed: int = 0) -> Sensitivity:
    """How the motion of a rollout depends on its first positions, at four of its looks; warns where that grows.

    Args:
        rollout: The motion; with a single look it is compared with its beginning.
        parameters: Parameters of the motion, as `Rollout.forward` takes them.
        seed: Seed of the direction.
    """
    require_kind("what is looked at", rollout, Rollout, "a Rollout")
    require_kind("parameters of a rollout", parameters, (Mapping, NoneType), "values by name, {name: value}")
    given = dict(parameters or {})
    given.setdefault("positions", rollout.value("positions"))
    track = rollout.forward(given)
    chosen = np.unique(np.linspace(0, len(track.steps) - 1, _LOOKS + 1).round().astype(int)[1:])
    direction = seeded(seed).normal(size=track.shape[1:])
    direction /= np.linalg.norm(direction)
    times, sizes = [], []
    if len(chosen) == 1:
        times, sizes = [0.0], [1.0]
    for look in chosen:
        seeds = np.zeros(track.shape)
        seeds[look] = direction
        times.append(float(track.times[look]))
        sizes.append(float(np.linalg.norm(rollout.backward(seeds)["positions"])))
    found = Sensitivity(np.array(times), np.array(sizes))
    if found.chaotic:
        warnings.warn(
            f"{found}: the gradient is exact and says little about steps of a useful length. Add damping or drag, take "
            "fewer steps or windows that grow, let contacts begin softly (dashpots='growing'), average over samples "
            "(optimise.Sampled), or search with annelid.evolve.",
            SensitivityGrows,
            stacklevel=2,
        )
    return found
