"""Resistive force theory: the stress of sand on a small plate that moves through it, for each metre of depth.

Two laws, of arrays of angles as they are published. In both, gamma is the direction of motion below the horizontal
(90° is straight down) and beta the tilt of the plate: a plate with beta > 0 that moves forward faces forward and down.
Kernels use the same laws without angles, of normals and velocities (`shapes.resistive.kernels.stress`).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from annelid.core.arrays import as_numbers
from annelid.core.errors import InvalidValue
from annelid.core.numbers import is_number
from annelid.shapes.resistive.kernels.polynomials import F1, F2, F3
from annelid.shapes.values import require_positive

COEFFICIENTS = ("A00", "A10", "B11", "B01", "B-11", "C11", "C01", "C-11", "D10")
"""Names of the nine coefficients of the law in a vertical plane (Li, Zhang and Goldman, Science 2013)."""


def plane_terms(tilt: np.ndarray | float, direction: np.ndarray | float) -> tuple[np.ndarray, np.ndarray]:
    """What the nine coefficients are multiplied by, shapes [..., 9]: for the stress against the motion, and upwards.

    Args:
        tilt: Angle beta of the plate [rad], above -90° and at most 90°.
        direction: Angle gamma of the motion below the horizontal [rad], -90° to 90°.
    """
    beta, gamma = _angles(tilt, direction)
    none = np.zeros_like(beta)
    up = [none + 1.0, np.cos(2 * beta), np.sin(2 * beta + gamma), np.sin(gamma), np.sin(gamma - 2 * beta)]
    along = [np.cos(2 * beta + gamma), np.cos(gamma), np.cos(gamma - 2 * beta), np.sin(2 * beta)]
    return np.stack([*[none] * 5, *along], axis=-1), np.stack([*up, *[none] * 4], axis=-1)


def plane_stress(
    coefficients: np.ndarray, tilt: np.ndarray | float, direction: np.ndarray | float
) -> tuple[np.ndarray, np.ndarray]:
    """Stress per depth in a vertical plane: against the horizontal direction of motion, and upwards.

    Args:
        coefficients: The nine `COEFFICIENTS`, in the unit that the stress shall have, such as N/m³.
        tilt: Angle beta of the plate [rad], above -90° and at most 90°.
        direction: Angle gamma of the motion below the horizontal [rad], -90° to 90°.
    """
    against, up = plane_terms(tilt, direction)
    nine = _row("coefficients of the law in a plane", coefficients, len(COEFFICIENTS))
    return against @ nine, up @ nine


def space_stress(
    tilt: np.ndarray | float,
    turn: np.ndarray | float,
    direction: np.ndarray | float,
    parts: tuple[float, float, float] = (1.0, 1.0, 1.0),
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Stress in space, for a depth times resistance of 1: forward along the motion, aside (z cross forward), upwards.

    What a body feels besides is that friction limits the stress along its surface; that is not in it.

    Args:
        tilt: Angle beta of the plate [rad], above -90° and at most 90°.
        turn: Angle psi of its horizontal part beside the motion [rad], above -90° and at most 90°.
        direction: Angle gamma of the motion below the horizontal [rad], -90° to 90°.
        parts: Factors on its terms along the normal, along the motion and down; 1 as published.
    """
    factors = _row("parts of the law in space", parts, 3)
    beta, gamma = _angles(tilt, direction)
    psi = _angle(turn)
    _require_inside("psi, the turn of a plate,", psi, lowest_too=False)
    beta, gamma, psi = np.broadcast_arrays(beta, gamma, psi)
    ahead, aside = np.sin(beta) * np.cos(psi), np.sin(beta) * np.sin(psi)
    sunk, level = np.sin(gamma), np.cos(beta)
    terms = space_terms(sunk, level, ahead * np.cos(gamma) + sunk * level)
    f1, f2, f3 = (part * (terms @ np.array(row)) for part, row in zip(factors, (F1, F2, F3), strict=True))
    return f1 * ahead + f2 * np.cos(gamma), f1 * aside, -f1 * level - f2 * sunk - f3


def space_terms(x1: np.ndarray, x2: np.ndarray, x3: np.ndarray) -> np.ndarray:
    """The 20 terms of the polynomials in x1 = sin gamma, x2 = cos beta and x3, shape [..., 20]."""
    terms = [
        np.ones_like(x1), x1, x2, x3, x1**2, x2**2, x3**2, x1 * x2, x2 * x3, x3 * x1, x1**3, x2**3, x3**3,
        x1 * x2**2, x2 * x1**2, x2 * x3**2, x3 * x2**2, x3 * x1**2, x1 * x3**2, x1 * x2 * x3,
    ]  # fmt: skip
    return np.stack(terms, axis=-1)


_SOFTEST, _STIFFEST = 0.3, 0.9  # internal friction for which the resistance was fitted


def resistance_of(density: float, internal_friction: float, *, gravity: float = 9.81) -> float:
    """What the law in space is multiplied by, for each metre of depth [N/m³].

    Args:
        density: Mass of the bed per volume of the bed [kg/m³].
        internal_friction: Tangent of the angle of internal friction, 0.3 to 0.9.
        gravity: [m/s²].
    """
    if not (is_number(internal_friction) and _SOFTEST <= internal_friction <= _STIFFEST):
        raise InvalidValue(
            f"internal_friction {internal_friction!r:.60} is outside {_SOFTEST} to {_STIFFEST}, for which the "
            "resistance was fitted: give the resistance itself."
        )
    mu = internal_friction
    weight = require_positive("density", density) * require_positive("gravity", gravity)
    return weight * (894.0 * mu**3 - 386.0 * mu**2 + 89.0 * mu)


def friction_angle_of(resistance: float, density: float, *, gravity: float = 9.81) -> float:
    """Angle of internal friction [°] at which `resistance_of` gives this resistance [N/m³], within its range."""
    slopes = np.linspace(_SOFTEST, _STIFFEST, 601)
    known = [resistance_of(density, float(mu), gravity=gravity) for mu in slopes]
    return math.degrees(math.atan(float(np.interp(require_positive("resistance", resistance), known, slopes))))


def _angles(tilt: np.ndarray | float, direction: np.ndarray | float) -> tuple[np.ndarray, np.ndarray]:
    """Both angles of a map, refused outside of it."""
    given = _angle(tilt), _angle(direction)
    try:
        beta, gamma = np.broadcast_arrays(*given)
    except ValueError:
        shapes = [list(angles.shape) for angles in given]
        raise InvalidValue(f"angles of a map must be of one shape, not {shapes[0]} and {shapes[1]}.") from None
    _require_inside("beta, the tilt of a plate,", beta, lowest_too=False)
    _require_inside("gamma, the direction of its motion,", gamma, lowest_too=True)
    return beta, gamma


def _angle(given: np.ndarray | float) -> np.ndarray:
    """Angles as numbers."""
    return as_numbers("an angle of the map", given)


def _row(what: str, given: ArrayLike, count: int) -> np.ndarray:
    """So many finite numbers."""
    row = as_numbers(what, given)
    if row.shape != (count,) or not np.isfinite(row).all():
        raise InvalidValue(f"{what} must be {count} finite numbers, not {given!r:.80}.")
    return row


def _require_inside(what: str, angles: np.ndarray, *, lowest_too: bool) -> None:
    quarter = 0.5 * math.pi * (1.0 + 1e-12)
    inside = (np.abs(angles) <= quarter) & (lowest_too | (angles > -0.5 * math.pi * (1.0 - 1e-12)))
    if not inside.all():
        worst = float(np.ravel(angles[~inside])[0])
        span = "-90° to 90°" if lowest_too else "above -90° and at most 90°"
        raise InvalidValue(
            f"{what} of {math.degrees(worst):.6g}° is outside of the map: it must be {span}, given in radians."
        )
