"""Stepping a mass-spring model: launches on the CPU's threads or through captured CUDA graphs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import warp as wp

from annelid.core import relay
from annelid.core.controls import Commanded, Control, resting_commands
from annelid.core.device import thread_count
from annelid.core.elements import gather_elements, grown, scatter
from annelid.core.errors import FileFormatError, InvalidValue
from annelid.core.events import Event
from annelid.core.kernels.worlds import advance_clock, begin_again, kick_kernel
from annelid.core.launch import Team
from annelid.core.replay import Graphs
from annelid.core.scenery import Scenery
from annelid.core.snapshot import Look, Snapshot
from annelid.core.state import (
    clone_state,
    copy_array,
    copy_state,
    nested,
    restore_worlds,
    rows,
    state_arrays,
    take_world,
)
from annelid.core.variation import Parameter, Variation, unvaried
from annelid.springs.adjoint.adjoint import SpringAdjoint
from annelid.springs.conditions import Energy
from annelid.springs.edit import Editor, MassChange
from annelid.springs.interactions import Interactions
from annelid.springs.kernels.handing import hand_over_kernel
from annelid.springs.kernels.parameters import MASS
from annelid.springs.kernels.passes import buffers_of, time_shift
from annelid.springs.kernels.program import pass_kernel, shared_by_teams, signal_kernel
from annelid.springs.kernels.team import team_kernel
from annelid.springs.marks import broken_springs
from annelid.springs.model import Model
from annelid.springs.network import Patch
from annelid.springs.parameters import derive, heed, parameters_of, require_stable, scale_masses
from annelid.springs.pictures import Painter
from annelid.springs.readout import Readout
from annelid.springs.scenery import scenery_of

_BLOCK = 128
_FACTORS = 1 << 20  # entries of the table of signals, which bounds the steps of a batch
_MOST_CONDITIONS = 64
_MASSES_A_THREAD = 500  # below this another CPU thread costs more at the barrier than it brings


@dataclass
class State:
    """What changes with time.

    Attributes:
        positions: Position [m] and inverse mass [1/kg] (0 when fixed) of each mass, shape [n, 4].
        velocities: Velocities [m/s], shape [n, 3].
        accelerations: Accelerations of the last step [m/s²], shape [n, 3]; kept by the Verlet integrator only.
        broken: A bit for each entry of a mass's row that has broken, shape [n]; kept where springs can break.
        partners: Partners of each mass whose friction is tracked; kept where masses touch each other.
        slips: How far each of them was dragged along the surface [m].
        hollows: How far sand is below each corner of a triangle, or pressed if negative [m]; kept in ground with an
            angle of repose or a stiffness. Where sand stays at its place each world has some more numbers of each mass,
            see `kernels.furrowing`.
        sand_forces: Force of ground that resists on each mass in the last step [N], shape [n, 3]; kept where it is.
        commands: Commands of the controls, see `core.controls`, shape [worlds · channels].
        begun: Step at which each world began, shape [worlds]; kept in a batch of worlds.
        variation: Parameters in which worlds differ; empty while they do not.
        clock: Steps done, shape [1].
    """

    positions: wp.array[Any] = rows("mass", grows="masses")
    velocities: wp.array[Any] = rows("mass", grows="masses")
    accelerations: wp.array[Any] = rows("mass", grows="masses")
    broken: wp.array[Any] = rows("mass", wp.uint64, grows="masses")
    partners: wp.array[Any] = rows("contact")
    slips: wp.array[Any] = rows("contact")
    hollows: wp.array[Any] = rows("corner")
    sand_forces: wp.array[Any] = rows("sunk")
    commands: wp.array[Any] = rows("channel", wp.vec4d)
    begun: wp.array[Any] = rows("world", wp.int64)
    variation: Variation = nested()
    clock: wp.array[Any] = rows("simulation", wp.int64)


class Solver:
    """Advances the state of a model.

    Args:
        model: The model.
        threads: CPU threads; None takes all cores.

    Attributes:
        readout: What reads states.
    """

    physics = "springs"

    def __init__(self, model: Model, *, threads: int | None = None) -> None:
        self.model, self.device = model, model.device
        self.threads = min(thread_count(threads), max(1, model.mass_count // _MASSES_A_THREAD))
        self.dt = model.dt
        self.batch = self._batch()
        self._interactions = Interactions(model)
        self._work = self._scratch()
        self._next = self._state_buffers()
        self._team = None if self.device.is_cuda else Team(self.threads)
        self.graphs = Graphs(self.device, kept=8)
        self.readout = Readout(model)
        self._painter = Painter(model, self.readout)
        self._bound: State | None = None
        self._energies: list[Energy] = []
        self._broken: list[Event] = []  # not yet collected
        self._seen_broken = np.zeros(model.mass_count if model.features.breaking else 0, np.uint64)

    @property
    def worlds(self) -> int:
        """Number of independent worlds side by side."""
        return self.model.worlds

    @property
    def controls(self) -> tuple[Control, ...]:
        """Channels that stretch springs and drive motors by command."""
        return self.model.controls

    def commanded(self, state: State) -> Commanded:
        """Where a state keeps its commands."""
        return Commanded(state.commands, state.clock, state.variation, state.begun)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """What can differ from world to world."""
        return parameters_of(self.model)

    def variation(self, state: State) -> Variation:
        """Where a state keeps its parameters."""
        return state.variation

    def take_parameters(self, state: State, before: wp.array[Any], mask: wp.array[Any]) -> None:
        """Follow a change of parameters: masses are part of the positions, the rest is read at each batch of steps."""
        scale_masses(self.model, state.positions, state.variation, before, mask)
        self._begin_accelerations(state, mask)
        heed(self.model, state.variation)
        if self._bound is state:
            self._bound = None  # kernels that heed parameters from now on

    def require_parameters(self, ranges: Mapping[str, tuple[float, float]]) -> None:
        """Refuse parameters with which the time step would be too long."""
        require_stable(self.model, ranges)

    @property
    def fields(self) -> tuple[str, ...]:
        """Scalars that snapshots can be coloured by."""
        return self._painter.fields

    def initial_state(self) -> State:
        """The state in which the body was built."""
        body, types = self.model.body, self.model.types
        inverse = np.where(body.fixed, 0.0, 1.0 / body.masses)
        positions = np.column_stack([body.positions, inverse]).astype(self.model.numpy_real)
        verlet = self.model.world.integrator == "verlet"
        breakable = self.model.mass_count if self.model.features.breaking else 0
        partners, slips = self._interactions.memory()
        state = State(
            positions=wp.array(positions, dtype=types.vec4, device=self.device),
            velocities=wp.array(_guided(body), dtype=types.vec3, device=self.device),
            accelerations=wp.zeros(self.model.mass_count if verlet else 0, dtype=types.vec3, device=self.device),
            broken=wp.zeros(breakable, dtype=wp.uint64, device=self.device),
            partners=partners,
            slips=slips,
            hollows=wp.zeros(self.model.hollow_count, dtype=types.real, device=self.device),
            sand_forces=wp.zeros(self.model.sunk_count, dtype=types.vec3, device=self.device),
            commands=resting_commands(self.controls, self.worlds, self.device),
            begun=wp.zeros(self.worlds if self.model.batched else 0, dtype=wp.int64, device=self.device),
            variation=unvaried(self.device),
            clock=wp.zeros(1, dtype=wp.int64, device=self.device),
        )
        if verlet:
            self._first_acceleration(state)
        return state

    def advance(self, state: State, steps: int) -> None:
        """Take steps; on CUDA this returns before they are done."""
        self.bind(state)
        while steps > 0:
            count = min(steps, self.batch)
            if self.device.is_cuda:  # a graph is captured for each count: powers of two keep them few
                count = 1 << (count.bit_length() - 1)
            if self.device.is_cuda:
                self._advance_cuda(state, count)
            else:
                self._advance_cpu(state, count)
            steps -= count

    def reset(self, state: State, mask: wp.array[Any] | None = None) -> None:
        """Bring worlds back to their beginning, before all edits; see `core.solver.Solver`."""
        if mask is not None and self.worlds > 1:
            self._reset_some(state, mask)
            return
        if mask is not None and not mask.numpy()[0]:
            return
        self._restore_model({})
        beginning = self.initial_state()
        if mask is not None:  # time goes on, and that of the world is counted from here
            wp.copy(beginning.clock, state.clock)
            if self.model.batched:
                wp.copy(beginning.begun, state.clock)
        copy_state(beginning, state, but="variation")
        self.begin_varied(state, self._every)

    def _reset_some(self, state: State, mask: wp.array[Any]) -> None:
        """Bring some of several worlds back; time goes on, and theirs is counted from here."""
        if self.model.features.breaking:
            self._mend(state, mask)
        restore_worlds(self._beginning, state, mask, self._world_of)
        wp.launch(begin_again, self.worlds, [mask, state.clock], [state.begun], device=self.device)
        if state.variation.there:
            self.begin_varied(state, mask)
        else:
            self._begin_accelerations(state, mask)  # gravity or motors may have changed since the first beginning

    def begin_varied(self, state: State, mask: wp.array[Any]) -> None:
        """Give worlds that are as they were built the masses and first accelerations of their parameters."""
        if state.variation.there:
            scale_masses(self.model, state.positions, state.variation, self._at_rest, mask)
            self._begin_accelerations(state, mask)

    def _begin_accelerations(self, state: State, mask: wp.array[Any]) -> None:
        """Verlet begins with accelerations that suit the parameters of a world."""
        if len(state.accelerations):
            before = clone_state(state)
            state.accelerations.zero_()  # as at the first beginning: damping looks ahead with them
            self._first_acceleration(state)
            begun = clone_state(state)
            copy_state(before, state)
            restore_worlds(begun, state, mask, {"mass": self._world_of["mass"]})

    @cached_property
    def _at_rest(self) -> wp.array[Any]:
        rests = np.tile([parameter.rest for parameter in self.parameters], self.worlds)
        return wp.array(rests, dtype=wp.float64, device=self.device)

    @cached_property
    def _every(self) -> wp.array[Any]:
        return wp.full(self.worlds, True, dtype=wp.bool, device=self.device)

    def _mend(self, state: State, mask: wp.array[Any]) -> None:
        """Note what has broken so far, and take the broken springs of some worlds back into the list."""
        network, each = self.model.network, self.model.one.mass_count
        with network.settled():
            self.harvest([state])
            if len(network.struck["mass"]):
                masses = np.repeat(mask.numpy(), each)
                network.mend(masses)
                self._seen_broken[masses] = 0

    def take_world(self, source: State, target: State, world: int) -> None:
        """Copy one of several worlds into a state of one world; see `core.solver.Separable`."""
        take_world(source, target, world, self.worlds)
        self._interactions.take_world(source, target, world)

    def kick(self, state: State, velocities: wp.array[Any], mask: wp.array[Any]) -> None:
        """Add a velocity to all masses of masked worlds that are not fixed; see `core.solver.Kickable`."""
        arguments = [mask, self._world_of["mass"], self._movable, velocities, state.velocities]
        wp.launch(kick_kernel(self.model.types.vec3), len(self._movable), arguments, device=self.device)

    @cached_property
    def _movable(self) -> wp.array[Any]:
        free = np.tile(~self.model.one.fixed, self.worlds)
        return wp.array(free, dtype=wp.bool, device=self.device)

    @cached_property
    def _beginning(self) -> State:
        return self.initial_state()

    @cached_property
    def _world_of(self) -> dict[str, wp.array[Any]]:
        """World of each mass, of each channel and of what contacts remember."""
        each = {"mass": self.model.one.mass_count, "channel": len(self.controls)}
        each |= {"corner": self.model.hollow_count // self.worlds, "sunk": self.model.sunk_count // self.worlds}
        found = {name: np.repeat(np.arange(self.worlds), count) for name, count in each.items()}
        found["contact"] = self._interactions.world_of_memory()
        return {name: wp.array(of.astype(np.int32), dtype=wp.int32, device=self.device) for name, of in found.items()}

    def enqueue(self, state: State, steps: int) -> None:
        """Launch steps on CUDA one by one, for callers that capture them together with launches of their own."""
        self.bind(state)
        while steps > 0:  # the table of signals has room for a batch
            count = min(steps, self.batch)
            self._enqueue(state, count)
            steps -= count

    def relayed(self, state: State, steps: int) -> list[relay.Leg] | None:
        """So many steps on a CPU as legs that others launch between theirs, see `core.relay`.

        None where the host has to look after each batch of steps: masses that touch each other may need longer lists.
        """
        if self.model.features.colliding:
            return None
        self.bind(state)
        here, after = (state.positions, state.velocities), self._next
        kernel = team_kernel(shared_by_teams(self.model.features))
        count = self.model.mass_count if steps % 2 else 1
        end = hand_over_kernel(self.model.types.real)
        return [
            [relay.Task(kernel, [steps, self.model.arrays, self._work, *here, *after])],
            [relay.Task(end, [steps, *after, state.clock, *here], count)],
        ]

    # Steps that are taken without a break, between which others launch something, share their signals and their end.

    def has_room(self, steps: int) -> bool:
        """Whether so many steps on CUDA can share them; masses that touch each other are looked at in each."""
        return steps <= self.batch and not self.model.features.colliding

    def within(self, state: State, steps: int) -> tuple[wp.array[Any], wp.array[Any]]:
        """Where positions and velocities are after so many of these steps."""
        return self._next if steps % 2 else (state.positions, state.velocities)

    def enqueue_signals(self, state: State, steps: int) -> None:
        """Launch what springs follow in so many steps."""
        self.bind(state)
        derive(self.model, self._work, state.variation)
        if self.model.features.actuated:
            size = (steps * self.model.features.signal_rows_per_step + 1, self.model.signal_count * self.worlds)
            self._launch(signal_kernel(self.model.features), size, [], block=256)

    def enqueue_steps(self, state: State, first: int, steps: int) -> None:
        """Launch some of these steps, after so many."""
        features, per_step = self.model.features, self.model.features.signal_rows_per_step
        for step in range(first, first + steps):
            base, out = self.within(state, step), self.within(state, step + 1)
            for number, kind in enumerate(features.passes):
                self._launch_pass(kind, number, step, per_step, base, out)

    def enqueue_end(self, state: State, steps: int) -> None:
        """Launch what brings the state to the end of all of them."""
        for target, source in zip(self.within(state, 0), self.within(state, steps), strict=True):
            if target is not source:
                wp.copy(target, source)
        wp.launch(advance_clock, 1, [steps, state.clock], device=self.device)

    def adjoint(self, state: State) -> SpringAdjoint:
        """What runs motions from a state there and back, for gradients; see `core.adjoint.Differentiable`."""
        with self.model.network.settled():
            return SpringAdjoint(self.model, state, self.threads)

    def diverged_at(self) -> int | None:
        """The step after which a velocity was no longer finite, None while all are; waits for the device."""
        step = int(self._work.trouble.numpy()[0])
        self._interactions.settle()
        return step if step >= 0 else None

    def clear_divergence(self) -> None:
        """Forget a divergence, conditions that held and lists of contacts, after the state was restored."""
        self._interactions.invalidate()
        self._work.trouble.fill_(-1)
        self._work.hits.fill_(-1)

    def describe_divergence(self, state: State) -> str:
        """The fastest mass and the longest stable step, in words."""
        velocities = state.velocities.numpy().astype(float)
        largest = max(float(np.abs(velocities).max(initial=0.0)), 1e-300)
        speeds = np.linalg.norm(velocities / largest, axis=1) * largest  # squares of what is about to diverge overflow
        fastest = int(np.nanargmax(speeds))
        each = self.model.one.mass_count
        named = f"{fastest % each} of world {fastest // each}" if self.worlds > 1 else f"{fastest}"
        stable, culprit = self.model.stable_step(), self.model.what_limits_the_step()
        found = (
            f"mass {named} moves fastest, at {speeds[fastest]:.3g} m/s; the stable step of this model is about "
            f"{stable:.3g} s, limited most by {culprit}, and dt is {self.dt:.3g} s"
        )
        if self.dt > stable:
            return f"{found}; a smaller step helps, and dt='auto' takes one"
        return f"{found}, which is stable for small motions: look for large forces, deformations or speeds"

    def stable_step(self) -> float:
        """Longest stable time step [s], estimated."""
        return self.model.stable_step()

    def fingerprint(self) -> str:
        """Identity of the model, for checkpoints."""
        return f"springs-{self.model.fingerprint()}"

    def snapshot(self, state: State, look: Look) -> Snapshot:
        """A picture of the state."""
        with self.model.network.settled():
            if self.model.batched and self.model.features.breaking:
                self._follow_marks(state)
            return self._painter.snapshot(state, look)

    def scenery(self) -> Scenery:
        """What cameras and lidars can see; see `core.scenery.Visible`."""
        with self.model.network.settled():
            return scenery_of(self.model, self.readout, self._painter)

    def _follow_marks(self, state: State) -> None:
        """Let the list of springs say what the marks of a state do, also of a state that was taken from elsewhere."""
        self.harvest([state])
        masks, network = state.broken.numpy(), self.model.network
        if not np.array_equal(masks, self._seen_broken):
            network.mend(np.ones(self.model.mass_count, bool))
            network.strike(broken_springs(network, masks))
            self._seen_broken = masks.copy()

    # --- conditions that end a run ---

    def watch_condition(self, condition: Any) -> None:
        """Watch a condition: an `Energy`, or a Warp function `(time, index, position, velocity) -> bool`."""
        if isinstance(condition, Energy):
            self._energies.append(condition)
            return
        if not isinstance(condition, wp.Function):
            kind = type(condition).__name__
            raise InvalidValue(f"a condition must be a Python function, a Warp function or an Energy, not {kind}.")
        conditions = (*self.model.features.conditions, condition)
        if len(conditions) > _MOST_CONDITIONS:
            raise InvalidValue(f"at most {_MOST_CONDITIONS} conditions can be watched at once.")
        self._set_conditions(conditions)

    def drop_condition(self, condition: Any) -> None:
        """Stop watching a condition."""
        if isinstance(condition, Energy):
            self._energies.remove(condition)
            return
        conditions = list(self.model.features.conditions)
        conditions.remove(condition)
        self._set_conditions(tuple(conditions))

    def condition_hits(self, state: State) -> dict[Any, int]:
        """The first step after which each watched condition held, where it did."""
        steps = self._work.hits.numpy()
        watched = self.model.features.conditions
        hits: dict[Any, int] = {c: int(step) for c, step in zip(watched, steps, strict=False) if step >= 0}
        if self._energies:
            summary, now = self.readout.summary(state), int(state.clock.numpy()[0])
            hits |= {energy: now for energy in self._energies if energy.holds(summary)}
        return hits

    def _set_conditions(self, conditions: tuple[wp.Function, ...]) -> None:
        self.model.features = replace(self.model.features, conditions=conditions)
        self._work.hits.fill_(-1)
        self.graphs.clear()

    # --- edits ---

    def changes(self) -> dict[str, np.ndarray]:
        """What edits and breaking have made of the body; see `core.solver.Changing`."""
        with self.model.network.settled():
            return self.model.changes()

    def restore_changes(self, changes: Mapping[str, np.ndarray], state: Mapping[str, np.ndarray]) -> None:
        """Make the body what it was; see `core.solver.Changing`."""
        wanted = len(changes["mass"]) if "mass" in changes else self.model.body.mass_count
        if len(state["positions"]) != wanted:
            raise FileFormatError(f"the checkpoint is damaged: it has {len(state['positions'])} masses, not {wanted}.")
        self._restore_model(changes)
        self._seen_broken = state["broken"].copy()

    def _restore_model(self, changes: Mapping[str, np.ndarray]) -> None:
        with self.model.network.settled():
            if not changes and not self.model.network.edited:
                return
            self.model.restore_changes(changes)
        self._seen_broken = np.zeros(self.model.mass_count if self.model.features.breaking else 0, np.uint64)
        self._renew_scratch()

    def editor(self, *states: State) -> Editor:
        """A new edit of the network behind these states."""
        if self.worlds > 1:
            raise InvalidValue("bodies of several worlds cannot be edited while they run: simulate one world.")
        return Editor(self, states)

    def collect_events(self, *states: State) -> list[Event]:
        """Springs that broke since the last time, as one event for each time that they were looked for."""
        if self.model.features.breaking or self.model.network.prepared:
            with self.model.network.settled():
                self.harvest(states)
        events, self._broken = self._broken, []
        return events

    def harvest(self, states: Sequence[State]) -> None:
        """Remove springs that broke on the device from the list of springs, and note the event.

        Their entries stay in the rows, marked as broken: sums keep their order, whenever this happens to be called.
        """
        network = self.model.network
        step = int(self._work.breaks.numpy()[0]) if self.model.features.breaking else -1
        if step < 0:
            return
        self._work.breaks.fill_(-1)
        masks = states[0].broken.numpy()
        broken = network.springs.handles(broken_springs(network, masks & ~self._seen_broken))
        self._seen_broken = masks.copy()
        network.strike(broken.index)
        if len(broken):
            self._broken.append(Event("broken", step * self.dt, step, broken))

    def sweep_broken(self, states: Sequence[State]) -> None:
        """Take the entries of broken springs out of the rows, before an edit that may move entries."""
        self.harvest(states)
        network = self.model.network
        if len(network.struck["mass"]):
            patch = network.rewire(network.struck, network.halves(np.zeros(0, np.int64)))
            network.struck = network.halves(np.zeros(0, np.int64))
            self.install(patch, [], np.zeros(0, np.int64), states)
            self._seen_broken[patch.masses] = 0

    def positions_of(self, state: State, masses: np.ndarray) -> np.ndarray:
        """Positions of a few masses [m], shape [k, 3], whatever the size of the body."""
        inside = np.minimum(masses, self.model.mass_count - 1)
        return gather_elements(state.positions, inside)[:, :3].astype(float)

    def install(self, patch: Patch, changes: Sequence[MassChange], gone: np.ndarray, states: Sequence[State]) -> None:
        """Bring a change of the network and of masses to the device, between two steps."""
        if not patch.written:
            self.prepare(patch)
        if self.model.network.masses.used > self.model.mass_count:
            self._grow(states)
        if not patch.written:
            self.model.move_rows()
            self.graphs.clear()
        self.model.switch_rows(patch)
        self.model.network.release(patch)
        self._interactions.forget(gone)
        for state in states:
            if len(state.broken):
                scatter(state.broken, patch.masses, np.zeros(len(patch.masses), np.uint64))
            for change in changes:
                self._change_masses(state, change)
            if len(gone):
                held = MassChange(gone, velocities=np.zeros((len(gone), 3)), fixed=np.ones(len(gone), bool))
                self._change_masses(state, held)

    def prepare(self, patch: Patch) -> None:
        """Write the new rows of a change to the device, ahead of `install`, if there is room for them."""
        patch.written = self.model.write_rows(patch)

    def _change_masses(self, state: State, change: MassChange) -> None:
        model, real = self.model, self.model.numpy_real
        if change.masses is not None:
            model.masses[change.index] = change.masses
        if change.fixed is not None:
            model.fixed[change.index] = change.fixed
        if change.positions is not None or change.masses is not None or change.fixed is not None:
            rows = gather_elements(state.positions, change.index)
            if change.positions is not None:
                rows[:, :3] = change.positions
            masses = model.masses[change.index] * self._mass_factor(state)
            rows[:, 3] = np.where(model.fixed[change.index], 0.0, 1.0 / masses)
            scatter(state.positions, change.index, rows.astype(real))
        if change.velocities is not None:
            scatter(state.velocities, change.index, change.velocities.astype(real))
        if change.forces is not None and model.set_forces(change.index, change.forces):
            self.graphs.clear()

    def _mass_factor(self, state: State) -> float:
        """The factor on masses of the one world that is edited."""
        return float(state.variation.values.numpy()[MASS]) if state.variation.there else 1.0

    def _grow(self, states: Sequence[State]) -> None:
        """Make room for more masses; the room doubles each time, so that this is rare."""
        room = max(self.model.network.masses.used, self.model.mass_count * 3 // 2)
        self.model.grow(room)
        for state in states:
            arrays = state_arrays(state)
            for name in ("positions", "velocities", "accelerations", "broken"):
                if len(arrays[name]):
                    setattr(state, name, grown(arrays[name], room))
        if len(self._seen_broken):
            self._seen_broken = np.append(self._seen_broken, np.zeros(room - len(self._seen_broken), np.uint64))
        bound = self._bound
        self._renew_scratch()
        if bound is not None:
            self.bind(bound)

    def _renew_scratch(self) -> None:
        """Make the memory that steps work in anew, for another number of masses."""
        clock = self._work.clock
        self._work, self._next, self._bound = self._scratch(), self._state_buffers(), None
        self._work.clock = clock
        self.graphs.clear()

    # --- launches ---

    def _advance_cpu(self, state: State, steps: int) -> None:
        assert self._team is not None
        here, after = (state.positions, state.velocities), self._next
        self._interactions.begin()
        kernel = team_kernel(shared_by_teams(self.model.features))
        self._team.run(kernel, [steps, self.model.arrays, self._work, *here, *after])
        if steps % 2:
            for target, source in zip(here, after, strict=True):
                copy_array(source, target)
        state.clock.numpy()[0] += steps
        self._interactions.settle()

    def _advance_cuda(self, state: State, steps: int) -> None:
        self.graphs.run(steps, lambda: self._enqueue(state, steps))

    def _enqueue(self, state: State, steps: int) -> None:
        """Launch a batch of steps; recorded into a graph they are not executed."""
        self.enqueue_signals(state, steps)
        self._interactions.look(state.positions)
        self.enqueue_steps(state, 0, steps)
        self.enqueue_end(state, steps)

    def _launch_pass(self, kind: str, number: int, step: int, per_step: int, base: Any, out: Any) -> None:
        work, lanes, masses = self._work, self.model.lanes, self.model.mass_count
        stages = {"base": base, "out": out, "p": (work.x_p, work.v_p), "q": (work.x_p, work.v_q)}
        x_from, v_from, x_to, v_to = buffers_of(kind)
        if kind == "inner":  # smaller steps go back and forth between two buffers
            x_from, x_to = ("out", "p") if number % 2 else ("p", "out")
            v_from, v_to, masses = x_from, x_to, len(self.model.arrays.fast_masses)
        kernel = pass_kernel(self.model.features, kind, lanes)
        row = step * per_step + int(time_shift(kind) * per_step)
        self._interactions.ready(work, kind, step, stages[x_from][0], stages[v_from][1])
        arguments = [step, row, *base, stages[x_from][0], stages[v_from][1], stages[x_to][0], stages[v_to][1]]
        threads = -(-masses * lanes // _BLOCK) * _BLOCK
        self._launch(kernel, threads, arguments, block=_BLOCK)

    def _launch(self, kernel: wp.Kernel, dim: Any, arguments: list[Any], *, block: int) -> None:
        wp.launch(
            kernel,
            dim,
            [self.model.arrays, self._work, *arguments],
            device=self.device,
            block_dim=block if self.device.is_cuda else None,
        )

    def bind(self, state: State) -> None:
        """Point the kernels at the clock and accelerations of this state; graphs of another state are dropped."""
        if self._bound is state and self.model.features.varied == state.variation.there:
            return
        self._bound = state
        self._work.clock, self._work.broken = state.clock, state.broken
        self._work.commands, self._work.begun = state.commands, state.begun
        derive(self.model, self._work, state.variation)
        self._interactions.bind(state.partners, state.slips)
        self.model.bind_sand(state.hollows, state.sand_forces)
        if len(state.accelerations):
            self._work.accelerations = state.accelerations
        self.graphs.clear()

    def _first_acceleration(self, state: State) -> None:
        """Verlet begins with the acceleration at the initial state: a kick whose velocities are thrown away."""
        self.bind(state)
        derive(self.model, self._work, state.variation)  # which may have been drawn anew since it was bound
        features = self.model.features
        if features.actuated:
            self._launch(signal_kernel(features), (1, self.model.signal_count * self.worlds), [], block=256)
        here = (state.positions, state.velocities)
        self._interactions.look(state.positions)
        self._interactions.ready(self._work, "kick", -1, *here)
        arguments = [-1, 0, *here, *here, *self._next]  # a kick looks at the end of its step: the one before the first
        self._launch(pass_kernel(features, "kick", 1), self.model.mass_count, arguments, block=_BLOCK)

    def _batch(self) -> int:
        model = self.model
        if not model.features.actuated:
            return 64 if self.device.is_cuda else 128
        width = model.signal_count * model.worlds
        return int(np.clip(_FACTORS // (width * model.features.signal_rows_per_step), 1, 64))

    def _scratch(self) -> Any:
        types, count, features = self.model.types, self.model.mass_count, self.model.features
        work = types.Work()
        self._interactions.attach(work)
        rows = self.batch * features.signal_rows_per_step + 1
        stages = count if len(features.passes) > 1 else 0
        rk4 = count if features.integrator == "rk4" else 0
        sizes = {"forces": 0 if self.device.is_cuda else count, "v_p": stages, "v_q": rk4}
        for name, size in sizes.items():
            setattr(work, name, wp.zeros(size, dtype=types.vec3, device=self.device))
        work.x_p = wp.zeros(stages, dtype=types.vec4, device=self.device)
        work.factors = wp.zeros(
            rows * self.model.signal_count * self.worlds if features.actuated else 0,
            dtype=types.real,
            device=self.device,
        )
        work.trouble = wp.full(1, -1, dtype=wp.int64, device=self.device)
        work.breaks = wp.full(1, -1, dtype=wp.int64, device=self.device)
        work.hits = wp.full(_MOST_CONDITIONS, -1, dtype=wp.int64, device=self.device)
        work.clock = wp.zeros(1, dtype=wp.int64, device=self.device)
        return work

    def _state_buffers(self) -> tuple[wp.array[Any], wp.array[Any]]:
        types, count = self.model.types, self.model.mass_count
        return (
            wp.zeros(count, dtype=types.vec4, device=self.device),
            wp.zeros(count, dtype=types.vec3, device=self.device),
        )


def _guided(body: Any) -> np.ndarray:
    """Initial velocities, less what guides do not allow."""
    velocities, axes = body.velocities.copy(), body.guide_axes
    along = np.einsum("ij,ij->i", velocities, axes)[:, None] * axes
    velocities[body.guides == 1] = along[body.guides == 1]
    velocities[body.guides == 2] -= along[body.guides == 2]
    return velocities
