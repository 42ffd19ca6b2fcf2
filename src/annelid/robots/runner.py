"""A robot with four soft legs on hinges that motors turn, and a body of stiffer material (Cronos, Fig. 1c)."""

from __future__ import annotations

import math

from annelid import springs
from annelid.shapes import Box

LEGS = {
    "front-left": (0.06, 0.06),
    "front-right": (0.06, -0.06),
    "hind-left": (-0.06, 0.06),
    "hind-right": (-0.06, -0.06),
}
"""Where the hinge of each leg is, x and y [m]; it is called like the leg with "-hinge" behind it."""

LENGTH = 0.16
"""Of the body [m]."""

_HEIGHT = 0.055  # of the hinges [m]


def runner(spacing: float = 0.01) -> springs.Body:
    """A plate of TPU with a leg of PDMS at each corner, each pair across the body a quarter of a turn behind the other.

    Args:
        spacing: Distance of the masses [m]; 0.01 or 0.02.
    """
    plate = springs.lattice(Box((LENGTH, 0.08, 0.02)), spacing, "tpu", damping_frequency=2000.0)
    parts = [plate.group("chassis", None)]
    for name, (x, y) in LEGS.items():
        leg = springs.lattice(Box((0.10, 0.02, 0.02)), spacing, "pdms", damping_frequency=300.0).group(name, None)
        quarter = 0.0 if name in ("front-left", "hind-right") else math.pi / 2
        parts.append(leg.rotated((0.0, 1.0, 0.0), quarter).moved((x, y, 0.0)))
    robot = springs.join(parts).moved((0.0, 0.0, _HEIGHT))
    for name, (x, y) in LEGS.items():
        robot = springs.hinge(
            robot, f"{name}-hinge", rotor=name, stator="chassis", point=(x, y, _HEIGHT), direction=(0.0, 1.0, 0.0)
        )
    return robot
