"""Arrays, functions and devices of Warp as the copy and pickle modules see them.

Arrays are copied with what is in them, to a device of the same name. Functions and devices are what they are elsewhere,
functions by their module and name, as those of Python.
"""

from __future__ import annotations

import copyreg
from importlib import import_module
from operator import attrgetter
from pickle import PicklingError
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


class _Named:
    """A function: itself in deep copies, by its module and name in pickles, and a new one in other copies.

    Warp copies generic functions for each set of types that they are compiled for.
    """

    def __init__(self, function: wp.Function, *, is_new: bool = True) -> None:
        self.function, self.is_new = function, is_new

    def __deepcopy__(self, memo: dict[int, Any]) -> _Named:
        return _Named(self.function, is_new=False)

    def __reduce__(self) -> tuple[Any, ...]:
        python = self.function.func
        module, name = ("warp", self.function.key) if python is None else (python.__module__, python.__qualname__)
        if "<locals>" in name:
            raise PicklingError(f"{name} of {module} cannot be pickled: define it outside of the function.")
        return _found, (module, name)

    def __call__(self) -> wp.Function:
        if not self.is_new:
            return self.function
        copied = object.__new__(wp.Function)
        vars(copied).update(vars(self.function))
        return copied


def _found(module: str, name: str) -> _Named:
    return _Named(attrgetter(name)(import_module(module)), is_new=False)


def _of_function(function: wp.Function) -> tuple[Any, ...]:
    return _Named.__call__, (_Named(function),)


def _of_device(device: wp.Device) -> tuple[Any, ...]:
    return wp.get_device, (device.alias,)


def _of_read_only(table: MappingProxyType[Any, Any]) -> tuple[Any, ...]:
    return _read_only, (dict(table),)


def _read_only(table: dict[Any, Any]) -> MappingProxyType[Any, Any]:
    return MappingProxyType(table)


copyreg.pickle(MappingProxyType, _of_read_only)  # which pictures have
copyreg.pickle(wp.array, _of_array)
copyreg.pickle(wp.Function, _of_function)
copyreg.pickle(wp.Device, _of_device)
