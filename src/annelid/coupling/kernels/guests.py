"""The arrays of the guests of a spring body among grains."""

import warp as wp

wp.set_module_options({"enable_backward": False})

GONE = -1.0e6
"""Radius of the guests of removed masses [m]: so small that nothing is close to them."""


SPARE = 1.5
"""How much lighter guests are shown than need be for those that touch: with less, light bodies on heavy grains hum."""


@wp.struct
class GuestArrays:
    # Of each surface mass:
    masses: wp.array[wp.int32]  # its number in the body
    present: wp.array[wp.int32]  # 0 once it was removed
    outside: wp.array[wp.vec3]  # external force on it [N]
    loads: wp.array[wp.float32]  # sum of the weights that hang on it
    strains: wp.array[wp.float32]  # and of those alone that touch something
    first_hung: wp.array[wp.int32]  # where the guests that hang on it begin in `hung`
    hung: wp.array[wp.int32]
    hung_weights: wp.array[wp.float32]
    first_turned: wp.array[wp.int32]  # where the guests begin in `turned` that it is around
    turned: wp.array[wp.int32]
    pushed: wp.array[wp.vec3]  # impulse of its guests on it, and the next one expected [N s]
    expected: wp.array[wp.vec3]
    # Of each guest:
    corners: wp.array[wp.vec3i]  # surface masses that it hangs on
    weights: wp.array[wp.vec3]  # and with which weights
    spans: wp.array[wp.vec4i]  # surface masses along which its disc or rod lies
    extents: wp.array[wp.float32]  # radius of its disc, minus half the length of its rod, in distances along these
    widest: wp.float32  # no disc or rod with the radius of its guest is larger [m]
    alive: wp.array[wp.int32]  # 0 once one of them was removed
    touching: wp.array[wp.float32]  # how much it touches something, or is about to
    first: wp.array[wp.int32]  # where the surface masses begin in `around` that it turns with
    around: wp.array[wp.int32]
    heaviest: wp.float32  # smallest inverse mass that contacts reckon with [1/kg]
    pushes: wp.array[wp.vec3]  # impulse, angular impulse, and the next impulse expected, three each
