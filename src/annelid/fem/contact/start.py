"""How a solid and its obstacles stand to each other to begin with: apart, just touching, or in each other."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import warp as wp

from annelid.core.errors import InvalidValue
from annelid.fem.contact.bodies import Bodies
from annelid.fem.contact.pairs import SurfacePairs
from annelid.fem.contact.places import Pose
from annelid.fem.contact.points import PointContacts
from annelid.fem.contact.probes import Probes, Touched, crossing, surface_of
from annelid.fem.contact.settings import Contact
from annelid.fem.contact.surface import doubtful, edges_of, outer_faces, pierced
from annelid.fem.reinforcing.embedding import Around
from annelid.fem.solid import Solid
from annelid.shapes import Capsule, Cylinder, HeightField, Rigid, Sphere
from annelid.shapes.rigid import Geometry

_TRIES, _PUSHES = 20, 200  # moves of what just touches, and of what is pushed out
_HOVERING = 0.34  # of the width of a free body: a reach beyond that is warned of
_WITHIN = 1e-9  # least weight of nodes of the tetrahedron around another node: its own have weights of 0
_BARRIER = 0.25  # of the reach: what is nearer to begin with would be thrown off
_CLOSE = 0.9  # of the reach: nearer solids are set apart


class CoarseForContact(UserWarning):
    """A surface has edges too long for a round obstacle, which passes between its nodes, or for a small free body."""


class PushedOut(UserWarning):
    """A solid or a free body started deep in something and was pushed out, on request."""


class Standing(Touched, Protocol):
    """A solid among its obstacles."""

    solid: Solid
    nodes: PointContacts
    bodies: Bodies
    outer: np.ndarray
    now: Pose
    settings: Contact


def warn_of_sag(solid: Solid, rigids: Sequence[Rigid], reach: float) -> None:
    """Warn where round obstacles sink deeper between nodes than contact reaches."""
    edges = edges_of(outer_faces(solid))
    still = np.asarray(solid.held.all(axis=1))
    edges = edges[~still[edges].all(axis=1)]  # what is held at both ends touches nothing
    longest = float(np.linalg.norm(solid.nodes[edges[:, 0]] - solid.nodes[edges[:, 1]], axis=1).max(initial=0.0))
    for number, rigid in enumerate(rigids):
        sag = 0.0 if rigid.inside else _sag(rigid.geometry, 0.5 * longest)
        if sag > reach:
            warnings.warn(
                f"the surface of the solid is coarse for {rigid.called(number)}: between nodes {longest:.3g} m apart "
                f"it sinks in by {sag:.2g} m, more than the reach of contact, {reach:.2g} m; use a finer mesh.",
                CoarseForContact,
                stacklevel=6,
            )


def warn_of_hovering(rigids: Sequence[Rigid], reach: float) -> None:
    """Warn where free bodies would stand off by much of their own size."""
    for number, rigid in enumerate(rigids):
        if rigid.moves != "free":
            continue
        low, high = rigid.shape.bounds()
        width = float((np.asarray(high) - np.asarray(low)).min())
        if reach > _HOVERING * width:
            warnings.warn(
                f"contact begins at a gap of {reach:.2g} m, and {rigid.called(number)}, is only {width:.2g} m wide: it "
                "will stand off what carries it by nearly that gap; use a finer mesh, or "
                f"contact=fem.Contact(reach={0.1 * width:.2g}).",
                CoarseForContact,
                stacklevel=6,
            )


def _sag(geometry: Geometry, half: float) -> float:
    """How far something round sinks in between nodes that are twice so far apart [m]."""
    if isinstance(geometry, Sphere | Cylinder | Capsule):
        radius = geometry.radius
        return radius - float(np.sqrt(radius**2 - half**2)) if half < radius else half  # it passes between nodes
    if not isinstance(geometry, HeightField):
        return 0.0
    found = 0.0
    for axis, step in enumerate(geometry.steps):
        heights, apart = np.moveaxis(np.asarray(geometry.heights, float), axis, 0), max(1, int(half / step))
        rise = heights[apart:-apart] - 0.5 * (heights[: -2 * apart] + heights[2 * apart :])
        found = max(found, min(1.0, half / step) * float(rise.max(initial=0.0)))
    return found


def set_apart(standing: Standing) -> np.ndarray:
    """How far the whole solid is to be moved to begin with, so that it just touches [m], shape [3].

    A solid that is put right on the ground would be thrown off it: it is moved by less than the reach of contact, if
    nothing holds it. One that is deeper in an obstacle is refused, or pushed out; what crosses it between nodes
    is refused.
    """
    shift, reach = np.zeros(3), standing.nodes.reach
    if not standing.rigids:
        return shift
    probes = Probes(standing.solid, standing, reach)
    push, held, deepest = standing.settings.overlapping == "push", bool(standing.solid.held.any()), 0.0
    for _ in range(_PUSHES if push else _TRIES):
        worst = _worst(standing, probes, shift)
        if worst is None or worst.gap >= _CLOSE * reach:
            break
        free = standing.rigids[worst.number].moves == "free"
        if (worst.deep and (held or not push)) or (worst.gap <= 0.0 and held and not free):
            raise worst.refused(standing)
        if held and free and worst.gap < _BARRIER * reach:
            _move_body(standing, worst)
            probes = Probes(standing.solid, standing, reach)
            continue
        deepest = min(deepest, worst.gap)
        if held:
            break
        shift = shift + (reach - worst.gap) * worst.out
    else:
        if worst is not None and worst.gap <= 0.0:
            raise worst.refused(standing)
    _require_uncrossed(standing, probes, shift)
    if deepest <= -reach:
        _warn_of_push("the solid", deepest, shift)
    return shift


def _move_body(standing: Standing, worst: _Worst) -> None:
    """Move a free body off a solid that is held; where something else is in its way, it is refused."""
    places = standing.now.places.copy()
    places[worst.number] -= (standing.nodes.reach - worst.gap) * worst.out
    standing.now.set(places, standing.now.turns)
    if standing.bodies.least_gap(standing.now) <= 0.0:
        raise worst.refused(standing)


@dataclass(frozen=True, eq=False)
class _Worst:
    """The least gap between a solid and an obstacle: of a node, or of a point of an obstacle between nodes."""

    gap: float
    number: int
    place: np.ndarray
    out: np.ndarray
    deep: bool
    node: int | None = None

    def refused(self, standing: Standing) -> InvalidValue:
        """Why a solid that begins so is refused."""
        x, y, z = self.place
        where = "between its nodes, at" if self.node is None else f"node {self.node} at"
        what, loose = standing.rigids[self.number].called(self.number), not standing.solid.held.any()
        remedy = "; fem.Contact(overlapping='push') pushes out what nothing holds" if loose else ""
        if loose and standing.settings.overlapping == "push":
            remedy = "; it could not be pushed out"
        return InvalidValue(
            f"the solid starts in {what}: {where} ({x:.4g}, {y:.4g}, {z:.4g}) m"
            f"{' it' if self.node is None else ''} is {-self.gap:.3g} m deep; move the mesh or the obstacle by more "
            f"than that, contact begins at a gap of {standing.nodes.reach:.2g} m{remedy}."
        )


def _worst(standing: Standing, probes: Probes, shift: np.ndarray) -> _Worst | None:
    """The least gap of a solid that is moved by so much; None where nothing is near."""
    gaps = _gaps(standing, shift)
    between = probes.worst(shift)
    least = float(gaps.min(initial=np.inf))
    if between is not None and between.gap < least:
        return _Worst(between.gap, between.number, between.place, between.out, between.deep)
    if not np.isfinite(least):
        return None
    row, number = (int(k) for k in np.unravel_index(int(gaps.argmin()), gaps.shape))
    name = int(standing.outer[row])
    out = _out(standing, shift, row, number)
    return _Worst(least, number, standing.solid.nodes[name], out, least <= -standing.nodes.reach, name)


def _require_uncrossed(standing: Standing, probes: Probes, shift: np.ndarray) -> None:
    """Refuse surfaces that cross, though no node is in an obstacle and no corner in the solid."""
    for number, rigid in enumerate(standing.rigids):
        surface = surface_of(rigid, number, standing)
        place = None if surface is None else crossing(probes.surface(shift), surface, standing.device)
        if place is not None:
            x, y, z = place
            raise InvalidValue(
                f"the solid starts in {rigid.called(number)}: their surfaces cross near ({x:.4g}, {y:.4g}, {z:.4g}) m, "
                "between nodes; move the mesh or the obstacle so that they are apart."
            )


def require_apart(solid: Solid, pairs: SurfacePairs) -> None:
    """Refuse a surface that crosses or touches itself at rest, and pieces that begin within the reach of contact."""
    positions = wp.array(solid.nodes, dtype=wp.vec3d, device=pairs.device)
    pairs.cover(positions)
    edges, faces = pairs.candidates.edges, pairs.candidates.faces
    near = pairs.candidates.crossings()
    segments, corners = solid.nodes[edges[near[:, 0]]], solid.nodes[faces[near[:, 1]]]
    crossed = near[pierced(segments, corners) & ~doubtful(segments, corners)]  # flat sides do not cross by rounding
    remedy = "or leave its surface to itself by contact=fem.Contact(itself=False)"
    if len(crossed):
        x, y, z = solid.nodes[edges[crossed[0, 0]]].mean(axis=0)
        raise InvalidValue(
            f"the surface of the solid crosses itself at rest, near ({x:.4g}, {y:.4g}, {z:.4g}) m: move its pieces "
            f"apart, {remedy}."
        )
    _require_no_piece_within(solid, pairs.pieces)
    apart, nodes = pairs.distances(), pairs.candidates.nodes
    same = pairs.pieces[nodes[:, 0]] == pairs.pieces[nodes[:, 2]]
    enough = np.where(same, 1e-6 * pairs.reach, _CLOSE * pairs.reach)
    wrong = np.flatnonzero(apart < enough)
    if len(wrong):
        worst = int(wrong[apart[wrong].argmin()])
        x, y, z = solid.nodes[nodes[worst, 0]]
        what = "the surface of the solid touches itself" if same[worst] else "pieces of the solid begin too near"
        raise InvalidValue(
            f"{what}, at ({x:.4g}, {y:.4g}, {z:.4g}) m with a gap of {apart[worst]:.3g} m, where contact begins at "
            f"{pairs.reach:.2g} m: move them apart by that, take a smaller reach, {remedy}."
        )


def _require_no_piece_within(solid: Solid, pieces: np.ndarray) -> None:
    """Refuse a piece that is all in another, of which no surface crosses the other's."""
    if pieces.max() == 0:
        return
    within = Around(solid.nodes, solid.elements[:, :4]).locate(solid.nodes)[1].min(axis=1) > _WITHIN
    if within.any():
        x, y, z = solid.nodes[within.argmax()]
        raise InvalidValue(
            f"a piece of the solid starts in another, at ({x:.4g}, {y:.4g}, {z:.4g}) m: move them apart, or leave the "
            "surface to itself by contact=fem.Contact(itself=False)."
        )


class WithBodies(Touched, Protocol):
    """Obstacles, some of which are free."""

    bodies: Bodies
    now: Pose
    settings: Contact


def set_bodies_apart(standing: WithBodies) -> None:
    """Move free bodies that just touch other rigid things off them; deeper ones are refused, or pushed out."""
    bodies, now = standing.bodies, standing.now
    if not bodies:
        return
    reach, first = bodies.points.reach, now.places.copy()
    push, deepest = standing.settings.overlapping == "push", 0.0
    for _ in range(_PUSHES if push else _TRIES):
        gaps = bodies.points.gaps(bodies.place_points(now), now.device_pose)
        point, other = np.unravel_index(int(gaps.argmin()), gaps.shape)
        gap, number = float(gaps[point, other]), bodies.owner_of(int(point))
        if gap >= _CLOSE * reach:
            _require_bodies_uncrossed(standing)
            if deepest <= -reach:
                _warn_of_push("a free body", deepest, (now.places - first)[np.abs(now.places - first).sum(1).argmax()])
            return
        if gap <= -reach and not push:
            break
        deepest = min(deepest, gap)
        out = np.zeros(3)
        for axis in range(3):
            places = now.places.copy()
            places[number, axis] += 1e-3 * reach
            kept = now.places.copy()
            now.set(places, now.turns)
            ahead = bodies.points.gaps(bodies.place_points(now), now.device_pose)
            out[axis] = ahead[point, other] - gap
            now.set(kept, now.turns)
        places = now.places.copy()
        places[number] += (reach - gap) * out / max(float(np.linalg.norm(out)), 1e-300)
        now.set(places, now.turns)
    else:
        if gap > 0.0:
            return
    one, two = (standing.rigids[k].called(k) for k in (number, int(other)))
    remedy = "it could not be pushed out" if push else "or have it pushed out by fem.Contact(overlapping='push')"
    raise InvalidValue(f"{one}, starts in {two}, {-gap:.3g} m deep: move one of them by more than that, {remedy}.")


def _require_bodies_uncrossed(standing: WithBodies) -> None:
    """Refuse free bodies whose surface crosses another one, though no corner is in it."""
    surfaces = [surface_of(rigid, number, standing) for number, rigid in enumerate(standing.rigids)]
    for number, other in itertools.combinations(range(len(surfaces)), 2):
        one, two = surfaces[number], surfaces[other]
        if one is None or two is None or "free" not in (standing.rigids[k].moves for k in (number, other)):
            continue
        place = crossing(one, two, standing.device)
        if place is not None:
            x, y, z = place
            raise InvalidValue(
                f"{standing.rigids[number].called(number)}, starts in {standing.rigids[other].called(other)}: their "
                f"surfaces cross near ({x:.4g}, {y:.4g}, {z:.4g}) m; move one of them."
            )


def _warn_of_push(what: str, deepest: float, shift: np.ndarray) -> None:
    warnings.warn(
        f"{what} started {-deepest:.3g} m deep in an obstacle and was pushed out, by {np.linalg.norm(shift):.3g} m.",
        PushedOut, stacklevel=7,
    )  # fmt: skip


def _gaps(standing: Standing, shift: np.ndarray) -> np.ndarray:
    moved = wp.array(standing.solid.nodes + shift, dtype=wp.vec3d, device=standing.nodes.device)
    return standing.nodes.gaps(moved, standing.now.device_pose)


def _out(standing: Standing, shift: np.ndarray, node: int, number: int) -> np.ndarray:
    """Direction in which the gap between a node and an obstacle grows fastest, by differences."""
    step = 1e-3 * standing.nodes.reach
    slope = np.array([_gaps(standing, shift + step * axis)[node, number] for axis in np.eye(3)])
    slope = slope - _gaps(standing, shift)[node, number]
    return np.asarray(slope / max(float(np.linalg.norm(slope)), 1e-300))
