"""Stepping spring bodies and grains together, each in steps of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import warp as wp

from annelid import grains, springs
from annelid.core.elements import scatter
from annelid.core.events import Event
from annelid.core.replay import Replays, Stage
from annelid.core.snapshot import Look, Snapshot
from annelid.core.state import clone_state
from annelid.coupling.kernels.exchange import exchange_kernels
from annelid.coupling.model import Model
from annelid.coupling.pictures import Painter
from annelid.coupling.readout import Readout, Summary
from annelid.coupling.state import joined, order_by_world, side_of, take_back
from annelid.grains.kernels.layout import Grains, Lists
from annelid.springs.edit import Editor, MassChange
from annelid.springs.network import Patch

_ROWS = ("positions", "velocities", "spins", "forecast", "turning", "facets", "names")


class Solver:
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
        self.model, self.device = model, model.device
        self.dt = model.dt
        self.springs = _Springs(model.springs, self, threads=threads)
        self.grains = grains.Solver(model.grains, threads=threads)
        self.batch = self.grains.batch
        self._guests = model.guests.arrays(model.bed, self.grains.pushes, self.device)
        self._kernels = exchange_kernels(model.springs.types.real)
        self._launches = Replays(self.device, kept=8, graph=False)  # on CUDA the batch of the grains is the graph
        self._state: Any = None
        self._parts: tuple[Any, Any] = (None, None)
        self._ready = False
        self.readout = Readout(model)
        self._painter = Painter(model, self.springs, self.grains, self.readout)
        self.grains.accompany(self._follow)

    # --- states ---

    def initial_state(self) -> Any:
        """Bodies and grains as they were built."""
        guests = self.model.guests
        sizes = {"last": len(guests), "contact_forces": len(guests.members)}
        own = {name: wp.zeros(size, dtype=wp.vec3, device=self.device) for name, size in sizes.items()}
        bed = self.grains.initial_state()
        if self.model.worlds > 1:
            order_by_world(bed, self.model.grains.worlds)
        state = joined(self.springs.initial_state(), bed, **own)
        self._settle(state)
        return state

    def reserve(self, state: Any, places: int, body_places: int) -> None:
        """Give lists room for so many neighbours and bodies, ahead of need: while they grow, steps wait."""
        _, grain_state = self.parts(state)
        self.grains.reserve(grain_state, places, body_places)
        take_back(state, "grains", grain_state)

    def parts(self, state: Any) -> tuple[springs.State, grains.State]:
        """The two sides of a state, which share its arrays."""
        if self._state is state:
            self._parts = (side_of(state, "springs", self._parts[0]), side_of(state, "grains", self._parts[1]))
            return self._parts
        return side_of(state, "springs"), side_of(state, "grains")

    def _settle(self, state: Any) -> None:
        """Bring guests to their masses after these were moved by hand."""
        spring_state, grain_state = self.parts(state)
        rows = Grains()
        for name in _ROWS:
            setattr(rows, name, getattr(grain_state, name))
        lists = Lists()
        lists.built, lists.flags, lists.counts = grain_state.built, grain_state.flags, grain_state.counts
        self._seat_guests(1, state, spring_state, rows, lists)

    # --- steps ---

    def advance(self, state: Any, steps: int) -> None:
        """Take steps."""
        if self._state is not state:
            self._state, self._parts = state, (None, None)
        spring_state, grain_state = self.parts(state)
        if not self._ready:
            self._warm_up(spring_state)
        self.grains.advance(grain_state, steps)
        take_back(state, "grains", grain_state)

    def _follow(self, grains: Any) -> None:
        """After a step of the grains: the steps of the springs that it spans, and guests where they ended."""
        spring_state, arrays, guests = self._parts[0], self.model.springs.arrays, self.model.guests
        x, dt = spring_state.positions, self.dt
        twist, press, _ = self._kernels
        felt = arrays.forces, self._state.contact_forces
        first, rows = self.model.grains.parameters.first_guest, [grains.names, grains.positions]
        drift, last = 0.5 - 0.5 / self.model.substeps, self._state.last
        arguments = [dt, drift, first, self._guests, x, last, grains]
        self._launch(twist, self.model.grains.count, arguments, [x, last, *rows])
        self._launch(press, len(guests.members), [dt, self._guests, x, *felt], [x, *felt])
        if self.device.is_cuda:
            self.springs.enqueue(spring_state, self.model.substeps)
        else:
            self.springs.advance(spring_state, self.model.substeps)
        self._seat_guests(0, self._state, spring_state, grains, self.grains.lists)

    def _seat_guests(self, fresh: int, state: Any, spring_state: springs.State, rows: Any, lists: Any) -> None:
        arguments = [fresh, self.model.grains.parameters, lists, self._guests]
        moving = [spring_state.positions, spring_state.velocities, state.last]
        places = [*moving, *(getattr(rows, name) for name in _ROWS), lists.built, lists.flags, lists.counts]
        arguments = [*arguments, *moving, rows]
        if fresh:
            wp.launch(self._kernels[2], self.model.grains.count, arguments, device=self.device)
        else:
            self._launch(self._kernels[2], self.model.grains.count, arguments, places)

    def _launch(self, kernel: wp.Kernel, count: int, arguments: list[Any], arrays: list[wp.array]) -> None:
        """Launch a kernel; with the same arrays, those in structures included, it is the same launch as before."""
        self._launches.run(lambda: [Stage(kernel, count, arguments)], *arrays, name=kernel)

    def _warm_up(self, spring_state: springs.State) -> None:
        """Load the kernels, which cannot happen while steps are captured."""
        self._ready = True
        if self.device.is_cuda:
            for kernel in self._kernels:
                kernel.module.load(self.device, block_dim=256)
            self.springs.advance(clone_state(spring_state), self.model.substeps)

    def diverged_at(self) -> int | None:
        """First step whose result was not finite, None while all are."""
        step = self.springs.diverged_at()
        found = [] if step is None else [self._step_of(step)]
        step = self.grains.diverged_at()
        return min([*found, *([] if step is None else [step])], default=None)

    def clear_divergence(self) -> None:
        """Forget a divergence, after the state was restored."""
        self.springs.clear_divergence()
        self.grains.clear_divergence()

    def describe_divergence(self, state: Any) -> str:
        """What moves fastest on either side, in words."""
        spring_state, grain_state = self.parts(state)
        return f"{self.springs.describe_divergence(spring_state)}; {self.grains.describe_divergence(grain_state)}"

    def stable_step(self) -> float:
        """Longest stable time step of the springs [s], estimated."""
        return self.springs.stable_step()

    def fingerprint(self) -> str:
        """Identity of the model, for checkpoints."""
        return f"coupling-{self.model.substeps}-{self.springs.fingerprint()}-{self.grains.fingerprint()}"

    def _step_of(self, step: int) -> int:
        """The step within which a step of the springs falls."""
        return -(-step // self.model.substeps)

    # --- looking ---

    @property
    def fields(self) -> tuple[str, ...]:
        """Scalars that snapshots can be coloured by."""
        return self._painter.fields

    def summary(self, state: Any) -> Summary:
        """Totals of bodies and grains."""
        return self.readout.summary(self.springs.readout.summary(self.parts(state)[0]), self.parts(state)[1])

    def snapshot(self, state: Any, look: Look) -> Snapshot:
        """A picture of the state."""
        return self._painter.snapshot(state, look)

    # --- conditions, events, edits: those of the springs ---

    def watch_condition(self, condition: Any) -> None:
        """Look out for a condition of the springs; see `springs.Solver`."""
        self.springs.watch_condition(condition)
        self._forget()

    def drop_condition(self, condition: Any) -> None:
        """Look out for it no more."""
        self.springs.drop_condition(condition)
        self._forget()

    def condition_hits(self, state: Any) -> dict[Any, int]:
        """The first step by whose end each watched condition held, where it did."""
        hits = self.springs.condition_hits(self.parts(state)[0])
        return {condition: self._step_of(step) for condition, step in hits.items()}

    def collect_events(self, *states: Any) -> list[Event]:
        """Springs that broke since the last time."""
        return self.springs.collect_events(*(self.parts(state)[0] for state in states))

    def editor(self, *states: Any) -> Editor:
        """A new edit of the network behind these states."""
        self.springs.whole = list(states)
        return self.springs.editor(*(self.parts(state)[0] for state in states))

    def follow_edit(self, changes: Sequence[MassChange], gone: np.ndarray, states: Sequence[Any]) -> None:
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
        self._forget()

    def _forget(self) -> None:
        """Captured steps are of no use any more."""
        self.grains.accompany(self._follow)
        self._ready = False


class _Springs(springs.Solver):
    """The solver of the springs, which tells the guests of edits.

    Attributes:
        whole: The states whose sides an edit changes.
    """

    def __init__(self, model: springs.Model, owner: Solver, *, threads: int | None) -> None:
        super().__init__(model, threads=threads)
        self._owner, self.whole = owner, []  # type: tuple[Solver, list[Any]]

    def install(self, patch: Patch, changes: Sequence[MassChange], gone: np.ndarray, states: Sequence[Any]) -> None:
        """Bring a change of the network and of masses to the device, between two steps."""
        super().install(patch, changes, gone, states)
        for whole, part in zip(self.whole, states, strict=False):
            take_back(whole, "springs", part)
        if changes or len(gone):
            self._owner.follow_edit(changes, gone, self.whole)
        else:
            self._owner._forget()
