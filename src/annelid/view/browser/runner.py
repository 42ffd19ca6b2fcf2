"""Simulations side by side in one thread, each advanced by its own run loop, turn by turn; others look in between.

Nothing here waits for the viewer: a look is a job that the thread does when it next comes around, and there is never
more than the one that was asked for.
"""

from __future__ import annotations

import threading
import time as wall
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from annelid.core.snapshot import Look, Snapshot

T = TypeVar("T")

_TURN = 0.02  # seconds of computing between two looks at the jobs


class Runnable(Protocol):
    """What is asked of a simulation."""

    @property
    def time(self) -> float:
        """Simulated time [s]."""
        ...

    @property
    def step_count(self) -> int:
        """Steps taken."""
        ...

    @property
    def dt(self) -> float:
        """Time step [s]."""
        ...

    @property
    def fields(self) -> tuple[str, ...]:
        """Names of the scalars that snapshots can be coloured by."""
        ...

    def step(self, count: int = 1) -> object:
        """Take steps."""
        ...

    def run_for(self, seconds: float, *, most: int | None = None) -> object:
        """Take one turn of the run loop, of about some wall time [s]; returns the breakpoint that ended it, or None."""
        ...

    def snapshot(self, look: Look) -> Snapshot:
        """A picture of this moment."""
        ...


@dataclass(frozen=True)
class Moment:
    """Snapshots of all simulations, taken together, and what that cost.

    Attributes:
        snapshots: One a simulation.
        seconds: Wall time for which the simulations stood still [s].
    """

    snapshots: tuple[Snapshot, ...]
    seconds: float


class Runner:
    """Advances simulations side by side in one thread; begins paused.

    Attributes:
        speed: Simulated seconds a second, or None for as fast as it can.
        error: What stopped the simulations, or None; `play` after a repair clears it.
        failure: What ended the thread, or None.
    """

    def __init__(self, simulations: Sequence[Any] = ()) -> None:
        self.error: Exception | None = None
        self.failure: BaseException | None = None
        self._simulations: tuple[Runnable, ...] = tuple(simulations)
        self._playing = False
        self._speed: float | None = None
        self._closed = False
        self._jobs: deque[tuple[Callable[[], Any], Future[Any]]] = deque()
        self._wake = threading.Condition()
        self._anchor = (0.0, 0.0)
        self._rates: deque[tuple[float, float]] = deque(maxlen=50)
        self._thread = threading.Thread(target=self._loop, name="annelid-simulation", daemon=True)
        self._thread.start()

    @property
    def simulations(self) -> tuple[Any, ...]:
        """The simulations; touch them inside `call` only."""
        return self._simulations

    @property
    def playing(self) -> bool:
        """Whether time passes."""
        return self._playing

    @property
    def speed(self) -> float | None:
        """Simulated seconds a second, or None for as fast as it can."""
        return self._speed

    @speed.setter
    def speed(self, value: float | None) -> None:
        with self._wake:
            self._speed = value
            self._set_anchor()
            self._wake.notify_all()

    @property
    def rate(self) -> float:
        """Simulated seconds a second, over the last moments."""
        rates = list(self._rates)
        if len(rates) < 2 or not self._playing:
            return 0.0
        (begin, first), (end, last) = rates[0], rates[-1]
        return (last - first) / max(end - begin, 1e-9)

    def play(self) -> None:
        """Let time pass."""
        with self._wake:
            self.error = None
            self._playing = True
            self._rates.clear()
            self._set_anchor()
            self._wake.notify_all()

    def pause(self) -> None:
        """Pause after the steps that are under way."""
        with self._wake:
            self._playing = False

    def step(self, count: int = 1) -> Future[None]:
        """Pause, and take a number of steps."""
        self.pause()
        return self.call(lambda: self._step_all(count))

    def replace(self, simulations: Sequence[Any]) -> None:
        """Go on with other simulations, paused."""
        self.pause()
        self.call(lambda: self._replace(tuple(simulations))).result()

    def call(self, job: Callable[[], T]) -> Future[T]:
        """Do something in the simulations' thread, between two steps."""
        future: Future[T] = Future()
        with self._wake:
            if self._closed:
                future.set_exception(RuntimeError("the runner is closed"))
                return future
            self._jobs.append((job, future))
            self._wake.notify_all()
        return future

    def look(self, look: Look) -> Future[Moment]:
        """Ask for a picture of all simulations."""
        return self.call(lambda: self._look(look))

    def close(self) -> None:
        """End the thread and let go of the simulations; jobs that wait are cancelled."""
        with self._wake:
            self._closed = True
            self._wake.notify_all()
        if threading.current_thread() is not self._thread:
            self._thread.join(timeout=10.0)
        self._cancel_jobs()
        self._simulations, self.error = (), None  # an error knows its frames, and these the simulations

    def _cancel_jobs(self) -> None:
        while self._jobs:
            self._jobs.popleft()[1].cancel()

    def _replace(self, simulations: tuple[Any, ...]) -> None:
        self._simulations, self.error = simulations, None
        self._rates.clear()

    def _look(self, look: Look) -> Moment:
        begin = wall.perf_counter()
        snapshots = tuple(simulation.snapshot(look) for simulation in self._simulations)
        return Moment(snapshots, wall.perf_counter() - begin)

    def _loop(self) -> None:
        try:
            self._take_turns()
        except BaseException as error:  # nobody may wait for a thread that is gone
            with self._wake:
                self.failure, self._closed, self._playing = error, True, False
            self._cancel_jobs()

    def _take_turns(self) -> None:
        while not self._closed:
            self._do_jobs()
            if not (self._playing and self._simulations and self._take_turn()):
                with self._wake:
                    if not self._jobs and not self._closed:
                        self._wake.wait(0.005 if self._playing else 1.0)

    def _do_jobs(self) -> None:
        for _ in range(len(self._jobs)):
            job, future = self._jobs.popleft()
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(job())
            except BaseException as error:
                future.set_exception(error)
                del future  # which this frame, and so the error, would keep

    def _set_anchor(self) -> None:
        time = self._simulations[0].time if self._simulations else 0.0
        self._anchor = (wall.perf_counter(), time)

    def _allowed_steps(self) -> int | None:
        """Steps that the chosen speed allows now; None for any number."""
        if self._speed is None:
            return None
        first, (begin, start) = self._simulations[0], self._anchor
        ahead = self._speed * (wall.perf_counter() - begin) - (first.time - start)
        if ahead > 0.25 * self._speed:  # it cannot keep up: do not try to make good for it
            self._set_anchor()
        return max(0, int(ahead / first.dt))

    def _take_turn(self) -> bool:
        """One turn of all simulations; whether it was time for one."""
        try:
            allowed = self._allowed_steps()
            if allowed == 0:
                return False
            self._advance(allowed)
        except Exception as error:
            self.error = error
            self._playing = False
        else:
            self._rates.append((wall.perf_counter(), self._simulations[0].time))
        return True

    def _advance(self, most: int | None) -> None:
        """The first simulation takes a turn and the others follow it; a breakpoint of any pauses them."""
        first, *others = self._simulations
        events = [first.run_for(_TURN / len(self._simulations), most=most)]
        events += [other.step(max(0, first.step_count - other.step_count)) for other in others]
        if any(event is not None for event in events):
            self._playing = False

    def _step_all(self, count: int) -> None:
        for simulation in self._simulations:
            simulation.step(count)
