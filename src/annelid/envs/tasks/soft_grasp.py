"""Grasping with soft fingers: an action is their pressures and the height of the hand; reward: a ball they lift."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import warp as wp

from annelid import control, fem
from annelid.core.distributions import LogUniform, Uniform
from annelid.core.parameters import documented, parameter
from annelid.core.simulation import Simulation
from annelid.envs.hooks import Batch, each_world
from annelid.envs.kernels import grasp as kernels
from annelid.envs.task import Task
from annelid.robots.tube_hand import tube_hand
from annelid.shapes import Rigid, Sphere, Surface, ground
from annelid.view.camera.camera import Camera

_OPENING = 0.036  # of the fingers from the axis [m]
_ABOVE = 0.01  # of the finger tips above the ground where the hand is lowest [m]
_LENGTH = 0.08  # of a finger [m]
_MODULI = 140e3, 2e6  # of tubes and plates [Pa]
_REACH, _STIFFNESS = 3e-3, 4e3  # of contacts [m], [N/m]: fingers of few nodes meet round objects
_CLEARANCE = 0.97 * _REACH  # of an object on the ground: it is carried there
_FIRM = 0.1  # [N]
_FAR = 0.06  # of the tips from the ball [m]
_SHARE = 0.1  # of the reward that tips near the ball are worth, and that a firm touch is
_SPEED, _FILLING = 0.2, 0.2  # of the hand [m/s], and how long fingers take to fill at least [s]
_DAMPING = 5.0  # of velocities [1/s]


@documented
class SoftGrasp(Task):
    """Lift a ball from the ground with soft fingers, and hold it until the episode ends.

    Size, mass and friction of the ball, the stiffness of the fingers and where it lies differ from episode to episode.
    All worlds are stepped together, on a CPU too, where a world costs a tenth of a second a step.
    """

    seconds = 2.5
    every = 1.0 / 30.0
    fingers: int = parameter(2, "Number of fingers.", limits=(2, 8))
    chambers: int = parameter(
        5, "Chambers of a finger, which has 32 nodes for each of them and 32 more.", limits=(1, 100)
    )
    pressure: float = parameter(60e3, "Highest pressure [Pa].", unit="Pa", limits=(1.0, 80e3))
    lift: float = parameter(0.06, "How far the hand goes up and down [m].", unit="m", limits=(0.01, 1.0))
    radius: float = parameter(0.025, "Radius of the ball [m].", unit="m", limits=(0.015, 0.025))
    mass: float = parameter(0.02, "Its mass [kg].", unit="kg", limits=(1e-3, 1.0))
    friction: float = parameter(0.8, "Coulomb friction of fingers and ball.", limits=(0.0, 10.0))
    spread: float = parameter(
        2e-3, "How far the ball lies from the middle, at most, along x and y [m].", unit="m", limits=(0.0, 2e-3)
    )
    dt: float = parameter(1.0 / 120.0, "Time step [s].", unit="s", limits=(1e-4, 0.05))
    newtons: int = parameter(3, "Iterations of Newton's method in a step.")
    gradients: int = parameter(8, "Iterations of conjugate gradients in each of them, at most.")

    arrays = "warp"
    randomise: ClassVar[Mapping[str, Any]] = {
        "body_size": Uniform(0.9, 1.15),
        "body_mass": LogUniform(0.5, 2.0),
        "friction": Uniform(0.6, 1.2),
        "stiffness": Uniform(0.9, 1.1),
    }
    observed: ClassVar[Mapping[str, str]] = {
        "commanded": "pressure asked of each finger and height asked of the hand, from −1 to 1",
        "height": "travel of the hand from its highest place [m]",
        "object": "place of the ball, x, y, z [m]",
        "velocity": "its velocity, x, y, z [m/s]",
        "tips": "place of the tip of each finger, x, y, z [m]",
        "touch": "force of the ball on each finger, x, y, z [N]",
    }
    told: ClassVar[Mapping[str, str]] = {
        "rise": "how far the ball is above where it lay [m]",
        "success": "1 where that is half of how far the hand goes, or more",
    }

    def build(self, *, worlds: int, device: Any, threads: int | None) -> Simulation[fem.Solver]:
        """The hand above the ball, whose upper ends a slide moves."""
        top = self.lift + _ABOVE + _LENGTH
        hand = tube_hand(
            fingers=self.fingers, chambers=self.chambers, opening=_OPENING, height=top, length=_LENGTH,
            moduli=_MODULI, friction=self.friction, pressure=self.pressure, pressure_rate=self.pressure / _FILLING,
        )  # fmt: skip
        ball = Rigid(
            Sphere(self.radius), Surface(friction=self.friction), motion="free", mass=self.mass, name="object",
            position=(0.0, 0.0, self.radius + _CLEARANCE), color=(0.35, 0.5, 0.75),
        )  # fmt: skip
        held = hand.solid.held.all(axis=1)
        slide = fem.Slide(
            name="hand", where=held, direction=(0.0, 0.0, 1.0), travel=(-self.lift, 0.0), travel_rate=_SPEED
        )
        simulation = fem.simulation(
            hand.solid, obstacles=[ground(self.friction), ball], actuators=[*hand.actuators, slide], dt=self.dt,
            contact=fem.Contact(itself=False, reach=_REACH, stiffness=_STIFFNESS), velocity_damping=_DAMPING,
            together=fem.Together(newtons=self.newtons, gradients=self.gradients), worlds=worlds, device=device,
            threads=threads,
        )  # fmt: skip
        sensors, numbers = simulation.sensors, range(self.fingers)
        sensors.add("commanded", control.commanded())
        sensors.add("height", fem.effort_of("hand"))
        sensors.add("object", fem.obstacle_position("object"))
        sensors.add("velocity", fem.obstacle_velocity("object"))
        sensors.add("tips", [fem.position_of(f"tip-{k}") for k in numbers])
        sensors.add("touch", [fem.contact_force_on(f"finger-{k}", obstacle="object") for k in numbers])
        return simulation

    def prepare(self, worlds: Batch) -> Any:
        """Room for where balls lie, and how far they have risen."""
        kinds = {"places": wp.vec3d, "turns": wp.quatd, "rises": wp.float64}
        return SimpleNamespace(
            **{name: wp.zeros(worlds.count, dtype=kind, device=worlds.device) for name, kind in kinds.items()}
        )

    def reset(self, worlds: Batch, mask: wp.array[Any]) -> None:
        """Lay the ball on the ground, as large as it is, away from the middle."""
        own, radius = worlds.own, wp.float64(self.radius)
        drawn = worlds.uniform(2, -1.0, 1.0)
        inputs = [radius, wp.float64(_CLEARANCE), wp.float64(self.spread), *_sizes(worlds), drawn]
        wp.launch(kernels.lay_objects, worlds.count, inputs, [own.places, own.turns], device=worlds.device)
        worlds.simulation.solver.place(worlds.state, "object", own.places, own.turns, mask)

    def measure(self, worlds: Batch) -> Mapping[str, wp.array[Any]]:
        """How far the ball is above where it lay [m]."""
        contacts = worlds.simulation.solver.contacts
        where = [contacts.number_of("object"), len(contacts.rigids), worlds.state.touch.places]
        inputs = [wp.float64(self.radius), wp.float64(_CLEARANCE), *_sizes(worlds), *where]
        wp.launch(kernels.find_rises, worlds.count, inputs, [worlds.own.rises], device=worlds.device)
        return {"rise": worlds.own.rises}

    def reward(self, now: Mapping[str, Any], before: Mapping[str, Any], actions: Any) -> Any:
        """How far the ball is lifted, of half of what the hand goes, and a little for tips near it that touch it.

        Summed over an episode it is 1 at most.
        """
        seen = [now[name] for name in ("rise", "object", "tips", "touch")]
        numbers = [wp.float64(0.5 * self.lift), _FAR, _FIRM, _SHARE, self.seconds / self.every]
        return each_world(kernels.judge_grasp, [*seen, *numbers])

    def info(self, worlds: Batch) -> dict[str, np.ndarray]:
        """How far balls have risen, and whether that is enough."""
        rises = worlds.now["rise"].numpy()
        return {"rise": rises, "success": (rises > 0.5 * self.lift).astype(float)}

    @property
    def camera(self) -> Camera:
        """A view of hand and ball."""
        return Camera((0.12, -0.32, 0.16), (0.0, 0.0, 0.07))


def _sizes(worlds: Batch) -> list[Any]:
    """Where kernels find the size of the ball of each world: a column, how many there are, and values."""
    names, values = [each.name for each in worlds.simulation.solver.parameters], worlds.state.variation.values
    return [names.index("body_size"), len(values) // worlds.count, values]
