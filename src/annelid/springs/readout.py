"""Reading a state: positions, energies, momenta and fields, computed where the state lives."""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from annelid.core.elements import picked_points
from annelid.core.kernels.elements import gather_kernel
from annelid.core.summary import Summary
from annelid.shapes.bodies import ReadsBodies
from annelid.shapes.motions import MotionTable
from annelid.springs.kernels.program import signal_kernel
from annelid.springs.kernels.readout import (
    SLOTS,
    Totals,
    fields_kernel,
    speed_kernel,
    totals_kernel,
)
from annelid.springs.kernels.readout import spring_strain_kernel as spring_strain
from annelid.springs.model import Model
from annelid.springs.parameters import derive


class Readout(ReadsBodies):
    """Reads states of one model.

    Args:
        model: The model.
    """

    def __init__(self, model: Model) -> None:
        self.model, self.device = model, model.device
        self._work = model.types.Work()
        features = model.features
        self._work.factors = wp.zeros(
            model.signal_count * model.worlds if features.actuated else 0, dtype=features.real, device=self.device
        )
        self._version = -1
        self._masses = wp.empty(0, dtype=wp.float64, device=self.device)
        self._slots = wp.zeros(SLOTS, dtype=Totals, device=self.device)
        self._scalars: dict[str, wp.array[Any]] = {}

    @property
    def motions(self) -> MotionTable:
        """How obstacles move."""
        return self.model.motions

    def begun(self, state: Any) -> np.ndarray:
        """Step at which each world began; empty where there is one by itself."""
        return np.asarray(state.begun.numpy())

    def refresh(self) -> bool:
        """Follow edits of the network; True if there were any since the last time."""
        network = self.model.network
        if self._version == network.version and len(self._masses) == self.model.mass_count:
            return False
        self._version = network.version
        alive = self.padded(network.masses.alive[: network.masses.used])
        self._masses = self.device_array(np.where(alive, self.model.masses, 0.0), wp.float64)
        self._scalars.clear()
        return True

    def padded(self, values: np.ndarray) -> np.ndarray:
        """Values of masses with zeros for slots that edits have added."""
        room = np.zeros(self.model.mass_count, values.dtype)
        count = min(len(values), len(room))
        room[:count] = values[:count]
        return room

    def positions(self, state: Any) -> np.ndarray:
        """Positions of the live masses [m], shape [n, 3]: those of the body, then those that edits have added."""
        with self.model.network.settled():
            return np.asarray(state.positions.numpy()[self._live(), :3], float)

    def velocities(self, state: Any) -> np.ndarray:
        """Their velocities [m/s], shape [n, 3]."""
        with self.model.network.settled():
            return np.asarray(state.velocities.numpy()[self._live()], float)

    def _live(self) -> np.ndarray:
        masses = self.model.network.masses
        return np.flatnonzero(masses.alive[: masses.used])

    def summary(self, state: Any) -> Summary:
        """Totals of the whole body, and of free obstacles."""
        with self.model.network.settled():
            self.refresh()
        self.prepared(state)
        arguments = [self.model.arrays, self._work, self._masses, state.positions, state.velocities]
        wp.launch(totals_kernel(self.model.features), SLOTS, arguments, [self._slots], device=self.device)
        sums = self._slots.numpy().sum(axis=0)
        own = Summary(
            mass=float(sums[0]),
            center_of_mass=sums[1:4] / sums[0] if sums[0] > 0.0 else np.full(3, np.nan),  # of no masses there is none
            momentum=sums[4:7],
            angular_momentum=sums[7:10],
            elastic=float(sums[10]),
            kinetic=float(sums[11]),
            gravitational=float(sums[12]),
        )
        model = self.model
        return self.with_free(own, state, model.free, model.world.gravity, range(model.worlds))

    def mass_field(self, state: Any, name: str, chosen: wp.array[Any]) -> wp.array[Any]:
        """A scalar of chosen masses: "strain", "stress" [Pa], "actuation", "speed" [m/s] or "material"."""
        if name == "material":
            materials = self._material_of_masses
            values = self._cached("material", lambda: self.device_array(self.padded(materials()), wp.float32))
            return self.values(chosen, values)
        if name == "speed":
            speeds, kernel = self._empty(chosen), speed_kernel(self.model.types.vec3)
            wp.launch(kernel, len(chosen), [chosen, state.velocities], [speeds], device=self.device)
            return speeds
        self.prepared(state)
        volumes = self._cached("volumes", lambda: self.device_array(self.padded(self.model.body.volumes), wp.float32))
        inputs = [self.model.arrays, self._work, volumes, chosen, state.positions]
        out = {key: self._empty(chosen) for key in ("strain", "stress", "actuation")}
        kernel = fields_kernel(self.model.features)
        wp.launch(kernel, len(chosen), inputs, list(out.values()), device=self.device)
        return out[name]

    def spring_strains(self, state: Any) -> wp.array[Any]:
        """Strain of every live spring against its passive rest length."""
        network = self.model.network
        live = network.live_springs()
        springs = self._cached("springs", lambda: self.device_array(network.ends[live], wp.vec2i))
        lengths = self._cached("rest_lengths", lambda: self.device_array(network.rest_lengths(live), wp.float32))
        out = wp.empty(len(live), dtype=wp.float32, device=self.device)
        inputs = [springs, lengths, state.positions]
        wp.launch(spring_strain(self.model.types.vec4), len(live), inputs, [out], device=self.device)
        return out

    def points(self, state: Any, chosen: wp.array[Any]) -> wp.array[Any]:
        """Positions of chosen masses [m] in single precision."""
        return picked_points(state.positions, chosen)

    def values(self, chosen: wp.array[Any], values: wp.array[Any]) -> wp.array[Any]:
        """Values of chosen masses."""
        out = self._empty(chosen)
        wp.launch(gather_kernel(wp.float32), len(chosen), [chosen, values], [out], device=self.device)
        return out

    def device_array(self, values: np.ndarray, dtype: Any) -> wp.array[Any]:
        """An array on the model's device."""
        return wp.array(values, dtype=dtype, device=self.device)

    def prepared(self, state: Any) -> Any:
        """What kernels take of a state: what has broken, and what depends on the time and on parameters of worlds."""
        self._work.broken = state.broken
        derive(self.model, self._work, state.variation)
        if self.model.features.actuated:
            self._work.clock, self._work.commands, self._work.begun = state.clock, state.commands, state.begun
            inputs, size = [self.model.arrays, self._work], (1, self.model.signal_count * self.model.worlds)
            wp.launch(signal_kernel(self.model.features), size, inputs, device=self.device)
        return self._work

    def _material_of_masses(self) -> np.ndarray:
        """The most frequent material among the springs of each mass."""
        body = self.model.body
        votes = np.zeros((len(body.materials), body.mass_count))
        for index in range(len(body.materials)):
            ends = body.springs[body.spring_materials == index].ravel()
            votes[index] = np.bincount(ends, minlength=body.mass_count)
        return votes.argmax(axis=0)

    def _empty(self, chosen: wp.array[Any]) -> wp.array[Any]:
        return wp.empty(len(chosen), dtype=wp.float32, device=self.device)

    def _cached(self, name: str, make: Any) -> wp.array[Any]:
        if name not in self._scalars:
            self._scalars[name] = make()
        return self._scalars[name]
