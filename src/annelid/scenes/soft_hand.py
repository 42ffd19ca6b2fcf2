"""A light hand of soft tubes over a thing, to be played with: sliders squeeze and lift, the mouse drags the thing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from annelid import control, fem
from annelid.core.measurement import Measurement
from annelid.core.parameters import Checked, parameter
from annelid.core.simulation import Simulation
from annelid.materials import Material, material
from annelid.robots import things
from annelid.robots.tube_hand import tube_hand
from annelid.shapes import Rigid, TetMesh, ground

_DT = 1.0 / 60.0
_CHAMBERS = 5
_REACH, _STIFFNESS = 3e-3, 4e3  # of contacts [m], [N/m]: fingers of few nodes meet round things
_SOFTER = 1e3  # of contacts of a soft thing with fingers [N/m]
_EGG = "ecoflex-00-30/neo-hooke"
_BESIDE = 8e-3  # from a thing to the fingers [m]
_HIGHEST, _TRAVEL = 40e3, 0.1  # pressure [Pa], and travel of the hand [m]
_CLOSING, _BEGIN, _RISING = 0.4, 0.5, 0.4  # how long fingers close; when the hand begins to rise, and how long [s]


@dataclass(frozen=True)
class SoftHand(Checked):
    """Fingers of few nodes close on a thing and lift it, by themselves or as sliders say; the thing can be dragged."""

    name: ClassVar[str] = "soft-hand"
    duration: ClassVar[float] = 1.1

    thing: Literal["ball", "box", "mug", "egg"] = parameter("ball", "What is grasped")
    size: float = parameter(0.05, "Width of the thing", unit="m", range=(0.04, 0.05), limits=(0.02, 0.06))
    mass: float = parameter(0.04, "Mass of the thing", unit="kg", range=(0.01, 0.1), limits=(1e-3, 10.0))
    friction: float = parameter(0.8, "Coulomb friction of fingers and thing", range=(0.0, 1.5), limits=(0.0, 10.0))
    pressure: float = parameter(24e3, "Pressure in the fingers", unit="Pa", range=(0.0, 30e3), limits=(0.0, _HIGHEST))
    lift: float = parameter(0.05, "Height of the lift", unit="m", range=(0.0, 0.1), limits=(0.0, _TRAVEL))
    fingers: int = parameter(4, "Number of fingers", range=(2, 4), limits=(2, 6))
    by_hand: bool = parameter(False, "Whether sliders command the hand from the beginning", live=True)

    def build(self, *, device: str = "auto", threads: int | None = None) -> Simulation[fem.Solver]:
        """The open hand above the thing, which closes and rises unless that is left to sliders."""
        hand = tube_hand(
            fingers=self.fingers, chambers=_CHAMBERS, opening=0.5 * self.size + _BESIDE, friction=self.friction,
            pressure=_HIGHEST, soft_thing=self._egg() if self.thing == "egg" else None,
        )  # fmt: skip
        held = hand.solid.held.all(axis=1)
        lift = fem.Slide(name="lift", where=held, direction=(0.0, 0.0, 1.0), travel=(0.0, _TRAVEL), travel_rate=0.3)
        soft = self.thing == "egg"
        simulation = fem.simulation(
            hand.solid, obstacles=[ground(0.6), *self._rigid()], actuators=[*hand.actuators, lift],
            contact=fem.Contact(itself=soft, reach=_REACH, stiffness=_SOFTER if soft else _STIFFNESS),
            velocity_damping=5.0, dt=_DT, device=device, threads=threads,
        )  # fmt: skip
        simulation.sensors.add("object", fem.position_of("object") if soft else fem.obstacle_position("object"))
        if not soft:
            simulation.sensors.add("grip", fem.contact_force_of("object"))
        attached = simulation.attachments
        attached["by-hand"] = self.by_hand
        control.connect(simulation, self.script, every=_DT, sensors=[], unless=lambda: bool(attached["by-hand"]))
        return simulation

    def _rigid(self) -> list[Rigid]:
        """The thing, if it is rigid."""
        if self.thing == "egg":
            return []
        return [things.thing(self.thing, size=self.size, mass=self.mass, friction=self.friction, clearance=_REACH)]

    def _egg(self) -> tuple[TetMesh, Material]:
        """The thing, if it is soft: a mesh and its material."""
        mesh = things.egg_mesh(self.size, clearance=_REACH)
        return mesh, material(_EGG).with_(density=self.mass / mesh.volume)

    def script(self, time: float, readings: Any = None) -> np.ndarray:
        """Pressures of the fingers [Pa] and height of the hand [m] at a time [s]."""
        filled, risen = (np.clip(part, 0.0, 1.0) for part in (time / _CLOSING, (time - _BEGIN) / _RISING))
        height = self.lift * risen**2 * (3.0 - 2.0 * risen)
        return np.array([self.pressure * filled] * self.fingers + [height])

    def adjust(self, simulation: Simulation[fem.Solver], name: str, value: Any) -> None:
        """Take the hand from its script, or give it back."""
        simulation.attachments["by-hand"] = value

    def status(self, simulation: Simulation[fem.Solver]) -> str:
        """What can be done."""
        return "sliders squeeze and lift" if simulation.attachments["by-hand"] else "by hand: take the sliders"

    def measure(self, simulation: Simulation[fem.Solver]) -> list[Measurement]:
        """How far the thing has risen, how far it lags behind the hand, and how hard it is held."""
        state, readout = simulation.state, simulation.solver.readout
        steps = max(int(state.clock.numpy()[0]), 1)
        if self.thing == "egg":
            egg = simulation.solver.model.solid.groups["object"]
            forces = readout.own_forces(state)[egg]
            now, first = simulation.positions()[egg], simulation.solver.model.solid.nodes[egg]
            rise = float((now - first)[:, 2].mean())
        else:
            assert simulation.solver.contacts is not None
            forces, first = readout.contact_forces(state)[:, 1], simulation.solver.contacts.first_state().places.numpy()
            rise = float((state.touch.places.numpy() - first)[1, 2])
        hand = float(simulation.controls["lift"][0])
        return [
            Measurement("risen", rise, "m"),
            Measurement("behind-the-hand", hand - rise, "m"),
            Measurement("held", float(hand > 0.0 and rise > 0.5 * hand)),
            Measurement("squeezed", float(np.linalg.norm(forces, axis=1).sum()), "N"),
            Measurement("nodes", float(simulation.solver.model.node_count)),
            Measurement("steps-cut", float(state.touch.cut.numpy()[0]) / steps),
            Measurement("unsettled", float(state.unsettled.numpy()[0]) / steps),
        ]
