"""Ground that resists, among the obstacles of a world: who takes it, beside what, and how bodies may start in it."""

from __future__ import annotations

from typing import Any

import numpy as np

from annelid.core.errors import InvalidValue
from annelid.shapes.resistive.ground import ResistiveGround
from annelid.shapes.rigid import Rigid, as_rigids, require_list


def sand_among(obstacles: Any, physics: str) -> ResistiveGround | None:
    """The ground in a list of obstacles that resists like sand, None where there is none.

    Args:
        obstacles: The list.
        physics: Who moves through it, for messages: "springs".
    """
    require_list(obstacles)
    found = [one for one in obstacles if isinstance(one, ResistiveGround)]
    if len(found) > 1:
        raise InvalidValue(
            f"{physics} can move through one ResistiveGround, and obstacles hold {len(found)}: leave one."
        )
    return found[0] if found else None


def rigids_beside_sand(obstacles: Any, physics: str) -> list[tuple[int, Rigid]]:
    """The other obstacles of the list as rigid things, with their numbers in it."""
    sand_among(obstacles, physics)  # refuses what is no list, and several of them
    numbered = [(number, one) for number, one in enumerate(obstacles) if not isinstance(one, ResistiveGround)]
    rigids = as_rigids([one for _, one in numbered], physics)
    return [(number, rigid) for (number, _), rigid in zip(numbered, rigids, strict=True)]


def require_above(sand: ResistiveGround, heights: np.ndarray, what: str) -> None:
    """Refuse a body that starts below the surface, unless the ground says that it may.

    Args:
        sand: The ground.
        heights: Heights of parts of the body [m], shape [n].
        what: What these parts are, for messages: "masses of the surface".
    """
    depths = sand.height - heights
    if not sand.buried and (depths > 0.0).any():
        raise InvalidValue(
            f"{int((depths > 0.0).sum())} of {len(depths)} {what} start below the ResistiveGround, the deepest by "
            f"{depths.max():.3g} m: move the body up, or give the ground buried=True."
        )


def require_no_hollows(sand: ResistiveGround | None, physics: str) -> None:
    """Refuse an angle of repose, and a stiffness, where nobody remembers hollows."""
    require_no_give(sand, physics)
    if sand is not None and sand.repose is not None:
        raise InvalidValue(
            f"hollows below {physics} are not kept yet, and the ResistiveGround has repose={sand.repose:g}: use "
            "repose=None, or a body of springs."
        )


def require_no_give(sand: ResistiveGround | None, physics: str) -> None:
    """Refuse sand that gives before it yields where only the law itself is known."""
    if sand is not None and sand.stiffness is not None:
        raise InvalidValue(
            f"sand that gives below {physics} is not known yet, and the ResistiveGround has stiffness="
            f"{sand.stiffness:g}: use stiffness=None, or a body of springs."
        )
