"""How grains may start: within the period, and not inside each other or a body, or pushed apart, or let be."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from annelid.core.errors import GrainsPushed, InvalidValue, UnknownName
from annelid.grains.apart import push_apart
from annelid.grains.bed import Bed
from annelid.grains.packing import overlaps, wrapped
from annelid.grains.rigid import Solid, Touched, Wall
from annelid.shapes import SignedDistanceGrid
from annelid.shapes.values import Floats

CHOICES = ("refuse", "push", "allow")

_DEEP = 0.1  # of a diameter: grains at rest in a deep bed overlap less
_ASIDE = 1.0e3  # how far apart worlds are looked at, in extents of the bed


@contextmanager
def on_purpose() -> Iterator[None]:
    """Give no warning of grains that are displaced: bodies are meant to start among them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GrainsPushed)
        yield


def begin(
    bed: Bed,
    bodies: Sequence[Touched],
    worlds: np.ndarray,
    overlapping: str,
    *,
    period: tuple[float, float, float] = (0.0, 0.0, 0.0),
) -> Bed:
    """The bed as it may start: within the period, and with nothing deep in anything else.

    Args:
        bed: The grains.
        bodies: What they touch.
        worlds: World of each grain, shape [n].
        overlapping: What to do with grains that are deeper than a tenth of a diameter in each other or in a body:
            "refuse" them, "push" them apart, or "allow" them.
        period: Lengths after which space repeats along x, y, z [m]; 0 for none.
    """
    if not isinstance(overlapping, str) or overlapping not in CHOICES:
        raise UnknownName("way with overlapping grains", overlapping, CHOICES)
    if any(period):
        require_room(bed, bodies, period)
        bed = bed.copy(positions=wrapped(bed.positions, period))
    if overlapping == "allow":
        return bed
    sentence = _trouble(bed, bodies, worlds, period)
    if sentence is None:
        return bed
    if overlapping == "refuse":
        raise InvalidValue(f"{sentence}: move them, or say overlapping='push' or 'allow'.")
    pushed, moved = _pushed(bed, bodies, worlds, period)
    left = _trouble(pushed, bodies, worlds, period) if any(period) else None
    if left is not None:
        raise InvalidValue(f"{left} across the seam of the period, where they are not pushed: move them.")
    warnings.warn(f"{sentence}; they were pushed apart, by up to {moved:.2g} m.", GrainsPushed, stacklevel=5)
    return pushed


def require_room(bed: Bed, bodies: Sequence[Touched], period: tuple[float, float, float]) -> None:
    """Refuse a period that is too short, and bodies that reach across its seam: they do not repeat, grains do."""
    largest = float(bed.radii.max())
    for axis, length in enumerate(period):
        if 0.0 < length < 4.0 * largest:
            raise InvalidValue(
                f"the period of {length:g} m along {'xyz'[axis]} is shorter than two diameters of the largest grain, "
                f"{4.0 * largest:g} m: use a longer one, or smaller grains."
            )
        for number, body in enumerate(bodies):
            if length > 0.0 and isinstance(body, Solid) and not body.inside:
                _require_inside(number, body, axis, length, largest)


def _require_inside(number: int, body: Solid, axis: int, length: float, radius: float) -> None:
    """Refuse a body nearer to the ends of a period than a grain reaches, unless it spans all of it."""
    low, high = (float(end[axis]) for end in body.extent)
    slack = 1.0e-6 * length
    spans = low <= slack and high >= length - slack
    if not spans and not (low >= radius - slack and high <= length - radius + slack):
        raise InvalidValue(
            f"body {number}{f' ({body.name})' if body.name else ''} reaches from {low:.4g} to {high:.4g} m along "
            f"{'xyz'[axis]}, where space repeats from 0 to {length:g} m and bodies do not: keep it a grain's radius of "
            f"{radius:g} m inside, or let it span the whole period."
        )


def _trouble(bed: Bed, bodies: Sequence[Touched], worlds: np.ndarray, period: tuple[float, float, float]) -> str | None:
    """What starts deep in what, and how deep; None where nothing does."""
    found = overlaps(bed.positions, bed.radii, period=period, worlds=worlds)
    pairs = int((found.depths > _DEEP * bed.radii[found.pairs].sum(axis=1)).sum())
    depths = np.max([_depth(bed, body, worlds) for body in bodies] or [np.full(len(bed), -np.inf)], axis=0)
    inside = int((depths > 2.0 * _DEEP * bed.radii).sum())
    parts = []
    if pairs:
        share = f"by up to {100 * found.deepest:.3g} % of a diameter"
        parts.append(f"{pairs} pair{'s' * (pairs > 1)} of grains start{'s' * (pairs == 1)} inside each other, {share}")
    if inside:
        depth = f"by up to {float(depths.max()):.3g} m"
        parts.append(f"{inside} grain{'s' * (inside > 1)} start{'s' * (inside == 1)} inside a body, {depth}")
    return " and ".join(parts) or None


def _pushed(
    bed: Bed, bodies: Sequence[Touched], worlds: np.ndarray, period: tuple[float, float, float]
) -> tuple[Bed, float]:
    """The bed after its grains were pushed apart, each world by itself, and the longest way of one [m]."""
    apart = _ASIDE * (float(np.ptp(bed.positions, axis=0).max()) + float(bed.radii.max()))
    aside = np.outer(worlds, [apart, 0.0, 0.0])
    parted = push_apart(bed.positions + aside, bed.radii, [_Solid(body, apart) for body in bodies], allowed=2.0 * _DEEP)
    return bed.copy(positions=wrapped(parted.positions - aside, period)), parted.moved


class _Solid:
    """Signed distance of a body among worlds that were moved aside."""

    def __init__(self, body: Touched, aside: float) -> None:
        self._body, self._aside = body, aside

    def __call__(self, points: Floats) -> Floats:
        here = np.rint(points[:, 0] / self._aside) == self._body.world
        distances = np.full(len(points), np.inf)
        distances[here] = distance(self._body, points[here] - [self._body.world * self._aside, 0.0, 0.0])
        return np.where(np.isfinite(distances), distances, 1.0e6)


def distance(body: Touched, points: Floats) -> Floats:
    """How far points [m] are from the surface of a body as built [m], negative where grains must not be."""
    if isinstance(body, Wall):
        return np.asarray((points - body.point) @ np.asarray(body.normal))
    local = body.rigid.turn.inv().apply(points - np.asarray(body.rigid.position))
    if body.grid is not None:
        found = _from_grid(body.grid, local)
    else:
        found = body.shape.signed_distance(local)
    return np.asarray(-found if body.inside else found)


def _from_grid(grid: SignedDistanceGrid, points: Floats) -> Floats:
    """Baked distances [m], beyond the grid as the kernels of `surfaces` continue them."""
    nearest = np.clip(points, *grid.bounds())
    found, gradient = grid.sample(nearest)
    way = np.maximum(found, 0.0)[:, None] * gradient / np.maximum(np.linalg.norm(gradient, axis=1), 1e-20)[:, None]
    outside = (points != nearest).any(axis=1)
    return np.where(outside, np.linalg.norm(points - nearest + way, axis=1), found)


def _depth(bed: Bed, body: Touched, worlds: np.ndarray) -> Floats:
    """How deep each grain is in a body [m], negative outside, shape [n]."""
    near = worlds == body.world
    if isinstance(body, Solid) and not body.inside:
        near &= np.linalg.norm(bed.positions - body.place, axis=1) < body.reach + bed.radii
    depths = np.full(len(bed), -np.inf)
    if near.any():
        depths[near] = bed.radii[near] - distance(body, bed.positions[near])
    return depths
