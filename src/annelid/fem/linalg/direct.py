"""The direct solver of a device: fronts one after the other on the CPU, many at once in tiles on CUDA."""

from __future__ import annotations

from annelid.fem.linalg.front_solver import FrontSolver
from annelid.fem.linalg.tile_solver import TileSolver
from annelid.fem.linalg.unknowns import Unknowns


def direct_solver(unknowns: Unknowns) -> FrontSolver | TileSolver:
    """A solver that factors every matrix."""
    return TileSolver(unknowns) if unknowns.crew.device.is_cuda else FrontSolver(unknowns)
