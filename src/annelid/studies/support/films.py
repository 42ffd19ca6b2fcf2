"""Films of motions that a table of commands drives."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from annelid.core.simulation import Simulation
from annelid.core.snapshot import Look, Snapshot
from annelid.view.picture import Painter
from annelid.view.video import video

_FPS = 20.0


def commanded_film(
    simulation: Simulation[Any], table: np.ndarray, steps: int, path: Path, *, follow: bool = True
) -> Path:
    """Write a film of a simulation that takes commands, half as fast as it is.

    Args:
        simulation: At its beginning.
        table: Commands, shape [intervals, controls].
        steps: Steps for which a command is held.
        path: The MP4 file.
        follow: Whether the camera moves along.
    """
    painter = Painter(size=(640, 400), follow=follow, samples=2, name=None, device=simulation.solver.device)
    video(_moments(simulation, table, steps), path, fps=_FPS, painter=painter)
    return path


def _moments(simulation: Simulation[Any], table: np.ndarray, steps: int) -> Iterator[Snapshot]:
    """A snapshot every half of a frame's time: what is shown lasts twice as long as it took."""
    between, shown = 0.5 / _FPS, -1
    for row in table:
        simulation.controls.command(row)
        simulation.step(steps)
        frame = int(simulation.time / between + 1e-9)
        if frame > shown:
            shown = frame
            yield simulation.snapshot(Look(host=False))
