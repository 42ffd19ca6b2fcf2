"""What contact adds to the state of a solid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import warp as wp

from annelid.core.state import rows


@dataclass(kw_only=True)
class Touch:
    """What a solid without obstacles touches: nothing."""


@dataclass(kw_only=True)
class Touching(Touch):
    """Obstacles and what is between them and the outer nodes; pairs are nodes times obstacles, obstacles the fastest.

    Attributes:
        stretches: Stretch of the spring of friction of each pair [m], vec3d of shape [worlds · k · o].
        forces: Force of each pair on the node at the end of the last step [N], vec3d of shape [worlds · k · o].
        places: Centres of the obstacles [m], vec3d of shape [worlds · o].
        turns: Their quaternions, quatd of shape [worlds · o].
        velocities: Velocities of their centres [m/s], vec3d of shape [worlds · o].
        spins: Their angular velocities [rad/s], vec3d of shape [worlds · o].
        point_stretches: The same as stretches, of the points of free bodies, vec3d of shape [worlds · p · o].
        point_forces: Forces on these points [N], vec3d of shape [worlds · p · o].
        corner_stretches: The same as stretches, of corners of obstacles, vec3d of shape [worlds · c].
        cut: Steps in which a move was cut short, so that nothing went through anything, shape [worlds].
    """

    stretches: wp.array[Any] = rows("pair", wp.vec3d)
    forces: wp.array[Any] = rows("pair", wp.vec3d)
    places: wp.array[Any] = rows("obstacle", wp.vec3d)
    turns: wp.array[Any] = rows("obstacle", wp.quatd)
    velocities: wp.array[Any] = rows("obstacle", wp.vec3d)
    spins: wp.array[Any] = rows("obstacle", wp.vec3d)
    point_stretches: wp.array[Any] = rows("body-pair", wp.vec3d)
    point_forces: wp.array[Any] = rows("body-pair", wp.vec3d)
    corner_stretches: wp.array[Any] = rows("corner", wp.vec3d)
    cut: wp.array[Any] = rows("world", wp.int64)


@dataclass(kw_only=True)
class TouchingItself(Touching):
    """The same for a solid whose surface touches itself.

    Attributes:
        pair_keys: Pairs of the surface that rub, ascending, then -1, int64 of shape [worlds · r].
        pair_stretches: Stretch of the spring of friction of each [m], vec3d of shape [worlds · r].
        own_forces: Force of the surface on each of its nodes at the end of the last step [N], vec3d of shape
            [worlds · s].
    """

    pair_keys: wp.array[Any] = rows("own-pair", wp.int64)
    pair_stretches: wp.array[Any] = rows("own-pair", wp.vec3d)
    own_forces: wp.array[Any] = rows("surface-node", wp.vec3d)
