"""Closing a loop: a controller reads sensors of any simulation and commands its controls at regular intervals.

For example::

    simulation.sensors.add("tip", springs.position_of("tip"))
    control.connect(simulation, lambda time, readings: ..., every=0.02)
    simulation.run(2.0)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
import warp as wp

from annelid.control.controller import Controller, Program
from annelid.control.kernels.kinds import HOST
from annelid.control.kernels.loops import pick_columns
from annelid.control.side_by_side import SideBySide, inputs_of_channels
from annelid.core.arrays import as_numbers, shared_rows, views_in
from annelid.core.errors import InvalidValue
from annelid.core.numbers import is_number
from annelid.core.options import require_callable, require_kind, require_truth, require_words
from annelid.core.simulation import Simulation
from annelid.core.solver import Controllable, PartlyControllable, Solver

Arrays = Literal["numpy", "torch", "jax", "warp"]
"""The library whose arrays a function takes and returns."""

Policy = Callable[[float, Any], Any]
"""From the time [s] and readings [worlds, sensors] to values [worlds, channels] in the units of the channels."""


def connect(
    simulation: Simulation[Any],
    controller: Controller | Sequence[Controller] | Policy,
    *,
    every: float,
    sensors: Sequence[str] | None = None,
    controls: Sequence[str] | None = None,
    arrays: Arrays = "numpy",
    ramp: bool = False,
    unless: Callable[[], bool] | None = None,
) -> None:
    """Let a controller command a simulation from now on.

    Args:
        simulation: The simulation; its sensors are added before.
        controller: A controller, whose values from -1 to 1 span the limits of each channel, or a function of the time
            [s] and the readings, shape [worlds, n], that returns values in the units of the channels, shape
            [worlds, m] or [m]. It must depend on nothing else: after a divergence or a load, steps are repeated. Of
            several controllers each commands a world. Where worlds hold unlike robots, a controller has the channels
            and the readings of its own robot; a function has those of all, NaN where a world lacks one, and what it
            returns for a channel that a world lacks does nothing.
        every: Simulated time between two calls [s], rounded to whole steps; a warning tells where that is noticed.
        sensors: Names of the sensors that it reads, in its order; None for all.
        controls: Names of the channels that it commands, in its order; None for all.
        arrays: The library whose arrays a function takes and returns; those on the device are not copied.
        ramp: Go to new values smoothly, within the interval, instead of at once.
        unless: Asked before each call; where it says so, channels are left to others, such as a person's sliders.
    """
    if not is_number(every):
        raise InvalidValue(f"every must be a time between two calls in seconds, not {every!r}.")
    require_kind("what is controlled", simulation, Simulation, "a Simulation")
    require_truth("ramp", ramp)
    for what, names in (("sensors", sensors), ("controls", controls)):
        if names is not None:
            require_words(f"{what} of a controller", names)
    if unless is not None:
        require_callable("unless", unless)
    loop = _Loop(simulation, sensors, controls, every if ramp else 0.0)
    if isinstance(controller, Controller):
        act = _of_controllers(loop, [controller] * loop.worlds, every)
    elif isinstance(controller, Sequence):
        act = _of_controllers(loop, controller, every)
    elif callable(controller):
        act = _of_function(loop, controller, arrays)
    else:
        raise InvalidValue(
            f"a controller must be a Controller, one for each world, or a function, not {type(controller).__name__}."
        )
    simulation.pace(act if unless is None else _unless(unless, act), every=every)


def _unless(told: Callable[[], bool], act: Callable[[Any, int], None]) -> Callable[[Any, int], None]:
    """The same, but nothing where one is told so."""
    return lambda state, step: None if told() else act(state, step)


class _Loop:
    """What every controller of a simulation needs: its readings, and where its values go."""

    def __init__(
        self, simulation: Simulation[Any], sensors: Sequence[str] | None, controls: Sequence[str] | None, ramp: float
    ) -> None:
        self.controls, self.sensors, self.ramp = simulation.controls, simulation.sensors, ramp
        self.device, self.dt, self.worlds = simulation.solver.device, simulation.dt, simulation.solver.worlds
        solver: Solver = simulation.solver
        if not isinstance(solver, Controllable) or not len(self.controls):
            raise InvalidValue(
                f"this simulation of {solver.physics} has no controls that a controller could command: give its bodies "
                "some, or voxels an amplitude and no frequency, so that they follow commands."
            )
        self.solver = solver
        names = self.controls.names if controls is None else tuple(controls)
        if not names:
            raise InvalidValue("a controller needs a channel to command: name some, or leave controls= out for all.")
        self.columns = tuple(self.controls.index(name) for name in names)
        self._read = self.sensors.names if sensors is None else tuple(sensors)
        self._chosen, self._readings = self._places(), self.sensors.read()
        self.inputs = wp.zeros((self.worlds, len(self._chosen)), dtype=wp.float32, device=self.device)

    def sense(self) -> wp.array[Any]:
        """Readings for the controller now, shape [worlds, n], on the device."""
        if self._read:
            readings = self.sensors.read()
            if readings is not self._readings:  # sensors were added or removed
                self._chosen, self._readings = self._places(), readings
                if len(self._chosen) != self.inputs.shape[1]:
                    raise InvalidValue("a sensor that a controller reads has another size now: connect it again.")
            wp.launch(pick_columns, self.inputs.shape, [self._chosen, readings, self.inputs], device=self.device)
        return self.inputs

    def _places(self) -> wp.array[Any]:
        """Columns of what it reads among the readings of all sensors."""
        places = [np.arange(self.sensors.size)[self.sensors.columns(name)] for name in self._read]
        chosen = np.concatenate([np.zeros(0, int), *places]).astype(np.int32)
        return wp.array(chosen, dtype=wp.int32, device=self.device)

    @property
    def channels_there(self) -> np.ndarray:
        """Whether each world has each of the channels, shape [worlds, m]."""
        if isinstance(self.solver, PartlyControllable):
            return self.solver.controls_there[:, list(self.columns)]
        return np.ones((self.worlds, len(self.columns)), bool)

    @property
    def readings_there(self) -> np.ndarray:
        """Whether each world has each of the readings, shape [worlds, n]."""
        return np.concatenate([np.zeros((self.worlds, 0), bool), *map(self.sensors.there, self._read)], axis=1)

    def command(self, state: Any, values: wp.array[Any]) -> None:
        """Give commands, shape [worlds, m], on the device."""
        self.controls.take(self.solver.commanded(state), values, self.columns, ramp=self.ramp)


def _of_function(loop: _Loop, function: Policy, arrays: Arrays) -> Callable[[Any, int], None]:
    into = _conversion(arrays)
    shape = (loop.worlds, len(loop.columns))

    def act(state: Any, step: int) -> None:
        values = function(step * loop.dt, into(loop.sense()))
        rows = shared_rows(values, shape, loop.device)
        if rows is None:
            given = as_numbers("values of a controller", values)
            if given.shape in (shape, shape[1:]):
                rows = wp.array(np.broadcast_to(given, shape).copy(), dtype=wp.float64, device=loop.device)
        if rows is None or tuple(rows.shape) != shape:
            found = np.shape(values) if rows is None else tuple(rows.shape)
            raise InvalidValue(f"the controller must return values of shape {list(shape)}, not {list(found)}.")
        if arrays == "numpy" and not np.isfinite(rows.numpy()).all():
            world = int(np.flatnonzero(~np.isfinite(rows.numpy()).all(axis=1))[0])
            raise InvalidValue(
                f"at {step * loop.dt:.6g} s the controller returned {rows.numpy()[world]} for world {world}."
            )
        loop.command(state, rows)

    return act


def _conversion(arrays: Arrays) -> Callable[[wp.array[Any]], Any]:
    if arrays == "numpy":
        return lambda readings: readings.numpy().copy()
    if arrays == "warp":
        return lambda readings: readings
    if arrays in ("torch", "jax"):
        return views_in(arrays, f"a controller with arrays={arrays!r}")
    raise InvalidValue(f"arrays must be 'numpy', 'torch', 'jax' or 'warp', not {arrays!r}.")


def _of_controllers(loop: _Loop, controllers: Sequence[Any], every: float) -> Callable[[Any, int], None]:
    """Controllers, one for each world; each is bound to the channels and the readings of its own."""
    if len(controllers) != loop.worlds or not all(isinstance(one, Controller) for one in controllers):
        raise InvalidValue(
            f"controllers must be a list of {loop.worlds} controllers, one for each world, not {len(controllers)}: "
            f"{controllers!r:.60}."
        )
    there, reads = loop.channels_there, loop.readings_there
    known: dict[tuple[int, int, int], Program] = {}
    programs = []
    for controller, channels, inputs in zip(controllers, there.sum(axis=1), reads.sum(axis=1), strict=True):
        key = (id(controller), int(channels), int(inputs))
        if channels and key not in known:
            known[key] = controller.bind(key[1], inputs_of_channels(key[2], key[1]))
        programs += [known[key]] if channels else []
    hosted = [program for program in known.values() if program.kind == HOST]
    if hosted and (len(known) > 1 or not there.all()):
        raise InvalidValue(
            "controllers that compute in NumPy command worlds that are alike, all of them the same: for others give a "
            "function of all readings, or controllers that compute on the device."
        )
    if hosted:
        return _of_host(loop, hosted[0].function, hosted[0].parameters)
    chosen, period = list(loop.columns), max(1, round(every / loop.dt))
    lows, highs = loop.controls.lows[chosen], loop.controls.highs[chosen]
    reads[~there.any(axis=1)] = False  # there is nobody to read it
    same = SideBySide(programs, lows, highs, loop.device, channels=there, readings=reads)

    def act(state: Any, step: int) -> None:
        loop.command(state, same.act(step * loop.dt, step // period, period * loop.dt, loop.sense()))

    return act


def _of_host(loop: _Loop, function: Any, parameters: np.ndarray) -> Callable[[Any, int], None]:
    """A function of NumPy arrays that returns values from -1 to 1."""
    chosen = list(loop.columns)
    lows, highs = loop.controls.lows[chosen], loop.controls.highs[chosen]
    rows = np.tile(parameters, (loop.worlds, 1))

    def spanned(time: float, readings: np.ndarray) -> np.ndarray:
        said = np.clip(np.asarray(function(time, readings, rows), float), -1.0, 1.0)
        return np.asarray(lows + 0.5 * (1.0 + said) * (highs - lows))

    return _of_function(loop, spanned, "numpy")
