"""Loads and sums that CUDA does better when told more: memory that nobody writes meanwhile, lanes that share a sum."""

from typing import Any

import warp as wp

from annelid.core.kernels.loading import once

wp.set_module_options({"enable_backward": False})


@once
def constant_load(kind: Any, length: int, scalar: str) -> wp.Function:
    """Load of `length` numbers (1, 2 or 4) from an array that no thread writes during the launch.

    The compiler may then ask for what the next spring needs before it has stored what this one gave.
    """
    size = length * (8 if scalar == "double" else 4)
    made = scalar if length == 1 else f"wp::vec_t<{length}, {scalar}>"
    if length == 1:
        cuda = f"return __ldg((const {scalar}*)a.data + i);"
    elif size <= 16:
        members = ", ".join(f"q.{c}" for c in "xyzw"[:length])
        cuda = f"const {scalar}{length} q = __ldg((const {scalar}{length}*)a.data + i); return {made}({members});"
    else:
        cuda = (
            f"const {scalar}2 p = __ldg((const {scalar}2*)a.data + 2 * i), q = __ldg((const {scalar}2*)a.data + 2 * i "
            f"+ 1); return {made}(p.x, p.y, q.x, q.y);"
        )
    plain = f"return ((const {made}*)a.data)[i];"

    @wp.func_native(f"#if defined(__CUDA_ARCH__)\n{cuda}\n#else\n{plain}\n#endif\n")
    def load(a: wp.array[kind], i: int) -> kind: ...

    return load


@once
def lane_total(real: Any, lanes: int) -> wp.Function:
    """Sum of a number over neighbouring lanes of a warp, in a fixed order; every lane gets it."""
    hops = "".join(f"value += __shfl_xor_sync(0xffffffffu, value, {hop});\n" for hop in (16, 8, 4, 2, 1) if hop < lanes)

    @wp.func_native(f"#if defined(__CUDA_ARCH__)\n{hops}#endif\nreturn value;\n")
    def total(value: real) -> real: ...

    return total
