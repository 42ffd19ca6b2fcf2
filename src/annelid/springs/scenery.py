"""What cameras and lidars see of spring bodies: their surface, or their masses where they have none, and obstacles."""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from annelid.core.elements import picked_points
from annelid.core.kernels.parameters import shape_ground
from annelid.core.scenery import Moving, Scenery, by_world
from annelid.core.snapshot import Mesh, Spheres
from annelid.shapes import HeightField
from annelid.springs.kernels.parameters import TERRAIN
from annelid.springs.model import Model
from annelid.springs.obstacles import Contact
from annelid.springs.parameters import parameters_of
from annelid.springs.pictures import Painter
from annelid.springs.readout import Readout
from annelid.springs.surface import Surface


def scenery_of(model: Model, readout: Readout, painter: Painter) -> Scenery:
    """What can be seen of a model as its network is now."""
    network = model.network
    whole = model.batched and network.only_broke(model.body.mass_count)  # worlds side by side are seen alike
    version, surface = network.version, Surface(model, readout, whole=whole)
    body = _skin(model, surface) if surface.exists() else _masses(model, readout, painter.radius)
    shaped = model.features.shaped
    still, own = [], []
    for contact in painter.shown:
        if shaped and _has_heights(contact):
            own.append(_ground(model, painter, contact))
        elif contact.rigid.moves != "fixed":
            own.append(_moving(model, painter, contact))
        else:
            still.append(painter.part(contact))

    def current() -> bool:
        return model.features.shaped == shaped and (model.worlds > 1 or network.version == version)

    return Scenery((*painter.sand(), *still), (body, *own), current)


def _has_heights(contact: Contact) -> bool:
    return isinstance(contact.rigid.geometry, HeightField)


def _ground(model: Model, painter: Painter, contact: Contact) -> Moving:
    """Ground with heights, where each world has its own."""
    part = painter.part(contact)
    assert isinstance(part, Mesh)
    vertices = wp.array(part.vertices.astype(np.float32), dtype=wp.vec3, device=model.device)
    out = wp.zeros(model.worlds * len(vertices), dtype=wp.vec3, device=model.device)
    zero, width = contact.rigid.position[2], len(parameters_of(model))

    def points(state: Any) -> wp.array[Any]:
        inputs = [vertices, zero, TERRAIN, 2, width, state.variation.values]
        wp.launch(shape_ground, (model.worlds, len(vertices)), inputs, [out], device=model.device)
        return out

    return Moving(part, points)


def _moving(model: Model, painter: Painter, contact: Contact) -> Moving:
    """An obstacle that is driven or free, in each world."""
    name = painter.part(contact).name

    def points(state: Any) -> wp.array[Any]:
        placed = [painter.placed(contact, state, world).picture[0] for world in range(model.worlds)]
        return wp.array(np.concatenate(placed).astype(np.float32), dtype=wp.vec3, device=model.device)

    return Moving(Mesh(name, *contact.rigid.picture), points)


def _skin(model: Model, surface: Surface) -> Moving:
    masses = surface.nearest.numpy()
    worlds = masses // model.one.mass_count if model.worlds > 1 else np.zeros_like(masses)  # edits may add masses
    order = by_world(worlds, model.worlds, "a body")
    number = np.full(order.size, -1)
    number[order[0]] = np.arange(order.shape[1])
    triangles = number[surface.triangles]
    own = np.ascontiguousarray(triangles[(triangles >= 0).all(axis=1)], np.int32)
    chosen = wp.array(order.ravel().astype(np.int32), dtype=wp.int32, device=model.device)
    skin = Mesh("body", np.zeros((order.shape[1], 3)), own)
    return Moving(skin, lambda state: picked_points(surface.points(state), chosen))


def _masses(model: Model, readout: Readout, radius: float) -> Moving:
    masses = model.network.masses
    alive = np.flatnonzero(masses.alive[: masses.used]).astype(np.int32)
    chosen = wp.array(alive, dtype=wp.int32, device=model.device)
    balls = Spheres("masses", np.zeros((len(alive) // model.worlds, 3)), radius)
    return Moving(balls, lambda state: readout.points(state, chosen))
