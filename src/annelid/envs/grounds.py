"""Level ground of environments of springs: rigid, or sand without grains, as an option says."""

from __future__ import annotations

from typing import Any, Literal, Protocol

from annelid.robots.sandbox import require_medium, sand_ground
from annelid.shapes import Obstacle, Rigid

LevelGround = Literal["rigid", "resistive"]
"""Ground that a robot stands on, or sinks into."""


class OnGround(Protocol):
    """A task with a choice of grounds; its class has the default of the medium."""

    ground: Any
    medium: str


def require_ground(task: OnGround) -> None:
    """Refuse a medium of ground that has none."""
    require_medium(task.ground, task.medium, type(task).medium)


def level_ground(kind: LevelGround, rigid: Rigid, medium: str, friction: float) -> Obstacle:
    """The rigid ground, or sand of a medium that rubs as much, see `ResistiveGround`."""
    return rigid if kind == "rigid" else sand_ground(medium, friction)
