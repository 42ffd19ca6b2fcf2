"""What was done to a body while it was filmed: a run, its loads and releases as functions of time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from annelid.calibration.tracks import LengthUnit, TimeUnit, Tracks, read_tracks
from annelid.core.errors import InvalidValue
from annelid.core.numbers import is_number
from annelid.core.options import Named, is_among, require_kind

Load = Sequence[float] | Callable[[float], Sequence[float]]
"""A force [N], shape [3], or a function of time [s] that returns one."""
Command = float | Callable[[float], float]
"""A number, or a function of time [s] that returns one."""


@dataclass(frozen=True, eq=False)
class Run(Named):
    """One experiment with a body: what held and pulled it, and where its markers were.

    The motion begins at t = 0; moments before that are the state in which it was held.

    Attributes:
        tracks: Measured tracks, or the path of their table.
        name: What to call it; by default the name of the file.
        loads: Forces on groups of the body, shared equally by its masses or nodes, besides those that it has: constant,
            or functions of time.
        pressures: Pressures of cavities of a solid above that outside [Pa], by the number of the cavity in its mesh:
            constant, or functions of time.
        controls: What channels of the simulation are commanded, by name: efforts of actuators of a solid, which `world`
            has under "actuators", or factors on rest lengths and speeds of motors of springs; constant, or functions
            of time.
        releases: Groups of the body that are held until a time [s] and let go then.
        start: "rest" begins as the body was built; "settled" where it rests under the loads and holds at the beginning.
        motion: Whether the motion is compared; else only where the body has settled, the mean of the tracks.
        held: Span of time [s] in which the body was as built: tracks are then displacements from it, and where markers
            were placed exactly does not matter. None compares places.
        settled: Span of time [s] in which it had settled, where the motion is not compared; None for all moments.
        axes: Components that are compared.
        given: Numbers by name that a function that builds the body gets in this run, such as a weight.
        interval: Time for which a load that changes is kept constant [s].
        unit: Unit of lengths of the table; None takes that of its first line.
        time_unit: Unit of times of the table; None takes that of its first line.
    """

    tracks: Tracks | str | Path
    name: str = ""
    loads: Mapping[str, Load] = field(default_factory=dict)
    pressures: Mapping[int, Command] = field(default_factory=dict)
    controls: Mapping[str, Command] = field(default_factory=dict)
    releases: Mapping[str, float] = field(default_factory=dict)
    start: Literal["rest", "settled"] = "rest"
    motion: bool = True
    held: tuple[float, float] | None = None
    settled: tuple[float, float] | None = None
    axes: str = "xyz"
    given: Mapping[str, Any] = field(default_factory=dict)
    interval: float = 0.01
    unit: LengthUnit | None = None
    time_unit: TimeUnit | None = None

    def __post_init__(self) -> None:
        require_kind("the name of a run", self.name, str, "a text")
        if not isinstance(self.tracks, Tracks):
            require_kind("tracks of a run", self.tracks, (str, Path), "Tracks, or the path of their table")
            path = Path(self.tracks)
            object.__setattr__(self, "tracks", read_tracks(path, unit=self.unit, time_unit=self.time_unit))
            object.__setattr__(self, "name", self.name or path.stem)
        object.__setattr__(self, "name", self.name or self.measured.source)
        for what in ("held", "settled"):
            span = vars(self)[what]
            numbers = isinstance(span, Sequence | np.ndarray) and len(span) == 2 and all(map(is_number, span))
            if span is not None and not numbers:
                raise InvalidValue(
                    f"{what} of run {self.name!r} must be a span of time, (begin, end) [s], or None, not {span!r:.60}."
                )
        require_kind("given of a run", self.given, Mapping, "numbers by name")
        if not is_among(self.start, ("rest", "settled")):
            raise InvalidValue(f"start of run {self.name!r} must be 'rest' or 'settled', not {self.start!r}.")
        if (
            not isinstance(self.axes, str)
            or not self.axes
            or set(self.axes) - set("xyz")
            or len(set(self.axes)) < len(self.axes)
        ):
            raise InvalidValue(f"axes of run {self.name!r} must be some of 'xyz', not {self.axes!r}.")
        if not (is_number(self.interval) and self.interval > 0.0):
            raise InvalidValue(f"interval of run {self.name!r} must be a time above 0 s, not {self.interval!r}.")
        require_kind("loads of a run", self.loads, Mapping, "forces by group, {name: force}")
        require_kind("pressures of a run", self.pressures, Mapping, "pressures by number of the cavity, {0: 5e3}")
        require_kind("controls of a run", self.controls, Mapping, "commands by channel, {name: value}")
        require_kind("releases of a run", self.releases, Mapping, "times by group, {name: time}")
        for group, time in self.releases.items():
            if not (is_number(time) and time >= 0.0):
                raise InvalidValue(f"run {self.name!r} must let {group!r} go at a time of 0 s or more, not {time!r}.")

    @property
    def measured(self) -> Tracks:
        """The tracks."""
        assert isinstance(self.tracks, Tracks)
        return self.tracks

    @property
    def columns(self) -> list[int]:
        """Components that are compared."""
        return ["xyz".index(axis) for axis in self.axes]

    def load(self, group: str, time: float) -> np.ndarray:
        """Force on a group at a time [N], shape [3]."""
        load = self.loads[group]
        force = np.asarray(load(time) if callable(load) else load, float)
        if force.shape != (3,) or not np.isfinite(force).all():
            raise InvalidValue(
                f"the load of run {self.name!r} on {group!r} at {time:g} s must be three finite numbers [N], not "
                f"{force!r:.60}."
            )
        return force

    @property
    def at_rest(self) -> bool:
        """Whether an equilibrium is asked for, to begin with or to be compared."""
        return self.start == "settled" or not self.motion

    def pressure(self, cavity: int, time: float) -> float:
        """Pressure of a cavity at a time [Pa]."""
        return self._command("pressure", cavity, self.pressures[cavity], time)

    def control(self, name: str, time: float) -> float:
        """What a channel is commanded at a time."""
        return self._command("control", name, self.controls[name], time)

    def _command(self, what: str, of: Any, command: Command, time: float) -> float:
        value = command(time) if callable(command) else command
        if not is_number(value):
            raise InvalidValue(
                f"the {what} of run {self.name!r} in {of!r} at {time:g} s must be a finite number, not {value!r:.60}."
            )
        return float(value)

    @property
    def last_stage(self) -> Stage:
        """What acts at the end of the tracks."""
        return self.stages(max(float(self.measured.times[-1]), 1e-6))[-1]

    def stages(self, end: float) -> list[Stage]:
        """The motion up to a time, divided where something is let go or a load changes."""
        cuts = {0.0, end} | {time for time in self.releases.values() if 0.0 < time < end}
        if any(callable(load) for load in self.loads.values()):
            cuts |= set(np.arange(1, int(np.ceil(end / self.interval))) * self.interval)
        times = np.array(sorted(cuts))
        times = times[np.concatenate([[True], np.diff(times) > 1e-9])]
        found = []
        for begin, until in zip(times[:-1], times[1:], strict=True):
            holding = tuple(sorted(group for group, time in self.releases.items() if time > begin + 1e-9))
            loads = {group: self.load(group, 0.5 * (begin + until)) for group in self.loads}
            found.append(Stage(float(begin), float(until), holding, loads))
        return found


@dataclass(frozen=True, eq=False)
class Stage:
    """Part of a motion in which loads and holds stay.

    Attributes:
        begin: When it begins [s].
        end: When it ends [s].
        holding: Groups that are held besides what the body holds.
        loads: Forces on groups [N], by name.
    """

    begin: float
    end: float
    holding: tuple[str, ...]
    loads: Mapping[str, np.ndarray]
