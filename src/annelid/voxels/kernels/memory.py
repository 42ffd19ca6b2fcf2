"""Where a robot's working data lie while it steps: in shared memory of a CUDA block, or in place.

Physics addresses them through plain pointers, so that one source serves both. A group of threads (a CUDA block, or one
thread on the CPU) works on one world; `group_barrier` keeps its members together.
"""

import functools
from typing import Any

import warp as wp

wp.set_module_options({"enable_backward": False})


@wp.func_native("""
#if defined(__CUDA_ARCH__)
    if (width > 1) __syncthreads();
#endif
""")
def group_barrier(width: int):
    """Wait for all members of the group of threads that share a world."""


@functools.cache
def shared_block(bits: int, quads: int) -> wp.Function:
    """Address of a block of shared memory for `quads` vectors of four numbers (CUDA; 0 elsewhere)."""
    scalar = "float" if bits == 32 else "double"

    source = f"""
#if defined(__CUDA_ARCH__)
    __shared__ __align__(16) {scalar} block[4 * {max(quads, 1)}];
    return (uint64_t)block;
#else
    return 0;
#endif
"""

    @wp.func_native(source)
    def block() -> wp.uint64: ...

    return block


@functools.cache
def address(dtype: Any) -> wp.Function:
    """Address of an element of an array."""

    @wp.func_native("return (uint64_t)(a.data + i);\n")
    def of(a: wp.array(dtype=dtype), i: int) -> wp.uint64: ...

    return of


@functools.cache
def load(vec: Any, length: int, bits: int) -> wp.Function:
    """Vector number i from an address."""
    scalar = "float" if bits == 32 else "double"

    @wp.func_native(f"return ((const wp::vec_t<{length}, {scalar}>*)p)[i];\n")
    def at(p: wp.uint64, i: int) -> vec: ...

    return at


@functools.cache
def store(vec: Any, length: int, bits: int) -> wp.Function:
    """Write vector number i to an address."""
    scalar = "float" if bits == 32 else "double"

    @wp.func_native(f"((wp::vec_t<{length}, {scalar}>*)p)[i] = v;\n")
    def at(p: wp.uint64, i: int, v: vec): ...

    return at
