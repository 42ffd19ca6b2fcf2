"""Simulation of soft robots and of the loose ground that they live on."""

from annelid.core.simulation import Simulation
from annelid.core.snapshot import Look, Snapshot

__version__ = "0.1.0"

__all__ = ["Look", "Simulation", "Snapshot", "__version__"]
