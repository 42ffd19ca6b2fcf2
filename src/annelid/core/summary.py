"""Totals of a state: mass, momenta and energies under the same names in every physics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from annelid.core.described import Brief
from annelid.core.snapshot import Number


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

    def numbers(self, *energies: str) -> dict[str, Number]:
        """Where the centre of mass is, and some of the energies by name, for pictures and plots."""
        center = {f"center-{axis}": Number(float(x), "m") for axis, x in zip("xyz", self.center_of_mass, strict=True)}
        return center | {f"{name}-energy": Number(vars(self)[name], "J") for name in energies}

    @classmethod
    def of(cls, summaries: Sequence[Summary], parts: Mapping[str, Summary] | None = None) -> Summary:
        """Totals of several: of worlds, or of sides of one, which are its parts by name."""
        mass = sum(one.mass for one in summaries)
        return cls(
            mass=mass,
            center_of_mass=np.sum([one.mass * one.center_of_mass for one in summaries], axis=0) / mass,
            momentum=np.sum([one.momentum for one in summaries], axis=0),
            angular_momentum=np.sum([one.angular_momentum for one in summaries], axis=0),
            kinetic=sum(one.kinetic for one in summaries),
            rotational=sum(one.rotational for one in summaries),
            elastic=sum(one.elastic for one in summaries),
            gravitational=sum(one.gravitational for one in summaries),
            parts=parts or {},
        )

    @property
    def total(self) -> float:
        """Sum of the energies [J]."""
        return self.elastic + self.kinetic + self.gravitational
