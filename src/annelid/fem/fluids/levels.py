"""The level of a fluid in a cavity: given, or found from the volume of the fluid, on the device and on the host."""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from annelid.core.device import device as choose_device
from annelid.core.errors import InvalidValue
from annelid.core.replay import Replays, Stage
from annelid.fem.fluids.cavity import Cavity
from annelid.fem.fluids.fluid import Fluid
from annelid.fem.kernels.levels import find_level


class FluidLevel:
    """The height of a fluid's surface, kept on the device.

    Where the volume of the fluid is given, the level is the root of V(level) = volume by Newton's method, kept inside
    a bracket that only shrinks; V rises with the level by the area of the surface, so there is one root.

    Args:
        cavity: The cavity.
        fluid: What fills it.
        device: Where to compute.

    Attributes:
        height: Height of the surface above the origin, against gravity [m], float64 of shape [1], on the device; not
            used where the fluid fills the cavity.
        area: Area of the surface [m²], float64 of shape [1], on the device; 0 unless the volume is given.
    """

    def __init__(self, cavity: Cavity, fluid: Fluid, *, device: str | wp.Device = "auto") -> None:
        self.cavity, self.fluid, self.device = cavity, fluid, choose_device(device)
        self.height = wp.array([fluid.level or 0.0], dtype=wp.float64, device=self.device)
        self.area = wp.zeros(1, dtype=wp.float64, device=self.device)
        self._triangles = wp.array(cavity.triangles, dtype=wp.int32, device=self.device)
        self._replays = Replays(self.device, kept=1)

    def set(self, height: float) -> None:
        """Another level [m], for a fluid whose level is given."""
        if self.fluid.level is None:
            raise InvalidValue("this fluid has no level of its own to set; give Fluid a level.")
        if not np.isfinite(height):
            raise InvalidValue(f"level of the fluid = {height!r} cannot be used; give a finite height [m].")
        self.height.fill_(float(height))

    def pull(self, fluid: Fluid) -> None:
        """Go on with the same fluid under another gravity."""
        self.fluid = fluid

    def evaluate(self, positions: wp.array[Any]) -> None:
        """Find the level, without waiting for the device.

        Args:
            positions: Positions of all nodes of the solid [m], vec3d of shape [n], on the same device.
        """
        self._replays.run(lambda: self.stages(positions), positions, name=self.fluid.gravity)

    def stages(self, positions: wp.array[Any]) -> list[Stage]:
        """The launches that find the level; none where it is known."""
        if self.fluid.volume is None:
            return []
        up, volume = wp.vec3d(*self.fluid.up.tolist()), wp.float64(self.fluid.volume)
        return [Stage(find_level, None, [self._triangles, up, volume, positions, self.height, self.area])]
