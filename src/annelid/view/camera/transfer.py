"""How arrays of a snapshot, wherever they are and whatever their precision, get into float32 arrays on a device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import warp as wp

from annelid.core.errors import InvalidValue
from annelid.core.launch import split_launch
from annelid.core.snapshot import Array
from annelid.view.camera.kernels import staging as kernels

WarpArray = Any


def launch(
    kernel: Any, count: int, inputs: Sequence[Any], outputs: Sequence[Any], device: wp.Device, threads: int = 1
) -> None:
    """Run a kernel whose first argument is the offset of its first thread."""
    if count > 0:
        # In several pieces: where a body is seen there is more to do than where the sky is.
        split_launch(kernel, count, [*inputs, *outputs], device, threads, pieces=4)


def put_vectors(values: Array, out: WarpArray) -> None:
    """Copy positions, shape [n, 3], into a vec3 array; what is not finite becomes zero."""
    if not isinstance(values, wp.array):
        host = np.asarray(values, dtype=np.float32).reshape(-1, 3)
        finite = np.isfinite(host).all(axis=1, keepdims=True)
        _put(host if finite.all() else np.where(finite, host, np.float32(0.0)), out, wp.vec3)
        return
    local = values if values.device == out.device else values.to(out.device)
    launch(kernels.take_vectors, out.shape[0], [_as_rows(local)], [out], out.device)


def put_scalars(values: Array | float, out: WarpArray) -> None:
    """Copy numbers, shape [n] or one for all, into a float32 array."""
    if isinstance(values, wp.array):
        local = values if values.device == out.device else values.to(out.device)
        launch(kernels.take_scalars, out.shape[0], [local], [out], out.device)
    elif np.ndim(values) == 0:
        out.fill_(float(values))
    else:
        _put(np.asarray(values, dtype=np.float32), out, wp.float32)


def count_of(values: Array, what: str, width: int) -> int:
    """Number of rows; refuses arrays that are not [n, width]."""
    shape = tuple(values.shape)
    if isinstance(values, wp.array) and wp.types.type_is_vector(values.dtype):
        shape = (*shape, wp.types.type_size(values.dtype))
    if len(shape) != 2 or shape[1] != width:
        raise InvalidValue(f"{what} have the shape {list(shape)}; it must be [n, {width}].")
    return int(shape[0])


def _put(host: np.ndarray, out: WarpArray, dtype: Any) -> None:
    if len(host):
        source = wp.array(np.ascontiguousarray(host), dtype=dtype, device="cpu", copy=False)
        wp.copy(out, source)


def _as_rows(vectors: WarpArray) -> WarpArray:
    """A vec3 array seen as rows of three scalars, without a copy."""
    if vectors.ndim == 2:
        return vectors
    scalar = vectors.dtype._wp_scalar_type_
    size = wp.types.type_size_in_bytes(scalar)
    return wp.array(
        ptr=vectors.ptr,
        dtype=scalar,
        shape=(vectors.shape[0], 3),
        strides=(vectors.strides[0], size),
        device=vectors.device,
        copy=False,
    )
