"""Walking of a pneumatic quadruped: five groups of actuators act; reward: distance travelled along x."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import warp as wp

from annelid import springs
from annelid.core.simulation import Simulation
from annelid.core.snapshot import Look, Snapshot
from annelid.core.state import clone_state, restore_worlds
from annelid.envs.kernels import walker as kernels
from annelid.envs.worlds import Channel, Worlds, require
from annelid.robots.quadruped import LIMBS, quadruped
from annelid.shapes import ground

_LANES = 4  # CUDA threads a mass: the same for any number of worlds, or their sums would differ in the last bits


@wp.func
def follow(time: Any, parameters: Any) -> Any:
    """A smooth change of an expansion. Parameters: from, to, seconds that it takes, a number of its own."""
    part = wp.clamp(time / parameters[2], type(time)(0.0), type(time)(1.0))
    smooth = part * part * (type(time)(3.0) - type(time)(2.0) * part)
    return type(time)(1.0) + parameters[0] + (parameters[1] - parameters[0]) * smooth


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
        self.simulation = self._simulation(count, threads)
        self.state, self.solver = self.simulation.state, self.simulation.solver
        self._start = clone_state(self.state)
        worlds = np.repeat(np.arange(count, dtype=np.int32), self.body.mass_count)
        self._world_of_mass = wp.array(worlds, dtype=wp.int32, device=self.device)
        self._find_signals()
        self._find_parts()
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
        for target, source in (
            (twin.state.positions, self.state.positions),
            (twin.state.velocities, self.state.velocities),
        ):
            wp.copy(target, source, src_offset=world * len(target), count=len(target))
        shot = twin.solver.snapshot(twin.state, Look(numbers=False))
        return Snapshot(float(self.steps.numpy()[world]) * self.action_seconds, 0, shot.parts)

    def _memory(self) -> dict[str, Any]:
        return {
            "state": self.state,
            "signals": self._parameters,
            "places": self._places,
            "velocities": self._velocities,
            "before": self._before,
        }

    # --- episodes ---

    def _begin(self, mask: wp.array[Any]) -> None:
        o, state = self.options, self.state
        restore_worlds(self._start, state, mask, {"mass": self._world_of_mass})
        inputs = [mask, self.seeds, self.episodes, self.body.mass_count, o.noise, self._signal_of]
        self._launch(kernels.begin, inputs, [state.velocities, self._parameters])
        self._survey()
        self._launch(kernels.note_start, [mask, self._places], [self._before])

    def _advance(self) -> None:
        o = self.options
        inputs = [self.actions, o.inflation, self.action_seconds, self._signal_of]
        size = (self.count, kernels.LIMBS)
        wp.launch(kernels.press, size, inputs, [self._parameters], device=self.device)
        self.state.clock.zero_()  # signals count from the beginning of the action, in all worlds alike
        self.solver.advance(self.state, o.substeps)

    def _judge(self) -> None:
        self._survey()
        self._launch(kernels.judge, [self.length, self._places, self._before], [self.rewards, self.terminated])

    def _observe(self, mask: wp.array[Any]) -> None:
        inputs = [mask, self.length, self._places, self._velocities, self._signal_of, self._parameters]
        self._launch(kernels.show, inputs, [self.observations["observation"]])

    def _survey(self) -> None:
        state = self.state
        inputs = [self.body.mass_count, self._first, self._members, state.positions, state.velocities]
        size = (self.count, kernels.PARTS)
        wp.launch(kernels.survey, size, inputs, [self._places, self._velocities], device=self.device)

    # --- building ---

    def _simulation(self, count: int, threads: int | None) -> Simulation[springs.Solver]:
        o = self.options
        many = self.body.replicated(np.zeros((count, 3)))
        each = self.body.spring_count
        for k, limb in enumerate(LIMBS):
            chosen = self.body.springs_of(limb)
            every = (chosen + each * np.arange(count)[:, None]).ravel()
            names = np.repeat(np.arange(count) * kernels.LIMBS + k, len(chosen)).astype(float)
            many.actuate(springs.Signal(follow, (0.0, 0.0, self.action_seconds, names)), every)
        plane = ground(o.friction, stiffness=100.0, restitution=0.2)
        world = springs.World(dt=o.dt, obstacles=[plane], velocity_damping=2.0)
        model = springs.Model(many, world, self.device, lanes=_LANES)
        return Simulation(springs.Solver(model, threads=threads))

    def _find_signals(self) -> None:
        """Which signal of the model each group of each world follows."""
        arrays = self.solver.model.arrays
        names = np.rint(arrays.signal_parameters.numpy()[1:, 3]).astype(int)
        signal_of = np.zeros(self.count * kernels.LIMBS, np.int32)
        signal_of[names] = 1 + np.arange(len(names))
        self._signal_of = wp.array(signal_of, dtype=wp.int32, device=self.device)
        self._parameters = arrays.signal_parameters

    def _find_parts(self) -> None:
        """Masses of the whole and of each limb."""
        parts = [np.arange(self.body.mass_count), *(self.body.groups[limb] for limb in LIMBS)]
        first = np.concatenate([[0], np.cumsum([len(part) for part in parts])]).astype(np.int32)
        self._first = wp.array(first, dtype=wp.int32, device=self.device)
        self._members = wp.array(np.concatenate(parts).astype(np.int32), dtype=wp.int32, device=self.device)
