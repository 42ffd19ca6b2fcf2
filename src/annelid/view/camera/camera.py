"""Cameras and the film that they expose: depth and colour images on the device, many cameras in one launch.

Depth is the distance along the optical axis [m], not along the ray; where nothing is hit nearer than `far` it is `far`,
which is +inf by default. Row 0 is the top of the image. Planes are seen from their free side only.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import warp as wp

from annelid.core.arrays import as_numbers
from annelid.core.device import device as find_device
from annelid.core.device import thread_count
from annelid.core.errors import InvalidValue
from annelid.core.numbers import is_number
from annelid.core.options import require_truth
from annelid.core.snapshot import Snapshot
from annelid.view.camera.framing import corners, fit, outline
from annelid.view.camera.kernels import rays as camera_kernels
from annelid.view.camera.kernels import refining as refine_kernels
from annelid.view.camera.kernels import shadows as shadow_kernels
from annelid.view.camera.kernels import softening as soft_kernels
from annelid.view.camera.kernels.blocks import LISTED
from annelid.view.camera.kernels.rays import Eye
from annelid.view.camera.light import Light
from annelid.view.camera.stage import Stage
from annelid.view.camera.transfer import WarpArray, launch

_CPU_RUN = 256  # pixels of one thread of a kernel on a CPU, which are taken one after the other
_CPU_BLOCK = int(refine_kernels.EDGE_TILE)  # side of the blocks of pixels of a colour image on a CPU

_EYE: Any = Eye  # a struct to Warp, a plain class to a type checker

Vector = tuple[float, float, float]


@dataclass(frozen=True)
class Camera:
    """Where a camera stands, what it looks at, and its lens.

    Attributes:
        position: Place of the camera [m].
        target: Point that it looks at [m].
        up: Direction that is upwards in the image.
        fov: Vertical field of view of a perspective camera [rad].
        height: Height of what an orthographic camera sees [m]; None for a perspective camera.
        world: Number of the world on the stage that it sees.
    """

    position: Vector
    target: Vector
    up: Vector = (0.0, 0.0, 1.0)
    fov: float = math.radians(32.0)
    height: float | None = None
    world: int = 0

    def __post_init__(self) -> None:
        if not (is_number(self.fov) and 0.0 < self.fov < math.pi):
            raise InvalidValue(
                f"fov {self.fov!r:.60} must lie between 0 and pi; it is in radians, math.radians(40) for 40°."
            )
        if self.height is not None and not (is_number(self.height) and self.height > 0.0):
            raise InvalidValue(f"height {self.height!r:.60} of an orthographic camera must be positive [m].")
        if isinstance(self.world, bool) or not isinstance(self.world, int | np.integer) or self.world < 0:
            raise InvalidValue(f"world {self.world!r:.60} must be the number of a world, from 0.")
        vectors = [as_numbers(f"{name} of a camera", vars(self)[name]) for name in ("position", "target", "up")]
        if any(vector.shape != (3,) for vector in vectors):
            raise InvalidValue(
                f"position, target and up of a camera are three numbers each, not {self.position!r:.40}, "
                f"{self.target!r:.40} and {self.up!r:.40}."
            )
        if not np.isfinite(vectors).all():
            raise InvalidValue(f"camera at {self.position} looking at {self.target}: all numbers must be finite.")
        self.axes()

    def axes(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Unit vectors to the right, upwards and forwards."""
        forward = np.subtract(self.target, self.position).astype(np.float64)
        right = np.cross(forward, self.up)
        lengths = np.linalg.norm(forward), np.linalg.norm(right)
        if lengths[1] <= 1e-9 * lengths[0] * np.linalg.norm(self.up):
            raise InvalidValue(
                f"camera at {self.position} looking at {self.target} with up {self.up}: the target must differ from "
                "the position, and up must not point along the view."
            )
        forward, right = forward / lengths[0], right / lengths[1]
        return right, np.cross(right, forward), forward

    def moved(self, shift: Sequence[float]) -> Camera:
        """The camera displaced without turning; `shift` in [m]."""
        position, target = _vector(np.add(self.position, shift)), _vector(np.add(self.target, shift))
        return replace(self, position=position, target=target)

    def sees(self, points: np.ndarray, *, aspect: float = 1.5) -> bool:
        """Whether all points [m], shape [n, 3], are in an image whose width is `aspect` times its height."""
        side, rise, ahead = np.stack(self.axes()) @ (points - np.asarray(self.position)).T
        half = ahead * math.tan(0.5 * self.fov) if self.height is None else np.full_like(ahead, 0.5 * self.height)
        return bool(((ahead > 0.0) & (np.abs(rise) <= half) & (np.abs(side) <= aspect * half)).all())

    def framed(self, points: np.ndarray, *, aspect: float = 1.5) -> Camera:
        """The camera moved, not turned, until it sees all points [m], shape [n, 3], in the middle of its image."""
        lens: dict[str, Any] = {"fov": self.fov, "orthographic": self.height is not None, "world": self.world}
        return Camera.framing(points, direction=_vector(-self.axes()[2]), up=self.up, aspect=aspect, **lens)

    @classmethod
    def framing(
        cls,
        what: Snapshot | tuple[np.ndarray, np.ndarray] | np.ndarray,
        *,
        direction: Vector = (0.55, -1.0, 0.48),
        up: Vector = (0.0, 0.0, 1.0),
        aspect: float = 1.5,
        fov: float = math.radians(32.0),
        orthographic: bool = False,
        margin: float = 1.2,
        free_right: float = 0.0,
        world: int = 0,
    ) -> Camera:
        """A camera that sees all of something, in the middle of its image.

        Args:
            what: A snapshot, or the lowest and highest corner of a box [m], or points [m], shape [n, 3].
            direction: From what is seen towards the camera.
            up: Direction that is upwards in the image.
            aspect: Width of the image over its height.
            fov: Vertical field of view [rad].
            orthographic: Parallel rays instead of perspective.
            margin: Room around it, 1 for none.
            free_right: Part of the image's width to keep free on the right, for a legend.
            world: Number of the world on the stage that it sees.
        """
        points = _points_of(what)
        require_truth("orthographic", orthographic)
        for name, value in {"aspect": aspect, "margin": margin, "free_right": free_right}.items():
            if not is_number(value):
                raise InvalidValue(f"{name} of a camera must be a number, not {value!r:.60}.")
        outwards = as_numbers("direction of a camera", direction)
        if outwards.shape != (3,) or not np.isfinite(outwards).all() or not outwards.any():
            raise InvalidValue(f"direction of a camera must be three numbers that are not all 0, not {direction!r}.")
        if not np.isfinite(points).all():
            raise InvalidValue(
                f"bounds {points.min(axis=0)} to {points.max(axis=0)} cannot be framed: they must be finite."
            )
        center = 0.5 * (points.min(axis=0) + points.max(axis=0))
        outward = np.asarray(direction, dtype=np.float64) / np.linalg.norm(direction)
        probe = cls(_vector(center + outward), _vector(center), up, fov, world=world)
        axes = np.stack(probe.axes())
        seen = (points - center) @ axes.T
        shift, reach, height = fit(seen, aspect, math.tan(0.5 * fov), margin, orthographic, free_right)
        target = center + shift @ axes
        position = _vector(target + reach * outward)
        return replace(probe, position=position, target=_vector(target), height=height)


class Drafts:
    """Images between the passes of a colour image.

    Attributes:
        ambient: Light from a pixel's centre without the sun.
        sun: Light of the sun, if it is seen from there.
        spot: From where it is looked for [m].
        seen: Whether it is seen; -1 where that does not matter.
        shown: Display values.
        even: Equal numbers, not 0, where neighbours on a plane have no edge between them.
        border: Whether the border of a shadow is near.
        part: Part of the sun that is seen, near borders.
        reach: How far from a border the sun may be half seen [pixels], and the side of the tiles of `shadows`.
        shadows: Sun and shadow in tiles.
        borders: Whether both are in or beside a tile.
        edges: Whether a tile may hold an edge.
        side: Side of the blocks of pixels that a thread takes: 1 on CUDA.
        blocks: Number of these blocks.
        lists: Room for what the rays of each block can meet.
    """

    def __init__(self, shape: tuple[int, int, int], device: wp.Device) -> None:
        cameras, height, width = shape
        self.reach = max(height // 24, 1)
        self.ambient, self.sun, self.spot, self.shown = (
            wp.zeros(shape, dtype=wp.vec3, device=device) for _ in range(4)
        )
        self.seen, self.even, self.border = (wp.zeros(shape, dtype=wp.int8, device=device) for _ in range(3))
        self.part = wp.zeros(shape, dtype=wp.float32, device=device)
        self.shadows, self.borders, self.edges = (
            wp.zeros((cameras, -(-height // side), -(-width // side)), dtype=wp.int8, device=device)
            for side in (self.reach, self.reach, int(refine_kernels.EDGE_TILE))
        )
        self.side = _CPU_BLOCK if device.is_cpu else 1
        self.blocks = cameras * -(-height // self.side) * -(-width // self.side)
        listed = 3 * int(LISTED) * self.blocks if device.is_cpu else 0
        self.lists = wp.zeros(listed, dtype=wp.int32, device=device)


class Film:
    """Images of a stage through one or many cameras, as arrays on the device; nothing is copied to the host.

    Attributes:
        depth: Distance along the optical axis [m], shape [cameras, height, width], float32; `far` where nothing is hit.
        rgb: Colour for a display, shape [cameras, height, width] of three bytes.
        eyes: The cameras on the device, shape [cameras]; a kernel may write them to move a camera with a robot.
    """

    def __init__(
        self,
        cameras: Camera | Sequence[Camera],
        *,
        size: tuple[int, int] = (640, 480),
        samples: int = 1,
        far: float = math.inf,
        light: Light | None = None,
        device: str | wp.Device = "auto",
        threads: int | None = None,
    ) -> None:
        """Allocate the images.

        Args:
            cameras: One camera or many.
            size: Width and height of an image [pixels].
            samples: Rays for a pixel on an edge of the colour image; depth takes one, through the pixel's centre.
            far: Depth where nothing is hit, and beyond which nothing is [m].
            light: Light of the colour images.
            device: Where the images live.
            threads: CPU threads to cast rays with; None for all cores. The images do not depend on it.
        """
        width, height = size
        if width < 1 or height < 1:
            raise InvalidValue(f"image size {size} must be at least 1 by 1.")
        if samples < 1:
            raise InvalidValue(f"samples {samples} must be at least 1.")
        if not far > 0.0:
            raise InvalidValue(f"far {far} must be positive [m].")
        views = [cameras] if isinstance(cameras, Camera) else list(cameras)
        if not views:
            raise InvalidValue("a film needs at least one camera, and got none.")
        self.device = find_device(device)
        self.threads = thread_count(threads)
        self.samples = samples
        self.far = far
        self.sky = (light or Light()).sky(self.device)
        self._soft = self.sky.rays.shape[0] > 0
        self.shape = (len(views), height, width)
        self.depth: WarpArray = wp.full(self.shape, far, dtype=wp.float32, device=self.device)
        self.rgb: WarpArray = wp.zeros(self.shape, dtype=wp.vec3ub, device=self.device)
        self.eyes: WarpArray = wp.zeros(len(views), dtype=_EYE, device=self.device)
        self._drafts: Drafts | None = None
        self._worlds = 1
        self.aim(views)

    def aim(self, cameras: Camera | Sequence[Camera]) -> None:
        """Move the cameras; as many as before."""
        views = [cameras] if isinstance(cameras, Camera) else list(cameras)
        if len(views) != self.shape[0]:
            raise InvalidValue(f"this film has {self.shape[0]} cameras and cannot be aimed with {len(views)}.")
        self._worlds = 1 + max(camera.world for camera in views)
        rows: Any = np.zeros(len(views), dtype=_EYE.numpy_dtype())
        for row, camera in zip(rows, views, strict=True):
            right, up, forward = camera.axes()
            row["position"], row["right"], row["up"], row["forward"] = camera.position, right, up, forward
            row["half_height"] = math.tan(0.5 * camera.fov) if camera.height is None else 0.5 * camera.height
            row["focus"] = np.linalg.norm(np.subtract(camera.target, camera.position))
            row["orthographic"], row["world"] = camera.height is not None, camera.world
        self.eyes.assign(rows)

    def cast_depth(self, stage: Stage) -> WarpArray:
        """Expose `depth` alone, the cheapest image, and return it."""
        self._check(stage)
        self._expose(camera_kernels.cast_depth, [self.eyes, stage.geometry, self.far], [self.depth])
        return self.depth

    def render(self, stage: Stage) -> WarpArray:
        """Expose `depth` and `rgb`, and return `rgb`."""
        self._check(stage)
        drafts = self._drafts = self._drafts or Drafts(self.shape, self.device)
        scene: list[Any] = [self.eyes, stage.geometry, self.sky]
        light = [drafts.ambient, drafts.sun, drafts.spot]
        outputs = [*light, drafts.seen, drafts.even, drafts.shown, self.depth]
        self._paint(shadow_kernels.shade, [*scene, self.far, drafts.lists], outputs)
        if self._soft:
            self._soften(scene, light, drafts)
        if self.samples > 1:
            self._look(refine_kernels.find_edges, [drafts.even, drafts.shown], drafts.edges)
        inputs = [self.far, self.samples, drafts.edges, drafts.border, drafts.even, drafts.shown, drafts.lists]
        self._paint(refine_kernels.resolve, [*scene, *inputs], [self.rgb])
        return self.rgb

    def _soften(self, scene: list[Any], light: list[Any], drafts: Drafts) -> None:
        """Soften the borders of shadows."""
        self._look(soft_kernels.find_shadows, [drafts.reach, drafts.seen], drafts.shadows)
        self._look(soft_kernels.find_borders, [drafts.shadows], drafts.borders)
        inputs = [*scene, drafts.reach, drafts.borders, drafts.spot, drafts.seen, drafts.lists]
        self._paint(soft_kernels.find_penumbra, inputs, [drafts.border, drafts.part])
        passes = [drafts.seen, drafts.even, drafts.border, drafts.part, drafts.lists]
        self._paint(soft_kernels.soften, [*scene, drafts.reach, drafts.borders, *light, *passes], [drafts.shown])

    def _paint(self, kernel: Any, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
        """Run a kernel over all blocks of pixels."""
        drafts = self._drafts
        assert drafts is not None
        launch(kernel, drafts.blocks, [drafts.side, *inputs], outputs, self.device, self.threads)

    def _expose(self, kernel: Any, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
        """Run a kernel over all pixels."""
        run = _CPU_RUN if self.device.is_cpu else 1
        launch(kernel, -(-math.prod(self.shape) // run), [run, *inputs], outputs, self.device, self.threads)

    def _look(self, kernel: Any, inputs: Sequence[Any], tiles: WarpArray) -> None:
        """Run a kernel over tiles."""
        launch(kernel, tiles.size, inputs, [tiles], self.device, self.threads)

    def _check(self, stage: Stage) -> None:
        if stage.device != self.device:
            raise InvalidValue(f"the film is on {self.device} but the stage on {stage.device}; give both one device.")
        if self._worlds > stage.worlds:
            raise InvalidValue(f"a camera looks at world {self._worlds - 1}, but the stage has {stage.worlds} worlds.")


def _points_of(what: Snapshot | tuple[np.ndarray, np.ndarray] | np.ndarray) -> np.ndarray:
    if isinstance(what, Snapshot):
        return outline(what)
    points = as_numbers("what a camera frames", what)
    if points.ndim != 2 or points.shape[1] != 3 or not len(points):
        raise InvalidValue(
            "a camera frames a snapshot, the lowest and highest corner of a box, or points of shape [n, 3], not "
            f"{what!r:.60}."
        )
    return points if isinstance(what, np.ndarray) or len(points) != 2 else corners(*points)


def _vector(values: np.ndarray) -> Vector:
    x, y, z = (float(value) for value in values)
    return x, y, z
