"""Stepping a batch of 3-D robots: a team of CPU threads, or CUDA kernels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import warp as wp

from annelid.core.controls import Commanded, resting_commands
from annelid.core.device import thread_count
from annelid.core.errors import FileFormatError, InvalidValue
from annelid.core.interrupts import held_back
from annelid.core.kernels.worlds import advance_clock, begin_healthy, kick_kernel
from annelid.core.launch import Team
from annelid.core.model_solver import ModelSolver
from annelid.core.replay import Graphs
from annelid.core.stability import StepReport
from annelid.core.state import copy_state, declared, nested, restore_worlds, rows, state_arrays
from annelid.shapes import Obstacle
from annelid.shapes.motions import Still
from annelid.voxels3d.adjoint.adjoint import VoxelAdjoint
from annelid.voxels3d.changes import Log
from annelid.voxels3d.edits import Editor, carried_over
from annelid.voxels3d.kernels.layout import LISTED
from annelid.voxels3d.kernels.program import BLOCK, block_kernel, grid_kernels, team_kernel
from annelid.voxels3d.kernels.sensing import sizes_kernel
from annelid.voxels3d.model import Model
from annelid.voxels3d.pictures import Painter
from annelid.voxels3d.readout import Readout
from annelid.voxels3d.stability import explain_step

_LARGE = 2048  # voxels of a world that are more than a block of a GPU is quick with
_GRAPH = 64  # steps of a graph at most
_ENOUGH = 512  # voxels a thread: fewer spend more time at barriers than on links


@dataclass
class State:
    """What changes with time; voxels of one world follow those of the world before.

    Attributes:
        displacements: How far voxels are from where they were built [m].
        rotations: How they are turned from how they were built, quaternions.
        velocities: [m/s].
        spins: Angular velocities [rad/s].
        stuck: 1 where static friction holds a voxel.
        strains: Strains of voxels along their axes one step ago, where a material has a Poisson's ratio.
        largest: Largest strain of the links along +x, +y, +z of a voxel so far, where links remember it.
        offsets: Strain that these links keep without a load.
        commands: Commands of the controls, see `core.controls`, shape [worlds · channels].
        bodies: Where obstacles are that are free or driven; nothing while there are none.
        origins: Step at which each world began, shape [worlds].
        clock: Steps done, shape [1].
    """

    displacements: wp.array[Any] = rows("voxel", grows="voxels")
    rotations: wp.array[Any] = rows("voxel", grows="voxels")
    velocities: wp.array[Any] = rows("voxel", grows="voxels")
    spins: wp.array[Any] = rows("voxel", grows="voxels")
    stuck: wp.array[Any] = rows("voxel", wp.int32, grows="voxels")
    strains: wp.array[Any] = rows("voxel", grows="voxels")
    largest: wp.array[Any] = rows("voxel", each=3, grows="voxels")
    offsets: wp.array[Any] = rows("voxel", each=3, grows="voxels")
    commands: wp.array[Any] = rows("channel", wp.vec4d)
    bodies: Still = nested()
    origins: wp.array[Any] = rows("world", wp.int64)
    clock: wp.array[Any] = rows("simulation", wp.int64)


class Solver(ModelSolver[Model, Painter]):
    """Advances the state of a model.

    Args:
        model: The model.
        threads: CPU threads; None takes all cores.

    Attributes:
        readout: What reads states.
    """

    physics = "voxels3d"

    def __init__(self, model: Model, *, threads: int | None = None) -> None:
        self._built, self._log = model, Log()  # as it was before edits, and these
        self.model, self.device, self.worlds = model, model.device, model.world_count
        self.dt = model.dt
        moved = 200_000 if self.device.is_cpu else 200_000_000  # voxel-steps in a fraction of a second
        self.batch = max(1, min(256, moved // model.voxel_count))
        most = thread_count(threads)
        worlds = model.world_count
        # Whole worlds are dealt to threads, unless there are more threads than worlds and voxels enough for each.
        self.threads = most if worlds >= most else max(worlds, min(most, model.voxel_count // _ENOUGH))
        self._divided = self.threads > worlds
        self._team = None if self.device.is_cuda else Team(self.threads)
        self._motion, self._graphs = self._scratch(), Graphs(self.device)
        self._bound: State | None = None
        self.readout = Readout(model)
        self._painter = Painter(model, self.readout)

    @property
    def controls_there(self) -> np.ndarray:
        """Whether each world has a voxel that obeys each channel, shape [worlds, channels]."""
        there = np.zeros((self.worlds, len(self.controls)), bool)
        obeying = np.flatnonzero(self.model.channels >= 0)
        there[self.model.world_of_voxel[obeying], self.model.channels[obeying]] = True
        return there

    def commanded(self, state: State) -> Commanded:
        """Where a state keeps its commands."""
        return Commanded(state.commands, state.clock, None, state.origins)

    def initial_state(self) -> State:
        """Robots at rest where they were placed."""
        model, types, device = self.model, self.model.types, self.device
        count = model.voxel_count
        upright = np.tile([0.0, 0.0, 0.0, 1.0], (count, 1))

        def zeros(length: int, dtype: Any) -> wp.array[Any]:
            return wp.zeros(length, dtype=dtype, device=device)

        return State(
            displacements=wp.array(model.roundings, dtype=types.vec3, device=device),
            rotations=wp.array(upright, dtype=types.quat, device=device),
            velocities=zeros(count, types.vec3),
            spins=zeros(count, types.vec3),
            stuck=wp.full(count, 1, dtype=wp.int32, device=device),
            strains=zeros(count if model.volumetric else 0, types.vec3),
            largest=zeros(3 * count if model.remembers else 0, types.real),
            offsets=zeros(3 * count if model.remembers else 0, types.real),
            commands=resting_commands(self.controls, self.worlds, device),
            bodies=model.motions.initial(),
            origins=zeros(self.worlds, wp.int64),
            clock=zeros(1, wp.int64),
        )

    def advance(self, state: State, steps: int) -> None:
        """Take steps; on CUDA this returns before they are done."""
        self._bind(state)
        while steps > 0:
            count = self.model.motions.reach(steps)
            self._take_steps(state, count)
            steps -= count

    def _take_steps(self, state: State, steps: int) -> None:
        model = self.model
        if self._team is not None:
            arguments = [steps, int(self._divided), model.tables, self._motion]
            with held_back(firmly=True):  # steps that are taken are counted
                self._team.run(team_kernel(model.real, model.kinds, model.moves), arguments)
                state.clock.numpy()[0] += steps
            return
        largest = int(np.diff(model.first_of_world).max())
        if largest > _LARGE and not model.tables.touching:
            self._advance_together(state, steps)
            return
        width = min(BLOCK, -(-largest // 32) * 32)
        inputs = [width, steps, model.tables, self._motion]
        meets = bool(model.tables.touching or model.tables.bonded)
        kernel = block_kernel(model.real, model.kinds, model.moves, meets, model.plain)
        wp.launch(kernel, self.worlds * width, inputs, device=self.device, block_dim=width)
        wp.launch(advance_clock, 1, [steps, state.clock], device=self.device)

    def _advance_together(self, state: State, steps: int) -> None:
        """Steps of all voxels side by side, however many there are in a world (CUDA)."""
        while steps > 0:  # a graph is captured for each count: powers of two keep them few
            count = 1 << (min(steps, _GRAPH).bit_length() - 1)
            self._graphs.run(count, partial(self._enqueue, state, count))
            steps -= count

    def _enqueue(self, state: State, steps: int) -> None:
        tables, motion, count = self.model.tables, self._motion, self.model.voxel_count
        model = self.model
        resize, load, move, sum_groups, fly = grid_kernels(model.real, model.kinds, model.moves, model.plain)
        for step in range(steps):
            if step == 0 or tables.actuated:
                wp.launch(resize, count, [step, tables, motion], device=self.device)
            wp.launch(load, count, [step, tables, motion], device=self.device)
            wp.launch(move, count, [step, tables, motion], device=self.device)
            if model.free is not None:
                wp.launch(sum_groups, (self.worlds, model.free.struct.groups), [tables], device=self.device)
                wp.launch(fly, self.worlds, [step, tables, motion], device=self.device)
        wp.launch(advance_clock, 1, [steps, state.clock], device=self.device)

    def adjoint(self, state: State) -> VoxelAdjoint:
        """What runs motions from a state there and back; see `core.adjoint.Differentiable`."""
        return VoxelAdjoint(self.model, state, self.threads)

    def bound(self, state: State) -> Any:
        """The arrays of a state for kernels that read it, with the sizes of voxels where it is."""
        self._bind(state)
        arguments = [self.model.tables, self._motion]
        wp.launch(sizes_kernel(self.model.real), self.model.voxel_count, arguments, device=self.device)
        return self._motion

    def reset(self, state: State, mask: wp.array[Any] | None = None) -> None:
        """Bring worlds back to their beginning, before all edits; see `core.solver.Solver`."""
        if mask is None or (len(self._log) and mask.numpy()[0]):  # what was edited is one world
            now = wp.clone(state.clock)
            self._take(self._built, Log())
            copy_state(self._beginning, state)
            if mask is not None:  # time goes on, and that of the world is counted from here
                wp.copy(state.clock, now)
                wp.copy(state.origins, now)
            return
        restore_worlds(self._beginning, state, mask, self._world_of)
        outputs = [state.origins, self._motion.trouble]
        wp.launch(begin_healthy, self.worlds, [mask, state.clock], outputs, device=self.device)

    def editor(self, *states: State) -> Editor:
        """A new edit of the robots behind these states."""
        if self.worlds > 1:
            raise InvalidValue("voxels of several worlds cannot be edited while they run: simulate one world.")
        return Editor(self, states)

    def install(self, log: Log, states: Sequence[State]) -> None:
        """Add changes to those of before, between two steps; nothing is changed if they are refused."""
        whole = self._log + log
        old, new = self.model, self._built.edited(whole)
        names = [name for name, one in declared(State).items() if one.of == "voxel"]
        for state in states:
            arrays = {name: array.numpy() for name, array in state_arrays(state).items() if name in names}
            for name, values in carried_over(arrays, old, new).items():
                dtype = state_arrays(state)[name].dtype
                setattr(state, name, wp.array(values, dtype=dtype, device=self.device))
        self._take(new, whole)

    def changes(self) -> dict[str, np.ndarray]:
        """What edits have made of the robots; see `core.solver.Changing`."""
        return self._log.arrays()

    def restore_changes(self, changes: Mapping[str, np.ndarray], state: Mapping[str, np.ndarray]) -> None:
        """Make the robots what they were; see `core.solver.Changing`."""
        log = Log.from_arrays(changes)
        try:
            model = self._built.edited(log) if len(log) else self._built
        except InvalidValue as error:
            raise FileFormatError(f"the checkpoint is damaged: {error}") from None
        if len(state["displacements"]) != model.voxel_count:
            raise FileFormatError(
                f"the checkpoint is damaged: it has {len(state['displacements'])} voxels, not {model.voxel_count}."
            )
        self._take(model, log)

    def _take(self, model: Model, log: Log) -> None:
        """Step another model from now on."""
        self._log = log
        if model is self.model:
            return
        self.model, self._bound = model, None
        self._motion = self._scratch()
        self.readout = Readout(model)
        self._painter = Painter(model, self.readout)
        for name in ("_movable", "_beginning", "_world_of"):
            vars(self).pop(name, None)

    def drive(self, state: State, body: Obstacle | int | str, velocity: Any = None, spin: Any = None) -> None:
        """Set how a driven obstacle moves from now on, in all worlds; see `core.solver.Driving`."""
        motions, clock = self.model.motions, int(state.clock.numpy()[0])
        motions.drive(motions.number_of(body), state.bodies, clock, state.origins.numpy(), velocity, spin)

    def kick(self, state: State, velocities: wp.array[Any], mask: wp.array[Any]) -> None:
        """Add a velocity to all voxels of masked worlds; those that are held lose it in the next step."""
        arguments = [mask, self._world_of["voxel"], self._movable, velocities, state.velocities]
        wp.launch(kick_kernel(self.model.types.vec3), self.model.voxel_count, arguments, device=self.device)

    @cached_property
    def _movable(self) -> wp.array[Any]:
        return wp.array(self.model.tables.ties.numpy() < 0, dtype=wp.bool, device=self.device)

    @property
    def troubles(self) -> wp.array[Any]:
        """First step of each world whose result was not finite, -1 while all are, on the device, shape [worlds]."""
        troubles: wp.array[Any] = self._motion.trouble
        return troubles

    def diverged_at(self) -> int | None:
        """First step whose result was not finite, None while all are; waits for the device."""
        steps = self._motion.trouble.numpy()
        bad = steps[steps >= 0]
        return int(bad.min()) if len(bad) else None

    def clear_divergence(self) -> None:
        """Forget a divergence, after the state was restored."""
        self._motion.trouble.fill_(-1)

    def describe_divergence(self, state: State) -> str:
        """The fastest voxel, in words."""
        speeds = np.linalg.norm(state.velocities.numpy().astype(float), axis=1)
        fastest = int(np.nanargmax(speeds))
        robot = int(self.model.robot_of_voxel[fastest])
        x, y, z = self.model.robots[robot].cells[fastest - self.model.first_voxel[robot]].tolist()
        return (
            f"voxel ({x}, {y}, {z}) of robot {robot} moves fastest, at {speeds[fastest]:.3g} m/s; a smaller step than "
            f"{self.dt:.3g} s or a smaller amplitude helps"
        )

    def explain_step(self) -> StepReport:
        """What limits the time step."""
        return explain_step(self.dt, self.model.world, list(dict.fromkeys(self.model.shapes)))

    def _bind(self, state: State) -> None:
        """Point the kernels at this state."""
        if self._bound is state:
            return
        self._bound = None  # until all is pointed there, should Ctrl-C come before
        self._graphs.clear()
        for name, array in vars(state).items():
            if name != "bodies":
                setattr(self._motion, name, array)
        self.model.motions.bind(state.clock, state.origins, state.bodies)
        self.model.tables.motions = self.model.motions.struct
        self._bound = state

    def _scratch(self) -> Any:
        model, types, device = self.model, self.model.types, self.device
        motion, count = types.Motion(), model.voxel_count
        # One voxel more than there are: what is before the first of a row pulls at nothing.
        sizes = {
            "sizes": (count, types.real), "forces": (count, types.vec3), "moments": (count, types.vec3),
            "end_forces": (3 * count + 3, types.vec3), "end_moments": (3 * count + 3, types.vec3),
            "tensions": (3 * count + 3 if model.volumetric or model.remembers else 0, types.real),
            "stretches": (3 * count + 3 if model.volumetric or model.remembers else 0, types.real),
            "anchors": (count if model.touching else 0, wp.vec3d), "heads": (count if model.touching else 0, wp.int32),
            "chain": (count if model.touching else 0, wp.int32),
            "partners": (LISTED * count if model.touching else 0, wp.int32),
        }  # fmt: skip
        for name, (length, dtype) in sizes.items():
            setattr(motion, name, wp.zeros(length, dtype=dtype, device=device))
        motion.moved = wp.full(self.worlds, 1, dtype=wp.int32, device=device)  # there are no lists yet
        motion.trouble = wp.full(self.worlds, -1, dtype=wp.int64, device=device)
        return motion
