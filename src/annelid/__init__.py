"""Simulation of soft robots and of the loose ground that they live on."""

from annelid.core.showing import Theatre, provide
from annelid.core.simulation import Simulation
from annelid.core.snapshot import Look, Snapshot

__version__ = "0.1.0"

__all__ = ["Look", "Simulation", "Snapshot", "__version__"]


def _theatre() -> Theatre:
    """What draws simulations; imported when there is something to see."""
    from annelid.view import showing

    return Theatre(showing.picture, showing.video, showing.view)


provide(_theatre)
