"""The direct solver of a device: LAPACK's band on the CPU, a band of tiles on CUDA."""

from __future__ import annotations

from annelid.fem.linear import Unknowns
from annelid.fem.linear_band import BandSolver
from annelid.fem.linear_tiles import TileSolver

_ROOMY = 160 * 1024
"""Bytes of shared memory a block that tiles of 64 x 64 need; data-centre GPUs have them."""


def direct_solver(unknowns: Unknowns) -> BandSolver | TileSolver:
    """A solver that factors every matrix."""
    device = unknowns.crew.device
    if not device.is_cuda:
        return BandSolver(unknowns)
    roomy = getattr(device, "max_shared_memory_per_block", 0) >= _ROOMY
    return TileSolver(unknowns, tile=64 if roomy else 32)
