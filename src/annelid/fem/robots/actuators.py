"""What drives a soft robot: cables, pneumatic and hydraulic cavities, forces at points; with their limits.

Every actuator exerts an *effort* (tension, pressure, force) along the slope of its *stroke* (length pulled in, growth
of the volume, travel of the point): it does the work effort times change of stroke. Limits are on both and on their
rates.
One number in place of two limits holds a quantity: `Cable(..., pull=0.0)` is a cable of fixed length.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np

from annelid.core.described import Brief
from annelid.core.errors import InvalidValue
from annelid.core.numbers import is_number
from annelid.core.options import Named, require_kind, require_word
from annelid.core.unlikely import warn_of_pressure
from annelid.fem.fluids.cavity import Cavity
from annelid.fem.fluids.fluid import Fluid
from annelid.fem.mesh import Hollow
from annelid.fem.robots.limits import Limits, Span
from annelid.fem.selection import Where
from annelid.fem.solid import Solid
from annelid.shapes.values import require_count

ATMOSPHERE = 101_325.0
"""Pressure of the air outside [Pa]."""

_FREE = (-math.inf, math.inf)


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

    def _limits(self, effort: Span, effort_rate: float, stroke: Span, stroke_rate: float) -> tuple[Limits, Limits]:
        return (
            Limits.of(f"{self.effort_name} of {self.name}", effort, effort_rate),
            Limits.of(f"{self.stroke_name} of {self.name}", stroke, stroke_rate),
        )


@dataclass(frozen=True, kw_only=True, repr=False)
class Cable(Actuator):
    """A cable through nodes of the solid and points fixed in space; it slides through all but its last point.

    Attributes:
        through: Its points in order, at least two: numbers of nodes, or positions fixed in space [m].
        tension: Limits of the tension [N], or the tension at which it is held; a cable cannot push.
        tension_rate: Largest change of the tension in a second [N/s].
        pull: Limits of the length that is pulled in [m], or the length at which it is held; a held cable that the
            solid gives way to is slack.
        pull_rate: Largest change of that length in a second [m/s].
    """

    effort_name: ClassVar[str] = "tension"
    effort_unit: ClassVar[str] = "N"
    stroke_name: ClassVar[str] = "pull"
    stroke_unit: ClassVar[str] = "m"
    one_sided: ClassVar[bool] = True

    through: Sequence[Any]
    tension: Span = (0.0, math.inf)
    tension_rate: float = math.inf
    pull: Span = _FREE
    pull_rate: float = math.inf

    def __post_init__(self) -> None:
        super().__post_init__()
        effort, _ = self.limits()
        if effort.low < 0.0:
            raise InvalidValue(f"tension of {self.name}: a cable cannot push, so {effort.low:g} N is no limit; give 0.")
        listed = isinstance(self.through, Sequence) or (isinstance(self.through, np.ndarray) and self.through.ndim > 0)
        if not listed or isinstance(self.through, str):
            raise InvalidValue(
                f"cable {self.name!r} passes through {self.through!r:.60}; give a list of nodes and places."
            )
        if len(self.through) < 2:
            count = len(self.through)
            points = "1 point" if count == 1 else f"{count} points"
            raise InvalidValue(f"cable {self.name!r} passes through {points}; it needs at least two.")

    def limits(self) -> tuple[Limits, Limits]:
        """Limits of tension and pull."""
        return self._limits(self.tension, self.tension_rate, self.pull, self.pull_rate)


@dataclass(frozen=True, kw_only=True, repr=False)
class Chamber(Actuator):
    """A cavity that a pump fills.

    Attributes:
        cavity: The cavity, or its number among those of the mesh.
        pressure: Limits of the pressure [Pa], negative for suction, or the pressure at which it is held.
        pressure_rate: Largest change of the pressure in a second [Pa/s].
        growth: Limits of the growth of the volume [m³], or the growth at which it is held.
        growth_rate: Largest change of the volume in a second [m³/s].
        closed: Whether the pump is shut off: air obeys the gas law, a liquid keeps its volume.
    """

    effort_name: ClassVar[str] = "pressure"
    effort_unit: ClassVar[str] = "Pa"
    stroke_name: ClassVar[str] = "growth"
    stroke_unit: ClassVar[str] = "m³"

    cavity: int | Cavity = 0
    pressure: Span = _FREE
    pressure_rate: float = math.inf
    growth: Span = _FREE
    growth_rate: float = math.inf
    closed: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        limits = self.limits()[0]
        warn_of_pressure(self.name, (limits.low, limits.high), stacklevel=4)

    def limits(self) -> tuple[Limits, Limits]:
        """Limits of pressure and growth."""
        return self._limits(self.pressure, self.pressure_rate, self.growth, self.growth_rate)

    def cavity_of(self, solid: Solid) -> Cavity:
        """The cavity itself."""
        if isinstance(self.cavity, Cavity):
            return self.cavity
        every = solid.mesh.cavities() if isinstance(solid.mesh, Hollow) else ()
        whole = isinstance(self.cavity, (int, np.integer)) and not isinstance(self.cavity, bool)
        if not whole or not 0 <= self.cavity < len(every):
            raise InvalidValue(
                f"{self.name} is in cavity {self.cavity!r}, counted from 0, but the mesh has {len(every)}: chambers "
                "that are open, or that a hole in a thin wall joins with others, do not count; use smaller elements."
            )
        return Cavity(every[self.cavity], self.name)


@dataclass(frozen=True, kw_only=True, repr=False)
class Pneumatic(Chamber):
    """A cavity filled with air, which weighs nothing.

    Attributes:
        rest_volume: Volume of the cavity at rest [m³], for the gas law; set where the robot is built.
        sealed_at: Pressure above the air outside when it was closed, with the solid at rest [Pa].
    """

    sealed_at: float = 0.0
    rest_volume: float = field(default=math.nan, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (is_number(self.sealed_at) and self.sealed_at > -ATMOSPHERE):
            raise InvalidValue(
                f"sealed_at of {self.name} = {self.sealed_at!r} cannot be used; give the pressure above the air "
                f"outside [Pa], more than {-ATMOSPHERE:g}, which is none at all."
            )

    def at_rest(self, volume: float) -> Pneumatic:
        """A copy for a cavity that has this volume at rest [m³]."""
        twin = copy.copy(self)  # without the warnings that were given when it was made
        object.__setattr__(twin, "rest_volume", volume)
        return twin

    def law(self, stroke: float) -> tuple[float, float] | None:
        """Pressure of closed air at constant temperature, p v = const, and its slope."""
        if not self.closed:
            return None
        inside = (ATMOSPHERE + self.sealed_at) * self.rest_volume
        volume = max(self.rest_volume + stroke, 1e-3 * self.rest_volume)
        return inside / volume - ATMOSPHERE, -inside / volume**2


@dataclass(frozen=True, kw_only=True, repr=False)
class Hydraulic(Chamber):
    """A cavity filled with a liquid, whose weight the solid carries.

    Attributes:
        fluid: The liquid; the gravity that pulls it is that of the robot.
        weight: How its weight is found: "hydrostatic", with exact derivatives, or "columns", the paper's, with its
            linearisation of how the weight grows with the volume.
        cells: Columns along each side of the grid.
    """

    fluid: Fluid = field(default_factory=Fluid)
    weight: Literal["hydrostatic", "columns"] = "hydrostatic"
    cells: int = 200

    def __post_init__(self) -> None:
        super().__post_init__()
        require_kind(f"the fluid of {self.name}", self.fluid, Fluid, "a fem.Fluid")
        require_count(f"cells of {self.name}", self.cells, least=1, most=10**5)
        if self.weight not in ("hydrostatic", "columns"):
            raise InvalidValue(f"weight of {self.name} must be 'hydrostatic' or 'columns', not {self.weight!r}.")

    def limits(self) -> tuple[Limits, Limits]:
        """Limits of pressure and growth; closed, it keeps its volume."""
        growth: Span = 0.0 if self.closed else self.growth
        return self._limits(self.pressure, self.pressure_rate, growth, self.growth_rate)


@dataclass(frozen=True, kw_only=True, repr=False)
class PointForce(Actuator):
    """A force at a point of the solid, along a direction that stays.

    Attributes:
        at: The point at rest [m], or the number of a node.
        direction: Direction of the force; its length does not matter.
        force: Limits of the force [N], or the force at which it is held.
        force_rate: Largest change of the force in a second [N/s].
        travel: Limits of how far the point goes along the direction [m], or how far it is held.
        travel_rate: Largest change of that in a second [m/s].
    """

    effort_name: ClassVar[str] = "force"
    effort_unit: ClassVar[str] = "N"
    stroke_name: ClassVar[str] = "travel"
    stroke_unit: ClassVar[str] = "m"

    at: Any
    direction: Sequence[float]
    force: Span = _FREE
    force_rate: float = math.inf
    travel: Span = _FREE
    travel_rate: float = math.inf

    def __post_init__(self) -> None:
        super().__post_init__()
        _require_direction(self.direction, self.name)

    def limits(self) -> tuple[Limits, Limits]:
        """Limits of force and travel."""
        return self._limits(self.force, self.force_rate, self.travel, self.travel_rate)


@dataclass(frozen=True, kw_only=True, repr=False)
class Slide(Actuator):
    """A hold that is moved along a direction: the palm of a hand, a jaw. What it must exert for that is not asked.

    Several slides of the same nodes add up.

    Attributes:
        where: Which nodes; all of their components must be held, by `Solid.fix`.
        direction: Direction in which they go; its length does not matter.
        travel: Limits of how far they are from where they rest [m], or how far they are held.
        travel_rate: Largest speed [m/s].
    """

    effort_name: ClassVar[str] = "travel"
    effort_unit: ClassVar[str] = "m"
    stroke_name: ClassVar[str] = "travel"
    stroke_unit: ClassVar[str] = "m"

    where: Where
    direction: Sequence[float]
    travel: Span = _FREE
    travel_rate: float = math.inf

    def __post_init__(self) -> None:
        super().__post_init__()
        _require_direction(self.direction, self.name)

    def limits(self) -> tuple[Limits, Limits]:
        """Limits of the travel; it is what is commanded, so there are no others."""
        return self._limits(self.travel, self.travel_rate, _FREE, math.inf)


def _require_direction(direction: Sequence[float], name: str) -> None:
    try:
        along = np.asarray(direction, float)
    except (TypeError, ValueError, OverflowError):
        along = np.empty(0)
    if along.shape != (3,) or not (np.isfinite(along).all() and along.any()):
        raise InvalidValue(f"direction of {name} must be three finite numbers, not all 0, not {direction!r}.")
