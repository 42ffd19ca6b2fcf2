"""Obstacles that a person leads by hand while a simulation runs: towards a place, with finite speed and force.

Where a hand leads an obstacle is no part of the state: like loads of a model it acts on steps to come.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from annelid.shapes import HeightField, Plane, Rigid

_RATE = 10.0  # at which what is left of the way is gone [1/s]
_SPEED = 0.4  # of an obstacle that is led, at most [m/s]
_GRASP = 60.0  # at which a free body takes on the speed of the hand [1/s]: it is pulled by 24 m/s² of its mass at most


class Leading:
    """Which obstacles are led, and where to.

    Args:
        rigids: All obstacles.

    Attributes:
        names: What can be led, by its number: shapes that do not follow a path; planes and height fields have no end.
    """

    def __init__(self, rigids: Sequence[Rigid]) -> None:
        self.names = {
            number: rigid.name or f"obstacle {number}"
            for number, rigid in enumerate(rigids)
            if rigid.path is None and not isinstance(rigid.geometry, Plane | HeightField)
        }
        self._goals: dict[int, np.ndarray] = {}

    def __len__(self) -> int:
        """How many are led."""
        return len(self._goals)

    def lead(self, number: int, place: np.ndarray | None) -> None:
        """Lead an obstacle towards a place of its centre [m], shape [3]; None lets go of it."""
        if place is None:
            self._goals.pop(number, None)
        else:
            self._goals[number] = place

    def let_go(self) -> None:
        """Let go of all."""
        self._goals.clear()

    def velocities(self, places: np.ndarray, given: np.ndarray) -> np.ndarray:
        """Velocities of obstacles at these places, those given but for what is led [m/s], shape [o, 3] each."""
        found = given.copy()
        for number, goal in self._goals.items():
            way = goal - places[number]
            found[number] = way * min(_RATE, _SPEED / max(float(np.linalg.norm(way)), 1e-300))
        return found

    def accelerations(
        self, numbers: np.ndarray, places: np.ndarray, velocities: np.ndarray, gravity: np.ndarray, dt: float
    ) -> np.ndarray:
        """What accelerates free bodies [m/s²], shape [f, 3]: gravity, or the pull of a hand that bears their weight.

        Args:
            numbers: Which of the obstacles they are, shape [f].
            places: Where obstacles are [m], shape [o, 3].
            velocities: How fast they are [m/s], shape [o, 3].
            gravity: Acceleration of gravity [m/s²], shape [3].
            dt: Time step [s].
        """
        led = np.isin(numbers, list(self._goals))
        wanted = self.velocities(places, velocities) - velocities
        return np.where(led[:, None], min(_GRASP, 0.5 / dt) * wanted[numbers], gravity)
