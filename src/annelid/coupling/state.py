"""The state of spring bodies among grains: the arrays of both, with prefixes, and those of the guests."""

from __future__ import annotations

from dataclasses import field, fields, make_dataclass
from typing import Any, cast

import numpy as np
import warp as wp

from annelid import grains, springs

_SIDES = {"springs": springs.State, "grains": grains.State}
_OWN = ("last", "contact_forces")

_FIELDS = [
    (f"{side}_{f.name}", wp.array, field(metadata=f.metadata))
    for side, kind in _SIDES.items()
    for f in fields(cast(Any, kind))
]

_MOVING = ("positions", "velocities", "accelerations", "broken")
_GRAIN_ROWS = ("positions", "velocities", "spins", "forecast", "turning", "surfaces", "facets", "names", "counts")
_BODY_ROWS = ("places", "turns", "body_velocities", "body_spins", "body_forecast", "body_turning", "contacts", "travel")

ROWS_OF_WORLDS = (
    *(f"springs_{name}" for name in _MOVING),
    *(f"grains_{name}" for name in (*_GRAIN_ROWS, *_BODY_ROWS, "forces", "torques", "commands", "loads")),
    *_OWN,
)
"""Arrays of which each world has equally many rows, one world after the other; a ghost of the grains comes last."""

State: Any = make_dataclass(
    "State",
    [*_FIELDS, *((name, wp.array) for name in _OWN)],
    namespace={
        "__doc__": """What changes with time.

        Arrays of `springs.State` and `grains.State` with the prefixes `springs_` and `grains_`; besides `last`, the
        velocity of each guest a step ago [m/s], shape [guests, 3], and `contact_forces`, the force of grains and rigid
        bodies on each surface mass during the last step [N], shape [surface masses, 3].
        """,
        "__module__": __name__,
        "clock": property(lambda self: self.grains_clock, doc="Steps done, shape [1]."),
    },
)


def joined(spring_state: springs.State, grain_state: grains.State, **own: wp.array) -> Any:
    """One state made of two, which share its arrays."""
    parts: dict[str, Any] = {"springs": spring_state, "grains": grain_state}
    arrays = {f"{side}_{f.name}": getattr(part, f.name) for side, part in parts.items() for f in fields(part)}
    return State(**arrays, **own)


def side_of(state: Any, side: str, known: Any = None) -> Any:
    """One side of a state, which shares its arrays; `known` itself if it is still that."""
    kind = _SIDES[side]
    names = [f.name for f in fields(cast(Any, kind))]
    if known is not None and all(getattr(known, name) is getattr(state, f"{side}_{name}") for name in names):
        return known
    return kind(**{name: getattr(state, f"{side}_{name}") for name in names})


def take_back(state: Any, side: str, part: Any) -> None:
    """Take over the arrays of one side that were replaced by longer ones."""
    for f in fields(part):
        setattr(state, f"{side}_{f.name}", getattr(part, f.name))


def order_by_world(part: grains.State, worlds: np.ndarray) -> None:
    """Bring the rows of grains that have not been sorted yet into the order of their worlds.

    Args:
        part: The side of the grains.
        worlds: World of each row, shape [n].
    """
    order = np.argsort(worlds, kind="stable")
    for name in _GRAIN_ROWS:
        rows = getattr(part, name).numpy()
        if len(rows):
            rows[: len(order)] = rows[order]
            getattr(part, name).assign(rows)
