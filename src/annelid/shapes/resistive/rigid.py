"""What ground that resists does to a rigid surface that moves in a given way."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import warp as wp
from numpy.typing import ArrayLike
from scipy.spatial.transform import Rotation

from annelid.shapes.mesh import TriangleMesh
from annelid.shapes.resistive.among import require_no_give
from annelid.shapes.resistive.ground import ResistiveGround
from annelid.shapes.resistive.kernels.pressing import press_kernel
from annelid.shapes.values import as_vector


@dataclass(frozen=True, eq=False)
class Resisted:
    """Force [N] and torque about the origin of the mesh [N m] of the ground on a body, shape [3] each."""

    force: np.ndarray
    torque: np.ndarray


def resisted(
    ground: ResistiveGround,
    mesh: TriangleMesh,
    *,
    position: ArrayLike = (0.0, 0.0, 0.0),
    rotation: ArrayLike = (0.0, 0.0, 0.0, 1.0),
    velocity: ArrayLike = (0.0, 0.0, 0.0),
    spin: ArrayLike = (0.0, 0.0, 0.0),
) -> Resisted:
    """Force and torque of the ground on a rigid body, from the middles of its triangles.

    Args:
        ground: The ground; hollows that a body leaves are not part of it.
        mesh: The surface of the body, outward; triangles should be small beside its depth.
        position: Where the origin of the mesh is [m].
        rotation: How the mesh is turned, a quaternion (x, y, z, w).
        velocity: Velocity of the origin of the mesh [m/s].
        spin: Angular velocity [rad/s].
    """
    require_no_give(ground, "rigid bodies")
    turn, origin = Rotation.from_quat(np.asarray(rotation, float)), np.array(as_vector("position", position))
    corners = turn.apply(np.array(mesh.vertices))[mesh.triangles]  # a copy: SciPy wants to be able to write
    areas = 0.5 * np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    sizes = np.linalg.norm(areas, axis=1)
    arms = corners.mean(axis=1)
    depths = ground.height - origin[2] - arms[:, 2]
    below = (depths > 0.0) & (sizes > 0.0)
    arms, sizes, normals = arms[below], sizes[below], areas[below] / sizes[below, None]
    moves = np.array(as_vector("velocity", velocity)) + np.cross(as_vector("spin", spin), arms)
    forces = sizes[:, None] * _stresses(ground, normals, moves, depths[below])
    return Resisted(forces.sum(axis=0), np.cross(arms, forces).sum(axis=0))


def _stresses(ground: ResistiveGround, normals: np.ndarray, moves: np.ndarray, depths: np.ndarray) -> np.ndarray:
    """Stresses on pieces of surface [Pa], shape [n, 3]."""
    given = [wp.array(one, dtype=wp.vec3d, device="cpu") for one in (normals, moves)]
    found = wp.zeros(len(normals), dtype=wp.vec3d, device="cpu")
    inputs = [ground.numbers(wp.float64), *given, wp.array(depths, dtype=wp.float64, device="cpu")]
    wp.launch(press_kernel(), len(normals), inputs, [found], device="cpu")
    return np.asarray(found.numpy())
