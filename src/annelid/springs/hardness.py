"""How stiff contacts are with surfaces that do not say: in proportion to each mass, and as suits the body.

A mass that touches down at speed v sinks v / √hardness deep, whatever it weighs, and under a column of n masses at rest
n g / hardness.
"""

from __future__ import annotations

import math

import numpy as np

from annelid.core.stability import stable_step
from annelid.springs.body import Body
from annelid.springs.collisions import pieces_of
from annelid.springs.world import World

_DEPTH = 0.1  # of the median rest length: how far a mass sinks in at most that falls from the height of its piece
_ALONE = 1.0e-3  # how far a mass without springs sinks in that arrives at 1 m/s [m]
_SLACK = 4.0  # stable step of a contact alone, at least, in a step that is given
_GRAVITY = 9.81  # of that fall, where there is less [m/s²]


def hardness(body: Body, world: World, squared: float) -> float:
    """Stiffness over mass of contacts with surfaces that give none [1/s²].

    A contact alone has the stable step that the springs have, if masses do not sink in too deep then; where a time step
    is given, contacts leave what they can of it to the springs.

    Args:
        body: The body.
        world: Its surroundings.
        squared: Highest squared frequency of its springs, or a bound of it [1/s²].
    """
    if body.spring_count == 0:
        return 1.0 / _ALONE**2
    ratio = max((contact.damping_ratio for contact in world.contacts), default=0.0)
    longest = stable_step(1.0, 2.0 * ratio)  # in units of the undamped frequency
    own = 0.5 * longest * math.sqrt(squared)  # whose stable step is that of the springs
    if world.dt != "auto":
        own = min(own, longest / (_SLACK * world.dt))
    return max(own * own, _hardness_for_a_fall(body, world))


def _hardness_for_a_fall(body: Body, world: World) -> float:
    pieces = pieces_of(body)
    low, high = np.full((pieces.max() + 1, 3), np.inf), np.full((pieces.max() + 1, 3), -np.inf)
    np.minimum.at(low, pieces, body.positions)
    np.maximum.at(high, pieces, body.positions)
    gravity = max(float(np.linalg.norm(world.gravity)), _GRAVITY)
    depth = _DEPTH * float(np.median(body.rest_lengths))
    return 2.0 * gravity * float((high - low).max()) / depth**2
