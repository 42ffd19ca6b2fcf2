"""The frame of a sweep over the neighbours of a grain, as C++ text: rows of lists, lanes, and how sums end.

It is compiled for both devices. Neighbours come in groups of four. On the CPU `F` is eight numbers where registers are
that wide, and a core takes two groups at a time, else four and one. On CUDA it is one, and a thread asks for a group at
a time, which lies beside that of the next grain (`rows`): a sweep waits for memory. `pairs` fills in what stands
between @.
"""

from annelid.grains.kernels.rows import GROUP_OF_LANES

TYPES = """
#if defined(__CUDA_ARCH__)
    typedef float F; typedef int I;
    #define WIDTH 4
    #define SQRT(a) sqrtf(a)
    #define PRODUCT(a, b) __fmul_rn(a, b)
    #define ANY(a) (a)
    #define FLOOR(a) floorf(a)
    #define MAX(a, b) fmaxf(a, b)
    #define MIN(a, b) fminf(a, b)
    #define LOAD(array, a0, a1, a2, a3) { \\
        const float4 row4 = ((const float4*)array.data)[j]; a0 = row4.x; a1 = row4.y; a2 = row4.z; a3 = row4.w; }
    #define TAKE(name) \\
        float name##_of[12]; \\
        for (int c = 0; c < 3; ++c) { \\
            const float4 row4 = *(const float4*)(lists.name.data + WIDE_AT(lists, i, k, c)); \\
            name##_of[4 * c] = row4.x; name##_of[4 * c + 1] = row4.y; \\
            name##_of[4 * c + 2] = row4.z; name##_of[4 * c + 3] = row4.w; }
    #define GIVE(name) \\
        for (int c = 0; c < 3; ++c) \\
            *(float4*)(lists.name.data + WIDE_AT(lists, i, k, c)) = make_float4( \\
                name##_of[4 * c], name##_of[4 * c + 1], name##_of[4 * c + 2], name##_of[4 * c + 3]);
    #define KEPT(name, c) name##_of[4 * c + q]
    #define KEEP(name, c, value) KEPT(name, c) = value;
#else
    typedef float Four __attribute__((ext_vector_type(4))); typedef int Bits __attribute__((ext_vector_type(4)));
    #define SQRT(a) __builtin_elementwise_sqrt(a)
    #define PRODUCT(a, b) ((a) * (b))
    #define ANY(a) __builtin_reduce_or((I)(a))
    #define FLOOR(a) __builtin_elementwise_floor(a)
    #define MAX(a, b) __builtin_elementwise_max((F)(a), (F)(b))
    #define MIN(a, b) __builtin_elementwise_min((F)(a), (F)(b))
    #define MIX __builtin_shufflevector
    #define ROW(array, j) ((const Four*)array.data)[j]
    #define FETCH(name) \\
        __builtin_prefetch(lists.name.data + 3 * later); __builtin_prefetch(lists.name.data + 3 * later + 16);
    #define KEPT_AT(name, place) (*(Four*)(lists.name.data + (place)))
    #define BITS_AT(name, place) (*(const Bits*)(lists.name.data + (place)))
    #define BITS(name, place) (BITS_AT(name, place) | BITS_AT(name, (place) + 4) | BITS_AT(name, (place) + 8))
#if defined(__AVX2__)
    // Where a list ends with one group, ghosts stand for the second one. They have kept nothing, and what they keep
    // goes to where the first group's is written after it.
    typedef float F __attribute__((ext_vector_type(8))); typedef int I __attribute__((ext_vector_type(8)));
    #define WIDTH 8
    #define JOIN(a, b) MIX(a, b, 0, 1, 2, 3, 4, 5, 6, 7)
    #define TURN(a, b, c, d, x, y, z, w) { \\
        const F p = MIX(a, b, 0, 8, 2, 10, 4, 12, 6, 14), q = MIX(a, b, 1, 9, 3, 11, 5, 13, 7, 15), \\
                r = MIX(c, d, 0, 8, 2, 10, 4, 12, 6, 14), s = MIX(c, d, 1, 9, 3, 11, 5, 13, 7, 15); \\
        x = MIX(p, r, 0, 1, 8, 9, 4, 5, 12, 13); y = MIX(q, s, 0, 1, 8, 9, 4, 5, 12, 13); \\
        z = MIX(p, r, 2, 3, 10, 11, 6, 7, 14, 15); w = MIX(q, s, 2, 3, 10, 11, 6, 7, 14, 15); }
    #define LOAD(array, x, y, z, w) { \\
        const F a = JOIN(ROW(array, j0), ROW(array, j4)), b = JOIN(ROW(array, j1), ROW(array, j5)), \\
                c = JOIN(ROW(array, j2), ROW(array, j6)), d = JOIN(ROW(array, j3), ROW(array, j7)); \\
        TURN(a, b, c, d, x, y, z, w) }
    #define NEIGHBOURS \\
        const int second = k + 4 < length ? 4 : 0, ghost = parameters.count; \\
        const size_t after = at + 3 * second; \\
        const Bits listed = second ? -1 : 0; \\
        const int j4 = second ? js[4] : ghost, j5 = second ? js[5] : ghost, j6 = second ? js[6] : ghost, \\
                  j7 = second ? js[7] : ghost;
    #define KEPT(name, c) \\
        JOIN(KEPT_AT(name, at + 4 * (c)), (Four)((*(const Bits*)&KEPT_AT(name, after + 4 * (c))) & listed))
    #define KEEP(name, c, value) { \\
        const F both = value; \\
        KEPT_AT(name, after + 4 * (c)) = both.hi; KEPT_AT(name, at + 4 * (c)) = both.lo; }
    #define ALL_BITS(name) (BITS(name, at) | BITS(name, after))
    #define FOLD(a) ((a).lo + (a).hi)
    #define HIGHEST(a) __builtin_elementwise_max((a).lo, (a).hi)
#else
    typedef Four F; typedef int I __attribute__((ext_vector_type(4)));
    #define WIDTH 4
    #define TURN(a, b, c, d, x, y, z, w) { \\
        const F p = MIX(a, b, 0, 4, 2, 6), q = MIX(a, b, 1, 5, 3, 7), r = MIX(c, d, 0, 4, 2, 6), \\
                s = MIX(c, d, 1, 5, 3, 7); \\
        x = MIX(p, r, 0, 1, 4, 5); y = MIX(q, s, 0, 1, 4, 5); z = MIX(p, r, 2, 3, 6, 7); w = MIX(q, s, 2, 3, 6, 7); }
    #define LOAD(array, x, y, z, w) { \\
        const F a = ROW(array, j0), b = ROW(array, j1), c = ROW(array, j2), d = ROW(array, j3); \\
        TURN(a, b, c, d, x, y, z, w) }
    #define NEIGHBOURS
    #define KEPT(name, c) KEPT_AT(name, at + 4 * (c))
    #define KEEP(name, c, value) KEPT_AT(name, at + 4 * (c)) = value;
    #define ALL_BITS(name) BITS(name, at)
    #define FOLD(a) (a)
    #define HIGHEST(a) (a)
#endif
    // Most have kept nothing before: lines of memory that are not written need not be written back.
    #define NOTHING(name) \\
        if (__builtin_reduce_or(ALL_BITS(name))) { KEEP(name, 0, zero) KEEP(name, 1, zero) KEEP(name, 2, zero) }
#endif
"""

BEGIN = """
    typedef float Number;
    const Number dt = parameters.dt, rate = 1.0f / dt;
    F sx = 0.0f, sy = 0.0f, sz = 0.0f, tx = 0.0f, ty = 0.0f, tz = 0.0f, touching = 0.0f, worst = 0.0f;
    // Of these, what will not come again in the next step.
    F hx = 0.0f, hy = 0.0f, hz = 0.0f, kx = 0.0f, ky = 0.0f, kz = 0.0f;
    bool blows = false;
    const F zero = 0.0f, one = 1.0f;
        const Number* mine = (const Number*)&grains.positions.data[i];
        const Number* my_motion = (const Number*)&grains.forecast.data[i];
        const Number* my_turning = (const Number*)&grains.turning.data[i];
        const Number margin = lists.reach.data[@MARGIN@];
        @OWN@
        @FACET@
        @VARIED@
        const size_t row = (size_t)i * lists.places;
#if !defined(__CUDA_ARCH__)
    // Rows have more room than most need, so that no core guesses where the next begins: it waits for memory else.
    const size_t later = row + 2 * lists.places;
    __builtin_prefetch(lists.neighbours.data + later);
    @AHEAD_OF_TIME@
#endif
    const int length = ((const int*)lists.counts.data)[2 * i];
    const int start = @START@, stride = @STRIDE@;
#if defined(__CUDA_ARCH__)
    // Who is in the next group is asked for before this one is done: CUDA cannot tell that its results lie elsewhere.
    int4 ahead = *(const int4*)(lists.neighbours.data + AT(lists, i, start < length ? start : 0));
#else
    if (length == 0) return wp::mat_t<4, 4, wp::float32>(0.0f);
#endif
    for (int k = start; k < length; k += stride) {
        // Products that are added within one expression may be fused; CUDA fuses them anywhere. Where both sides of a
        // contact add the same two products in another order, each is a PRODUCT in an expression of its own.
#if !defined(__CUDA_ARCH__)
        #pragma clang fp contract(on)
#endif
#if defined(__CUDA_ARCH__)
        const int4 js = ahead;
        ahead = *(const int4*)(lists.neighbours.data + AT(lists, i, k + stride < length ? k + stride : k));
        const int group[4] = {js.x, js.y, js.z, js.w};
        @TAKEN@
        #pragma unroll
        for (int q = 0; q < 4; ++q) {
        const int j = group[q];
#else
        const size_t at = 3 * (row + k);
        const int* js = lists.neighbours.data + row + k;
        const int j0 = js[0], j1 = js[1], j2 = js[2], j3 = js[3];
        NEIGHBOURS
#endif
        F nx, ny, nz, nj, ux, uy, uz, rj, wx, wy, wz, mj;
        LOAD(grains.positions, nx, ny, nz, nj)
        LOAD(grains.forecast, ux, uy, uz, rj)
        LOAD(grains.turning, wx, wy, wz, mj)
        @COUNTS@
        nx = mine[0] - nx; ny = mine[1] - ny; nz = mine[2] - nz;
        @WRAP@
        @FACETS@
        const F square = nx * nx + ny * ny + nz * nz, distance = SQRT(square), inverse = 1.0f / MAX(distance, 1.0e-20f);
        @SIZES@
        const F gap = distance - (ri + rj);
        const I close = gap < margin;
        @SKIPPED@
        nx *= inverse; ny *= inverse; nz *= inverse;
        // Arms reach to the middle of the gap, from either side.
        const F ai = ri + 0.5f * gap, aj = rj + 0.5f * gap;
        @ARMS@
        ux = my_motion[0] - ux - (oy * nz - oz * ny);
        uy = my_motion[1] - uy - (oz * nx - ox * nz);
        uz = my_motion[2] - uz - (ox * ny - oy * nx);
        @ASIDE@
        const F normal = ux * nx + uy * ny + uz * nz;
        @SURFACES@
        @SCALED@
"""

# Rows beside guests are few and their lists long: several threads share one on CUDA.
SHARED_SUMS = f"""
    const unsigned sharing = {GROUP_OF_LANES};
    for (int hop = lanes >> 1; hop > 0; hop >>= 1) {{
        for (int c = 0; c < 13; ++c) out[c] += __shfl_xor_sync(sharing, out[c], hop);
        out[13] = fmaxf(out[13], __shfl_xor_sync(sharing, out[13], hop));
    }}
"""

END = """
    wp::mat_t<4, 4, wp::float32> total;  // as a `ContactSum`
#if defined(__CUDA_ARCH__)
    (void)blows;
    float out[14] = {
        sx, sy, sz, tx, ty, tz, sx - hx, sy - hy, sz - hz, tx - kx, ty - ky, tz - kz, touching, worst};
    @SHARED_SUMS@
    for (int c = 0; c < 12; ++c) total.data[c / 3][c % 3] = out[c];
    total.data[0][3] = out[12]; total.data[1][3] = out[13]; total.data[2][3] = 0.0f; total.data[3][3] = 0.0f;
#else
    typedef float Row __attribute__((ext_vector_type(4), aligned(4)));
    Row* rows = (Row*)&total;
    #define PAIRS(a, b) (MIX(a, b, 0, 2, 4, 6) + MIX(a, b, 1, 3, 5, 7))
    #define SUMS(a, b, c, d) PAIRS(PAIRS(FOLD(a), FOLD(b)), PAIRS(FOLD(c), FOLD(d)))
    Four angular = SUMS(tx, ty, tz, zero);
    angular.w = __builtin_reduce_max(HIGHEST(worst));
    rows[0] = SUMS(sx, sy, sz, touching);
    rows[1] = angular;
    Four push_again = rows[0], turn_again = angular;
    push_again.w = 0.0f; turn_again.w = 0.0f;
    if (blows) {
        push_again -= SUMS(hx, hy, hz, zero);
        turn_again -= SUMS(kx, ky, kz, zero);
    }
    rows[2] = push_again;
    rows[3] = turn_again;
    #undef SUMS
    #undef PAIRS
    #undef MIX
    #undef TURN
    #undef ROW
    #undef FETCH
    #undef KEPT_AT
    #undef BITS_AT
    #undef BITS
    #undef ALL_BITS
    #undef JOIN
    #undef NEIGHBOURS
    #undef FOLD
    #undef HIGHEST
#endif
    #undef WIDTH
    #undef SQRT
    #undef PRODUCT
    #undef ANY
    #undef MAX
    #undef FLOOR
    #undef MIN
    #undef LOAD
    #undef KEPT
    #undef KEEP
    #undef NOTHING
    #undef TAKE
    #undef GIVE
    @FORGET@
    return total;
"""

# Lists begin with neighbours that are close: see `collect.put_first`.
SKIPPED = """
#if !defined(__CUDA_ARCH__)
        if (!ANY(close)) {
            @EARLIER@
            @KEPT@
            continue;
        }
#endif
"""

EARLIER = "for (int c = 0; c < 3; ++c) KEEP(earlier, c, KEPT(impulses, c))"

HELD = (("TAKEN", "TAKE"), ("GIVEN", "GIVE"))  # what a group keeps is in registers meanwhile (CUDA)
