"""Events of a simulation: why it stopped, and what happened in it; and the points at which it stops."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Event:
    """Something that happened at a step.

    Attributes:
        kind: "breakpoint", "paused", "stopped", "failed", "broken"...
        time: Simulated time [s].
        step: Steps taken by then.
        detail: What it concerns: the breakpoint, the error, the handles of broken springs...
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
