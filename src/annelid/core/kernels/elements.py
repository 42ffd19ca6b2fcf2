"""Copies of a few elements of an array, for any type of elements."""

from typing import Any

import warp as wp

from annelid.core.kernels.loading import once

wp.set_module_options({"enable_backward": False})


@once
def scatter_kernel(dtype: Any) -> wp.Kernel:
    """A kernel for elements of one type: `values_out[index] = values`."""

    @wp.kernel(module="unique", enable_backward=False)
    def scatter_elements(index: wp.array[wp.int32], values: wp.array[dtype], values_out: wp.array[dtype]):
        i = wp.tid()
        values_out[index[i]] = values[i]

    return scatter_elements


@once
def gather_kernel(dtype: Any) -> wp.Kernel:
    """A kernel for elements of one type: `values_out = values[index]`."""

    @wp.kernel(module="unique", enable_backward=False)
    def gather_some(index: wp.array[wp.int32], values: wp.array[dtype], values_out: wp.array[dtype]):
        i = wp.tid()
        values_out[i] = values[index[i]]

    return gather_some
