"""How far a surface goes on around its points: those on faces are discs, those on edges rods, those on corners spheres.

Grains that slide over spheres alone feel their bumps: a body would rub more than its friction says.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree

from annelid.core.distinct import distinct_rows
from annelid.coupling.division import Division, grid
from annelid.shapes.topology import beyond, edges_of, shells_of

_FLAT = np.radians(8.0)  # faces that lean less than this from their mean are one face
_STRAIGHT = 0.97  # cosine between two edges from which on they are one
_WIDTH = 0.8  # radius of a disc, in sides of squares of points, and half the length of a rod, in ways between points
_FOLD_POINTS = 9  # along a fold, to which distances are measured
_SAMPLES = 3  # points between two points of an edge, and as many inside, at which holes are looked for
_CHUNK = 2000  # triangles that are looked at together


def facets(positions: np.ndarray, division: Division) -> tuple[np.ndarray, np.ndarray]:
    """Discs, rods and spheres at the points of a surface.

    Those of neighbours overlap. Contacts weigh less the further they are from a centre, so that a grain that lies on
    several of them is borne as by one: the weights of `pairs` add up to 1, in the mean.

    Args:
        positions: Positions of the masses [m], shape [n, 3].
        division: The surface and its points.

    Returns:
        How far the surface goes on around each point [m], shape [g]: radius of a disc, minus half the length of a rod,
        or 0. And masses that say how it lies, shape [g, 4]: a rod along the way from the first to the second, a disc
        along that and the way from the third to the fourth.
    """
    corners = positions[division.triangles]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    areas = np.maximum(np.linalg.norm(normals, axis=1), 1e-100)
    normals /= areas[:, None]
    folds = _folds(division.triangles, normals)
    mean, lean = _leaning(normals, division)
    wanted = _WIDTH * np.sqrt(2.0) * division.largest(_circumradius(corners, areas) / division.parts)
    extents = np.minimum(wanted, _room(positions, division, folds))
    spans = _chords(positions, division, mean)
    folded = lean > _FLAT
    rods, ends = _rods(positions, division, folds)
    extents[folded], spans[folded, :2] = -rods[folded], ends[folded]
    return extents, spans


def hole_reaches(positions: np.ndarray, division: Division, extents: np.ndarray, spans: np.ndarray) -> np.ndarray:
    """How far the point of each triangle that is furthest from discs, rods and spheres is from them [m], shape [t].

    Those of its own points, and of the masses across its edges.
    """
    places, axes = division.mixed(positions), axes_of(positions, extents, spans)
    reaches, across = np.zeros(len(division.triangles)), division.on_masses()[_masses_beyond(division.triangles)]
    for count, of, points in division.by_parts():
        weights = grid((_SAMPLES + 1) * count) / ((_SAMPLES + 1) * count)
        points = np.concatenate([points, across[of]], axis=1)
        for start in range(0, len(of), _CHUNK):
            some, theirs = of[start : start + _CHUNK], points[start : start + _CHUNK, None]
            tried = np.einsum("wc,tci->twi", weights, positions[division.triangles[some]])
            away = tried[:, :, None] - places[theirs]
            away -= nearest(away, axes[theirs], extents[theirs])
            reaches[some] = np.sqrt((away**2).sum(axis=3)).min(axis=2).max(axis=1)
    return reaches


def axes_of(positions: np.ndarray, extents: np.ndarray, spans: np.ndarray) -> np.ndarray:
    """Unit vectors across discs and along rods, shape [g, 3]."""
    a, b, c, d = (positions[spans[:, k]] for k in range(4))
    axes = np.where(extents[:, None] < 0.0, b - a, np.cross(b - a, d - c))
    return np.asarray(axes / np.maximum(np.linalg.norm(axes, axis=1), 1e-100)[:, None])


def nearest(away: np.ndarray, axes: np.ndarray, extents: np.ndarray) -> np.ndarray:
    """The point of a disc, rod or sphere that is nearest to another; both as seen from its centre [m], shape [..., 3].

    Args:
        away: The other point [m], shape [..., 3].
        axes: Unit vectors across discs and along rods.
        extents: As `facets` returns them [m].
    """
    along = (away * axes).sum(axis=-1)
    aside = away - along[..., None] * axes
    far = np.maximum(np.sqrt((aside**2).sum(axis=-1)), 1e-100)
    share = np.where(extents > 0.0, np.minimum(extents / far, 1.0), 0.0)
    slide = np.clip(along, np.minimum(extents, 0.0), np.maximum(-extents, 0.0))
    return np.asarray(share[..., None] * aside + slide[..., None] * axes)


def _leaning(normals: np.ndarray, division: Division) -> tuple[np.ndarray, np.ndarray]:
    """Mean normal of the triangles that each point lies on, and the largest angle between it and theirs [rad]."""
    mean = np.zeros((len(division), 3))
    np.add.at(mean, division.place, normals[division.owners])
    mean /= np.maximum(np.linalg.norm(mean, axis=1), 1e-12)[:, None]
    cosine = np.ones(len(division))
    np.minimum.at(cosine, division.place, (normals[division.owners] * mean[division.place]).sum(axis=1))
    return mean, np.arccos(np.clip(cosine, -1.0, 1.0))


def _circumradius(corners: np.ndarray, areas: np.ndarray) -> np.ndarray:
    """Radius of the circle around triangles [m], shape [t]; half the longest side where an angle is obtuse."""
    a, b, c = np.sort(np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2), axis=1).T
    return np.where(a**2 + b**2 < c**2, 0.5 * c, a * b * c / (2.0 * areas))


def _folds(triangles: np.ndarray, normals: np.ndarray) -> np.ndarray:
    """Whether the surface is folded along the edges of each triangle, from each corner to the next, shape [t, 3]."""
    across = beyond(edges_of(triangles))
    cosine = (normals[:, None] * normals[across]).sum(axis=2)
    return np.asarray((across < 0) | (cosine < np.cos(2.0 * _FLAT)))


def _masses_beyond(triangles: np.ndarray) -> np.ndarray:
    """The mass beyond each edge of each triangle, shape [t, 3]; one of its own where there is none."""
    across = beyond(edges_of(triangles))
    there = triangles[across].sum(axis=2) - triangles - np.roll(triangles, -1, axis=1)
    return np.where(across < 0, triangles, there)


def _room(positions: np.ndarray, division: Division, folds: np.ndarray) -> np.ndarray:
    """How far each point is from the folds of its shell [m], shape [g]."""
    triangles = division.triangles
    shells = shells_of(edges_of(triangles))[1]
    ends = positions[np.stack([triangles, np.roll(triangles, -1, axis=1)], axis=2)[folds]]
    shares = np.linspace(0.0, 1.0, _FOLD_POINTS)[:, None]
    spots = ends[:, None, 0] + shares * (ends[:, 1] - ends[:, 0])[:, None]
    folded, places, room = shells[np.nonzero(folds)[0]], division.mixed(positions), np.full(len(division), np.inf)
    of_points = np.zeros(len(division), int)
    of_points[division.place] = shells[division.owners]
    for shell in np.unique(folded):  # others may stand in the same place in worlds of their own
        here = of_points == shell
        room[here] = cKDTree(spots[folded == shell].reshape(-1, 3)).query(places[here])[0]
    return room


def _chords(positions: np.ndarray, division: Division, mean: np.ndarray) -> np.ndarray:
    """Two ways across the masses around each point, as square to each other as there are, shape [g, 4]."""
    sizes = np.diff(division.first)
    column = np.minimum(np.arange(sizes.max()), sizes[:, None] - 1)
    around = division.around[division.first[:-1, None] + column]
    here = positions[around]

    def furthest(score: np.ndarray) -> np.ndarray:
        return np.take_along_axis(around, score.argmax(axis=1)[:, None], axis=1)[:, 0]

    a = furthest(((here - here.mean(axis=1)[:, None]) ** 2).sum(axis=2))
    b = furthest(((here - positions[a][:, None]) ** 2).sum(axis=2))
    side = np.einsum("gki,gi->gk", here, np.cross(mean, positions[b] - positions[a]))
    return np.stack([a, b, furthest(-side), furthest(side)], axis=1)


def _rods(positions: np.ndarray, division: Division, folds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Half the length of a rod at each point [m], shape [g], 0 on corners, and two masses along it, shape [g, 2]."""
    hung = (division.weights > 0.0).sum(axis=1)
    ends = division.corners[:, :2].copy()
    parts = -division.largest(-division.parts)
    length = np.linalg.norm(positions[ends[:, 1]] - positions[ends[:, 0]], axis=1)
    rods = np.where(hung == 2, length * np.minimum(1.0 / parts, division.weights[:, :2].min(axis=1)), 0.0)
    middle, ways = _straight_folds(positions, division.triangles, folds)
    on = np.flatnonzero((hung == 1) & np.isin(division.corners[:, 0], middle))
    here = np.searchsorted(middle, division.corners[on, 0])
    ends[on] = ways[here]
    away = positions[ways[here]] - positions[middle[here]][:, None]
    rods[on] = np.linalg.norm(away, axis=2).min(axis=1) / parts[on]
    return _WIDTH * rods, ends


def _straight_folds(positions: np.ndarray, triangles: np.ndarray, folds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Masses in the middle of straight folds, ascending, and the next masses both ways, shape [m, 2]."""
    edges = np.stack([triangles, np.roll(triangles, -1, axis=1)], axis=2)[folds]
    ways = distinct_rows(np.concatenate([edges, edges[:, ::-1]]))
    mass, start, count = np.unique(ways[:, 0], return_index=True, return_counts=True)
    mass, start = mass[count == 2], start[count == 2]
    ends = np.stack([ways[start, 1], ways[np.minimum(start + 1, len(ways) - 1), 1]], axis=1)
    out = positions[ends] - positions[mass][:, None]
    out /= np.maximum(np.linalg.norm(out, axis=2), 1e-100)[..., None]
    straight = -(out[:, 0] * out[:, 1]).sum(axis=1) >= _STRAIGHT
    return mass[straight], ends[straight]
