"""Worlds side by side: copies of a solid that know nothing of each other, stepped one after the other.

All of them share one model: mesh, assembly, order of elimination, kernels and scratch. A world is laid on a desk, a
state of one world whose arrays never move, so that launches recorded for them serve every world; there it is stepped as
if it were alone, and goes back.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
import warp as wp

from annelid.core.errors import InvalidMesh, InvalidValue
from annelid.core.kernels.worlds import begin_again
from annelid.core.memory import require_memory
from annelid.core.state import (
    clone_state,
    copy_state,
    put_world,
    repeat_state,
    restore_worlds,
    state_arrays,
    take_world,
    worlds_of_rows,
)
from annelid.core.variation import Variation
from annelid.fem.newton import NoEquilibrium

_READ = ("positions", "velocities", "efforts", "strokes")  # arrays that sensors read
_COPIES = 4  # of a state: that of now, the last good one, the beginning, and what a step leads to


class NotFinite(ArithmeticError):
    """A step led to positions that are not finite."""


class OneState(Protocol):
    """What states of solids and robots have in common."""

    positions: wp.array[Any]
    clock: wp.array[Any]
    variation: Variation


S = TypeVar("S", bound=OneState)


class OneByOne(Generic[S]):
    """The worlds of a solver of one solid.

    A world in which a step leads nowhere is lost: what sensors read of it is not a number from then on, until it begins
    again. The others go on.

    Args:
        worlds: Number of worlds; None for a solid by itself, which raises `NoEquilibrium` and stays where it is.
        make: Makes the first state of one world.

    Attributes:
        count: Number of worlds.
        lost_in: The world that was lost last, and why, in words.
    """

    def __init__(self, worlds: int | None, make: Callable[[], S]) -> None:
        self.alone, self.count = worlds is None, 1 if worlds is None else _require_worlds(worlds)
        self._make = make
        self.lost_in: tuple[int, str] | None = None
        self._first_lost: int | None = None
        if self.count > 1:
            self._prepare()

    def _prepare(self) -> None:
        self._desk = self._make()
        needed = _COPIES * float(self.count) * sum(array.capacity for array in state_arrays(self._desk).values())
        nodes = len(self._desk.positions)
        require_memory(f"a simulation of {self.count} worlds of {nodes} nodes", needed, "simulate fewer worlds")
        self._beginning = repeat_state(self._desk, self.count)
        self._after = clone_state(self._beginning)
        self._world_of = worlds_of_rows(self._desk, self.count)

    # --- states ---

    def first_state(self) -> S:
        """All worlds at their beginning, at time zero."""
        return self._make() if self.count == 1 else clone_state(self._beginning)

    def world(self, state: S, world: int) -> S:
        """One of the worlds as a state of its own; the next call overwrites it, and nothing is written back."""
        if not 0 <= world < self.count:
            raise InvalidValue(f"there is no world {world!r}: worlds are 0 to {self.count - 1}.")
        if self.count == 1:
            return state
        self._lay_parameters(state.variation)
        take_world(state, self._desk, world, self.count)
        return self._desk

    def reset(self, state: S, mask: wp.array[Any] | None, begun: wp.array[Any] | None = None) -> None:
        """Bring worlds back to their beginning, with the parameters that they have; see `core.solver.Solver`.

        Args:
            state: The state.
            mask: Which worlds; None for all, and the clock with them.
            begun: Where the state keeps the step at which each world began, if it does.
        """
        if mask is not None and self.count > 1:
            restore_worlds(self._beginning, state, mask, self._world_of)
            if begun is not None:
                wp.launch(begin_again, self.count, [mask, state.clock], [begun], device=begun.device)
            return
        if mask is not None and not mask.numpy()[0]:
            return
        beginning, clock = self.first_state(), wp.clone(state.clock)
        copy_state(beginning, state, but="variation")
        if mask is not None:
            wp.copy(state.clock, clock)
            if begun is not None:
                wp.copy(begun, clock)

    # --- steps ---

    def advance(self, state: S, steps: int, march: Callable[[S, int], None]) -> None:
        """Take steps in every world; where one of them raises an error, none has been taken in any of several worlds.

        Args:
            state: The state.
            steps: How many.
            march: Takes steps of a state of one world, and counts them in its clock.
        """
        if self.count == 1:
            self._march(state, 0, steps, march)
            return
        for world in range(self.count):
            one = self.world(state, world)
            self._march(one, world, steps, march)
            put_world(one, self._after, world, self.count)
        wp.copy(self._after.clock, self._desk.clock)
        copy_state(self._after, state, but="variation")

    def diverged_at(self) -> int | None:
        """The first step in which a world was lost, None while none is."""
        return self._first_lost

    def forget(self) -> None:
        """Forget that worlds were lost, after the state was restored."""
        self._first_lost = None

    def _lay_parameters(self, variation: Variation) -> None:
        """Make room on the desk for the parameters of one world, if worlds differ."""
        if self._desk.variation.there != variation.there:
            arrays = (variation.values, variation.seeds, variation.draws)
            parts = [wp.zeros(len(array) // self.count, dtype=array.dtype, device=array.device) for array in arrays]
            self._desk.variation = Variation(*parts)

    def _march(self, one: S, world: int, steps: int, march: Callable[[S, int], None]) -> None:
        begin = int(one.clock.numpy()[0])
        reason = ""
        if np.isfinite(one.positions.numpy()).all():
            try:
                march(one, steps)
                return
            except NotFinite:
                pass
            except (NoEquilibrium, InvalidMesh) as error:  # a cavity that has turned inside out is not a mesh of one
                if self.alone:
                    raise
                reason = str(error).rstrip(".")
        self._lose(one, world, int(one.clock.numpy()[0]) + 1, reason)
        one.clock.fill_(begin + steps)

    def _lose(self, one: S, world: int, step: int, reason: str) -> None:
        """Make what is read of a world not a number, and note the first step in which one was lost."""
        for name in _READ:
            array = vars(one).get(name)
            if array is not None and array.size:
                array.fill_(wp.nan)
        if self._first_lost is None or step < self._first_lost:
            self._first_lost, self.lost_in = step, (world, reason)


def _require_worlds(worlds: int) -> int:
    if isinstance(worlds, bool) or not isinstance(worlds, int | np.integer) or worlds < 1:
        raise InvalidValue(f"worlds must be a whole number of 1 or more, not {worlds!r}.")
    return int(worlds)
