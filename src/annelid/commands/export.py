"""`annelid export RECORDING FILE`: a recording as a page, a video, a table, a geometry or an animation."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from annelid.commands.support.command_options import camera_of
from annelid.commands.support.options import parse
from annelid.commands.support.recordings import recording_of
from annelid.core.errors import AnnelidError
from annelid.core.progress import Progress
from annelid.scenes.registry import scene_names
from annelid.view.files.export import ExportOptions, export


@dataclass(frozen=True)
class Export:
    """Export a recording; the suffix of the file chooses.

    A page: .html. A video: .mp4, .gif. Numbers: .csv. One frame: .vtu, .ply. All frames for other programs:
    .usda, .usdc, .usd (Omniverse, Blender), .glb (web pages, Blender), .pvd (ParaView), .npz, .zarr (arrays),
    .rrd (Rerun).
    """

    frame: int | None = None
    """Number of the frame (.vtu, .ply), negative from the end; the last one by default."""
    at: float | None = None
    """Time of the frame [s] instead of its number (.vtu, .ply)."""
    field: str | None = None
    """Scalar to colour by (.html, .mp4, .gif, .usd, .glb, .rrd)."""
    fps: float = 30.0
    """Images a second (.mp4, .gif), or frames kept a second (.html)."""
    speed: float = 1.0
    """Seconds of the recording in a second of video (.mp4, .gif)."""
    pixels: tuple[int, int] = (960, 640)
    """Width and height of a video."""
    follow: bool = False
    """Move a video's camera along with the scene."""
    range: tuple[float, float] | None = None
    """Values at the two ends of the colours of a video; those of the field by default, in the whole recording."""
    camera: tuple[float, float, float, float, float, float] | None = None
    """Place of a video's camera and the point that it looks at [m]: x y z x y z."""
    device: str = "auto"
    """Where a video is rendered: auto, cpu, cuda or cuda:N."""
    every: int = 1
    """Keep one frame of so many (.usd, .glb, .pvd, .npz, .zarr, .rrd)."""
    json: bool = False
    """Print one JSON object on standard output and nothing else."""


def command(arguments: list[str]) -> int:
    """Write the file."""
    names = [a for a in arguments[:2] if not a.startswith("-")]
    if len(names) < 2 and not {"-h", "--help"} & set(arguments):
        raise AnnelidError("name the recording and the file to write: annelid export out/NAME/recording.rec FILE.")
    options: Export = parse(Export, arguments[len(names) :], "annelid export RECORDING FILE", Export.__doc__)
    source, target = Path(names[0]), Path(names[1])
    if names[0] in scene_names() and not source.exists():
        raise AnnelidError(
            f"{source} is a scene, not a recording: `annelid run {source} --record` makes one in out/{source}, and "
            f"`annelid video {source} --out FILE.mp4` makes a video at once."
        )
    chosen = ExportOptions(
        options.frame,
        options.at,
        options.field,
        options.fps,
        options.speed,
        options.pixels,
        options.follow,
        options.device,
        options.every,
        camera_of(options.camera),
        options.range,
    )
    with Progress(f"export {target.name}", 1.0, quiet=options.json) as progress:

        def told(done: float, total: float) -> None:
            progress.update(done, 1.0 - done / max(total, 1e-12))

        path = export(recording_of(names[0]), target, chosen, told=told)
    print(json.dumps({"file": str(path)}) if options.json else path)
    return 0
