"""Random points inside a shape, independent or one in each part of a grid, with few questions to the shape."""

from __future__ import annotations

import numpy as np

from annelid.core.errors import InvalidValue
from annelid.shapes.mesh import Shape
from annelid.shapes.values import Floats, require_positive

_MOST_CELLS = 4_000_000


class Interior:
    """A shape cut into cubic cells: those wholly inside need no further question, those on the border do.

    Args:
        shape: The shape.
        pitch: Edge of a cell [m].
    """

    def __init__(self, shape: Shape, pitch: float) -> None:
        pitch = require_positive("pitch", pitch)
        low, high = shape.bounds()
        counts = np.maximum(np.ceil((high - low) / pitch), 1.0)
        if np.prod(counts) > _MOST_CELLS:
            size = " x ".join(f"{length:.4g}" for length in high - low)
            raise InvalidValue(f"a spacing of {pitch:g} m is too fine for a shape of {size} m: use a larger one.")
        self.shape, self.pitch = shape, pitch
        grid = np.stack(np.meshgrid(*[np.arange(int(n)) for n in counts], indexing="ij"), axis=-1).reshape(-1, 3)
        corners = (low + high - counts * pitch) / 2 + pitch * grid
        distance = shape.signed_distance(corners + pitch / 2)
        half_diagonal = 0.5 * pitch * np.sqrt(3.0)
        inside, border = distance < -half_diagonal, np.abs(distance) <= half_diagonal
        self._corners = np.concatenate([corners[inside], corners[border]])
        self._sure = int(inside.sum())

    def draw(self, generator: np.random.Generator, count: int) -> Floats:
        """Random points, spread evenly, shape [count, 3]."""
        parts, missing = [np.zeros((0, 3))], count
        for _ in range(1000):
            tries = int(1.1 * missing) + 64
            cell = generator.integers(len(self._corners), size=tries)
            points = self._corners[cell] + self.pitch * generator.random((tries, 3))
            parts.append(self._kept(points, cell >= self._sure)[:missing])
            missing -= len(parts[-1])
            if missing == 0:
                return np.concatenate(parts)
        raise InvalidValue("the shape has no inside in which points could be placed; give a solid.")

    def samples(self, generator: np.random.Generator, per_edge: int) -> Floats:
        """Points that each stand for an equal volume, `per_edge` cubed a cell, those inside the shape, shape [n, 3].

        One random point in every part of a regular grid: a regular one would miss or double the skin of flat sides.
        """
        steps = np.arange(per_edge) / per_edge
        offsets = np.stack(np.meshgrid(steps, steps, steps, indexing="ij"), axis=-1).reshape(-1, 3)
        places = offsets + generator.random((len(self._corners), len(offsets), 3)) / per_edge
        points = (self._corners[:, None] + self.pitch * places).reshape(-1, 3)
        unsure = np.repeat(np.arange(len(self._corners)) >= self._sure, len(offsets))
        return self._kept(points, unsure)

    def _kept(self, points: Floats, unsure: np.ndarray) -> Floats:
        keep = ~unsure
        if unsure.any():
            keep[unsure] = self.shape.contains(points[unsure])
        return points[keep]
