"""Totals of a state: mass, momenta and energies under the same names in every physics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from annelid.core.described import Brief


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Summary(Brief):
    """Totals of all that moves.

    Attributes:
        mass: [kg].
        center_of_mass: [m], shape [3].
        momentum: [kg m/s], shape [3].
        angular_momentum: About the origin [kg m²/s], shape [3].
        kinetic: Energy of motion, translation and rotation [J].
        rotational: The share of `kinetic` that is rotation of grains and rigid bodies about their own centres [J].
        elastic: Energy stored in springs or in a solid [J].
        gravitational: Energy in the field of gravity, zero at the origin [J].
        parts: Totals of each side by name, where several kinds of physics meet.
    """

    mass: float
    center_of_mass: np.ndarray
    momentum: np.ndarray
    angular_momentum: np.ndarray
    kinetic: float
    rotational: float = 0.0
    elastic: float = 0.0
    gravitational: float = 0.0
    parts: Mapping[str, Summary] = field(default_factory=dict)

    @property
    def total(self) -> float:
        """Sum of the energies [J]."""
        return self.elastic + self.kinetic + self.gravitational
