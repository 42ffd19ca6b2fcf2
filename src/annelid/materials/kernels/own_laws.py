"""A user's energy, differentiated for the host."""
# Annotations are not postponed here: Warp reads the types of the kernels below from their closures.

from typing import Any

import warp as wp

from annelid.core.kernels.loading import once

wp.set_module_options({"enable_backward": False})

OWN_CONSTANTS = 8
"""Most constants of a user's law."""

Constants = wp.types.vector(length=OWN_CONSTANTS, dtype=wp.float64)
"""The constants that a user's energy is given."""


@once
def stretch_probe(energy: Any) -> Any:
    """The kernel that differentiates an energy of stretches."""

    @wp.kernel(module="unique", enable_backward=False)
    def probe(constants: Constants, stretches: wp.array[wp.vec3d], tensions_out: wp.array[wp.vec3d]):
        i = wp.tid()
        slopes, _row = wp.grad(energy)(stretches[i], constants)
        tensions_out[i] = slopes

    return probe


@once
def invariant_probe(energy: Any) -> Any:
    """The kernel that differentiates an energy of invariants with respect to stretches."""

    @wp.kernel(module="unique", enable_backward=False)
    def probe(constants: Constants, stretches: wp.array[wp.vec3d], tensions_out: wp.array[wp.vec3d]):
        i = wp.tid()
        s = stretches[i]
        squares = wp.cw_mul(s, s)
        i1 = squares[0] + squares[1] + squares[2]
        i2 = wp.float64(0.5) * (i1 * i1 - wp.dot(squares, squares))
        one, two, _row = wp.grad(energy)(i1, i2, constants)
        tensions_out[i] = wp.float64(2.0) * wp.cw_mul(s, wp.vec3d(one + two * i1) - two * squares)

    return probe
