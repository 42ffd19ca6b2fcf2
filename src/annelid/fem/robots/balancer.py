"""Newton's method for a robot in control, where an evaluation of forces takes a fraction of a solution.

Whole steps lead fastest to balance, also where they raise the energy for once: nearly incompressible solids leave the
curved ways on which volumes stay, but less force is left all the same. Where walls snap, or a cable crushes elements, a
whole step may stretch some of them so far that many others are needed to come back from there. Such a step leaves more
force and more energy; a shorter one is taken.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import warp as wp

from annelid.fem.newton import FALLEN, Attempt, Holds, Newton

_SHORTER, _MUCH_SHORTER = 0.5, 0.1  # of a step that went too far: what is tried next, at most and at least
_SHORTENED = 6  # times, at most
_ENOUGH = 1e-4  # of the decrease of energy that the slope promises


class Balancer(Newton):
    """Finds the balance of a robot that is near it."""

    def settle(self, positions: wp.array[Any], fraction: float = 1.0, holds: Holds | None = None) -> Attempt:
        """Move positions towards the balance, in whole steps where these lead on, else along the energy."""
        wp.copy(self._begin, positions)
        self._shift = 0.0
        self._ramp(fraction)
        self._arrive(positions, fraction, holds or Holds(fraction, self.model.anchors, self.model.offsets))
        tried = self._go_on(positions, fraction)
        if tried.done:
            return tried
        found = self._descend(positions, fraction, self.settings.iterations)
        return replace(found, iterations=found.iterations + tried.iterations)

    def _go_on(self, positions: wp.array[Any], fraction: float) -> Attempt:
        """Iterate while steps lead on; where they do not, positions are where the energy was least."""
        tetrahedra = self.model.tetrahedra
        energy, left = self._look(positions, fraction)
        first, enough, count, still = left, self._good_enough(fraction, left), 0, False
        least = energy
        wp.copy(self._placed, positions)
        try:
            while not still and left > enough and np.isfinite(left) and count < self.settings.iterations:
                count += 1
                slope = self._direction()
                found = self._stepped(positions, fraction, energy, left, slope)
                if found is None or self._lost():
                    break
                energy, left = found
                if energy < least:
                    least = energy
                    wp.copy(self._placed, positions)
                still = left < FALLEN * first and self._made_stably and self._taken_whole and self._stands_still()
        finally:
            tetrahedra.foresee(None)
        done = (left <= enough or still) and not (count and tetrahedra.inverted)
        if not done:
            wp.copy(positions, self._placed)
        return Attempt(done, count, left)

    def _stepped(
        self, positions: wp.array[Any], fraction: float, energy: float, left: float, slope: float
    ) -> tuple[float, float] | None:
        """Take as much of the step at hand as leads on; energy and force left there, None if nothing of it does."""
        if not np.isfinite(slope):
            return None
        tetrahedra, length = self.model.tetrahedra, 1.0
        tetrahedra.foresee(self._step)
        for _ in range(_SHORTENED):
            self._try(positions, length)
            there, rest = self._look(self._trial, fraction)
            if rest < left or there <= energy - _ENOUGH * length * slope:
                self._taken_whole = length == 1.0
                wp.copy(positions, self._trial)
                return there, rest
            tetrahedra.foresee(None)  # what was foreseen is that of the whole step
            length *= _shortened(energy, there, length * slope)
        return None


def _shortened(energy: float, there: float, slope: float) -> float:
    """Part of a step to try where all of it was too long: where a parabola has its minimum, within bounds.

    Args:
        energy: Energy before the step [J].
        there: Energy after it [J].
        slope: How fast the energy falls at first, along the whole step [J].
    """
    rises = there - energy + slope
    best = 0.5 * slope / rises if np.isfinite(rises) and rises > 0.0 else 0.0
    return min(max(best, _MUCH_SHORTER), _SHORTER)
