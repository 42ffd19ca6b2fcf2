"""A body that starts inside the bed is refused, or displaces grains; one that starts inside a wall is refused."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from annelid import grains
from annelid.core.errors import GrainsPushed, InvalidValue
from annelid.coupling.outline import Outline
from annelid.coupling.surface import closed_surface
from annelid.grains.rigid import Touched
from annelid.grains.start import distance

_DEEP = 0.05  # of a radius: what is deeper would throw a light body into the air


def make_room(
    bed: grains.Bed, body: Outline, thickness: float, bodies: Sequence[Touched] = (), *, how: str = "refuse"
) -> grains.Bed:
    """The bed without grains inside a body.

    Args:
        bed: The grains.
        body: The body.
        thickness: How far its spheres stand out of the surface through its masses [m].
        bodies: What else the grains must not be pushed into.
        how: "refuse" grains inside the body, "push" them aside, "remove" them, or "allow" them.
    """
    if how == "allow":
        return bed
    depths = bed.radii + thickness - _distances(body, bed.positions, float(bed.radii.max()) + thickness)
    inside = depths > _DEEP * bed.radii
    if not inside.any():
        return bed
    trouble = f"{int(inside.sum())} grains are in its way, by up to {depths.max():.3g} m"
    if how == "refuse":
        raise InvalidValue(f"the body starts inside the bed: {trouble}; move it, or say inside='push' or 'remove'.")
    if how == "remove":
        left, done = bed.where(~inside), "taken out"
    else:
        try:
            left, done = bed.copy(positions=_pushed(bed, body, thickness, bodies)), "pushed aside"
        except InvalidValue as error:
            raise InvalidValue(
                f"the body starts inside the bed: {trouble}, and they cannot all be pushed aside; say "
                "inside='remove', or set the body higher."
            ) from error
    warnings.warn(f"the body starts inside the bed: {trouble}; they were {done}.", GrainsPushed, stacklevel=7)
    return left


def require_outside(points: np.ndarray, worlds: np.ndarray, bed: grains.Bed, bodies: Sequence[Touched]) -> None:
    """Refuse a body that starts in a wall or a rigid body, which would throw it out.

    Args:
        points: Points of its surface [m], shape [n, 3].
        worlds: World of each, shape [n].
        bed: The grains: what is less deep than the radius of the smallest is a tight fit.
        bodies: Planes and rigid bodies.
    """
    for number, other in enumerate(bodies):
        here = points[worlds == other.world]
        if len(here) == 0 or (depth := -float(distance(other, here).min())) <= float(bed.radii.min()):
            continue
        raise InvalidValue(
            f"the body starts inside {other.rigid.called(number)}, by up to {depth:.3g} m: move one of them away."
        )


def _pushed(bed: grains.Bed, body: Outline, thickness: float, bodies: Sequence[Touched]) -> np.ndarray:
    """Centres of the grains [m], shape [n, 3], after they were displaced."""
    reach = 4.0 * float(bed.radii.max()) + thickness
    solids: list[Callable[[np.ndarray], np.ndarray]] = [lambda points: _distances(body, points, reach) - thickness]
    solids += [partial(distance, other) for other in bodies]
    return np.asarray(grains.push_apart(bed.positions, bed.radii, solids).positions)


def _distances(body: Outline, points: np.ndarray, reach: float) -> np.ndarray:
    """Signed distances from the surface through the masses of a body [m], shape [n]; `reach` where they are larger."""
    low, high = body.positions.min(axis=0), body.positions.max(axis=0)
    near = ((points > low - reach) & (points < high + reach)).all(axis=1)
    found = np.full(len(points), reach)
    if near.any():
        found[near] = np.minimum(closed_surface(body).signed_distance(points[near]), reach)
    return found
