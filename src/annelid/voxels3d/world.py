"""What surrounds 3-D voxel robots and how they are integrated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal

import warp as wp

from annelid.core.described import Brief
from annelid.core.errors import InvalidValue
from annelid.core.options import Auto, Precision
from annelid.core.parameters import Checked, documented, parameter
from annelid.shapes import Obstacle, ResistiveGround
from annelid.shapes.resistive.among import require_no_hollows, sand_among
from annelid.shapes.values import Vector
from annelid.voxels3d.files.formulas import Formula
from annelid.voxels3d.kernels.fields import DEEPEST
from annelid.voxels3d.obstacles import Contact, contacts_of

PRECISIONS = {"float32": wp.float32, "float64": wp.float64}

Links = Literal["balanced", "compatible"]

Collisions = Literal["none", "self", "all"]

Skin = Literal["blocky", "smooth"]


@documented
@dataclass(frozen=True, kw_only=True, repr=False)
class World(Brief, Checked):
    """What surrounds robots and how they are integrated."""

    of_what: ClassVar[str] = "a simulation of 3-D voxels"

    dt: float | Auto = parameter(
        "auto",
        'Time step [s]; "auto" takes 0.75 of the step that Voxelyze recommends for the stiffest and lightest voxels, '
        "or 0.9 of the stable one where that is shorter.",
        unit="s", above=0.0,
    )  # fmt: skip
    precision: Precision = parameter("float32", '"float32" or "float64".')
    gravity: Vector = parameter((0.0, 0.0, -9.81), "Acceleration of gravity [m/s²].")
    obstacles: Sequence[Obstacle] = parameter(
        (),
        "What voxels can touch: rigid things, or bare geometries, see `annelid.shapes.Rigid`, and at "
        "most one `ResistiveGround`; nothing without.",
    )
    links: Links = parameter(
        "balanced",
        '"balanced" links conserve angular momentum; "compatible" ones have the moments of Voxelyze, which do not '
        "where links are stretched.",
    )
    collisions: Collisions = parameter(
        "none",
        '"none" of the voxels touch each other; with "self" those of a robot do; with "all" the robots share a world '
        "and touch each other too.",
    )
    force_field: Sequence[Formula] = parameter(
        (),
        "Formulas of the force on each voxel along x, y and z [N], from its place x, y, z [m] and the time t [s]; none "
        "without.",
    )
    fluid: float = parameter(
        0.0,
        "Density of the fluid at rest that robots move in, times the drag coefficient of their faces [kg/m³]: it "
        "pushes on open faces that move into it. It does not carry them: with neutral buoyancy there is no gravity.",
        unit="kg/m³", least=0.0,
    )  # fmt: skip
    skin: Skin = parameter("blocky", 'How pictures show robots: "blocky", or "smooth", which rounds them off.')

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "force_field", _require_field(self.force_field))
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
    formulas = tuple(given)
    if len(formulas) not in (0, 3):
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
