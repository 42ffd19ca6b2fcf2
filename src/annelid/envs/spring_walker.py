"""Walking of a pneumatic quadruped: five groups of actuators act; reward: distance travelled along x."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import warp as wp

from annelid import springs
from annelid.core.parameters import documented, parameter
from annelid.core.simulation import Simulation
from annelid.envs.grounds import LevelGround, level_ground, require_ground
from annelid.envs.hooks import Batch, Channel, each_world
from annelid.envs.kernels import walker as kernels
from annelid.envs.task import Task
from annelid.robots.quadruped import LIMBS, quadruped
from annelid.shapes import ground

_SLACK = 1e-9  # of limits that would be equal where nothing is inflated


@documented
class SpringWalker(Task):
    """Walk along x with a quadruped whose limbs are inflated: `annelid/SpringWalker-v0`."""

    fixed: ClassVar[tuple[str, ...]] = ("every", "smooth", "arrays")

    inflation: float = parameter(
        0.7, "Expansion of a fully inflated group, a fraction of its length.", limits=(0.0, 0.9)
    )
    friction: float = parameter(0.8, "Coulomb friction of the ground.", limits=(0.0, 10.0))
    ground: LevelGround = parameter("rigid", '"rigid", or "resistive": sand without grains, into which it sinks.')
    medium: str = parameter(
        "sand-loose", "What resists then: a name, or a file that annelid study sand-rft --fit wrote."
    )
    dt: float = parameter(6e-5, "Time step [s].", unit="s", limits=(1e-7, 7e-5))
    substeps: int = parameter(800, "Steps in an action.", limits=(1, 1_000_000))
    seconds: float = parameter(4.8, "Length of an episode [s].", unit="s", limits=(1e-3, 1e6))
    noise: float = parameter(
        0.002, "Standard deviation of the velocity that an episode begins with [m/s].", unit="m/s", limits=(0.0, 1.0)
    )
    arrays = "warp"

    def __post_init__(self) -> None:
        super().__post_init__()
        require_ground(self)

    @cached_property
    def body(self) -> springs.Body:
        """The quadruped, whose limbs take commands."""
        body = quadruped()
        for limb in LIMBS:
            body.control(limb, limb, low=1.0, high=1.0 + self.inflation + _SLACK)
        return body

    @cached_property
    def length(self) -> float:
        """Length of the body [m]."""
        return float(np.ptp(self.body.positions[:, 0]))

    def build(self, **machine: Any) -> Simulation[springs.Solver]:
        """The quadruped on the ground."""
        rigid = ground(self.friction, stiffness=100.0, restitution=0.2)
        below = level_ground(self.ground, rigid, self.medium, self.friction)
        return springs.simulation(self.body, dt=self.dt, obstacles=[below], velocity_damping=2.0, **machine)

    def steps_of_action(self, dt: float) -> int:
        """Steps in an action."""
        return self.substeps

    def prepare(self, worlds: Batch) -> Any:
        """Masses of the whole and of each limb, and room for where they are."""
        parts = [np.arange(self.body.mass_count), *(self.body.groups[limb] for limb in LIMBS)]
        first = np.concatenate([[0], np.cumsum([len(part) for part in parts])])
        size, device = (worlds.count, kernels.PARTS), worlds.device
        return SimpleNamespace(
            first=wp.array(first.astype(np.int32), dtype=wp.int32, device=device),
            members=wp.array(np.concatenate(parts).astype(np.int32), dtype=wp.int32, device=device),
            places=wp.zeros(size, dtype=wp.vec3d, device=device),
            velocities=wp.zeros(size, dtype=wp.vec3d, device=device),
        )

    def reset(self, worlds: Batch, mask: wp.array[Any]) -> None:
        """Throw the body a little, as the seed says."""
        worlds.kick(worlds.normal(2, self.noise), mask)

    def measure(self, worlds: Batch) -> Mapping[str, wp.array[Any]]:
        """Mean places and velocities of the whole and of each limb."""
        own, state = worlds.own, worlds.state
        inputs = [self.body.mass_count, own.first, own.members, state.positions, state.velocities]
        outputs = [own.places, own.velocities]
        wp.launch(kernels.survey, own.places.shape, inputs, outputs, device=worlds.device)
        return {"places": own.places, "velocities": own.velocities}

    def reward(self, now: Mapping[str, Any], before: Mapping[str, Any], actions: Any) -> Any:
        """The way of the centre along x, in lengths of the body."""
        return each_world(kernels.way, [self.length, now["places"], before["places"]])

    def terminated(self, now: Mapping[str, Any], before: Mapping[str, Any], actions: Any) -> Any:
        """One that lies on its back has ended."""
        return each_world(kernels.lies, [now["places"]], wp.bool)

    def channels(self, simulation: Simulation[Any]) -> tuple[Channel, ...]:
        """Limbs as the body sees them, then its motion, posture and pressures."""
        limbs = ", ".join(LIMBS)
        parts = (
            (f"x, y, z of each limb ({limbs}) from the middle, in the frame of the body [lengths]", 3 * kernels.LIMBS),
            ("their velocities, x, y, z, in that frame [lengths/s]", 3 * kernels.LIMBS),
            ("velocity of the middle in that frame, x, y, z [lengths/s]", 3),
            ("upward axis of the body in the world, x, y, z", 3),
            ("height of the middle [lengths]", 1),
            ("pressure that each limb is asked for", kernels.LIMBS),
        )
        return (Channel("observation", (kernels.OBSERVED,), parts=parts),)

    def observe(self, worlds: Batch, mask: wp.array[Any]) -> None:
        """Write what the body sees of itself."""
        own = worlds.own
        inputs = [mask, self.length, own.places, own.velocities, worlds.state.commands]
        seen = worlds.observations["observation"]
        wp.launch(kernels.show, worlds.count, inputs, [seen], device=worlds.device)
