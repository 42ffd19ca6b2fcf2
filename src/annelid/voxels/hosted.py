"""Controllers that the user wrote in NumPy: called between steps, once for all robots that are alike."""

from __future__ import annotations

from typing import Any

import numpy as np

from annelid.core.errors import InvalidValue
from annelid.voxels.model import Model


def hosted_controls(model: Model, time: float, inputs: np.ndarray, controls: np.ndarray) -> np.ndarray:
    """Control values of all voxels, of which the user's functions set those of their robots; shape [voxels].

    Args:
        model: The model.
        time: Time of the call [s].
        inputs: What the sensors of all robots read.
        controls: Control values until now, shape [voxels].
    """
    bank, controls = model.bank, controls.copy()
    groups: dict[Any, list[int]] = {}
    for number in model.hosted:
        program = bank.programs[number]
        groups.setdefault((program.function, program.channels, program.inputs, len(program.parameters)), []).append(
            number
        )
    for (function, channels, width, _), members in groups.items():
        seen = inputs[bank.first_inputs[members][:, None] + np.arange(width)]
        parameters = np.stack([bank.programs[i].parameters for i in members])
        values = np.asarray(function(time, seen, parameters), float)
        if values.shape != (len(members), channels):
            raise InvalidValue(f"a controller must return shape {(len(members), channels)}, not {values.shape}.")
        where = bank.first_channels[members][:, None] + np.arange(channels)
        if np.isnan(values).any():
            voxel = int(where[np.isnan(values)][0])
            raise InvalidValue(f"the control value of {model.voxel_name(voxel)} is not a number at t = {time:.4g} s.")
        controls[where] = values
    return controls
