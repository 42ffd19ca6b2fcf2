"""Warnings of numbers that may be meant in another unit, of bodies far away, and of those that nothing holds."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence

import numpy as np

from annelid.core.errors import FallsForever, FarAway, UnlikelyUnit

_WIDEST = 10.0  # [m]: a soft body that is wider is probably in millimetres
_FINEST = 1.0e-4  # of a coordinate, which float32 divides into 1.7e7 parts: of a pitch like this it keeps 1,700
_DENSEST = 2.3e4  # [kg/m³]: osmium, the densest matter on earth, has 22,590
_LIGHTEST = 10.0  # [kg/m³]: the lightest foams that are sold have about as much
_SOFTEST = 1.0e3  # [Pa], of Young's modulus: jelly
_STIFFEST = 1.3e12  # [Pa]: more than diamond has
_LOWEST = 100.0  # [Pa]: a centimetre of water
_SLOWEST = 1.0  # [s]: nothing that moves is followed in such steps


def warn_of_size(what: str, widest: float, *, stacklevel: int) -> None:
    """Warn of lengths that may be in millimetres.

    Args:
        what: What is as wide: "the solid".
        widest: Its largest extent [m].
        stacklevel: That of the caller, as of `warnings.warn`.
    """
    if widest > _WIDEST:
        warnings.warn(
            f"{what} is {widest:.4g} m wide: are its lengths in millimetres? Give metres, a thousandth of them.",
            UnlikelyUnit,
            stacklevel=stacklevel + 1,
        )


def warn_of_density(what: str, mass: float, volume: float, remedy: str, *, stacklevel: int) -> None:
    """Warn of a body that is denser than any matter.

    Args:
        what: The body: "the block".
        mass: Its mass [kg].
        volume: Its volume [m³].
        remedy: What to give instead.
        stacklevel: That of the caller, as of `warnings.warn`.
    """
    if mass > _DENSEST * volume:
        warnings.warn(
            f"{what} weighs {mass:.4g} kg in {volume:.3g} m³, {mass / volume:.3g} kg/m³, which is denser than any "
            f"metal: {remedy}.",
            UnlikelyUnit,
            stacklevel=stacklevel + 1,
        )


def warn_of_matter(name: str, density: float, modulus: float, *, stacklevel: int) -> None:
    """Warn of a material whose density or modulus may be in another unit.

    Args:
        name: Its name.
        density: Its density [kg/m³].
        modulus: Its Young's modulus [Pa].
        stacklevel: That of the caller, as of `warnings.warn`.
    """
    for unlikely, what, meant in (
        (density < _LIGHTEST, f"a density of {density:g} kg/m³, that of foam or less", "1 g/cm³ is 1000 kg/m³"),
        (modulus < _SOFTEST, f"a Young's modulus of {modulus:g} Pa, softer than jelly", "1 kPa is 1e3 Pa, 1 MPa 1e6"),
        (modulus > _STIFFEST, f"a Young's modulus of {modulus:g} Pa, stiffer than diamond", "1 GPa is 1e9 Pa"),
    ):
        if unlikely:
            warnings.warn(f"material {name!r} has {what}: {meant}.", UnlikelyUnit, stacklevel=stacklevel + 1)


def warn_of_pressure(what: str, pressures: Sequence[float], *, stacklevel: int) -> None:
    """Warn of pressures that may be in kPa or bar.

    Args:
        what: What has them: "air".
        pressures: The pressures that it may have [Pa]; 0, and what has no limit, are so in any unit.
        stacklevel: That of the caller, as of `warnings.warn`.
    """
    largest = max((abs(pressure) for pressure in pressures), default=0.0)
    if 0.0 < largest < _LOWEST:
        warnings.warn(
            f"the pressure of {what} is {largest:g} Pa at most, that of {largest / 98.1:.1g} cm of water: 1 kPa is "
            "1e3 Pa, 1 bar 1e5.",
            UnlikelyUnit,
            stacklevel=stacklevel + 1,
        )


def warn_of_step(dt: float, *, stacklevel: int) -> None:
    """Warn of a time step [s] of something in motion that may be in milliseconds."""
    if dt >= _SLOWEST:
        warnings.warn(
            f"dt of {dt:g} s is longer than anything moves: is it in milliseconds? Give seconds, a thousandth of it.",
            UnlikelyUnit,
            stacklevel=stacklevel + 1,
        )


def warn_of_holding_all(count: int, widest: float, *, stacklevel: int) -> None:
    """Warn of a hold after which all nodes are held, so that nothing moves.

    Args:
        count: How many nodes there are.
        widest: Largest extent of them [m].
        stacklevel: That of the caller, as of `warnings.warn`.
    """
    warnings.warn(
        f"all {count} nodes of the solid are held now, so that nothing of it can move: it is {widest:.3g} m wide; are "
        "the places that were given in millimetres? Give metres, and fewer nodes.",
        UnlikelyUnit,
        stacklevel=stacklevel + 1,
    )


def warn_of_angle(what: str, angle: float, *, stacklevel: int) -> None:
    """Warn of an angle that may be in degrees: more than a turn, and a whole number of radians."""
    if abs(angle) > 2.0 * math.pi and float(angle).is_integer():
        warnings.warn(
            f"{what} of {angle:g} rad is more than a turn: angles are in radians, and {angle:g}° are "
            f"math.radians({angle:g}).",
            UnlikelyUnit,
            stacklevel=stacklevel + 1,
        )


def warn_of_falling(what: str, gravity: Sequence[float], *, held: bool, stacklevel: int) -> None:
    """Warn of a body that falls for ever.

    Args:
        what: The body: "the body".
        gravity: Acceleration of gravity [m/s²].
        held: Whether there is something that may hold it.
        stacklevel: That of the caller, as of `warnings.warn`.
    """
    if any(gravity) and not held:
        warnings.warn(
            f"nothing holds {what}, which falls for ever: give obstacles=[annelid.shapes.Plane()] to land on, hold a "
            "part of it, or switch gravity off with gravity=(0, 0, 0).",
            FallsForever,
            stacklevel=stacklevel + 1,
        )


def warn_of_far(what: str, points: np.ndarray, pitch: float, remedy: str, *, stacklevel: int) -> None:
    """Warn of a body whose points have few digits left for how they move against each other.

    Args:
        what: The body: "the bed".
        points: Its points, which are kept in single precision [m], shape [n, axes].
        pitch: Distance of neighbouring points [m].
        remedy: What to do, such as to move it.
        stacklevel: That of the caller, as of `warnings.warn`.
    """
    furthest = float(np.abs(points).max(initial=0.0))
    if pitch < _FINEST * furthest:
        warnings.warn(
            f"{what} is {furthest:.3g} m from the origin and its points are {pitch:.3g} m apart, of which single "
            f"precision keeps {pitch / np.spacing(np.float32(furthest)):.2g} parts there: it moves wrongly; {remedy}.",
            FarAway,
            stacklevel=stacklevel + 1,
        )
