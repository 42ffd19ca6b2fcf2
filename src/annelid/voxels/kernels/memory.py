"""Where a robot's working data lie while it steps: in shared memory of a CUDA block, or in place.

Physics addresses them through plain pointers, so that one source serves both. A group of threads (a CUDA block, or one
thread on the CPU) works on one world; `group_barrier` keeps its members together.
"""

from typing import Any

import warp as wp

from annelid.core.kernels.loading import once

wp.set_module_options({"enable_backward": False})


@wp.func_native("""
#if defined(__CUDA_ARCH__)
    if (width > 1) __syncthreads();
#endif
""")
def group_barrier(width: int):
    """Wait for all members of the group of threads that share a world."""


@once
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


@once
def address(dtype: Any) -> wp.Function:
    """Address of an element of an array."""

    @wp.func_native("return (uint64_t)(a.data + i);\n")
    def of(a: wp.array[dtype], i: int) -> wp.uint64: ...

    return of


@once
def load(vec: Any, bits: int) -> wp.Function:
    """Vector number i of four numbers from an address."""
    plain = "wp::vec_t<4, float>" if bits == 32 else "wp::vec_t<4, double>"
    wide = {
        32: f"const float4 q = ((const float4*)p)[i]; return {plain}(q.x, q.y, q.z, q.w);",
        64: "const double2 q = ((const double2*)p)[2 * i], r = ((const double2*)p)[2 * i + 1];"
        f"return {plain}(q.x, q.y, r.x, r.y);",
    }[bits]
    source = f"#if defined(__CUDA_ARCH__)\n{wide}\n#else\nreturn ((const {plain}*)p)[i];\n#endif\n"

    @wp.func_native(source)
    def at(p: wp.uint64, i: int) -> vec: ...

    return at


@once
def store(vec: Any, bits: int) -> wp.Function:
    """Write vector number i of four numbers to an address."""
    plain = "wp::vec_t<4, float>" if bits == 32 else "wp::vec_t<4, double>"
    wide = {
        32: "((float4*)p)[i] = make_float4(v.c[0], v.c[1], v.c[2], v.c[3]);",
        64: "((double2*)p)[2 * i] = make_double2(v.c[0], v.c[1]);"
        "((double2*)p)[2 * i + 1] = make_double2(v.c[2], v.c[3]);",
    }[bits]
    source = f"#if defined(__CUDA_ARCH__)\n{wide}\n#else\n(({plain}*)p)[i] = v;\n#endif\n"

    @wp.func_native(source)
    def at(p: wp.uint64, i: int, v: vec): ...

    return at
