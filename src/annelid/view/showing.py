"""Draws simulations: what stands behind `simulation.picture`, `simulation.video` and `simulation.view`."""

from __future__ import annotations

import base64
import io
import sys
import webbrowser
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Any

import numpy as np

from annelid.core.errors import AnnelidError, InvalidValue, UnknownName
from annelid.core.files import as_path, read_bytes
from annelid.core.options import require_kind, require_truth, require_words
from annelid.core.progress import Progress, Told
from annelid.core.simulation import Simulation
from annelid.core.snapshot import Look, Snapshot
from annelid.view.annotate import pillow
from annelid.view.picture import Painter, Viewpoint, save_picture
from annelid.view.video import video as film

if TYPE_CHECKING:
    from annelid.view.browser.live import LiveViewer

PARTS = {"surface": "surface", "springs": "lines", "masses": "spheres"}
"""What can be drawn, and the part of a look that asks for it."""


@dataclass(frozen=True, repr=False)
class Picture:
    """A picture that a notebook displays.

    Attributes:
        pixels: Red, green and blue, shape [height, width, 3], uint8.
    """

    pixels: np.ndarray

    def __repr__(self) -> str:
        height, width = self.pixels.shape[:2]
        return f"Picture({width} × {height} pixels; save('name.png') writes it, a notebook shows it)"

    def save(self, path: str | PathLike[str]) -> None:
        """Write it as PNG or JPEG; the suffix, .png or .jpg, chooses."""
        save_picture(self.pixels, as_path(path))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """The pixels, for whatever takes arrays."""
        return np.array(self.pixels, dtype, copy=copy)

    def _repr_png_(self) -> bytes:
        buffer = io.BytesIO()
        pillow()[0].fromarray(self.pixels).save(buffer, format="PNG")
        return buffer.getvalue()


@dataclass(frozen=True)
class Film:
    """A video that was written, which a notebook plays.

    Attributes:
        path: The file.
        frames: Number of its images.
    """

    path: Path
    frames: int

    def _repr_html_(self) -> str:
        data = base64.b64encode(read_bytes(self.path)).decode("ascii")
        if self.path.suffix.lower() == ".gif":
            return f'<img src="data:image/gif;base64,{data}">'
        return f'<video controls loop style="max-width:100%" src="data:video/mp4;base64,{data}"></video>'


def look_of(show: Sequence[str], scalar: str | None) -> Look:
    """The look behind `show` and `field`; arrays stay on the device, where the camera reads them."""
    asked = [show] if isinstance(show, str) else show
    require_words("what a picture shows", asked)
    for part in asked:
        if part not in PARTS:
            raise UnknownName("part to show", part, PARTS)
    return Look(
        **{PARTS[part]: part in asked for part in PARTS}, fields=() if scalar is None else (scalar,), host=False
    )


def picture(
    simulation: Simulation[Any],
    *,
    show: Sequence[str],
    field: str | None,
    range: tuple[float, float] | None,
    pixels: tuple[int, int],
    camera: Viewpoint | None,
    samples: int,
    name: str | None,
    threads: int | None,
) -> Picture:
    """A picture of this moment; see `Simulation.picture`."""
    look = look_of(show, field)
    painter = Painter(
        size=pixels,
        camera=camera,
        field=field,
        limits=range,
        samples=samples,
        name=name,
        device=simulation.solver.device,
        threads=threads,
    )
    return Picture(painter.paint(simulation.snapshot(look)))


def video(
    simulation: Simulation[Any],
    path: str | PathLike[str],
    seconds: float,
    *,
    fps: float,
    speed: float,
    show: Sequence[str],
    field: str | None,
    range: tuple[float, float] | None,
    pixels: tuple[int, int],
    camera: Viewpoint | None,
    follow: bool,
    samples: int,
    name: str | None,
    progress: Progress | None,
) -> Film:
    """Simulate on and film it; see `Simulation.video`."""
    file = as_path(path)
    require_kind("progress of a video", progress, (Told, NoneType), "a Progress or None")
    painter = Painter(
        size=pixels,
        camera=camera,
        field=field,
        limits=range,
        samples=samples,
        name=name,
        follow=follow,
        device=simulation.solver.device,
    )
    look = look_of(show, field)
    shots = (shots[0] for shots in moments([simulation], look, seconds, fps=fps, speed=speed, progress=progress))
    return Film(file, film(shots, file, fps=fps, painter=painter))


def moments(
    simulations: Sequence[Simulation[Any]],
    look: Look,
    seconds: float,
    *,
    fps: float,
    speed: float,
    progress: Progress | None = None,
) -> Iterator[list[Snapshot]]:
    """Advance simulations and yield their snapshots for each image of a video, the first one now."""
    for what, value in {"seconds": seconds, "fps": fps, "speed": speed}.items():
        require_kind(what, value, (float, int), "a number")
        if not 0.0 < value < float("inf"):
            raise InvalidValue(f"{what} must be a positive number, not {value}.")
    for simulation in simulations:
        look.require_known(simulation.fields)  # before an encoder is started
    return _moments(simulations, look, seconds, fps, speed, progress)


def _moments(
    simulations: Sequence[Simulation[Any]],
    look: Look,
    seconds: float,
    fps: float,
    speed: float,
    progress: Progress | None,
) -> Iterator[list[Snapshot]]:
    begun = [simulation.step_count for simulation in simulations]
    for frame in range(int(seconds / speed * fps + 1e-9) + 1):
        due = frame / fps * speed
        for simulation, start in zip(simulations, begun, strict=True):
            simulation.step(max(0, start + round(due / simulation.dt) - simulation.step_count))
        if progress is not None:
            progress.update(due, max(0.0, seconds - due))
        yield [simulation.snapshot(look) for simulation in simulations]


def view(
    simulation: Simulation[Any],
    *,
    host: str,
    port: int,
    open: bool,
    wait: bool | None,
    name: str,
    allow_hosts: Sequence[str],
) -> LiveViewer:
    """Serve a live page; see `Simulation.view`."""
    require_truth("open", open)
    if wait is not None:
        require_truth("wait", wait)
    if simulation.running:
        raise AnnelidError("the simulation runs in its own thread: pause() it first, the page advances it by itself.")
    # Here: a picture must not wait for the packages of a page to be imported.
    from annelid.view.browser.given import Given
    from annelid.view.browser.live import LiveViewer

    viewer = LiveViewer({}, Given(simulation), name=name, host=host, port=port, allow_hosts=allow_hosts)
    waits = not in_notebook() if wait is None else wait
    serve(viewer, open_browser=open and waits, wait=waits)
    return viewer


def serve(viewer: Any, *, open_browser: bool, wait: bool) -> None:
    """Tell the address of a page, open it, and serve it until interrupted."""
    elsewhere = " (on another machine: with the name of this one for localhost)" if "//localhost" in viewer.url else ""
    print(f"Open {viewer.url} in a browser{elsewhere}{'; Ctrl+C ends it' if wait else ''}.", flush=True)
    if open_browser:
        webbrowser.open(viewer.url)
    if not wait:
        return
    try:
        viewer.wait()
    except KeyboardInterrupt:
        pass
    finally:
        viewer.close()


def in_notebook() -> bool:
    """Whether this process is the kernel of a notebook."""
    return "ipykernel" in sys.modules
