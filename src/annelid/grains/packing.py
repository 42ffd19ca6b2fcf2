"""What a bed of spheres is like: overlaps of pairs and the part of the volume that is filled, measured on the host."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial import cKDTree

from annelid.core.arrays import whole_numbers
from annelid.core.errors import InvalidValue
from annelid.core.numbers import is_number
from annelid.core.options import require_kind
from annelid.grains.sections import Disc, Rectangle, Section
from annelid.shapes import Box, Cylinder, Shape
from annelid.shapes.interior import Interior
from annelid.shapes.values import Floats, as_points, as_vector

_WALL = 3.0  # mean diameters: further from a wall its layers are no longer seen
_NODES = 24  # heights at which the section of a sphere is integrated
_SAMPLES = 400_000  # points that measure the filling of a shape without a closed form


@dataclass(frozen=True, eq=False)
class Overlaps:
    """Pairs of spheres that overlap.

    Attributes:
        count: Number of pairs.
        deepest: Deepest overlap over the sum of the two radii; 0 if there is none.
        mean: Mean of that over the pairs that overlap.
        pairs: Indices of the two spheres, the lower first, shape [count, 2].
        depths: Overlap of each pair [m], shape [count].
    """

    count: int
    deepest: float
    mean: float
    pairs: NDArray[np.int64]
    depths: Floats


def overlaps(
    positions: ArrayLike, radii: ArrayLike, *, period: ArrayLike = (0.0, 0.0, 0.0), worlds: ArrayLike = 0
) -> Overlaps:
    """The pairs of spheres that overlap.

    Args:
        positions: Centres [m], shape [n, 3].
        radii: Radii [m], shape [n] or one for all.
        period: Lengths after which space repeats along x, y, z [m]; 0 for none.
        worlds: World of each sphere, shape [n]; spheres of different worlds do not touch.
    """
    points, sizes = as_spheres(positions, radii)
    lengths, reach = np.array(as_vector("period", period)), 2.0 * float(sizes.max(initial=0.0))
    if (lengths < 0.0).any():
        raise InvalidValue(f"period = {period!r:.60} cannot be used; give three lengths of 0 or more [m].")
    homes = whole_numbers("worlds of spheres", worlds).astype(float)
    if homes.shape not in ((), (len(points),)):
        raise InvalidValue(f"worlds must be one number or one for each of {len(points)} spheres.")
    aside = np.broadcast_to(2.0 * reach * homes, len(points))  # a fourth axis, along which worlds lie
    tree = cKDTree(np.column_stack([wrapped(points, lengths), aside]), boxsize=[*lengths, 0.0])
    pairs = tree.query_pairs(reach, output_type="ndarray").astype(np.int64)
    touch = sizes[pairs].sum(axis=1)
    apart = points[pairs[:, 0]] - points[pairs[:, 1]]
    apart -= lengths * np.round(apart / np.where(lengths > 0.0, lengths, np.inf))
    depths = touch - np.linalg.norm(apart, axis=1)
    found = depths > 0.0
    pairs, depths, share = pairs[found], depths[found], depths[found] / touch[found]
    mean = float(share.mean()) if len(share) else 0.0
    return Overlaps(len(pairs), float(share.max(initial=0.0)), mean, pairs, depths)


def wrapped(points: Floats, period: ArrayLike) -> Floats:
    """Points [m], shape [n, 3], moved by whole periods into [0, period) along the axes that have one."""
    lengths = np.asarray(period, dtype=np.float64)
    inside = np.mod(points, np.where(lengths > 0.0, lengths, np.inf))
    # A tiny negative number is rounded up to the period itself.
    inside = np.where(inside >= lengths, 0.0, inside)
    return np.where(lengths > 0.0, inside, points)


def packing_fraction(
    positions: ArrayLike,
    radii: ArrayLike,
    region: Shape,
    *,
    margin: float | None = None,
    top: float | None = None,
) -> float:
    """Part of the volume that is filled by spheres, in the bulk: away from walls, floor and free surface.

    In a box, and in a cylinder along z, the part of each sphere in the bulk is computed; other shapes are sampled.

    Args:
        positions: Centres [m], shape [n, 3].
        radii: Radii [m], shape [n] or one for all.
        region: The container.
        margin: Distance from walls, floor and surface at which the bulk begins [m]; by default 3 mean diameters, 0 for
            the whole container.
        top: Height of the free surface [m]; None for that below which 99 % of the centres lie, or the lid.
    """
    points, sizes = as_spheres(positions, radii)
    require_kind("the region", region, Shape, "a shape, such as shapes.Box((0.1, 0.1, 0.1))")
    border = _WALL * 2.0 * float(sizes.mean()) if margin is None else margin
    if not (is_number(border) and border >= 0.0):
        raise InvalidValue(f"margin = {margin!r} cannot be used; give a finite number of 0 or more [m].")
    if not (top is None or is_number(top)):
        raise InvalidValue(f"top = {top!r:.60} cannot be used; give a height [m], or None.")
    low, high = region.bounds()
    surface = float(np.quantile(points[:, 2], 0.99)) if top is None else float(top)
    if margin == 0.0 and top is None:
        surface = float(high[2])
    floor, ceiling = float(low[2]) + border, min(float(high[2]), surface) - border
    if ceiling <= floor:
        raise InvalidValue(
            f"a bed {surface - low[2]:.3g} m deep has no bulk {border:.3g} m from its ends: use a smaller margin."
        )
    section: Section
    if isinstance(region, Box):
        half = 0.5 * np.array(region.size[:2]) - border
        section = Rectangle(half)
    elif isinstance(region, Cylinder) and region.axis in ((0.0, 0.0, 1.0), (0.0, 0.0, -1.0)):
        half = np.full(2, region.radius - border)
        section = Disc(float(half[0]))
    else:
        return _sampled(points, sizes, region, border, floor, ceiling)
    if (half <= 0.0).any():
        raise InvalidValue(f"the container is no wider than twice the margin of {border:.3g} m: use a smaller margin.")
    local = points - np.array([region.center[0], region.center[1], 0.0])
    return _filled(local, sizes, half, section, floor, ceiling) / (section.area * (ceiling - floor))


def as_spheres(positions: ArrayLike, radii: ArrayLike) -> tuple[Floats, Floats]:
    """Checked centres, shape [n, 3], and radii, shape [n]."""
    points = as_points(positions)
    try:
        sizes = np.broadcast_to(np.asarray(radii, dtype=np.float64), len(points)).copy()
    except (TypeError, ValueError, OverflowError):
        raise InvalidValue(f"radii must be one number or one for each of {len(points)} spheres.") from None
    if not (np.isfinite(sizes).all() and (sizes > 0.0).all()):
        raise InvalidValue("radii must be finite and above 0 [m].")
    return points, sizes


def _filled(points: Floats, radii: Floats, half: Floats, section: Section, floor: float, ceiling: float) -> float:
    """Volume of spheres between two heights within a section about the z axis [m^3]."""
    near = (np.abs(points[:, 2] - 0.5 * (floor + ceiling)) < radii + 0.5 * (ceiling - floor)) & (
        np.abs(points[:, :2]) < half + radii[:, None]
    ).all(axis=1)
    points, radii = points[near], radii[near]
    whole = section.holds(points, radii)
    volume = float(_slab(points[whole, 2], radii[whole], floor, ceiling).sum())
    cut, size = points[~whole], radii[~whole]
    bottom, top = np.maximum(cut[:, 2] - size, floor), np.minimum(cut[:, 2] + size, ceiling)
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    heights = 0.5 * (bottom + top)[:, None] + 0.5 * (top - bottom)[:, None] * nodes
    across = np.sqrt(np.maximum(size[:, None] ** 2 - (heights - cut[:, 2:]) ** 2, 0.0))
    areas = section.areas(cut[:, 0:1], cut[:, 1:2], across)
    return volume + float((0.5 * (top - bottom) * (areas @ weights)).sum())


def _slab(height: Floats, radius: Floats, floor: float, ceiling: float) -> Floats:
    """Volume of a sphere between two planes [m^3]: the difference of two caps."""
    low = np.clip(floor - height, -radius, radius)
    high = np.clip(ceiling - height, -radius, radius)
    return np.asarray(np.pi * (radius**2 * (high - low) - (high**3 - low**3) / 3.0))


def _sampled(points: Floats, radii: Floats, region: Shape, border: float, floor: float, ceiling: float) -> float:
    interior = Interior(region, (region.volume / _SAMPLES) ** (1.0 / 3.0))
    probes = interior.samples(np.random.default_rng(0), 1)
    probes = probes[(probes[:, 2] > floor) & (probes[:, 2] < ceiling)]
    probes = probes[region.signed_distance(probes) < -border]
    if len(probes) < 100:
        raise InvalidValue(f"the container has no bulk {border:.3g} m from its walls: use a smaller margin.")
    covered = cKDTree(probes).query_ball_point(points, radii, return_length=True)
    return float(np.sum(covered)) / len(probes)
