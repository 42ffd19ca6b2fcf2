"""Files that a search or a training leaves beside its numbers: a plot and a video."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from annelid.commands.support.options import Machine
from annelid.core.errors import MissingPackage
from annelid.core.snapshot import Snapshot
from annelid.view.picture import Painter
from annelid.view.video import video

_SIZE = (720, 480)


def plotted(draw: Callable[[], Path]) -> list[Path]:
    """The file of a plot; none where plots cannot be drawn on this machine, which `needs` has told at the start."""
    try:
        return [draw()]
    except MissingPackage:
        return []


def filmed(
    moments: Iterable[Sequence[Snapshot]], path: Path, *, name: str, fps: float, machine: Machine, **look: Any
) -> Path:
    """A small video of snapshots.

    Args:
        moments: Snapshots of each image.
        path: Where to write it.
        name: Its caption.
        fps: Images a second [1/s].
        machine: Where to draw.
        look: Further options of the painter: `camera`, `follow`.
    """
    painter = Painter(size=_SIZE, name=name, samples=2, device=machine.device, threads=machine.threads, **look)
    video(moments, path, fps=fps, painter=painter)
    return path
