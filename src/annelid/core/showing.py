"""Pictures, videos and live pages of a simulation, as its own methods.

The physics knows nothing about how it is drawn: a package above says with `provide` who draws. `import annelid` does
that, so that every simulation can be shown, and nothing is imported before there is something to see.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from annelid.core.errors import AnnelidError

if TYPE_CHECKING:  # `import annelid` comes by here, and is quick
    import numpy as np

    from annelid.core.progress import Progress

Part = str
"""What can be drawn: "surface", "springs", "masses"."""


class Picture(Protocol):
    """A picture that a notebook displays."""

    @property
    def pixels(self) -> np.ndarray:
        """Red, green and blue, shape [height, width, 3], uint8."""
        ...

    def save(self, path: str | PathLike[str]) -> None:
        """Write it as PNG or JPEG; the suffix, .png or .jpg, chooses."""
        ...


class Film(Protocol):
    """A video that was written, which a notebook plays."""

    @property
    def path(self) -> Path:
        """The file."""
        ...

    @property
    def frames(self) -> int:
        """Number of its images."""
        ...


class Page(Protocol):
    """A live page in a browser, which a notebook displays in its output cell."""

    @property
    def url(self) -> str:
        """Its address."""
        ...

    def wait(self) -> None:
        """Serve until interrupted."""
        ...

    def close(self) -> None:
        """Stop serving."""
        ...


@dataclass(frozen=True)
class Theatre:
    """What draws simulations.

    Attributes:
        picture: Draws this moment; takes the options of `Shown.picture`, without the path.
        video: Simulates on and films it; takes the arguments of `Shown.video`.
        view: Serves a live page; takes the options of `Shown.view`.
    """

    picture: Callable[..., Picture]
    video: Callable[..., Film]
    view: Callable[..., Page]


_opening: list[Callable[[], Theatre]] = []


def provide(theatre: Callable[[], Theatre]) -> None:
    """Say who draws: a function that is called when something is to be seen for the first time."""
    _opening[:] = [theatre]


def _theatre() -> Theatre:
    if not _opening:
        raise AnnelidError("nothing that draws was imported: `import annelid` first.")
    return _opening[0]()


class Shown:
    """What a simulation inherits to be shown."""

    def picture(
        self,
        path: str | PathLike[str] | None = None,
        *,
        show: Sequence[Part] = ("surface",),
        field: str | None = None,
        range: tuple[float, float] | None = None,
        pixels: tuple[int, int] = (960, 640),
        camera: Any = None,
        samples: int = 4,
        name: str | None = "",
        threads: int | None = None,
    ) -> Picture:
        """A picture of this moment, drawn without a screen.

        Args:
            path: File to write, .png or .jpg; None writes none.
            show: What to draw: "surface", "springs", "masses".
            field: Scalar to colour by, one of `simulation.fields`.
            range: Values at the ends of the colour map; None takes the range of the field.
            pixels: Width and height.
            camera: A `view.camera.Camera`, or a function of the snapshot that returns one; None frames everything.
            samples: Rays for a pixel on an edge; 1 is quickest.
            name: Caption beside the time; None for no caption at all.
            threads: CPU threads for drawing; None for all cores.
        """
        made = _theatre().picture(
            self,
            show=show,
            field=field,
            range=range,
            pixels=pixels,
            camera=camera,
            samples=samples,
            name=name,
            threads=threads,
        )
        if path is not None:
            made.save(path)
        return made

    def show(self, **options: Any) -> Picture:
        """What a notebook shows of this moment; the options are those of `picture`."""
        return self.picture(None, **options)

    def video(
        self,
        path: str | PathLike[str],
        seconds: float,
        *,
        fps: float = 25.0,
        speed: float = 1.0,
        show: Sequence[Part] = ("surface",),
        field: str | None = None,
        range: tuple[float, float] | None = None,
        pixels: tuple[int, int] = (960, 640),
        camera: Any = None,
        follow: bool = True,
        samples: int = 2,
        name: str | None = "",
        progress: Progress | None = None,
    ) -> Film:
        """Simulate on from here and write a video of it.

        Args:
            path: File to write; the suffix chooses, .mp4 or .gif.
            seconds: Simulated time [s].
            fps: Images a second.
            speed: Simulated seconds a second of video.
            show: What to draw: "surface", "springs", "masses".
            field: Scalar to colour by, one of `simulation.fields`.
            range: Values at the ends of the colour map; None takes the range of the field in the whole video.
            pixels: Width and height.
            camera: A `view.camera.Camera`, or a function of the snapshot that returns one; None frames everything that
                the video shows.
            follow: Move the camera along with the middle of the scene.
            samples: Rays for a pixel on an edge; 1 is quickest.
            name: Caption beside the time; None for no caption at all.
            progress: A progress display.
        """
        return _theatre().video(
            self,
            path,
            seconds,
            fps=fps,
            speed=speed,
            show=show,
            field=field,
            range=range,
            pixels=pixels,
            camera=camera,
            follow=follow,
            samples=samples,
            name=name,
            progress=progress,
        )

    def view(
        self,
        *,
        host: str = "127.0.0.1",
        port: int = 8080,
        open: bool = True,
        wait: bool | None = None,
        name: str = "simulation",
        allow_hosts: Sequence[str] = (),
    ) -> Page:
        """Serve a live page on which it can be watched, played, paused, stepped and reset.

        Args:
            host: Address to listen on; "0.0.0.0" lets other machines in that know the token of the address.
            port: Port to listen on; the next free one if it is taken.
            open: Open a browser, where there is one.
            wait: Serve until interrupted (Ctrl+C), then close the page and return; False returns at once with the page,
                which is served until `close()`. None waits, except in a notebook, which shows the page in its cell.
            name: Title of the page.
            allow_hosts: Other names under which the page is published: `NAME` or `NAME:PORT`.
        """
        return _theatre().view(self, host=host, port=port, open=open, wait=wait, name=name, allow_hosts=allow_hosts)
