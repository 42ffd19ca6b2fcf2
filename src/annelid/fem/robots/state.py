"""What changes with time while a robot is simulated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import warp as wp

from annelid.core.state import nested, rows
from annelid.core.variation import Variation
from annelid.fem.contact.state import Touch
from annelid.fem.linalg.memory import FactorMemory
from annelid.fem.robots.memory import ControlMemory


@dataclass(kw_only=True)
class RobotState:
    """A robot that goes from equilibrium to equilibrium; all that its future depends on.

    Shapes are those of one world; rows of several come world after world.

    Attributes:
        positions: Positions of the nodes [m], vec3d of shape [n].
        efforts: Efforts of the actuators [N or Pa], float64 of shape [k].
        strokes: Strokes of the actuators [m or m³], float64 of shape [k].
        limits: Lowest and highest value and largest rate of effort, then of stroke, float64 of shape [k, 6].
        forces: Forces of obstacles on outer nodes [N], float64 of shape [o, k].
        goals: Where the effectors are to be [m], float64 of shape [p, 3].
        clock: Steps done, shape [1].
        linear: What the solver of linear systems carries from one matrix to the next.
        touch: What it touches with friction; nothing unless it was made with `contact`.
        variation: Parameters in which worlds differ; empty while they do not.
    """

    positions: wp.array[Any] = rows("node", wp.vec3d)
    efforts: wp.array[Any] = rows("actuator", wp.float64)
    strokes: wp.array[Any] = rows("actuator", wp.float64)
    limits: wp.array[Any] = rows("actuator", wp.float64)
    forces: wp.array[Any] = rows("obstacle", wp.float64)
    goals: wp.array[Any] = rows("effector", wp.float64)
    clock: wp.array[Any] = rows("simulation", wp.int64)
    linear: FactorMemory = nested()
    touch: Touch = nested()
    variation: Variation = nested()


@dataclass(kw_only=True)
class ForwardState(RobotState):
    """A robot whose efforts or strokes are given.

    Attributes:
        commands: Commands of the controls, see `core.controls`, shape [channels].
    """

    commands: wp.array[Any] = rows("channel", wp.vec4d)


@dataclass(kw_only=True)
class InverseState(RobotState):
    """A robot that follows targets.

    Attributes:
        active: Limits that stand in the way, by number as in `robots.active`, int32 of shape [l].
        commands: Commands of the controls, see `core.controls`, shape [channels].
        aimed: 1 once somebody has put or commanded a target somewhere: from then on the script moves none; shape [1].
        control: What inverse control carries from one step to the next.
    """

    active: wp.array[Any] = rows("limit", wp.int32)
    commands: wp.array[Any] = rows("channel", wp.vec4d)
    aimed: wp.array[Any] = rows("world", wp.int32)
    control: ControlMemory = nested()
