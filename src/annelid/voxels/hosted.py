"""Controllers that the user wrote in NumPy: called between steps, once for all robots that are alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from annelid.core.errors import InvalidValue
from annelid.voxels.kernels.sense_only import sense_blocks, sense_team

if TYPE_CHECKING:
    from annelid.voxels.solver import Solver


def call_host_controllers(solver: Solver, state: Any, now: int) -> None:
    """Read the sensors, call the user's functions, and write the control values that they return."""
    model, bank = solver.model, solver.model.bank
    if model.features.sensing:
        solver.launch(sense_team if solver.threads and not solver.device.is_cuda else sense_blocks)
    inputs, controls = solver.inputs(), state.controls.numpy().copy()
    groups: dict[Any, list[int]] = {}
    for number in model.hosted:
        program = bank.programs[number]
        groups.setdefault((program.function, program.channels, program.inputs, len(program.parameters)), []).append(
            number
        )
    for (function, channels, width, _), members in groups.items():
        seen = inputs[bank.first_inputs[members][:, None] + np.arange(width)]
        parameters = np.stack([bank.programs[i].parameters for i in members])
        values = np.asarray(function(now * solver.dt, seen, parameters), float)
        if values.shape != (len(members), channels):
            raise InvalidValue(f"a controller must return shape {(len(members), channels)}, not {values.shape}.")
        where = bank.first_channels[members][:, None] + np.arange(channels)
        if np.isnan(values).any():
            voxel = int(where[np.isnan(values)][0])
            raise InvalidValue(
                f"the control value of {solver.voxel_name(voxel)} is no number at t = {now * solver.dt:.4g} s."
            )
        controls[where] = values
    state.controls.assign(controls)
