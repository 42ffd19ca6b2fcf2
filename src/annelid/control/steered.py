"""Motions that a network of ours steers, there and back: gradients by its weights without another library.

For example::

    simulation.sensors.add("tip", springs.position_of("tip"))
    steered = control.SteeredRollout(simulation, network, every=0.02, intervals=50)
    value, rates = steered.gradient(annelid.Travel("x"), weights)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import warp as wp

from annelid.control.networks import MLP, DistributedMLP
from annelid.control.side_by_side import inputs_of_channels
from annelid.control.unrolled import Unrolled
from annelid.core.adjoint import reduced
from annelid.core.described import Described
from annelid.core.errors import InvalidValue
from annelid.core.options import require_kind, require_words
from annelid.core.pacing import whole_steps
from annelid.core.rollout import Loss, Rollout, as_loss, require_loss
from annelid.core.simulation import Simulation
from annelid.core.track import PARTS, Track


class SteeredRollout(Described):
    """Intervals of a simulation from where it stands now, before each of which a network reads and commands.

    It is the motion that `control.connect` makes, but for rounding: the network computes in double precision. Each
    interval is run again on the way back.

    Args:
        simulation: The simulation; its sensors are added before, and are means of positions and velocities.
        network: An `MLP`, or a `DistributedMLP` without signals; values from -1 to 1 span the limits of each channel.
        every: Simulated time between two calls [s], rounded to whole steps.
        intervals: Number of calls.
        sensors: Names of the sensors that it reads, in its order; None for all.
        controls: Names of the channels that it commands, in its order; None for all. Others rest.
    """

    def __init__(
        self,
        simulation: Simulation[Any],
        network: MLP | DistributedMLP,
        *,
        every: float,
        intervals: int,
        sensors: Sequence[str] | None = None,
        controls: Sequence[str] | None = None,
    ) -> None:
        require_kind("what is steered", simulation, Simulation, "a Simulation")
        for what, given in (("sensors", sensors), ("controls", controls)):
            if given is not None:
                require_words(f"{what} of a rollout", given)
        if isinstance(intervals, bool) or not isinstance(intervals, int | np.integer) or intervals < 1:
            raise InvalidValue(f"the intervals must be a whole number of 1 or more, not {intervals!r:.40}.")
        if isinstance(network, DistributedMLP) and network.signals:
            raise InvalidValue("channels have no neighbours here that hear signals: give the network signals=0.")
        self.intervals = int(intervals)
        self.rollout = Rollout(simulation, whole_steps(every, simulation.dt))
        self._begun = simulation.step_count
        names = simulation.controls.names if controls is None else tuple(controls)
        if not names:
            raise InvalidValue(f"this simulation of {simulation.solver.physics} has no controls to be commanded.")
        self._columns = [simulation.controls.index(name) for name in names]
        self._rest = self.rollout.value("controls")
        self._lows, self._highs = simulation.controls.lows[self._columns], simulation.controls.highs[self._columns]
        read = simulation.sensors.names if sensors is None else tuple(sensors)
        self._means = tuple(mean for name in read for mean in simulation.sensors.means(name))
        shares = inputs_of_channels(3 * len(self._means), len(names))
        self.network = Unrolled(network, len(names), shares, worlds=self.rollout.worlds, device=self.rollout.device)
        self._given: dict[str, Any] = {}
        self._states: list[dict[str, np.ndarray]] = []
        self._shape: tuple[int, ...] = ()
        self._track: Track | None = None

    def facts(self) -> Mapping[str, str]:
        """How long it is."""
        return {"intervals": str(self.intervals), **self.rollout.facts()}

    def forward(self, weights: Any, parameters: Mapping[str, Any] | None = None) -> Track:
        """Run the motion; the track has a look after each interval.

        Args:
            weights: Weights of the network, shape [p] or [worlds, p].
            parameters: Parameters of the rollout by name, besides controls; see `Rollout.names`.
        """
        given = dict(parameters or {})
        if "controls" in given:
            raise InvalidValue("the network gives the controls: leave controls out of the parameters.")
        self.network.begin(weights)
        self._given, self._shape, self._track, self._states = given, np.shape(weights), None, []
        here = {name: self._begin(name) for name in PARTS}
        seen: list[Track] = []
        for interval in range(self.intervals):
            commands = self._commands(interval, here)
            self._states.append({**here, "controls": commands})
            seen.append(self._run(interval))
            here = {"positions": seen[-1].positions[-1], "velocities": seen[-1].velocities[-1]}
        self._track = self._joined(seen)
        return self._track

    def backward(self, rates: Any) -> dict[str, np.ndarray]:
        """Rates of a loss by "weights" and by the parameters of the last `forward`, each in the shape given there.

        Args:
            rates: Rates of the loss by the track, as `Rollout.backward` takes them.
        """
        if self._track is None:
            raise InvalidValue("there is no motion to run back: call forward(weights) first.")
        seeds = {name: np.asarray(each.numpy(), float) for name, each in self._track.rates(rates).items()}
        found = {name: np.zeros(np.shape(value)) for name, value in self._given.items()}
        carried = {name: np.zeros(self._track.shape[1:]) for name in PARTS}
        self.network.turn()
        for interval in reversed(range(self.intervals)):
            if interval < self.intervals - 1:
                self._run(interval)
            by = self.rollout.backward({name: (carried[name] + seeds[name][interval])[None] for name in PARTS})
            carried = {name: by[name] for name in PARTS}
            self._add_seen(self.network.back(self._by_values(by["controls"])), carried)
            for name in found:
                if name not in PARTS:
                    found[name] = found[name] + by[name]
        for name in PARTS:
            if name in found:
                found[name] = reduced(carried[name], np.shape(self._given[name]))
        self._track = None  # calls were run back and are gone
        return {**found, "weights": reduced(self.network.rates(), self._shape)}

    def gradient(
        self, loss: Loss | wp.Function, weights: Any, parameters: Mapping[str, Any] | None = None
    ) -> tuple[Any, dict[str, np.ndarray]]:
        """Value of a loss and its rates by "weights" and by parameters.

        Args:
            loss: As `Rollout.gradient` takes it; the track has a look after each interval.
            weights: Weights of the network, shape [p] or [worlds, p].
            parameters: Parameters of the rollout by name, besides controls.
        """
        track = self.forward(weights, parameters)
        value, rates = require_loss(as_loss(loss)(track), self.rollout.worlds)
        return value, self.backward(rates)

    # --- parts ---

    def _begin(self, name: str) -> np.ndarray:
        """Positions or velocities at the beginning."""
        own = self.rollout.value(name)
        return np.broadcast_to(np.asarray(self._given[name], float), own.shape) if name in self._given else own

    def _run(self, interval: int) -> Track:
        given = {name: value for name, value in self._given.items() if name not in PARTS}
        return self.rollout.forward({**given, **self._states[interval]}, after=interval * self.rollout.steps)

    def _commands(self, interval: int, here: Mapping[str, np.ndarray]) -> np.ndarray:
        """A table of one interval, shape [worlds, 1, controls]."""
        readings = [mean.of(here[mean.part]) for mean in self._means]
        time = (self._begun + interval * self.rollout.steps) * self.rollout.dt
        said = self.network.act(time, np.concatenate(readings or [np.zeros((self.rollout.worlds, 0))], axis=1))
        table = self._rest.copy()
        table[:, 0, self._columns] = self._lows + 0.5 * (1.0 + said) * (self._highs - self._lows)
        return table

    def _by_values(self, by_controls: np.ndarray) -> np.ndarray:
        """Rates by what the network says, shape [worlds, channels], from those by the table of an interval."""
        return 0.5 * by_controls[:, 0, self._columns] * (self._highs - self._lows)

    def _add_seen(self, by_readings: np.ndarray, carried: Mapping[str, np.ndarray]) -> None:
        """Add rates by what the network has seen to those by positions and velocities."""
        for number, mean in enumerate(self._means):
            mean.add_rates(by_readings[:, 3 * number : 3 * number + 3], carried[mean.part])

    def _joined(self, seen: Sequence[Track]) -> Track:
        """The tracks of intervals as one, on the device."""
        arrays = {}
        for name in PARTS:
            like = seen[0].arrays[name]
            arrays[name] = wp.empty((len(seen), *like.shape[1:]), dtype=like.dtype, device=like.device)
            for number, track in enumerate(seen):
                wp.copy(arrays[name][number : number + 1], track.arrays[name])
        return Track(self.rollout.steps * np.arange(1, len(seen) + 1), self.rollout.dt, arrays)
