"""Bodies of springs that begin inside obstacles, or inside each other, which throws them out."""

from __future__ import annotations

import numpy as np

from annelid.core.unlikely import warn_of_falling, warn_of_far
from annelid.shapes.beginning import depths_inside, warn_inside
from annelid.springs.body import Body
from annelid.springs.collisions import pieces_of
from annelid.springs.model import Model
from annelid.springs.obstacles import Contact
from annelid.springs.world import World

_LIFTING = 2.0  # times its load: what is pushed less comes to rest where it touches, what is pushed more leaves
_GRAZING = 1e-3  # of the distance of contact: bodies at rest on each other sink in by about a hundredth of that
_ROUNDING = 1e-6  # of the largest coordinate: heights and grids of distances are kept in single precision


def warn_of_beginnings(model: Model, *, stacklevel: int) -> None:
    """Warn of a body that nothing holds, and of masses that begin inside obstacles or masses of other pieces."""
    body, world = model.one, model.world
    acted_on = body.fixed.any() or body.guides.any() or body.forces.any() or world.forces or world.constraints
    held = bool(world.obstacles or acted_on)
    warn_of_falling("the body", world.gravity, held=held, stacklevel=stacklevel + 1)
    if model.numpy_real is np.float32 and body.spring_count:
        remedy = "move it, and what it touches, to the origin, or give precision='float64'"
        pitch = float(np.median(body.rest_lengths))
        warn_of_far("the body", body.positions, pitch, remedy, stacklevel=stacklevel + 1)
    for contact in world.contacts:
        depths = _depths(body, world, contact)
        remedy = "set it apart with body.moved((x, y, z))"
        warn_inside("masses", contact.called, depths, remedy, stacklevel=stacklevel + 1)
    if model.contacts is not None:
        overlaps, least = model.contacts.overlaps, _GRAZING * model.contacts.shortest
        depths = np.where(overlaps > least, overlaps, 0.0)
        remedy = "set its pieces apart with body.moved((x, y, z)) before they are joined"
        warn_inside("masses", "masses of another piece", depths, remedy, stacklevel=stacklevel + 1)


def _depths(body: Body, world: World, contact: Contact) -> np.ndarray:
    """How deep masses begin inside an obstacle that throws their piece out [m], 0 for all others, shape [n]."""
    depths = np.where(body.fixed, 0.0, depths_inside(contact.rigid, body.positions))
    depths[depths <= _ROUNDING * np.abs(body.positions).max()] = 0.0
    if not depths.any():
        return depths
    pieces = pieces_of(body)
    loads = body.masses * np.linalg.norm(world.gravity) + np.linalg.norm(body.forces, axis=1)
    pushes = depths * contact.over(body.masses) * body.masses
    thrown = np.bincount(pieces, pushes) > _LIFTING * np.bincount(pieces, loads)
    return np.where(thrown[pieces], depths, 0.0)
