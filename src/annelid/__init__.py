"""Simulation of soft robots and of the loose ground that they live on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from annelid.core.lazy import offered, public
from annelid.core.showing import Theatre, provide

_PACKAGES = (
    "calibration",
    "control",
    "core",
    "coupling",
    "envs",
    "evolve",
    "fem",
    "grains",
    "materials",
    "optimise",
    "robots",
    "shapes",
    "springs",
    "view",
    "voxels",
    "voxels3d",
)

if TYPE_CHECKING:
    from annelid import calibration as calibration
    from annelid import control as control
    from annelid import core as core
    from annelid import coupling as coupling
    from annelid import fem as fem
    from annelid import grains as grains
    from annelid import materials as materials
    from annelid import optimise as optimise
    from annelid import robots as robots
    from annelid import shapes as shapes
    from annelid import springs as springs
    from annelid import view as view
    from annelid import voxels as voxels
    from annelid import voxels3d as voxels3d
    from annelid.calibration.calibration import Calibration
    from annelid.calibration.identify import identify
    from annelid.calibration.runs import Run
    from annelid.calibration.tracks import Tracks, read_tracks
    from annelid.core.bridges.in_jax import JaxLoss, JaxRollout
    from annelid.core.bridges.in_torch import TorchLoss, TorchRollout
    from annelid.core.distributions import Choice, Curriculum, LogUniform, Normal, Uniform
    from annelid.core.losses import Match, Travel
    from annelid.core.rollout import Rollout
    from annelid.core.simulation import Simulation
    from annelid.core.snapshot import Look, Snapshot
    from annelid.core.sweep import sweep
    from annelid.core.track import Track
    from annelid.core.warp_loss import WarpLoss
    from annelid.optimise.free import Free
    from annelid.view.files.export import ExportOptions, export
else:  # the command line answers, and can be interrupted, before Warp is there
    __getattr__ = offered(
        __name__,
        {
            "": _PACKAGES,
            "core.bridges.in_jax": ["JaxLoss", "JaxRollout"],
            "core.bridges.in_torch": ["TorchLoss", "TorchRollout"],
            "core.distributions": ["Choice", "Curriculum", "LogUniform", "Normal", "Uniform"],
            "core.losses": ["Match", "Travel"],
            "core.rollout": ["Rollout"],
            "core.simulation": ["Simulation"],
            "core.snapshot": ["Look", "Snapshot"],
            "core.sweep": ["sweep"],
            "core.track": ["Track"],
            "core.warp_loss": ["WarpLoss"],
            "calibration.calibration": ["Calibration"],
            "calibration.identify": ["identify"],
            "calibration.runs": ["Run"],
            "calibration.tracks": ["Tracks", "read_tracks"],
            "optimise.free": ["Free"],
            "view.files.export": ["ExportOptions", "export"],
        },
    )

__version__ = "0.2.0"

__all__ = [
    "Calibration",
    "Choice",
    "Curriculum",
    "ExportOptions",
    "Free",
    "JaxLoss",
    "JaxRollout",
    "LogUniform",
    "Look",
    "Match",
    "Normal",
    "Rollout",
    "Run",
    "Simulation",
    "Snapshot",
    "TorchLoss",
    "TorchRollout",
    "Track",
    "Tracks",
    "Travel",
    "Uniform",
    "WarpLoss",
    "__version__",
    "export",
    "identify",
    "read_tracks",
    "sweep",
]

__dir__ = public(__name__, _PACKAGES)


def _theatre() -> Theatre:
    """What draws simulations; imported when there is something to see."""
    from annelid.view import showing

    return Theatre(showing.picture, showing.video, showing.view)


provide(_theatre)
