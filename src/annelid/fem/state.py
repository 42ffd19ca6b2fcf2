"""What changes with time while a solid is simulated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import warp as wp

from annelid.core.state import nested, rows
from annelid.core.variation import Variation
from annelid.fem.contact.state import Touch
from annelid.fem.history import History
from annelid.fem.linalg.memory import FactorMemory
from annelid.fem.sand.state import Sunk


@dataclass(kw_only=True)
class State:
    """A solid at rest or in motion; all that its future depends on. Rows of several worlds come world after world.

    Attributes:
        positions: Positions of the nodes [m], vec3d of shape [worlds · n].
        velocities: Velocities of the nodes [m/s], vec3d of shape [worlds · n]; empty from equilibrium to equilibrium.
        unsettled: Steps whose equation was not solved to the last digit, shape [worlds].
        efforts: What the actuators exert [N or Pa], float64 of shape [worlds · k].
        commands: Commands of the controls, see `core.controls`, shape [worlds · channels].
        begun: Step at which each world began, shape [worlds].
        clock: Steps done, shape [1].
        linear: What the solver of linear systems carries from one matrix to the next.
        history: What the material remembers; nothing unless it has a Prony series.
        variation: Parameters in which worlds differ; empty while they do not.
        touch: What it touches; nothing without obstacles.
        sunk: How it lies in ground that resists; nothing where there is none.
    """

    positions: wp.array[Any] = rows("node", wp.vec3d)
    velocities: wp.array[Any] = rows("node", wp.vec3d)
    unsettled: wp.array[Any] = rows("world", wp.int64)
    efforts: wp.array[Any] = rows("actuator", wp.float64)
    commands: wp.array[Any] = rows("channel", wp.vec4d)
    begun: wp.array[Any] = rows("world", wp.int64)
    clock: wp.array[Any] = rows("simulation", wp.int64)
    linear: FactorMemory = nested()
    history: History = nested()
    variation: Variation = nested()
    touch: Touch = nested()
    sunk: Sunk = nested()
