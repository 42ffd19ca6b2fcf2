"""Bodies that begin inside obstacles: how deep their points are, and the sentence that warns of it."""

from __future__ import annotations

import warnings

import numpy as np

from annelid.core.errors import BeginsInside
from annelid.shapes.height_field import HeightField
from annelid.shapes.implicit import ImplicitSurface
from annelid.shapes.plane import Plane
from annelid.shapes.rigid import Rigid


def depths_inside(rigid: Rigid, points: np.ndarray) -> np.ndarray:
    """How deep points [m], shape [n, 3], are inside a rigid thing as built [m], 0 outside, shape [n].

    What only the user's function knows is not looked at: it runs in kernels.
    """
    geometry = rigid.geometry
    if isinstance(geometry, ImplicitSurface):
        return np.zeros(len(points))
    if isinstance(geometry, HeightField):
        here = rigid.turn.inv().apply(points - np.array(rigid.position))
        return np.maximum(geometry.heights_at(here[:, :2]) - here[:, 2], 0.0)
    where = rigid.where
    if isinstance(where, Plane):
        return np.maximum(-(points - np.array(where.point)) @ np.array(where.normal), 0.0)
    if rigid.inside:
        return np.maximum(where.signed_distance(points), 0.0)
    low, high = where.bounds()
    near = ((points > low) & (points < high)).all(axis=1)  # distances to meshes take their time
    depths = np.zeros(len(points))
    if near.any():
        depths[near] = np.maximum(-where.signed_distance(points[near]), 0.0)
    return depths


def warn_inside(what: str, where: str, depths: np.ndarray, remedy: str, *, stacklevel: int) -> None:
    """Tell of parts of a body that begin inside something, which throws them out.

    Args:
        what: What these parts are: "masses".
        where: What they begin inside of: "obstacle 2, a Sphere".
        depths: How deep each of them is [m], 0 outside, shape [n].
        remedy: How to put the body elsewhere.
        stacklevel: That of the caller's caller, as of `warnings.warn`.
    """
    count = int((depths > 0.0).sum())
    if count:
        warnings.warn(
            f"{count} of {len(depths)} {what} begin inside {where}, the deepest by {depths.max():.3g} m, which throws "
            f"the body out: {remedy}.",
            BeginsInside,
            stacklevel=stacklevel + 1,
        )
