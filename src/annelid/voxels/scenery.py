"""What cameras and lidars see of voxel robots: plates in the plane of x and z, boxes, and the ground."""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from annelid.core.errors import InvalidValue
from annelid.core.kernels.parameters import shape_ground
from annelid.core.scenery import Moving, Scenery
from annelid.core.snapshot import Color, Mesh
from annelid.voxels.kernels.parameters import TERRAIN
from annelid.voxels.kernels.scenery import plates_kernel
from annelid.voxels.model import Model
from annelid.voxels.parameters import parameters_of
from annelid.voxels.readout import Readout
from annelid.voxels.terrain import Terrain

_WIDTH = 20.0  # of the ground across the plane [m]
_BEYOND = 200.0  # how far the ground is seen beyond its last points [m]
_PIECE = 10.0  # longest piece of ground [m]: what rays meet on a long one is less exact


def scenery_of(model: Model, readout: Readout, faces: np.ndarray, half: float, colors: tuple[Color, Color]) -> Scenery:
    """What can be seen of a model.

    Args:
        model: The model; its worlds hold the same robots.
        readout: What reads its states.
        faces: Triangles of a plate.
        half: Half the thickness of plates [m].
        colors: Of the ground and of boxes.
    """
    if len(np.unique(model.shape_of)) > 1:
        raise InvalidValue("robots cannot be seen by sensors where worlds differ: give one robot and worlds=n.")
    ground = model.world.terrain
    shaped = model.features.shaped
    still = () if ground is None or shaped else (_ground(ground, colors[0]),)
    own = (_own_ground(model, _ground(ground, colors[0])),) if ground is not None and shaped else ()
    voxels = _plates(model, "robots", readout.corner_bodies, readout.corner_arms, faces, half)
    boxes = [_box(model, number, faces, half, colors[1]) for number in range(len(model.world.boxes))]
    return Scenery(still, (voxels, *boxes, *own), lambda: model.features.shaped == shaped)


def _own_ground(model: Model, part: Mesh) -> Moving:
    """Ground where each world has its own."""
    worlds, device, width = len(model.worlds), model.device, len(parameters_of(model))
    vertices = wp.array(part.vertices.astype(np.float32), dtype=wp.vec3, device=device)
    out = wp.zeros(worlds * len(vertices), dtype=wp.vec3, device=device)

    def points(state: Any) -> wp.array[Any]:
        inputs = [vertices, 0.0, TERRAIN, 1, width, state.variation.values]
        wp.launch(shape_ground, (worlds, len(vertices)), inputs, [out], device=device)
        return out

    return Moving(part, points)


def _box(model: Model, number: int, faces: np.ndarray, half: float, color: Color) -> Moving:
    """A box, which is one of the last bodies of each world."""
    boxes = model.world.boxes
    rows = model.first_body[1:] - len(boxes) + number
    arms = np.tile(boxes[number].outline()[::-1], (len(rows), 1))
    return _plates(model, f"object-{number}", np.repeat(rows, 4), arms, faces, half, color=color)


def _plates(
    model: Model, name: str, bodies: np.ndarray, arms: np.ndarray, faces: np.ndarray, half: float, **look: Any
) -> Moving:  # fmt: skip
    device, worlds, kernel = model.device, len(model.worlds), plates_kernel(model.real)
    corners = wp.array(bodies.astype(np.int32), dtype=wp.int32, device=device)
    places = wp.array(arms.astype(float), dtype=wp.vec2d, device=device)
    out = wp.zeros(2 * len(bodies), dtype=wp.vec3, device=device)
    each = len(bodies) // (4 * worlds)
    triangles = (8 * np.arange(each)[:, None, None] + faces).reshape(-1, 3).astype(np.int32)

    def points(state: Any) -> wp.array[Any]:
        wp.launch(kernel, len(out), [corners, places, half, state.positions], [out], device=device)
        return out

    return Moving(Mesh(name, np.zeros((8 * each, 3)), triangles, **look), points)


def _ground(ground: Terrain, color: Color) -> Mesh:
    """A band along the line of the ground."""
    xs = ground.points[:, 0]
    xs = np.concatenate([[xs[0] - _BEYOND], xs, [xs[-1] + _BEYOND]])
    pieces = [np.linspace(a, b, 1 + int(np.ceil((b - a) / _PIECE)))[:-1] for a, b in zip(xs[:-1], xs[1:], strict=True)]
    along = np.concatenate([*pieces, xs[-1:]])
    heights = ground.height(along)
    sides = [np.column_stack([along, np.full(len(along), y), heights]) for y in (-0.5 * _WIDTH, 0.5 * _WIDTH)]
    first, count = np.arange(len(along) - 1), len(along)
    lower = np.column_stack([first, first + 1, first + count + 1])
    upper = np.column_stack([first, first + count + 1, first + count])
    return Mesh("ground", np.concatenate(sides), np.concatenate([lower, upper]).astype(np.int32), color=color)
