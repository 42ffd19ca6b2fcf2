"""The direct solver of a device: fronts one after the other on the CPU, in tiles on CUDA."""

from __future__ import annotations

from annelid.fem.linear import Unknowns
from annelid.fem.linear_fronts import FrontSolver
from annelid.fem.linear_tiles import TileSolver

_ROOMY = 160 * 1024
"""Bytes of shared memory a block that tiles of 64 x 64 need; data-centre GPUs have them."""


def direct_solver(unknowns: Unknowns) -> FrontSolver | TileSolver:
    """A solver that factors every matrix."""
    device = unknowns.crew.device
    if not device.is_cuda:
        return FrontSolver(unknowns)
    roomy = getattr(device, "max_shared_memory_per_block", 0) >= _ROOMY
    return TileSolver(unknowns, tile=64 if roomy else 32)
