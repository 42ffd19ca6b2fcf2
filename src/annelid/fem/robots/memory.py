"""What a robot's control carries from one step to the next, so that states can hold it."""

from __future__ import annotations

from dataclasses import dataclass

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
    """

    age: wp.array = rows("factor", wp.int64)
    pending: wp.array = rows("factor", wp.int64)
    shift: wp.array = rows("factor", wp.float64)
    positions: wp.array = rows("node", wp.vec3d)
    efforts: wp.array = rows("actuator", wp.float64)
    aimed_from: wp.array = rows("node", wp.vec3d)
    next_positions: wp.array = rows("node", wp.vec3d)
    next_efforts: wp.array = rows("actuator", wp.float64)


@dataclass(kw_only=True)
class ControlMemory:
    """What inverse control carries from one step to the next.

    Attributes:
        damping: Weight of the work of changes of efforts [-]: of usual steps, and of those with a new stiffness;
            shape [2].
        duals: How hard each limit pushed in the last program, which the next one begins with.
        careful_duals: The same for steps with a new stiffness.
        stiffness: The stiffness that serves for several steps.
    """

    damping: wp.array = rows("chooser", wp.float64)
    duals: wp.array = rows("dual", wp.float64, grows="duals")
    careful_duals: wp.array = rows("dual", wp.float64, grows="careful duals")
    stiffness: StiffnessMemory = nested()
