"""Sensors that see: cameras and lidars, in any physics whose bodies can be seen, one in every world.

They stand in the world, or are mounted on whatever other sensors tell the place and the turn of::

    head = {"on": springs.position_of("head"), "turned": springs.orientation_of("head")}
    simulation.sensors.add("ahead", sensors.lidar([(1, 0, 0), (1, 1, 0)], **head))
    simulation.sensors.add("image", sensors.depth_image(Camera((0, 0, 0), (1, 0, 0)), (32, 24), far=2.0, **head))

They see what pictures show: surfaces of bodies, grains and obstacles; not what is hidden, and no lines.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import warp as wp
from numpy.typing import ArrayLike

from annelid.core.arrays import as_numbers
from annelid.core.device import thread_count
from annelid.core.errors import InvalidValue
from annelid.core.numbers import is_number, is_whole
from annelid.core.sensors import Reading, Sensor
from annelid.core.solver import Solver
from annelid.view.camera.camera import Camera, Film
from annelid.view.camera.kernels import sensing as kernels
from annelid.view.camera.transfer import launch
from annelid.view.sight import Sight


@dataclass(frozen=True, eq=False)
class Mount:
    """What a camera or lidar is mounted on; nothing leaves it in the frame of the world.

    Attributes:
        on: A sensor of a place, x, y, z [m], or of x and z in the plane of voxel robots.
        turned: A sensor of a turn, a quaternion x, y, z, w, or an angle from x to z [rad].
    """

    on: Sensor | None = None
    turned: Sensor | None = None

    def attach(self, solver: Solver) -> _Mounted:
        """The mount of a solver."""
        place, turn = _numbers_of("on", self.on, solver, 3, 2), _numbers_of("turned", self.turned, solver, 4, 1)
        return _Mounted(solver, place, turn)


class _Mounted:
    """Reads where a mount is in each world."""

    def __init__(self, solver: Solver, place: Reading | None, turn: Reading | None) -> None:
        rows = np.tile(np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0], np.float32), (solver.worlds, 1))
        self._rows = wp.array(rows, dtype=wp.float32, device=solver.device)
        self._flat = wp.zeros((solver.worlds, 3), dtype=wp.float32, device=solver.device)
        self._place, self._turn = place, turn
        self._in_plane = place is not None and place.size == 2, turn is not None and turn.size == 1

    def read(self, state: Any) -> wp.array[Any]:
        """Place and turn, shape [worlds, 7], on the device."""
        flat_place, flat_turn = self._in_plane
        if self._place is not None:
            self._place.read(state, self._flat if flat_place else self._rows, 0)
        if self._turn is not None:
            self._turn.read(state, self._flat if flat_turn else self._rows, 2 if flat_turn else 3)
        if flat_place or flat_turn:
            inputs = [self._flat, int(flat_place), int(flat_turn)]
            wp.launch(kernels.leave_plane, len(self._rows), inputs, [self._rows], device=self._rows.device)
        return self._rows


@dataclass(frozen=True, eq=False)
class ImageSensor(Sensor):
    """Reads an image; made by `depth_image` and `color_image`."""

    quantity: Literal["depth", "color"]
    camera: Camera
    size: tuple[int, int]
    far: float
    mount: Mount

    def __post_init__(self) -> None:
        if not isinstance(self.camera, Camera):
            raise InvalidValue(f"an image needs a Camera of annelid.view.camera.camera, not {self.camera!r:.60}.")
        _require_reach("far", self.far)

    def attach(self, solver: Solver) -> Reading:
        """The sensor of a solver that can be seen."""
        sight, mounted, device = Sight(solver), self.mount.attach(solver), solver.device
        film = Film([self.camera] * solver.worlds, size=self.size, far=self.far, device=device)
        own = wp.clone(film.eyes[:1])

        def read(state: Any, out: wp.array[Any], first: int) -> None:
            wp.launch(kernels.mount_eyes, solver.worlds, [own, mounted.read(state)], [film.eyes], device=device)
            stage = sight.look(state)
            if self.quantity == "depth":
                wp.launch(kernels.copy_depth, film.shape, [film.cast_depth(stage), first], [out], device=device)
            else:
                wp.launch(kernels.copy_colors, film.shape, [film.render(stage), first], [out], device=device)

        width, height = self.size
        if self.quantity == "depth":
            return Reading(read, (height, width), "m")
        return Reading(read, (height, width, 3))


@dataclass(frozen=True, eq=False)
class Lidar(Sensor):
    """Reads distances along rays; made by `lidar`."""

    directions: np.ndarray
    position: tuple[float, float, float]
    near: float
    far: float
    mount: Mount

    def attach(self, solver: Solver) -> Reading:
        """The sensor of a solver that can be seen."""
        sight, mounted, device = Sight(solver), self.mount.attach(solver), solver.device
        directions = wp.array(self.directions.astype(np.float32), dtype=wp.vec3, device=device)
        origin, rays, threads = wp.vec3(*self.position), len(directions), thread_count(None)

        def read(state: Any, out: wp.array[Any], first: int) -> None:
            mounts, stage = mounted.read(state), sight.look(state)
            inputs = [mounts, origin, directions, stage.geometry, self.near, self.far, first]
            launch(kernels.cast_ranges, solver.worlds * rays, inputs, [out], device, threads)

        return Reading(read, (rays,), "m")


def depth_image(
    camera: Camera,
    size: tuple[int, int] = (64, 48),
    *,
    far: float = 10.0,
    on: Sensor | None = None,
    turned: Sensor | None = None,
) -> Sensor:
    """Depth along the axis of a camera [m], shape [height, width], row 0 at the top.

    Args:
        camera: The camera; where it is mounted, in the frame of its mount.
        size: Width and height [pixels].
        far: Depth where nothing is nearer [m].
        on: A sensor of the place that it is mounted on, such as `springs.position_of("head")`; None for the world.
        turned: A sensor of the turn of the mount, such as `springs.orientation_of("head")`; None leaves it upright.
    """
    return ImageSensor("depth", camera, _as_size(size), far, Mount(on, turned))


def color_image(
    camera: Camera,
    size: tuple[int, int] = (64, 48),
    *,
    far: float = 100.0,
    on: Sensor | None = None,
    turned: Sensor | None = None,
) -> Sensor:
    """Red, green and blue from 0 to 1, shape [height, width, 3], with the light of pictures; see `depth_image`."""
    return ImageSensor("color", camera, _as_size(size), far, Mount(on, turned))


def lidar(
    directions: ArrayLike,
    *,
    position: tuple[float, float, float] = (0.0, 0.0, 0.0),
    near: float = 0.0,
    far: float = 10.0,
    on: Sensor | None = None,
    turned: Sensor | None = None,
) -> Sensor:
    """Distance to what rays meet [m], shape [rays].

    Args:
        directions: Of the rays, of any length, shape [rays, 3]; where it is mounted, in the frame of its mount.
        position: Where the rays begin [m].
        near: What is nearer is not seen [m]: the body that it is mounted in.
        far: Distance where nothing is nearer [m].
        on: A sensor of the place that it is mounted on, such as `grains.position_of("blade")`; None for the world.
        turned: A sensor of the turn of the mount, such as `grains.orientation_of("blade")`; None leaves it upright.
    """
    rays = as_numbers("directions of a lidar", directions)
    lengths = np.linalg.norm(rays, axis=-1) if rays.ndim == 2 else np.zeros(0)
    if rays.ndim != 2 or rays.shape[1:] != (3,) or not len(rays) or not (np.isfinite(lengths) & (lengths > 0.0)).all():
        raise InvalidValue(f"a lidar needs directions that are not 0, shape [rays, 3], not {directions!r:.60}.")
    start = as_numbers("the position of a lidar", position)
    if start.shape != (3,) or not np.isfinite(start).all():
        raise InvalidValue(f"the position of a lidar must be three numbers, not {position!r:.60}.")
    _require_reach("far", far)
    if not (is_number(near) and 0.0 <= near < far):
        raise InvalidValue(f"near of a lidar must be from 0 to less than far, {far:g} m, not {near!r:.60}.")
    x, y, z = start.tolist()
    return Lidar(rays / lengths[:, None], (x, y, z), float(near), float(far), Mount(on, turned))


def _as_size(size: tuple[int, int]) -> tuple[int, int]:
    if not isinstance(size, Sequence) or len(size) != 2 or not all(is_whole(n, 1) for n in size):
        raise InvalidValue(f"the size of an image is a width and a height in pixels, not {size!r:.60}.")
    return int(size[0]), int(size[1])


def _require_reach(what: str, value: float) -> None:
    if not (is_number(value) and value > 0.0):
        raise InvalidValue(f"{what} of a sensor must be a distance above 0, and finite, not {value!r:.60}.")


def _numbers_of(what: str, sensor: Sensor | None, solver: Solver, *counts: int) -> Reading | None:
    """A sensor of so many numbers, attached."""
    if sensor is None:
        return None
    if not isinstance(sensor, Sensor):
        raise InvalidValue(f"{what} must be a Sensor, such as springs.position_of(...), not {sensor!r:.60}.")
    reading = sensor.attach(solver)
    if reading.shape not in [(count,) for count in counts]:
        raise InvalidValue(
            f"{what} must be a sensor of {' or '.join(map(str, counts))} numbers, not of {list(reading.shape)}."
        )
    return reading
