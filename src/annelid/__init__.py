"""Simulation of soft robots and of the loose ground that they live on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from annelid.core.lazy import offered
from annelid.core.showing import Theatre, provide

if TYPE_CHECKING:
    from annelid.core.distributions import Choice, Curriculum, LogUniform, Normal, Uniform
    from annelid.core.losses import Match, Travel
    from annelid.core.rollout import Rollout
    from annelid.core.simulation import Simulation
    from annelid.core.snapshot import Look, Snapshot
    from annelid.core.track import Track
else:  # the command line answers, and can be interrupted, before Warp is there
    __getattr__ = offered(
        __name__,
        {
            "core.distributions": ["Choice", "Curriculum", "LogUniform", "Normal", "Uniform"],
            "core.losses": ["Match", "Travel"],
            "core.rollout": ["Rollout"],
            "core.simulation": ["Simulation"],
            "core.snapshot": ["Look", "Snapshot"],
            "core.track": ["Track"],
        },
    )

__version__ = "0.2.0.dev0"

__all__ = [
    "Choice",
    "Curriculum",
    "LogUniform",
    "Look",
    "Match",
    "Normal",
    "Rollout",
    "Simulation",
    "Snapshot",
    "Track",
    "Travel",
    "Uniform",
    "__version__",
]


def _theatre() -> Theatre:
    """What draws simulations; imported when there is something to see."""
    from annelid.view import showing

    return Theatre(showing.picture, showing.video, showing.view)


provide(_theatre)
