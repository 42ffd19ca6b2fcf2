"""Turning recordings into files for others: the suffix of the file chooses what is written.

`.html` (a page that plays offline), `.mp4` and `.gif` (videos), `.csv` (the named numbers), `.vtu` and `.ply` (the
geometry of one frame, for ParaView and Blender); all frames for other programs: `.usda`, `.usdc`, `.usd`, `.glb`,
`.pvd` with a `.vtu` for each, `.npz`, `.zarr` and `.rrd`.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from numbers import Integral, Real
from pathlib import Path
from types import NoneType

import numpy as np

from annelid.core.errors import InvalidValue, UnknownName
from annelid.core.files import as_path, replaced
from annelid.core.numbers import is_number, is_whole
from annelid.core.options import require_kind, require_truth, require_word
from annelid.core.recording import Recording
from annelid.core.snapshot import Plane, Snapshot
from annelid.view.camera.camera import Camera
from annelid.view.files.glb import write_glb
from annelid.view.files.html import write_html
from annelid.view.files.ply import write_ply
from annelid.view.files.pvd import write_pvd
from annelid.view.files.reel import Reel, Told
from annelid.view.files.rrd import write_rrd
from annelid.view.files.trajectories import write_npz, write_zarr
from annelid.view.files.usd import write_usd
from annelid.view.files.vtu import write_vtu


@dataclass(frozen=True)
class ExportOptions:
    """Options of an export; each format takes what concerns it.

    Attributes:
        frame: Number of the frame (.vtu, .ply), negative from the end; None for the last.
        at: Time of the frame [s] instead of its number (.vtu, .ply).
        field: Scalar to colour by (.html, .mp4, .gif, .usd, .glb, .rrd); None for the first one recorded.
        fps: Images a second (.mp4, .gif), or frames kept a second (.html).
        speed: Seconds of the recording shown in a second of video (.mp4, .gif).
        size: Width and height of a video [pixels].
        follow: Move a video's camera along with the scene.
        device: Where a video is rendered.
        every: Keep one frame of so many (.usd, .glb, .pvd, .npz, .zarr, .rrd).
        camera: The camera of a video; None frames everything that it shows.
        range: Values at the ends of a video's colour map; None takes the range of the field in the whole recording.
    """

    frame: int | None = None
    at: float | None = None
    field: str | None = None
    fps: float = 30.0
    speed: float = 1.0
    size: tuple[int, int] = (960, 640)
    follow: bool = False
    device: str = "auto"
    every: int = 1
    camera: Camera | None = None
    range: tuple[float, float] | None = None


def export(
    recording: str | os.PathLike[str],
    out: str | os.PathLike[str],
    options: ExportOptions | None = None,
    *,
    told: Told | None = None,
) -> Path:
    """Write a recording, or a frame of it, in another format.

    Args:
        recording: The recording, made by `Recorder`.
        out: File to write; its suffix chooses the format. It appears only when it is complete.
        options: What to write and how.
        told: Called now and then with the progress of long exports.

    Returns:
        The file that was written.
    """
    require_kind("options of an export", options, (ExportOptions, NoneType), "ExportOptions or None")
    path, options = as_path(out), options or ExportOptions()
    writer = WRITERS.get(path.suffix.lower())
    if writer is None:
        raise InvalidValue(f"{path.name!r} must end in one of {', '.join(WRITERS)}, which chooses what is exported.")
    _check(options)
    with Recording(recording) as opened:
        if not len(opened):
            raise InvalidValue(f"the recording {opened.path} has no frames; there is nothing to export.")
        opened.warn_if_open()
        _check_field(opened, options.field)
        writer(opened, path, options, told)
    return path


def _check(options: ExportOptions) -> None:
    for name in ("fps", "speed"):
        value = getattr(options, name)
        if not (is_number(value) and value > 0.0):
            raise InvalidValue(f"{name} {value!r:.60} must be positive.")
    require_truth("follow", options.follow)
    if options.frame is not None and (isinstance(options.frame, bool) or not isinstance(options.frame, Integral)):
        raise InvalidValue(f"frame must be a whole number, not {options.frame!r:.60}.")
    if options.at is not None and not isinstance(options.at, Real):
        raise InvalidValue(f"at {options.at!r:.60} must be a time [s].")
    if not is_whole(options.every, 1):
        raise InvalidValue(f"every {options.every} must be a number of frames, 1 or more.")
    if options.frame is not None and options.at is not None:
        raise InvalidValue(f"give either frame={options.frame} or at={options.at}, not both.")


def _check_field(recording: Recording, name: str | None) -> None:
    if name is not None:
        require_word("the field of an export", name)
    if name is not None and name not in (known := _fields(recording.frame(0)) | _fields(recording.frame(-1))):
        raise UnknownName("recorded field", name, known)


def _fields(snapshot: Snapshot) -> dict[str, None]:
    return {name: None for part in snapshot.parts if not isinstance(part, Plane) for name in part.fields}


def chosen_frame(recording: Recording, options: ExportOptions) -> Snapshot:
    """The frame that the options name."""
    if options.at is not None:
        if not np.isfinite(options.at):
            raise InvalidValue(f"at {options.at} must be a time [s].")
        _require_recorded(recording, options.at)
        return recording.frame(recording.index_at(options.at))
    return recording.frame(-1 if options.frame is None else options.frame)


def _require_recorded(recording: Recording, at: float) -> None:
    """Refuse a time before the first frame or after the last, by more than half of what lies between two frames."""
    first, last = float(recording.times.min()), float(recording.times.max())
    margin = 0.5 * float(np.abs(np.diff(recording.reel)).max(initial=0.0)) + 1e-9
    if not first - margin <= at <= last + margin:
        raise InvalidValue(f"at {at:g} s nothing was recorded: {recording.path} goes from {first:g} s to {last:g} s.")


def _write_csv(recording: Recording, path: Path, _options: ExportOptions, _told: Told | None) -> None:
    units = recording.units
    columns = {"time [s]": recording.times}
    if len(recording.segments) > 1:
        columns["segment"] = np.concatenate([np.full(len(one), i) for i, one in enumerate(recording.segments)])
    for name, values in recording.numbers().items():
        columns[f"{name} [{units[name]}]" if units[name] else name] = values
    with replaced(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        for row in zip(*(values.tolist() for values in columns.values()), strict=True):
            writer.writerow("" if np.isnan(value) else repr(value) for value in row)


def _write_html(recording: Recording, path: Path, options: ExportOptions, _told: Told | None) -> None:
    write_html(recording, path, fps=options.fps, field=options.field)


def _write_vtu(recording: Recording, path: Path, options: ExportOptions, _told: Told | None) -> None:
    write_vtu(chosen_frame(recording, options), path)


def _write_ply(recording: Recording, path: Path, options: ExportOptions, _told: Told | None) -> None:
    write_ply(chosen_frame(recording, options), path)


def _write_video(recording: Recording, path: Path, options: ExportOptions, told: Told | None) -> None:
    from annelid.view.picture import Painter
    from annelid.view.video import video

    field = options.field or next(iter(_fields(recording.frame(0))), None)
    painter = Painter(
        size=options.size,
        camera=options.camera,
        field=field,
        limits=options.range,
        follow=options.follow,
        name=recording.header.scene,
        device=options.device,
    )
    video(_moments(recording, options, told), path, fps=options.fps, painter=painter)


def _moments(recording: Recording, options: ExportOptions, told: Told | None) -> Iterator[Snapshot]:
    """The frames nearest to the times of the video's images; segments come one after another."""
    reel = recording.reel
    begin, length = float(reel[0]), float(reel[-1] - reel[0])
    step = options.speed / options.fps
    for number in range(int(length / step + 1e-6) + 1):
        if told is not None:
            told(number * step, length)
        yield recording.frame(int(np.argmin(np.abs(reel - begin - number * step))))


Writer = Callable[[Recording, Path, ExportOptions, Told | None], None]


def _played(write: Callable[[Reel, Path], None]) -> Writer:
    """A writer of all frames."""

    def writer(recording: Recording, path: Path, options: ExportOptions, told: Told | None) -> None:
        write(Reel(recording, every=options.every, field=options.field, told=told), path)

    return writer


WRITERS: dict[str, Writer] = {
    ".html": _write_html,
    ".mp4": _write_video,
    ".gif": _write_video,
    ".csv": _write_csv,
    ".vtu": _write_vtu,
    ".ply": _write_ply,
    ".usda": _played(write_usd),
    ".usdc": _played(write_usd),
    ".usd": _played(write_usd),
    ".glb": _played(write_glb),
    ".pvd": _played(write_pvd),
    ".npz": _played(write_npz),
    ".zarr": _played(write_zarr),
    ".rrd": _played(write_rrd),
}
