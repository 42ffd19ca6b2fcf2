"""Reading back all that a soak has written."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from annelid.commands.soaking.tower import Tower
from annelid.commands.soaking.treatment import Kept, load
from annelid.commands.soaking.wanted import NotAsWanted, want
from annelid.core.errors import AnnelidError
from annelid.core.recording import Recorder, Recording
from annelid.core.simulation import Simulation


def read_recording(recorder: Recorder, *, segments: int) -> None:
    """Read every frame that was recorded, which must be in so many segments."""
    name, wanted = recorder.path.name, (recorder.frame_count, segments)
    with _named(recorder.path), Recording(recorder.path) as recording:
        want(recording.complete, f"the recording {name} was not finished.")
        found = len(recording), len(recording.segments)
        want(found == wanted, f"{name} has {found} frames and segments, not {wanted}.")
        for number in range(len(recording)):
            recording.frame(number)


def read_tower(kept: Kept, simulation: Tower) -> None:
    """Load a checkpoint into a tower, and go on from it."""
    with _named(kept.path):
        load(simulation, kept)
        simulation.solver.model.network.verify()
        simulation.step(1)


def read_checkpoint(path: Path, simulation: Simulation[Any]) -> None:
    """Load a checkpoint of another physics, and go on from it."""
    with _named(path):
        simulation.load(path)
        simulation.step(1)


@contextmanager
def _named(path: Path) -> Iterator[None]:
    try:
        yield
    except AnnelidError as error:
        raise NotAsWanted(f"{path.name} cannot be read back: {error}") from error
