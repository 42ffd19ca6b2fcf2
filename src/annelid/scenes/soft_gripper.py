"""A hand of pneumatic fingers closes on a thing and lifts it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from annelid import fem
from annelid.core.measurement import Measurement
from annelid.core.parameters import Checked, parameter
from annelid.core.simulation import Simulation
from annelid.robots import things
from annelid.robots.soft_gripper import gripper
from annelid.shapes import Path, ground

_CLOSING, _BEGIN, _RISING = 0.4, 0.5, 0.4  # how long fingers close; when the hand begins to rise, and how long [s]
_STAND_OFF = 1.2e-3  # a little more than the gap at which contact begins [m]


def lifting(height: float, *, begin: float = _BEGIN, duration: float = _RISING) -> Path:
    """A path that rises smoothly by a height [m], from a time on and for some time [s]."""

    def path(times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        part = np.clip((times - begin) / duration, 0.0, 1.0)
        rise = height * part**2 * (3.0 - 2.0 * part)
        return np.outer(rise, (0.0, 0.0, 1.0)), np.tile((0.0, 0.0, 0.0, 1.0), (len(times), 1))

    return path


@dataclass(frozen=True)
class SoftGripper(Checked):
    """Fingers of silicone curl around a ball, a box or a mug as air fills them, and are lifted with it."""

    name: ClassVar[str] = "soft-gripper"
    duration: ClassVar[float] = 1.1

    thing: Literal["ball", "box", "mug"] = parameter("ball", "What is grasped")
    size: float = parameter(0.05, "Width of the thing", unit="m", range=(0.04, 0.06), limits=(0.02, 0.08))
    mass: float = parameter(0.05, "Mass of the thing", unit="kg", range=(0.01, 0.2), limits=(1e-3, 10.0))
    friction: float = parameter(0.8, "Coulomb friction of fingers and thing", range=(0.0, 1.5), limits=(0.0, 10.0))
    pressure: float = parameter(16e3, "Pressure in the fingers", unit="Pa", range=(0.0, 18e3), limits=(0.0, 30e3))
    lift: float = parameter(0.05, "Height of the lift", unit="m", range=(0.0, 0.1), limits=(0.0, 1.0))
    fingers: int = parameter(3, "Number of fingers", range=(2, 4), limits=(2, 6))
    material: str = parameter("dragon-skin-10/yeoh", "Material of the fingers")

    def build(self, *, device: str = "auto", threads: int | None = None) -> Simulation[fem.Solver]:
        """The open hand above the thing; air and lift are on their way from the beginning."""
        hand = gripper(
            fingers=self.fingers, opening=0.5 * self.size + 0.005, silicone=self.material, friction=self.friction,
            pressure=30e3, motion=lifting(self.lift),
        )  # fmt: skip
        held = things.thing(self.thing, size=self.size, mass=self.mass, friction=self.friction, clearance=_STAND_OFF)
        simulation = hand.simulation([ground(0.6), held], device=device, threads=threads)
        simulation.controls.command({"air": self.pressure}, ramp=_CLOSING)
        simulation.sensors.add("object", fem.obstacle_position("object"))
        simulation.sensors.add("grip", fem.contact_force_of("object"))
        return simulation

    def measure(self, simulation: Simulation[fem.Solver]) -> list[Measurement]:
        """How far the thing has risen, how far it lags behind the hand, and how hard it is held."""
        state, contacts = simulation.state, simulation.solver.contacts
        assert contacts is not None
        steps = max(int(state.clock.numpy()[0]), 1)
        first = contacts.first_state().places.numpy()[1]
        rise = float(state.touch.places.numpy()[1, 2] - first[2])
        hand = float(lifting(self.lift)(np.array([simulation.time]))[0][0, 2])
        forces = simulation.solver.readout.contact_forces(state)[:, 1]
        return [
            Measurement("risen", rise, "m"),
            Measurement("behind-the-hand", hand - rise, "m"),
            Measurement("held", float(hand > 0.0 and rise > 0.5 * hand)),
            Measurement("carried", -float(forces[:, 2].sum()), "N"),
            Measurement("squeezed", float(np.linalg.norm(forces, axis=1).sum()), "N"),
            Measurement("nodes", float(simulation.solver.model.node_count)),
            Measurement("steps-cut", float(state.touch.cut.numpy()[0]) / steps),
            Measurement("unsettled", float(state.unsettled.numpy()[0]) / steps),
        ]
