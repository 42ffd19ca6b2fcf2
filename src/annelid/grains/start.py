"""Grains that start inside each other or inside a body: refused, pushed apart, or let be."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.spatial.transform import Rotation

from annelid.core.errors import InvalidValue, UnknownName
from annelid.grains.apart import push_apart
from annelid.grains.bed import Bed
from annelid.grains.packing import overlaps
from annelid.grains.rigid import Plane, Rigid
from annelid.shapes.shape import Floats

CHOICES = ("refuse", "push", "allow")

_DEEP = 0.1  # of a diameter: grains at rest in a deep bed overlap less
_ASIDE = 1.0e3  # how far apart worlds are looked at, in extents of the bed


def begin(bed: Bed, bodies: Sequence[Plane | Rigid], worlds: np.ndarray, overlapping: str) -> Bed:
    """The bed as it may start.

    Args:
        bed: The grains.
        bodies: What they touch.
        worlds: World of each grain, shape [n].
        overlapping: What to do with grains that are deeper than a tenth of a diameter in each other or in a body:
            "refuse" them, "push" them apart, or "allow" them.
    """
    if overlapping not in CHOICES:
        raise UnknownName("way with overlapping grains", overlapping, CHOICES)
    if overlapping == "allow":
        return bed
    extent = float(np.ptp(bed.positions, axis=0).max()) + float(bed.radii.max())
    aside = np.outer(worlds, [_ASIDE * extent, 0.0, 0.0])
    found = overlaps(bed.positions + aside, bed.radii)
    pairs = int((found.depths > _DEEP * bed.radii[found.pairs].sum(axis=1)).sum())
    depths = np.max([_depth(bed, body, worlds) for body in bodies] or [np.full(len(bed), -np.inf)], axis=0)
    inside = int((depths > 2.0 * _DEEP * bed.radii).sum())
    if pairs == 0 and inside == 0:
        return bed
    if overlapping == "refuse":
        raise InvalidValue(_sentence(pairs, found.deepest, inside, float(depths.max())))
    solids = [_Solid(body, worlds, _ASIDE * extent) for body in bodies]
    return bed.copy(positions=push_apart(bed.positions + aside, bed.radii, solids).positions - aside)


class _Solid:
    """Signed distance of a body among worlds that were moved aside."""

    def __init__(self, body: Plane | Rigid, worlds: np.ndarray, aside: float) -> None:
        self._body, self._aside = body, aside

    def __call__(self, points: Floats) -> Floats:
        here = np.rint(points[:, 0] / self._aside) == self._body.world
        distances = np.full(len(points), np.inf)
        distances[here] = distance(self._body, points[here] - [self._body.world * self._aside, 0.0, 0.0])
        return np.where(np.isfinite(distances), distances, 1.0e6)


def distance(body: Plane | Rigid, points: Floats) -> Floats:
    """How far points [m] are from the surface of a body as built [m], negative where grains must not be."""
    if isinstance(body, Plane):
        return np.asarray((points - body.point) @ np.asarray(body.normal))
    local = Rotation.from_quat(body.rotation).inv().apply(points - np.asarray(body.position))
    if body.grid is not None:
        found = body.grid.sample(local)[0]
    else:
        found = body.shape.signed_distance(local)
    return np.asarray(-found if body.inside else found)


def _depth(bed: Bed, body: Plane | Rigid, worlds: np.ndarray) -> Floats:
    """How deep each grain is in a body [m], negative outside, shape [n]."""
    near = worlds == body.world
    if isinstance(body, Rigid) and not body.inside:
        near &= np.linalg.norm(bed.positions - body.place, axis=1) < body.reach + bed.radii
    depths = np.full(len(bed), -np.inf)
    if near.any():
        depths[near] = bed.radii[near] - distance(body, bed.positions[near])
    return depths


def _sentence(pairs: int, deepest: float, inside: int, depth: float) -> str:
    parts = []
    if pairs:
        parts.append(f"{pairs} pairs of grains start inside each other, by up to {100 * deepest:.3g} % of a diameter")
    if inside:
        parts.append(f"{inside} grains start inside a body, by up to {depth:.3g} m")
    return f"{' and '.join(parts)}: move them, or say overlapping='push' or 'allow'."
