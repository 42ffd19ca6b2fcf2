"""Copies of a few elements of an array, for any type of elements."""

import functools
from typing import Any

import warp as wp

wp.set_module_options({"enable_backward": False})


@functools.cache
def scatter_kernel(dtype: Any) -> wp.Kernel:
    """A kernel for elements of one type: `values_out[index] = values`."""

    @wp.kernel(module="unique", enable_backward=False)
    def scatter_elements(index: wp.array[wp.int32], values: wp.array[dtype], values_out: wp.array[dtype]):
        i = wp.tid()
        values_out[index[i]] = values[i]

    return scatter_elements


@functools.cache
def gather_kernel(dtype: Any) -> wp.Kernel:
    """A kernel for elements of one type: `values_out = values[index]`."""

    @wp.kernel(module="unique", enable_backward=False)
    def gather_some(index: wp.array[wp.int32], values: wp.array[dtype], values_out: wp.array[dtype]):
        i = wp.tid()
        values_out[i] = values[index[i]]

    return gather_some
