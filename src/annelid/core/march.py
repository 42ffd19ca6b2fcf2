"""Steps of a run: taken in chunks, checked now and then, and repeated from the last good state up to what happened."""

from __future__ import annotations

import time as wall
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

import warp as wp

from annelid.core.device import undisturbed
from annelid.core.errors import InvalidValue, SimulationDiverged
from annelid.core.events import Breakpoint, Event
from annelid.core.interrupts import held_back
from annelid.core.numbers import is_number
from annelid.core.pacing import Pacer, Rhythm, paced
from annelid.core.replay import Graphs
from annelid.core.solver import Eventful, Solver, conditional
from annelid.core.state import addresses, bundle, clone_state, copy_state, state_arrays

SECONDS_BETWEEN_CHECKS = 0.05
_MOST_SECONDS = 0.2  # between checks that take long
_SHARE = 0.02  # of the time, that checks take at most if they need not be further apart than that

S = TypeVar("S", bound=Solver)


@dataclass
class Watch:
    """An observer and when it is due."""

    callback: Callable[[Any], None]
    rhythm: Rhythm


class March(Generic[S]):
    """A solver, its state and the last state that was seen to be good; whoever calls holds the gate.

    Observers and conditions in Python are called with the simulation, which those that advance it hand over: a march
    does not keep it.

    Attributes:
        state: The state of now.
        good: The state at the last check.
        steps: Steps taken since the beginning.
        events: What has happened: springs that broke...
        watches: Observers.
        breakpoints: What ends a run when it is reached.
        pacers: What acts before some steps.
    """

    def __init__(self, solver: S) -> None:
        self.solver = solver
        self.state = solver.initial_state()
        self.good = clone_state(self.state)
        self.steps = 0
        self.events: list[Event] = []
        self.watches: list[Watch] = []
        self.breakpoints: list[Breakpoint] = []
        self.pacers: list[Pacer] = []
        self._good_steps = 0
        self._counted = True  # whether steps are those of the state
        self._copies = Graphs(solver.device, kept=2)
        self._places = addresses(bundle(state=self.state, good=self.good))
        self._check_every, self._between = 1, SECONDS_BETWEEN_CHECKS
        self._began_at = wall.perf_counter()  # when the first step after the last check began

    @property
    def time(self) -> float:
        """Simulated time [s]."""
        return self.steps * self.solver.dt

    def undisturbed(self) -> AbstractContextManager[object]:
        """What is launched within is not mixed with what other threads launch."""
        return undisturbed(self.solver.device)

    # --- advancing ---

    def steps_within(self, seconds: float) -> int:
        """How many steps last some wall time [s] by the speed so far; 1 or more."""
        return max(1, int(self._check_every * seconds / self._between))

    def chunk(self, limit: int, simulation: Any) -> Breakpoint | None:
        """Advance to a step, or until something is due before it; returns the breakpoint that was reached, if any."""
        goals = [w.rhythm.due for w in self.watches] + [
            b.step for b in self.breakpoints if b.step and b.step > self.steps
        ]
        room = max(1, self._check_every - self._unchecked)
        count = min([room, *(goal - self.steps for goal in goals), limit - self.steps])
        if self._unchecked == 0:
            self._began_at = wall.perf_counter()
        self._take(count)
        if self._unchecked >= self._check_every or self._due():
            hit = self.check(simulation)
            self._call_observers(simulation)
            return hit or self._reached()
        return None

    @property
    def overdue(self) -> bool:
        """Whether an observer was to be called at this step and was not, because Ctrl-C came before."""
        return any(watch.rhythm.due <= self.steps for watch in self.watches)

    def check(self, simulation: Any) -> Breakpoint | None:
        """Look for divergence and conditions, and remember the state if it is good."""
        if self._unchecked == 0:
            return None
        with self.undisturbed():
            step = self.solver.diverged_at()
            hit = self._first_condition()
            if hit is not None and (step is None or hit[0] < step):
                self._return_to(hit[0])
                return hit[1]
            if step is not None:
                self._fail(step)
            with held_back(firmly=True):  # what has happened is reported once
                if isinstance(self.solver, Eventful):
                    self.events.extend(self.solver.collect_events(self.state, self.good))
                self._choose_interval()
                self._remember()
        return next((b for b in list(self.breakpoints) if _in_python(b) and b.condition(simulation)), None)

    def after_jump(self) -> None:
        """Take the state for good that something other than steps has made, and count what is due from here."""
        self.solver.clear_divergence()
        self._remember()
        for watch in self.watches:
            watch.rhythm.restart(self.steps)

    # --- breakpoints ---

    def breakpoint_at(self, at: float, name: str) -> Breakpoint:
        """Stop at a time [s], which must not have passed."""
        step = round(float(at) / self.solver.dt) if is_number(at) and at >= 0.0 else -1
        if step <= self.steps:
            raise InvalidValue(
                f"a breakpoint at {at} s lies in the past or nowhere: the simulation is at {self.time:g} s."
            )
        return self._added(Breakpoint(step=step, name=name))

    def breakpoint_when(self, condition: Any, name: str) -> Breakpoint:
        """Stop as soon as a condition holds."""
        point = Breakpoint(condition=condition, name=name)
        if not _in_python(point):
            conditional(self.solver).watch_condition(condition)
        return self._added(point)

    def drop(self, point: Breakpoint) -> None:
        """Forget a breakpoint; its own condition, or an observer, may have cleared it just now."""
        if point not in self.breakpoints:
            return
        self.breakpoints.remove(point)
        if point.condition is not None and not _in_python(point):
            conditional(self.solver).drop_condition(point.condition)

    def _added(self, point: Breakpoint) -> Breakpoint:
        self.breakpoints.append(point)
        return point

    # --- single things ---

    def _take(self, count: int) -> None:
        """Take steps, with all that acts before some of them: counted one by one, since what acts may fail.

        A solid without an equilibrium, and who presses Ctrl-C twice, end a call after some of its steps: what the state
        has counted is what was taken.
        """
        for step, until in paced(self.pacers, self.steps, self.steps + count):
            for pacer in self.pacers:
                if step % pacer.every == 0:
                    pacer.act(self.state, step)
            self._counted = False
            try:
                with self.undisturbed():
                    self.solver.advance(self.state, until - step)
            except BaseException:
                self.recount()
                raise
            self.steps, self._counted = until, True

    def recount(self) -> None:
        """Count the steps of a call that something has ended, Ctrl-C for one."""
        if not self._counted:
            self.steps, self._counted = int(self.state.clock.numpy()[0]), True

    @property
    def _unchecked(self) -> int:
        """Steps since the last check."""
        return self.steps - self._good_steps

    def _due(self) -> bool:
        """Whether an observer or a breakpoint is due at exactly this step."""
        return self.overdue or self._reached() is not None

    def _reached(self) -> Breakpoint | None:
        return next((b for b in self.breakpoints if b.step == self.steps), None)

    def _call_observers(self, simulation: Any) -> None:
        """Call those that are due; one that Ctrl-C has ended is due again, one that has failed is not."""
        for watch in [w for w in self.watches if w.rhythm.due <= self.steps]:
            try:
                watch.callback(simulation)
            except Exception:
                watch.rhythm.count += 1
                raise
            watch.rhythm.count += 1

    def _choose_interval(self) -> None:
        """Take as many steps from check to check as last the wanted time, by the speed of the last ones."""
        elapsed = max(wall.perf_counter() - self._began_at, 1e-6)
        wanted = int(min(4.0 * self._check_every, self._unchecked * self._between / elapsed))
        if wanted < self._check_every > self._unchecked and elapsed < 0.1 * SECONDS_BETWEEN_CHECKS:
            return  # a few steps seem slow because they cost a check, too
        batch = self.solver.batch
        self._check_every = max(1, wanted if wanted < batch else wanted // batch * batch)

    def _first_condition(self) -> tuple[int, Breakpoint] | None:
        """The step at which a condition first held since the last check, and its breakpoint."""
        waiting = [b for b in self.breakpoints if b.condition is not None and not _in_python(b)]
        if not waiting:
            return None
        hits = conditional(self.solver).condition_hits(self.state)
        found = [(hits[b.condition], b) for b in waiting if hits.get(b.condition) is not None]
        return min(found, key=lambda pair: pair[0], default=None)

    def _return_to(self, step: int) -> None:
        """Go back to a step between the last check and now by repeating the steps up to it: they come out the same."""
        with held_back(firmly=True):
            copy_state(self.good, self.state)
            self.solver.clear_divergence()
            self.steps = self._good_steps
        self._take(step - self.steps)
        self.solver.diverged_at()
        self.solver.clear_divergence()
        self._remember()

    def _remember(self) -> None:
        begin = wall.perf_counter()
        self._keep()
        spent = wall.perf_counter() - begin
        self._between = min(max(spent / _SHARE, SECONDS_BETWEEN_CHECKS), _MOST_SECONDS)
        self._good_steps = self.steps

    def _keep(self) -> None:
        """Copy the state; on CUDA out of a graph, since there are many arrays and each copy takes time to begin."""
        device = self.solver.device
        if not device.is_cuda:
            copy_state(self.state, self.good)
            return
        key = self._places()
        if key in self._copies or self._are_alike():
            self._copies.run(key, partial(copy_state, self.state, self.good))
        else:  # some are replaced
            copy_state(self.state, self.good)

    def _are_alike(self) -> bool:
        """Whether both states have arrays of the same lengths on the device."""
        pairs = zip(state_arrays(self.state).values(), state_arrays(self.good).values(), strict=True)
        return all(len(one) == len(other) and one.device == self.solver.device for one, other in pairs)

    def _fail(self, step: int) -> None:
        """Go back to the last finite state and report."""
        self._return_to(step - 1)
        dt = self.solver.dt
        raise SimulationDiverged(
            f"the simulation diverged at step {step} (t = {step * dt:.6g} s): "
            f"{self.solver.describe_divergence(self.state)}. The state is that of the last good step, {step - 1}.",
            time=(step - 1) * dt,
            step=step - 1,
        )


def _in_python(point: Breakpoint) -> bool:
    """Whether the condition of a breakpoint is a function of the simulation, and not one that a device evaluates."""
    return callable(point.condition) and not isinstance(point.condition, wp.Function)
