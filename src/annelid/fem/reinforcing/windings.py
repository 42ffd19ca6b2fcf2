"""Paths of threads around cylinders: helices, single and double windings, hoops.

Angles are between the thread and the axis: 0 along it, π/2 around it. A closed tube under pressure whose stiff threads
cross at arctan √2 = 54.7° keeps its length; with a smaller angle it becomes thicker and shorter, with a larger one
longer.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from annelid.core.errors import InvalidValue
from annelid.core.numbers import is_number
from annelid.core.options import require_truth
from annelid.shapes.values import Vector, as_axis, as_vector, frame, require_count, require_positive

Hand = Literal["right", "left"]
_MOST = 100_000


def helix(
    radius: float,
    length: float,
    *,
    angle: float | None = None,
    turns: float | None = None,
    axis: str | Vector = "z",
    base: ArrayLike = (0.0, 0.0, 0.0),
    hand: Hand = "right",
    phase: float = 0.0,
    count: int = 32,
) -> np.ndarray:
    """Points of a helix [m], shape [p, 3], as the path of a thread.

    Args:
        radius: Its radius [m].
        length: Its length along the axis [m].
        angle: Angle between thread and axis [rad], from 0 to below π/2: tan angle = 2π radius turns / length.
        turns: How often it goes around, in place of the angle.
        axis: 'x', 'y', 'z' or a vector.
        base: The point of the axis where it begins [m].
        hand: "right" or "left".
        phase: Where around the axis it begins [rad].
        count: Points a turn; where it is a multiple of the sides of a round mesh, threads bend at its edges.
    """
    radius, length = require_positive("radius", radius), require_positive("length", length)
    around = _turns(radius, length, angle, turns)
    if hand not in ("right", "left"):
        raise InvalidValue(f"hand must be 'right' or 'left', not {hand!r}.")
    each = require_count("count", count, least=3, most=_MOST)
    if around * each > _MOST * 10:
        raise InvalidValue(f"{around:.3g} turns of {each} points are too many; lower the angle or the count.")
    share = _knots(around * each) / max(around * each, 1.0)
    sweep = _phase(phase) + (2.0 if hand == "right" else -2.0) * math.pi * around * share
    return _placed(radius, sweep, length * share, axis, base)


def winding(
    radius: float,
    length: float,
    *,
    angle: float | None = None,
    turns: float | None = None,
    starts: int = 1,
    double: bool = True,
    axis: str | Vector = "z",
    base: ArrayLike = (0.0, 0.0, 0.0),
    hand: Hand = "right",
    phase: float = 0.0,
    count: int = 32,
) -> list[np.ndarray]:
    """Helices side by side, and those of the other hand that cross them: paths of threads, as `helix` makes them.

    Args:
        radius: Their radius [m].
        length: Their length along the axis [m].
        angle: Angle between threads and axis [rad]; or give `turns`.
        turns: How often each goes around.
        starts: Helices of one hand, evenly around the axis.
        double: Whether as many helices of the other hand cross them; a single winding also twists under pressure.
        axis: 'x', 'y', 'z' or a vector.
        base: The point of the axis where they begin [m].
        hand: That of a single winding.
        phase: Where around the axis the first begins [rad].
        count: Points a turn.
    """
    require_truth("double", double)
    number = require_count("starts", starts, least=1, most=_MOST)
    other: Hand = "left" if hand == "right" else "right"
    hands = (hand, other) if double else (hand,)
    phases = [_phase(phase) + 2.0 * math.pi * i / number for i in range(number)]
    return [
        helix(radius, length, angle=angle, turns=turns, axis=axis, base=base, hand=way, phase=begin, count=count)
        for way in hands
        for begin in phases
    ]


def hoops(
    radius: float,
    length: float,
    *,
    number: int,
    axis: str | Vector = "z",
    base: ArrayLike = (0.0, 0.0, 0.0),
    phase: float = 0.0,
    count: int = 32,
) -> list[np.ndarray]:
    """Circles around an axis, evenly from one end to the other, each the closed path of a thread.

    Args:
        radius: Their radius [m].
        length: From the first to the last [m].
        number: How many, at least 2.
        axis: 'x', 'y', 'z' or a vector.
        base: Centre of the first [m].
        phase: Where around the axis they begin [rad].
        count: Points of each.
    """
    radius, length = require_positive("radius", radius), require_positive("length", length)
    number = require_count("number", number, least=2, most=_MOST)
    sweep = _phase(phase) + np.linspace(0.0, 2.0 * math.pi, require_count("count", count, least=3, most=_MOST) + 1)
    heights = np.linspace(0.0, length, number)
    return [_placed(radius, sweep, np.full(len(sweep), height), axis, base) for height in heights]


def _knots(whole: float) -> np.ndarray:
    """Whole numbers from 0 on, and the end; no last step is so short that its segment would be very stiff."""
    if whole <= 1.0:
        return np.array([0.0, 1.0])
    knots = np.arange(math.floor(whole + 1e-9) + 1.0)
    if whole - knots[-1] > 0.25:
        return np.append(knots, whole)
    return np.append(knots[:-1], whole)


def _turns(radius: float, length: float, angle: float | None, turns: float | None) -> float:
    if (angle is None) == (turns is None):
        raise InvalidValue("a helix needs either its angle to the axis [rad] or its number of turns.")
    if angle is not None:
        if not (is_number(angle) and 0.0 <= angle < 0.5 * math.pi):
            raise InvalidValue(
                f"angle = {angle!r} cannot be used; give the angle to the axis [rad], from 0 to below π/2 "
                "(np.radians(60) for 60 degrees); for circles there are hoops."
            )
        return length * math.tan(angle) / (2.0 * math.pi * radius)
    return require_positive("turns", turns or 0.0)


def _phase(phase: float) -> float:
    if not (is_number(phase)):
        raise InvalidValue(f"phase = {phase!r} cannot be used; give a finite angle [rad].")
    return float(phase)


def _placed(radius: float, sweep: np.ndarray, heights: np.ndarray, axis: str | Vector, base: ArrayLike) -> np.ndarray:
    """Points by angle [rad] and height [m] about the axis, turned as `tet_hollow_cylinder` turns its nodes."""
    along_z = np.column_stack([radius * np.cos(sweep), radius * np.sin(sweep), heights])
    return np.asarray(along_z @ frame(as_axis(axis)).T + as_vector("base", base))
