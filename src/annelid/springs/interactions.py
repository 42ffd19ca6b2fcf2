"""What a pass over the masses needs besides springs: lists of contacts, tracked friction, areas in sand, torques.

On CUDA these are launches before each pass; a team of CPU threads does the same inside its kernel.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from annelid.springs.kernels.layout import GIVES
from annelid.springs.kernels.motors import drive_kernel
from annelid.springs.kernels.passes import GATHERLESS, time_shift
from annelid.springs.kernels.resisting import PRESS_BLOCK, measure_kernel, press_kernel
from annelid.springs.model import Model

_WARP = 32


class Interactions:
    """Contacts between masses and motors of one model.

    Args:
        model: The model.
    """

    def __init__(self, model: Model) -> None:
        self._model, self._contacts, self._motors = model, model.contacts, model.motors

    def attach(self, work: Any) -> None:
        """Pass the arrays of contacts and motors to the kernels."""
        if self._contacts is not None:
            work.contacts = self._contacts.array
        if self._motors is not None:
            work.motors = self._motors.array

    def memory(self) -> tuple[wp.array[Any], wp.array[Any]]:
        """Arrays in which a new state tracks friction; none where no masses touch."""
        if self._contacts is not None:
            return self._contacts.memory()
        device = self._model.device
        return wp.empty(0, dtype=wp.int32, device=device), wp.empty(0, dtype=self._model.types.vec3, device=device)

    def world_of_memory(self) -> np.ndarray:
        """World of each element of those arrays."""
        return np.zeros(0, np.int32) if self._contacts is None else self._contacts.world_of_memory()

    def take_world(self, source: Any, target: Any, world: int) -> None:
        """Copy what contacts remember in one of several worlds into a state of that world alone."""
        if self._contacts is not None:
            self._contacts.take_world((source.partners, source.slips), (target.partners, target.slips), world)

    def bind(self, partners: wp.array[Any], slips: wp.array[Any]) -> None:
        """Track friction in these arrays of a state."""
        if self._contacts is not None:
            self._contacts.bind(partners, slips)

    def begin(self) -> None:
        """Before a batch of steps of a CPU team, which looks at the state itself."""
        if self._contacts is not None:
            self._contacts.struct.flags.numpy()[:2] = 0

    def look(self, positions: wp.array[Any]) -> None:
        """Launch a check of a state, which may have been replaced since the lists of contacts were made."""
        if self._contacts is not None:
            self._contacts.look(positions)

    def ready(self, work: Any, kind: str, step: int, positions: wp.array[Any], velocities: wp.array[Any]) -> None:
        """Launch what a pass needs; step -1 is the look at the first acceleration, before all steps."""
        features = self._model.features
        if kind == "inner":
            return
        if self._contacts is not None:
            stamp = step * features.stamps + features.stamp(kind) - 1 if step >= 0 else 1
            keep, push = kind == features.first_forces and step >= 0, kind not in GATHERLESS
            self._contacts.ready(stamp, self._model.arrays, positions, velocities, keep=keep, push=push)
        if features.resisted and kind not in GATHERLESS:
            self._meet_sand(positions, velocities)
        if self._motors is not None and kind not in GATHERLESS:
            lanes = _WARP if self._model.device.is_cuda else 1
            kernel = drive_kernel(self._model.types, features.motor_value(), features.steers, lanes)
            inputs = [self._model.arrays, work, step, time_shift(kind), positions, velocities]
            wp.launch(kernel, (self._motors.struct.motor_count, lanes), inputs, device=self._model.device)

    def _meet_sand(self, positions: wp.array[Any], velocities: wp.array[Any]) -> None:
        """Launch what masses need to know of their surface, and of sand that gives."""
        model = self._model
        sand, device = model.arrays.sand, model.device
        wp.launch(measure_kernel(model.types), model.facet_count, [sand, positions], device=device)
        if GIVES in model.features.resisted:
            inputs = [sand, model.dt, positions, velocities]
            wp.launch(press_kernel(model.types), model.outer_count, inputs, device=device, block_dim=PRESS_BLOCK)

    def settle(self) -> None:
        """Give lists of contacts more room where they were too long; waits for the device."""
        if self._contacts is not None:
            self._contacts.widen()

    def invalidate(self) -> None:
        """Make lists of contacts anew before the next forces, because the state was replaced."""
        if self._contacts is not None:
            self._contacts.invalidate()

    def forget(self, masses: np.ndarray) -> None:
        """Exclude masses that were removed from contacts."""
        if self._contacts is not None and len(masses):
            self._contacts.forget(masses)
