"""What two surfaces make of their values, on the device, in single or double precision alike."""
# Annotations are not postponed here: Warp reads the types of the function below from its closure.

from typing import Any

import warp as wp

wp.set_module_options({"enable_backward": False})


@wp.func
def mixed(one: Any, other: Any):
    """The geometric mean of two values, but of one below 0, which is not stated, the other; see `shapes.surface`."""
    product = one * other
    result = wp.max(one, other)
    if product >= type(product)(0.0):
        result = wp.sqrt(product)
    return result
