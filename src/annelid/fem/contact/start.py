"""How a solid and its obstacles stand to each other to begin with: apart, just touching, or in each other."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Protocol

import numpy as np
import warp as wp

from annelid.core.errors import InvalidValue
from annelid.fem.contact.bodies import Bodies
from annelid.fem.contact.pairs import SurfacePairs
from annelid.fem.contact.places import Pose
from annelid.fem.contact.points import PointContacts
from annelid.fem.contact.settings import Contact
from annelid.fem.contact.surface import edges_of, outer_faces, pierced
from annelid.fem.solid import Solid
from annelid.shapes import Capsule, Cylinder, Rigid, Sphere

_TRIES, _PUSHES = 20, 200  # moves of what just touches, and of what is pushed out
_HOVERING = 0.34  # of the width of a free body: a reach beyond that is warned of
_CLOSE = 0.9  # of the reach: nearer solids are set apart


class CoarseForContact(UserWarning):
    """A surface has edges too long for a round obstacle, which passes between its nodes, or for a small free body."""


class PushedOut(UserWarning):
    """A solid or a free body started deep in something and was pushed out, on request."""


class Standing(Protocol):
    """A solid among its obstacles."""

    solid: Solid
    rigids: list[Rigid]
    nodes: PointContacts
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
        geometry = rigid.geometry
        if not isinstance(geometry, Sphere | Cylinder | Capsule) or rigid.inside:
            continue
        half, radius = 0.5 * longest, geometry.radius
        sag = radius - float(np.sqrt(radius**2 - half**2)) if half < radius else half  # it passes between nodes
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


def set_apart(standing: Standing) -> np.ndarray:
    """How far the whole solid is to be moved to begin with, so that it just touches [m], shape [3].

    A solid that is put right on the ground would be thrown off it: it is moved by less than the reach of contact, if
    nothing holds it. One that is deeper in an obstacle is refused, or pushed out.
    """
    shift, reach = np.zeros(3), standing.nodes.reach
    if not standing.rigids:
        return shift
    push, deepest = standing.settings.overlapping == "push", 0.0
    for _ in range(_PUSHES if push else _TRIES):
        gaps = _gaps(standing, shift)
        node, number = np.unravel_index(int(gaps.argmin()), gaps.shape)
        gap = float(gaps[node, number])
        if gap >= _CLOSE * reach:
            if deepest <= -reach:
                _warn_of_push("the solid", deepest, shift)
            return shift
        if (gap <= -reach and not push) or (gap <= 0.0 and standing.solid.held.any()):
            raise _inside(standing, int(node), int(number), gap)
        deepest = min(deepest, gap)
        if standing.solid.held.any():
            return shift
        shift = shift + (reach - gap) * _out(standing, shift, int(node), int(number))
    if gap > 0.0:
        return shift
    raise _inside(standing, int(node), int(number), gap)


def require_apart(solid: Solid, pairs: SurfacePairs) -> None:
    """Refuse a surface that crosses or touches itself at rest, and pieces that begin within the reach of contact."""
    positions = wp.array(solid.nodes, dtype=wp.vec3d, device=pairs.device)
    pairs.cover(positions)
    edges, faces = pairs.candidates.edges, pairs.candidates.faces
    near = pairs.candidates.crossings()
    crossed = near[pierced(solid.nodes[edges[near[:, 0]]], solid.nodes[faces[near[:, 1]]])]
    remedy = "or leave its surface to itself by contact=fem.Contact(itself=False)"
    if len(crossed):
        x, y, z = solid.nodes[edges[crossed[0, 0]]].mean(axis=0)
        raise InvalidValue(
            f"the surface of the solid crosses itself at rest, near ({x:.4g}, {y:.4g}, {z:.4g}) m: move its pieces "
            f"apart, {remedy}."
        )
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


class WithBodies(Protocol):
    """Obstacles, some of which are free."""

    rigids: list[Rigid]
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
    raise InvalidValue(
        f"{standing.rigids[number].called(number)}, starts in {standing.rigids[int(other)].called(int(other))}, "
        f"{-gap:.3g} m deep: move one of them by more than that, or have it pushed out by "
        "fem.Contact(overlapping='push')."
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


def _inside(standing: Standing, node: int, number: int, gap: float) -> InvalidValue:
    name = int(standing.outer[node])
    x, y, z = standing.solid.nodes[name]
    what = standing.rigids[number].called(number)
    loose = not standing.solid.held.any()
    remedy = "; fem.Contact(overlapping='push') pushes out what nothing holds" if loose else ""
    return InvalidValue(
        f"the solid starts in {what}: node {name} at ({x:.4g}, {y:.4g}, {z:.4g}) m is {-gap:.3g} m deep; move the mesh "
        f"or the obstacle by more than that, contact begins at a gap of {standing.nodes.reach:.2g} m{remedy}."
    )
