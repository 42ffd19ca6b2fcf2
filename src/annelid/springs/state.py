"""What changes with time in a mass-spring model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import warp as wp

from annelid.core.state import nested, rows
from annelid.core.variation import Variation
from annelid.shapes.motions import Still


@dataclass
class State:
    """What changes with time.

    Attributes:
        positions: Position [m] and inverse mass [1/kg] (0 when fixed) of each mass, shape [n, 4].
        velocities: Velocities [m/s], shape [n, 3].
        accelerations: Accelerations of the last step [m/s²], shape [n, 3]; kept by the Verlet integrator only.
        settled: Length to which the dashpot of each entry of a mass's row has settled [m], 0 before its first step,
            shape [n, k]; kept where dashpots build up their force over a time.
        broken: A bit for each entry of a mass's row that has broken, shape [n]; kept where springs can break.
        partners: Partners of each mass whose friction is tracked; kept where masses touch each other.
        slips: How far each of them was dragged along the surface [m].
        hollows: How far sand is below each corner of a triangle, or pressed if negative [m]; kept in ground with an
            angle of repose or a stiffness. Where sand stays at its place each world has some more numbers of each mass,
            see `kernels.furrowing`.
        sand_forces: Force of ground that resists on each mass in the last step [N], shape [n, 3]; kept where it is.
        commands: Commands of the controls, see `core.controls`, shape [worlds · channels].
        bodies: Where obstacles are that are free or driven; nothing while there are none.
        begun: Step at which each world began, shape [worlds]; kept in a batch of worlds.
        variation: Parameters in which worlds differ; empty while they do not.
        clock: Steps done, shape [1].
    """

    positions: wp.array[Any] = rows("mass", grows="masses")
    velocities: wp.array[Any] = rows("mass", grows="masses")
    accelerations: wp.array[Any] = rows("mass", grows="masses")
    settled: wp.array[Any] = rows("mass", grows="masses")
    broken: wp.array[Any] = rows("mass", wp.uint64, grows="masses")
    partners: wp.array[Any] = rows("contact")
    slips: wp.array[Any] = rows("contact")
    hollows: wp.array[Any] = rows("corner")
    sand_forces: wp.array[Any] = rows("sunk")
    commands: wp.array[Any] = rows("channel", wp.vec4d)
    bodies: Still = nested()
    begun: wp.array[Any] = rows("world", wp.int64)
    variation: Variation = nested()
    clock: wp.array[Any] = rows("simulation", wp.int64)
