"""What cameras and lidars see of grains and rigid bodies; not bodies that keep grains inside, nor hidden ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from annelid.core.elements import picked_points
from annelid.core.errors import InvalidValue
from annelid.core.scenery import Moving, Scenery, by_world
from annelid.core.snapshot import Color, Mesh, Plane, Spheres
from annelid.grains.kernels.scenery import place_vertices
from annelid.grains.model import Model
from annelid.grains.readout import Readout
from annelid.grains.rigid import Solid, Wall
from annelid.shapes import Sphere


def scenery_of(model: Model, readout: Readout, color: Color) -> Scenery:
    """What can be seen of a model; grains have this colour."""
    bodies = by_world(np.array([body.world for body in model.bodies], int), model.world_count, "bodies")
    planes, moving = [], []
    for numbers in bodies.T:
        body = model.bodies[numbers[0]]
        if isinstance(body, Wall) and not body.hidden:
            planes.append(Plane(f"plane-{numbers[0]}", body.point, body.normal))
        elif isinstance(body, Solid) and not (body.hidden or body.inside):
            moving.append(_body(model, body, numbers))
    return Scenery(tuple(planes), (*moving, _grains(model, readout, color)))


def _body(model: Model, body: Solid, numbers: np.ndarray) -> Moving:
    device, shape, name = model.device, body.shape, f"{body.name or 'body'}-{numbers[0]}"
    part: Mesh | Spheres
    if isinstance(shape, Sphere):  # exactly round, as grains touch it
        vertices = np.zeros((1, 3))
        part = Spheres(name, vertices, shape.radius, color=body.color)
    else:
        vertices, triangles = body.surface_mesh
        part = Mesh(name, vertices, triangles.astype(np.int32), color=body.color)
    which = wp.array(numbers.astype(np.int32), dtype=wp.int32, device=device)
    local = wp.array(vertices.astype(np.float32), dtype=wp.vec3, device=device)
    out = wp.zeros(len(numbers) * len(vertices), dtype=wp.vec3, device=device)

    def points(state: Any) -> wp.array[Any]:
        wp.launch(place_vertices, len(out), [which, local, state.places, state.turns], [out], device=device)
        return out

    return Moving(part, points)


def _grains(model: Model, readout: Readout, color: Color) -> Moving:
    own = model.count - model.guests
    order = by_world(model.worlds[:own], model.world_count, "grains")
    radii = model.bed.radii[order]
    if (radii != radii[0]).any():
        raise InvalidValue("grains cannot be seen by sensors where worlds differ: give one world and worlds=n.")
    chosen = wp.array(order.ravel().astype(np.int32), dtype=wp.int32, device=model.device)
    balls = Spheres("grains", np.zeros((order.shape[1], 3)), radii[0].astype(np.float32), color=color)
    return Moving(balls, lambda state: picked_points(readout.points(state), chosen))
