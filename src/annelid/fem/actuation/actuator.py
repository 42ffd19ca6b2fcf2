"""What all actuators have, and what each does on a device.

Every actuator exerts an *effort* (tension, pressure, force) along the slope of its *stroke* (length pulled in, growth
of the volume, travel of the point): it does the work effort times change of stroke. Limits are on both and on their
rates. One number in place of two limits holds a quantity: `Cable(..., pull=0.0)` is a cable of fixed length.

A new kind is one file: an `Actuator`, and its `Drive`, which says what it does in equilibria and motions, and what it
can do in batches, gradients and pictures.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import warp as wp

from annelid.core.described import Brief
from annelid.core.errors import InvalidValue
from annelid.core.options import Named, require_word
from annelid.core.replay import Stage
from annelid.core.snapshot import Lines
from annelid.fem.actuation.limits import Limits, Span
from annelid.fem.elements import ElementSet
from annelid.fem.fluids.fluid import Fluid
from annelid.fem.parameters import Varied
from annelid.fem.solid import Solid
from annelid.shapes.tet.quadratic import QuadraticTetMesh

FREE = (-math.inf, math.inf)
"""No limits."""

Remedy = tuple[str, str]
"""What something cannot do, and what to do instead."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Actuator(Named, Brief):
    """What all actuators have.

    Attributes:
        name: Name, for messages, plots and streams.
    """

    effort_name: ClassVar[str]
    effort_unit: ClassVar[str]
    stroke_name: ClassVar[str]
    stroke_unit: ClassVar[str]
    one_sided: ClassVar[bool] = False
    """Whether it cannot push: held at a stroke it may go slack."""

    name: str

    def __post_init__(self) -> None:
        require_word("the name of an actuator", self.name)
        self.limits()

    def limits(self) -> tuple[Limits, Limits]:
        """Limits of effort and stroke."""
        raise NotImplementedError

    def law(self, stroke: float) -> tuple[float, float] | None:
        """Effort that follows from the stroke, and its slope; None where the effort is free."""
        return None

    def drive(self, solid: Solid, device: wp.Device, gravity: np.ndarray) -> Drive:
        """The actuator compiled for a device."""
        raise NotImplementedError

    def refined(self, mesh: QuadraticTetMesh) -> Self:
        """The same for a finer mesh of its solid."""
        return self

    def _limits(self, effort: Span, effort_rate: float, stroke: Span, stroke_rate: float) -> tuple[Limits, Limits]:
        return (
            Limits.of(f"{self.effort_name} of {self.name}", effort, effort_rate),
            Limits.of(f"{self.stroke_name} of {self.name}", stroke, stroke_rate),
        )


class Drive:
    """An actuator on a device.

    Attributes:
        actuator: What it is.
        columns: Directions it needs: 1, or 2 where its weight has one of its own.
        fluid: The liquid that fills it, where that has weight.
        weightless: Whether it has a liquid that weighs nothing, because there is no gravity.
        ramped: Whether its effort grows with the loads where these are ramped.
    """

    actuator: Actuator
    columns: int = 1
    fluid: Fluid | None = None
    weightless: bool = False
    ramped: bool = False

    @property
    def sets(self) -> tuple[ElementSet, ...]:
        """Element sets through which it acts on the solid: itself, if it is one."""
        return (self,) if isinstance(self, ElementSet) else ()

    def exert(self, effort: float) -> None:
        """Act with this effort from now on."""
        raise NotImplementedError

    def measure(self, positions: wp.array[Any]) -> None:
        """Find what the stages need."""

    def stages(
        self, positions: wp.array[Any], column: int, strokes: wp.array[Any], directions: wp.array[Any]
    ) -> list[Stage]:
        """Launches that fill a place of `strokes`, float64 [c], and columns of `directions`, vec3d [n, c]."""
        raise NotImplementedError

    def weigh(self, positions: wp.array[Any]) -> None:
        """Update loads that stay as they are while equilibria are sought."""

    def vary(self, varied: Varied | None) -> None:
        """Have the pull of a world, until None makes it that of the model again."""

    def lines(self, positions: np.ndarray) -> list[Lines]:
        """What pictures show of it, where nodes are at positions [m], shape [n, 3]."""
        return []

    # --- what it can do in batches and gradients ---

    def refused_in_batches(self) -> str | None:
        """Why worlds with it are not stepped together, with the remedy; None where they are."""
        return None

    def triangles(self) -> np.ndarray:
        """Triangles of the chamber on which it presses, shape [t, 3]."""
        return np.zeros((0, 3), np.int64)

    def segments(self) -> tuple[np.ndarray, np.ndarray]:
        """Nodes along a line that it pulls, -1 where fixed in space, [p], and places at rest [m], [p, 3]."""
        return np.zeros(0, np.int64), np.zeros((0, 3))

    def shares(self) -> tuple[np.ndarray, np.ndarray]:
        """Nodes on which it acts with a force that stays, [k], and that force for an effort of 1, [k, 3]."""
        return np.zeros(0, np.int64), np.zeros((0, 3))

    def refused_in_gradients(self) -> Remedy | None:
        """What of it has no gradient, and what to do instead; None where all has."""
        return None

    def no_gradient_by(self) -> dict[str, str]:
        """Inputs by which there is no gradient with it, and why."""
        return {}


def drive_of(actuator: Actuator, solid: Solid, device: wp.Device, gravity: np.ndarray) -> Drive:
    """An actuator compiled for a device."""
    if not isinstance(actuator, Actuator):
        raise InvalidValue(
            f"{actuator!r} is no actuator; give Cable, Pneumatic, Hydraulic, PointForce, MagneticField or Slide."
        )
    return actuator.drive(solid, device, gravity)


def require_direction(direction: Sequence[float], name: str) -> np.ndarray:
    """A direction of unit length."""
    try:
        along = np.asarray(direction, float)
    except (TypeError, ValueError, OverflowError):
        along = np.empty(0)
    if along.shape != (3,) or not (np.isfinite(along).all() and along.any()):
        raise InvalidValue(f"direction of {name} must be three finite numbers, not all 0, not {direction!r}.")
    return np.asarray(along / np.linalg.norm(along))
