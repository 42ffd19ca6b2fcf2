"""A sensor of what the channels of a simulation are commanded, of any physics.

While channels go to a command smoothly, or a body follows it late, what comes next depends on it: who learns to act
should see it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import warp as wp

from annelid.core.errors import InvalidValue
from annelid.core.kernels.controls import read_commands
from annelid.core.sensors import Reading, Sensor
from annelid.core.solver import Controllable, Solver


@dataclass(frozen=True, eq=False)
class CommandSensor(Sensor):
    """Reads the values of all channels; made by `commanded`."""

    def attach(self, solver: Solver) -> Reading:
        """The sensor of a solver that has controls."""
        channels = solver.controls if isinstance(solver, Controllable) else ()
        if not channels:
            raise InvalidValue(f"a simulation of {solver.physics} without controls has no commands to read.")
        controllable, device, count = solver, solver.device, len(channels)
        lows, highs = (
            wp.array([getattr(channel, side) for channel in channels], dtype=wp.float64, device=device)
            for side in ("low", "high")
        )

        def read(state: Any, out: wp.array[Any], first: int) -> None:
            assert isinstance(controllable, Controllable)
            place = controllable.commanded(state)
            inputs = [place.clock, place.commands, lows, highs, first]
            wp.launch(read_commands, (solver.worlds, count), inputs, [out], device=device)

        return Reading(read, (count,), "", tuple(channel.name for channel in channels))


def commanded() -> Sensor:
    """What channels are commanded now, also within a ramp: each from -1 for its least value to 1 for its largest."""
    return CommandSensor()
