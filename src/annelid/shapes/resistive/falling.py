"""Free rigid bodies in ground that resists: how they fall into it, sink and come to rest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from annelid.core.errors import InvalidValue
from annelid.shapes.resistive.ground import ResistiveGround
from annelid.shapes.resistive.sinking import Sinking
from annelid.shapes.rigid import Rigid
from annelid.shapes.values import require_positive

_LOOKS = 200  # times at which the motion is kept


@dataclass(frozen=True, eq=False)
class Fall:
    """A motion of a rigid body, at evenly spaced times.

    Attributes:
        times: Times [s], shape [n].
        positions: Of the centre of mass [m], shape [n, 3].
        rotations: Quaternions (x, y, z, w), shape [n, 4].
        velocities: Of the centre of mass [m/s], shape [n, 3].
        spins: Angular velocities [rad/s], shape [n, 3].
        forces: Of the ground on the body [N], shape [n, 3]; the first row is 0.
    """

    times: np.ndarray
    positions: np.ndarray
    rotations: np.ndarray
    velocities: np.ndarray
    spins: np.ndarray
    forces: np.ndarray


def fall(
    ground: ResistiveGround, body: Rigid, *, seconds: float, dt: float = 1e-4, gravity: ArrayLike = (0.0, 0.0, -9.81)
) -> Fall:
    """Let a free rigid body move in the ground, from where it is and with the velocity and spin that it has.

    Args:
        ground: The ground; its `friction` is that between body and ground, and it keeps no hollows.
        body: A closed shape with `motion="free"`.
        seconds: Duration [s].
        dt: Longest time step [s].
        gravity: Acceleration of gravity [m/s²].
    """
    if body.moves != "free":
        raise InvalidValue(
            f"only a free body falls into a ResistiveGround, not one that is {body.moves}: motion='free'."
        )
    seconds, dt = require_positive("seconds", seconds), require_positive("dt", dt)
    every = max(1, int(np.ceil(seconds / dt / _LOOKS - 1e-9)))
    step = seconds / (every * _LOOKS)
    solver = Sinking(ground, [body], dt=step, gravity=gravity, device="cpu")
    state = solver.initial_state()
    kept = (state.places, state.turns, state.velocities, state.spins, state.forces)
    tracks = [[np.array(array.numpy()[0])] for array in kept]
    for _ in range(_LOOKS):
        solver.advance(state, every)
        for track, array in zip(tracks, kept, strict=True):
            track.append(np.array(array.numpy()[0]))
    times = step * every * np.arange(_LOOKS + 1)
    return Fall(times, *(np.array(track) for track in tracks))
