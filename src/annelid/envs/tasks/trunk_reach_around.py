"""Reaching of a soft trunk round a post: an action is the pull of its cables; reward: minus the distance left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import warp as wp

from annelid import control, fem
from annelid.core.distributions import Uniform
from annelid.core.parameters import documented, parameter
from annelid.core.simulation import Simulation
from annelid.core.snapshot import Lines, Part
from annelid.envs.goals import Limits
from annelid.envs.hooks import Batch
from annelid.envs.kernels.around import stand_posts
from annelid.envs.task import Task
from annelid.materials import Material, NeoHooke
from annelid.robots.trunk import trunk_parts
from annelid.shapes import Capsule, Rigid, Surface
from annelid.view.camera.camera import Camera

_LENGTH = 0.2  # of the trunk [m]
_POISSON, _DENSITY = 0.45, 1070.0  # [-], [kg/m³]
_REACH, _STIFFNESS = 3e-3, 3e3  # of contacts [m], [N/m]
_NEAREST, _FURTHEST = (0.054, -0.035), (0.06, 0.035)  # corners of the rectangle of targets [m]
_SHARES = 0.47, 0.53  # of the way to the target where the post stands
_TALL, _TOP = 0.1, -0.187  # length of the post between its round ends, and height of its upper end [m]
_MARK = (-0.21, -0.16)  # ends of the mark of a target [m]
_FILLING, _DAMPING = 0.2, 5.0  # time in which a cable can be pulled fully [s], damping of velocities [1/s]


@documented
class TrunkReachAround(Task):
    """Bring the tip of a hanging trunk to a point behind a post, by the pull of eight cables.

    Where the trunk is pulled straight to the target, it is caught by the post. Target, post, friction and the stiffness
    of the trunk differ from episode to episode. All worlds are stepped together, on a CPU too.
    """

    seconds = 2.0
    every = 0.1
    tension: float = parameter(3.0, "Highest tension of a cable [N].", unit="N", limits=(0.1, 4.0))
    modulus: float = parameter(300e3, "Young's modulus of the silicone [Pa].", unit="Pa", limits=(200e3, 1e7))
    rings: int = parameter(
        10, "Places along the trunk where cables pass; it has 34 nodes for each of them, and 17 more.", limits=(2, 50)
    )
    post: float = parameter(0.012, "Radius of the post [m].", unit="m", limits=(1e-3, 0.013))
    aside: float = parameter(
        4e-3, "How far the post stands beside the way to the target, at most [m].", unit="m", limits=(0.0, 0.02)
    )
    friction: float = parameter(0.4, "Coulomb friction of trunk and post.", limits=(0.0, 10.0))
    near: float = parameter(
        0.01,
        "Distance of tip and target, seen from above, at which an episode is a success [m].",
        unit="m",
        limits=(1e-4, 1.0),
    )
    dt: float = parameter(1.0 / 60.0, "Time step [s].", unit="s", limits=(1e-4, 0.05))
    newtons: int = parameter(3, "Iterations of Newton's method in a step.")
    gradients: int = parameter(8, "Iterations of conjugate gradients in each of them, at most.")

    randomise: ClassVar[Mapping[str, Any]] = {"friction": Uniform(0.5, 1.5), "stiffness": Uniform(0.9, 1.1)}
    observed: ClassVar[Mapping[str, str]] = {
        "commanded": "tension asked of each cable, four to the tip and four to the middle, from −1 to 1",
        "tip": "place of the tip, x, y, z [m]",
        "velocity": "its velocity, x, y, z [m/s]",
        "post": "place of the middle of the post, x, y, z [m]",
        "touch": "force of the post on the trunk, x, y, z [N]",
        "target": "place to reach, x, y [m]",
    }
    told: ClassVar[Mapping[str, str]] = {
        "distance": "of the tip from the target, seen from above [m]",
        "success": "1 where that is `near` or less",
    }

    def goals(self) -> Limits:
        """A place on one side of the trunk."""
        return {"target": (_NEAREST, _FURTHEST)}

    def build(self, *, worlds: int, device: Any, threads: int | None) -> Simulation[fem.Solver]:
        """The trunk, hanging beside the post."""
        surface = Surface(friction=self.friction)
        law = NeoHooke(self.modulus / (2.0 + 2.0 * _POISSON))
        silicone = Material.hyperelastic("trunk", law, density=_DENSITY, poisson_ratio=_POISSON)
        solid, cables = trunk_parts(
            tension=self.tension, tension_rate=self.tension / _FILLING, length=_LENGTH, layers=2 * self.rings,
            silicone=silicone, surface=surface,
        )  # fmt: skip
        solid.group("tip", np.flatnonzero(solid.nodes[:, 2] < -_LENGTH + 1e-9))
        x = 0.5 * sum(_SHARES) * _NEAREST[0]
        post = Rigid(
            Capsule(self.post, _TALL, axis="z"), surface, position=(x, 0.0, self._middle), name="post",
            color=(0.55, 0.55, 0.6),
        )  # fmt: skip
        simulation = fem.simulation(
            solid, obstacles=[post], actuators=cables, dt=self.dt, velocity_damping=_DAMPING,
            contact=fem.Contact(itself=False, reach=_REACH, stiffness=_STIFFNESS), worlds=worlds, device=device,
            together=fem.Together(newtons=self.newtons, gradients=self.gradients), threads=threads,
        )  # fmt: skip
        sensors = simulation.sensors
        sensors.add("commanded", control.commanded())
        sensors.add("tip", fem.position_of("tip"))
        sensors.add("velocity", fem.velocity_of("tip"))
        sensors.add("post", fem.obstacle_position("post"))
        sensors.add("touch", fem.contact_force_on(obstacle="post"))
        return simulation

    @property
    def _middle(self) -> float:
        """Height of the middle of the post [m]."""
        return _TOP - self.post - 0.5 * _TALL

    def prepare(self, worlds: Batch) -> Any:
        """Room for where posts stand."""
        kinds = {"places": wp.vec3d, "turns": wp.quatd}
        return SimpleNamespace(
            **{name: wp.zeros(worlds.count, dtype=kind, device=worlds.device) for name, kind in kinds.items()}
        )

    def reset(self, worlds: Batch, mask: wp.array[Any]) -> None:
        """Stand the post in the way to the target."""
        own, numbers = worlds.own, (*_SHARES, self.aside, self._middle)
        inputs = [*map(wp.float64, numbers), worlds.goals, worlds.uniform(2)]
        wp.launch(stand_posts, worlds.count, inputs, [own.places, own.turns], device=worlds.device)
        worlds.simulation.solver.place(worlds.state, "post", own.places, own.turns, mask)

    def reward(self, now: Mapping[str, Any], before: Mapping[str, Any], actions: Any) -> Any:
        """Minus the distance of the tip from the target, seen from above [cm]."""
        return -100.0 * _distances(now["tip"], now["target"])

    def info(self, worlds: Batch) -> dict[str, np.ndarray]:
        """How far tips are from targets, and whether that is near."""
        away = _distances(worlds.now["tip"].numpy(), worlds.now["target"].numpy())
        return {"distance": away, "success": (away <= self.near).astype(float)}

    def marks(self, goals: Mapping[str, np.ndarray]) -> Sequence[Part]:
        """A rod at the place to reach."""
        ends = np.array([(*goals["target"], height) for height in _MARK])
        return [Lines("goal", ends, np.array([(0, 1)], np.int32), color=(0.8, 0.1, 0.1))]

    @property
    def camera(self) -> Camera:
        """A view of trunk, post and target."""
        foot = self._middle - 0.5 * _TALL - self.post
        box = np.array([-0.5 * _FURTHEST[0], _NEAREST[1], foot]), np.array([*_FURTHEST, 0.0])
        return Camera.framing(box, direction=(0.28, -0.35, 0.09))


def _distances(tips: Any, targets: Any) -> Any:
    """Of tips from targets, seen from above [m], shape [worlds]."""
    return ((tips[:, :2] - targets) ** 2).sum(axis=1) ** 0.5
