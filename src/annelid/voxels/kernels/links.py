"""Forces of spring-dampers and ropes.

The four springs of a side (external, internal, two crossing) join the same two bodies: they are the four lanes of a
vector register on the CPU and an unrolled loop on CUDA, from one text. Links are numbered: four sides a voxel, then two
central springs a voxel, then, where voxels are actuated by force, four pulls a voxel. Each leaves (fx, fy, moment on
its first body, moment on its second).
"""

import warp as wp

from annelid.core.kernels.loading import once
from annelid.voxels.kernels.layout import (
    CORNER_STRIDE,
    M_BETA,
    M_CENTRAL,
    M_FORCE,
    M_MASK,
    M_OMEGA2,
    M_ROPE,
    M_ROPE_C,
    M_ROPE_K,
    M_ROPE_SIGN,
    M_SOFT,
    M_SPIN,
    MATERIAL_STRIDE,
    Layout,
)

wp.set_module_options({"enable_backward": False})

_ROPE_MARGIN = 0.3
"""A rope is watched through a step that it begins within this distance of its limit [m]."""
_ROPE_GAIN = 0.1
"""Share of a rope's violation that its standing tension learns a step: a rope at rest has its proper length."""

_WIDE = {
    "float": """
#if defined(__CUDA_ARCH__)
    #define WIDE_READ(X, P) { const float4 q_ = *(const float4*)(P); \\
        (X)[0] = q_.x; (X)[1] = q_.y; (X)[2] = q_.z; (X)[3] = q_.w; }
    #define WIDE_WRITE(P, A, B, C, D) *(float4*)(P) = make_float4(A, B, C, D);
#endif
""",
    "double": """
#if defined(__CUDA_ARCH__)
    #define WIDE_READ(X, P) { const double2 q_ = *(const double2*)(P), r_ = *(const double2*)((P) + 2); \\
        (X)[0] = q_.x; (X)[1] = q_.y; (X)[2] = r_.x; (X)[3] = r_.y; }
    #define WIDE_WRITE(P, A, B, C, D) \\
        { *(double2*)(P) = make_double2(A, B); *(double2*)((P) + 2) = make_double2(C, D); }
#endif
""",
}
"""Reads and writes of four numbers at once on CUDA; all rows of four begin at multiples of their size."""

_LANES = """
#if defined(__CUDA_ARCH__)
    struct lanes {
        REAL c[4];
        CUDA_CALLABLE lanes() {}
        CUDA_CALLABLE lanes(REAL x) { c[0] = c[1] = c[2] = c[3] = x; }
        CUDA_CALLABLE lanes operator+(const lanes& o) const {
            lanes r; for (int i = 0; i < 4; ++i) r.c[i] = c[i] + o.c[i]; return r; }
        CUDA_CALLABLE lanes operator-(const lanes& o) const {
            lanes r; for (int i = 0; i < 4; ++i) r.c[i] = c[i] - o.c[i]; return r; }
        CUDA_CALLABLE lanes operator*(const lanes& o) const {
            lanes r; for (int i = 0; i < 4; ++i) r.c[i] = c[i] * o.c[i]; return r; }
        CUDA_CALLABLE lanes operator/(const lanes& o) const {
            lanes r; for (int i = 0; i < 4; ++i) r.c[i] = c[i] / o.c[i]; return r; }
        static CUDA_CALLABLE lanes load(const REAL* p) { lanes r; WIDE_READ(r.c, p) return r; }
        static CUDA_CALLABLE lanes pairs(REAL a, REAL b) {
            lanes r; r.c[0] = r.c[1] = a; r.c[2] = r.c[3] = b; return r; }
        CUDA_CALLABLE void save(REAL* p) const { WIDE_WRITE(p, c[0], c[1], c[2], c[3]) }
        CUDA_CALLABLE lanes inverse_root() const {
            lanes r; for (int i = 0; i < 4; ++i) r.c[i] = RSQRT(c[i] > (REAL)1e-20 ? c[i] : (REAL)1e-20); return r; }
        CUDA_CALLABLE REAL sum() const { return (c[0] + c[1]) + (c[2] + c[3]); }
    };
    #define LOAD(P) lanes::load(P)
    #define SAVE(P, X) (X).save(P);
    #define INVERSE_ROOT(X) (X).inverse_root()
    #define PAIRS(A, B) lanes::pairs(A, B)
    #define SUMS(X, A, B, C, D) { (X)[0] = (A).sum(); (X)[1] = (B).sum(); (X)[2] = (C).sum(); (X)[3] = (D).sum(); }
    #define FOUR(X, P) REAL X[4]; WIDE_READ(X, P)
    #define PUT(P, A, B, C, D) WIDE_WRITE(P, A, B, C, D)
    #define INVERSE(X) RSQRT((X) > tiny ? (X) : tiny)
#else
    typedef REAL lanes __attribute__((ext_vector_type(4)));
    #define LOAD(P) ({ lanes r_; __builtin_memcpy(&r_, (P), sizeof(lanes)); r_; })
    #define SAVE(P, X) { const lanes x_ = (X); __builtin_memcpy((P), &x_, sizeof(lanes)); }
    #define INVERSE_ROOT(X) ({ const lanes x_ = (X), t_ = tiny; \\
        (lanes)((REAL)1) / __builtin_elementwise_sqrt(__builtin_elementwise_max(x_, t_)); })
    #define PAIRS(A, B) ((lanes){(A), (A), (B), (B)})
    #define FOUR(X, P) const REAL* const X = (P);
    #define PUT(P, A, B, C, D) { (P)[0] = (A); (P)[1] = (B); (P)[2] = (C); (P)[3] = (D); }
    #define INVERSE(X) ((REAL)1 / wp::sqrt((X) > tiny ? (X) : tiny))
    #define MIX __builtin_shufflevector
    #define SUMS(P, A, B, C, D) { \\
        const lanes ab_ = MIX(A, B, 0, 4, 1, 5) + MIX(A, B, 2, 6, 3, 7); \\
        const lanes cd_ = MIX(C, D, 0, 4, 1, 5) + MIX(C, D, 2, 6, 3, 7); \\
        SAVE(P, MIX(ab_, cd_, 0, 1, 4, 5) + MIX(ab_, cd_, 2, 3, 6, 7)) }
#endif
"""

_UNDEFINE = """
#undef REAL
#undef RSQRT
#undef LOAD
#undef SAVE
#undef INVERSE_ROOT
#undef PAIRS
#undef FOUR
#undef PUT
#undef INVERSE
#undef WIDE_READ
#undef WIDE_WRITE
#undef SUMS
#undef MIX
#undef STIFFER
#undef SLOWER
"""

_SIDES = f"""
    const REAL* const P = (const REAL*)positions;
    const REAL* const V = (const REAL*)velocities;
    REAL* const K = (REAL*)stiffness;
    REAL* const F = (REAL*)links;
    const REAL* const L = (const REAL*)lengths;
    const int first_link[4] = {{0, 1, 3, 0}}, second_link[4] = {{1, 2, 2, 3}};
    for (int s = lane; s < 4 * voxel_count; s += width) {{
        const int voxel = s >> 2, side = s & 3, row = 4 * shape_voxel + s;
        const int a = side_bodies.data[row].c[0], b = side_bodies.data[row].c[1];
        const int kind = shape_material + material_of.data[shape_voxel + voxel];
        const REAL* const m = materials.data + {MATERIAL_STRIDE} * kind;
        FOUR(pa, P + 4 * a) FOUR(pb, P + 4 * b) FOUR(va, V + 4 * a) FOUR(vb, V + 4 * b)
        const REAL ca = pa[2], sa = pa[3], cb = pb[2], sb = pb[3];
        const REAL wa = va[2], wb = vb[2];
        // The centres of the two masses about those of their bodies, and how one moves against the other.
        const int mass = 4 * (shape_voxel + voxel);
        const auto ga = mass_arm.data[mass + first_link[side]], gb = mass_arm.data[mass + second_link[side]];
        const REAL rax = ga.c[0] * ca - ga.c[1] * sa, ray = ga.c[0] * sa + ga.c[1] * ca;
        const REAL rbx = gb.c[0] * cb - gb.c[1] * sb, rby = gb.c[0] * sb + gb.c[1] * cb;
        const REAL rx = pb[0] - pa[0] + rbx - rax, ry = pb[1] - pa[1] + rby - ray;
        const REAL dvx = vb[0] - va[0] - wb * rby + wa * ray, dvy = vb[1] - va[1] + wb * rbx - wa * rax;
        // Corners about the centres of their masses: the same numbers for a side of a material, wherever it is.
        const REAL* const corner = corners.data + {CORNER_STRIDE} * kind + 16 * side;
        const lanes a0 = LOAD(corner), a1 = LOAD(corner + 4), b0 = LOAD(corner + 8), b1 = LOAD(corner + 12);
        const lanes ax = a0 * lanes(ca) - a1 * lanes(sa), ay = a0 * lanes(sa) + a1 * lanes(ca);
        const lanes bx = b0 * lanes(cb) - b1 * lanes(sb), by = b0 * lanes(sb) + b1 * lanes(cb);
        const lanes dx = bx - ax + lanes(rx), dy = by - ay + lanes(ry);
        const lanes inverse = INVERSE_ROOT(dx * dx + dy * dy);
        const lanes rate = (lanes(dvx) - by * lanes(wb) + ay * lanes(wa)) * dx
                         + (lanes(dvy) + bx * lanes(wb) - ax * lanes(wa)) * dy;
        lanes k;
        if (first) {{
            // 1/m_eff = sum over both masses of 1/m + (r x n)²/I, with the masses as they are turned now
            const lanes ra = ax * dy - ay * dx, rb = bx * dy - by * dx;
            k = LOAD(m + {M_MASK}) * lanes(m[{M_OMEGA2}])
              / (lanes(m[{M_SOFT}]) + (ra * ra + rb * rb) * inverse * inverse * lanes(m[{M_SPIN}])) STIFFER;
            SAVE(K + 4 * s, k)
        }} else {{
            k = LOAD(K + 4 * s);
        }}
        const lanes rest = PAIRS(L[4 * voxel], L[4 * voxel + 1]);
        const lanes pull = k * (lanes(1) - (rest - rate * inverse * lanes(m[{M_BETA}] SLOWER)) * inverse);
        const lanes fx = pull * dx, fy = pull * dy;
        REAL total[4]; // force, moments about the centres of the masses
        SUMS(total, fx, fy, ax * fy - ay * fx, bx * fy - by * fx)
        // The rope between the centres of the two masses; -1 where it is too far from its limit to be watched.
        const REAL sign = m[{M_ROPE_SIGN}];
        REAL tension = ropes.data[rope_begin + s];
        if (sign != 0 && (first || tension >= 0)) {{
            const REAL square = rx * rx + ry * ry, away = INVERSE(square), distance = square * away;
            const REAL over = sign * (m[{M_ROPE}] - distance);
            const REAL unit = m[{M_ROPE_K}] * (REAL)(substeps * substeps);
            if (first) {{
                tension = tension < 0 ? (REAL)0 : tension + (REAL){_ROPE_GAIN} * unit * over;
                tension = over < (REAL)-{_ROPE_MARGIN} ? (REAL)-1 : (tension > 0 ? tension : (REAL)0);
                ropes.data[rope_begin + s] = tension;
            }}
            if (tension >= 0) {{
                const REAL speed = (dvx * rx + dvy * ry) * away;
                REAL force = tension + unit * over;
                if (force > 0) {{
                    force -= sign * m[{M_ROPE_C}] * (REAL)substeps * speed;
                    force = force > 0 ? -sign * force * away : (REAL)0;
                    total[0] += force * rx; total[1] += force * ry;
                }}
            }}
        }}
        PUT(F + 4 * s, total[0], total[1], total[2] + rax * total[1] - ray * total[0],
            total[3] + rbx * total[1] - rby * total[0])
    }}
    for (int i = lane; i < 2 * voxel_count; i += width) {{
        const int voxel = i >> 1, mass = 4 * (shape_voxel + voxel) + (i & 1);
        const int a = mass_body.data[mass], b = mass_body.data[mass + 2];
        const int kind = shape_material + material_of.data[shape_voxel + voxel];
        const REAL* const m = materials.data + {MATERIAL_STRIDE} * kind;
        FOUR(pa, P + 4 * a) FOUR(pb, P + 4 * b) FOUR(va, V + 4 * a) FOUR(vb, V + 4 * b)
        const auto ga = mass_arm.data[mass], gb = mass_arm.data[mass + 2];
        const REAL ax = ga.c[0] * pa[2] - ga.c[1] * pa[3], ay = ga.c[0] * pa[3] + ga.c[1] * pa[2];
        const REAL bx = gb.c[0] * pb[2] - gb.c[1] * pb[3], by = gb.c[0] * pb[3] + gb.c[1] * pb[2];
        const REAL dx = pb[0] - pa[0] + bx - ax, dy = pb[1] - pa[1] + by - ay;
        const REAL square = dx * dx + dy * dy, inverse = INVERSE(square);
        const REAL rate = (vb[0] - va[0] - vb[2] * by + va[2] * ay) * dx
                        + (vb[1] - va[1] + vb[2] * bx - va[2] * ax) * dy;
        const REAL k = m[{M_CENTRAL}] STIFFER, beta = m[{M_BETA}] SLOWER;
        const REAL pull = k * ((REAL)1 - (L[4 * voxel + 2] - rate * inverse * beta) * inverse);
        const REAL fx = pull * dx, fy = pull * dy;
        PUT(F + 4 * (4 * voxel_count + i), fx, fy, ax * fy - ay * fx, bx * fy - by * fx)
    }}
"""

_PULLS = """
    for (int voxel = lane; voxel < voxel_count; voxel += width) {
        const int mass = 4 * (shape_voxel + voxel);
        REAL rx[4], ry[4], dx[4], dy[4], cx = 0, cy = 0, mx = 0, my = 0;
        for (int i = 0; i < 4; ++i) {
            const REAL* const p = P + 4 * mass_body.data[mass + i];
            const auto g = mass_arm.data[mass + i];
            rx[i] = g.c[0] * p[2] - g.c[1] * p[3]; ry[i] = g.c[0] * p[3] + g.c[1] * p[2];
            dx[i] = p[0] + rx[i]; dy[i] = p[1] + ry[i];
            cx += (REAL)0.25 * dx[i]; cy += (REAL)0.25 * dy[i];
        }
        for (int i = 0; i < 4; ++i) {
            dx[i] = cx - dx[i]; dy[i] = cy - dy[i];
            const REAL square = dx[i] * dx[i] + dy[i] * dy[i], inverse = INVERSE(square);
            dx[i] *= inverse; dy[i] *= inverse;
            mx += (REAL)0.25 * dx[i]; my += (REAL)0.25 * dy[i];
        }
        const REAL force = L[4 * voxel + 3]; // control value times the largest force [N]
        for (int i = 0; i < 4; ++i) {
            // Less the mean, so that a robot cannot pull itself up by its own bootstraps.
            const REAL fx = force * (dx[i] - mx), fy = force * (dy[i] - my);
            REAL* const f = F + 4 * (6 * voxel_count + 4 * voxel + i);
            f[0] = fx; f[1] = fy; f[2] = rx[i] * fy - ry[i] * fx; f[3] = 0;
        }
    }
"""


@once
def link_forces(types: Layout, forced: bool, varied: bool) -> wp.Function:
    """Forces of all links of a world, written to `links`; `first` recomputes stiffness from the present geometry.

    Where worlds are `varied`, stiffness and damping times are multiplied by `stiffer` and `slower`.
    """
    real, vec2 = types.real, types.vec2
    scalar, root = ("float", "rsqrtf") if real is wp.float32 else ("double", "rsqrt")
    head = f"#define REAL {scalar}\n#define RSQRT {root}\nconst {scalar} tiny = ({scalar})1e-20;\n"
    stiffer, slower = ("* stiffer", "* slower") if varied else ("", "")
    head += f"#define STIFFER {stiffer}\n#define SLOWER {slower}\n"

    @wp.func_native(head + _WIDE[scalar] + _LANES + _SIDES + (_PULLS if forced else "") + _UNDEFINE)
    def forces(
        lane: int,
        width: int,
        first: bool,
        substeps: int,
        voxel_count: int,
        shape_voxel: int,
        shape_material: int,
        rope_begin: int,
        stiffer: real,
        slower: real,
        materials: wp.array[real],
        corners: wp.array[real],
        material_of: wp.array[wp.int32],
        side_bodies: wp.array[wp.vec2i],
        mass_body: wp.array[wp.int32],
        mass_arm: wp.array[vec2],
        ropes: wp.array[real],
        positions: wp.uint64,
        velocities: wp.uint64,
        links: wp.uint64,
        stiffness: wp.uint64,
        lengths: wp.uint64,
    ): ...

    return forces


_SUM = """
    const REAL* const F = (const REAL*)links;
    REAL fx = 0, fy = 0, moment = 0;
    #pragma unroll 3 // each mass of a body has three links, whose loads need not wait for each other
    for (int e = begin; e < end; ++e) {
        const int code = entries.data[e];
#if defined(__CUDA_ARCH__)
        REAL f[4];
        WIDE_READ(f, F + 4 * (code >> 1))
#else
        const REAL* const f = F + 4 * (code >> 1);
#endif
        const bool second = code & 1;
        fx += second ? -f[0] : f[0]; fy += second ? -f[1] : f[1]; moment += second ? -f[3] : f[2];
    }
"""


@once
def link_sum(types: Layout) -> wp.Function:
    """Force [N] and moment [N m] of all links on a body, in the fixed order of its entries."""
    vec3 = types.vec3
    scalar = "float" if types.real is wp.float32 else "double"
    undefine = "#undef WIDE_READ\n#undef WIDE_WRITE\n"
    source = (
        _WIDE[scalar] + _SUM.replace("REAL", scalar) + undefine + f"return wp::vec_t<3, {scalar}>(fx, fy, moment);\n"
    )

    @wp.func_native(source)
    def total(links: wp.uint64, entries: wp.array[wp.int32], begin: int, end: int) -> vec3: ...

    return total


__all__ = ["M_FORCE", "link_forces", "link_sum"]
