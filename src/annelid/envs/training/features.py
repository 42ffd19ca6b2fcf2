"""From observations to features: images through convolutions, numbers as they are, all brought to similar size.

Depth becomes the logarithm of how far something stands out from the farthest: a layer of grains on the ground is seen
as clearly as the machine, which is twenty times as high.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor

_CONTRAST = 50.0  # what stands out by a fiftieth of the range becomes 0.18, by half of it 0.83


class DepthFeatures(BaseFeaturesExtractor):
    """Features of a dictionary of depth images and vectors; each box is scaled by its bounds.

    Args:
        observation_space: Dictionary of boxes; those of two dimensions are images.
        features: Numbers that each image becomes.
    """

    def __init__(self, observation_space: spaces.Dict, features: int = 64) -> None:
        boxes = {name: space for name, space in observation_space.items() if isinstance(space, spaces.Box)}
        images = [name for name, box in boxes.items() if len(box.shape) == 2]
        vectors = [name for name in boxes if name not in images]
        size = features * len(images) + sum(int(np.prod(boxes[name].shape)) for name in vectors)
        super().__init__(observation_space, size)
        self._images = images
        self._scales = {name: _scale(boxes[name]) for name in vectors}
        self._ranges = {name: (float(boxes[name].low.min()), float(boxes[name].high.max())) for name in images}
        self.eyes = torch.nn.ModuleDict({name: _eye(boxes[name].shape, features) for name in images})

    def forward(self, observations: dict[str, Any]) -> torch.Tensor:
        """Features of a batch."""
        seen = [self.eyes[n](_relief(observations[n], *self._ranges[n]).unsqueeze(1)) for n in self._images]
        known = [((observations[n] - shift) * factor).flatten(1) for n, (shift, factor) in self._scales.items()]
        return torch.cat([*seen, *known], dim=1)


def _eye(shape: tuple[int, ...], features: int) -> torch.nn.Module:
    layers = torch.nn.Sequential(
        torch.nn.Conv2d(1, 16, 5, stride=2), torch.nn.ReLU(), torch.nn.Conv2d(16, 32, 3, stride=2), torch.nn.ReLU(),
        torch.nn.Conv2d(32, 32, 3, stride=2), torch.nn.ReLU(), torch.nn.Flatten(),
    )  # fmt: skip
    with torch.no_grad():
        width = layers(torch.zeros(1, 1, *shape)).shape[1]
    return torch.nn.Sequential(*layers, torch.nn.Linear(width, features), torch.nn.ReLU())


def _relief(depth: torch.Tensor, low: float, high: float) -> torch.Tensor:
    """From 0 at the farthest to 1 at the nearest."""
    return torch.log1p(_CONTRAST * (high - depth) / (high - low)) / math.log1p(_CONTRAST)


def _scale(box: spaces.Box) -> tuple[float, float]:
    """What to subtract and to multiply by; boxes without bounds are left as they are."""
    low, high = float(box.low.min()), float(box.high.max())
    if not (np.isfinite(low) and np.isfinite(high)):
        return 0.0, 1.0
    return 0.5 * (low + high), 2.0 / (high - low)
