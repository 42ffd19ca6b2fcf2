"""`annelid video NAME`: a video of a scene, or of several with different parameters in a grid."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from annelid.commands.support.command_options import Video, camera_of
from annelid.commands.support.scene_options import scene_command
from annelid.commands.support.varied import varied
from annelid.core.device import device
from annelid.core.errors import InvalidValue
from annelid.core.progress import Progress
from annelid.core.scene import WithViewpoint
from annelid.view.picture import Painter
from annelid.view.showing import look_of, moments
from annelid.view.video import video


def command(arguments: list[str]) -> int:
    """Simulate and write a video."""
    parsed = scene_command(arguments, "video", Video)
    if parsed is None:
        return 0
    scene, options, machine = parsed
    seconds = type(scene).duration if options.seconds is None else options.seconds
    for option, value in (("--seconds", seconds), ("--fps", options.fps), ("--speed", options.speed)):
        if not 0.0 < value < float("inf"):
            raise InvalidValue(f"{option} must be a positive number, not {value}.")
    chosen = device(machine.device)
    variants = _variants(scene, options.vary)
    simulations = [variant.build(device=chosen, threads=machine.threads) for variant in variants.values()]
    camera, follow = scene.viewpoint(simulations[0]) if isinstance(scene, WithViewpoint) else (None, True)
    camera = camera_of(options.camera) or camera
    painter = Painter(
        size=options.pixels,
        field=options.field,
        limits=options.range,
        samples=options.samples,
        name=scene.name,
        names=list(variants),
        camera=camera,
        follow=follow if options.follow is None else options.follow,
        device=chosen,
        threads=machine.threads,
    )
    path = options.out or Path("out") / scene.name / f"{scene.name}.mp4"
    look = look_of(options.show, options.field)
    look.require_known(simulations[0].fields)
    with Progress(scene.name, seconds, quiet=machine.json) as progress:
        shots = moments(simulations, look, seconds, fps=options.fps, speed=options.speed, progress=progress)
        count = video(shots, path, fps=options.fps, painter=painter)
    print(json.dumps({"video": str(path), "frames": count}) if machine.json else f"{path} ({count} frames)")
    return 0


def _variants(scene: Any, vary: str | None) -> dict[str, Any]:
    """The scenes to show, by caption."""
    if vary is None:
        return {scene.name: scene}
    ((name, chosen),) = varied(scene, [vary]).items()
    return {f"{name} = {value}": replace(scene, **{name: value}) for value in chosen}
