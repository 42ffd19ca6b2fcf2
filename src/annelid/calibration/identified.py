"""What an identification found: constants with deviations, what is left of each run, and what data leave open."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from annelid.core.described import Described
from annelid.core.measurement import Measurement, hyphened
from annelid.optimise.free import Space
from annelid.optimise.uncertainty import Uncertainty

_VAGUE = 0.3
_ASTRAY = 0.4  # of the largest motion: what is left where a model does not move as it was measured
"""Deviation along a direction, as a factor of e or in units of a linear constant, from which it is left open."""


@dataclass(frozen=True, eq=False)
class Compared:
    """A run beside the model with the constants that were found.

    Attributes:
        name: Name of the run.
        held_out: Whether it was predicted, not fitted.
        markers: Names of the markers.
        axes: Components that were compared.
        times: Moments [s], shape [t].
        measured: Measured places [m], shape [t, m, 3]; NaN where a marker was not seen.
        model: Places in the model, in the frame of the capture [m], shape [t, m, 3].
    """

    name: str
    held_out: bool
    markers: tuple[str, ...]
    axes: str
    times: np.ndarray
    measured: np.ndarray
    model: np.ndarray

    @property
    def left(self) -> np.ndarray:
        """Root mean square of what is left of each marker, over the components compared together [mm], shape [m]."""
        off = 1e3 * (self.model - self.measured)[..., ["xyz".index(axis) for axis in self.axes]]
        return np.asarray(np.sqrt(np.nanmean((off**2).sum(axis=2), axis=0)))

    @property
    def moved(self) -> float:
        """How far markers went from where they were first seen, at most [mm]."""
        first = np.array([track[np.isfinite(track).all(axis=1)][0] for track in np.moveaxis(self.measured, 1, 0)])
        return 1e3 * float(np.sqrt(np.nanmax(((self.measured - first) ** 2).sum(axis=2))))


@dataclass(frozen=True, eq=False, repr=False)
class Identified(Described):
    """Constants that fit what was measured.

    Attributes:
        name: Name of the calibration.
        constants: Constants by name.
        deviations: Their standard deviations by name, if what is left is noise without correlation; where a model
            misses something, they are larger.
        starts: Where the search began.
        noise: Standard deviation of one component that is left [mm].
        uncertainty: In the coordinates of `space`.
        space: Coordinates in which the constants were searched.
        runs: Each run beside its model.
        evaluations: Sets of constants that were simulated.
        converged: Whether the last fit ended by itself.
        at_bound: Constants that ended at a bound.
        course: What was done, in words.
    """

    name: str
    constants: Mapping[str, float]
    deviations: Mapping[str, float]
    starts: Mapping[str, float]
    noise: float
    uncertainty: Uncertainty
    space: Space
    runs: tuple[Compared, ...]
    evaluations: int
    converged: bool
    at_bound: tuple[str, ...]
    course: tuple[str, ...]

    def facts(self) -> Mapping[str, str]:
        """Constants with their deviations, and the noise."""
        found = {name: f"{value:.5g} ± {self.deviations[name]:.2g}" for name, value in self.constants.items()}
        return {**found, "noise": f"{self.noise:.3g} mm"}

    @property
    def weakest(self) -> str:
        """The direction that data determine least, in words, and how well."""
        names, first = self.space.names, self.uncertainty.directions[0]
        if len(names) == 1:
            return f"{names[0]}, to {_percent(self.uncertainty.sizes[0])}"
        first = first * np.sign(first[np.abs(first).argmax()])
        parts = [
            f"{share:+.2f} {'log ' if log else ''}{name}"
            for name, share, log in zip(names, first, self.space.logarithmic, strict=True)
            if abs(share) > 0.1
        ]
        return f"{' '.join(parts)}, to {_percent(self.uncertainty.sizes[0])}"

    @property
    def open(self) -> bool:
        """Whether data leave a direction open."""
        return not self.uncertainty.sizes[0] < _VAGUE

    def warnings(self) -> list[str]:
        """What a reader should not overlook, a sentence each."""
        found = []
        if self.open:
            found.append(
                f"the data do not determine {self.weakest}: fix one of these constants, or measure more (another load, "
                "a longer motion, more markers)."
            )
        found += [
            f"{name} ended at a bound, {self.constants[name]:.4g}: widen it, or doubt it." for name in self.at_bound
        ]
        found += [
            f"the model does not follow run {run.name!r}: {run.left.max():.3g} mm (root mean square) are left of a "
            f"marker, and none went farther than {run.moved:.3g} mm: check units of lengths and times, places of "
            "markers, holds and loads, and the time step."
            for run in self.runs
            if not run.held_out and len(run.times) > 1 and not run.left.max() <= _ASTRAY * run.moved
        ]
        if not self.converged:
            found.append("the fit did not converge: start from what it found, or take fewer constants.")
        return found

    def measurements(self) -> list[Measurement]:
        """Constants, deviations and what is left, for a report."""
        rows = []
        for name, value in self.constants.items():
            rows.append(Measurement(hyphened(name), value))
            rows.append(Measurement(f"{hyphened(name)}-deviation", self.deviations[name]))
        rows.append(Measurement("noise", self.noise, "mm"))
        for run in self.runs:
            kind = "held-out" if run.held_out else "fitted"
            for marker, left in zip(run.markers, run.left, strict=True):
                rows.append(Measurement(f"{kind}-{hyphened(run.name)}-{hyphened(marker)}-rms", float(left), "mm"))
        rows.append(Measurement("simulations", float(self.evaluations)))
        return rows


def _percent(size: float) -> str:
    return f"± {100 * size:.2g} %" if np.isfinite(size) else "not at all"
