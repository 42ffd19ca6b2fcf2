"""How long steps may be: what a bed at rest, a body that falls into it, and the springs of the body each allow."""

from __future__ import annotations

import math

import numpy as np

from annelid.grains import Bed, World
from annelid.springs import Body

LONGEST = 1.25
"""Longest step of the grains, in stable steps of the springs: in a longer one masses swing back and forth unseen."""

LIVELY = 0.5
"""Longest step of the grains, in steps that suit a bed at rest: a body that moves in it wants shorter ones."""

_APPROACH = 0.02  # of its radius, by which a body may come closer to a grain in a step
_OVERLAP = 0.005  # of a diameter, by which the body may press grains into each other
_CALM = 0.05  # speed at which contacts that part let go, in sqrt(g R)


def meeting_speed(body: Body, bed: Bed, gravity: tuple[float, float, float]) -> float:
    """How fast the body will be when it meets the grains [m/s], if it falls onto them freely.

    It falls from where it is to the highest grain, and at least by the radius of a grain.
    """
    pull = math.hypot(*gravity)
    up = -np.asarray(gravity) / pull if pull > 0.0 else np.zeros(3)
    height = float((body.positions @ up).min() - (bed.positions @ up + bed.radii).max())
    fall = max(height, float(bed.radii.min()))
    fastest = float(np.linalg.norm(body.velocities, axis=1).max() + np.linalg.norm(bed.velocities, axis=1).max())
    return math.sqrt(fastest**2 + 2.0 * pull * fall)


def hard_step(body: Body, bed: Bed, world: World) -> float:
    """Longest step of the grains in which contacts are hard enough to stop the body [s].

    A contact finds its impulse in a few steps, during which its sides come closer: by about four times what they move
    in a step. And it is a spring, stiffer in shorter steps: what presses on grains as many layers of them would,
    presses them into each other as deep. A body that is fast or heavy wants short steps, or it sinks too deep.
    """
    radius, pull = float(bed.radii.min()), math.hypot(*world.gravity)
    speed = meeting_speed(body, bed, world.gravity)
    if speed == 0.0:
        return math.inf
    approach = _APPROACH * radius / speed
    brake = pull + speed**2 / (4.0 * radius)  # as if it came to rest within a diameter
    layers = _mass_per_area(body, world.gravity) / (float(bed.masses.min()) / (4.0 * radius**2))
    return min(approach, math.sqrt(_OVERLAP * 2.0 * radius * world.share / (world.softness * brake * layers)))


def _mass_per_area(body: Body, gravity: tuple[float, float, float]) -> float:
    """Mass over the area of the rectangle that the body covers, seen along gravity [kg/m²]."""
    low, high = body.bounds()
    sides = np.maximum(np.asarray(high) - np.asarray(low), 1e-9)
    return float(body.masses.sum() * sides[int(np.argmax(np.abs(gravity)))] / sides.prod())


def calm_speed(bed: Bed, gravity: tuple[float, float, float]) -> float | None:
    """Speed above which contacts that part let go at once [m/s], whatever the step; None without gravity."""
    pull = math.hypot(*gravity)
    return _CALM * math.sqrt(pull * float(bed.radii.min())) if pull > 0.0 else None


def rounded_down(step: float) -> float:
    """The next shorter step of two digits [s]."""
    digit = 10.0 ** (math.floor(math.log10(step)) - 1)
    return float(f"{math.floor(step / digit * (1.0 + 1e-9)) * digit:.2g}")
