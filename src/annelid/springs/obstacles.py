"""Rigid things as masses touch them: planes, spheres, boxes, height fields, any closed shape, the user's surfaces.

Contact is a linear spring and dashpot on the depth, never attractive, with Coulomb friction. The dashpot follows from
the coefficient of restitution. Obstacles stand still; masses are points to them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.optimize import brentq

from annelid.core.errors import InvalidValue
from annelid.shapes import Box, HeightField, ImplicitSurface, Plane, Rigid, Sphere, Surface
from annelid.shapes.kernels.gaps import BOX, GRID, HEIGHTS, PLANE, SPHERE
from annelid.shapes.resistive.among import rigids_beside_sand
from annelid.shapes.surface import mixed

RESTITUTION = 0.5
"""Of a surface that does not say; how stiff it is depends on the body."""

_CORE, _ENDLESS = 0.5, 1.0e30  # part of half a thickness that a mass may sink in; a depth that single precision holds


class Contact:
    """A rigid thing as masses touch it.

    Args:
        rigid: The rigid thing; one that masses cannot touch is refused.
        number: Its number in the list of obstacles, for messages.
        hardness: Stiffness over mass where the surface gives no stiffness [1/s²].

    Attributes:
        rigid: The rigid thing.
        called: What messages call it.
        friction: Coulomb coefficient that holds a resting mass.
        sliding_friction: Coulomb coefficient on a sliding mass.
        restitution: Speed after a bounce over the speed before it, 0 to 1.
        per_mass: Whether the stiffness is in proportion to the mass, since the surface gives none.
        stiffness: Force per depth of one mass [N/m], or of a kilogram of it.
        damping_ratio: Damping ratio of the linear contact whose bounce has this restitution.
        slowing: What a dashpot that grows with the depth adds to the push per speed [s/m], for a bounce at 1 m/s with
            this restitution.
        numbers: Members of the kernels' structure that say what and where the surface is.
        values: Heights or signed distances [m] that the kernels look up, shape [k].
        core: Depth that no mass goes below [m]: a part of half the thickness; what has no thickness has no limit.
    """

    def __init__(self, rigid: Rigid, number: int, hardness: float) -> None:
        _require_touchable(rigid, number)
        surface = rigid.surface
        self.rigid, self.called = rigid, rigid.called(number)
        self.friction, self.sliding_friction = map(float, mixed(surface.frictions, Surface().frictions))
        self.restitution = RESTITUTION if surface.restitution is None else surface.restitution
        self.per_mass = surface.stiffness is None
        self.stiffness = hardness if surface.stiffness is None else surface.stiffness
        self.damping_ratio = damping_ratio(self.restitution)
        self.slowing = slowing(self.restitution)
        self.numbers, self.values = _form(rigid)
        self.core = min(_CORE * 0.5 * rigid.thinnest, _ENDLESS)

    def over(self, masses: np.ndarray) -> np.ndarray:
        """Stiffness over mass [1/s²] of masses [kg]."""
        return np.full(len(masses), self.stiffness) if self.per_mass else self.stiffness / masses

    @property
    def function(self) -> Any:
        """The user's function; None where the surface is built in."""
        return self.rigid.geometry.function if isinstance(self.rigid.geometry, ImplicitSurface) else None


def contacts_of(obstacles: Any, hardness: float) -> tuple[Contact, ...]:
    """The rigid things of a list of obstacles as masses touch them; see `Contact`."""
    return tuple(Contact(rigid, number, hardness) for number, rigid in rigids_beside_sand(obstacles, "springs"))


def _require_touchable(rigid: Rigid, number: int) -> None:
    """Refuse by name what masses cannot touch yet."""
    what = rigid.called(number)
    if rigid.moves != "fixed":
        how = "along a path" if rigid.path is not None else rigid.moves
        raise InvalidValue(
            f"springs cannot touch a moving obstacle yet, and {what}, moves ({how}): use motion='fixed', an "
            "ImplicitSurface whose function depends on time, or annelid.coupling with a bed of grains."
        )
    if rigid.inside:
        raise InvalidValue(f"springs cannot be kept inside a shape yet, as {what}, wants: build its walls of planes.")
    if rigid.world != 0:
        raise InvalidValue(
            f"springs have one list of obstacles for all worlds, and {what}, names world {rigid.world}: use world=0."
        )
    if rigid.surface.cohesion > 0.0:
        raise InvalidValue(
            f"springs cannot stick to a surface yet, and {what}, has a cohesion of {rigid.surface.cohesion:g} N: "
            "leave cohesion out."
        )
    if isinstance(rigid.geometry, HeightField) and not rigid.upright:
        raise InvalidValue(f"springs cannot touch {what}, yet while it is turned: turn its block(depth).")
    if isinstance(rigid.geometry, ImplicitSurface) and not (rigid.upright and rigid.position == (0.0, 0.0, 0.0)):
        raise InvalidValue(
            f"springs cannot touch {what}, yet where it is moved or turned: let its function shift the position."
        )


def _form(rigid: Rigid) -> tuple[Mapping[str, Any], np.ndarray]:
    """Members of the kernels' structure, and the values that they look up."""
    nothing, geometry = np.zeros(0, np.float32), rigid.geometry
    if isinstance(geometry, ImplicitSurface):
        return {}, nothing
    if isinstance(geometry, Plane):
        plane = rigid.where
        assert isinstance(plane, Plane)
        return {"kind": PLANE, "place": plane.normal, "size": float(np.dot(plane.normal, plane.point))}, nothing
    if isinstance(geometry, HeightField):
        (x, y), (dx, dy) = geometry.begin.tolist(), geometry.steps.tolist()
        (px, py, pz), counts = rigid.position, (*geometry.heights.shape, 1)
        form = {"kind": HEIGHTS, "place": (x + px, y + py, pz), "spacing": (dx, dy, 1.0), "counts": counts}
        return form, np.asarray(geometry.heights).ravel()
    if isinstance(geometry, Sphere):
        sphere = rigid.where
        assert isinstance(sphere, Sphere)
        return {"kind": SPHERE, "place": sphere.center, "size": sphere.radius}, nothing
    if isinstance(geometry, Box):
        center = rigid.turn.apply(np.array(geometry.center)) + np.array(rigid.position)
        half = tuple(0.5 * side for side in geometry.size)
        return {"kind": BOX, "place": tuple(center), "spacing": half, "turn": rigid.turn.as_matrix()}, nothing
    grid = rigid.grid
    first = rigid.turn.apply(np.array(grid.origin)) + np.array(rigid.position)
    form = {"kind": GRID, "place": tuple(first), "size": grid.spacing, "counts": tuple(grid.values.shape)}
    return form | {"turn": rigid.turn.as_matrix()}, np.asarray(grid.values.numpy()).ravel()


_DEAD = 0.05  # restitution below which a growing dashpot is no longer made stronger
_DEADEST = 5.0  # damping ratio where the search ends: a bounce keeps one per cent of its speed


def damping_ratio(restitution: float) -> float:
    """Damping ratio of a spring-dashpot contact that ends when its force would pull (Schwager and Pöschel, 2007)."""
    if restitution >= 1.0:
        return 0.0
    if restitution <= _restitution(_DEADEST):
        return _DEADEST
    return float(brentq(lambda ratio: _restitution(ratio) - restitution, 1e-9, _DEADEST))


def _restitution(ratio: float) -> float:
    """Restitution of a linear contact with this damping ratio, up to the moment when its force vanishes.

    The depth is exp(-ratio s) sin(w s)/w in units of the undamped frequency, with sinh above critical damping.
    """
    w = math.sqrt(abs(1.0 - ratio * ratio))
    if w < 1e-6:
        return math.exp(-2.0)
    if ratio < 1.0:
        return math.exp(-ratio / w * math.atan2(2.0 * ratio * w, 2.0 * ratio * ratio - 1.0))
    return math.exp(-ratio / w * math.atanh(2.0 * ratio * w / (2.0 * ratio * ratio - 1.0)))


def slowing(restitution: float) -> float:
    """Product d of impact speed and dashpot, per spring force, of a contact k δ (1 + d δ̇) with this restitution.

    From v dv / (1 + d v) = -k/m δ dδ, both ways: d (1 + e) = ln((1 + d) / (1 - e d)) at an impact speed of 1.
    """
    if restitution >= 1.0:
        return 0.0
    e = max(restitution, _DEAD)

    def rest(d: float) -> float:
        return math.log1p(d) - math.log1p(-e * d) - d * (1.0 + e)

    return float(brentq(rest, 1e-6, (1.0 - 1e-12) / e))
