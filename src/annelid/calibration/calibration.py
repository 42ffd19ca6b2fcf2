"""What is to be identified: a body, runs, markers, and the constants that are free."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from annelid import fem, springs
from annelid.calibration.comparison import NUISANCES, Comparison, Registration
from annelid.calibration.markers import markers_on
from annelid.calibration.runs import Run
from annelid.calibration.solids_twin import OF_WORLD, SolidsTwin, remade, require_constants
from annelid.calibration.springs_twin import SpringsTwin
from annelid.calibration.twin import Twin
from annelid.core.errors import InvalidValue, UnknownName
from annelid.core.numbers import is_number
from annelid.core.options import Named, require_kind
from annelid.optimise.free import Free, Space

Bodies = springs.Body | fem.Solid | Callable[..., fem.Solid]
_WIDE = 1e3  # times the start, up and down, where no bounds are given


@dataclass(frozen=True, eq=False)
class Calibration(Named):
    """A body with unknown constants, and what was measured of it.

    Attributes:
        body: A `springs.Body`, a `fem.Solid`, or a function that makes a solid of constants by name.
        runs: Runs that constants are fitted to.
        markers: Places of the markers on the body as built [m], by their names in the tracks.
        free: Constants that are free, by name: where the search starts, or a `Free` with bounds. Of springs, what
            `Rollout` takes, such as stiffness, stiffness_factor, damping, damping_factor, mass_factor,
            velocity_damping, friction; of solids youngs_modulus, poisson_ratio, density, velocity_damping and the
            constants of a law. Of one material among several: "stiffness_factor.soft", "youngs_modulus.skin". Of a
            function, its arguments.
        held_out: Runs that are not fitted but predicted.
        registration: How the frame of the capture may differ from that of the body in each run: "none", "shift" or
            "rigid"; that is fitted along the way and not reported.
        reach: How far markers may stand off the body [m].
        carriers: Groups of the body that carry a marker as a rigid whole, by the name of the marker, for markers that
            stand off a part that keeps its form, such as the end of a beam.
        windows: Ends of the windows of time that are fitted one after the other [s]; by default a fifth of the longest
            run, half of it and all.
        world: Options of the simulation: dt, gravity, obstacles...
        name: What to call it.
    """

    body: Bodies
    runs: Sequence[Run]
    markers: Mapping[str, Any]
    free: Mapping[str, Free | float]
    held_out: Sequence[Run] = ()
    registration: Registration = "none"
    reach: float = 0.0
    carriers: Mapping[str, str] = field(default_factory=dict)
    windows: Sequence[float] | None = None
    world: Mapping[str, Any] = field(default_factory=dict)
    name: str = "calibration"

    def __post_init__(self) -> None:
        if not isinstance(self.body, springs.Body | fem.Solid) and not callable(self.body):
            raise InvalidValue(
                "the body must be a springs.Body, a fem.Solid or a function that makes one, not "
                f"{type(self.body).__name__}."
            )
        if not isinstance(self.registration, str) or self.registration not in NUISANCES:
            raise InvalidValue(f"registration must be one of {', '.join(NUISANCES)}, not {self.registration!r}.")
        for kind, runs in (("runs", self.runs), ("held_out", self.held_out)):
            require_kind(kind, runs, (list, tuple), "a list of Runs")
            for run in runs:
                require_kind(f"each of {kind}", run, Run, "a Run")
        require_kind("markers", self.markers, Mapping, "places by name, such as {'tip': (0.1, 0, 0)}")
        require_kind("world", self.world, Mapping, "options of the simulation by name")
        require_kind("free", self.free, Mapping, "starts of constants by name")
        require_kind("carriers", self.carriers, Mapping, "groups by name of the marker")
        if not (is_number(self.reach) and self.reach >= 0.0):
            raise InvalidValue(f"reach must be a length of 0 m or more, not {self.reach!r:.40}.")
        if self.windows is not None:
            require_kind("windows", self.windows, (Sequence, np.ndarray), "a list of times, or None")
        for window in () if self.windows is None else self.windows:
            if not (is_number(window) and window > 0.0):
                raise InvalidValue(f"windows must be times above 0 s, not {window!r:.40}.")
        if not self.runs:
            raise InvalidValue("there are no runs to fit constants to: give at least one.")

    @property
    def space(self) -> Space:
        """The coordinates in which constants are searched."""
        return Space({name: _bounded(name, one) for name, one in self.free.items()})

    def comparisons(self, runs: Sequence[Run], device: str, threads: int | None) -> list[Comparison]:
        """Runs beside their models."""
        machine = {"device": device, "threads": threads}
        return [
            Comparison(run, self._twin(run, {**machine, **self.world}), self.markers, self.registration) for run in runs
        ]

    def _twin(self, run: Run, options: Mapping[str, Any]) -> Twin:
        if isinstance(self.body, springs.Body):
            _require_nothing_given(run)
            _require_groups(run, self.body.groups)
            markers = markers_on(self.body, self.markers, self.reach, self.carriers)
            of_springs = SpringsTwin(self.body, run, markers, {"precision": "float64", **options})
            of_springs.require(self.free)
            return of_springs
        make = self._maker(run)
        first = make({name: float(one.start) for name, one in self.space.free.items()})
        require_kind("what the function of the body makes", first, fem.Solid, "a fem.Solid")
        _require_groups(run, first.groups)
        markers = markers_on(first, self.markers, self.reach, self.carriers)
        twin = SolidsTwin(make, run, markers, options)
        twin.require(first)
        return twin

    def _maker(self, run: Run) -> Callable[[Mapping[str, float]], fem.Solid]:
        """The solid of a run for constants."""
        if isinstance(self.body, fem.Solid):
            solid = self.body
            _require_nothing_given(run)
            require_constants(solid, self.free)
            return lambda constants: remade(solid, constants)
        function = self.body
        assert callable(function)
        known = inspect.signature(function).parameters
        for name in (*self.free, *run.given):
            if name not in known and name not in OF_WORLD:
                raise UnknownName("argument of the function of the body", name, [*known, *OF_WORLD])
        given = dict(run.given)
        return lambda constants: function(**given, **{name: constants[name] for name in constants if name in known})


def _bounded(name: str, one: Free | float) -> Free:
    """A constant with bounds; a positive one that has none may change a thousandfold."""
    if isinstance(one, Free):
        if one.start.ndim:
            raise InvalidValue(f"constant {name!r} must be one number, not {one.start.size}: name each by itself.")
        return one
    try:
        start = float(one)
    except (TypeError, ValueError, OverflowError):
        raise InvalidValue(f"constant {name!r} must start at a number, or be a Free, not {one!r:.60}.") from None
    if not (np.isfinite(start) and start > 0.0):
        raise InvalidValue(f"constant {name!r} starts at {start:g}: give a Free with bounds and a linear scale.")
    return Free(start, start / _WIDE, start * _WIDE)


def _require_nothing_given(run: Run) -> None:
    if run.given:
        raise InvalidValue(
            f"run {run.name!r} gives {', '.join(run.given)} to a body that is no function: make the body by a function."
        )


def _require_groups(run: Run, groups: Mapping[str, Any]) -> None:
    for name in (*run.loads, *run.releases):
        if name not in groups:
            raise UnknownName("group of the body", name, groups)
