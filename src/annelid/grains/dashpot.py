"""The dashpot of a Hertz contact that gives a restitution."""

from __future__ import annotations

import math

import numpy as np

from annelid.shapes.values import Floats

LEAST = math.exp(-2.0)
"""Restitution of a critically damped contact; a smaller one would ask for stiff dashpots, and very short steps."""


def dashpots(restitutions: Floats) -> Floats:
    """Coefficient c of a damping force c √(S m) v beside Hertz's force, S its stiffness dF/dδ, m the reduced mass.

    With y = δ^(5/4) and dτ = δ^(1/4) dt the collision is that of a linear oscillator (Antypov and Elliott 2011), damped
    by a share sin φ of the critical. Surfaces do not pull: they part when the force is 0, not when the overlap is, and
    then -ln e = (π - 2φ) tan φ. Without that, c = 2 √(5/6) sin φ with -ln e = π tan φ, and a ball of e = 0.5 would rise
    to 0.29 of its height.

    Args:
        restitutions: Speed after a collision over the speed before it, shape [n]; below `LEAST` as at `LEAST`.
    """
    wanted = -np.log(np.clip(restitutions, LEAST, 1.0))
    low, high = np.zeros_like(wanted), np.full_like(wanted, 0.5 * math.pi)
    for _ in range(60):  # the right side rises from 0 to 2
        middle = 0.5 * (low + high)
        below = (math.pi - 2.0 * middle) * np.tan(middle) < wanted
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return np.asarray(2.0 * math.sqrt(5.0 / 6.0) * np.sin(low))
