"""A run of a solid of finite elements: one set of constants after the other, each a solid of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np

from annelid import fem
from annelid.calibration.markers import Markers
from annelid.calibration.runs import Run, Stage
from annelid.calibration.twin import fitting, interpolated
from annelid.core.device import device as choose_device
from annelid.core.errors import AnnelidError, InvalidValue, SimulationDiverged, UnknownName
from annelid.core.options import require_kind
from annelid.fem.actuation.actuator import Actuator, drive_of
from annelid.fem.actuation.chamber import Chamber
from annelid.fem.actuation.channels import Channels
from annelid.fem.actuation.slide import SlideDrive
from annelid.fem.elements import ElementSet
from annelid.fem.fluids.hydrostatics import CavityPressure
from annelid.fem.newton import NoEquilibrium
from annelid.fem.solver import require_exerting
from annelid.materials import Material

OF_MATERIAL = ("youngs_modulus", "poisson_ratio", "density")
OF_WORLD = ("velocity_damping",)
_STATIC = ("gravity", "device", "threads", "settings", "obstacles", "contact")
_IN_VAIN = {
    "ramp": "give loads, pressures and controls as functions of time",
    "worlds": "constants are tried one after the other",
    "dynamic": "motion=False of a run compares where the body rests",
}


class _Impossible(Exception):
    """A trial has constants that no material has, such as a Poisson's ratio of 0.6."""


class SolidsTwin:
    """A solid in a run.

    Args:
        make: The solid for constants by name.
        run: The run.
        markers: How markers follow nodes.
        options: Options of `fem.simulation`; the midpoint rule, which does not damp by itself, unless told otherwise.
    """

    together = False

    def __init__(
        self,
        make: Callable[[Mapping[str, float]], fem.Solid],
        run: Run,
        markers: Markers,
        options: Mapping[str, Any],
    ) -> None:
        self._make, self._run, self._markers = make, run, markers
        self._options = {"integrator": "midpoint", **options}
        for name in _IN_VAIN.keys() & self._options:
            raise InvalidValue(f"{name} of world says nothing to a calibration: leave it out; {_IN_VAIN[name]}.")
        self._actuators: Sequence[Actuator] = self._options.pop("actuators", ())
        self._extras = self._options.pop("extras", ())
        self._device = choose_device(self._options.get("device", "auto"))
        self._step = fem.World(dt=self._options.pop("dt", "auto")).step

    def require(self, solid: fem.Solid) -> None:
        """Refuse pressures of cavities that a solid does not have, and commands that no actuator of it can follow."""
        self._pressures(solid)
        require_kind("actuators of world", self._actuators, Sequence, "a list of actuators")
        for actuator in self._actuators:
            drive = drive_of(actuator, solid, self._device, self._gravity)
            require_exerting(actuator)
            if self._run.at_rest and drive.columns > 1:
                raise InvalidValue(f"{actuator.name} has no equilibrium by columns here: take weight='hydrostatic'.")
        channels = {channel.control.name: channel.limits for channel in self._channels.every}
        for name in self._run.controls:
            if name not in channels:
                raise UnknownName("control, that is: actuator of world that is not held at one value", name, channels)

    def motion(self, constants: Mapping[str, np.ndarray], times: np.ndarray) -> np.ndarray:
        """Where markers are; see `Twin`."""
        return np.array([self._one(each, times) for each in _rows(constants)])

    def settled(self, constants: Mapping[str, np.ndarray]) -> np.ndarray:
        """Where markers come to rest; see `Twin`."""
        stage = self._run.last_stage
        found = []
        for each in _rows(constants):
            try:
                found.append(self._markers.places(self._equilibrium(self._made(each), stage, stage.end)))
            except (NoEquilibrium, _Impossible):
                found.append(np.full((len(self._markers), 3), np.nan))
        return np.array(found)

    def _one(self, constants: Mapping[str, float], times: np.ndarray) -> np.ndarray:
        try:
            return self._moved(constants, times)
        except (SimulationDiverged, NoEquilibrium, _Impossible):
            return np.full((len(times), len(self._markers), 3), np.nan)

    def _moved(self, constants: Mapping[str, float], times: np.ndarray) -> np.ndarray:
        solid = self._made(constants)
        options = {**self._options, **{name: constants[name] for name in OF_WORLD if name in constants}}
        step = fitting(self._step, times)
        stages = self._run.stages(max(float(times[-1]), step))
        if len(stages) > 1 and solid.carried:
            raise InvalidValue(
                "a hold of the body that follows a path would restart wherever a load changes or a group is let go: "
                "move it by a fem.Slide among the actuators of world."
            )
        settled = self._run.start == "settled"
        positions = self._equilibrium(solid, stages[0], 0.0) if settled else solid.nodes
        known, marks = [0.0], [self._markers.places(positions)]
        pressures = self._pressures(solid)
        extras = [*self._added(), *pressures.values()]
        before: Any = None
        for stage in stages:
            count = max(int(np.ceil((stage.end - stage.begin) / step - 1e-6)), 1)
            dt = (stage.end - stage.begin) / count
            simulation = fem.simulation(
                _loaded(solid, stage), dt=dt, actuators=self._actuators, extras=extras, **options
            )
            if before is None:
                simulation.state.positions.assign(positions)
                simulation.state.efforts.assign(self._efforts(0.0 if settled else None))
            else:
                _go_on(simulation.state, before)
            for number in range(1, count + 1):
                self._command(simulation, pressures, stage.begin + dt * (number - 0.5))
                simulation.step(1)
                known.append(stage.begin + dt * number)
                marks.append(self._markers.places(simulation.positions()))
            before = simulation.state
        return interpolated(np.array(known), np.array(marks)[None], times)[0]

    def _command(self, simulation: Any, pressures: Mapping[int, CavityPressure], time: float) -> None:
        """Let pressures and actuators do what the run says of a time [s]."""
        for cavity, pressure in pressures.items():
            pressure.set_pressure(self._run.pressure(cavity, time))
        if self._run.controls:
            simulation.controls.command({name: self._controlled(name, time) for name in self._run.controls})

    def _controlled(self, name: str, time: float) -> float:
        """What a channel is commanded at a time, which must be within its limits."""
        (limits,) = (channel.limits for channel in self._channels.every if channel.control.name == name)
        if not limits.low <= (value := self._run.control(name, time)) <= limits.high:
            raise InvalidValue(
                f"{value:g} for control {name!r} of run {self._run.name!r} at {time:g} s is outside {limits.low:g} to "
                f"{limits.high:g}: widen the limits of the actuator."
            )
        return value

    def _efforts(self, time: float | None) -> np.ndarray:
        """What actuators exert at a time, or before anything is commanded, shape [k]."""
        limits = [actuator.limits()[0] for actuator in self._actuators]
        efforts = np.array([one.low if one.held else 0.0 for one in limits], float)
        for channel in self._channels.every if time is not None else ():
            name = channel.control.name
            commanded = time is not None and name in self._run.controls
            efforts[channel.number] = self._controlled(name, time or 0.0) if commanded else channel.control.rest
        return efforts

    @property
    def _channels(self) -> Channels:
        return Channels(self._actuators, [actuator.limits() for actuator in self._actuators])

    @property
    def _gravity(self) -> np.ndarray:
        return np.asarray(self._options.get("gravity", fem.World.gravity), float)

    def _added(self) -> list[ElementSet]:
        """The element sets that world adds."""
        return list(self._extras(self._device) if callable(self._extras) else self._extras)

    def _pressures(self, solid: fem.Solid) -> dict[int, CavityPressure]:
        """What presses in the cavities of a solid, by their numbers."""
        cavities = {key: Chamber(name=f"pressure {key}", cavity=key).cavity_of(solid) for key in self._run.pressures}
        return {key: CavityPressure(cavity, solid.nodes, self._device) for key, cavity in cavities.items()}

    def _made(self, constants: Mapping[str, float]) -> fem.Solid:
        """The solid for constants; those of the start are tried elsewhere, so that only a trial can be impossible."""
        try:
            return self._make(constants)
        except InvalidValue as error:
            raise _Impossible from error

    def _equilibrium(self, solid: fem.Solid, stage: Stage, time: float) -> np.ndarray:
        """Where a solid rests under what acts on it at a time [s]."""
        loaded, extras = _loaded(solid, stage), self._added()
        pressures = self._pressures(loaded)
        drives = [drive_of(actuator, loaded, self._device, self._gravity) for actuator in self._actuators]
        for cavity, pressure in pressures.items():
            pressure.set_pressure(self._run.pressure(cavity, time))
        for drive, effort in zip(drives, self._efforts(time).tolist(), strict=True):
            drive.exert(effort)
            extras += drive.sets
        if slides := [drive for drive in drives if isinstance(drive, SlideDrive)]:
            loaded = loaded.copy()
            for slide in slides:
                loaded.offsets[slide.nodes] += slide.shift
        options = {name: self._options[name] for name in _STATIC if name in self._options}
        return fem.equilibrium(loaded, extras=[*extras, *pressures.values()], **options)


def _go_on(state: Any, before: Any) -> None:
    """Begin with what a motion left behind."""
    for mine, its, names in (
        (state, before, ("positions", "velocities", "efforts", "commands")),
        (state.history, before.history, vars(before.history)),
    ):
        for name in names:
            vars(mine)[name].assign(vars(its)[name])


def _rows(constants: Mapping[str, np.ndarray]) -> list[dict[str, float]]:
    copies = len(next(iter(constants.values()))) if constants else 1
    return [{name: float(values[copy]) for name, values in constants.items()} for copy in range(copies)]


def _loaded(solid: fem.Solid, stage: Stage) -> fem.Solid:
    """The solid as it is held and pulled in a stage."""
    if not stage.loads and not stage.holding:
        return solid
    twin = solid.copy()
    for group, force in stage.loads.items():
        twin.push(group, force)
    for group in stage.holding:
        twin.fix(group)
    return twin


def remade(solid: fem.Solid, constants: Mapping[str, float]) -> fem.Solid:
    """A copy of a solid whose materials have other constants."""
    twin, materials = solid.copy(), list(solid.materials)
    for name, value in constants.items():
        constant, _, of = name.partition(".")
        for number, material in enumerate(materials):
            if constant not in OF_WORLD and of in ("", material.name):
                materials[number] = _changed(material, constant, value)
    twin.materials = tuple(materials)
    return twin


def require_constants(solid: fem.Solid, names: Mapping[str, Any]) -> None:
    """Refuse constants that the materials of a solid do not have."""
    known = [*OF_MATERIAL, *OF_WORLD, *dict.fromkeys(name for one in solid.materials for name in _of_law(one))]
    for name in names:
        constant, _, of = name.partition(".")
        if constant not in known:
            raise UnknownName("constant of a solid", constant, known)
        if of and of not in [material.name for material in solid.materials]:
            raise UnknownName("material of the solid", of, [material.name for material in solid.materials])
        if of and constant in OF_WORLD:
            raise InvalidValue(f"{constant} belongs to the whole solid: leave '.{of}' out.")


def _of_law(material: Material) -> list[str]:
    return [] if material.law is None else [one.name for one in fields(material.law)]


def _changed(material: Material, constant: str, value: float) -> Material:
    if constant in OF_MATERIAL:
        return material.with_(**{constant: value})
    if constant in _of_law(material) and material.law is not None:
        return material.with_(law=replace(material.law, **{constant: value}))
    raise AnnelidError(f"material {material.name!r} has no constant {constant!r}.")
