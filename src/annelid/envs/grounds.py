"""Level ground of environments of springs: rigid, or sand without grains, as an option says."""

from __future__ import annotations

from typing import Any, Literal, get_args

from annelid.core.errors import UnknownName
from annelid.robots.sandbox import sand_ground
from annelid.shapes import Obstacle, Rigid

LevelGround = Literal["rigid", "resistive"]
"""Ground that a robot stands on, or sinks into."""


def require_ground(given: str, kinds: Any = LevelGround) -> None:
    """Refuse a kind of ground that an environment does not have."""
    if given not in get_args(kinds):
        raise UnknownName("ground", given, get_args(kinds))


def level_ground(kind: LevelGround, rigid: Rigid, medium: str, friction: float) -> Obstacle:
    """The rigid ground, or sand of a medium that rubs as much, see `ResistiveGround`."""
    return rigid if kind == "rigid" else sand_ground(medium, friction)
