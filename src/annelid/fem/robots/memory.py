"""What a robot's control carries from one step to the next, so that states can hold it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import warp as wp

from annelid.core.state import nested, rows


@dataclass(kw_only=True)
class StiffnessMemory:
    """Where a robot stood when the stiffness at hand was factored: from there the same factor can be made again.

    All arrays are empty where every step factors its own stiffness.

    Attributes:
        age: Steps since the factor at hand was put to use, -1 where there is none; shape [1].
        pending: 1 while the next factor is being made in the background, shape [1].
        shift: Added to the diagonal of the stiffness that was factored [N/m], shape [1].
        positions: Positions of the nodes at which it was factored [m], shape [n].
        efforts: Efforts at which it was factored, shape [k].
        aimed_from: Positions at which the directions were taken that the sensitivities belong to [m], shape [n].
        next_positions: Positions at which the next stiffness and its directions were taken [m], shape [n].
        next_efforts: Efforts at which it was taken, shape [k].
        responses: The latest responses of the nodes to what acts, shape [n c].
        responses_age: Steps since they were found, shape [1].
    """

    age: wp.array[Any] = rows("factor", wp.int64)
    pending: wp.array[Any] = rows("factor", wp.int64)
    shift: wp.array[Any] = rows("factor", wp.float64)
    positions: wp.array[Any] = rows("node", wp.vec3d)
    efforts: wp.array[Any] = rows("actuator", wp.float64)
    aimed_from: wp.array[Any] = rows("node", wp.vec3d)
    next_positions: wp.array[Any] = rows("node", wp.vec3d)
    next_efforts: wp.array[Any] = rows("actuator", wp.float64)
    responses: wp.array[Any] = rows("response", wp.vec3d)
    responses_age: wp.array[Any] = rows("factor", wp.int64)


@dataclass(kw_only=True)
class ControlMemory:
    """What inverse control carries from one step to the next.

    Attributes:
        damping: Weight of the work of changes of efforts [-], shape [1].
        duals: How hard each limit pushed in the last program, which the next one begins with.
        stiffness: The stiffness that serves for several steps.
    """

    damping: wp.array[Any] = rows("chooser", wp.float64)
    duals: wp.array[Any] = rows("dual", wp.float64, grows="duals")
    stiffness: StiffnessMemory = nested()
