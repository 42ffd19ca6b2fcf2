"""Steps of a mass-spring model: launches on the CPU's threads or through captured CUDA graphs."""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from annelid.core import relay
from annelid.core.kernels.worlds import advance_clock
from annelid.core.launch import Team
from annelid.core.replay import Graphs
from annelid.core.state import copy_array
from annelid.springs.interactions import Interactions
from annelid.springs.kernels.bodies import bodies_kernels
from annelid.springs.kernels.handing import hand_over_kernel
from annelid.springs.kernels.layout import UNBROKEN
from annelid.springs.kernels.passes import buffers_of, time_shift
from annelid.springs.kernels.program import pass_kernel, shared_by_teams, signal_kernel
from annelid.springs.kernels.team import team_kernel
from annelid.springs.model import Model
from annelid.springs.parameters import derive
from annelid.springs.state import State

MOST_CONDITIONS = 64
"""Conditions that can be watched at once."""

_BLOCK = 128
_FACTORS = 1 << 20  # entries of the table of signals, which bounds the steps of a batch


class Stepping:
    """Takes steps of one model, and keeps the memory that they work in.

    Args:
        model: The model.
        interactions: What its masses feel besides springs.
        threads: CPU threads.

    Attributes:
        batch: Steps that are launched at once, at most.
        work: What kernels work with, and where they note what happened.
        graphs: Captured steps.
        bound: The state that kernels are pointed at.
    """

    def __init__(self, model: Model, interactions: Interactions, *, threads: int) -> None:
        self.model, self.device, self._interactions = model, model.device, interactions
        self.batch = self._batch()
        self.work = self._scratch()
        self.graphs = Graphs(self.device, kept=8)
        self.bound: State | None = None
        self._next = self._state_buffers()
        self._team = None if self.device.is_cuda else Team(threads)

    def advance(self, state: State, steps: int) -> None:
        """Take steps; on CUDA this returns before they are done."""
        self.bind(state)
        while steps > 0:
            count = self.model.motions.reach(min(steps, self.batch))
            if self.device.is_cuda:  # a graph is captured for each count: powers of two keep them few
                count = 1 << (count.bit_length() - 1)
            if self.device.is_cuda:
                self._advance_cuda(state, count)
            else:
                self._advance_cpu(state, count)
            steps -= count

    def enqueue(self, state: State, steps: int) -> None:
        """Launch steps on CUDA one by one, for callers that capture them together with launches of their own."""
        self.bind(state)
        while steps > 0:  # the table of signals has room for a batch
            count = min(steps, self.batch)
            self._enqueue(state, count)
            steps -= count

    def relayed(self, state: State, steps: int) -> list[relay.Leg] | None:
        """So many steps on a CPU as legs that others launch between theirs, see `core.relay`.

        None where the host has to look after each batch of steps: masses that touch each other may need longer lists,
        and obstacles on paths are looked up some steps ahead.
        """
        if self.model.features.colliding or self.model.features.moving:
            return None
        self.bind(state)
        here, after = (state.positions, state.velocities), self._next
        kernel = team_kernel(shared_by_teams(self.model.features))
        count = self.model.mass_count if steps % 2 else 1
        end = hand_over_kernel(self.model.types.real)
        return [
            [relay.Task(kernel, [steps, self.model.arrays, self.work, *here, *after])],
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
        derive(self.model, self.work, state.variation)
        if self.model.features.actuated:
            size = (steps * self.model.features.signal_rows_per_step + 1, self.model.signal_count * self.model.worlds)
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

    # What steps work with.

    def bind(self, state: State) -> None:
        """Point the kernels at the clock and accelerations of this state; graphs of another state are dropped."""
        if self.bound is state and self.model.features.varied == state.variation.there:
            return
        self.bound = state
        self.work.clock, self.work.broken = state.clock, state.broken
        self.work.commands, self.work.begun = state.commands, state.begun
        derive(self.model, self.work, state.variation)
        self._interactions.bind(state.partners, state.slips)
        self.model.motions.bind(state.clock, state.begun, state.bodies)
        self.model.arrays.motions = self.model.motions.struct
        self.model.bind_sand(state.hollows, state.sand_forces)
        if len(state.accelerations):
            self.work.accelerations = state.accelerations
        if len(state.settled):
            self.work.settled = state.settled
        self.graphs.clear()

    def first_acceleration(self, state: State) -> None:
        """Verlet begins with the acceleration at the initial state: a kick whose velocities are thrown away."""
        self.bind(state)
        derive(self.model, self.work, state.variation)  # which may have been drawn anew since it was bound
        features = self.model.features
        if features.actuated:
            self._launch(signal_kernel(features), (1, self.model.signal_count * self.model.worlds), [], block=256)
        here = (state.positions, state.velocities)
        self._interactions.look(state.positions)
        self._interactions.ready(self.work, "kick", -1, *here)
        arguments = [-1, 0, *here, *here, *self._next]  # a kick looks at the end of its step: the one before the first
        self._launch(pass_kernel(features, "kick", 1), self.model.mass_count, arguments, block=_BLOCK)

    def renew(self) -> None:
        """Make the memory that steps work in anew, for another number of masses."""
        clock = self.work.clock
        self.work, self._next, self.bound = self._scratch(), self._state_buffers(), None
        self.work.clock = clock
        self.graphs.clear()

    # Launches.

    def _advance_cpu(self, state: State, steps: int) -> None:
        assert self._team is not None
        here, after = (state.positions, state.velocities), self._next
        self._interactions.begin()
        kernel = team_kernel(shared_by_teams(self.model.features))
        self._team.run(kernel, [steps, self.model.arrays, self.work, *here, *after])
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
        work, lanes, masses = self.work, self.model.lanes, self.model.mass_count
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
        if self.model.features.free and kind != "inner":
            self._fly(step)

    def _fly(self, step: int) -> None:
        """Launch a step of the free bodies."""
        model = self.model
        sum_all, fly_all = bodies_kernels(*model.features.flying)
        assert model.free is not None
        wp.launch(sum_all, model.worlds * model.free.struct.groups, [model.arrays], device=self.device)
        wp.launch(fly_all, model.worlds, [model.arrays, self.work, step], device=self.device)

    def _launch(self, kernel: wp.Kernel, dim: Any, arguments: list[Any], *, block: int) -> None:
        wp.launch(
            kernel,
            dim,
            [self.model.arrays, self.work, *arguments],
            device=self.device,
            block_dim=block if self.device.is_cuda else None,
        )

    def _batch(self) -> int:
        model = self.model
        if not model.features.actuated:
            return 64 if self.device.is_cuda else 128
        width = model.signal_count * model.worlds
        return int(np.clip(_FACTORS // (width * model.features.signal_rows_per_step), 1, 64))

    def _scratch(self) -> Any:
        types, count, features = self.model.types, self.model.mass_count, self.model.features
        work = types.Work()
        self.model.make_room_for_wrenches()
        self._interactions.attach(work)
        rows = self.batch * features.signal_rows_per_step + 1
        stages = count if len(features.passes) > 1 else 0
        rk4 = count if features.integrator == "rk4" else 0
        sizes = {"forces": 0 if self.device.is_cuda else count, "v_p": stages, "v_q": rk4}
        for name, size in sizes.items():
            setattr(work, name, wp.zeros(size, dtype=types.vec3, device=self.device))
        work.x_p = wp.zeros(stages, dtype=types.vec4, device=self.device)
        work.factors = wp.zeros(
            rows * self.model.signal_count * self.model.worlds if features.actuated else 0,
            dtype=types.real,
            device=self.device,
        )
        work.trouble = wp.full(1, -1, dtype=wp.int64, device=self.device)
        work.breaks = wp.full(1, UNBROKEN, dtype=wp.int64, device=self.device)
        work.hits = wp.full(MOST_CONDITIONS, -1, dtype=wp.int64, device=self.device)
        work.clock = wp.zeros(1, dtype=wp.int64, device=self.device)
        return work

    def _state_buffers(self) -> tuple[wp.array[Any], wp.array[Any]]:
        types, count = self.model.types, self.model.mass_count
        return (
            wp.zeros(count, dtype=types.vec4, device=self.device),
            wp.zeros(count, dtype=types.vec3, device=self.device),
        )
