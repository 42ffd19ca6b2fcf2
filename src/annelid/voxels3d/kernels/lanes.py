"""Forces of links on the CPU: those of neighbouring voxels side by side in the lanes of vector registers.

The formulas are those of `links`, which serve CUDA. A link by itself waits for roots and quotients most of the time;
here four of them wait together. Each lane computes what it would compute alone, so results do not depend on who is in
the other lanes. Lanes of voxels that have no link along an axis compute one to themselves, which is left out of the
sums.
"""

from typing import Any

import warp as wp

from annelid.core.kernels.loading import once
from annelid.voxels3d.kernels.layout import layout
from annelid.voxels3d.kernels.links import BROKEN, PLAIN, SMALL

wp.set_module_options({"enable_backward": False})

_CONSTANTS = (
    "side", "axial", "shear", "bend", "twist - link.bend", "damp", "damp_shear", "damp_bend",
    "damp_twist - link.damp_bend", "arm", "damp_arm",
)  # fmt: skip

_LINKS = f"""
    typedef REAL lanes __attribute__((ext_vector_type(LANES)));
    const REAL* const U = (const REAL*)motion.displacements.data;
    const REAL* const Q = (const REAL*)motion.rotations.data;
    const REAL* const V = (const REAL*)motion.velocities.data;
    const REAL* const W = (const REAL*)motion.spins.data;
    const REAL* const S = motion.sizes.data;
    const REAL* const T = motion.tensions.data;
    const int* const rows = tables.row_of_link.data;
    const int* const beyond = tables.next.data;
    REAL* const F = (REAL*)motion.forces.data;
    REAL* const M = (REAL*)motion.moments.data;
    REAL* const EF = (REAL*)motion.end_forces.data;
    REAL* const EM = (REAL*)motion.end_moments.data;
    const bool balanced = tables.balanced == 1, special = tables.special == 1;
    const lanes one = (REAL)1, half = (REAL)0.5, two = (REAL)2;
    lanes constants[{len(_CONSTANTS)}];
    int known[LANES]; // row that each lane has its constants from
    EACH_LANE known[k] = -1;
    for (int base = first; base < last; base += LANES) {{
        const int count = last - base < LANES ? last - base : LANES;
        int id[LANES];
        lanes u1[3], q1[4], v1[3], w1[3], size;
        EACH_LANE {{
            const int i = base + (k < count ? k : count - 1);
            id[k] = i; size[k] = S[i];
            for (int c = 0; c < 3; ++c) {{ u1[c][k] = U[3 * i + c]; v1[c][k] = V[3 * i + c]; w1[c][k] = W[3 * i + c]; }}
            for (int c = 0; c < 4; ++c) q1[c][k] = Q[4 * i + c];
        }}
        lanes force[3] = {{0, 0, 0}}, moment[3] = {{0, 0, 0}};
        #pragma clang loop unroll(full)
        for (int axis = 0; axis < 3; ++axis) {{
            const int b = (axis + 1) % 3, c = (axis + 2) % 3;
            lanes there; // 1 where there is a link
            int other[LANES], present = 0, changed = 0;
            EACH_LANE {{
                const int slot = 3 * id[k] + axis, row = rows[slot];
                const bool is = row >= 0;
                there[k] = is ? (REAL)1 : (REAL)0;
                other[k] = is ? beyond[slot] : id[k];
                present += is;
                changed |= is && row != known[k];
            }}
            if (present == 0) continue;
            if (changed) {{
                EACH_LANE {{
                    const int row = rows[3 * id[k] + axis];
                    if (row < 0 && known[k] >= 0) continue;
                    known[k] = row < 0 ? 0 : row;
                    const auto& link = tables.links.data[known[k]];
                    const REAL values[] = {{{", ".join("link." + name for name in _CONSTANTS)}}};
                    for (int n = 0; n < {len(_CONSTANTS)}; ++n) constants[n][k] = values[n];
                }}
            }}
            lanes d[3], q2[4], dv[3], w2[3], grown;
            EACH_LANE {{
                const int j = other[k];
                grown[k] = S[j];
                for (int n = 0; n < 3; ++n) {{
                    d[n][k] = U[3 * j + n]; dv[n][k] = V[3 * j + n]; w2[n][k] = W[3 * j + n];
                }}
                for (int n = 0; n < 4; ++n) q2[n][k] = Q[4 * j + n];
            }}
            for (int n = 0; n < 3; ++n) {{ d[n] -= u1[n]; dv[n] -= v1[n]; }}
            const lanes s = constants[0];
            // |d| - s without the difference of two lengths, which would cost float32 its digits
            const lanes excess = two * s * d[axis] + (d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
            d[axis] = s + d[axis];
            const lanes length = __builtin_elementwise_sqrt(s * s + excess);
            const lanes twice = length + s;
            grown = half * (size + grown);
            lanes middle[4];
            for (int n = 0; n < 4; ++n) middle[n] = q1[n] + q2[n];
            const lanes x = middle[axis], y = middle[b], z = middle[c], w = middle[3];
            const lanes square = x * x + y * y + z * z + w * w;
            const lanes denominator = twice * s * grown, across = length * square;
            const lanes quotient = one / (denominator * across);
            const lanes strain = (excess - s * (grown - one) * twice) * (quotient * across);
            const lanes per_length = quotient * (denominator * square), per_square = quotient * (denominator * length);
            lanes u[3], along[3], turn[3], phi[3], dphi[3], g[3], drho[3];
            for (int n = 0; n < 3; ++n) u[n] = d[n] * per_length;
            along[axis] = (w * w + x * x - y * y - z * z) * per_square;
            along[b] = two * (x * y + w * z) * per_square;
            along[c] = two * LESS(x, z, w, y) * per_square;
            CROSS(turn, along, u)
            // q2 q1*
            phi[0] = LESS(q2[0], q1[3], q2[3], q1[0]) + LESS(q2[2], q1[1], q2[1], q1[2]);
            phi[1] = LESS(q2[1], q1[3], q2[3], q1[1]) + LESS(q2[0], q1[2], q2[2], q1[0]);
            phi[2] = LESS(q2[2], q1[3], q2[3], q1[2]) + LESS(q2[1], q1[0], q2[0], q1[1]);
            const lanes cosine = q2[3] * q1[3] + q2[0] * q1[0] + q2[1] * q1[1] + q2[2] * q1[2];
            const lanes bent = two * ANGLE(DOT(phi, phi), cosine);
            const lanes sheared = ANGLE(DOT(turn, turn), DOT(along, u));
            for (int n = 0; n < 3; ++n) {{ phi[n] = bent * phi[n]; turn[n] = sheared * turn[n]; }}
            CROSS(drho, u, dv)
            for (int n = 0; n < 3; ++n) {{
                dphi[n] = w2[n] - w1[n];
                drho[n] = drho[n] * per_length - half * (w1[n] + w2[n]);
            }}
            const lanes spin = DOT(drho, u);
            for (int n = 0; n < 3; ++n) drho[n] = drho[n] - spin * u[n];
            lanes tension = constants[1] * strain;
            if (special) EACH_LANE {{
                const REAL found = T[3 * id[k] + axis];
                if (there[k] != 0 && found > (REAL){PLAIN}) tension[k] = found;
            }}
            const lanes pull = tension + constants[5] * DOT(dv, u);
            for (int n = 0; n < 3; ++n) g[n] = constants[2] * turn[n] + constants[6] * drho[n];
            lanes pair[3], shear[3], bend[3];
            CROSS(pair, g, u)
            for (int n = 0; n < 3; ++n) pair[n] = pull * u[n] + pair[n];
            if (balanced) {{
                const lanes arm = half * length;
                for (int n = 0; n < 3; ++n) shear[n] = arm * g[n];
            }} else {{
                for (int n = 0; n < 3; ++n) shear[n] = constants[9] * turn[n] + constants[10] * drho[n];
            }}
            const lanes twist = constants[4] * DOT(phi, u) + constants[8] * DOT(dphi, u);
            for (int n = 0; n < 3; ++n) bend[n] = constants[3] * phi[n] + constants[7] * dphi[n] + twist * u[n];
            if (special) EACH_LANE if (tension[k] >= (REAL){BROKEN}) {{
                for (int n = 0; n < 3; ++n) pair[n][k] = shear[n][k] = bend[n][k] = 0;
            }}
            if (present < LANES) for (int n = 0; n < 3; ++n) {{
                pair[n] *= there; shear[n] *= there; bend[n] *= there;
            }}
            for (int n = 0; n < 3; ++n) {{
                force[n] += pair[n];
                moment[n] += shear[n] + bend[n];
                shear[n] -= bend[n];
            }}
            EACH_LANE if (there[k] != 0) {{
                REAL* const ef = EF + 3 * (3 * id[k] + axis); REAL* const em = EM + 3 * (3 * id[k] + axis);
                for (int n = 0; n < 3; ++n) {{ ef[n] = -pair[n][k]; em[n] = shear[n][k]; }}
            }}
        }}
        for (int k = 0; k < count; ++k)
            for (int n = 0; n < 3; ++n) {{ F[3 * id[k] + n] = force[n][k]; M[3 * id[k] + n] = moment[n][k]; }}
    }}
"""

_HEAD = f"""
#define EACH_LANE _Pragma("clang loop unroll(full)") for (int k = 0; k < LANES; ++k)
#define DOT(A, B) (A[0] * B[0] + A[1] * B[1] + A[2] * B[2])
// A B - C D; told outright, since compilers fuse the first product and then have to turn the sign of the second
#if defined(__FMA__) || defined(__aarch64__)
    #define LESS(A, B, C, D) __builtin_elementwise_fma(-(C), (D), (A) * (B))
#else
    #define LESS(A, B, C, D) ((A) * (B) - (C) * (D))
#endif
#define CROSS(R, A, B) {{ R[0] = LESS(A[1], B[2], A[2], B[1]); R[1] = LESS(A[2], B[0], A[0], B[2]); \\
    R[2] = LESS(A[0], B[1], A[1], B[0]); }}
// Angle over its sine, see `links.angle_per_sine`
#define ANGLE(SQUARE, COSINE) ({{ \\
    lanes s_ = (SQUARE), c_ = (COSINE), p_ = (REAL)1; \\
    const bool large_ = __builtin_reduce_max(s_) >= (REAL){SMALL} || __builtin_reduce_min(c_) <= 0; \\
    if (large_) EACH_LANE {{ \\
        REAL a_ = s_[k], e_ = c_[k], r_ = 1; \\
        while (a_ >= (REAL){SMALL} || e_ <= 0) {{ \\
            a_ = (REAL)0.5 * ((REAL)1 - e_); \\
            e_ = (REAL)0.5 * ((REAL)1 + e_); \\
            e_ = __builtin_elementwise_sqrt(e_ > (REAL)1e-30 ? e_ : (REAL)1e-30); \\
            r_ *= e_; \\
        }} \\
        s_[k] = a_; p_[k] = (REAL)1 / r_; \\
    }} \\
    const lanes t_ = s_ * s_; \\
    const lanes low_ = (REAL)1 + s_ * (REAL)(1.0 / 6.0) + t_ * ((REAL)(3.0 / 40.0) + s_ * (REAL)(5.0 / 112.0)); \\
    const lanes high_ = (REAL)(35.0 / 1152.0) + s_ * (REAL)(63.0 / 2816.0) + t_ * (REAL)(231.0 / 13312.0); \\
    lanes r_ = low_ + (t_ * t_) * high_; \\
    if (large_) r_ *= p_; \\
    r_; }})
"""

_UNDEFINE = "#undef EACH_LANE\n#undef DOT\n#undef LESS\n#undef CROSS\n#undef ANGLE\n"


@once
def link_lanes(real: Any) -> wp.Function:
    """Forces and moments of the links of some voxels along +x, +y and +z, on the CPU."""
    types = layout(real)
    Tables, Motion = types.Tables, types.Motion
    scalar = "float" if real is wp.float32 else "double"
    # A function of its own: it is called from two places, and registers are short without what is around it.
    body = f"const auto all = [&]() __attribute__((noinline)) {{\n{_LINKS}}};\nall();\n"
    source = f"#if !defined(__CUDA_ARCH__)\n{_HEAD}{body}{_UNDEFINE}#endif\n"
    source = source.replace("REAL", scalar).replace("LANES", "4")

    @wp.func_native(source)
    def links_of(first: int, last: int, tables: Tables, motion: Motion): ...

    return links_of
