"""Walking of a pneumatic quadruped: five groups of actuators act; reward: distance travelled along x."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import warp as wp

from annelid import springs
from annelid.core.simulation import Simulation
from annelid.core.snapshot import Look, Snapshot
from annelid.core.state import take_world
from annelid.envs.kernels import walker as kernels
from annelid.envs.worlds import Channel, Worlds, require
from annelid.robots.quadruped import LIMBS, quadruped
from annelid.shapes import ground

_SLACK = 1e-9  # of limits that would be equal where nothing is inflated


@dataclass(frozen=True, kw_only=True)
class WalkerOptions:
    """Options of `annelid/SpringWalker-v0`.

    Attributes:
        inflation: Expansion of a fully inflated group, a fraction of its length.
        friction: Coulomb friction of the ground.
        dt: Time step [s].
        substeps: Steps in an action.
        seconds: Length of an episode [s].
        noise: Standard deviation of the velocity that an episode begins with [m/s].
    """

    inflation: float = 0.7
    friction: float = 0.8
    dt: float = 6e-5
    substeps: int = 800
    seconds: float = 4.8
    noise: float = 0.002

    def __post_init__(self) -> None:
        require("inflation", self.inflation, 0.0, 0.9)
        require("friction", self.friction, 0.0, 10.0)
        require("dt", self.dt, 1e-7, 7e-5)
        require("substeps", self.substeps, 1, 1_000_000, whole=True)
        require("seconds", self.seconds, 1e-3, 1e6)
        require("noise", self.noise, 0.0, 1.0)


class SpringWalker(Worlds):
    """Quadrupeds that do not touch each other, all in one place.

    Args:
        count: Number of worlds.
        options: Options of the task.
        device: Where to compute.
        threads: CPU threads; None takes all cores.
    """

    title: ClassVar[str] = "SpringWalker"
    settings: ClassVar[type[Any]] = WalkerOptions
    solver: springs.Solver

    def __init__(
        self, count: int, options: WalkerOptions, *, device: str | wp.Device = "auto", threads: int | None = None
    ) -> None:
        super().__init__(count, options, device=device)
        self.body = quadruped()
        self.length = float(np.ptp(self.body.positions[:, 0]))
        for limb in LIMBS:
            self.body.control(limb, limb, low=1.0, high=1.0 + options.inflation + _SLACK)
        self.simulation = self._simulation(count, threads)
        self.state, self.solver = self.simulation.state, self.simulation.solver
        self._find_parts()
        self._values = self._zeros((count, kernels.LIMBS), wp.float64)
        self._places, self._velocities = (self._zeros((count, kernels.PARTS), wp.vec3d) for _ in range(2))
        self._before = self._zeros(count, wp.float64)
        self._stand_in: Simulation[springs.Solver] | None = None

    @property
    def channels(self) -> tuple[Channel, ...]:
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

    @property
    def action_size(self) -> int:
        """Pressure of each group of actuators, from none at -1 to full at 1."""
        return kernels.LIMBS

    @property
    def action_seconds(self) -> float:
        """Simulated time of an action [s]."""
        return self.options.dt * self.options.substeps

    def snapshot(self, world: int = 0) -> Snapshot:
        """One quadruped."""
        if self._stand_in is None:
            self._stand_in = self._simulation(1, 1)
        twin = self._stand_in
        take_world(self.state, twin.state, world, self.count)
        shot = twin.solver.snapshot(twin.state, Look(numbers=False))
        return Snapshot(float(self.steps.numpy()[world]) * self.action_seconds, 0, shot.parts)

    def _memory(self) -> dict[str, Any]:
        return {
            "state": self.state,
            "places": self._places,
            "velocities": self._velocities,
            "before": self._before,
        }

    # --- episodes ---

    def _begin(self, mask: wp.array[Any]) -> None:
        state = self.state
        self.solver.reset(state, mask)
        inputs = [mask, self.seeds, self.episodes, self.body.mass_count, self.options.noise]
        self._launch(kernels.begin, inputs, [state.velocities])
        self._survey()
        self._launch(kernels.note_start, [mask, self._places], [self._before])

    def _advance(self) -> None:
        o, controls = self.options, self.simulation.controls
        inputs = [self.actions, o.inflation]
        wp.launch(kernels.press, self._values.shape, inputs, [self._values], device=self.device)
        place, every = self.solver.commanded(self.state), range(kernels.LIMBS)
        controls.take(place, self._values, every, ramp=self.action_seconds)
        self.solver.advance(self.state, o.substeps)

    def _judge(self) -> None:
        self._survey()
        self._launch(kernels.judge, [self.length, self._places, self._before], [self.rewards, self.terminated])

    def _observe(self, mask: wp.array[Any]) -> None:
        inputs = [mask, self.length, self._places, self._velocities, self.state.commands]
        self._launch(kernels.show, inputs, [self.observations["observation"]])

    def _survey(self) -> None:
        state = self.state
        inputs = [self.body.mass_count, self._first, self._members, state.positions, state.velocities]
        size = (self.count, kernels.PARTS)
        wp.launch(kernels.survey, size, inputs, [self._places, self._velocities], device=self.device)

    # --- building ---

    def _simulation(self, count: int, threads: int | None) -> Simulation[springs.Solver]:
        plane = ground(self.options.friction, stiffness=100.0, restitution=0.2)
        world = springs.World(dt=self.options.dt, obstacles=[plane], velocity_damping=2.0)
        model = springs.Model(self.body, world, self.device, worlds=count)
        return Simulation(springs.Solver(model, threads=threads))

    def _find_parts(self) -> None:
        """Masses of the whole and of each limb."""
        parts = [np.arange(self.body.mass_count), *(self.body.groups[limb] for limb in LIMBS)]
        first = np.concatenate([[0], np.cumsum([len(part) for part in parts])]).astype(np.int32)
        self._first = wp.array(first, dtype=wp.int32, device=self.device)
        self._members = wp.array(np.concatenate(parts).astype(np.int32), dtype=wp.int32, device=self.device)
