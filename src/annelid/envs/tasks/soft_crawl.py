"""Crawling of a soft tube: an action is the pressures of its chambers; reward: distance travelled along x."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from annelid import control, fem
from annelid.core.distributions import Uniform
from annelid.core.parameters import documented, parameter
from annelid.core.simulation import Simulation
from annelid.envs.task import Task
from annelid.robots.tubes import tube_materials, tube_mesh
from annelid.shapes import Surface, ground

_WIDTH, _THICKNESS, _WALL = 0.03, 0.016, 2e-3  # [m]
_MODULI = 70e3, 1e6  # of sides and plates [Pa]
_REACH, _STIFFNESS = 2e-3, 3e3  # of contacts [m], [N/m]
_CLEARANCE = 0.97 * _REACH  # of the underside
_FILLING, _DAMPING = 0.1, 2.0  # time in which a chamber can be filled [s], damping of velocities [1/s]


@documented
class SoftCrawl(Task):
    """Crawl along x on ground that rubs alike in all directions, by bending chambers of a tube in turn.

    Friction and the stiffness of the tube differ from episode to episode. All worlds are stepped together.
    """

    seconds = 3.0
    every = 1.0 / 30.0
    chambers: int = parameter(
        5,
        "Chambers in a row, each with a pressure; the tube has 32 nodes for each of them and 32 more.",
        limits=(1, 100),
    )
    length: float = parameter(0.15, "Length of the tube [m].", unit="m", limits=(0.01, 10.0))
    pressure: float = parameter(16e3, "Highest pressure [Pa].", unit="Pa", limits=(1.0, 20e3))
    friction: float = parameter(0.8, "Coulomb friction of tube and ground.", limits=(0.0, 10.0))
    dt: float = parameter(1.0 / 120.0, "Time step [s].", unit="s", limits=(1e-4, 0.05))
    newtons: int = parameter(4, "Iterations of Newton's method in a step.")
    gradients: int = parameter(8, "Iterations of conjugate gradients in each of them, at most.")

    randomise: ClassVar[Mapping[str, Any]] = {"friction": Uniform(0.7, 1.2), "stiffness": Uniform(0.9, 1.1)}
    observed: ClassVar[Mapping[str, str]] = {
        "commanded": "pressure asked of each chamber along x, from −1 to 1",
        "place": "place of the middle of the tube, x, y, z [m]",
        "velocity": "its velocity, x, y, z [m/s]",
        "turn": "how it is turned, a quaternion x, y, z, w",
        "parts": "place of the middle of each chamber, x, y, z [m]",
        "touch": "force of the ground on each chamber, x, y, z [N]",
    }

    def build(self, *, worlds: int, device: Any, threads: int | None) -> Simulation[fem.Solver]:
        """The tube on its stiffer side, chamber by chamber from the rear to the front."""
        mesh = tube_mesh(self.length, _WIDTH, _THICKNESS, _WALL, self.chambers).moved((0.0, 0.0, _CLEARANCE))
        solid = fem.Solid(mesh, tube_materials(*_MODULI), surface=Surface(friction=self.friction))
        owner = np.clip((mesh.nodes[:, 0] / self.length * self.chambers).astype(int), 0, self.chambers - 1)
        limits, rate = (0.0, self.pressure), self.pressure / _FILLING
        order = np.argsort([mesh.nodes[np.unique(cavity), 0].mean() for cavity in mesh.cavities()])
        air = [
            fem.Pneumatic(name=f"air-{k}", cavity=int(number), pressure=limits, pressure_rate=rate)
            for k, number in enumerate(order)
        ]
        simulation = fem.simulation(
            solid, obstacles=[ground(self.friction)], actuators=air, dt=self.dt, velocity_damping=_DAMPING,
            contact=fem.Contact(itself=False, reach=_REACH, stiffness=_STIFFNESS), worlds=worlds, device=device,
            together=fem.Together(newtons=self.newtons, gradients=self.gradients), threads=threads,
        )  # fmt: skip
        sensors, parts = simulation.sensors, [np.flatnonzero(owner == k) for k in range(self.chambers)]
        sensors.add("commanded", control.commanded())
        sensors.add("place", fem.position_of())
        sensors.add("velocity", fem.velocity_of())
        sensors.add("turn", fem.orientation_of())
        sensors.add("parts", [fem.position_of(part) for part in parts])
        sensors.add("touch", [fem.contact_force_on(part) for part in parts])
        return simulation

    def reward(self, now: Mapping[str, Any], before: Mapping[str, Any], actions: Any) -> Any:
        """Way of the middle along x [lengths of the tube]."""
        return (now["place"][:, 0] - before["place"][:, 0]) / self.length
