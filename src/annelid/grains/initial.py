"""The state in which a simulation of grains begins."""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp
from scipy.spatial.transform import Rotation

from annelid.core.controls import resting_commands
from annelid.core.state import new_state
from annelid.core.variation import unvaried
from annelid.grains.controls import joints_among
from annelid.grains.kernels.layout import FLAGS, LIMIT, REACHES, STALE, UNKNOWN, WORLD_REACHES
from annelid.grains.model import Model
from annelid.grains.paths import PathTable
from annelid.grains.rigid import Solid
from annelid.grains.state import State
from annelid.grains.workspace import Workspace

_FIRST_PLACES = 16
_FIRST_BODY_PLACES = 4
_FAR = 1.0e9
_MANY = 1000.0


def initial_state(kind: type[State], work: Workspace, paths: PathTable) -> State:
    """Grains and bodies as they were built.

    Args:
        kind: Class of the state.
        work: The structures of the model, which know how many rows there are of what.
        paths: Motions of the bodies that follow a path.
    """
    model = work.model
    given = {**_grains(model), **_bodies(model, paths), **_lists(model)}
    counts = work.row_counts(_FIRST_PLACES, _FIRST_BODY_PLACES if model.bodies else 0)
    return new_state(kind, counts, model.device, variation=unvaried(model.device), **given)


def _grains(model: Model) -> dict[str, wp.array[Any]]:
    """Rows of the grains, those of a world together; the rows of others are the ghost's."""
    bed, n, features = model.bed, model.count, model.features
    order = np.argsort(model.worlds, kind="stable")
    push = np.asarray(model.world.gravity) * model.dt * (features.method == "nonsmooth")
    # Nobody has counted contacts yet. Sweep after sweep, masses that are not split would throw a resting bed apart.
    # Steps that converge count from their first sweep on.
    many = features.method == "nonsmooth" and model.sweeps > 1 and not features.converging
    contacts = np.full(n, UNKNOWN if many else 0.0)
    columns = {
        "positions": (bed.positions, contacts, _FAR),
        "velocities": (bed.velocities, bed.radii, 0.0),
        "spins": (bed.spins, 1.0 / bed.masses, 0.0),
        "forecast": (bed.velocities + push, bed.radii, 0.0),
        "turning": (bed.spins, 1.0 / bed.masses, 0.0),
    }
    made: dict[str, Any] = {}
    for name, (vectors, numbers, ghost) in columns.items():
        table = np.full((n + 1, 4), ghost)
        table[:n, :3], table[:n, 3], table[n, 3] = vectors[order], numbers[order], 1.0
        made[name] = table
    surfaces = model.surfaces() if features.materials else np.zeros((0, 4), np.float32)
    made["surfaces"] = np.concatenate([surfaces[order], surfaces[:1]]) if features.materials else surfaces
    made["facets"] = np.zeros((n + 1 if features.guests else 0, 4))
    arrays = {name: _array(table, wp.vec4, model.device) for name, table in made.items()}
    names = np.column_stack([order, model.worlds[order]]).astype(np.int32)
    return {**arrays, "names": wp.array(names, dtype=wp.vec2i, device=model.device)}


def _lists(model: Model) -> dict[str, wp.array[Any]]:
    """Lists that must be made, of all worlds."""
    reach = np.zeros(REACHES + WORLD_REACHES * model.world_count, np.float32)
    reach[LIMIT] = np.linalg.norm(model.bed.velocities, axis=1).max()
    flags = np.zeros(FLAGS + model.world_count, np.int32)
    flags[STALE], flags[FLAGS:] = 1, 1
    return {
        "reach": wp.array(reach, dtype=wp.float32, device=model.device),
        "flags": wp.array(flags, dtype=wp.int32, device=model.device),
    }


def _bodies(model: Model, paths: PathTable) -> dict[str, wp.array[Any]]:
    """Rows of the bodies."""
    count, gravity = len(model.bodies), np.asarray(model.world.gravity)
    places, turns = np.zeros((count, 3)), np.tile([0.0, 0.0, 0.0, 1.0], (count, 1))
    velocities, spins, push = np.zeros((count, 3)), np.zeros((count, 3)), np.zeros((count, 3))
    for number, body in enumerate(model.bodies):
        if isinstance(body, Solid):
            places[number], turns[number] = body.place, body.quaternion
            velocities[number], spins[number] = body.rigid.velocity, body.rigid.spin
            push[number] = gravity * model.dt * body.free
        else:
            places[number] = body.point
    for number in model.paths:
        where, how = paths.poses(number, np.array([0.0, model.dt]))
        places[number], turns[number] = where[0], how[0]
        velocities[number] = (where[1] - where[0]) / model.dt
        turned = Rotation.from_quat(how)
        spins[number] = (turned[1] * turned[0].inv()).as_rotvec() / model.dt
    vectors = {
        "places": places,
        "body_velocities": velocities,
        "body_spins": spins,
        "body_forecast": velocities + push,
        "body_turning": spins,
        "drives": np.stack([velocities, spins], axis=1).reshape(-1, 3),
    }
    return {
        **{name: _array(table, wp.vec3, model.device) for name, table in vectors.items()},
        "turns": _array(turns, wp.quat, model.device),
        # How many there are is not known yet: many, so that what rests is not kicked at the first step.
        "contacts": wp.full(count, _MANY, dtype=wp.float32, device=model.device),
        "commands": resting_commands(model.controls, model.world_count, model.device),
        "joints": _resting_joints(model),
    }


def _resting_joints(model: Model) -> wp.array[Any]:
    """Joints of all worlds at the beginning, see `grains.joints`, shape [worlds · joints]."""
    begin = np.array([control.begin for control in joints_among(model.world.controls)], float)
    row = np.column_stack([begin, begin, np.full_like(begin, -1.0)])
    return wp.array(np.tile(row, (model.world_count, 1)), dtype=wp.vec3d, device=model.device)


def _array(table: np.ndarray, dtype: Any, device: wp.Device) -> wp.array[Any]:
    return wp.array(table.astype(np.float32), dtype=dtype, device=device)
