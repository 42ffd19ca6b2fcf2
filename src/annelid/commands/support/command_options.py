"""Options of the commands that take a scene, whose parameters stand beside them under names of their own."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from annelid.commands.support.options import Machine
from annelid.core.errors import InvalidValue

if TYPE_CHECKING:
    from annelid.view.camera.camera import Camera


@dataclass(frozen=True)
class Run:
    """How long to simulate and where results go."""

    seconds: float | None = None
    """Simulated time [s]; each scene has its own default."""
    out: Path | None = None
    """Folder for results; out/NAME by default."""
    record: bool = False
    """Write a recording of the run to recording.rec in that folder."""
    record_every: float = 0.02
    """Simulated time between two frames of the recording [s]."""
    fields: tuple[str, ...] | None = None
    """Scalars to record for colours, the one to show first in front: strain speed...; all by default; with --record."""
    vary: Annotated[tuple[str, ...], tyro.conf.UseAppendAction] = ()
    """Run PARAMETER=VALUE,VALUE,... into one table; of several parameters all combinations."""
    workers: int = 1
    """Processes that work side by side on what --vary asks for."""
    resume: bool = False
    """Go on with the table of --vary that is there."""


@dataclass(frozen=True)
class View:
    """Where the page is served."""

    host: str = "127.0.0.1"
    """Address to listen on; 0.0.0.0 lets other machines in, with the token in the address that is printed."""
    port: int = 8080
    """Port to listen on; the next free one if it is taken."""
    allow_host: tuple[str, ...] = ()
    """Other names under which the page is published, NAME or NAME:PORT; requests to or from others are refused."""
    no_open: bool = False
    """Do not open a browser."""


@dataclass(frozen=True)
class Picture:
    """The moment, the view and the file."""

    at: float = 0.0
    """Simulated time of the picture [s]."""
    out: Path | None = None
    """File that ends in .png or .jpg, or a folder for it; out/NAME by default."""
    field: str | None = None
    """Scalar to colour by: strain, speed, stress, actuation, material..."""
    range: tuple[float, float] | None = None
    """Values at the two ends of the colours; those of the field by default."""
    camera: tuple[float, float, float, float, float, float] | None = None
    """Place of the camera and the point that it looks at [m]: x y z x y z."""
    show: tuple[Literal["surface", "springs", "masses"], ...] = ("surface",)
    """What to draw."""
    pixels: tuple[int, int] = (960, 640)
    """Width and height."""


@dataclass(frozen=True)
class Video:
    """Length, view and file."""

    seconds: float | None = None
    """Simulated time [s]; each scene has its own default."""
    fps: float = 25.0
    """Images a second."""
    speed: float = 1.0
    """Simulated seconds a second of video."""
    out: Path | None = None
    """File, .mp4 or .gif; out/NAME/NAME.mp4 by default."""
    field: str | None = None
    """Scalar to colour by."""
    range: tuple[float, float] | None = None
    """Values at the two ends of the colours; those of the field by default, in the whole video."""
    camera: tuple[float, float, float, float, float, float] | None = None
    """Place of the camera and the point that it looks at [m]: x y z x y z."""
    follow: bool | None = None
    """Move the camera along with the scene; each scene has its own default."""
    show: tuple[Literal["surface", "springs", "masses"], ...] = ("surface",)
    """What to draw."""
    vary: str | None = None
    """A grid of several: PARAMETER=VALUE,VALUE,... for each of them."""
    samples: int = 2
    """Rays a pixel and direction."""
    pixels: tuple[int, int] = (960, 640)
    """Width and height."""


SCENE_COMMANDS: dict[str, type[Any]] = {"run": Run, "view": View, "picture": Picture, "video": Video}
"""Options of each command that takes a scene."""


def camera_of(numbers: tuple[float, ...] | None) -> Camera | None:
    """The camera that six numbers describe: its place and the point that it looks at [m]."""
    if numbers is None:
        return None
    from annelid.view.camera.camera import Camera  # here: `annelid run` draws nothing

    return Camera((numbers[0], numbers[1], numbers[2]), (numbers[3], numbers[4], numbers[5]))


def taken_names() -> dict[str, str]:
    """Names of options by which no parameter of a scene can be called, each with a command that has it."""
    kinds = [(command, kind) for command, own in SCENE_COMMANDS.items() for kind in (own, Machine)]
    return {each.name: command for command, kind in reversed(kinds) for each in fields(kind)}


def require_free_names(names: Iterable[str]) -> None:
    """Refuse parameters of a scene that are called like an option of any command, whichever is given now."""
    taken = taken_names()
    for name in names:
        if name in taken:
            raise InvalidValue(f"`{name}` is an option of `annelid {taken[name]}`: rename that parameter of the scene.")
