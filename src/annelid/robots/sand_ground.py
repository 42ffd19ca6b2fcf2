"""Sand without grains as robots lie, crawl and walk on it."""

from __future__ import annotations

from annelid.shapes import ResistiveGround

_STIFFNESS = (
    1.0e6  # of the ground that stands for grains [N/m³]: half or twice of it moves the worm of the bench by a tenth
)


def sand_ground(medium: str, friction: float, *, height: float = 0.0, buried: bool = False) -> ResistiveGround:
    """Level ground that gives before it yields: soft robots weigh a small part of what sand could bear.

    Args:
        medium: Name of a medium, or path of a file with one that was fitted; see `ResistiveGround`.
        friction: Coulomb coefficient between robot and sand.
        height: Height of the surface [m].
        buried: Whether the robot may start below it.
    """
    return ResistiveGround(medium, height=height, friction=friction, stiffness=_STIFFNESS, buried=buried)
