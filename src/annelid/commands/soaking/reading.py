"""Reading back all that a soak has written."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from annelid.commands.soaking.tower import Tower
from annelid.commands.soaking.treatment import Kept, load
from annelid.commands.soaking.wanted import want
from annelid.core.recording import Recorder, Recording
from annelid.core.simulation import Simulation


def read_recording(recorder: Recorder, *, segments: int) -> None:
    """Read every frame that was recorded, which must be in so many segments."""
    name, wanted = recorder.path.name, (recorder.frame_count, segments)
    with Recording(recorder.path) as recording:
        want(recording.complete, f"the recording {name} was not finished.")
        found = len(recording), len(recording.segments)
        want(found == wanted, f"{name} has {found} frames and segments, not {wanted}.")
        for number in range(len(recording)):
            recording.frame(number)


def read_towers(checkpoints: Iterable[Kept], simulation: Tower) -> None:
    """Load every checkpoint into a tower, and go on from it."""
    for kept in checkpoints:
        load(simulation, kept)
        simulation.solver.model.network.verify()
        simulation.step(1)


def read_checkpoints(paths: Iterable[Path], simulation: Simulation[Any]) -> None:
    """Load every checkpoint of another physics, and go on from it."""
    for path in paths:
        simulation.load(path)
        simulation.step(1)
