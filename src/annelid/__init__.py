"""Simulation of soft robots and of the loose ground that they live on."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from annelid.core.showing import Theatre, provide

if TYPE_CHECKING:
    from annelid.core.simulation import Simulation
    from annelid.core.snapshot import Look, Snapshot

__version__ = "0.1.0"

__all__ = ["Look", "Simulation", "Snapshot", "__version__"]

_HOMES = {"Simulation": "core.simulation", "Look": "core.snapshot", "Snapshot": "core.snapshot"}


def __getattr__(name: str) -> Any:
    """Import what is asked for: the command line answers, and can be interrupted, before Warp is there."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(f"annelid.{_HOMES[name]}"), name)
    globals()[name] = found
    return found


def _theatre() -> Theatre:
    """What draws simulations; imported when there is something to see."""
    from annelid.view import showing

    return Theatre(showing.picture, showing.video, showing.view)


provide(_theatre)
