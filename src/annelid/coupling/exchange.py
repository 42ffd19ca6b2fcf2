"""What passes between the surface of a body and grains in each of their steps: pushes one way, places the other."""

from __future__ import annotations

from typing import Any

import warp as wp

from annelid import grains
from annelid.core.relay import Task
from annelid.core.replay import Replays, Stage
from annelid.coupling.guests import Guests
from annelid.coupling.kernels.exchange import Past, complete_kernel, exchange_kernels
from annelid.coupling.kernels.lanes import GUEST_LANES, MASS_LANES
from annelid.coupling.state import MeetingState
from annelid.grains.kernels.collect import note_guests
from annelid.grains.kernels.layout import Grains, Lists

_ROWS = ("positions", "velocities", "spins", "forecast", "turning", "facets", "names")


class Exchange:
    """Launches the kernels between guests and what they hang on.

    Args:
        guests: The guests.
        bed: The grains.
        solver: The solver of grains and guests.
        real: Precision of positions and velocities of what guests hang on.

    Attributes:
        guests: The structure of the guests that kernels read.
    """

    def __init__(self, guests: Guests, bed: grains.Bed, solver: grains.Solver, real: Any) -> None:
        self._model, self._solver, self.device = solver.model, solver, solver.device
        self._surface, self._real = len(guests.members), real
        self.guests = guests.arrays(bed, solver)
        lanes = (MASS_LANES, GUEST_LANES) if self.device.is_cuda else (1, 1)
        self._kernels = exchange_kernels(real, lanes)
        # On CUDA each warp of guests has another one beside it, see `kernels.exchange`.
        self._sizes = (
            self._surface * lanes[0],
            64 * -(-len(guests) * lanes[1] // 32) if self.device.is_cuda else len(guests),
        )
        self._past: Any = Past()
        self._launches = Replays(self.device, kept=8, graph=False)  # on CUDA the batch of the grains is the graph

    def press(
        self, state: MeetingState, x: wp.array[Any], felt: tuple[wp.array[Any], wp.array[Any]], *, drift: float = 0.0
    ) -> None:  # fmt: skip
        """Turn what pushed guests in the last step of the grains into forces.

        Args:
            state: What guests remember.
            x: Positions of what guests hang on, and their inverse masses.
            felt: Where forces go: on what guests hang on, and on members of the surface [N].
            drift: How far a guest goes on, in steps, until half of its impulse has acted.
        """
        self._launch_whole(self.pressing(state, x, felt, drift=drift), [x, state.last, *felt])

    def pressing(
        self, state: MeetingState, x: wp.array[Any], felt: tuple[wp.array[Any], wp.array[Any]], *, drift: float = 0.0
    ) -> Task:  # fmt: skip
        """The launch of `press`."""
        arguments = [self._model.dt, drift, self.guests, self._past_of(state), x, *felt]
        return Task(self._kernels[0], arguments, self._sizes[0])

    def seat(self, state: MeetingState, rows: Any, x: wp.array[Any], v: wp.array[Any]) -> None:
        """Bring guests to what they hang on, after it has moved with the velocities v [m/s].

        Args:
            state: What guests remember.
            rows: The structure of the grains at the end of the step.
            x: Positions of what guests hang on, and their inverse masses.
            v: Its velocities.
        """
        lists = self._solver.lists
        places = [x, v, state.last, *(getattr(rows, name) for name in _ROWS), lists.built, lists.flags, lists.counts]
        self._launch_whole(self.seating(state, rows, x, v), places)

    def seating(self, state: MeetingState, rows: Any, x: wp.array[Any], v: wp.array[Any]) -> Task:
        """The launch of `seat`."""
        lists = self._solver.lists
        arguments = [0, lists.guest_rows, self._model.parameters, lists, self.guests, x, v, self._past_of(state), rows]
        return Task(self._kernels[1], arguments, self._sizes[1])

    def settle(self, state: MeetingState, x: wp.array[Any], v: wp.array[Any]) -> None:
        """Bring guests to what they hang on after it was moved by hand: they have no past."""
        rows, lists, bed = Grains(), Lists(), state.grains
        for name in _ROWS:
            setattr(rows, name, getattr(bed, name))
        lists.built, lists.flags, lists.counts = bed.built, bed.flags, bed.counts
        lists.guest_rows = wp.zeros(self._model.guests, dtype=wp.int32, device=self.device)
        wp.launch(note_guests, self._model.count, [self._model.parameters, rows, lists], device=self.device)
        arguments = [
            0,
            1,
            lists.guest_rows,
            self._model.parameters,
            lists,
            self.guests,
            x,
            v,
            self._past_of(state),
            rows,
        ]
        wp.launch(self._kernels[1], self._sizes[1], arguments, device=self.device)

    def complete(self, state: MeetingState, x: wp.array[Any]) -> None:
        """Find what a state from a CPU does not tell of guests, before steps on CUDA; nothing may have moved since.

        Args:
            state: What guests remember.
            x: Positions of what guests hang on, and their inverse masses.
        """
        kernel, count = complete_kernel(self._real), len(state.turns)
        wp.launch(kernel, count, [self.guests, x, self._past_of(state)], device=self.device)

    def load(self) -> None:
        """Load the kernels, which cannot happen while steps are captured."""
        for kernel in self._kernels:
            kernel.module.load(self.device, block_dim=256)

    def launch(self, kernel: wp.Kernel, count: int, arguments: list[Any], arrays: list[wp.array[Any]]) -> None:
        """Launch a kernel; with the same arrays, those in structures included, it is the same launch as before."""
        self._launches.run(lambda: [Stage(kernel, count, arguments)], *arrays, name=kernel)

    def _launch_whole(self, task: Task, arrays: list[wp.array[Any]]) -> None:
        assert task.count is not None
        self.launch(task.kernel, task.count, [0, *task.arguments], arrays)

    def _past_of(self, state: MeetingState) -> Any:
        """The structure of what guests remember; it is made anew for other arrays, since launches are kept with it."""
        past = self._past
        if not (past.last is state.last and past.centers is state.centers and past.turns is state.turns):
            past = self._past = Past()
            past.last, past.centers, past.turns = state.last, state.centers, state.turns
        return past
