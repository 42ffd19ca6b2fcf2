"""Stepping spring bodies and grains together, each in steps of its own."""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import warp as wp

from annelid import grains, springs
from annelid.core.controls import resting_commands
from annelid.core.elements import scatter
from annelid.core.errors import FileFormatError, InvalidValue
from annelid.core.relay import Leg
from annelid.core.scenery import Scenery
from annelid.core.solver import Side
from annelid.core.state import (
    clone_state,
    copy_state,
    declared,
    new_state,
    part_of,
    restore_worlds,
    state_arrays,
    take_world,
)
from annelid.core.variation import Parameter, unvaried
from annelid.core.weakly import weakly
from annelid.coupling.exchange import Exchange
from annelid.coupling.meeting_solver import MeetingSolver
from annelid.coupling.model import Model
from annelid.coupling.parameters import PARAMETERS, SideParameters, require_both, scale_guest_masses
from annelid.coupling.readout import Readout
from annelid.coupling.state import State
from annelid.springs.edit import Editor, MassChange
from annelid.springs.network import Patch

_EDITED = ("present", "alive", "extents", "outside")  # arrays of the guests that follow edits


class Solver(MeetingSolver[Model]):
    """Advances the state of a model.

    A step is one of the grains, in which they and the surface masses of the body find their impulses, and then the
    steps of the springs that it spans, during which the impulses act as constant forces.

    Args:
        model: The model.
        threads: CPU threads; None takes all cores.

    Attributes:
        springs: The solver of the spring body.
        grains: The solver of grains, guests and rigid bodies.
        readout: What reads states.
    """

    def __init__(self, model: Model, *, threads: int | None = None) -> None:
        self.model, self.device, self.worlds = model, model.device, model.worlds
        self.dt = model.dt
        self.springs = _Springs(model.springs, self, threads=threads)
        self.grains = grains.Solver(model.grains, threads=threads)
        self.batch = self.grains.batch
        self._given = {"springs": SideParameters(self.springs), "grains": SideParameters(self.grains)}
        self._exchange = Exchange(model.guests, model.bed, self.grains, model.springs.types.real)
        self._guests = self._exchange.guests
        self._state: State | None = None
        self._whole, self._taken = False, 0  # whether steps of the springs are launched without a break, and how many
        self._ready = False
        self._built_guests = self._edited_guests()
        body = Side(self.springs, lambda state: state.springs, "springs")
        self.readout = Readout(model, body)
        self._meet(body, (model.substeps, 1))
        self._accompany()

    # --- parameters ---

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """What can differ from world to world."""
        return PARAMETERS

    def take_parameters(self, state: State, before: wp.array[Any], mask: wp.array[Any]) -> None:
        """Follow a change of parameters: each side is given its own, and guests the masses of their bodies."""
        self.springs.take_parameters(state.springs, self._fill_springs(state), mask)
        self.grains.take_parameters(state.grains, self._fill_grains(state), mask)
        scale_guest_masses(self.grains, state.grains, state.variation, before, mask)
        self.forget()

    def require_parameters(self, ranges: Mapping[str, tuple[float, float]]) -> None:
        """Refuse parameters that one of the sides cannot have."""
        require_both(self.springs, self.grains, self._given, ranges)

    def _fill_springs(self, state: State) -> wp.array[Any]:
        return self._given["springs"].fill(state.variation, state.springs.variation)

    def _fill_grains(self, state: State) -> wp.array[Any]:
        return self._given["grains"].fill(state.variation, state.grains.variation)

    def _begin_varied(self, state: State, mask: wp.array[Any]) -> None:
        """Let spring bodies and guests of worlds that are as they were built follow their parameters."""
        if state.variation.there:
            self.springs.begin_varied(state.springs, mask)
            scale_guest_masses(self.grains, state.grains, state.variation, self._at_rest, mask)

    # --- states ---

    def initial_state(self) -> State:
        """Bodies and grains as they were built."""
        guests = self.model.guests
        counts = {"guest": len(guests), "surface-mass": len(guests.members)}
        sides = {"springs": self.springs.initial_state(), "grains": self.grains.initial_state()}
        commands = resting_commands(self.controls, self.worlds, self.device)
        state = new_state(State, counts, self.device, commands=commands, variation=unvaried(self.device), **sides)
        self._settle(state)
        return state

    def reset(self, state: State, mask: wp.array[Any] | None = None) -> None:
        """Bring worlds back to their beginning; see `core.solver.Solver`.

        Signals of the springs begin with their world; in worlds that were made one by one (`world_of`) they are
        functions of the clock, which all worlds share, and go on where some worlds begin again.
        """
        if state.variation.there:
            self._fill_springs(state)
            self._fill_grains(state)
        if mask is None:
            self.springs.reset(state.springs)
            self._set_guests(self._built_guests)
            beginning, every = self.initial_state(), self._every
            copy_state(beginning, state, but="variation")
            self.grains.unbind()
            self.grains.begin_varied(beginning.grains, state.grains, every)
            self._begin_varied(state, every)
            return
        if self.springs.worlds == 1 and self.springs.changes():
            raise InvalidValue("worlds with bodies that were edited or broke begin again together: reset all of them.")
        batched = self.springs.model.batched
        if not batched and len(state.springs.partners):
            raise InvalidValue(
                "copies of a body in which masses touch each other (collisions) begin again together: reset all of "
                "them, or give one body and worlds=n."
            )
        self.grains.restore(self._beginning.grains, state.grains, mask)
        if batched:
            self.springs.reset(state.springs, mask)
        restore_worlds(self._beginning, state, mask, self._world_of)
        self._begin_varied(state, mask)

    def take_world(self, source: State, target: State, world: int) -> None:
        """Copy one of several worlds into a state of one world; see `core.solver.Separable`."""
        if self.springs.model.batched:
            self.springs.take_world(source.springs, target.springs, world)
        else:
            take_world(source.springs, target.springs, world, self.worlds)
        self.grains.take_world(source.grains, target.grains, world)
        for name in declared(State):
            here, there = state_arrays(source)[name], state_arrays(target)[name]
            if len(there):
                wp.copy(there, here, src_offset=world * len(there), count=len(there))

    def _settle(self, state: State) -> None:
        """Bring guests to their masses after these were moved by hand."""
        self._exchange.settle(state, state.springs.positions, state.springs.velocities)

    # --- steps ---

    def advance(self, state: State, steps: int) -> None:
        """Take steps."""
        self._state = state
        if self.springs.model.features.varied != state.springs.variation.there:
            self.forget()
        if not self._ready:
            self._warm_up(state)
        self.springs.stepping.bind(
            state.springs
        )  # which copies from the host, and cannot be done while steps are captured
        if self.controls:
            self._hand_on(state)
        self.grains.advance(state.grains, steps)

    def _begin(self, steps: int) -> None:
        """Before so many steps of the grains on CUDA: what the springs follow in all of them, if there is room."""
        assert self._state is not None
        self._whole, self._taken = self.springs.stepping.has_room(steps * self.model.substeps), 0
        if self._whole:
            self.springs.stepping.enqueue_signals(self._state.springs, steps * self.model.substeps)

    def _end(self, steps: int) -> None:
        """After them."""
        assert self._state is not None
        if self._whole:
            self.springs.stepping.enqueue_end(self._state.springs, steps * self.model.substeps)

    def _follow(self, grains: Any) -> None:
        """After a step of the grains: the steps of the springs that it spans, and guests where they ended."""
        assert self._state is not None
        state, substeps = self._state, self.model.substeps
        x, _ = now = self.springs.stepping.within(state.springs, self._taken)
        felt = self.model.springs.arrays.forces, state.contact_forces
        self._exchange.press(state, x, felt, drift=0.5 - 0.5 / substeps)
        if self._whole:
            self.springs.stepping.enqueue_steps(state.springs, self._taken, substeps)
            self._taken += substeps
            now = self.springs.stepping.within(state.springs, self._taken)
        elif self.device.is_cuda:
            self.springs.stepping.enqueue(state.springs, substeps)
        else:
            self.springs.advance(state.springs, substeps)
        self._exchange.seat(state, grains, *now)

    def _legs(self, grains: Any) -> list[Leg] | None:
        """The same on a CPU as legs that a team runs after each step of the grains; None if the host has to look."""
        assert self._state is not None
        state, substeps = self._state, self.model.substeps
        here = state.springs.positions, state.springs.velocities
        steps = self.springs.stepping.relayed(state.springs, substeps)
        if steps is None:
            return None
        felt = self.model.springs.arrays.forces, state.contact_forces
        press = self._exchange.pressing(state, here[0], felt, drift=0.5 - 0.5 / substeps)
        return [[press], *steps, [self._exchange.seating(state, grains, *here)]]

    def _warm_up(self, state: State) -> None:
        """Load the kernels, which cannot happen while steps are captured."""
        self._ready = True
        if self.device.is_cuda:
            self._exchange.load()
            self._exchange.complete(state, state.springs.positions)
            self.springs.advance(clone_state(state.springs), self.model.substeps)

    def stable_step(self) -> float:
        """Longest stable time step of the springs [s], estimated."""
        return self.springs.stable_step()

    def scenery(self) -> Scenery:
        """What cameras and lidars can see of both sides; see `core.scenery.Visible`."""
        if self.springs.worlds != self.worlds:
            raise InvalidValue("sensors cannot see worlds that were made one by one: give one and worlds=n.")
        return super().scenery()

    # --- conditions, events, edits: those of the springs ---

    def watch_condition(self, condition: Any) -> None:
        """Look out for a condition of the springs; see `springs.Solver`."""
        self.springs.watch_condition(condition)
        self.forget()

    def drop_condition(self, condition: Any) -> None:
        """Look out for it no more."""
        self.springs.drop_condition(condition)
        self.forget()

    def condition_hits(self, state: State) -> dict[Any, int]:
        """The first step by whose end each watched condition held, where it did."""
        hits = self.springs.condition_hits(state.springs)
        return {condition: -(-step // self.model.substeps) for condition, step in hits.items()}

    def editor(self, *states: State) -> Editor:
        """A new edit of the network behind these states."""
        self.springs.whole = list(states)
        return self.springs.editor(*(state.springs for state in states))

    def follow_edit(self, changes: Sequence[MassChange], gone: np.ndarray, states: Sequence[State]) -> None:
        """Let guests follow an edit of the springs, between two steps."""
        guests, arrays = self.model.guests, self._guests
        members = guests.members
        for here, left in (
            (arrays.present, np.flatnonzero(np.isin(members, gone))),
            (arrays.alive, guests.hanging_on(gone)),
            (arrays.extents, guests.lying_on(gone)),
        ):
            scatter(here, left, np.zeros(len(left), wp.dtype_to_numpy(here.dtype)))
        for change in changes:
            if change.forces is not None:
                here, which = np.nonzero(members[:, None] == change.index[None, :])
                scatter(arrays.outside, here, change.forces[which].astype(np.float32))
        for state in states:
            self._settle(state)
        self.forget()

    def changes(self) -> dict[str, np.ndarray]:
        """What edits and breaking have made of the bodies and their guests; see `core.solver.Changing`."""
        found = self.springs.changes()
        return found and found | {f"guests.{name}": values for name, values in self._edited_guests().items()}

    def restore_changes(self, changes: Mapping[str, np.ndarray], state: Mapping[str, np.ndarray]) -> None:
        """Make bodies and guests what they were; see `core.solver.Changing`."""
        guests = {name: changes.get(f"guests.{name}", built) for name, built in self._built_guests.items()}
        for name, built in self._built_guests.items():
            if guests[name].shape != built.shape or guests[name].dtype != built.dtype:
                raise FileFormatError("the checkpoint is damaged: its guests do not fit the bodies.")
        self.springs.restore_changes(changes, part_of(state, "springs"))
        self._set_guests(guests)

    def _set_guests(self, values: Mapping[str, np.ndarray]) -> None:
        for name, one in values.items():
            getattr(self._guests, name).assign(one)
        self.forget()

    def _edited_guests(self) -> dict[str, np.ndarray]:
        return {name: getattr(self._guests, name).numpy().copy() for name in _EDITED}

    def forget(self) -> None:
        """Captured steps are of no use any more."""
        self._accompany()
        self._ready = False

    def _accompany(self) -> None:
        begin, end, legs = weakly(self._begin), weakly(self._end), weakly(self._legs)
        self.grains.accompany(weakly(self._follow), begin=begin, end=end, legs=legs)


class _Springs(springs.Solver):
    """The solver of the springs, which lets the guests follow edits.

    Attributes:
        whole: The states whose sides an edit changes.
    """

    def __init__(self, model: springs.Model, owner: Solver, *, threads: int | None) -> None:
        super().__init__(model, threads=threads)
        self._owner: Solver = weakref.proxy(owner)  # which owns this
        self.whole: list[State] = []

    def install(
        self, patch: Patch, changes: Sequence[MassChange], gone: np.ndarray, states: Sequence[springs.State]
    ) -> None:
        """Bring a change of the network and of masses to the device, between two steps."""
        super().install(patch, changes, gone, states)
        if changes or len(gone):
            self._owner.follow_edit(changes, gone, self.whole)
        else:
            self._owner.forget()
