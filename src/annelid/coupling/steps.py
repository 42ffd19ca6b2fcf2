"""How long steps may be: what a bed at rest, bodies that fall into it, and the springs of the body each allow."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from annelid.grains import Bed
from annelid.grains.model import is_free, rigid_load
from annelid.grains.rigid import Touched
from annelid.grains.steps import Load
from annelid.springs import Body

LONGEST, LONGEST_SOLVED = 1.25, 4.0
"""Longest step of the grains, in stable steps of the springs: in a longer one masses swing back and forth unseen.

The second where steps converge and springs are damped: contacts then take less part in it, and what masses gain dies.
"""

DAMPED = 0.3
"""Dashpot of a damped spring at least, in its stiffness times the stable step.

Meetings with grains that are further apart than half a swing of the fastest springs push these at the wrong moments. A
block of TPU in steps of 1.8 stable ones moved at 1.5 m/s after 0.1 s without dashpots, at 0.3 with a thirtieth of this,
at 0.07 with a third, and at 0.02 with this, as in short steps.
"""

LIVELY = 0.5
"""Longest step of the grains by plain sweeps, in steps that suit bed and bodies without springs."""


def loads_on(
    bed: Bed, body: Body, bodies: Sequence[Touched], gravity: tuple[float, float, float], worlds: int = 1
) -> list[Load]:  # fmt: skip
    """What falls onto the grains of a world: the spring body with what it holds, and other free rigid bodies.

    Args:
        bed: The grains.
        body: The spring body, or as many equal copies as there are worlds.
        bodies: Planes and rigid bodies.
        gravity: Gravity [m/s²].
        worlds: Worlds side by side.
    """
    points = body.positions[: body.mass_count // worlds]  # copies may stand elsewhere, but are as wide and as heavy
    mass, fastest = float(body.masses[: len(points)].sum()), float(np.linalg.norm(body.velocities, axis=1).max())
    return loads_of(bed, points, mass, bodies, gravity, speed=fastest)


def loads_of(
    bed: Bed,
    points: np.ndarray,
    mass: float,
    bodies: Sequence[Touched],
    gravity: tuple[float, float, float],
    *,
    speed: float = 0.0,
) -> list[Load]:
    """What falls onto the grains of a world: a soft body with what it holds, and other free rigid bodies.

    Args:
        bed: The grains.
        points: Points of the body [m], shape [n, 3].
        mass: Its mass [kg].
        bodies: Planes and rigid bodies.
        gravity: Gravity [m/s²].
        speed: Its speed at the start [m/s].
    """
    free = [(number, one) for number, one in enumerate(bodies) if is_free(one) and one.world == 0]
    low, high = points.min(axis=0), points.max(axis=0)
    carried = [one for _, one in free if (one.extent[0] >= low).all() and (one.extent[1] <= high).all()]
    whole = mass + sum(one.weight[0] for one in carried)
    soft = Load.of(points, whole, speed, bed, gravity)
    apart = [
        replace(rigid_load(one, bed, gravity), called=one.rigid.called(number))
        for number, one in free
        if one not in carried
    ]
    return [soft, *apart]


def longest_for_springs(body: Body, stable: float, *, solved: bool) -> float:
    """Longest step of the grains that the springs of a body allow [s].

    Args:
        body: The body.
        stable: Stable step of its springs [s].
        solved: Whether steps of the grains converge.
    """
    damped = bool((body.damping >= DAMPED * stable * body.stiffness).all())
    return (LONGEST_SOLVED if solved and damped else LONGEST) * stable


def rounded_down(step: float) -> float:
    """The next shorter step of two digits [s]."""
    digit = 10.0 ** (math.floor(math.log10(step)) - 1)
    return float(f"{math.floor(step / digit * (1.0 + 1e-9)) * digit:.2g}")
