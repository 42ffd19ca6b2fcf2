"""Reading and writing a few elements of device arrays at a cost that does not depend on the arrays' size."""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

import annelid.core.device  # noqa: F401  starts Warp quietly
from annelid.core.kernels.arrays import points_kernel
from annelid.core.kernels.elements import gather_kernel, scatter_kernel


def scatter(target: wp.array[Any], index: np.ndarray, values: np.ndarray) -> None:
    """target[index] = values, on any device."""
    if len(index) == 0:
        return
    assert target.device is not None
    if target.device.is_cpu:
        target.numpy()[index] = values
        return
    where = wp.array(np.asarray(index, np.int32), dtype=wp.int32, device=target.device)
    what = wp.array(np.ascontiguousarray(values), dtype=target.dtype, device=target.device)
    wp.launch(scatter_kernel(target.dtype), len(index), [where, what], [target], device=target.device)


def gather_elements(source: wp.array[Any], index: np.ndarray) -> np.ndarray:
    """source[index] as a NumPy array, on any device."""
    assert source.device is not None
    if source.device.is_cpu or len(index) == 0:
        return np.asarray(source.numpy()[index] if len(index) else source.numpy()[:0].copy())
    where = wp.array(np.asarray(index, np.int32), dtype=wp.int32, device=source.device)
    out = wp.empty(len(index), dtype=source.dtype, device=source.device)
    wp.launch(gather_kernel(source.dtype), len(index), [where, source], [out], device=source.device)
    return np.asarray(out.numpy())


def picked_points(vectors: wp.array[Any], chosen: wp.array[Any]) -> wp.array[Any]:
    """The first three numbers of chosen vectors, in single precision, on the device."""
    out = wp.empty(len(chosen), dtype=wp.vec3, device=vectors.device)
    wp.launch(points_kernel(vectors.dtype), len(chosen), [chosen, vectors], [out], device=vectors.device)
    return out


def grown(array: wp.array[Any], size: int, fill: Any = 0) -> wp.array[Any]:
    """A longer copy of an array; new elements are filled with one value."""
    longer = wp.full(size, array.dtype(fill), dtype=array.dtype, device=array.device)
    wp.copy(longer, array, count=len(array))
    return longer
