"""The surface of a spring body as grains meet it: a sphere at each surface mass, large enough to leave no holes."""

from __future__ import annotations

import numpy as np

from annelid.core.errors import InvalidMesh, InvalidValue
from annelid.shapes import TriangleMesh
from annelid.springs import Body, contact_radii

STRETCH = 1.15
"""How much longer a surface is expected to become."""

_SMALLEST = 0.1  # radius of a sphere, in radii of the smallest grain
_TIGHT = 0.6  # half the width of a hole of the stretched surface, in the same
_FIT = 0.98  # of the pitch that would just do, that is proposed


def closing_radii(body: Body, grain_radius: float, *, stretch: float = STRETCH) -> np.ndarray:
    """Radii of the spheres on the masses of a body [m], shape [n]; 0 for masses inside.

    They are the smallest that leave no hole in the surface at rest wider than the radius of the grains, and none in the
    stretched surface that a grain fits through. Where the spheres of `springs.contact_radii` leave wider holes at rest,
    the body is refused.

    Args:
        body: The body, with closed surfaces.
        grain_radius: Radius of the smallest grain [m].
        stretch: How much longer the surface may become, as a factor.
    """
    if not (np.isfinite(stretch) and stretch >= 1.0):
        raise InvalidValue(f"stretch must be a factor of 1 or more, not {stretch}.")
    closed_surface(body)
    _require_skinned(body)
    reach, most = _hole_reach(body.positions[body.triangles]), contact_radii(body)
    at_rest = np.minimum(_corner_maxima(body, reach - 0.5 * grain_radius), most)
    _require_closed(body, 2.0 * (reach - at_rest[body.triangles].min(axis=1)), grain_radius)
    stretched = np.minimum(_corner_maxima(body, stretch * reach - _TIGHT * grain_radius), stretch * most)
    smallest = np.where(most > 0.0, _SMALLEST * grain_radius, 0.0)
    return np.maximum(np.maximum(at_rest, stretched), smallest)


def _corner_maxima(body: Body, of_triangles: np.ndarray) -> np.ndarray:
    """The largest value among the triangles of each mass, at least 0, shape [n]."""
    values = np.zeros(body.mass_count)
    np.maximum.at(values, body.triangles, of_triangles[:, None])
    return values


def standoff(body: Body, grain_radius: float, *, stretch: float = STRETCH) -> float:
    """How far outside the surface through the masses grains meet the body, in the mean [m].

    A grain dips in between the spheres of neighbouring masses: over a triangle the squared distance from the nearest
    corner is a third of its largest value in the mean.

    Args:
        body: The body.
        grain_radius: Radius of the grains [m].
        stretch: As for `closing_radii`.
    """
    radii = closing_radii(body, grain_radius, stretch=stretch)[body.triangles].mean(axis=1)
    reach = _hole_reach(body.positions[body.triangles])
    return float((np.sqrt((grain_radius + radii) ** 2 - reach**2 / 3.0) - grain_radius).mean())


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


def surface_neighbours(body: Body, members: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For each of the members its own place and those of its neighbours along the surface, ascending.

    Args:
        body: The body.
        members: Surface masses, ascending, shape [m].

    Returns:
        Where the places of each member begin, shape [m + 1], and places in `members`.
    """
    count = len(members)
    place = np.full(body.mass_count, -1)
    place[members] = np.arange(count)
    sides = place[body.triangles[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2)]
    own = np.repeat(np.arange(count)[:, None], 2, axis=1)
    both = np.concatenate([own, sides, sides[:, ::-1]])
    keys = np.unique(both[:, 0] * count + both[:, 1])
    first = np.searchsorted(keys, np.arange(count + 1) * count)
    return first.astype(np.int32), (keys % count).astype(np.int32)


def _require_skinned(body: Body) -> None:
    """Refuse parts without a surface: grains would fall through them."""
    bare = contact_radii(body) > 0.0
    bare |= np.bincount(body.springs.ravel(), minlength=body.mass_count) == 0
    bare[body.triangles] = False
    if bare.any():
        raise InvalidValue(
            f"{int(bare.sum())} masses, the first of them mass {int(np.flatnonzero(bare)[0])}, belong to parts without "
            "a surface, which grains would fall through: build them from a shape, or leave them away."
        )


def _hole_reach(corners: np.ndarray) -> np.ndarray:
    """How far the point of a triangle that is furthest from its corners is from the nearest of them [m], shape [t]."""
    sides = np.sort(np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2), axis=1)
    a, b, c = np.maximum(sides.T, 1e-100)
    half = 0.5 * (a + b + c)
    area = np.sqrt(np.maximum(half * (half - a) * (half - b) * (half - c), 1e-300))
    # In a triangle with an obtuse angle it lies on the longest side, where the bisector of a short side meets it.
    cosine = lambda side, other: (side**2 + c**2 - other**2) / (2.0 * side * c)  # noqa: E731
    beside = np.maximum(b / (2.0 * np.maximum(cosine(b, a), 1e-9)), a / (2.0 * np.maximum(cosine(a, b), 1e-9)))
    around = np.maximum(a * b * c / (4.0 * area), 0.5 * c)  # radius of the circle through the corners
    return np.where(a**2 + b**2 < c**2 * (1.0 - 1e-9), np.minimum(beside, 0.5 * c), around)


def _require_closed(body: Body, holes: np.ndarray, grain_radius: float) -> None:
    """Refuse a surface with a hole wider than the radius of a grain: say where, and what pitch would do."""
    widest = int(np.argmax(holes))
    if holes[widest] <= grain_radius * (1.0 + 1e-9):
        return
    where = ", ".join(f"{c:.3g}" for c in body.positions[body.triangles[widest]].mean(axis=0))
    edges = np.linalg.norm(np.diff(body.positions[body.triangles[widest]], axis=0), axis=1)
    pitch = float(edges.min()) * grain_radius / float(holes[widest])
    raise InvalidValue(
        f"the surface of the body has {int((holes > grain_radius).sum())} holes wider than the radius of a grain, "
        f"{grain_radius:.3g} m; the widest, {holes[widest]:.3g} m, is at ({where}) m: "
        f"use a pitch of {_FIT * pitch:.3g} m or less, or larger grains."
    )
