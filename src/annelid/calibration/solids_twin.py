"""A run of a solid of finite elements: one set of constants after the other, each a solid of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from typing import Any

import numpy as np

from annelid import fem
from annelid.calibration.markers import Markers
from annelid.calibration.runs import Run, Stage
from annelid.calibration.twin import interpolated
from annelid.core.errors import AnnelidError, InvalidValue, SimulationDiverged, UnknownName
from annelid.fem.newton import NoEquilibrium
from annelid.materials import Material
from annelid.shapes.values import step_or

OF_MATERIAL = ("youngs_modulus", "poisson_ratio", "density")
OF_WORLD = ("velocity_damping",)
_STATIC = ("gravity", "device", "threads", "settings")


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
        self._step = step_or("dt", self._options.pop("dt", "auto"), fem.World.dt)

    def motion(self, constants: Mapping[str, np.ndarray], times: np.ndarray) -> np.ndarray:
        """Where markers are; see `Twin`."""
        return np.array([self._one(each, times) for each in _rows(constants)])

    def settled(self, constants: Mapping[str, np.ndarray]) -> np.ndarray:
        """Where markers come to rest; see `Twin`."""
        stage = self._run.stages(max(float(self._run.measured.times[-1]), 1e-6))[-1]
        found = []
        for each in _rows(constants):
            try:
                found.append(self._markers.places(self._equilibrium(self._made(each), stage)))
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
        step = self._fitting(times)
        stages = self._run.stages(max(float(times[-1]), step))
        positions = solid.nodes if self._run.start == "rest" else self._equilibrium(solid, stages[0])
        velocities = np.zeros(positions.shape)
        known, marks = [0.0], [self._markers.places(positions)]
        for stage in stages:
            count = max(int(np.ceil((stage.end - stage.begin) / step - 1e-6)), 1)
            dt = (stage.end - stage.begin) / count
            simulation = fem.simulation(_loaded(solid, stage), dt=dt, **options)
            simulation.state.positions.assign(positions)
            simulation.state.velocities.assign(velocities)
            for number in range(1, count + 1):
                simulation.step(1)
                known.append(stage.begin + dt * number)
                marks.append(self._markers.places(simulation.positions()))
            positions, velocities = simulation.positions(), simulation.velocities()
        return interpolated(np.array(known), np.array(marks)[None], times)[0]

    def _made(self, constants: Mapping[str, float]) -> fem.Solid:
        """The solid for constants; those of the start are tried elsewhere, so that only a trial can be impossible."""
        try:
            return self._make(constants)
        except InvalidValue as error:
            raise _Impossible from error

    def _fitting(self, times: np.ndarray) -> float:
        """A time step with which measured moments fall on steps, where they are evenly spaced [s]."""
        spacing = float(np.median(np.diff(times))) if len(times) > 1 else self._step
        return spacing / np.ceil(spacing / self._step - 1e-6) if spacing > self._step else self._step

    def _equilibrium(self, solid: fem.Solid, stage: Stage) -> np.ndarray:
        options = {name: self._options[name] for name in _STATIC if name in self._options}
        return fem.equilibrium(_loaded(solid, stage), **options)


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
