"""Sensors of a voxel, and how a controller sees their readings."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from annelid.control.windows import Window
from annelid.core.errors import InvalidValue, UnknownName
from annelid.core.numbers import is_number
from annelid.core.options import is_among, require_truth
from annelid.voxels.kernels.sensing import KINDS


@dataclass(frozen=True)
class Sensor:
    """A sensor in a voxel.

    Attributes:
        kind: Its name; see the functions of this module.
        window: The present reading, the mean of the last ones, or a difference.
        noise: Standard deviation of normal noise added to each reading.
        settings: Numbers that some kinds need.
    """

    kind: str
    window: Window = Window()  # noqa: RUF009 (frozen)
    noise: float = 0.0
    settings: tuple[float, float, float] = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise UnknownName("sensor", self.kind, KINDS)
        if not (math.isfinite(self.noise) and self.noise >= 0.0):
            raise InvalidValue(f"the noise of a sensor must be 0 or more, not {self.noise}.")

    def mean(self, count: int) -> Sensor:
        """The mean of the last readings."""
        return replace(self, window=Window("mean", count))

    def difference(self, count: int) -> Sensor:
        """The present reading less the one `count` - 1 readings before it."""
        return replace(self, window=Window("difference", count))

    def noisy(self, sigma: float) -> Sensor:
        """The sensor with normal noise of standard deviation `sigma`."""
        return replace(self, noise=sigma)

    def to_dict(self) -> dict[str, Any]:
        """For files."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Sensor:
        """Back from a file."""
        return cls(values["kind"], Window(**values["window"]), values["noise"], tuple(values["settings"]))


def area_ratio() -> Sensor:
    """Area of the voxel over its area at rest."""
    return Sensor("area-ratio")


def velocity(axis: Literal["x", "y", "magnitude"] = "magnitude", *, rotated: bool = False) -> Sensor:
    """Velocity of the voxel [m/s]: its magnitude, or along an axis, which may turn with the voxel."""
    if not is_among(axis, ("x", "y", "magnitude")):
        raise InvalidValue(f"the axis of a velocity must be 'x', 'y' or 'magnitude', not {axis!r:.60}.")
    require_truth("rotated", rotated)
    if axis == "magnitude":
        return Sensor("velocity")
    return Sensor(f"rotated-{axis}-velocity" if rotated else f"{axis}-velocity")


def angle() -> Sensor:
    """Angle of the voxel [rad], the mean direction of its top and bottom sides."""
    return Sensor("angle")


def touching() -> Sensor:
    """1 while a mass of the voxel touches something that is not of its robot, else 0."""
    return Sensor("touching")


def crumpling() -> Sensor:
    """Share of the pairs of masses that are closer than a fifth of the side."""
    return Sensor("crumpling")


def lidar(direction: float, reach: float = 10.0) -> Sensor:
    """Distance to the ground or to another body along a ray, over its reach; 1 where it meets nothing.

    Args:
        direction: Angle of the ray [rad] from the voxel's own x-axis.
        reach: Length of the ray [m].
    """
    if not (is_number(direction) and is_number(reach) and reach > 0.0):
        raise InvalidValue(
            f"a lidar needs a finite direction and a positive reach, not {direction!r:.40} and {reach!r:.40}."
        )
    return Sensor("lidar", settings=(direction, reach, 0.0))


def applied_force() -> Sensor:
    """The last control value of the voxel."""
    return Sensor("applied-force")


def time_function(frequency: float = 1.0, phase: float = 0.0, amplitude: float = 1.0) -> Sensor:
    """A sin(2π f t + φ), the same wherever it is."""
    for name, value in {"frequency": frequency, "phase": phase, "amplitude": amplitude}.items():
        if not is_number(value):
            raise InvalidValue(f"{name} of a time function must be a finite number, not {value!r:.60}.")
    return Sensor("time-function", settings=(amplitude, frequency, phase / (2.0 * math.pi)))


def talamini_sensors(readings: int = 5) -> list[Sensor]:
    """The six inputs of a voxel in sec. 3.3 of the paper: mean and difference of area and rotated velocities."""
    seen = [area_ratio(), velocity("x", rotated=True), velocity("y", rotated=True)]
    return [view for sensor in seen for view in (sensor.mean(readings), sensor.difference(readings))]
