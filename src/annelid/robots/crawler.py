"""A soft crawler: cavities in a row over a sheet that does not stretch, filled one after the other.

After the undulation of Shepherd et al. 2011, "Multigait soft robot" (doi:10.1073/pnas.1116564108): pneu-nets in a row
are filled and emptied from the rear to the front. Each bends the robot towards its sheet, an arch that runs forwards
under the body; where it stands the robot is shorter, so that what lies behind it is drawn along. Friction is that of
Coulomb, the same in all directions: weight, which rests on the ends of the arch, decides what sticks.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from annelid import fem
from annelid.core.described import Described, listed
from annelid.core.options import spelled_out
from annelid.core.simulation import Simulation
from annelid.materials import Material
from annelid.robots.finger import finger_mesh
from annelid.shapes import Obstacle, Surface
from annelid.shapes.values import require_count, require_positive

_SHEET = 1e9, 1e-4  # Young's modulus [Pa] and thickness [m]


@dataclass(frozen=True, eq=False, repr=False)
class Crawler(Described):
    """A crawler along x, its rear at x = 0; made by `crawler`.

    Attributes:
        solid: The body; nothing holds it.
        actuators: Air in its cavities, from the rear to the front: "air-0", "air-1"...
        pressure: Highest pressure [Pa].
        period: Duration of a cycle [s].
    """

    solid: fem.Solid
    actuators: tuple[fem.Pneumatic, ...]
    pressure: float
    period: float

    def facts(self) -> dict[str, str]:
        """Size, actuators, pressure and period."""
        return {
            "nodes": str(self.solid.node_count),
            "actuators": listed(each.name for each in self.actuators),
            "pressure": f"{self.pressure:.4g} Pa",
            "period": f"{self.period:.4g} s",
        }

    def gait(self, time: float, readings: Any = None) -> np.ndarray:
        """Pressures at a time [s], shape [cavities]: each is filled while the one behind it is emptied, then rest."""
        count = len(self.actuators)
        phase = np.mod(time / self.period * (count + 1) - np.arange(count), count + 1)
        return np.where(phase < 2.0, self.pressure * np.sin(0.5 * math.pi * phase) ** 2, 0.0)

    def simulation(self, obstacles: Sequence[Obstacle], *, dt: float = 0.01, **options: Any) -> Simulation[fem.Solver]:
        """The crawler among obstacles, in motion; options are those of `fem.simulation`, `gait` is not connected."""
        return fem.simulation(self.solid, obstacles=obstacles, actuators=self.actuators, dt=dt, **options)


@spelled_out("a crawler")
def crawler(
    *,
    segments: int = 3,
    chambers: int = 3,
    length: float = 0.15,
    width: float = 0.03,
    thickness: float = 0.02,
    silicone: str | Material = "dragon-skin-10/yeoh",
    friction: float = 0.6,
    pressure: float = 14e3,
    period: float = 0.8,
    height: float = 0.0,
) -> Crawler:
    """A crawler that lies on its sheet.

    Args:
        segments: Number of cavities with a pressure each.
        chambers: Number of chambers of a cavity.
        length: Along x [m].
        width: Along y [m].
        thickness: Along z [m].
        silicone: Material.
        friction: Coulomb friction of its surface.
        pressure: Highest pressure [Pa].
        period: Duration of a cycle of its gait [s].
        height: Height of its underside [m].
    """
    number = require_count("segments", segments, least=2, most=20)
    chambers = require_count("chambers", chambers, least=1, most=100)
    width, thickness = require_positive("width", width), require_positive("thickness", thickness)
    mesh = finger_mesh(
        length=length, width=width, height=thickness, chambers=number * chambers, segments=number,
        channel=(0.3 * width, 0.2 * thickness), arch=0.0,
    )  # fmt: skip
    solid = fem.Solid(mesh.moved((0.0, 0.0, height)), silicone, surface=Surface(friction=friction))
    below = mesh.nodes[:, 2] < 1e-9
    solid.reinforce(fem.Fabric(below, modulus=_SHEET[0], thickness=_SHEET[1], name="sheet"))
    solid.group("sheet", below)
    highest = require_positive("pressure", pressure)
    order = np.argsort([mesh.nodes[np.unique(cavity), 0].mean() for cavity in mesh.cavities()])
    air = tuple(fem.Pneumatic(name=f"air-{k}", cavity=int(n), pressure=(0.0, highest)) for k, n in enumerate(order))
    return Crawler(solid, air, highest, require_positive("period", period))
