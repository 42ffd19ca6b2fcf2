"""Chambers in a solid under the pressure of a pump, filled with air or with a liquid that weighs."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
import warp as wp

from annelid.core.errors import InvalidValue
from annelid.core.numbers import is_number
from annelid.core.options import require_kind
from annelid.core.replay import Replays, Stage
from annelid.core.unlikely import warn_of_pressure
from annelid.fem.actuation.actuator import FREE, Actuator, Drive, Remedy
from annelid.fem.actuation.limits import Limits, Span
from annelid.fem.elements import ElementSet
from annelid.fem.fluids.cavity import Cavity
from annelid.fem.fluids.columns import FluidColumns
from annelid.fem.fluids.fluid import Fluid
from annelid.fem.fluids.hydrostatics import CavityPressure, CavityVolume
from annelid.fem.kernels.actuation import aim_cavity, aim_weight, carry
from annelid.fem.mesh import Hollow
from annelid.fem.parameters import Varied
from annelid.fem.solid import Solid
from annelid.shapes.tet.quadratic import QuadraticTetMesh
from annelid.shapes.values import as_vector, require_count

ATMOSPHERE = 101_325.0
"""Pressure of the air outside [Pa]."""


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
    pressure: Span = FREE
    pressure_rate: float = math.inf
    growth: Span = FREE
    growth_rate: float = math.inf
    closed: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        limits = self.limits()[0]
        warn_of_pressure(self.name, (limits.low, limits.high), stacklevel=4)

    def limits(self) -> tuple[Limits, Limits]:
        """Limits of pressure and growth."""
        return self._limits(self.pressure, self.pressure_rate, self.growth, self.growth_rate)

    def drive(self, solid: Solid, device: wp.Device, gravity: np.ndarray) -> Drive:
        """The chamber on a device."""
        return ChamberDrive(self, solid, device, gravity)

    def refined(self, mesh: QuadraticTetMesh) -> Self:
        """The same; a cavity that names triangles names those of the finer mesh."""
        if not isinstance(self.cavity, Cavity):
            return self
        return replace(self, cavity=Cavity(mesh.with_middles(self.cavity.triangles), self.cavity.name))

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


class ColumnWeight(ElementSet):
    """The weight of a fluid as columns found it last; it stays until `refresh`."""

    def __init__(self, columns: FluidColumns, device: wp.Device) -> None:
        super().__init__(columns.cavity.nodes[:, None], device, tangent=False)
        self.columns = columns
        self._nodes = wp.array(self.nodes, dtype=wp.int32, device=device)
        self._carry = Replays(device)

    def refresh(self, positions: wp.array[Any]) -> None:
        """Update the weights."""
        self.columns.evaluate(positions)

    def evaluate(self, positions: wp.array[Any], *, tangent: bool = True) -> None:
        """Energy and forces of the weights that were found."""
        self._carry.run(lambda: self._stages(positions), positions)

    def _stages(self, positions: wp.array[Any]) -> list[Stage]:
        arguments = [self._nodes, self.columns.forces, positions, self.energy, self.forces]
        return [Stage(carry, self.element_count, arguments)]


class ChamberDrive(Drive):
    """A cavity under pressure, with the weight of a liquid."""

    ramped = True

    def __init__(self, chamber: Chamber, solid: Solid, device: wp.Device, gravity: np.ndarray) -> None:
        cavity = chamber.cavity_of(solid)
        volume = cavity.check(solid.nodes)
        self.actuator, self.device = chamber, device
        if isinstance(chamber, Pneumatic):
            self.actuator = chamber.at_rest(volume)
        fluid = _pulled(chamber.fluid, gravity) if isinstance(chamber, Hydraulic) else None
        self.weightless = isinstance(chamber, Hydraulic) and fluid is None
        by_columns = isinstance(chamber, Hydraulic) and chamber.weight == "columns" and fluid is not None
        self.pressure = CavityPressure(cavity, solid.nodes, device, fluid=None if by_columns else fluid)
        self.volume = CavityVolume(cavity, solid.nodes, device)
        self._weight: ColumnWeight | None = None
        if by_columns and isinstance(chamber, Hydraulic) and fluid is not None:
            self._weight = ColumnWeight(FluidColumns(cavity, fluid, cells=chamber.cells, device=device), device)
            self._weight.refresh(wp.array(solid.nodes, dtype=wp.vec3d, device=device))  # memory, at rest in any world
            self.columns = 2
        self.fluid, self.nodes = fluid, cavity.nodes
        self._nodes = wp.array(cavity.nodes, dtype=wp.int32, device=device)
        self._rest = wp.float64(volume)

    @property
    def sets(self) -> tuple[ElementSet, ...]:
        """The pressure, and the weight of a liquid that is found by columns."""
        return (self.pressure,) if self._weight is None else (self.pressure, self._weight)

    def exert(self, effort: float) -> None:
        """Press with this pressure [Pa]."""
        self.pressure.set_pressure(effort)

    def weigh(self, positions: wp.array[Any]) -> None:
        """Update the weights of columns."""
        if self._weight is not None:
            self._weight.refresh(positions)

    def vary(self, varied: Varied | None) -> None:
        """Let the pull of a world act on the liquid."""
        if self.fluid is None:
            return
        fluid = self.fluid if varied is None else self.fluid.pulled(varied.pull)
        if self._weight is not None:
            self._weight.columns.pull(fluid)
        else:
            self.pressure.pull(fluid)

    def measure(self, positions: wp.array[Any]) -> None:
        """The volume and its slope."""
        self.volume.evaluate(positions)

    def stages(
        self, positions: wp.array[Any], column: int, strokes: wp.array[Any], directions: wp.array[Any]
    ) -> list[Stage]:
        """Growth of the volume, its slope J_p, and J_w where the weight is found by columns."""
        volume, slope, count = self.volume.volume, self.volume.slope, len(self._nodes)
        found = [Stage(aim_cavity, count, [self._nodes, self._rest, column, volume, slope, strokes, directions])]
        if self._weight is not None:
            more = [self._nodes, column + 1, volume, self._weight.columns.forces, directions]
            found.append(Stage(aim_weight, count, more))
        return found

    def refused_in_batches(self) -> str | None:
        """Liquids whose weight is found by columns, or that do not fill their chamber."""
        if self._weight is not None:
            return f"the weight of {self.actuator.name} is found by columns, take weight='hydrostatic'"
        if self.fluid is not None and not self.fluid.full:
            return f"the liquid in {self.actuator.name} has a surface, fill it up"
        return None

    def triangles(self) -> np.ndarray:
        """Triangles of its cavity."""
        return self.pressure.cavity.triangles

    def refused_in_gradients(self) -> Remedy | None:
        """Liquids whose weight is found by columns, or that do not fill their chamber."""
        name, chamber = self.actuator.name, self.actuator
        if self._weight is not None:
            return f"{name}, whose weight is found by columns", "give it weight='hydrostatic'."
        if isinstance(chamber, Hydraulic) and chamber.fluid.volume is not None:
            return f"{name}, a chamber that is not full", "give its fluid no volume, or use air."
        return None

    def no_gradient_by(self) -> dict[str, str]:
        """Gravity and nodes, where a liquid weighs."""
        why = f"the weight of the liquid in {self.actuator.name} would change with it, too"
        return {} if self.fluid is None else {"gravity": why, "nodes": why}


def _pulled(fluid: Fluid, gravity: np.ndarray) -> Fluid | None:
    """The fluid under the gravity of the robot; none where nothing weighs anything."""
    if not gravity.any():
        return None
    return replace(fluid, gravity=as_vector("gravity", gravity))
