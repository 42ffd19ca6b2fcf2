"""The motion of 3-D voxels there and back, as `core.adjoint.Adjoint` declares it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import warp as wp

from annelid.core.adjoint import Input, Plan, Stretch, summed
from annelid.core.errors import SimulationDiverged
from annelid.voxels3d.adjoint.inputs import Actuation, Moduli, Padding, inputs_of
from annelid.voxels3d.adjoint.kernels.looks import look_kernel, seed_kernel
from annelid.voxels3d.adjoint.motion import Bodies, Motion
from annelid.voxels3d.adjoint.refusals import require_adjoint
from annelid.voxels3d.model import Model

_NUMBERS = 16.0  # of a voxel in each kept state; a checkpoint has 13 of them
_ROOM = {True: 2.0**35, False: 2.0**28}  # that kept states take by default [B], on CUDA and on the CPU


class VoxelAdjoint:
    """Runs motions from a state there and back; see `core.adjoint.Adjoint`.

    Args:
        model: The model of the simulation.
        state: The state that motions begin in.
        threads: CPU threads.
    """

    def __init__(self, model: Model, state: Any, threads: int) -> None:
        require_adjoint(model, state)
        self.device, self.vector = model.device, model.types.vec3
        self.carried = "voxels are turned and spin, which is not among what is handed on"
        self._model, self._threads = model, threads
        self._bodies = Bodies(model.tables, model.real, model.device, model.first_of_world)
        self.things = self._bodies.largest
        self._padding = Padding(model.first_of_world)
        self._actuation, self._moduli = Actuation(model, state), Moduli(model)
        self._begin = [wp.clone(each) for each in (state.displacements, state.rotations, state.velocities, state.spins)]
        self._clock, self._origins = int(state.clock.numpy()[0]), wp.clone(state.origins)
        self._inputs = inputs_of(model, state, self._padding, self._actuation, self._moduli)
        self._plan: Plan | None = None
        self._motion: Motion | None = None
        self._saved: list[wp.array[Any]] = []
        self._tracks: tuple[wp.array[Any], ...] = ()
        self._values: Mapping[str, np.ndarray] = {}

    @property
    def inputs(self) -> Mapping[str, Input]:
        """The parameters that it knows, by name."""
        return self._inputs

    # --- room ---

    @property
    def _bytes(self) -> float:
        """Memory of a kept state [B]."""
        return _NUMBERS * self._bodies.count * (4 if self._model.real is wp.float32 else 8)

    def spacing(self, steps: int) -> int:
        """Steps between two checkpoints: as many as there is room for, since the last stretch is run once only."""
        return max(1, min(steps, max(int(_ROOM[self.device.is_cuda] / self._bytes), math.ceil(math.sqrt(steps)))))

    def memory(self, plan: Plan) -> int:
        """Memory that checkpoints, a stretch, looks and rates take [B], about."""
        states = plan.every + 1.0 + 13.0 / 16.0 * plan.checkpoints + 0.75 * len(plan.looks) + 10.0
        return int(states * self._bytes)

    def reserve(self, plan: Plan) -> None:
        """Make room for a plan."""
        types, device, count = self._model.types, self.device, self._bodies.count
        self._plan = plan
        self._motion = Motion(
            self._bodies, rows=plan.every + 1, steps=plan.steps, looks=plan.looks, origins=self._origins,
            threads=self._threads,
        )  # fmt: skip
        kinds = (types.vec3, types.quat, types.vec3, types.vec3)
        self._saved = [wp.empty((plan.checkpoints, count), dtype=kind, device=device) for kind in kinds]
        shape = (len(plan.looks), self._bodies.worlds * self.things)
        self._tracks = tuple(wp.zeros(shape, dtype=types.vec3, device=device) for _ in range(2))
        self._looks = wp.array(plan.looks.astype(np.int32), dtype=wp.int32, device=device)

    # --- there ---

    def start(self, values: Mapping[str, np.ndarray], after: int) -> None:
        """Take parameters over; see `core.adjoint.Adjoint`."""
        assert self._plan is not None
        assert self._motion is not None
        table = values.get("controls")
        interval = self._plan.steps if table is None else self._plan.interval(table)
        motion, padding = self._motion, self._padding
        self._values = values
        drives, waves, commands = self._actuation.changed(values, padding)
        flat = wp.array(np.ascontiguousarray(commands), dtype=self._model.real, device=self.device)
        motion.actuate(drives, waves, flat, interval)
        motion.bodies = self._bodies
        if "stiffness" in values:
            changed = self._moduli.changed(padding.flat(values["stiffness"]))
            motion.bodies = replace(self._bodies, tables=changed.tables)
        motion.course.gravity.assign(values.get("gravity", self._inputs["gravity"].value))
        for saved, begin in zip(self._saved, self._begin, strict=True):
            wp.copy(saved[0], begin)
        if "positions" in values:
            moved = padding.flat(values["positions"]) - self._model.places
            wp.copy(self._saved[0][0], wp.array(moved, dtype=self.vector, device=self.device))
        if "velocities" in values:
            flat = wp.array(padding.flat(values["velocities"]), dtype=self.vector, device=self.device)
            wp.copy(self._saved[2][0], flat)
        motion.begin(self._clock + after)

    def run(self, stretch: Stretch, *, again: bool) -> None:
        """Run a stretch; see `core.adjoint.Adjoint`."""
        assert self._motion is not None
        course = self._motion.course
        kept = (course.us, course.qs, course.vs, course.ws)
        for saved, rows in zip(self._saved, kept, strict=True):
            wp.copy(rows[0], saved[stretch.number])
        self._motion.there(0, stretch.first, stretch.count)
        if again:
            return
        if not stretch.last:
            for saved, rows in zip(self._saved, kept, strict=True):
                wp.copy(saved[stretch.number + 1], rows[stretch.count])
        self._look(stretch)

    def _look(self, stretch: Stretch) -> None:
        """Write what is looked at of a stretch."""
        assert self._plan is not None
        assert self._motion is not None
        begin, end = np.searchsorted(self._plan.looks, [stretch.first + 1, stretch.first + stretch.count + 1]).tolist()
        if end > begin:
            inputs = [begin, 0, stretch.first, self.things, self._looks, self._bodies.tables, self._motion.course]
            size = (end - begin, self._bodies.worlds)
            wp.launch(look_kernel(self._model.real), size, inputs, list(self._tracks), device=self.device)

    def tracks(self) -> tuple[wp.array[Any], wp.array[Any]]:
        """Positions and velocities at the looks; see `core.adjoint.Adjoint`."""
        assert self._motion is not None
        step = self._motion.diverged_at()
        if step is not None and self._bodies.worlds == 1:
            raise SimulationDiverged(
                f"the motion diverges in step {step} of the rollout with these parameters: bound them, or take a "
                f"smaller dt than {self._model.dt:.3g} s.",
                time=step * self._model.dt,
                step=step,
            )
        return self._tracks[0], self._tracks[1]

    # --- back ---

    def turn(self, positions: wp.array[Any], velocities: wp.array[Any]) -> None:
        """Begin to run back; see `core.adjoint.Adjoint`."""
        assert self._plan is not None
        assert self._motion is not None
        self._motion.turn(moduli="stiffness" in self._values)
        sight, size = self._motion.sight, (len(self._plan.looks), self._bodies.worlds)
        for given, seeds in ((positions, sight.position_seeds), (velocities, sight.velocity_seeds)):
            inputs = [self.things, self._bodies.tables, given]
            wp.launch(seed_kernel(self._model.real), size, inputs, [seeds], device=self.device)

    def reverse(self, stretch: Stretch) -> None:
        """Run a stretch back; see `core.adjoint.Adjoint`."""
        assert self._motion is not None
        self._motion.back(0, stretch.first, stretch.count)

    def rates(self) -> dict[str, np.ndarray]:
        """Rates by parameters; see `core.adjoint.Adjoint`."""
        assert self._motion is not None
        ledger, padding = self._motion.ledger, self._padding

        def of(array: wp.array[Any]) -> np.ndarray:
            return np.asarray(array.numpy(), float)

        found = self._actuation.rates(of(ledger.by_table), of(ledger.by_waves), self._values, padding)
        found["positions"], found["velocities"] = padding.padded(of(ledger.u_bars)), padding.padded(of(ledger.v_bars))
        if "stiffness" in self._values:
            factors = padding.flat(self._values["stiffness"])
            by_factors = self._moduli.rates(of(ledger.by_links), of(ledger.by_moduli), factors)
            found["stiffness"] = padding.padded(by_factors)
        found["gravity"] = summed(padding.padded(of(ledger.by_gravity)), 1)
        return found
