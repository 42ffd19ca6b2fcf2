"""Fits the three constants of the pneumatic segment to where its markers go: modulus, winding, turn of the frame."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import least_squares

from annelid import fem
from annelid.studies.support.arm_tracks import Measured
from annelid.studies.support.measured_arm import Arm, Motion

_LIMITS = ((100e3, 3e6), (1.0, 1e6), (-0.5, 0.5))
_NUDGE = 1e-3  # of the logarithm of a constant, for slopes of the misfit
_ENOUGH = 1e-3  # change of the misfit or of the constants, as a part, at which the search ends
_MOST = 12  # steps of the search
_LOST = 0.1  # how far off a marker counts where the arm has burst [m]


@dataclass(frozen=True)
class Constants:
    """What is fitted.

    Attributes:
        modulus: Young's modulus of the silicone at small strains [Pa].
        winding: Stiffness of the skin against being widened, besides that of the silicone [N/m].
        turn: Angle about the axis of the arm from the markers' frame to the plane in which it bends [rad].
    """

    modulus: float
    winding: float
    turn: float


@dataclass(frozen=True)
class Fit:
    """Constants, and their standard deviations by the curvature of the misfit: parts of modulus and winding, [rad]."""

    constants: Constants
    spread: tuple[float, float, float]


def motions(make: Callable[[Constants], Arm], constants: Constants, pressures: Sequence[float]) -> list[Motion | None]:
    """How the tip moves under rising pressures [Pa]; None where no equilibrium is found any more."""
    arm, found = make(constants), list[Motion | None]()
    for pressure in pressures:
        try:
            found.append(arm.settle(pressure))
        except fem.NoEquilibrium:
            return found + [None] * (len(pressures) - len(found))
    return found


def fit(
    make: Callable[[Constants], Arm], runs: Sequence[Measured], start: Constants, given: Sequence[float | None]
) -> Fit:
    """The constants that leave least of where the markers of some runs go.

    Args:
        make: Makes an arm; the turn does not matter to it.
        runs: By rising pressure.
        start: Where the search begins.
        given: Modulus, winding and turn where they are not to be fitted, else None.
    """
    free = np.array([value is None for value in given])
    moved: dict[tuple[float, float], list[Motion | None]] = {}

    def constants(values: np.ndarray) -> Constants:
        every = np.zeros(3)
        every[free] = values
        fitted = math.exp(every[0]), math.exp(every[1]), float(every[2])
        return Constants(*(fitted[i] if value is None else value for i, value in enumerate(given)))

    def misfit(values: np.ndarray) -> np.ndarray:
        chosen = constants(values)
        key = chosen.modulus, chosen.winding
        if key not in moved:
            moved[key] = motions(make, chosen, [run.pressure for run in runs])
        rows = zip(moved[key], runs, strict=True)
        return np.concatenate([left(motion, run, chosen.turn).ravel() for motion, run in rows])

    if not free.any():
        return Fit(constants(np.zeros(0)), (0.0, 0.0, 0.0))
    begin = np.array([math.log(start.modulus), math.log(start.winding or 1.0), start.turn])[free]
    limits = np.array([np.log(_LIMITS[0]), np.log(_LIMITS[1]), _LIMITS[2]])[free]
    found = least_squares(
        misfit, begin, bounds=(limits[:, 0], limits[:, 1]), x_scale="jac",
        diff_step=_NUDGE, ftol=_ENOUGH, xtol=_ENOUGH, max_nfev=_MOST,
    )  # fmt: skip
    variance = 2.0 * found.cost / max(len(found.fun) - len(found.x), 1) * np.linalg.inv(found.jac.T @ found.jac)
    spread = np.zeros(3)
    spread[free] = np.sqrt(np.diag(variance))
    return Fit(constants(found.x), (float(spread[0]), float(spread[1]), float(spread[2])))


def left(motion: Motion | None, run: Measured, turn: float) -> np.ndarray:
    """How far the markers of a simulated arm are from the measured ones [m], shape [3, 3]."""
    return np.full((3, 3), _LOST) if motion is None else motion.markers(turn) - run.shifts
