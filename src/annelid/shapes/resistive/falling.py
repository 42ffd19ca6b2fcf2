"""Free rigid bodies in ground that resists: how they fall into it, sink and come to rest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import warp as wp
from numpy.typing import ArrayLike

from annelid.core.errors import InvalidValue
from annelid.shapes.resistive.among import require_above
from annelid.shapes.resistive.ground import ResistiveGround
from annelid.shapes.resistive.kernels.falling import fall_kernel
from annelid.shapes.rigid import Rigid
from annelid.shapes.values import as_vector, require_positive

_FINE = 1.0 / 16.0  # longest edge of a piece of surface, in reaches of the body
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
    steps = every * _LOOKS
    step = seconds / steps
    normals, arms, areas = pieces_of(body)
    require_above(ground, (body.turn.apply(arms) + body.place)[:, 2], "pieces of the surface")
    mass, unit = body.total_mass, body.unit
    begun: list[tuple[ArrayLike, Any]] = [
        (body.place, wp.vec3d), (body.rotation, wp.quatd), (body.velocity, wp.vec3d), (body.spin, wp.vec3d),
        (np.zeros(3), wp.vec3d),
    ]  # fmt: skip
    tracks = [wp.array(np.tile(first, (_LOOKS + 1, 1)), dtype=kind, device="cpu") for first, kind in begun]
    surface = [wp.array(values, dtype=wp.vec3d, device="cpu") for values in (normals, arms)]
    inputs = [
        steps, every, step, wp.vec3d(*as_vector("gravity", gravity)), ground.numbers(wp.float64), mass,
        wp.mat33d(*(unit.inertia * (mass / unit.mass)).ravel().tolist()), *surface,
        wp.array(areas, dtype=wp.float64, device="cpu"),
    ]  # fmt: skip
    wp.launch(fall_kernel(), 1, [*inputs, *tracks], device="cpu")
    times = step * every * np.arange(_LOOKS + 1)
    return Fall(times, *(np.asarray(track.numpy()) for track in tracks))


def pieces_of(body: Rigid) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Outward normals, arms from the centre of mass [m] and areas [m²] of small pieces of the surface of a body.

    All are in the frame of its geometry; shapes [n, 3], [n, 3] and [n].
    """
    mesh = body.shape.surface()
    corners = np.asarray(mesh.vertices, float)[mesh.triangles] - body.middle
    longest = _FINE * 2.0 * body.reach
    while (long := _longest_edges(corners) > longest).any():
        corners = np.concatenate([corners[~long], _quartered(corners[long])])
    areas = 0.5 * np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    sizes = np.linalg.norm(areas, axis=1)
    there = sizes > 0.0
    return areas[there] / sizes[there, None], corners[there].mean(axis=1), sizes[there]


def _longest_edges(corners: np.ndarray) -> np.ndarray:
    return np.asarray(np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2).max(axis=1))


def _quartered(corners: np.ndarray) -> np.ndarray:
    """Each triangle as four, shape [4 n, 3, 3]."""
    a, b, c = (corners[:, k] for k in range(3))
    ab, bc, ca = 0.5 * (a + b), 0.5 * (b + c), 0.5 * (c + a)
    parts = [(a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca)]
    return np.concatenate([np.stack(part, axis=1) for part in parts])
