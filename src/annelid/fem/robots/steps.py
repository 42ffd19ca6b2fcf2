"""What a step of inverse control did, in numbers and in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from annelid.core.described import Brief

REACHED = 1e-4
"""A target that is as near as this is reached [m]."""


@dataclass(frozen=True, eq=False, repr=False)
class Step(Brief):
    """What one step did.

    Attributes:
        number: Steps before this one.
        time: Time at its end [s].
        efforts: Effort of each actuator by name [N or Pa].
        strokes: Stroke of each actuator by name [m or m³].
        places: Where the effectors are [m], by name, shape [p, 3] each.
        distances: Distance of each effector from its target [m], by name.
        active: Limits that kept the effectors from their targets, in words.
        active_numbers: The same by number, see `robots.active`, shape [l].
        optimality: Largest violation of the optimality conditions of the program [-].
        contacts: Number of contacts that press.
        share: Part of the last change that was taken; below 1 where all of it would have led nowhere.
        moved: Largest move of a node in the last pass [m].
        passes: How often efforts were chosen.
    """

    number: int
    time: float
    efforts: dict[str, float]
    strokes: dict[str, float]
    places: dict[str, np.ndarray]
    distances: dict[str, float]
    active: tuple[str, ...]
    active_numbers: np.ndarray
    optimality: float
    contacts: int
    share: float
    moved: float
    passes: int

    @property
    def distance(self) -> float:
        """Largest distance of an effector from its target [m]."""
        return max(self.distances.values(), default=0.0)

    @property
    def reached(self) -> bool:
        """Whether every effector is within 0.1 mm of its target."""
        return self.distance <= REACHED

    def in_words(self) -> str:
        """In one sentence: what was reached, and what stood in the way."""
        return outcome_in_words(self.distances, self.active)


def outcome_in_words(distances: Mapping[str, float], active: Iterable[str]) -> str:
    """In one sentence: which targets are reached, and which limits stand in the way.

    Args:
        distances: Distance of each effector from its target [m], by name.
        active: Limits that keep effectors from their targets, in words.
    """
    farthest = max(distances.values(), default=0.0)
    if farthest <= REACHED:
        return f"all targets are reached to {1e3 * farthest:.2g} mm"
    missed = ", ".join(f"{name} by {1e3 * d:.3g} mm" for name, d in distances.items() if d > REACHED)
    limits = ", ".join(active)
    return f"targets are missed: {missed}{f'; limits: {limits}' if limits else ''}"
