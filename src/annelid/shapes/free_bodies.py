"""Free rigid bodies as kernels step them: mass, points of the surface, and what is around them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import warp as wp
from scipy.spatial import cKDTree
from scipy.spatial.transform import Rotation

from annelid.shapes.form import Form
from annelid.shapes.kernels import free_bodies as kernels
from annelid.shapes.motions import MotionTable
from annelid.shapes.primitives import Capsule, Sphere
from annelid.shapes.rigid import Rigid
from annelid.shapes.spread import spread_over
from annelid.shapes.surface import stated

_SAMPLES = 2000  # elements around which those are weighed that a body may touch at once


def touching_points(rigid: Rigid, axes: Rotation) -> np.ndarray:
    """Points that touch other bodies, about the centre of mass, in the frame of the kernels [m], shape [k, 3].

    Corners first, then points evenly spread over the surface. Round bodies touch with balls of their radius instead:
    one in the middle of a ball, several along a capsule.

    Args:
        rigid: The body.
        axes: Rotation from the frame of the kernels to that of its shape.
    """
    points, shape = rigid.points, rigid.shape
    if isinstance(shape, Sphere):
        return np.zeros((1, 3))
    if isinstance(shape, Capsule):
        count = 2 + int(min(shape.length / shape.radius, max(points - 2, 0)))
        along = np.linspace(-0.5, 0.5, count) * shape.length
        return np.column_stack([np.zeros((count, 2)), along])
    mesh = shape.surface(16)
    vertices = (mesh.vertices - rigid.middle) @ axes.as_matrix()
    if len(vertices) <= points:
        spread = spread_over(vertices, mesh.triangles, points - len(vertices))[0]
        return np.concatenate([vertices, spread])
    return spread_over(vertices, mesh.triangles, points)[0]


def weight_of(rigid: Rigid, axes: Rotation) -> tuple[float, np.ndarray]:
    """Mass of a body [kg], and inertia in the frame of the kernels [kg m²], shape [3, 3]."""
    unit, mass, turn = rigid.unit, rigid.total_mass, axes.as_matrix()
    return mass, turn.T @ unit.inertia @ turn * (mass / unit.mass)


class FreeBody:
    """A free body.

    Args:
        rigid: The rigid thing.
        form: What kernels know of it.

    Attributes:
        rigid: The rigid thing.
        mass: Mass [kg].
        inertia: Inertia in the frame of the kernels [kg m²], shape [3, 3].
        points: Points that touch other things, in that frame [m], shape [k, 3]; none where it keeps things inside.
        radius: Radius of balls around them [m].
        give: Most speed that an impulse of 1 N s gives any of its points, along it [1/kg].
    """

    def __init__(self, rigid: Rigid, form: Form) -> None:
        self.rigid = rigid
        self.mass, self.inertia = weight_of(rigid, form.axes)
        points = touching_points(rigid, form.axes)
        self.radius = rigid.shape.radius if isinstance(rigid.shape, Sphere | Capsule) else 0.0
        arms = rigid.reach * np.eye(3) if isinstance(rigid.shape, Sphere) else points
        self.give = 1.0 / self.mass + max(self._turning(arm) for arm in arms)
        # Contacts with a thing are the first of its points that are near: in no order, so that these lie apart.
        corners = len(rigid.shape.surface(16).vertices) if self.radius == 0.0 else 0
        first = points[:corners] if corners <= rigid.points else points[:0]
        others = np.random.default_rng(0).permutation(points[len(first) :])
        self.points = np.zeros((0, 3)) if rigid.inside else np.concatenate([first, others])

    def _turning(self, arm: np.ndarray) -> float:
        cross = np.cross(np.eye(3), arm)
        return float(np.linalg.eigvalsh(cross @ np.linalg.inv(self.inertia) @ cross.T)[-1])

    def lightness(self, points: np.ndarray, masses: np.ndarray) -> float:
        """Mass of what may touch it at once, over its own where it gives most: what it adds to a squared frequency.

        Args:
            points: Where elements that may touch it were built [m], shape [n, 3].
            masses: Their masses [kg], shape [n].
        """
        chosen = points[:: -(-len(points) // _SAMPLES)]
        near = cKDTree(points).query_ball_point(chosen, 2.0 * self.rigid.reach)
        return self.give * max(float(masses[some].sum()) for some in near)


class FreeBodies:
    """The free bodies among some rigid things, on a device.

    Args:
        rigids: The rigid things, in the order of the table.
        forms: What kernels know of each; None of what bodies do not touch.
        motions: How they move.
        restitution: Of two surfaces of which neither states any.
        device: Warp device.

    Attributes:
        struct: The structure of the kernels.
        kinds: Kinds of geometries that bodies touch.
        number: Which free body each thing is, -1: none.
    """

    def __init__(
        self, rigids: Sequence[Rigid], forms: Sequence[Form | None], motions: MotionTable, restitution: float,
        device: wp.Device,
    ) -> None:  # fmt: skip
        self._rows = motions.count
        self._device, self.bodies = device, [_made(rigids[number], forms[number]) for number in motions.free]
        self.number = [motions.free.index(number) if number in motions.free else -1 for number in range(len(rigids))]
        seen = [(rigid, form, number) for number, (rigid, form) in enumerate(zip(rigids, forms, strict=True)) if form]
        self.kinds = tuple(sorted({form.kind for _, form, _ in seen}))
        things, values, count = [], [np.zeros(0, np.float32)], 0
        for rigid, form, number in seen:
            things.append(_thing(rigid, form, motions.tracks[number].tolist(), self.number[number], count, restitution))
            values.append(form.values)
            count += len(form.values)
        place_of = {number: place for place, (_, _, number) in enumerate(seen)}
        rows = [
            _row(body, place_of[n], int(motions.tracks[n, 0]))
            for body, n in zip(self.bodies, motions.free, strict=True)
        ]
        first = np.cumsum([0, *(len(body.points) for body in self.bodies)])
        for row, begin in zip(rows, first, strict=False):
            row.first = int(begin)
        kind: Any = kernels.FreeBodies
        self.struct = kind()
        self.struct.bodies = wp.array(rows, dtype=kernels.Body, device=device)
        self.struct.things = wp.array(things, dtype=kernels.Thing, device=device)
        points = np.concatenate([np.zeros((0, 3)), *(body.points for body in self.bodies)])
        self.struct.points = wp.array(points, dtype=wp.vec3d, device=device)
        self.struct.values = wp.array(np.concatenate(values), dtype=wp.float32, device=device)
        self.struct.room = kernels.CONTACTS * len(rows) * min(len(things), 8)

    def make_room(self, elements: int, most: int, worlds: int) -> None:
        """Make room for what elements do to bodies.

        Args:
            elements: Elements of all worlds.
            most: Elements of a world, at most.
            worlds: Number of worlds.
        """
        struct, count = self.struct, len(self.bodies)
        struct.groups = -(-most // kernels.GROUP)
        struct.wrenches = wp.zeros(elements * count, dtype=kernels.Wrench, device=self._device)
        struct.sums = wp.zeros(worlds * struct.groups * count, dtype=kernels.Wrench, device=self._device)
        struct.inverses = wp.zeros(worlds * self._rows, dtype=wp.mat33d, device=self._device)
        struct.touches = wp.zeros(worlds * struct.room, dtype=kernels.Touch, device=self._device)


def _made(rigid: Rigid, form: Form | None) -> FreeBody:
    assert form is not None
    return FreeBody(rigid, form)


def _thing(rigid: Rigid, form: Form, track: Sequence[int], body: int, first: int, restitution: float) -> Any:
    kind: Any = kernels.Thing
    thing = kind()
    thing.geometry = form.struct(wp.float64, first, form.size)
    if not track[1]:
        thing.geometry, thing.place, thing.turn = form.still(wp.float64, first)
    thing.track, thing.body = track, body
    thing.holds, thing.rubs = rigid.surface.frictions
    thing.restitution = stated(rigid.surface.restitution, restitution)
    return thing


def _row(body: FreeBody, thing: int, row: int) -> Any:
    kind: Any = kernels.Body
    made = kind()
    made.row, made.thing, made.inverse_mass = row, thing, 1.0 / body.mass
    made.inertia, made.inverse_inertia = body.inertia, np.linalg.inv(body.inertia)
    made.reach, made.count, made.radius = body.rigid.reach, len(body.points), body.radius
    return made
