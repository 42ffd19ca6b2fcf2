"""The solver of a mass-spring model: beginnings, parameters, conditions, edits; steps are those of `stepping`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import warp as wp

from annelid.core.controls import resting_commands
from annelid.core.device import thread_count
from annelid.core.elements import gather_elements, grown, scatter
from annelid.core.errors import FileFormatError, InvalidValue
from annelid.core.events import Event
from annelid.core.kernels.worlds import begin_again, kick_kernel
from annelid.core.model_solver import ModelSolver
from annelid.core.scenery import Scenery
from annelid.core.snapshot import Look, Snapshot
from annelid.core.state import (
    clone_state,
    copy_state,
    restore_worlds,
    state_arrays,
    take_world,
)
from annelid.core.variation import Parameter, unvaried
from annelid.shapes import Obstacle
from annelid.shapes.motions import Bodies
from annelid.springs.adjoint.adjoint import SpringAdjoint
from annelid.springs.conditions import Energy
from annelid.springs.edit import Editor, MassChange
from annelid.springs.interactions import Interactions
from annelid.springs.kernels.layout import UNBROKEN
from annelid.springs.kernels.parameters import MASS
from annelid.springs.marks import broken_springs
from annelid.springs.model import Model
from annelid.springs.network import Patch
from annelid.springs.parameters import heed, parameters_of, require_stable, scale_masses
from annelid.springs.pictures import Painter
from annelid.springs.readout import Readout
from annelid.springs.scenery import scenery_of
from annelid.springs.state import State
from annelid.springs.stepping import MOST_CONDITIONS, Stepping

_MASSES_A_THREAD = 500  # below this another CPU thread costs more at the barrier than it brings


class Solver(ModelSolver[Model, Painter]):
    """Advances the state of a model.

    Args:
        model: The model.
        threads: CPU threads; None takes all cores.

    Attributes:
        stepping: What takes steps.
        readout: What reads states.
    """

    physics = "springs"

    def __init__(self, model: Model, *, threads: int | None = None) -> None:
        self.model, self.device, self.worlds = model, model.device, model.worlds
        self.threads = min(thread_count(threads), max(1, model.mass_count // _MASSES_A_THREAD))
        self.dt = model.dt
        self._interactions = Interactions(model)
        self.stepping = Stepping(model, self._interactions, threads=self.threads)
        self.batch = self.stepping.batch
        self.readout = Readout(model)
        self._painter = Painter(model, self.readout)
        self._energies: list[Energy] = []
        self._broken: list[Event] = []  # not yet collected
        self._seen_broken = np.zeros(model.mass_count if model.features.breaking else 0, np.uint64)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """What can differ from world to world."""
        return parameters_of(self.model)

    def take_parameters(self, state: State, before: wp.array[Any], mask: wp.array[Any]) -> None:
        """Follow a change of parameters: masses are part of the positions, the rest is read at each batch of steps."""
        scale_masses(self.model, state.positions, state.variation, before, mask)
        self._begin_accelerations(state, mask)
        heed(self.model, state.variation)
        if self.stepping.bound is state:
            self.stepping.bound = None  # kernels that heed parameters from now on

    def require_parameters(self, ranges: Mapping[str, tuple[float, float]]) -> None:
        """Refuse parameters with which the time step would be too long."""
        require_stable(self.model, ranges)

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
            settled=wp.zeros(self.model.settled_shape, dtype=types.real, device=self.device),
            broken=wp.zeros(breakable, dtype=wp.uint64, device=self.device),
            partners=partners,
            slips=slips,
            hollows=wp.zeros(self.model.hollow_count, dtype=types.real, device=self.device),
            sand_forces=wp.zeros(self.model.sunk_count, dtype=types.vec3, device=self.device),
            commands=resting_commands(self.controls, self.worlds, self.device),
            bodies=self.model.motions.initial(),
            begun=wp.zeros(self.worlds if self.model.batched else 0, dtype=wp.int64, device=self.device),
            variation=unvaried(self.device),
            clock=wp.zeros(1, dtype=wp.int64, device=self.device),
        )
        if verlet:
            self.stepping.first_acceleration(state)
        return state

    def advance(self, state: State, steps: int) -> None:
        """Take steps; on CUDA this returns before they are done."""
        self.stepping.advance(state, steps)

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
            elif isinstance(beginning.bodies, Bodies):
                beginning.bodies.since.fill_(int(state.clock.numpy()[0]))
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
            self.stepping.first_acceleration(state)
            begun = clone_state(state)
            copy_state(before, state)
            restore_worlds(begun, state, mask, {"mass": self._world_of["mass"]})

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
    def _world_of(self) -> dict[str, wp.array[Any]]:
        """World of each mass, of each channel and of what contacts remember."""
        each = {"mass": self.model.one.mass_count, "channel": len(self.controls)}
        each |= {"body": self.model.motions.count}
        each |= {"corner": self.model.hollow_count // self.worlds, "sunk": self.model.sunk_count // self.worlds}
        found = {name: np.repeat(np.arange(self.worlds), count) for name, count in each.items()}
        found["contact"] = self._interactions.world_of_memory()
        return {name: wp.array(of.astype(np.int32), dtype=wp.int32, device=self.device) for name, of in found.items()}

    def adjoint(self, state: State) -> SpringAdjoint:
        """What runs motions from a state there and back, for gradients; see `core.adjoint.Differentiable`."""
        with self.model.network.settled():
            return SpringAdjoint(self.model, state, self.threads)

    def drive(self, state: State, body: Obstacle | int | str, velocity: Any = None, spin: Any = None) -> None:
        """Set how a driven obstacle moves from now on, in all worlds; see `core.solver.Driving`."""
        motions, clock = self.model.motions, int(state.clock.numpy()[0])
        motions.drive(motions.number_of(body), state.bodies, clock, state.begun.numpy(), velocity, spin)

    def diverged_at(self) -> int | None:
        """The step after which a velocity was no longer finite, None while all are; waits for the device."""
        step = int(self.stepping.work.trouble.numpy()[0])
        self._interactions.settle()
        return step if step >= 0 else None

    def clear_divergence(self) -> None:
        """Forget a divergence, conditions that held and lists of contacts, after the state was restored."""
        self._interactions.invalidate()
        self.stepping.work.trouble.fill_(-1)
        self.stepping.work.hits.fill_(-1)

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
        if len(conditions) > MOST_CONDITIONS:
            raise InvalidValue(f"at most {MOST_CONDITIONS} conditions can be watched at once.")
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
        steps = self.stepping.work.hits.numpy()
        watched = self.model.features.conditions
        hits: dict[Any, int] = {c: int(step) for c, step in zip(watched, steps, strict=False) if step >= 0}
        if self._energies:
            summary, now = self.readout.summary(state), int(state.clock.numpy()[0])
            hits |= {energy: now for energy in self._energies if energy.holds(summary)}
        return hits

    def _set_conditions(self, conditions: tuple[wp.Function, ...]) -> None:
        self.model.features = replace(self.model.features, conditions=conditions)
        self.stepping.work.hits.fill_(-1)
        self.stepping.graphs.clear()

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
        self.stepping.renew()

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
        last = int(self.stepping.work.breaks.numpy()[0]) if self.model.features.breaking else UNBROKEN
        if last == UNBROKEN:
            return
        step = max(last, 0)  # what begins too long breaks before the first step
        self.stepping.work.breaks.fill_(UNBROKEN)
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
            self.stepping.graphs.clear()
        self.model.switch_rows(patch)
        self.model.network.release(patch)
        self._interactions.forget(gone)
        if len(gone):
            self.model.keep_surface()
        for state in states:
            if self.model.features.delayed:  # entries have moved: dashpots settle again
                self._settle_anew(state)
            if len(state.broken):
                scatter(state.broken, patch.masses, np.zeros(len(patch.masses), np.uint64))
            for change in changes:
                self._change_masses(state, change)
            if len(gone):
                held = MassChange(gone, velocities=np.zeros((len(gone), 3)), fixed=np.ones(len(gone), bool))
                self._change_masses(state, held)

    def _settle_anew(self, state: State) -> None:
        if state.settled.shape == self.model.settled_shape:
            state.settled.zero_()
            return
        state.settled = wp.zeros(self.model.settled_shape, dtype=self.model.types.real, device=self.device)
        if self.stepping.bound is state:
            self.stepping.bound = None

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
            self.stepping.graphs.clear()

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
        bound = self.stepping.bound
        self.stepping.renew()
        if bound is not None:
            self.stepping.bind(bound)


def _guided(body: Any) -> np.ndarray:
    """Initial velocities, less what guides do not allow."""
    velocities, axes = body.velocities.copy(), body.guide_axes
    along = np.einsum("ij,ij->i", velocities, axes)[:, None] * axes
    velocities[body.guides == 1] = along[body.guides == 1]
    velocities[body.guides == 2] -= along[body.guides == 2]
    return velocities
