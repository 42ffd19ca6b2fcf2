"""`annelid picture NAME`: a picture of a scene at a moment, without a screen."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from annelid.commands.support.command_options import Picture, camera_of
from annelid.commands.support.scene_options import scene_command
from annelid.core.device import device
from annelid.core.errors import InvalidValue
from annelid.core.progress import Progress
from annelid.core.scene import WithViewpoint
from annelid.core.simulation import Simulation
from annelid.view.picture import PICTURES, require_size
from annelid.view.showing import look_of


def command(arguments: list[str]) -> int:
    """Simulate up to the moment and write a PNG."""
    parsed = scene_command(arguments, "picture", Picture)
    if parsed is None:
        return 0
    scene, options, machine = parsed
    if not 0.0 <= options.at < float("inf"):
        raise InvalidValue(f"--at must be a time of 0 or more, not {options.at}.")
    require_size(options.pixels)
    path = _file(options.out or Path("out") / scene.name, f"{scene.name}-{options.at:g}s.png")
    chosen = device(machine.device)
    simulation = scene.build(device=chosen, threads=machine.threads)
    look_of(options.show, options.field).require_known(simulation.fields)  # before anything is simulated for nothing
    camera, follow = scene.viewpoint(simulation) if isinstance(scene, WithViewpoint) else (None, False)
    camera, follow = (camera, follow) if options.camera is None else (camera_of(options.camera), False)
    moves = follow and camera is not None  # what is framed anew is in the middle anyway
    begin = _middle(simulation) if moves else np.zeros(3)
    with Progress(scene.name, options.at, quiet=machine.json) as progress:
        simulation.run(options.at, progress=progress)
    if camera is not None and moves:
        camera = camera.moved(_middle(simulation) - begin)
    simulation.picture(
        path,
        camera=camera,
        show=options.show,
        field=options.field,
        range=options.range,
        pixels=options.pixels,
        name=scene.name,
        threads=machine.threads,
    )
    print(json.dumps({"picture": str(path)}) if machine.json else path)
    return 0


def _file(out: Path, name: str) -> Path:
    """The file to write: the one that is asked for, or one of this name in that folder."""
    if out.suffix.lower() in PICTURES:
        return out
    if not out.is_dir() and (out.exists() or out.suffix[1:].isalpha()):
        raise InvalidValue(f"--out {out} is no folder, and a picture file must end in .png or .jpg.")
    return out / name


def _middle(simulation: Simulation[Any]) -> np.ndarray:
    """The middle of what there is to see [m]."""
    return np.asarray(np.mean(simulation.snapshot().bounds(), axis=0))
