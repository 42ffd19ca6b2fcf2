"""Scenes that are filmed smaller than they are: at their own size a film of some seconds would show a moment only."""

from __future__ import annotations

from collections.abc import Mapping

LIGHTER: Mapping[str, Mapping[str, float | int]] = {
    "column": {"width": 8.0, "pause": 0.1},
    "gripper": {"grain_radius": 0.024},
    "hopper": {"opening": 8.0, "width": 16.0, "filling": 10.0},
    "sand-walker": {"grain_radius": 0.004, "run_up": 0.02, "start": 0.1},
    "swarm": {"side": 4},
    "worms": {"count": 16},
}
"""Options of scenes by name; the commands of the gallery have them, so that they show what its pictures show."""


def options_of(scene: str) -> Mapping[str, float | int]:
    """Options with which a scene is filmed; none where it is filmed as it is."""
    return LIGHTER.get(scene, {})


def flags_of(scene: str) -> str:
    """The same as they are written on a command line, each after a space."""
    return "".join(f" --{name.replace('_', '-')} {value:g}" for name, value in options_of(scene).items())
