"""What surrounds 3-D voxel robots and how they are integrated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

import warp as wp

from annelid.core.described import Brief
from annelid.core.errors import InvalidValue
from annelid.core.numbers import is_number
from annelid.core.options import Auto, Named, is_among
from annelid.shapes import Obstacle, ResistiveGround
from annelid.shapes.resistive.among import require_no_hollows, sand_among
from annelid.shapes.values import as_vector, require_step
from annelid.voxels3d.files.formulas import Formula
from annelid.voxels3d.kernels.fields import DEEPEST
from annelid.voxels3d.obstacles import Contact, contacts_of

PRECISIONS = {"float32": wp.float32, "float64": wp.float64}

Links = Literal["balanced", "compatible"]

Collisions = Literal["none", "self", "all"]

Skin = Literal["blocky", "smooth"]


@dataclass(frozen=True, kw_only=True, repr=False)
class World(Brief, Named):
    """What surrounds robots and how they are integrated.

    Attributes:
        dt: Time step [s]; "auto" takes 0.75 of the step that Voxelyze recommends for the stiffest and lightest voxels,
            or 0.9 of the stable one where that is shorter.
        precision: "float32" or "float64".
        gravity: Acceleration of gravity [m/s²].
        obstacles: What voxels can touch: fixed rigid things, or bare geometries, see `annelid.shapes.Rigid`, and at
            most one `ResistiveGround`.
        links: "balanced" links conserve angular momentum; "compatible" ones have the moments of Voxelyze, which do not
            where links are stretched.
        collisions: Whether voxels touch each other: "none" do; those of a robot with "self"; with "all" also those of
            different robots, which share a world.
        force_field: Formulas of the force on each voxel along x, y and z [N], from its place x, y, z [m] and the time t
            [s]; none without.
        fluid: Density of the fluid at rest that robots move in, times the drag coefficient of their faces [kg/m³]; 0:
            none. It does not carry them: with neutral buoyancy there is no gravity.
        skin: How pictures show robots: "blocky", or "smooth", which rounds them off. Nothing else depends on it.
    """

    dt: float | Auto = "auto"
    precision: str = "float32"
    gravity: tuple[float, float, float] = (0.0, 0.0, -9.81)
    obstacles: Sequence[Obstacle] = ()
    links: Links = "balanced"
    collisions: Collisions = "none"
    force_field: Sequence[Formula] = ()
    fluid: float = 0.0
    skin: Skin = "blocky"

    def __post_init__(self) -> None:
        object.__setattr__(self, "dt", require_step("dt", self.dt))
        if not isinstance(self.precision, str) or self.precision not in PRECISIONS:
            raise InvalidValue(f"precision {self.precision!r} must be 'float32' or 'float64'.")
        if not is_among(self.links, get_args(Links)):
            raise InvalidValue(f"links {self.links!r} must be 'balanced' or 'compatible'.")
        if not is_among(self.collisions, get_args(Collisions)):
            raise InvalidValue(f"collisions {self.collisions!r} must be 'none', 'self' or 'all'.")
        if not is_among(self.skin, get_args(Skin)):
            raise InvalidValue(f"skin {self.skin!r} must be 'blocky' or 'smooth'.")
        object.__setattr__(self, "gravity", as_vector("gravity", self.gravity))
        object.__setattr__(self, "force_field", _require_field(self.force_field))
        if not (is_number(self.fluid) and self.fluid >= 0.0):
            raise InvalidValue(f"fluid = {self.fluid!r:.60} cannot be used; give a finite number of 0 or more.")
        object.__setattr__(self, "fluid", float(self.fluid))
        self.contacts  # noqa: B018 (obstacles that cannot be touched are refused here)
        require_no_hollows(self.sand, "3-D voxels")

    @cached_property
    def contacts(self) -> tuple[Contact, ...]:
        """The obstacles as voxels touch them."""
        return contacts_of(self.obstacles)

    @cached_property
    def sand(self) -> ResistiveGround | None:
        """The obstacle that resists like sand."""
        return sand_among(self.obstacles, "3-D voxels")


def _require_field(given: Sequence[Formula]) -> tuple[Formula, ...]:
    formulas = tuple(given) if isinstance(given, Sequence) else (given,)
    if len(formulas) not in (0, 3) or not all(isinstance(formula, Formula) for formula in formulas):
        raise InvalidValue(f"force_field must be three formulas, along x, y and z, not {given!r:.60}.")
    for axis, formula in zip("xyz", formulas, strict=False):
        if beyond := formula.variables - {"x", "y", "z", "t"}:
            raise InvalidValue(
                f"the force along {axis} depends on {', '.join(sorted(beyond))}, where fields have only x, y, z and t."
            )
        if formula.waiting > DEEPEST:
            raise InvalidValue(
                f"the force along {axis} makes {formula.waiting} numbers wait for operators, more than {DEEPEST}: "
                "write long operands second, as in 1 + (2 + (3 + 4))."
            )
    return formulas
