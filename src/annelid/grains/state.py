"""The state of grains and bodies: every array is declared here, in one line, and nowhere else.

Rows belong to

- `grain`: a grain, in the order of the bed;
- `row`: a grain, in the order of cells, which `names` undoes; grains of one world lie together;
- `list`: the lists of a grain, which are made anew where a world begins again;
- `place`, `body-place`: a place in a list of neighbours, of bodies; `rolling-place`, `rolling-body-place`: the same
  where rolling resistance is kept;
- `body`: a body; `body-list`: what touches it; `point`: a point of a body and another body that it may touch;
- `channel`: a control of a world; `joint`: a joint of a robot that is one; `world`: a world, where there are several;
- `simulation`: none of these.

An array that a structure of the kernels (`kernels.layout`) holds under the same name is bound to it by `workspace`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import warp as wp

from annelid.core.state import nested, rows
from annelid.core.variation import Variation
from annelid.grains.controls import joints_among
from annelid.grains.model import Model


@dataclass
class State:
    """What changes with time. Grains are in the order of cells, which `names` undoes; bodies are in their own.

    Attributes:
        positions: Centres [m], and numbers of contacts, shape [n + 1, 4]; the last row is a ghost.
        velocities: Velocities [m/s] and radii [m], shape [n + 1, 4].
        spins: Angular velocities [rad/s] and inverse masses [1/kg], shape [n + 1, 4].
        forecast: Velocities that the next step would bring, and radii.
        turning: Angular velocities that the next step would bring, and inverse masses.
        surfaces: Friction, restitution, rolling resistance, cohesion, where grains differ.
        facets: Axes and extents of guests [m], shape [n + 1, 4], 0 for grains, where there are guests.
        names: Which grain this is, and its world, shape [n, 2].
        counts: Neighbours and bodies in the lists of each grain, shape [n, 2].
        neighbours: Lists of neighbours.
        impulses: Impulses by neighbours [N s].
        rollings: Angular impulses by rolling resistance [N m s].
        bodies: Lists of bodies.
        body_impulses: Impulses by bodies [N s].
        body_predicted: Those predicted for the next step [N s].
        body_rollings: Angular impulses by rolling resistance [N m s].
        built: Where grains were when the lists were made [m].
        places: Centres of mass of the bodies [m].
        turns: Quaternions of the bodies.
        body_velocities: Velocities of the bodies [m/s].
        body_spins: Angular velocities of the bodies [rad/s].
        body_forecast: Velocities that the next step would bring.
        body_turning: Angular velocities that the next step would bring.
        contacts: Contacts of each body.
        travel: How far the surface of each body may have moved since lists were made, less what they lead it by [m].
        forces: Forces of contacts on each body [N].
        torques: Torques of contacts on each body about its centre of mass [N m].
        drives: Velocity and spin that driven bodies are given.
        loads: Force [N] and torque [N m] from outside on each body.
        touched_first: Where the contacts of each body begin in `touched`.
        touched: Places in `bodies`.
        point_impulses: Impulses on points of bodies by other bodies [N s].
        point_predicted: Those predicted for the next step [N s].
        commands: Commands of the controls, see `core.controls`, shape [worlds · channels].
        joints: Joints of robots that are controls, see `grains.joints`, shape [worlds · joints].
        begun: Step at which each world began, shape [worlds].
        variation: Parameters in which worlds differ; empty while they do not.
        reach: Margins and speeds of the lists.
        flags: Flags of the lists.
        clock: Steps done, shape [1].
    """

    positions: wp.array[Any] = rows("row", wp.vec4, spare=1)
    velocities: wp.array[Any] = rows("row", wp.vec4, spare=1)
    spins: wp.array[Any] = rows("row", wp.vec4, spare=1)
    forecast: wp.array[Any] = rows("row", wp.vec4, spare=1)
    turning: wp.array[Any] = rows("row", wp.vec4, spare=1)
    surfaces: wp.array[Any] = rows("row", wp.vec4, spare=1)
    facets: wp.array[Any] = rows("row", wp.vec4, spare=1)
    names: wp.array[Any] = rows("row", wp.vec2i)
    counts: wp.array[Any] = rows("row", wp.vec2i)
    neighbours: wp.array[Any] = rows("place", wp.int32, grows="places")
    impulses: wp.array[Any] = rows("place", wp.float32, each=3, grows="places")
    rollings: wp.array[Any] = rows("rolling-place", wp.float32, each=3, grows="places")
    bodies: wp.array[Any] = rows("body-place", wp.int32, grows="body_places")
    body_impulses: wp.array[Any] = rows("body-place", wp.vec3, grows="body_places")
    body_predicted: wp.array[Any] = rows("body-place", wp.vec3, grows="body_places")
    body_rollings: wp.array[Any] = rows("rolling-body-place", wp.vec3, grows="body_places")
    built: wp.array[Any] = rows("list", wp.vec4)
    places: wp.array[Any] = rows("body", wp.vec3)
    turns: wp.array[Any] = rows("body", wp.quat)
    body_velocities: wp.array[Any] = rows("body", wp.vec3)
    body_spins: wp.array[Any] = rows("body", wp.vec3)
    body_forecast: wp.array[Any] = rows("body", wp.vec3)
    body_turning: wp.array[Any] = rows("body", wp.vec3)
    contacts: wp.array[Any] = rows("body", wp.float32)
    travel: wp.array[Any] = rows("body", wp.float32)
    forces: wp.array[Any] = rows("body", wp.vec3)
    torques: wp.array[Any] = rows("body", wp.vec3)
    drives: wp.array[Any] = rows("body", wp.vec3, each=2)
    loads: wp.array[Any] = rows("body", wp.vec3, each=2)
    touched_first: wp.array[Any] = rows("body-list", wp.int32, spare=1)
    touched: wp.array[Any] = rows("body-place", wp.int32, grows="body_places")
    point_impulses: wp.array[Any] = rows("point", wp.vec3)
    point_predicted: wp.array[Any] = rows("point", wp.vec3)
    commands: wp.array[Any] = rows("channel", wp.vec4d)
    joints: wp.array[Any] = rows("joint", wp.vec3d)
    begun: wp.array[Any] = rows("world", wp.int64)
    variation: Variation = nested()
    reach: wp.array[Any] = rows("simulation", wp.float32)
    flags: wp.array[Any] = rows("simulation", wp.int32)
    clock: wp.array[Any] = rows("simulation", wp.int64)


def row_counts(model: Model, points: int, places: int, body_places: int) -> dict[str, int]:
    """How many there are of each kind of thing that rows belong to.

    Args:
        model: The model.
        points: Points of bodies, times the bodies that each may touch.
        places: Neighbours that the list of a grain has room for.
        body_places: Bodies that it has room for.
    """
    n, bodies, rolling = model.count, len(model.bodies), int(model.features.keeps_rolling)
    return {
        "simulation": 1,
        "grain": n,
        "row": n,
        "list": n,
        "place": n * places,
        "rolling-place": rolling * n * places,
        "body-place": n * body_places,
        "rolling-body-place": rolling * n * body_places,
        "body": bodies,
        "body-list": bodies,
        "point": points,
        "channel": len(model.controls) * model.world_count,
        "joint": len(joints_among(model.world.controls)) * model.world_count,
        "world": model.world_count,
    }
