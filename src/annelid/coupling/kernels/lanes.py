"""Sums over threads that share a guest or a mass on CUDA, which waits for memory; a CPU thread has it for itself."""

import warp as wp

from annelid.grains.kernels.rows import GROUP_OF_LANES

wp.set_module_options({"enable_backward": False})

MASS_LANES, GUEST_LANES = 16, 8
"""Threads that share a mass of the surface, and a guest, on CUDA: about as many masses are around a guest."""


@wp.func_native(
    f"""
    float sum = value;
#if defined(__CUDA_ARCH__)
    const unsigned group = {GROUP_OF_LANES};
    for (int hop = lanes >> 1; hop > 0; hop >>= 1) sum += __shfl_xor_sync(group, sum, hop);
#endif
    return sum;
"""
)
def over_lanes(value: float, lanes: int) -> float:
    """Sum over the lanes that share something, which each of them is told."""


@wp.func
def vector_over_lanes(value: wp.vec3, lanes: int) -> wp.vec3:
    """The same of a vector."""
    return wp.vec3(over_lanes(value[0], lanes), over_lanes(value[1], lanes), over_lanes(value[2], lanes))
