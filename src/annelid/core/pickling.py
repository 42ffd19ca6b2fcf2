"""Arrays, functions and devices of Warp as the copy and pickle modules see them.

Arrays are copied with what is in them, to a device of the same name. Functions and devices are what they are elsewhere,
functions by their module and name, as those of Python.
"""

from __future__ import annotations

import copyreg
from types import MappingProxyType
from typing import Any

import numpy as np
import warp as wp

import annelid.core.device  # noqa: F401  starts Warp quietly


def _of_array(array: wp.array[Any]) -> tuple[Any, ...]:
    return _array, (array.numpy(), _of_type(array.dtype), array.shape, str(array.device))


def _array(values: np.ndarray, dtype: Any, shape: tuple[int, ...], device: str) -> wp.array[Any]:
    kind = _type(*dtype) if isinstance(dtype, tuple) else dtype
    if not values.size:
        return wp.zeros(shape, dtype=kind, device=device)
    return wp.array(values, dtype=kind, device=device, shape=shape)


def _of_type(dtype: Any) -> Any:
    """A type that is known by its name, or what a vector or matrix of any other size is made of."""
    if "<locals>" not in dtype.__qualname__:
        return dtype
    return tuple(dtype._shape_), dtype._wp_scalar_type_


def _type(shape: tuple[int, ...], scalar: Any) -> Any:
    return wp.types.vector(shape[0], scalar) if len(shape) == 1 else wp.types.matrix(shape, scalar)


def _of_function(function: wp.Function) -> str:
    return function.key if function.func is None else function.func.__qualname__


def _copied(function: wp.Function) -> wp.Function:
    """A function of its own, as `copy.copy` made it before: Warp copies generic ones for each precision."""
    copied = object.__new__(wp.Function)
    vars(copied).update(vars(function))
    return copied


def _of_device(device: wp.Device) -> tuple[Any, ...]:
    return wp.get_device, (device.alias,)


def _of_read_only(table: MappingProxyType[Any, Any]) -> tuple[Any, ...]:
    return _read_only, (dict(table),)


def _read_only(table: dict[Any, Any]) -> MappingProxyType[Any, Any]:
    return MappingProxyType(table)


copyreg.pickle(MappingProxyType, _of_read_only)  # which pictures have
copyreg.pickle(wp.array, _of_array)
copyreg.pickle(wp.Function, _of_function)
type.__setattr__(wp.Function, "__copy__", _copied)
copyreg.pickle(wp.Device, _of_device)
