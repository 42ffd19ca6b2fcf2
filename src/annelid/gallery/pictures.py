"""The files of a film: a picture, a moving preview of two seconds, and a page that plays the recording."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from annelid.core.files import replaced
from annelid.core.recording import Recorder, Recording
from annelid.gallery.filming import Film
from annelid.view.annotate import pillow
from annelid.view.camera.camera import Camera
from annelid.view.camera.framing import corners, without_strays
from annelid.view.files.html import write_html
from annelid.view.picture import LEGEND_WIDTH, Painter, Viewpoint, save_picture

PICTURE, PREVIEW, PAGE = "picture.png", "preview.webp", "page.html"

_PICTURE_SIZE, _PREVIEW_SIZE = (720, 480), (360, 240)  # [pixels]
_PREVIEW_SECONDS, _PREVIEW_FRAMES, _QUALITY = 2.0, 24, 60
_FAR = 2.5  # times its size: what goes further is followed
_SHOWN_AT = 0.7  # part of the film at which the picture is taken


def write_film(film: Film, folder: Path, title: str, *, device: str = "auto", threads: int | None = None) -> None:
    """Write all three files."""
    _write_page(film, folder / PAGE, title)
    seen: dict[str, Any] = {"camera": _viewpoint(film), "field": film.field, "device": device, "threads": threads}
    small = Painter(size=_PREVIEW_SIZE, samples=2, legend=False, name=None, **seen)
    write_preview([small.paint(frame) for frame in _spread(film.frames, _PREVIEW_FRAMES)], folder / PREVIEW)
    large = Painter(size=_PICTURE_SIZE, name=title, **seen)
    save_picture(large.paint(film.frames[int(_SHOWN_AT * (len(film.frames) - 1))]), folder / PICTURE)


def _viewpoint(film: Film) -> Viewpoint:
    """From where all of the film can be seen: a camera that stays, or one that moves along with what goes far.

    The side that the film is seen from is the film's choice; how far away the camera stands is too, unless that would
    cut something off.
    """
    boxes = np.array([without_strays(frame).bounds() for frame in film.frames])
    low, high = boxes[:, 0].min(axis=0), boxes[:, 1].max(axis=0)
    # What spreads, such as a heap, stays in its place, however large it becomes.
    far = np.linalg.norm(high - low) > _FAR * np.linalg.norm(boxes[:, 1] - boxes[:, 0], axis=1).max()
    if not (film.follow or far):
        return _seeing(np.concatenate([corners(*box) for box in boxes]), film)
    origin = boxes[0].mean(axis=0)
    camera = _seeing(np.concatenate([corners(*box) - box.mean(axis=0) + origin for box in boxes]), film)
    return lambda frame: camera.moved(np.mean(without_strays(frame).bounds(), axis=0) - origin)


def _seeing(points: np.ndarray, film: Film) -> Camera:
    """The camera of the film if it sees all points, or one that does from the same side; points [m], shape [n, 3]."""
    aspect, camera = _PICTURE_SIZE[0] / _PICTURE_SIZE[1], film.camera
    if camera is None:
        aside = LEGEND_WIDTH if film.field is not None else 0.0
        return Camera.framing(points, aspect=aspect, free_right=aside)
    return camera if camera.sees(points, aspect=aspect) else camera.framed(points, aspect=aspect)


def write_preview(images: Sequence[np.ndarray], path: Path) -> None:
    """An animated WebP of two seconds that repeats itself; images have shape [height, width, 3], uint8."""
    first, *others = [pillow()[0].fromarray(np.ascontiguousarray(image)) for image in images]
    each = round(1000.0 * _PREVIEW_SECONDS / len(images))
    with replaced(path) as temporary:
        first.save(
            temporary, format="WEBP", save_all=True, append_images=others, duration=each, loop=0, quality=_QUALITY
        )


def _write_page(film: Film, path: Path, title: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        recorder = Recorder(Path(folder) / "film.rec", scene=title)
        for frame in film.frames:
            recorder.write(frame)
        recorder.close()
        length = film.frames[-1].time - film.frames[0].time
        with Recording(recorder.path) as recording:
            write_html(recording, path, title=title, fps=4.0 * len(film.frames) / max(length, 1e-9), field=film.field)


def _spread(frames: Sequence[Any], most: int) -> list[Any]:
    picks = np.unique(np.linspace(0, len(frames) - 1, most).round().astype(int))
    return [frames[i] for i in picks]
