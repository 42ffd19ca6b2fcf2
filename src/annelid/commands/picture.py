"""`annelid picture NAME`: a picture of a scene at a moment, without a screen."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from annelid.commands.support.scene_options import scene_command
from annelid.core.device import device
from annelid.core.errors import InvalidValue
from annelid.core.progress import Progress
from annelid.view.picture import require_size


@dataclass(frozen=True)
class Picture:
    """The moment, the view and the file."""

    at: float = 0.0
    """Simulated time of the picture [s]."""
    out: Path | None = None
    """Folder for the picture; out/NAME by default."""
    field: str | None = None
    """Scalar to colour by: strain, speed, stress, actuation, material..."""
    show: tuple[Literal["surface", "springs", "masses"], ...] = ("surface",)
    """What to draw."""
    pixels: tuple[int, int] = (960, 640)
    """Width and height."""


def command(arguments: list[str]) -> int:
    """Simulate up to the moment and write a PNG."""
    parsed = scene_command(arguments, "picture", Picture)
    if parsed is None:
        return 0
    scene, options, machine = parsed
    if not 0.0 <= options.at < float("inf"):
        raise InvalidValue(f"--at must be a time of 0 or more, not {options.at}.")
    require_size(options.pixels)
    chosen = device(machine.device)
    simulation = scene.build(device=chosen, threads=machine.threads)
    with Progress(scene.name, options.at, quiet=machine.json) as progress:
        simulation.run(options.at, progress=progress)
    path = (options.out or Path("out") / scene.name) / f"{scene.name}-{options.at:g}s.png"
    simulation.picture(
        path,
        show=options.show,
        field=options.field,
        pixels=options.pixels,
        name=scene.name,
        threads=machine.threads,
    )
    print(json.dumps({"picture": str(path)}) if machine.json else path)
    return 0
