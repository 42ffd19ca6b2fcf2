"""Stress that relaxes: materials with a Prony series, as time passes and steps end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import warp as wp

from annelid.core.replay import Crew
from annelid.fem.history import StressHistory
from annelid.fem.kernels.relaxation import Series, hold_back, relax_points, remember_points
from annelid.materials import Material


class Relaxation:
    """What time does to the stress of some integration points.

    Args:
        materials: Materials, some of them with a Prony series.
        lames: λ of each where the points of a cell do not share it, else 0 [Pa].
        points: The points, a `HyperPoints`.
        count: How many they are.
        constants: Constants of the materials on the device, and how many each has.
        energies: Energy of each point [J].
        crew: Where it is computed.
    """

    def __init__(
        self,
        materials: Sequence[Material],
        lames: np.ndarray,
        points: Any,
        count: int,
        constants: tuple[wp.array[Any], int],
        energies: wp.array[Any],
        crew: Crew,
    ) -> None:
        table, width = constants
        self._count, self._device = count, crew.device
        self.terms = max(len(material.prony) for material in materials)
        self._shares, self._times = np.zeros((len(materials), self.terms)), np.ones((len(materials), self.terms))
        for number, material in enumerate(materials):
            for term, (share, time) in enumerate(material.prony):
                self._shares[number, term], self._times[number, term] = share, time
        self._lames = self._array(lames)
        self._known: dict[float, Any] = {}
        self._held, self._none_held = self._zeros(count, wp.mat33d), self._zeros(count, wp.mat33d)
        self.rest()
        series, nothing = self._now
        past = self._zeros(0, wp.mat33d)
        self._hold = crew.command(hold_back, count, [self.terms, points, series, past, past, self._held])
        self._relax = crew.command(relax_points, count, [1, width, table, series, nothing, points, energies])
        self._remember = crew.command(remember_points, count, [self.terms, width, table, series, points, past, past])

    def history(self) -> StressHistory:
        """Of a solid that was at rest for ever."""
        return StressHistory(
            past=self._zeros(self._count, wp.mat33d), parts=self._zeros(self._count * self.terms, wp.mat33d)
        )

    @property
    def now(self) -> tuple[wp.array[Any], wp.array[Any]]:
        """Gain and λ of each material for what passes now, float64 of shape [m] each."""
        series, _ = self._now
        return series.gains, series.lames

    def pass_time(self, dt: float, history: StressHistory) -> None:
        """From now on points answer as at the end of a time dt [s] after a history."""
        self._now = self.series(dt), self._held
        self._hold((2, self._now[0]), (3, history.past), (4, history.parts))

    def rest(self) -> None:
        """From now on points answer as after a very long time."""
        self._now = self.series(np.inf), self._none_held

    def relax(self, *, tangent: bool) -> None:
        """Make what the law answers what the points answer."""
        series, held = self._now
        self._relax((0, int(tangent)), (3, series), (4, held))

    def remember(self, history: StressHistory) -> None:
        """Take what the law answers, at the end of the time that passes, into the history."""
        self._remember((3, self._now[0]), (5, history.past), (6, history.parts))

    def series(self, dt: float) -> Any:
        """The series for a time that passes [s]."""
        if dt not in self._known:
            ratios = dt / self._times
            rises = self._shares * (1.0 if dt == 0.0 else -np.expm1(-ratios) / ratios)
            made: Any = Series()
            made.decays, made.rises = self._array(np.exp(-ratios).ravel()), self._array(rises.ravel())
            made.gains = self._array(1.0 - self._shares.sum(axis=1) + rises.sum(axis=1))
            made.lames = self._lames
            self._known[dt] = made
        return self._known[dt]

    def _array(self, values: np.ndarray) -> wp.array[Any]:
        return wp.array(values, dtype=wp.float64, device=self._device)

    def _zeros(self, count: int, dtype: Any) -> wp.array[Any]:
        return wp.zeros(count, dtype=dtype, device=self._device)
