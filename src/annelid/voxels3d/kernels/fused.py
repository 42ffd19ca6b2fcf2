"""Products and sums in one instruction, where the code says so and nowhere else (CUDA).

Left to itself the compiler fuses a·b + c as the code around it happens to suit, and the same function has other last
bits in another kernel. Kernels that must agree to the bit are compiled with `SEPARATE` and fuse by hand what is most of
their work.
"""

from typing import Any

import warp as wp

from annelid.core.kernels.loading import once
from annelid.voxels3d.kernels.layout import layout

wp.set_module_options({"enable_backward": False})

SEPARATE = {"fuse_fp": False}
"""Options of a module in which every product and every sum is rounded by itself, but for those of `fma_of`."""


@once
def fma_of(real: Any) -> wp.Function:
    """The function a b + c, rounded once on CUDA."""
    fused = "__fmaf_rn" if real is wp.float32 else "__fma_rn"
    source = f"#if defined(__CUDA_ARCH__)\nreturn {fused}(a, b, c);\n#else\nreturn a * b + c;\n#endif\n"

    @wp.func_native(source)
    def fma(a: real, b: real, c: real) -> real: ...

    return fma


@once
def vectors(real: Any) -> tuple[wp.Function, wp.Function, wp.Function]:
    """Dot product, cross product, and a vector plus a multiple of another."""
    vec3, fma = layout(real).vec3, fma_of(real)

    @wp.func
    def dot(a: vec3, b: vec3) -> real:
        return fma(a[2], b[2], fma(a[1], b[1], a[0] * b[0]))

    @wp.func
    def cross(a: vec3, b: vec3) -> vec3:
        return vec3(fma(a[1], b[2], -(a[2] * b[1])), fma(a[2], b[0], -(a[0] * b[2])), fma(a[0], b[1], -(a[1] * b[0])))

    @wp.func
    def plus(a: vec3, factor: real, b: vec3) -> vec3:
        return vec3(fma(factor, b[0], a[0]), fma(factor, b[1], a[1]), fma(factor, b[2], a[2]))

    return dot, cross, plus


@once
def quaternions(real: Any) -> tuple[wp.Function, wp.Function, wp.Function]:
    """Squared length, a quaternion times the conjugate of another, and what one makes of an axis."""
    types = layout(real)
    vec3, quat, fma = types.vec3, types.quat, fma_of(real)

    @wp.func
    def squared(q: quat) -> real:
        return fma(q[3], q[3], fma(q[2], q[2], fma(q[1], q[1], q[0] * q[0])))

    @wp.func
    def between(a: quat, b: quat) -> quat:
        return quat(
            fma(a[0], b[3], fma(a[2], b[1], fma(-a[1], b[2], -(a[3] * b[0])))),
            fma(a[1], b[3], fma(a[0], b[2], fma(-a[2], b[0], -(a[3] * b[1])))),
            fma(a[2], b[3], fma(a[1], b[0], fma(-a[0], b[1], -(a[3] * b[2])))),
            fma(a[3], b[3], fma(a[0], b[0], fma(a[1], b[1], a[2] * b[2]))),
        )

    @wp.func
    def image(axis: int, q: quat) -> vec3:
        """A column of the rotation matrix of a quaternion of any length, times the square of that."""
        x, y, z, w = q[0], q[1], q[2], q[3]
        two = real(2.0)
        if axis == 0:
            return vec3(fma(w, w, fma(x, x, -fma(y, y, z * z))), two * fma(x, y, w * z), two * fma(x, z, -(w * y)))
        if axis == 1:
            return vec3(two * fma(x, y, -(w * z)), fma(w, w, fma(y, y, -fma(x, x, z * z))), two * fma(y, z, w * x))
        return vec3(two * fma(x, z, w * y), two * fma(y, z, -(w * x)), fma(w, w, fma(z, z, -fma(x, x, y * y))))

    return squared, between, image
