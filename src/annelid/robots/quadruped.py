"""The body of a pneumatic quadruped of silicone in the manner of Shepherd et al. (2011): five groups of actuators."""

from __future__ import annotations

import numpy as np

from annelid.shapes import Box, Union
from annelid.springs.body import Body
from annelid.springs.build import lattice

PITCH = 0.004
"""Distance of two masses [m]."""

LIMBS = {
    "spine": ((0.040, 0.056, 0.012), (0.0, 0.0, 0.006)),
    "front-left": ((0.048, 0.016, 0.012), (0.044, 0.020, 0.006)),
    "front-right": ((0.048, 0.016, 0.012), (0.044, -0.020, 0.006)),
    "hind-left": ((0.048, 0.016, 0.012), (-0.044, 0.020, 0.006)),
    "hind-right": ((0.048, 0.016, 0.012), (-0.044, -0.020, 0.006)),
}
"""Size and centre of each limb [m]; the group of a limb are the stripes of its upper half that are inflated."""


def quadruped() -> Body:
    """A body with two legs forwards and two backwards, on a stiffer sole; its groups are the limbs."""
    parts = {name: Box(size, center=center) for name, (size, center) in LIMBS.items()}
    sole = lambda x: x[:, 2] < PITCH  # noqa: E731 (a stiffer sole makes the limbs bend rather than stretch)
    body = lattice(Union(tuple(parts.values())), PITCH, "ecoflex-00-30", inserts=[(sole, "pdms")])
    x, _, z = body.positions.T
    striped = np.floor(x / (2 * PITCH) + 0.5) % 2 == 0
    for name, part in parts.items():
        body.group(name, part.contains(body.positions) & striped & (z > 0.5 * PITCH))
    return body
