"""Markers on a body: how each follows the masses or nodes around it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial import cKDTree

from annelid.core.errors import InvalidValue, UnknownName
from annelid.fem import Solid
from annelid.fem.shape_functions import values as shape_values
from annelid.shapes.tet.locate import Locator
from annelid.springs import Body

_NEAR = 8  # masses that carry a marker
_SAME = 1e-9  # of the size of a body: a marker on a mass


@dataclass(frozen=True, eq=False)
class Carrier:
    """A group of masses or nodes that takes a marker along as a rigid body.

    Attributes:
        row: Number of the marker.
        chosen: Masses or nodes of the group, shape [k].
        places: Where they are as built, from their middle [m], shape [k, 3].
        offset: Where the marker is, from there [m], shape [3].
    """

    row: int
    chosen: np.ndarray
    places: np.ndarray
    offset: np.ndarray

    def place(self, positions: np.ndarray) -> np.ndarray:
        """Where the marker is, by the turn and shift that fit the group best [m], shape [..., 3]."""
        now = positions[..., self.chosen, :]
        there = np.isfinite(now).all(axis=(-2, -1))  # what has diverged has no turn
        now = np.where(there[..., None, None], now, self.places)
        middle = now.mean(axis=-2)
        left, _, right = np.linalg.svd(np.swapaxes(now - middle[..., None, :], -1, -2) @ self.places)
        left[..., 2] *= np.linalg.det(left @ right)[..., None]  # a turn, not a mirror image
        return np.where(there[..., None], middle + (left @ right) @ self.offset, np.nan)


@dataclass(frozen=True, eq=False)
class Markers:
    """How markers follow a body.

    Attributes:
        weights: Weights of masses or nodes by which markers are found from their places, shape [m, n].
        carriers: Those of markers that a group carries, whose weights are 0.
    """

    weights: np.ndarray
    carriers: tuple[Carrier, ...]

    def __len__(self) -> int:
        return len(self.weights)

    def places(self, positions: np.ndarray) -> np.ndarray:
        """Where markers are when masses or nodes are there [m], shape [..., m, 3] for positions [..., n, 3]."""
        found = np.asarray(self.weights @ positions)
        for carrier in self.carriers:
            found[..., carrier.row, :] = carrier.place(positions)
        return found


def markers_on(
    body: Body | Solid, markers: Mapping[str, Any], reach: float, carriers: Mapping[str, str] | None = None
) -> Markers:
    """How markers follow masses or nodes.

    Args:
        body: The body.
        markers: Where they are on the body as built [m], by name.
        reach: How far outside of the body they may be [m], carried along with what is nearest.
        carriers: Groups of the body that carry a marker as a rigid whole, by the name of the marker.
    """
    if not markers:
        raise InvalidValue(
            "there are no markers: give their places on the body as built, such as {'tip': (0.1, 0, 0)}."
        )
    points = np.array([_place(name, place) for name, place in markers.items()])
    if isinstance(body, Solid):
        weights, outside = _on_solid(body, points)
    else:
        weights, outside = _on_springs(body, points)
    carrying = []
    for name, group in (carriers or {}).items():
        if name not in markers:
            raise UnknownName("marker", name, markers)
        row = list(markers).index(name)
        carrying.append(_carrier(body, name, group, row, points[row]))
        weights[row], outside[row] = 0.0, 0.0
    worst = int(outside.argmax())
    if outside[worst] > reach + 1e-9:
        low, high = (body.nodes.min(axis=0), body.nodes.max(axis=0)) if isinstance(body, Solid) else body.bounds()
        name = list(markers)[worst]
        raise InvalidValue(
            f"marker {name!r} at {_told(points[worst])} m is {1e3 * outside[worst]:.3g} mm outside of the body, which "
            f"lies between {_told(low)} and {_told(high)} m: give its place on the body as built, in metres, or let "
            "markers stand off with reach."
        )
    return Markers(weights, tuple(carrying))


def _on_springs(body: Body, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weights that keep a marker where it is under any affine motion of the masses near it, the nearest most."""
    count = min(_NEAR, body.mass_count)
    distances, near = (np.reshape(found, (len(points), -1)) for found in cKDTree(body.positions).query(points, k=count))
    pitch = _pitch(body)
    weights = np.zeros((len(points), body.mass_count))
    for row, (point, others, away) in enumerate(zip(points, near, distances, strict=True)):
        if away[0] < _SAME * max(pitch, 1e-12):
            weights[row, others[0]] = 1.0
            continue
        closeness = 1.0 / np.maximum(away, 1e-12) ** 2
        system = np.vstack([np.ones(len(others)), (body.positions[others] - point).T / pitch])
        goal = np.array([1.0, 0.0, 0.0, 0.0])
        weights[row, others] = closeness * (system.T @ (np.linalg.pinv(system * closeness @ system.T) @ goal))
    return weights, np.maximum(distances[:, 0] - pitch, 0.0)


def _pitch(body: Body) -> float:
    """How far apart masses are that a point between them may belong to [m]."""
    return float(body.rest_lengths.max()) if body.spring_count else 0.0


def _on_solid(solid: Solid, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Shape functions of the element around each marker; outside, the linear ones of the nearest element."""
    corners = solid.elements[:, :4]
    elements, inside = Locator(solid.nodes, corners).locate(points)
    weights = np.zeros((len(points), solid.node_count))
    outside = np.zeros(len(points))
    for row, (element, share) in enumerate(zip(elements, inside, strict=True)):
        nodes = solid.elements[element]
        if share.min() < -1e-6:
            outside[row] = _beyond(solid.nodes[nodes[:4]], share)
            weights[row, nodes[:4]] = share
        else:
            weights[row, nodes] = shape_values(len(nodes), share[None])[0]
    return weights, outside


def _carrier(body: Body | Solid, name: str, group: str, row: int, point: np.ndarray) -> Carrier:
    """A group that carries a marker."""
    if group not in body.groups:
        raise UnknownName("group of the body", group, body.groups)
    chosen, places = body.groups[group], body.nodes if isinstance(body, Solid) else body.positions
    middle = places[chosen].mean(axis=0)
    spread = np.linalg.svd(places[chosen] - middle, compute_uv=False)
    if len(chosen) < 3 or spread[1] < 1e-6 * spread[0]:
        raise InvalidValue(
            f"group {group!r} cannot carry marker {name!r}: its {len(chosen)} points lie on a line, which does not "
            "tell how it turns; choose a group with points on all sides."
        )
    return Carrier(row, np.asarray(chosen), places[chosen] - middle, point - middle)


def _beyond(corners: np.ndarray, share: np.ndarray) -> float:
    """How far a point lies beyond the faces of a tetrahedron [m], about."""
    volume = abs(np.linalg.det(corners[1:] - corners[0]))
    found = 0.0
    for corner in np.flatnonzero(share < 0.0):
        a, b, c = np.delete(corners, corner, axis=0)
        found = max(found, float(-share[corner] * volume / np.linalg.norm(np.cross(b - a, c - a))))
    return found


def _place(name: str, place: Any) -> np.ndarray:
    try:
        point = np.asarray(place, float)
    except (TypeError, ValueError, OverflowError):
        point = np.zeros(0)
    if point.shape != (3,) or not np.isfinite(point).all():
        raise InvalidValue(f"the place of marker {name!r} must be three finite numbers [m], not {place!r:.60}.")
    return point


def _told(point: np.ndarray) -> str:
    return f"({', '.join(f'{x:.4g}' for x in point)})"
