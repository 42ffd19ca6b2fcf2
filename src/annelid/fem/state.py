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
class OneSolve:
    """What steps that are solved to the last digit carry from one to the next: nothing."""


@dataclass(kw_only=True)
class CarriedOneSolve(OneSolve):
    """What steps of one linear solve carry from one to the next.

    Attributes:
        error: How far another solve would have moved a node at most in the last step [m], shape [worlds].
        foreseen: Shared pressures and tensions that the last solve has led to, see `Tetrahedra.foreseen`.
    """

    error: wp.array[Any] = rows("world", wp.float64)
    foreseen: wp.array[Any] = rows("constraint", wp.float64)


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
        solve: What steps of one linear solve carry; nothing in others.
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
    solve: OneSolve = nested()
