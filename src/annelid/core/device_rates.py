"""Rates of a loss that lie on the device: what is wrong with them, found without copying them."""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

import annelid.core.device  # noqa: F401  starts Warp quietly
from annelid.core.kernels.losses import NOT_FINITE, NOT_ZERO, PARTS, inspect_kernel


def all_finite(rates: wp.array[Any]) -> bool:
    """Whether all rates, vectors of three, are finite."""
    return not _findings(rates) & NOT_FINITE


def any_nonzero(rates: wp.array[Any]) -> bool:
    """Whether some rates, vectors of three, are not 0."""
    return bool(_findings(rates) & NOT_ZERO)


def _findings(rates: wp.array[Any]) -> int:
    found = wp.zeros(PARTS, dtype=wp.int32, device=rates.device)
    vector: Any = rates.dtype
    kernel = inspect_kernel(vector._wp_scalar_type_, vector)
    wp.launch(kernel, PARTS, [rates.contiguous().flatten()], [found], device=rates.device)
    return int(np.bitwise_or.reduce(found.numpy()))
