"""Stepping a batch of worlds: launches on the CPU's threads or one block a world on CUDA."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import warp as wp

from annelid.control.bank import TABLE_ROWS
from annelid.core.controls import Commanded, resting_commands
from annelid.core.device import thread_count
from annelid.core.errors import InvalidValue
from annelid.core.interrupts import held_back
from annelid.core.kernels.worlds import advance_clock, begin_healthy, kick_kernel
from annelid.core.launch import Team
from annelid.core.model_solver import ModelSolver
from annelid.core.scenery import Scenery
from annelid.core.stability import StepReport
from annelid.core.state import copy_state, nested, restore_worlds, rows, state_arrays
from annelid.core.variation import Parameter, Variation, unvaried
from annelid.voxels.hosted import hosted_controls
from annelid.voxels.kernels.program import block_kernel, shared_by_teams, team_kernel
from annelid.voxels.model import Model
from annelid.voxels.parameters import parameters_of, require_substeps
from annelid.voxels.pictures import Painter
from annelid.voxels.readout import Readout
from annelid.voxels.stability import explain_step
from annelid.voxels.world import USUAL_STEP


@dataclass
class State:
    """What changes with time; arrays of one world follow those of the world before.

    Attributes:
        positions: Centre [m], cosine and sine of the angle of each body, shape [bodies, 4].
        velocities: Velocity [m/s] and spin [rad/s] of each body, shape [bodies, 4]; the last column is 0.
        touching: Bits of the contacts of each body: four for the ground, four for other bodies, shape [bodies].
        ropes: Standing tension of each rope [N], -1 where it is slack, shape [4 voxels].
        controls: Control value of each voxel, shape [voxels].
        commands: Commands of the controls, see `core.controls`, shape [worlds · channels].
        heights: Sum of the height of each body over all steps [m], shape [bodies].
        efforts: Sums over calls of the squared control value, and of the work of actuation [J], shape [voxels, 2].
        peaks: Highest centre [m], summed swing of the first object [rad], steps that the robots and the first object
            touched the ground, shape [worlds, 4].
        history: Readings that sensors remember.
        signals: Signals that voxels have sent each other.
        origins: Step at which each world began, shape [worlds].
        variation: Parameters in which worlds differ; empty while they do not.
        clock: Steps done, shape [1].
    """

    positions: wp.array[Any] = rows("body")
    velocities: wp.array[Any] = rows("body")
    touching: wp.array[Any] = rows("body", wp.int32)
    ropes: wp.array[Any] = rows("voxel", each=4)
    controls: wp.array[Any] = rows("voxel")
    commands: wp.array[Any] = rows("channel", wp.vec4d)
    heights: wp.array[Any] = rows("body", wp.float64)
    efforts: wp.array[Any] = rows("voxel", wp.vec2d)
    peaks: wp.array[Any] = rows("world", wp.vec4d)
    history: wp.array[Any] = rows("reading")
    signals: wp.array[Any] = rows("signal")
    origins: wp.array[Any] = rows("world", wp.int64)
    variation: Variation = nested()
    clock: wp.array[Any] = rows("simulation", wp.int64)


class Solver(ModelSolver[Model, Painter]):
    """Advances the state of a model.

    Args:
        model: The model.
        threads: CPU threads; None takes all cores.

    Attributes:
        readout: What reads states.
    """

    physics = "voxels"

    def __init__(self, model: Model, *, threads: int | None = None) -> None:
        self.model, self.device, self.worlds = model, model.device, len(model.worlds)
        self.dt = model.world.step
        self.threads = min(thread_count(threads), len(model.worlds))
        self.batch = model.interval
        self._team = None if self.device.is_cuda else Team(self.threads)
        self._motion = self._scratch()
        self._bound: State | None = None
        self._prepared = -1
        self.readout = Readout(model)
        self._painter = Painter(model, self.readout)

    def commanded(self, state: State) -> Commanded:
        """Where a state keeps its commands."""
        return Commanded(state.commands, state.clock, state.variation, state.origins)

    @property
    def noisy(self) -> bool:
        """Whether sensors of the robots have noise."""
        return self.model.noisy

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """What can differ from world to world."""
        return parameters_of(self.model)

    def take_parameters(self, state: State, before: wp.array[Any], mask: wp.array[Any]) -> None:
        """Follow a change of parameters, which kernels read at the beginning of each call."""
        self.model.features = replace(self.model.features, varied=True)
        if self._bound is state:
            self._bound = None

    def require_parameters(self, ranges: Mapping[str, tuple[float, float]]) -> None:
        """Refuse parameters with which a step would need more substeps than it has."""
        require_substeps(self.model, ranges)

    def initial_state(self) -> State:
        """Robots at rest where they were placed."""
        model, types, device = self.model, self.model.types, self.device
        positions, velocities = (values.astype(model.numpy_real) for values in model.initial_motion())

        def zeros(count: int, dtype: Any) -> wp.array[Any]:
            return wp.zeros(count, dtype=dtype, device=device)

        return State(
            positions=wp.array(positions, dtype=types.vec4, device=device),
            velocities=wp.array(velocities, dtype=types.vec4, device=device),
            touching=zeros(model.body_count, wp.int32),
            ropes=wp.full(4 * model.voxel_count, -1.0, dtype=types.real, device=device),
            controls=zeros(model.voxel_count, types.real),
            commands=resting_commands(self.controls, len(model.worlds), device),
            heights=zeros(model.body_count, wp.float64),
            efforts=zeros(model.voxel_count, wp.vec2d),
            peaks=wp.full(len(model.worlds), wp.vec4d(-1.0e300, 0.0, 0.0, 0.0), dtype=wp.vec4d, device=device),
            history=zeros(model.history_count, types.real),
            signals=zeros(model.bank.memory_count, types.real),
            origins=zeros(len(model.worlds), wp.int64),
            variation=unvaried(device),
            clock=zeros(1, wp.int64),
        )

    def advance(self, state: State, steps: int) -> None:
        """Take steps; on CUDA this returns before they are done."""
        self._bind(state)
        model, bank = self.model, self.model.bank
        stops = bool(model.hosted) or bank.tabulated
        now = int(state.clock.numpy()[0]) if stops else 0
        while steps > 0:
            count = steps
            if model.hosted:
                if now % model.interval == 0:
                    self._call_host_controllers(state, now)
                count = min(steps, model.interval - now % model.interval)
            if bank.tabulated:
                call = -(-now // model.interval)
                if call % TABLE_ROWS == 0 or self._prepared != call - call % TABLE_ROWS:
                    self._prepared = call - call % TABLE_ROWS
                    bank.prepare(self._prepared, TABLE_ROWS, model.interval * self.dt)
                count = min(count, (self._prepared + TABLE_ROWS) * model.interval - now)
            self._step(count)
            now, steps = now + count, steps - count

    def reset(self, state: State, mask: wp.array[Any] | None = None) -> None:
        """Bring worlds back to their beginning; see `core.solver.Solver`."""
        if mask is None:
            copy_state(self._beginning, state, but="variation")
            self._prepared = -1
            return
        if self.model.hosted or self.model.bank.tabulated:
            raise InvalidValue(
                "worlds whose controllers are functions of time on the host begin again together: reset all of them."
            )
        restore_worlds(self._beginning, state, mask, self._world_of)
        outputs = [state.origins, self._motion.trouble]
        wp.launch(begin_healthy, len(self.model.worlds), [mask, state.clock], outputs, device=self.device)

    def kick(self, state: State, velocities: wp.array[Any], mask: wp.array[Any]) -> None:
        """Add a velocity to all bodies of masked worlds that are not fixed; see `core.solver.Kickable`."""
        arguments = [mask, self._world_of["body"], self._movable, velocities, state.velocities]
        wp.launch(kick_kernel(self.model.types.vec4), self.model.body_count, arguments, device=self.device)

    @cached_property
    def _movable(self) -> wp.array[Any]:
        shapes = [self.model.shapes[number] for number in self.model.shape_of]
        free = np.concatenate([shape.body_constants[:, 0] > 0.0 for shape in shapes])
        return wp.array(free, dtype=wp.bool, device=self.device)

    def diverged_at(self) -> int | None:
        """First step whose result was not finite, None while all are; a control value that is no number is an error."""
        faults = self._motion.faults.numpy()
        if (faults[:, 0] >= 0).any():
            self._refuse(faults)
        steps = self._motion.trouble.numpy()
        bad = steps[steps >= 0]
        return int(bad.min()) if len(bad) else None

    def lost(self) -> np.ndarray:
        """Worlds that are no longer finite, shape [worlds]."""
        return np.asarray(self._motion.trouble.numpy() >= 0)

    def clear_divergence(self) -> None:
        """Forget a divergence, after the state was restored."""
        self._motion.trouble.fill_(-1)
        self._motion.faults.fill_(wp.vec2i(-1, -1))

    def describe_divergence(self, state: State) -> str:
        """The fastest robot, in words."""
        speeds = np.linalg.norm(state.velocities.numpy()[:, :2].astype(float), axis=1)
        fastest = int(np.nanargmax(speeds))
        robot = int(self.model.robot_of_body[fastest])
        return f"robot {robot} moves fastest, at {speeds[fastest]:.3g} m/s; more substeps or a smaller step help"

    def explain_step(self) -> StepReport:
        """What limits the substeps into which steps are divided."""
        world, kinds = self.model.world, dict.fromkeys(kind for shape in self.model.shapes for kind in shape.kinds)
        return explain_step(world.step, world.substeps, USUAL_STEP, tuple(kinds))

    def scenery(self) -> Scenery:
        """What cameras and lidars can see; see `core.scenery.Visible`."""
        return self._painter.scenery()

    def set_controls(self, state: State, controls: np.ndarray) -> None:
        """Set the control values of all voxels by hand, shape [voxels]; they are clipped to [-1, 1].

        Those of voxels that take commands hold until the next command, others until their controller is called.
        """
        values = np.asarray(controls, float).reshape(-1)
        if len(values) != self.model.voxel_count:
            raise InvalidValue(f"{self.model.voxel_count} control values are needed, one a voxel, not {len(values)}.")
        if np.isnan(values).any():
            voxel = int(np.flatnonzero(np.isnan(values))[0])
            raise InvalidValue(f"the control value of {self.model.voxel_name(voxel)} is not a number.")
        clipped = np.clip(values, -1.0, 1.0).astype(self.model.numpy_real)
        state.controls.assign(clipped)
        if self.controls:
            goals = clipped.reshape(self.worlds, -1)[:, self.model.channel_of >= 0].astype(float).ravel()
            none = np.zeros_like(goals)
            state.commands.assign(np.column_stack([goals, goals, none, none]))

    def _launch(self, steps: int, *, sensing_only: bool = False) -> None:
        """Take steps of all worlds, or read their sensors, by kernels made for the features of this model."""
        model = self.model
        common = [steps, model.tables, model.terrain, model.sensors, model.bank.arrays, self._motion]
        if self._team is not None:
            self._team.run(team_kernel(shared_by_teams(model.features), sensing_only), common)
            return
        size, block = len(model.worlds) * model.lanes, model.lanes if model.lanes > 1 else 64
        kernel = block_kernel(model.features, sensing_only)
        wp.launch(kernel, size, [model.lanes, *common], device=self.device, block_dim=block)

    def inputs(self) -> np.ndarray:
        """Inputs of all controllers at the last call."""
        return np.asarray(self._motion.inputs.numpy())

    @property
    def troubles(self) -> wp.array[Any]:
        """First step of each world whose result was not finite, -1 while all are, on the device, shape [worlds]."""
        troubles: wp.array[Any] = self._motion.trouble
        return troubles

    def sense(self, state: State) -> wp.array[Any]:
        """Read the sensors now: inputs of all controllers on the device, robot by robot; nothing waits for it."""
        self._bind(state)
        if self.model.features.sensing:
            self._launch(0, sensing_only=True)
        inputs: wp.array[Any] = self._motion.inputs
        return inputs

    def look(self, state: State) -> wp.array[Any]:
        """Read the sensors like `sense`, whenever it is: what they remember for the next call stays as it was."""
        self._bind(state)
        if self.model.history_count == 0:
            return self.sense(state)
        wp.copy(self._remembered, state.history)
        inputs = self.sense(state)
        wp.copy(state.history, self._remembered)
        return inputs

    @cached_property
    def _remembered(self) -> wp.array[Any]:
        return wp.zeros(self.model.history_count, dtype=self.model.types.real, device=self.device)

    def _call_host_controllers(self, state: State, now: int) -> None:
        """Read the sensors and let the user's functions set the control values."""
        if self.model.features.sensing:
            self._launch(0, sensing_only=True)
        controls = hosted_controls(self.model, now * self.dt, self.inputs(), state.controls.numpy())
        state.controls.assign(controls)

    def _step(self, steps: int) -> None:
        if self._team is not None:
            with held_back(firmly=True):  # steps that are taken are counted
                self._launch(steps)
                self._motion.clock.numpy()[0] += steps
        else:
            self._launch(steps)
            wp.launch(advance_clock, 1, [steps, self._motion.clock], device=self.device)

    def _refuse(self, faults: np.ndarray) -> None:
        world = int(np.flatnonzero(faults[:, 0] >= 0)[0])
        voxel, step = faults[world]
        name = self.model.voxel_name(int(self.model.first_voxel[world]) + int(voxel))
        raise InvalidValue(f"the control value of {name} is not a number at t = {step * self.dt:.4g} s.")

    def _bind(self, state: State) -> None:
        """Point the kernels at this state."""
        if self._bound is state and self.model.features.varied == state.variation.there:
            return
        self._bound = None  # until all is pointed there, should Ctrl-C come before
        self._prepared = -1
        self.model.features = replace(self.model.features, varied=state.variation.there)
        self._motion.parameters = state.variation.values
        for name, array in state_arrays(state).items():
            if not name.startswith("variation."):
                setattr(self._motion, name, array)
        self._bound = state

    def _scratch(self) -> Any:
        model, types, device = self.model, self.model.types, self.device
        motion = types.Motion()
        in_place = model.features.quads == 0
        sizes = {"links": 10 if model.features.forced else 6, "stiffness": 4, "lengths": 1}
        for name, each in sizes.items():
            count = each * model.voxel_count if in_place else 0
            setattr(motion, name, wp.zeros(count, dtype=types.vec4, device=device))
        motion.inputs = wp.zeros(int(model.bank.first_inputs[-1]), dtype=types.real, device=device)
        motion.neurons = wp.zeros(model.bank.neuron_count, dtype=types.real, device=device)
        motion.trouble = wp.full(len(model.worlds), -1, dtype=wp.int64, device=device)
        motion.faults = wp.full(len(model.worlds), wp.vec2i(-1, -1), dtype=wp.vec2i, device=device)
        return motion
