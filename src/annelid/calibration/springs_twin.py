"""A run of a body of springs: copies with constants of their own, side by side as the worlds of one rollout."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from annelid import springs
from annelid.calibration.markers import Markers
from annelid.calibration.runs import Run, Stage
from annelid.calibration.twin import fitting, interpolated
from annelid.core.errors import InvalidValue, SimulationDiverged, StepTooLong, UnknownName
from annelid.core.rollout import Rollout
from annelid.springs.equilibrium import NotConverged
from annelid.springs.kernels.commands import command_signal

_SHORTEST = 16  # times that copies may need shorter steps than the body as built; what needs more diverges
_OF_BODY = {"stiffness": "stiffness", "rest_length": "rest_lengths", "damping": "damping"}
_AT_ONCE = 64  # copies
_NOT_AT_REST = ("obstacles", "collisions", "motors", "forces", "constraints")
_NO_NUMBER = ("positions", "velocities", "forces", "gravity", "controls")  # what one number cannot say


class SpringsTwin:
    """A body of springs in a run.

    Args:
        body: The body.
        run: The run.
        markers: How markers follow masses.
        options: Options of `springs.simulation`.
    """

    together = True

    def __init__(self, body: springs.Body, run: Run, markers: Markers, options: Mapping[str, Any]) -> None:
        self._body, self._run, self._markers, self._options = body, run, markers, dict(options)
        self._given_step = self._options.pop("dt", "auto")
        self._rollouts: dict[tuple[Any, ...], Rollout] = {}
        self._controls = self._simulation(body, "auto", None).controls
        self._base = self._simulation(body, "auto", None).dt
        if self._given_step != "auto":  # refused here where no simulation takes it
            self._given_step = self._simulation(body, self._given_step, None).dt

    def require(self, names: Mapping[str, Any]) -> None:
        """Refuse constants that a body of springs does not have, or that feed nothing here."""
        self._require_what_acts()
        rollout = Rollout(self._simulation(self._body, self._base, None), 1)
        for name in names:
            constant, _, material = name.partition(".")
            if constant in _NO_NUMBER:
                raise InvalidValue(
                    f"{constant!r} is no constant that one number says; give it to the body, to a run (loads) or to "
                    "world (gravity), and let stiffness, damping or mass_factor be free."
                )
            try:
                rollout.require(constant)
            except UnknownName:
                known = [each for each in rollout.names if each not in _NO_NUMBER]
                raise UnknownName("constant of springs", constant, known) from None
            if constant == "damping_factor" and not self._body.damping.any():
                raise InvalidValue("the body has no damping that damping_factor could change: let damping be free.")
            if material and material not in self._body.materials:
                raise UnknownName("material of the body", material, self._body.materials)
            if material and not constant.endswith("_factor"):
                raise InvalidValue(f"{name!r}: of one material only factors can be free, such as stiffness_factor.")

    def _require_what_acts(self) -> None:
        """Refuse what the run or world has and a body of springs would not notice."""
        run, body = self._run, self._body
        if run.pressures:
            raise InvalidValue(f"run {run.name!r} has pressures, but springs have no cavities: give loads or controls.")
        for name in run.controls:
            if name not in self._controls:
                raise UnknownName("control of the body", name, self._controls.names)
        if "worlds" in self._options:
            raise InvalidValue("worlds of world say nothing to a calibration, whose copies are worlds: leave it out.")
        silent = [name for name in _NOT_AT_REST if len(self._options.get(name, ()))]
        silent += ["motors"] if any(name not in _stretching(body) for name in run.controls) else []
        if run.at_rest and silent:
            raise InvalidValue(
                f"an equilibrium of springs knows no {silent[0]}, and run {run.name!r} begins with one or compares "
                "one: let it begin at rest as built and compare its motion, or leave them out of world."
            )
        timed = body.signal_functions and any(one is not command_signal for one in body.signal_functions)
        if timed and len(run.stages(max(float(run.measured.times[-1]), 1e-6))) > 1:
            raise InvalidValue(
                f"waves of the body would restart wherever a load of run {run.name!r} changes or a group is let go: "
                "give constant loads and hold nothing, or controls instead of waves."
            )

    def motion(self, constants: Mapping[str, np.ndarray], times: np.ndarray) -> np.ndarray:
        """Where markers are; see `Twin`."""
        copies = len(next(iter(constants.values()))) if constants else 1
        found = np.full((copies, len(times), len(self._markers), 3), np.nan)
        for step, chosen in self._groups(constants, copies):
            part = {name: values[chosen] for name, values in constants.items()}
            found[chosen] = self._together(part, len(chosen), times, step)
        return found

    def settled(self, constants: Mapping[str, np.ndarray]) -> np.ndarray:
        """Where markers come to rest; see `Twin`."""
        copies = len(next(iter(constants.values()))) if constants else 1
        last = self._run.last_stage
        places = [self._equilibrium(self._copy(constants, copy), last, last.end) for copy in range(copies)]
        return np.array([self._markers.places(each) for each in places])

    def _groups(self, constants: Mapping[str, np.ndarray], copies: int) -> Iterator[tuple[float, np.ndarray]]:
        """Copies that share a time step, so that a few stiff ones do not slow all the others down."""
        if self._given_step != "auto":
            steps = np.full(copies, self._given_step)
        else:
            steps = np.array([self._stable(self._copy(constants, copy)) for copy in range(copies)])
            halvings = np.ceil(np.log2(np.maximum(self._base / steps, 1.0)) - 1e-6)
            steps = self._base * 0.5 ** np.minimum(halvings, np.log2(_SHORTEST))
        for step in np.unique(steps):
            chosen = np.flatnonzero(steps == step)
            for first in range(0, len(chosen), _AT_ONCE):
                yield float(step), chosen[first : first + _AT_ONCE]

    def _together(self, constants: Mapping[str, np.ndarray], copies: int, times: np.ndarray, step: float) -> np.ndarray:
        """Where markers of copies are, all with about one time step."""
        stages = self._run.stages(max(float(times[-1]), step))
        state: dict[str, np.ndarray] = {}
        places = self._start(constants, copies, stages[0])
        if places is not None:
            state["positions"] = places
        first = np.broadcast_to(
            self._body.positions if places is None else places, (copies, *self._body.positions.shape)
        )
        known, marks = [np.zeros(1)], [self._markers.places(first)]
        step = fitting(step, times)
        for stage in stages:
            count = max(int(np.ceil((stage.end - stage.begin) / step - 1e-6)), 1)
            dt = (stage.end - stage.begin) / count
            looks = _looks(stage, dt, count, times)
            rollout = self._rollout(stage.holding, dt, count, looks, copies)
            given = {**self._parameters(rollout, constants, copies), **state}
            if stage.loads:
                given["forces"] = self._forces(stage)
            if self._run.controls:
                given["controls"] = self._table(stage.begin + dt * (np.arange(count) + 0.5))
            try:
                track = rollout.forward(given)
            except SimulationDiverged:
                return np.full((copies, len(times), len(self._markers), 3), np.nan)
            positions = np.moveaxis(track.positions, 0, 1)  # [copies, looks, n, 3]
            known.append(stage.begin + dt * looks)
            marks.append(self._markers.places(positions.reshape(-1, *positions.shape[2:])))
            if stage is not stages[-1]:
                last = {"positions": track.positions[-1], "velocities": self._let_go(track.velocities[-1], stage)}
                state = {name: np.nan_to_num(values) for name, values in last.items()}
        placed = np.concatenate([part.reshape(copies, -1, len(self._markers), 3) for part in marks], axis=1)
        return interpolated(np.concatenate(known), placed, times)

    def _let_go(self, velocities: np.ndarray, stage: Stage) -> np.ndarray:
        """Velocities with which the next stage begins: what was held stood still."""
        held = self._holding(stage.holding).fixed & ~self._body.fixed
        found = velocities.copy()
        found[:, held] = 0.0
        return found

    def _parameters(self, rollout: Rollout, constants: Mapping[str, np.ndarray], copies: int) -> dict[str, np.ndarray]:
        """Constants in the shapes that a rollout takes."""
        found: dict[str, np.ndarray] = {}
        for name, values in constants.items():
            constant, _, material = name.partition(".")
            full = rollout.value(constant)
            if material:
                found.setdefault(constant, np.ones(full.shape))
                found[constant][:, self._body.materials.index(material)] = values
            else:
                found[constant] = values.reshape(copies, *(1,) * (full.ndim - 1))
        return found

    def _rollout(self, holding: tuple[str, ...], dt: float, steps: int, looks: np.ndarray, copies: int) -> Rollout:
        key = (holding, dt, steps, looks.tobytes(), copies)
        if key not in self._rollouts:
            simulation = self._simulation(self._holding(holding), dt, copies)
            least = math.ceil(math.sqrt(steps))  # several are kept, and none is run back: states would only take room
            self._rollouts[key] = Rollout(simulation, steps, every=least, looks=looks.tolist())
        return self._rollouts[key]

    def _simulation(self, body: springs.Body, dt: Any, worlds: int | None) -> Any:
        with warnings.catch_warnings():  # trials may be too stiff for their step; they count as bad
            warnings.simplefilter("ignore", StepTooLong)
            return springs.simulation(body, dt=dt, worlds=worlds, **{"relaxation": 0.0, **self._options})

    def _holding(self, groups: tuple[str, ...]) -> springs.Body:
        body = self._body.copy() if groups else self._body
        for group in groups:
            body.fix(group)
        return body

    def _table(self, times: np.ndarray) -> np.ndarray:
        """Commands of all channels at times, shape [1, t, channels]."""
        table = np.tile([channel.rest for channel in self._controls.channels], (len(times), 1)).astype(float)
        for name in self._run.controls:
            table[:, self._controls.index(name)] = [self._run.control(name, float(time)) for time in times]
        return table[None]

    def _forces(self, stage: Stage) -> np.ndarray:
        forces = self._body.forces.copy()
        for group, force in stage.loads.items():
            chosen = self._body.indices(group)
            forces[chosen] += force / len(chosen)
        return forces

    def _start(self, constants: Mapping[str, np.ndarray], copies: int, stage: Stage) -> np.ndarray | None:
        if self._run.start == "rest":
            return None
        found = np.array([self._equilibrium(self._copy(constants, copy), stage, 0.0) for copy in range(copies)])
        lost = ~np.isfinite(found).all(axis=(1, 2))
        found[lost] = 1e6 * self._body.positions  # torn apart: it diverges, and counts as bad
        return found

    def _equilibrium(self, body: springs.Body, stage: Stage, time: float) -> np.ndarray:
        """Where a body rests in a stage under the commands of a time [s]; NaN where it does not."""
        for name in self._run.controls:
            body.rest_lengths[_stretching(body)[name]] *= self._run.control(name, time)
        body.forces = self._forces(stage)
        for group in stage.holding:
            body.fix(group)
        gravity = self._options.get("gravity", springs.World.gravity)
        try:
            return springs.equilibrium(body, gravity=gravity)
        except NotConverged:
            return np.full(body.positions.shape, np.nan)

    def _copy(self, constants: Mapping[str, np.ndarray], copy: int) -> springs.Body:
        """The body of one copy, as far as constants are those of the body."""
        body = self._body.copy()
        for name, values in constants.items():
            constant, _, material = name.partition(".")
            stem, value = constant.removesuffix("_factor"), float(values[copy])
            if constant in ("stiffness", "damping", "rest_lengths"):
                vars(body)[constant][:] = value
            elif stem in _OF_BODY:
                of = body.spring_materials == body.materials.index(material) if material else slice(None)
                vars(body)[_OF_BODY[stem]][of] *= value
            elif constant == "mass_factor":
                body.masses *= value
            elif constant == "masses":
                body.masses[:] = value
        return body

    def _stable(self, body: springs.Body) -> float:
        """The time step that suits a body [s]."""
        return float(self._simulation(body, "auto", None).dt)


def _stretching(body: springs.Body) -> dict[str, np.ndarray]:
    """Springs that each channel of a body stretches, by its name."""
    kind = 1 + body.signal_functions.index(command_signal) if body.controls else -1
    numbers = np.where(body.signal_kinds == kind, body.signal_parameters[:, 0], -1.0)
    return {channel.name: np.flatnonzero(numbers == number) for number, channel in enumerate(body.controls)}


def _looks(stage: Stage, dt: float, count: int, times: np.ndarray) -> np.ndarray:
    """Steps of a stage just before and after measured moments, and its last."""
    inside = (times[(times > stage.begin) & (times <= stage.end + 1e-9)] - stage.begin) / dt
    near = np.round(inside)
    exact = np.abs(inside - near) < 1e-6
    steps = np.concatenate([np.where(exact, near, np.floor(inside)), np.where(exact, near, np.ceil(inside)), [count]])
    return np.unique(np.clip(steps, 1, count)).astype(np.int64)
