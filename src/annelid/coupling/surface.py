"""The surface of a spring body as grains meet it: small spheres on its masses and between them that leave no holes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from annelid.core.errors import InvalidMesh, InvalidValue
from annelid.coupling.holes import hole_reach, require_fine, require_skinned
from annelid.shapes import TriangleMesh
from annelid.springs import Body

STRETCH = 1.15
"""How much longer a surface is expected to become."""

_SMALLEST = 0.02  # radius of a sphere, in radii of the smallest grain
_DENSE = (0.5, 0.25)  # furthest that the surface is from the nearest centre, and largest sphere, in the same
_SPARSE = (0.65, 0.6)  # those of bodies that would have too many spheres: rougher surfaces, which cost less
_MANY = 2000  # spheres from which on there are too many
_TIGHT = 0.6  # half the width of a hole of the stretched surface, in the same
_FINEST = 4  # most parts of an edge
_SETTLED = 0.3  # how far up from the deepest point between spheres grains lie, of the way to the highest: measured
_WHOLE = 12  # divisible by all numbers of parts: weights are counted in so many


@dataclass(frozen=True, eq=False)
class Points:
    """Where grains meet a surface: points between up to three of its masses.

    They come in the order of the first of their masses; those on the masses themselves are among them.

    Attributes:
        corners: Masses that each hangs on, shape [g, 3]; the first of them also where there are fewer.
        weights: Their weights, 0 for the rest, shape [g, 3].
        radii: Radius of the sphere there [m], shape [g].
        first: Where the masses around each begin in `around`, shape [g + 1].
        around: Corners of the triangles that it lies on, ascending.
    """

    corners: np.ndarray
    weights: np.ndarray
    radii: np.ndarray
    first: np.ndarray
    around: np.ndarray

    def __len__(self) -> int:
        return len(self.radii)

    def mixed(self, values: np.ndarray) -> np.ndarray:
        """Values of masses, shape [n, ...], at the points, shape [g, ...]."""
        return np.asarray(np.einsum("gc,gc...->g...", self.weights, values[self.corners]))


def meeting_points(body: Body, grain_radius: float, *, stretch: float = STRETCH, copies: int = 1) -> Points:
    """Where grains meet a body: on its masses and, where these are far apart, between them.

    Triangles are divided until spheres small beside a grain leave no hole in the surface at rest wider than the radius
    of a grain, and none in the stretched surface that a grain fits through.

    Args:
        body: The body, with closed surfaces; refused where its masses are too far apart for the grains.
        grain_radius: Radius of the smallest grain [m].
        stretch: How much longer the surface may become, as a factor.
        copies: Number of equal bodies, each in a world of its own.
    """
    parts, radii = _spheres(body, grain_radius, stretch, copies)
    rows, triangles = _divided(body.triangles, parts)
    found, place = np.unique(rows, axis=0, return_inverse=True)
    place = place.ravel()
    sizes = np.zeros(len(found))
    np.maximum.at(sizes, place, radii[triangles])
    pairs = np.repeat(place, 3) * np.int64(body.mass_count) + body.triangles[triangles].ravel()
    owner, around = np.divmod(np.unique(pairs), body.mass_count)
    corners = np.where(found[:, 3:] > 0, found[:, :3], found[:, :1])
    first = np.searchsorted(owner, np.arange(len(found) + 1))
    return Points(corners, found[:, 3:] / _WHOLE, sizes, first, around)


def closing_radii(body: Body, grain_radius: float, *, stretch: float = STRETCH) -> np.ndarray:
    """Radii of the spheres on the masses of a body [m], shape [n]; 0 for masses inside.

    Args:
        body: The body, with closed surfaces.
        grain_radius: Radius of the smallest grain [m].
        stretch: How much longer the surface may become, as a factor.
    """
    points = meeting_points(body, grain_radius, stretch=stretch)
    radii, on = np.zeros(body.mass_count), points.weights[:, 0] == 1.0
    radii[points.corners[on, 0]] = points.radii[on]
    return radii


def standoff(body: Body, grain_radius: float, *, stretch: float = STRETCH) -> float:
    """How far outside the surface through the masses grains meet the body, in the mean [m].

    Spheres stand out of that surface and grains dip in between them. Near 0: radii are chosen so, unless a surface that
    is to stretch needs larger ones.

    Args:
        body: The body.
        grain_radius: Radius of the grains [m].
        stretch: As for `closing_radii`.
    """
    parts, radii = _spheres(body, grain_radius, stretch)
    reach = hole_reach(body.positions[body.triangles]) / parts
    deepest = np.sqrt((grain_radius + radii) ** 2 - reach**2) - grain_radius
    return float((deepest + _SETTLED * (radii - deepest)).mean())


def closed_surface(body: Body, positions: np.ndarray | None = None) -> TriangleMesh:
    """The surface through the masses of a body [m], at other positions if given, shape [n, 3]."""
    if len(body.triangles) == 0:
        raise InvalidValue(
            "the body has no surface that could keep grains out: build it from a shape (springs.lattice, box, block)."
        )
    used, corners = np.unique(body.triangles, return_inverse=True)
    points = body.positions if positions is None else positions
    mesh = TriangleMesh(points[used], corners.reshape(-1, 3).astype(np.int32))
    if not mesh.is_closed:
        raise InvalidMesh(
            f"the surface of the body is open along {len(mesh.open_edges())} edges, where grains would get in: "
            "close it before it meets grains."
        )
    return mesh


def _spheres(body: Body, grain_radius: float, stretch: float, copies: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Parts of an edge of each triangle, and the radius that spheres on it need [m], both of shape [t]."""
    if not (np.isfinite(stretch) and stretch >= 1.0):
        raise InvalidValue(f"stretch must be a factor of 1 or more, not {stretch}.")
    closed_surface(body)
    require_skinned(body)
    require_fine(body, grain_radius)
    reach = hole_reach(body.positions[body.triangles]) / grain_radius
    parts = _parts(reach, stretch, _DENSE)
    if 0.5 * (parts**2).sum() > _MANY * copies:  # there are half as many points as triangles
        parts = _parts(reach, stretch, _SPARSE)
    needed = np.maximum(reach / parts - 0.5, stretch * reach / parts - _TIGHT)
    return parts, grain_radius * np.maximum(np.maximum(needed, _level(reach / parts)), _SMALLEST)


def _parts(reach: np.ndarray, stretch: float, limits: tuple[float, float]) -> np.ndarray:
    """Parts of an edge for which no point is further from a centre, and no sphere need be larger, shape [t]."""
    furthest, largest = limits
    wanted = np.maximum(reach / furthest, stretch * reach / (_TIGHT + largest))
    return np.clip(np.ceil(wanted * (1.0 - 1e-9)), 1, _FINEST).astype(int)


def _level(reach: np.ndarray) -> np.ndarray:
    """Radius of spheres that grains meet at the surface through their centres, in the mean; all in radii of a grain.

    With q = 1 + r and s what `_SETTLED` is, s q + (1 - s) √(q² - reach²) = 1: a quadratic equation in q.
    """
    dip = 1.0 - _SETTLED
    a, b, c = dip**2 - _SETTLED**2, 2.0 * _SETTLED, -(1.0 + (dip * reach) ** 2)
    return np.asarray((-b + np.sqrt(b**2 - 4.0 * a * c)) / (2.0 * a) - 1.0)


def _divided(triangles: np.ndarray, parts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Points of triangles whose edges are divided, those on shared edges once for each triangle.

    Returns:
        Three masses, ascending, and three weights of each, shape [r, 6], with 0 of no mass where there are fewer; and
        the triangle that each lies on, shape [r].
    """
    none = triangles.max() + 1
    rows, owners = [], []
    for count in np.unique(parts):
        of = np.flatnonzero(parts == count)
        thirds = [(a, b, count - a - b) for a in range(count + 1) for b in range(count + 1 - a)]
        weights = _WHOLE // count * np.array(thirds)
        masses = np.where(weights > 0, triangles[of][:, None], none)
        order = np.argsort(masses, axis=2, kind="stable")
        shares = np.take_along_axis(np.broadcast_to(weights, masses.shape), order, axis=2)
        rows.append(np.concatenate([np.take_along_axis(masses, order, axis=2), shares], axis=2).reshape(-1, 6))
        owners.append(np.repeat(of, len(weights)))
    return np.concatenate(rows), np.concatenate(owners)
