"""Pressure in a cavity as elements: the pump's, and the weight of a fluid by its hydrostatic potential.

The potential has exact derivatives, so that Newton's method converges quadratically with it and sensitivities are true;
it is the default for control. In resultant and moment it equals the columns of `fem.fluids.columns`; use one or the
other, never both: the hydrostatic pressure integrates to the weight.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from annelid.core.device import device as choose_device
from annelid.core.errors import InvalidValue
from annelid.core.recipe import Maker
from annelid.core.replay import Command, Crew, Replays, Stage
from annelid.core.unlikely import warn_of_pressure
from annelid.fem.elements import ElementSet
from annelid.fem.fluids.cavity import Cavity
from annelid.fem.fluids.fluid import Fluid
from annelid.fem.fluids.levels import FluidLevel
from annelid.fem.kernels.hydrostatics import level_slope, measure_volume, press, volume_slope
from annelid.shapes.values import Floats


class CavityPressure(ElementSet):
    """Triangles of a cavity under the pressure of a pump and the weight of a fluid.

    Args:
        cavity: The cavity.
        rest: Positions of all nodes of the solid [m], shape [n, 3]; checked, and the reference of depths.
        device: Where it is computed.
        fluid: What fills the cavity; None for air, which weighs nothing.
        pressure: Pressure of the pump [Pa].
        threads: CPU threads; one is enough for most cavities.

    Attributes:
        pressure: Pressure of the pump [Pa], float64 of shape [1], on the device. In a full cavity it is the pressure
            at the datum, in a partly filled one that of the gas above the fluid.
        level: Height of the fluid's surface, or the datum of a full cavity [m], float64 of shape [1], on the device.
    """

    def __init__(
        self,
        cavity: Cavity,
        rest: Floats,
        device: str | wp.Device = "auto",
        *,
        fluid: Fluid | None = None,
        pressure: float = 0.0,
        threads: int = 1,
    ) -> None:
        crew = Crew(choose_device(device), threads)
        super().__init__(cavity.triangles, crew.device)
        volume = cavity.check(rest)
        self.cavity, self.fluid, self.crew = cavity, fluid, crew
        points = self._points = cavity.points(rest)
        self._origin = wp.vec3d(*points.mean(axis=0).tolist())
        self._triangles = wp.array(cavity.triangles, dtype=wp.int32, device=crew.device)
        self.pressure = wp.zeros(1, dtype=wp.float64, device=crew.device)
        self.set_pressure(pressure)
        warn_of_pressure(cavity.name, [pressure], stacklevel=2)
        self._share = 1.0
        self._pulled: list[tuple[int, Any]] = []
        self._finder: FluidLevel | None = None
        self.level = wp.zeros(1, dtype=wp.float64, device=crew.device)
        if fluid is not None:
            fluid.check(points, volume)
            self._finder = FluidLevel(cavity, fluid, device=crew.device)
            self.level = self._finder.height
            self._fill(fluid)
        self._commands = {wanted: self._command(wanted) for wanted in (False, True)}

    def set_pressure(self, pressure: float) -> None:
        """Another pressure of the pump [Pa]; negative for suction."""
        if not np.isfinite(pressure):
            raise InvalidValue(
                f"pressure of {self.cavity.name} = {pressure!r} cannot be used; give a finite number [Pa]."
            )
        self.pressure.fill_(float(pressure))

    def maker(self) -> Maker:
        """What makes another one with the pressure of now."""
        given, options = self.made_of
        return Maker(type(self), *given, **{**options, "pressure": float(self.pressure.numpy()[0])})

    def pull(self, fluid: Fluid) -> None:
        """Go on with the same fluid under another gravity."""
        if self._finder is None:
            raise InvalidValue(f"{self.cavity.name} holds air, which no gravity pulls; give it a fluid.")
        self.fluid = fluid
        self._finder.pull(fluid)
        self._fill(fluid)
        self._pulled = list(enumerate(self._weighing(), start=2))

    def evaluate(self, positions: wp.array[Any], *, tangent: bool = True) -> None:
        """Energy, forces and tangent at these positions.

        Where the volume of the fluid is given, the level is found first. The tangent then is that at a fixed level;
        `level_coupling` tells what the change of the level adds.
        """
        if self._finder is not None:
            self._finder.evaluate(positions)
        self._commands[tangent](*self._pulled, (5, wp.float64(self._share)), (10, positions))

    def ramp(self, fraction: float) -> None:
        """Press and weigh only this part, between 0 and 1."""
        self._share = fraction

    def level_coupling(self, positions: wp.array[Any]) -> tuple[float, Floats]:
        """Factor c [N/m⁵] and slope b [m²], shape [n, 3], of c b bᵀ, which a given volume of fluid adds to the tangent.

        When the walls move, a given volume of fluid changes its level: δL = -b·δx / A, with A the area of the surface
        and b the slope of the wet volume at a fixed level. The slope is that of the cavity's own nodes. On the host.
        """
        nodes = len(self.cavity.nodes)
        if self.fluid is None or self.fluid.volume is None or self._finder is None:
            return 0.0, np.zeros((nodes, 3))
        self._finder.evaluate(positions)
        first, corner = (wp.array(part, dtype=wp.int32, device=self.device) for part in self.cavity.corners)
        slope = wp.zeros(nodes, dtype=wp.vec3d, device=self.device)
        arguments = [self._triangles, first, corner, wp.vec3d(*self.fluid.up.tolist()), self.level, positions, slope]
        wp.launch(level_slope, nodes, arguments, device=self.device)
        area = float(self._finder.area.numpy()[0])
        return (self.fluid.specific_weight / area if area > 0.0 else 0.0), slope.numpy()

    def _command(self, wanted: bool) -> Command:
        clip = int(self.fluid is not None and not self.fluid.full)
        nowhere = wp.zeros(0, dtype=wp.vec3d, device=self.device)
        state: list[Any] = [self.pressure, self.level, nowhere, self.energy, self.forces, self.tangent]
        share = wp.float64(1.0)
        arguments = [self._triangles, self._origin, *self._weighing(), share, clip, int(wanted), *state]
        return self.crew.command(press, self.element_count, arguments)

    def _weighing(self) -> tuple[wp.vec3d, wp.float64, wp.float64]:
        """Upward direction, specific weight [N/m³] and potential that a given volume has [J]."""
        fluid = self.fluid
        up = wp.vec3d(*(fluid.up.tolist() if fluid else (0.0, 0.0, 1.0)))
        weight = wp.float64(fluid.specific_weight if fluid else 0.0)
        held = wp.float64(fluid.specific_weight * (fluid.volume or 0.0) / self.element_count if fluid else 0.0)
        return up, weight, held

    def _fill(self, fluid: Fluid) -> None:
        """Put the datum of a full cavity where it belongs."""
        if fluid.full:
            highest = float((self._points @ fluid.up).max())
            self.level.fill_(highest if fluid.datum is None else fluid.datum)


class CavityVolume:
    """Volume of a cavity and its slope, on the device.

    Args:
        cavity: The cavity.
        rest: Positions of all nodes of the solid [m], shape [n, 3].
        device: Where it is computed.

    Attributes:
        volume: Volume [m³], float64 of shape [1].
        slope: ∂V/∂x of the cavity's own nodes [m²], vec3d of shape [n]: the direction of the pressure, J_p.
    """

    def __init__(self, cavity: Cavity, rest: Floats, device: str | wp.Device = "auto") -> None:
        cavity.check(rest)
        self.cavity, self.device = cavity, choose_device(device)
        device = self.device
        self.volume = wp.zeros(1, dtype=wp.float64, device=device)
        self.slope = wp.zeros(len(cavity.nodes), dtype=wp.vec3d, device=device)
        self._origin = wp.vec3d(*cavity.points(rest).mean(axis=0).tolist())
        self._triangles = wp.array(cavity.triangles, dtype=wp.int32, device=device)
        self._corners = [wp.array(part, dtype=wp.int32, device=device) for part in cavity.corners]
        self._replays = Replays(device, kept=1)

    def evaluate(self, positions: wp.array[Any]) -> None:
        """Fill `volume` and `slope`, without waiting for the device.

        Args:
            positions: Positions of all nodes of the solid [m], vec3d of shape [n].
        """
        self._replays.run(lambda: self._stages(positions), positions)

    def _stages(self, positions: wp.array[Any]) -> list[Stage]:
        return [
            Stage(measure_volume, None, [self._triangles, self._origin, positions, self.volume]),
            Stage(volume_slope, len(self.slope), [self._triangles, *self._corners, positions, self.slope]),
        ]
