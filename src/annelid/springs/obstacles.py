"""Rigid things as masses touch them: planes, height fields, any closed shape, the user's surfaces.

Contact is a linear spring and dashpot on the depth, never attractive, with Coulomb friction. The dashpot follows from
the coefficient of restitution. Obstacles stand still, are driven or are free; masses are points to them.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.optimize import brentq

from annelid.core.errors import InvalidValue
from annelid.shapes import ImplicitSurface, Rigid, Surface
from annelid.shapes.form import ENDLESS, Form
from annelid.shapes.free_bodies import FreeBody
from annelid.shapes.resistive.among import rigids_beside_sand
from annelid.shapes.surface import mixed
from annelid.springs.body import Body

RESTITUTION = 0.5
"""Of a surface that does not say; how stiff it is depends on the body."""


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
        form: What kernels know of the surface; None where a function of the user says where it is.
        core: Depth that no mass goes below [m], see `shapes.form`.
        free: The free body that it is; None of others.
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
        self.form = None if isinstance(rigid.geometry, ImplicitSurface) else Form(rigid)
        self.free = FreeBody(rigid, self.form) if rigid.moves == "free" and self.form is not None else None
        self.core = ENDLESS if self.form is None else self.form.core

    @property
    def values(self) -> np.ndarray:
        """Heights or signed distances [m] that the kernels look up, shape [k]."""
        return np.zeros(0, np.float32) if self.form is None else self.form.values

    def over(self, masses: np.ndarray) -> np.ndarray:
        """Stiffness over mass [1/s²] of masses [kg]."""
        return np.full(len(masses), self.stiffness) if self.per_mass else self.stiffness / masses

    def lightness(self, body: Body) -> float:
        """What a free body adds to the squared frequency of its contacts, for it moves too; 0 of others."""
        if self.free is None:
            return 0.0
        outer = np.unique(body.triangles) if len(body.triangles) else np.arange(body.mass_count)
        return self.free.lightness(body.positions[outer], body.masses[outer])

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
    if rigid.moves == "driven" and isinstance(rigid.geometry, ImplicitSurface):
        raise InvalidValue(f"springs cannot drive {what}: let its function depend on time.")
    if rigid.world != 0:
        raise InvalidValue(
            f"springs have one list of obstacles for all worlds, and {what}, names world {rigid.world}: use world=0."
        )
    if rigid.surface.cohesion > 0.0:
        raise InvalidValue(
            f"springs cannot stick to a surface yet, and {what}, has a cohesion of {rigid.surface.cohesion:g} N: "
            "leave cohesion out."
        )
    if isinstance(rigid.geometry, ImplicitSurface) and not (rigid.upright and rigid.position == (0.0, 0.0, 0.0)):
        raise InvalidValue(
            f"springs cannot touch {what}, yet where it is moved or turned: let its function shift the position."
        )


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
