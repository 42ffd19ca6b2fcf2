"""Pictures of snapshots without a screen: `picture` for one, `Painter` for a sequence or a grid of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from pathlib import Path
from types import NoneType
from typing import Any

import numpy as np
import warp as wp

from annelid.core.errors import InvalidValue
from annelid.core.files import as_path, replaced
from annelid.core.numbers import is_number
from annelid.core.options import require_kind, require_truth
from annelid.core.snapshot import Field, Snapshot
from annelid.view.annotate import Sheet, footer_height, pillow
from annelid.view.camera.camera import Camera, Film
from annelid.view.camera.framing import corners, outline, without_strays
from annelid.view.camera.light import Light
from annelid.view.camera.stage import Stage, fields_called
from annelid.view.colors import merged, scale_for
from annelid.view.tiles import GAP, best_columns, fitted, tile

LEGEND_WIDTH = 0.18
"""Part of an image's width that framing leaves to the legend."""

Viewpoint = Camera | Callable[[Snapshot], Camera]
"""A camera that stays, or a function that places one for each snapshot."""


SMALLEST, LARGEST = 2, 16_384
"""Ends of the width and the height of a picture [pixels]."""

MOST_SAMPLES = 64


def require_size(size: tuple[int, int]) -> None:
    """Refuse a picture without pixels, or with more than a machine draws."""
    wrong = not isinstance(size, Collection) or len(size) != 2
    shown = repr(size) if wrong else " x ".join(map(str, size))
    if wrong or any(not is_number(n) or n != int(n) or not SMALLEST <= n <= LARGEST for n in size):
        raise InvalidValue(
            f"width and height of a picture must be whole numbers between {SMALLEST} and {LARGEST} pixels, not "
            f"{shown:.60}."
        )


class Painter:
    """Paints one snapshot after another; geometry is laid out once and then only moved.

    Args:
        size: Width and height [pixels].
        camera: Camera, or a function of the snapshot; None frames what was watched, or else the first snapshot, and
            stays there.
        follow: Move the camera along with the middle of the scene.
        field: Name of the scalar to colour by.
        limits: Values at the ends of the colour map; None takes those of the field, or the range watched or seen.
        color_map: Name of the colour map.
        samples: Rays for a pixel on an edge; 1 also makes shadows hard, for speed.
        light: Light; None for daylight.
        legend: Draw what the colours mean.
        name: Name that is written in the caption beside the time; None for no caption at all.
        names: Names of the images of a grid.
        columns: Images beside each other in a grid; None chooses.
        device: Where rays are cast.
        threads: CPU threads; None for all cores.
    """

    def __init__(
        self,
        *,
        size: tuple[int, int] = (960, 640),
        camera: Viewpoint | None = None,
        follow: bool = False,
        field: str | None = None,
        limits: tuple[float, float] | None = None,
        color_map: str | None = None,
        samples: int = 4,
        light: Light | None = None,
        legend: bool = True,
        name: str | None = "",
        names: Sequence[str] | None = None,
        columns: int | None = None,
        device: str | wp.Device = "auto",
        threads: int | None = None,
    ) -> None:
        pillow()  # before anything is drawn for nothing
        require_size(size)
        if not (is_number(samples) and samples % 1 == 0 and 1 <= samples <= MOST_SAMPLES):
            raise InvalidValue(
                f"samples must be a whole number between 1 and {MOST_SAMPLES} of rays for a pixel, not {samples!r:.60}."
            )
        if not (camera is None or isinstance(camera, Camera) or callable(camera)):
            raise InvalidValue(
                "the camera must be a view.camera.Camera, a function of the snapshot that returns one, or None, not "
                f"{camera!r:.60}."
            )
        require_kind("the name in the caption of a picture", name, (str, NoneType), "a text or None")
        require_truth("follow", follow)
        require_truth("legend", legend)
        self.size = size
        self.camera = camera
        self.follow = follow
        self.field, self.limits, self.color_map = field, limits, color_map
        self.samples = int(samples)
        self.light = light or Light(shadow_rays=24 if samples > 1 else 1)
        self.legend = legend
        self.name = name
        self.names = names
        self.columns = columns
        self.device = device
        self.threads = threads
        self._stage: Stage | None = None
        self._film: Film | None = None
        self._base: tuple[Camera, np.ndarray] | None = None
        self._places: list[Camera] | None = None
        self._watched: list[np.ndarray] = []
        self._range: list[Field] = []

    @property
    def settled(self) -> bool:
        """Whether range and camera are given, so that nothing is gained by watching."""
        return self.camera is not None and (self.field is None or self.limits is not None)

    def watch(self, snapshots: Snapshot | Sequence[Snapshot]) -> None:
        """Note a moment that will be painted, so that range and camera suit all moments noted."""
        shots = [snapshots] if isinstance(snapshots, Snapshot) else list(snapshots)
        self._watched.append(np.array([without_strays(shot).bounds() for shot in shots]))
        if self.field is not None:
            self._range = [merged([*self._range, *fields_called(self.field, shots)])]

    def paint(self, snapshots: Snapshot | Sequence[Snapshot]) -> np.ndarray:
        """The picture of a snapshot, or of many in a grid, shape [height, width, 3], uint8."""
        shots = [snapshots] if isinstance(snapshots, Snapshot) else list(snapshots)
        stage = self._set(shots)
        images = self._expose(stage, self._place(shots))
        grid = images[0] if len(images) == 1 else tile(images, self._columns(len(images)), captions=self.names)
        sheet = Sheet(fitted(grid, self.size))
        caption = "" if self.name is None else "   ".join(filter(None, (self.name, f"t = {shots[0].time:.2f} s")))
        scale = stage.scale if self.legend else None
        if self._footer(len(images)):
            sheet.footer(caption, scale)
        else:
            sheet.caption(caption)
            sheet.legend(scale)
        return sheet.finish()

    def _footer(self, count: int) -> int:
        """Height of the band below a grid [pixels]."""
        named = self.name is not None or (self.legend and self.field is not None)
        return footer_height(self.size) if count > 1 and named else 0

    def _columns(self, count: int) -> int:
        return self.columns or best_columns(count, self.size[0] / self.size[1])

    def _cell(self, count: int) -> tuple[int, int]:
        """Width and height of one image of a grid [pixels]."""
        columns = self._columns(count)
        rows = -(-count // columns)
        room = self.size[1] - self._footer(count) - GAP * (rows - 1)
        return max((self.size[0] - GAP * (columns - 1)) // columns, 1), max(room // rows, 1)

    def _set(self, shots: Sequence[Snapshot]) -> Stage:
        if self._stage is None:
            colors: dict[str, Any] = {"field": self.field, "limits": self._limits(), "color_map": self.color_map}
            self._stage = Stage(shots, device=self.device, **colors)
        elif self._stage.worlds != len(shots):
            raise InvalidValue(
                f"this painter began with {self._stage.worlds} snapshots at once and now got {len(shots)}."
            )
        else:
            self._stage.update(shots)
        return self._stage

    def _limits(self) -> tuple[float, float] | None:
        if self.limits is not None or self.field is None or not self._range or self._range[0].labels:
            return self.limits
        return scale_for(self.field, self._range).limits

    def _place(self, shots: Sequence[Snapshot]) -> list[Camera]:
        if callable(self.camera):
            seen = [self.camera(shot) for shot in shots]
            require_kind("what the function of a camera returns", seen[0], Camera, "a view.camera.Camera")
            return [replace(camera, world=world) for world, camera in enumerate(seen)]
        if self._places is None or self.follow:
            middles = [np.mean(without_strays(shot).bounds(), axis=0) for shot in shots]
            if self._base is None:
                self._base = self.camera or self._framing(shots, middles), middles[0]
            base, origin = self._base
            # One camera given for one scene stays put; in a grid each scene is seen from the same side and distance.
            shifts = [middle - origin for middle in middles]
            self._places = [replace(base.moved(shift), world=world) for world, shift in enumerate(shifts)]
        return self._places

    def _framing(self, shots: Sequence[Snapshot], middles: list[np.ndarray]) -> Camera:
        """A camera for the first world that, displaced as the others are, sees all of each, at any moment watched."""
        width, height = self._cell(len(shots))
        aside = LEGEND_WIDTH if self.legend and self.field is not None and len(shots) == 1 else 0.0
        points = [outline(shot) - middle for shot, middle in zip(shots, middles, strict=True)]
        for boxes in self._watched:
            origins = boxes.mean(axis=1) if self.follow else middles
            points += [corners(*box) - origin for box, origin in zip(boxes, origins, strict=True)]
        return Camera.framing(np.concatenate(points) + middles[0], aspect=width / height, free_right=aside)

    def _expose(self, stage: Stage, cameras: list[Camera]) -> np.ndarray:
        if self._film is None:
            self._film = Film(
                cameras,
                size=self._cell(len(cameras)),
                samples=self.samples,
                light=self.light,
                device=stage.device,
                threads=self.threads,
            )
        self._film.aim(cameras)
        return np.asarray(self._film.render(stage).numpy())


def picture(
    snapshot: Snapshot,
    path: str | Path | None = None,
    *,
    size: tuple[int, int] = (960, 640),
    camera: Viewpoint | None = None,
    field: str | None = None,
    limits: tuple[float, float] | None = None,
    color_map: str | None = None,
    samples: int = 4,
    light: Light | None = None,
    legend: bool = True,
    name: str | None = "",
    device: str | wp.Device = "auto",
    threads: int | None = None,
) -> np.ndarray:
    """Draw a snapshot, and save it if a path is given.

    Args:
        snapshot: What to draw.
        path: PNG file to write, or None.
        size: Width and height [pixels].
        camera: Camera, or a function of the snapshot; None frames all of it.
        field: Name of the scalar to colour by.
        limits: Values at the ends of the colour map; None takes those of the field, or the range of the data.
        color_map: Name of the colour map.
        samples: Rays for a pixel on an edge; 1 also makes shadows hard, for speed.
        light: Light; None for daylight.
        legend: Draw what the colours mean.
        name: Name that is written in the caption beside the time; None for no caption at all.
        device: Where rays are cast.
        threads: CPU threads; None for all cores.

    Returns:
        The picture, shape [height, width, 3], uint8.
    """
    painter = Painter(
        size=size,
        camera=camera,
        field=field,
        limits=limits,
        color_map=color_map,
        samples=samples,
        light=light,
        legend=legend,
        name=name,
        device=device,
        threads=threads,
    )
    image = painter.paint(snapshot)
    if path is not None:
        save_picture(image, path)
    return image


PICTURES = {".png": "PNG", ".jpg": "JPEG", ".jpeg": "JPEG"}
"""Formats of picture files by their suffixes."""


def save_picture(image: np.ndarray, path: str | Path) -> None:
    """Write a picture, shape [height, width, 3], uint8, as PNG or JPEG; its suffix chooses.

    It is written under a temporary name first, so that no half of it is left.
    """
    path = as_path(path)
    chosen = PICTURES.get(path.suffix.lower())
    if chosen is None:
        raise InvalidValue(f"picture file {path.name!r} must end in .png or .jpg.")
    Image, _, _ = pillow()
    with replaced(path) as partial:
        Image.fromarray(image).save(partial, format=chosen, quality=95)
