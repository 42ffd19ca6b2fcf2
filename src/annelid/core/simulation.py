"""The run loop: owns a solver and a state, advances them, and lets others look."""

from __future__ import annotations

import time as wall
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from os import PathLike
from typing import Any, Generic, Protocol, TypeVar

import warp as wp

from annelid.core.checkpoint import load_checkpoint, save_checkpoint
from annelid.core.errors import InvalidValue, SimulationDiverged
from annelid.core.progress import Progress
from annelid.core.snapshot import Look, Number, Snapshot
from annelid.core.state import clone_state, copy_state, fill_state, state_hash

_SECONDS_BETWEEN_CHECKS = 0.05


class Solver(Protocol):
    """What the run loop asks of a physics package."""

    device: wp.Device
    time_step: float

    @property
    def fields(self) -> tuple[str, ...]:
        """Names of the scalars that snapshots can be coloured by."""
        ...

    def initial_state(self) -> Any:
        """A new state at time zero; its `clock` counts steps."""
        ...

    def advance(self, state: Any, steps: int) -> None:
        """Take steps, possibly returning before they are done."""
        ...

    def trouble(self) -> int | None:
        """First step whose result is not finite, None while all are."""
        ...

    def forgive(self) -> None:
        """Forget the trouble, after the state was restored."""
        ...

    def complaint(self, state: Any) -> str:
        """What to tell about a state on the edge of divergence."""
        ...

    def fingerprint(self) -> str:
        """Identity of the model, for checkpoints."""
        ...

    def snapshot(self, state: Any, look: Look) -> Snapshot:
        """A picture of the state."""
        ...


S = TypeVar("S", bound=Solver)
Observer = Callable[["Simulation[Any]"], None]


@dataclass
class _Watch:
    """An observer and when it is due next, in steps."""

    callback: Observer
    every: int
    due: int


class Simulation(Generic[S]):
    """A solver, its state, and the loop that advances them.

    Args:
        solver: The solver; its initial state is where the simulation begins.
    """

    def __init__(self, solver: S) -> None:
        self.solver = solver
        self.state = solver.initial_state()
        self._steps = 0
        self._good = clone_state(self.state)
        self._good_steps = 0
        self._unchecked = 0
        self._check_every = 1
        self._checked_at = wall.perf_counter()
        self._watches: list[_Watch] = []

    @property
    def time_step(self) -> float:
        """Time step [s]."""
        return self.solver.time_step

    @property
    def step_count(self) -> int:
        """Steps taken since the beginning."""
        return self._steps

    @property
    def time(self) -> float:
        """Simulated time [s]."""
        return self._steps * self.solver.time_step

    @property
    def fields(self) -> tuple[str, ...]:
        """Names of the scalars that snapshots can be coloured by."""
        return self.solver.fields

    def step(self, count: int = 1) -> None:
        """Take a number of steps."""
        if count < 0:
            raise InvalidValue(f"the number of steps must not be negative, not {count}.")
        self._advance(count, None)

    def run(self, seconds: float, *, progress: Progress | bool | None = None) -> None:
        """Simulate for some time, rounded to whole steps.

        Args:
            seconds: Simulated time to add [s].
            progress: A progress display, True for one of its own, or None for none.
        """
        if not (seconds >= 0.0 and seconds < float("inf")):
            raise InvalidValue(f"seconds must be a time of 0 or more, not {seconds}.")
        count = round(seconds / self.time_step)
        if progress is None or progress is False:
            self._advance(count, None)
        elif progress is True:
            with Progress("simulating", count * self.time_step) as display:
                self._advance(count, display)
        else:
            self._advance(count, progress)

    def observe(self, callback: Observer, *, every: float) -> None:
        """Call `callback(simulation)` each time that `every` seconds [s] of simulated time have passed, from now on."""
        steps = round(every / self.time_step)
        if steps < 1:
            raise InvalidValue(f"every must be at least one time step of {self.time_step:g} s, not {every}.")
        self._watches.append(_Watch(callback, steps, self._steps + steps))

    def synchronize(self) -> None:
        """Wait until the device has done all steps."""
        wp.synchronize_device(self.solver.device)

    def snapshot(self, look: Look | None = None) -> Snapshot:
        """A picture of this moment; the default look is the surface."""
        return self.solver.snapshot(self.state, look or Look())

    def snapshot_numbers(self) -> Mapping[str, Number]:
        """The named numbers of this moment, without geometry."""
        return self.solver.snapshot(self.state, Look(surface=False)).numbers

    def state_hash(self) -> str:
        """A hash of every bit of the state."""
        return state_hash(self.state)

    def save(self, path: str | PathLike[str]) -> None:
        """Write a checkpoint, whole or not at all."""
        save_checkpoint(path, self.state, self.solver.fingerprint(), self.time_step, self._steps)

    def load(self, path: str | PathLike[str]) -> None:
        """Continue from a checkpoint of the same model; on any error the simulation is as it was before."""
        _, self._steps = load_checkpoint(path, self.solver.fingerprint(), self.time_step, self._fill)
        self._after_jump()

    def reset(self) -> None:
        """Go back to the beginning."""
        copy_state(self.solver.initial_state(), self.state)
        self._steps = 0
        self._after_jump()

    def _fill(self, arrays: dict[str, Any]) -> None:
        fill_state(self.state, arrays)

    def _after_jump(self) -> None:
        self.solver.forgive()
        self._remember()
        for watch in self._watches:
            watch.due = self._steps + watch.every

    def _advance(self, count: int, progress: Progress | None) -> None:
        goal = self._steps + count
        while self._steps < goal:
            until_due = min((w.due - self._steps for w in self._watches), default=goal - self._steps)
            chunk = min(goal - self._steps, until_due, max(1, self._check_every - self._unchecked))
            self.solver.advance(self.state, chunk)
            self._steps += chunk
            self._unchecked += chunk
            self._call_observers()
            if self._unchecked >= self._check_every or self._steps == goal:
                self._check()
                if progress is not None:
                    progress.update(self.time, self.time_step * (goal - self._steps))

    def _call_observers(self) -> None:
        due = [watch for watch in self._watches if watch.due <= self._steps]
        if due:
            self._check()  # an observer must never see a state that is not finite
        for watch in due:
            watch.due += watch.every
            watch.callback(self)

    def _check(self) -> None:
        """Look for divergence, at intervals that cost little, and remember the state while it is good."""
        if self._unchecked == 0:
            return
        step = self.solver.trouble()
        if step is not None:
            self._fail(step)
        if self._unchecked >= self._check_every:  # as many steps as take about the wanted time from check to check
            elapsed = max(wall.perf_counter() - self._checked_at, 1e-6)
            scale = min(4.0, _SECONDS_BETWEEN_CHECKS / elapsed)
            self._check_every = max(1, int(self._check_every * scale))
        self._remember()

    def _remember(self) -> None:
        copy_state(self.state, self._good)
        self._good_steps, self._unchecked = self._steps, 0
        self._checked_at = wall.perf_counter()

    def _fail(self, step: int) -> None:
        """Go back to the last finite state, which is replayed from the last check, and report."""
        copy_state(self._good, self.state)
        self.solver.forgive()
        last = step - 1
        self.solver.advance(self.state, last - self._good_steps)
        self._steps = last
        self._remember()
        time = last * self.time_step
        raise SimulationDiverged(
            f"the simulation diverged at step {step} (t = {step * self.time_step:.6g} s): "
            f"{self.solver.complaint(self.state)}. Use a smaller step, softer springs or more damping; "
            f"the state is that of the last good step, {last}.",
            time=time,
            step=last,
        )
