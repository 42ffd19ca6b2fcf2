"""The surface of a body as grains meet it: discs, rods and small spheres on its masses and between them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from annelid.core.errors import InvalidMesh, InvalidValue
from annelid.core.numbers import is_number
from annelid.core.options import require_kind
from annelid.coupling.division import FINEST, Division, divided
from annelid.coupling.facets import facets, hole_reaches
from annelid.coupling.holes import hole_reach, require_skinned
from annelid.coupling.outline import Outline
from annelid.shapes import TriangleMesh
from annelid.shapes.values import as_points, require_positive
from annelid.springs import Body

STRETCH = 1.15
"""How much longer a surface is expected to become."""

_SMALLEST = 0.02  # how far the surface stands out of the triangles, in radii of the smallest grain
_FURTHEST = 0.65  # that the surface is from the nearest point, in the same: discs are no wider than a grain
_STRETCHED = 0.9  # the same once it is stretched
_LARGEST = 0.7  # radius of a sphere, in the same
_SURE, _ROUNDS = 1.0e-3, 8  # to which radii are found, in the same, and how often they are looked for
_TIGHT = 0.6  # half the width of a hole of the stretched surface, in the same
_SETTLED = 0.3  # how far up from the deepest point between spheres grains lie, of the way to the highest: measured


@dataclass(frozen=True, eq=False)
class Points:
    """Where grains meet a surface: points between up to three of its masses, and the surface around them.

    Attributes:
        division: The points.
        radii: How far the surface stands out there [m], shape [g].
        extents: How far it goes on around each [m], shape [g]: radius of a disc, minus half the length of a rod, or 0.
        spans: Masses that determine how that lies, shape [g, 4], see `facets`.
        holes: How far the point of each triangle that is furthest from all of them is from the nearest [m], shape [t].
    """

    division: Division
    radii: np.ndarray
    extents: np.ndarray
    spans: np.ndarray
    holes: np.ndarray

    def __len__(self) -> int:
        return len(self.radii)


def meeting_points(body: Body, grain_radius: float, *, stretch: float = STRETCH) -> Points:
    """Where grains meet a body of springs: on its masses and, where these are far apart, between them.

    Args:
        body: The body, with closed surfaces; refused where its masses are too far apart for the grains.
        grain_radius: Radius of the smallest grain [m].
        stretch: How much longer the surface may become, as a factor.
    """
    grain_radius = require_positive("grain_radius", grain_radius)
    _require_stretch(stretch)
    closed_surface(body)
    require_skinned(body)
    return points_on(body, grain_radius, stretch=stretch)


def points_on(body: Outline, grain_radius: float, *, stretch: float = STRETCH) -> Points:
    """Where grains meet a surface.

    Triangles are divided until discs, rods and spheres small beside a grain leave no hole in the surface at rest wider
    than the radius of a grain, and none in the stretched surface that a grain fits through.

    Args:
        body: What has the surface, which is closed.
        grain_radius: Radius of the smallest grain [m].
        stretch: How much longer the surface may become, as a factor.
    """
    _require_stretch(stretch)
    closed_surface(body)
    division = divided(body.triangles, _parts(body, grain_radius, stretch))
    wanted, spans = facets(body.positions, division)
    radii, found = np.zeros(len(division)), np.full(len(division), _SMALLEST)
    for _ in range(_ROUNDS):  # discs and rods are shorter where spheres are larger
        radii = np.maximum(radii, found)
        room = grain_radius * (1.0 - radii)  # cells of the size of a grain hold all that can touch
        extents = np.clip(wanted, -room, room)
        holes = hole_reaches(body.positions, division, extents, spans)
        wide = holes / grain_radius
        needed = np.maximum(np.maximum(wide - 0.5, stretch * wide - _TIGHT), np.maximum(_level(wide), _SMALLEST))
        found = division.largest(needed)
        if (found <= radii + _SURE).all() and found.max() <= _LARGEST:
            return Points(division, grain_radius * radii, extents, spans, holes)
    raise InvalidValue(
        f"grains of {grain_radius:.3g} m would fit through the surface of the body once it is stretched by "
        f"{stretch:.3g}: use a finer pitch or mesh, larger grains, or a smaller stretch."
    )


def _require_stretch(stretch: float) -> None:
    if not (is_number(stretch) and stretch >= 1.0):
        raise InvalidValue(f"stretch must be a factor of 1 or more, not {stretch!r:.60}.")


def closing_radii(body: Body, grain_radius: float, *, stretch: float = STRETCH) -> np.ndarray:
    """How far the surface that grains meet stands out at the masses of a body [m], shape [n]; 0 for masses inside.

    Args:
        body: The body, with closed surfaces.
        grain_radius: Radius of the smallest grain [m].
        stretch: How much longer the surface may become, as a factor.
    """
    points = meeting_points(body, grain_radius, stretch=stretch)
    radii, on = np.zeros(body.mass_count), points.division.weights[:, 0] == 1.0
    radii[points.division.corners[on, 0]] = points.radii[on]
    return radii


def standoff(body: Body, grain_radius: float, *, stretch: float = STRETCH) -> float:
    """How far outside the surface through the masses grains meet the body, in the mean [m].

    Points stand out of that surface and grains dip in between them. Near 0: radii are chosen so, unless a surface that
    is to stretch needs larger ones.

    Args:
        body: The body.
        grain_radius: Radius of the grains [m].
        stretch: As for `closing_radii`.
    """
    points = meeting_points(body, grain_radius, stretch=stretch)
    radii = np.zeros(len(body.triangles))
    np.maximum.at(radii, points.division.owners, points.radii[points.division.place])
    deepest = np.sqrt((grain_radius + radii) ** 2 - points.holes**2) - grain_radius
    return float((deepest + _SETTLED * (radii - deepest)).mean())


def closed_surface(body: Outline, positions: np.ndarray | None = None) -> TriangleMesh:
    """The surface through the masses of a body [m], at other positions if given, shape [n, 3]."""
    require_kind("the body", body, Outline, "a springs.Body or a fem.Solid")
    if len(body.triangles) == 0:
        raise InvalidValue(
            "the body has no surface that could keep grains out: build it from a shape (springs.lattice, box, block)."
        )
    used, corners = np.unique(body.triangles, return_inverse=True)
    points = body.positions if positions is None else as_points(positions)
    if len(points) != len(body.positions):
        raise InvalidValue(f"positions must be those of {len(body.positions)} masses, not of {len(points)}.")
    mesh = TriangleMesh(points[used], corners.reshape(-1, 3).astype(np.int32))
    if not mesh.is_closed:
        edges = len(mesh.open_edges())
        flaw = f"is open along {edges} edges" if edges else "has triangles twice or turned around"
        raise InvalidMesh(
            f"the surface of the body {flaw}, where grains would get in: close it before it meets grains."
        )
    return mesh


def _parts(body: Outline, grain_radius: float, stretch: float) -> np.ndarray:
    """Parts of the edges of each triangle, shape [t]."""
    reach = hole_reach(body.positions[body.triangles]) / grain_radius
    wanted = np.maximum(reach / _FURTHEST, stretch * reach / _STRETCHED)
    return np.clip(np.ceil(wanted * (1.0 - 1e-9)), 1, FINEST).astype(int)


def _level(reach: np.ndarray) -> np.ndarray:
    """Radius of spheres that grains meet at the surface through their centres, in the mean; all in radii of a grain.

    With q = 1 + r and s what `_SETTLED` is, s q + (1 - s) √(q² - reach²) = 1: a quadratic equation in q.
    """
    dip = 1.0 - _SETTLED
    a, b, c = dip**2 - _SETTLED**2, 2.0 * _SETTLED, -(1.0 + (dip * reach) ** 2)
    return np.asarray((-b + np.sqrt(b**2 - 4.0 * a * c)) / (2.0 * a) - 1.0)
