"""Grains that start inside each other or inside a body: counted, measured, and pushed apart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import NoneType
from typing import TypeAlias

import numpy as np
import warp as wp
from numpy.typing import ArrayLike

from annelid.core.errors import InvalidValue
from annelid.core.options import require_kind
from annelid.grains.packing import Overlaps, as_spheres, overlaps
from annelid.grains.relax import SWELL, Relaxation
from annelid.shapes import Shape, SignedDistanceGrid, TriangleMesh
from annelid.shapes.values import Floats, require_count

Body: TypeAlias = Shape | SignedDistanceGrid | Callable[[Floats], Floats]
"""A solid, or a function from points [m], shape [n, 3], to signed distances [m], shape [n]."""

_DONE = 1e-7  # of a radius: overlap that counts as none
_MOST_ROUNDS = 1_000_000
_FLAT = 1e-3  # a slope below this has no direction


@dataclass(frozen=True, eq=False)
class Parted:
    """Grains after they were pushed apart, and what was wrong before.

    Attributes:
        positions: Centres [m], shape [n, 3].
        overlaps: Pairs that overlapped.
        inside: Number of grains that stood in a body.
        deepest_inside: How deep the deepest of them stood in it [m].
        moved: Longest way of a grain [m].
    """

    positions: Floats
    overlaps: Overlaps
    inside: int
    deepest_inside: float
    moved: float

    def __str__(self) -> str:
        pairs = f"{self.overlaps.count} pairs overlapped by up to {100 * self.overlaps.deepest:.2g} % of a diameter"
        bodies = f"{self.inside} grains stood in a body by up to {self.deepest_inside:.2g} m"
        return f"{pairs}, {bodies}; the longest way out was {self.moved:.2g} m"


def push_apart(
    positions: ArrayLike,
    radii: ArrayLike,
    bodies: Sequence[Body] = (),
    *,
    room: Shape | None = None,
    rounds: int = 400,
    allowed: float = 0.0,
    device: str | wp.Device = "cpu",
) -> Parted:
    """Move grains as little as it takes until none overlaps another or stands in a body.

    Args:
        positions: Centres [m], shape [n, 3].
        radii: Radii [m], shape [n] or one for all.
        bodies: Solids to leave: shapes, baked distances, or functions that give the signed distance of points.
        room: Where the grains stay; None for anywhere.
        rounds: Rounds of ten steps at most.
        allowed: Overlap of two grains and depth in a body that may be left after them, in radii.
        device: Where grains are pushed apart.
    """
    rounds = require_count("rounds", rounds, least=1, most=_MOST_ROUNDS)
    points, sizes = as_spheres(positions, radii)
    require_kind("bodies to leave", bodies, Sequence, "a list of shapes or functions")
    for body in bodies:
        if not (isinstance(body, Shape | SignedDistanceGrid) or callable(body)):
            raise InvalidValue(f"a body to leave must be a shape or a function of points, not {body!r:.60}.")
    require_kind("the room", room, (Shape, NoneType), "a shape or None")
    before = overlaps(points, sizes)
    depth = _depths(points, sizes, bodies)
    inside = int((depth > 0.0).any(axis=0).sum())
    relaxation = Relaxation(points, sizes, room=room, device=device)
    for number in range(rounds):
        share = 1.0 if 2 * number < rounds else 0.1  # between bodies that leave no room, each gets its part
        placed = _outside(relaxation.positions, sizes, bodies, share)
        if (placed != relaxation.positions).any():
            relaxation.place(placed)
        deep, stuck = relaxation.depth(), float((_depths(placed, sizes, bodies) / sizes).max(initial=0.0))
        left = allowed if number == rounds - 1 else 0.0
        if deep <= max(_DONE, 0.5 * left) and stuck <= max(_DONE, left):
            moved = float(np.linalg.norm(placed - points, axis=1).max(initial=0.0))
            return Parted(placed, before, inside, float(depth.max(initial=0.0)), moved)
        relaxation.push(10)
    raise InvalidValue(
        f"the grains cannot be pushed apart: after {rounds} rounds an overlap of {deep:.2g} diameters and a depth of "
        f"{stuck:.2g} radii in a body are left; use fewer or smaller grains, or give more room."
    )


def _depths(points: Floats, radii: Floats, bodies: Sequence[Body]) -> Floats:
    """How deep each grain stands in each body [m], negative outside, shape [bodies, n]."""
    return np.array([radii - _distance(body, points) for body in bodies]).reshape(len(bodies), len(points))


def _outside(points: Floats, radii: Floats, bodies: Sequence[Body], share: float) -> Floats:
    """Centres moved out of the bodies along the slope of the distance, or a share of the way, one after the other."""
    places = points.copy()
    for body in bodies:
        depth = SWELL * radii - _distance(body, places)
        stuck = np.flatnonzero(depth > (SWELL - 1.0 + 0.1 * _DONE) * radii)
        if len(stuck):
            places[stuck] += share * depth[stuck, None] * _directions(body, places[stuck], 1e-3 * radii[stuck])
    return places


def _distance(body: Body, points: Floats) -> Floats:
    if isinstance(body, SignedDistanceGrid):
        return body.sample(points)[0]
    return body.signed_distance(points) if isinstance(body, Shape) else np.asarray(body(points), dtype=np.float64)


def _directions(body: Body, points: Floats, steps: Floats) -> Floats:
    """Unit vectors out of a body, shape [n, 3]: the slope of the distance, by central differences unless known."""
    if isinstance(body, TriangleMesh):
        return body.distance_and_gradient(points)[1]
    if isinstance(body, SignedDistanceGrid):
        slope = body.sample(points)[1]
    else:
        shifts = [steps[:, None] * axis for axis in np.eye(3)]
        slope = np.stack([_distance(body, points + s) - _distance(body, points - s) for s in shifts], axis=1)
        slope /= 2.0 * steps[:, None]
    length = np.linalg.norm(slope, axis=1, keepdims=True)
    return np.where(length > _FLAT, slope / np.maximum(length, _FLAT), [0.0, 0.0, 1.0])
