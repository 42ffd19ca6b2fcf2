"""Events of a simulation: why it stopped, and what happened in it; and the log that threads wait on."""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass, field
from typing import Any

from annelid.core.errors import AnnelidError


@dataclass(frozen=True)
class Event:
    """Something that happened at a step.

    Attributes:
        kind: "breakpoint", "paused", "stopped", "broken"...
        time: Simulated time [s].
        step: Steps taken by then.
        detail: What it concerns: the breakpoint, the handles of broken springs...
    """

    kind: str
    time: float
    step: int
    detail: Any = None


@dataclass(frozen=True, eq=False)
class Breakpoint:
    """Where a simulation stops.

    Attributes:
        step: The step at which it stops, for one that waits for a time.
        condition: The condition, for one that waits for it.
        name: Name that identifies it.
    """

    step: int | None = None
    condition: Any = None
    name: str = ""


@dataclass
class EventLog:
    """Stops of a simulation in the order in which they happened, for any number of waiting threads."""

    changed: threading.Condition = field(default_factory=threading.Condition)
    running: bool = False
    failure: BaseException | None = None
    _stops: deque[tuple[int, Event]] = field(default_factory=lambda: deque(maxlen=256))
    _count: int = 0

    def begin(self) -> None:
        """The simulation runs from now on."""
        with self.changed:
            self.running, self.failure = True, None

    def end(self, event: Event | None, failure: BaseException | None = None) -> None:
        """The simulation has stopped with an event or an error; all threads that wait are notified."""
        with self.changed:
            self.running, self.failure = False, failure
            self._count += 1
            if event is not None:
                self._stops.append((self._count, event))
            self.changed.notify_all()

    def wait(self, timeout: float | None) -> Event:
        """The stop that ends the present run, or the last one if nothing runs; errors of the run are raised here."""
        with self.changed:
            seen = self._count if self.running else self._count - 1
            if not self.changed.wait_for(lambda: self._count > seen, timeout):
                raise TimeoutError(f"the simulation did not stop within {timeout} s.")
            if self.failure is not None:
                raise self.failure
            later = [event for count, event in self._stops if count > seen]
            if not later:
                raise AnnelidError("the simulation has not been started: there is nothing to wait for.")
            return later[0]
