"""What a video of a robot is made of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from annelid.core.simulation import Simulation
from annelid.core.snapshot import Look, Snapshot

_FPS = 25.0


@dataclass(frozen=True)
class Film:
    """A robot in motion.

    Attributes:
        moments: Its pictures, one after the other; they can be asked for once.
        fps: Pictures a second.
        look: How they are painted: options of `view.picture.Painter`.
    """

    moments: Iterable[Snapshot]
    fps: float
    look: Mapping[str, Any] = field(default_factory=lambda: {"follow": True})


def simulated(simulation: Simulation[Any], seconds: float) -> Film:
    """A film of a simulation, in its own time.

    Args:
        simulation: At its beginning.
        seconds: How long to watch it [s].
    """
    return Film(_moments(simulation, seconds), _FPS)


def _moments(simulation: Simulation[Any], seconds: float) -> Iterator[Snapshot]:
    for frame in range(int(seconds * _FPS) + 1):
        due = round(frame / _FPS / simulation.dt)
        simulation.step(max(0, due - simulation.step_count))
        yield simulation.snapshot(Look(host=False))
