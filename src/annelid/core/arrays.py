"""Arrays of other libraries as Warp arrays, sharing memory where that is possible."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np
import warp as wp

import annelid.core.device  # noqa: F401  starts Warp quietly


@runtime_checkable
class SharesMemory(Protocol):
    """An array of any library that can be exchanged by DLPack: PyTorch, JAX, CuPy..."""

    def __dlpack__(self, **options: Any) -> Any: ...


@runtime_checkable
class Detachable(Protocol):
    """A tensor of PyTorch, which shares its memory only when no gradient is asked of it."""

    def detach(self) -> Any:
        """The tensor without its gradient."""
        ...


def shared_array(values: Any, device: wp.Device) -> wp.array[Any] | None:
    """Values of Warp, PyTorch or JAX on a device, without a copy where they are there already; None for others."""
    found: Any = values
    if not isinstance(values, wp.array):
        if isinstance(values, np.ndarray) or not isinstance(values, SharesMemory):
            return None
        found = wp.from_dlpack(values.detach() if isinstance(values, Detachable) else values)
    here: wp.array[Any] = found.to(device)
    return here
