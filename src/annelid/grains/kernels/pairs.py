"""Contacts of one grain with its neighbours: impulses are improved once, and summed.

The text below is compiled for both devices. Neighbours come in groups of four. On the CPU `F` is eight numbers where
registers are that wide, and a core takes two groups at a time, else four and one. On CUDA it is one, and a thread asks
for a group at a time, which lies beside that of the next grain (`rows`): a sweep waits for memory. Either way, both
sides of a contact do the same arithmetic with opposite signs, so that what one grain gains another loses to the last
bit.
"""

import functools
from dataclasses import replace

import warp as wp

from annelid.grains.kernels.layout import (
    ALL,
    APART,
    BESIDE,
    FINEST_IMPACT,
    IMPACT,
    MARGIN,
    REACHES,
    UNKNOWN,
    WORLD_REACHES,
    Features,
    Grains,
    Lists,
    Parameters,
    contact_horizon,
)
from annelid.grains.kernels.quads import vec16
from annelid.grains.kernels.rows import FORGET, GROUP_OF_LANES, PLACES
from annelid.grains.kernels.sums import ContactSum, from_row, vec14

wp.set_module_options({"enable_backward": False})

_TYPES = """
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

_BEGIN = """
    typedef float Number;
    const Number dt = parameters.dt, rate = 1.0f / dt;
    F sx = 0.0f, sy = 0.0f, sz = 0.0f, tx = 0.0f, ty = 0.0f, tz = 0.0f, touching = 0.0f, worst = 0.0f;
    F hx = 0.0f, hy = 0.0f, hz = 0.0f, kx = 0.0f, ky = 0.0f, kz = 0.0f;
    const F zero = 0.0f, one = 1.0f;
    @LOOP@
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

_ROW = """
        const Number* mine = (const Number*)&grains.positions.data[i];
        const Number* my_motion = (const Number*)&grains.forecast.data[i];
        const Number* my_turning = (const Number*)&grains.turning.data[i];
        const Number margin = lists.reach.data[@MARGIN@];
        @OWN@
        @FACET@
        @VARIED@
        const size_t row = (size_t)i * lists.places;
"""

_OWN_GROUPS = (
    _ROW
    + """
#if !defined(__CUDA_ARCH__)
    // Rows have more room than most need, so that no core guesses where the next begins: it waits for memory else.
    const size_t later = row + 2 * lists.places;
    __builtin_prefetch(lists.neighbours.data + later);
    @AHEAD_OF_TIME@
#endif
    const int length = ((const int*)lists.counts.data)[2 * i];
    @UNLISTED@
    const int start = 0, stride = WIDTH;
#if defined(__CUDA_ARCH__)
    // Who is in the next group is asked for before this one is done: CUDA cannot tell that its results lie elsewhere.
    int4 ahead = *(const int4*)(lists.neighbours.data + AT(lists, i, start < length ? start : 0));
#endif
    for (int k = start; k < length; k += stride) {
"""
)
_NOT_SHARED = {
    "LOOP": _OWN_GROUPS,
    "OUT": "float out[14] = {sx, sy, sz, tx, ty, tz, hx, hy, hz, kx, ky, kz, touching, worst};",
}
# Rows beside guests are few and their lists long: several threads share one on CUDA.
_BY_LANES = {
    "LOOP": _OWN_GROUPS.replace("start = 0, stride = WIDTH", "start = WIDTH * lane, stride = WIDTH * lanes"),
    "OUT": f"""
    {_NOT_SHARED["OUT"]}
    const unsigned sharing = {GROUP_OF_LANES};
    for (int hop = lanes >> 1; hop > 0; hop >>= 1) {{
        for (int c = 0; c < 13; ++c) out[c] += __shfl_xor_sync(sharing, out[c], hop);
        out[13] = fmaxf(out[13], __shfl_xor_sync(sharing, out[13], hop));
    }}
""",
}

_NONSMOOTH = """
        // Masses are split among the contacts of each side; the lighter side sets the softness.
        const F my_share = PRODUCT(MAX(own_contacts, 1.0f), mi), their_share = PRODUCT(MAX(nj, 1.0f), mj);
        const F together = @SHARED@, shared = together@LIGHTER@;
        const F light = @LIGHT@, soft = parameters.softness * light;
        F inverse_mass = shared + soft, pull = 0.0f;
        const F lx = KEPT(impulses, 0), ly = KEPT(impulses, 1), lz = KEPT(impulses, 2);
        const F before = lx * nx + ly * ny + lz * nz;
        F bias = (gap < 0.0f ? parameters.correction * gap : gap) * rate + soft * before;
        @DEEP@
        @COHESION@
        @BOUNCE@
        const F give = parameters.relaxation / inverse_mass;
        // Impulses build up over steps like the force of a spring; letting go quickly, they do not throw grains back.
        const F parting = @PARTING@;
        F push = MAX(before - give * (normal + bias + parting), -pull);
        push = close ? push : zero;
        // A sphere turns as well as slides: tangentially it gives 7/2 as much.
        const F slide = give * (1.0f / 3.5f), rest = normal * slide - before;
        F fx = lx - ux * slide + rest * nx, fy = ly - uy * slide + rest * ny, fz = lz - uz * slide + rest * nz;
        const F limit = friction * (close ? push + pull : zero), force = fx * fx + fy * fy + fz * fz;
        // No branch: some contact of most groups slips, and to guess that wrong costs more than a root and a division.
        const F scale = force > limit * limit ? limit / SQRT(force + 1.0e-30f) : one;
        fx *= scale; fy *= scale; fz *= scale;
        @FROM_PLAIN@F px = push * nx + fx, py = push * ny + fy, pz = push * nz + fz;
        @BLEND@
        @RESIDUAL@
        // What grew slowly will come again; a blow will not, and expecting it would make grains bounce.
        const F calm = 2.0f * MAX(before, 0.0f) + parameters.calm_speed / light;
        F kept_share = one;
        if (@FINAL@ && ANY(push > calm)) kept_share = MIN(calm / MAX(push, 1.0e-30f), 1.0f);
        const F qx = kept_share * px, qy = kept_share * py, qz = kept_share * pz;
        KEEP(impulses, 0, qx) KEEP(impulses, 1, qy) KEEP(impulses, 2, qz)
        F twx = ai * (fy * nz - fz * ny), twy = ai * (fz * nx - fx * nz), twz = ai * (fx * ny - fy * nx);
        @COUPLE@
        sx += px; sy += py; sz += pz; tx += twx; ty += twy; tz += twz;
        hx += qx; hy += qy; hz += qz; kx += kept_share * twx; ky += kept_share * twy; kz += kept_share * twz;
        touching += ((gap < parameters.near * MIN(ri, rj)) | (push > 0.0f) | (gap + @AHEAD@ * dt * normal < 0.0f))
            & close ? @WEIGHT@ : zero;
        @FORESEEN@
        @ROLLING@
#if defined(__CUDA_ARCH__)
        }
        @GIVEN@
#endif
    }
"""

_UNDEFINED = """
#if !defined(__CUDA_ARCH__)
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
"""

_END = (
    """
    @OUT@
"""
    + _UNDEFINED
    + """
    wp::vec_t<14, wp::float32> total;
    for (int c = 0; c < 14; ++c) total[c] = out[c];
    return total;
"""
)

# On a CPU, as a `ContactSum` lies in memory.
_END_OF_QUADS = (
    """
    typedef float Row __attribute__((ext_vector_type(4), aligned(4)));
    wp::vec_t<16, wp::float32> total;
    Row* rows = (Row*)&total;
    #define PAIRS(a, b) (MIX(a, b, 0, 2, 4, 6) + MIX(a, b, 1, 3, 5, 7))
    #define SUMS(a, b, c, d) PAIRS(PAIRS(FOLD(a), FOLD(b)), PAIRS(FOLD(c), FOLD(d)))
    Four angular = SUMS(tx, ty, tz, zero);
    angular.w = __builtin_reduce_max(HIGHEST(worst));
    rows[0] = SUMS(sx, sy, sz, touching);
    rows[1] = angular;
    rows[2] = SUMS(hx, hy, hz, zero);
    rows[3] = SUMS(kx, ky, kz, zero);
    #undef SUMS
    #undef PAIRS
"""
    + _UNDEFINED
    + """
    return total;
"""
)

_SAME_SIZE = {
    "SIZES": "const F ri = parameters.radius, mi = parameters.inverse_mass; rj = ri; mj = mi;",
    "ARMS": "const F ox = ai * (my_turning[0] + wx), oy = ai * (my_turning[1] + wy), oz = ai * (my_turning[2] + wz);",
    "SHARED": "mi * (MAX(own_contacts, 1.0f) + MAX(nj, 1.0f))",
}
_OWN_SIZE = {
    "SIZES": "const F ri = my_motion[3], mi = my_turning[3];",
    "ARMS": """
        const F mx = PRODUCT(ai, my_turning[0]), my = PRODUCT(ai, my_turning[1]), mz = PRODUCT(ai, my_turning[2]);
        const F yx = PRODUCT(aj, wx), yy = PRODUCT(aj, wy), yz = PRODUCT(aj, wz);
        const F ox = mx + yx, oy = my + yy, oz = mz + yz;""",
    "SHARED": "my_share + their_share",
}

_SAME_SURFACE = """
        const F friction = parameters.friction, restitution = parameters.restitution, rolling = parameters.rolling,
                cohesion = parameters.cohesion;
"""
_OWN_SURFACE = """
        F friction, restitution, rolling, cohesion;
        LOAD(grains.surfaces, friction, restitution, rolling, cohesion)
        const Number* my_surface = (const Number*)&grains.surfaces.data[i];
        friction = SQRT(friction * my_surface[0]); restitution = SQRT(restitution * my_surface[1]);
        rolling = SQRT(rolling * my_surface[2]); cohesion = SQRT(cohesion * my_surface[3]);
"""

# Where all grains are alike, and all guests: which pair it is says what to take.
_TWO_SURFACES = """
        const F friction = guest ? zero + parameters.beside_guests[0] : zero + parameters.friction,
                restitution = guest ? zero + parameters.beside_guests[1] : zero + parameters.restitution,
                rolling = guest ? zero + parameters.beside_guests[2] : zero + parameters.rolling,
                cohesion = guest ? zero + parameters.beside_guests[3] : zero + parameters.cohesion;
"""

# Worlds that differ in parameters: both sides of a contact are in the same, and a guest's is not that of a grain.
_VARIED_SIZES = "const F ri = parameters.radius, mi = my_turning[3]; rj = ri; mj = mi;"
_SCALED = "friction *= varied.friction; restitution *= varied.restitution; cohesion *= varied.cohesion;"
_VARIED_GUESTS = """
    const Number guest_friction = wp::sqrt(varied.friction * varied.skin_friction);
    const Number guest_restitution = wp::sqrt(varied.restitution), guest_cohesion = wp::sqrt(varied.cohesion);
"""
_SCALED_GUESTS = """
        friction *= guest ? zero + guest_friction : zero + varied.friction;
        restitution *= guest ? zero + guest_restitution : zero + varied.restitution;
        cohesion *= guest ? zero + guest_cohesion : zero + varied.cohesion;
"""

_BOUNCE = """
        // An impact reflects its speed at once, with nothing soft about it, and shares the mass of a grain with impacts
        // and with contacts that bear a load, not with those that are merely close. It is told by the velocities at the
        // start of the step, which sweeps do not change.
        F vx, vy, vz, vr;
        LOAD(grains.starts, vx, vy, vz, vr)
        const F coming = (my_velocity[0] - vx) * nx + (my_velocity[1] - vy) * ny + (my_velocity[2] - vz) * nz;
        const I fast = close & (coming < -parameters.bounce_speed), impact = fast & (gap + dt * coming < 0.0f);
        const F my_crowd = PRODUCT(MAX(own_impacts, 1.0f), mi), their_crowd = PRODUCT(MAX(their_impacts, 1.0f), mj);
        const F crowd = (my_crowd + their_crowd)@LIGHTER@;
        bias = impact ? restitution * coming : bias; inverse_mass = impact ? crowd : inverse_mass;
"""

_COUNTS = """
        F their_impacts = FLOOR(nj * @SHARE@);
        nj -= @IMPACT@ * their_impacts; their_impacts *= @FINEST@;
"""

_FORESEEN = """
        const I again = impact & (crowd > 1.01f * (mi + mj)@LIGHTER@);
        const I soon = fast & (gap + @AHEAD@ * dt * coming < 0.0f);
        const F more = @IMPACT@ * FLOOR(@WEIGHT@ / @FINEST@ + 0.5f);
        touching += again | ((soon | (close & (push > 0.0f))) & ~impact) ? more : zero;
"""

_BLEND = """
        // The sweep before this one says where impulses were going; see `kernels.converge`.
        {
            F rx = lx, ry = ly, rz = lz;  // the first has no earlier one
            if (!fresh) {
                rx = KEPT(earlier, 0); ry = KEPT(earlier, 1); rz = KEPT(earlier, 2);
            }
            KEEP(earlier, 0, lx) KEEP(earlier, 1, ly) KEEP(earlier, 2, lz)
            px = rx + blend * (lx + parameters.over * (px - lx) - rx);
            py = ry + blend * (ly + parameters.over * (py - ly) - ry);
            pz = rz + blend * (lz + parameters.over * (pz - lz) - rz);
            const F along = px * nx + py * ny + pz * nz;
            push = close ? MAX(along, -pull) : zero;
            fx = px - along * nx; fy = py - along * ny; fz = pz - along * nz;
            const F most = friction * (close ? push + pull : zero), rubs = fx * fx + fy * fy + fz * fz;
            const F cut = rubs > most * most ? most / SQRT(rubs + 1.0e-30f) : one;
            fx *= cut; fy *= cut; fz *= cut;
            px = push * nx + fx; py = push * ny + fy; pz = push * nz + fz;
        }
"""

_FACET = """
    const int am_guest = my_motion[3] < parameters.smallest ? -1 : 0;
    const Number* my_facet = (const Number*)&grains.facets.data[i];
"""

_FACETS = """
        // A guest is a disc or a rod about its centre: what is nearest to a grain there is its centre moved by `e`.
        // Those of neighbours overlap; the further that is from the centre, the less a contact weighs. With extents of
        // 0.8 of the way to the neighbours, weights that fall from 1 like this add up to 1 in the mean.
        F ex = zero, ey = zero, ez = zero, weight = one, lighter = one;
        const I guest = (rj < parameters.smallest) | am_guest;
        if (ANY(guest)) {
            F gx, gy, gz, extent;
            LOAD(grains.facets, gx, gy, gz, extent)
            // Of the two sides one is a grain, whose facet is 0.
            gx += my_facet[0]; gy += my_facet[1]; gz += my_facet[2]; extent += my_facet[3];
            const F along = nx * gx + ny * gy + nz * gz;
            const F bx = nx - along * gx, by = ny - along * gy, bz = nz - along * gz;
            const F aside = SQRT(bx * bx + by * by + bz * bz);
            const F part = MIN(MAX(extent, zero) / MAX(aside, 1.0e-20f), one);
            const F shift = MIN(MAX(along, MIN(extent, zero)), MAX(-extent, zero));
            ex = part * bx + shift * gx; ey = part * by + shift * gy; ez = part * bz + shift * gz;
            nx -= ex; ny -= ey; nz -= ez;
            const F outwards = (part * aside + MAX(shift, -shift)) / MAX(MAX(extent, -extent), 1.0e-20f);
            weight = MIN(MAX(1.6f * (one - outwards), 1.0e-3f), one); lighter = one / weight;
        }
"""

_ASIDE = """
        if (ANY(guest)) {
            const F gx = am_guest ? zero + my_turning[0] : wx, gy = am_guest ? zero + my_turning[1] : wy,
                    gz = am_guest ? zero + my_turning[2] : wz;
            ux -= gy * ez - gz * ey; uy -= gz * ex - gx * ez; uz -= gx * ey - gy * ex;
        }
"""

_COUPLE = """
        if (am_guest) {
            twx -= ey * pz - ez * py; twy -= ez * px - ex * pz; twz -= ex * py - ey * px;
        }
"""

_DEEP = """
        // Light guests are pressed by the whole of their body: what is deep in them is pushed out harder.
        bias += guest ? @DEPTH@ : zero;
"""

_COHESION = """
        const I held = gap < 0.02f * @ROUND@;
        pull = held ? @WEIGHT@ * cohesion * dt : zero;
        bias = held ? parameters.correction * gap * rate + soft * before : bias;
"""

_ROLLING = """
        // Torque against relative turning, at most the coefficient times the reduced radius times the normal force.
        const F spin = parameters.relaxation / (2.5f * (@TURNED@)@LIGHTER@);
        F ax = KEPT(rollings, 0) - spin * (my_turning[0] - wx);
        F ay = KEPT(rollings, 1) - spin * (my_turning[1] - wy);
        F az = KEPT(rollings, 2) - spin * (my_turning[2] - wz);
        const F most = rolling * (@REDUCED@) * MAX(push, 0.0f), turn = ax * ax + ay * ay + az * az;
        const F share = turn > most * most ? most / SQRT(turn + 1.0e-36f) : one;
        ax *= share; ay *= share; az *= share;
        KEEP(rollings, 0, ax) KEEP(rollings, 1, ay) KEEP(rollings, 2, az)
        tx += ax; ty += ay; tz += az; kx += ax; ky += ay; kz += az;
"""

_TURNED = "MAX(own_contacts, 1.0f) * mi / (ri * ri) + MAX(nj, 1.0f) * mj / (rj * rj)"
_AMONG_GRAINS = {
    "WEIGHT": "one", "LIGHTER": "", "LIGHT": "MAX(mi, mj)", "ROUND": "MIN(ri, rj)",
    "REDUCED": "ri * rj / (ri + rj)", "TURNED": _TURNED,
}  # fmt: skip
# What is flat has no radius, and a guest turns with the body: the other side is a grain on a plate.
_BESIDE_GUESTS = {
    "WEIGHT": "weight", "LIGHTER": " * lighter", "LIGHT": "MIN(MAX(mi, mj), @LIGHTEST@) * lighter",
    "ROUND": "(guest ? MAX(ri, rj) : MIN(ri, rj))",
    "REDUCED": "guest ? MAX(ri, rj) : ri * rj / (ri + rj)",
    "TURNED": f"""guest ? (am_guest ? MAX(nj, 1.0f) * mj / (rj * rj) : MAX(own_contacts, 1.0f) * mi / (ri * ri))
                : {_TURNED}""",
}  # fmt: skip

_RESIDUAL = """
        const F cx = px - lx, cy = py - ly, cz = pz - lz;
        const F moves = @MOVED@;
        worst = MAX(worst, SQRT(cx * cx + cy * cy + cz * cz) * moves);
"""
# A guest is shown lighter than its body is: what a sweep changes is judged by the grain.
_MOVED_BY_GUESTS = "guest ? 2.0f * (am_guest ? MAX(nj, 1.0f) * mj : MAX(own_contacts, 1.0f) * mi) : together"

_RELEASE = "parameters.release * MAX(normal - parameters.calm_speed, 0.0f)"
_BOUNCING = {
    "OWN": """const Number own_parts = (Number)(int)(mine[3] * @SHARE@), own_impacts = @FINEST@ * own_parts;
    const Number own_contacts = mine[3] - @IMPACT@ * own_parts;
    const Number* my_velocity = (const Number*)&grains.starts.data[i];""",
    "COUNTS": _COUNTS, "BOUNCE": _BOUNCE, "PARTING": f"impact ? zero : {_RELEASE}", "FORESEEN": _FORESEEN,
}  # fmt: skip
_NOT_BOUNCING = {
    "OWN": "const Number own_contacts = mine[3];",
    "COUNTS": "", "BOUNCE": "", "PARTING": _RELEASE, "FORESEEN": "",
}  # fmt: skip


_BODIES_RESIDUAL = "if (ANY(guest)) {" + _RESIDUAL.replace("* moves)", "* (guest ? moves : zero))") + "}"


def _residual(features: Features) -> str:
    """Part of the text that says how far a step is from being solved: see `Features.judged_by_bodies`."""
    if not features.judged_by_bodies:
        return _RESIDUAL
    return _BODIES_RESIDUAL if features.guests else ""


# Lists begin with neighbours that are close: see `collect.put_first`.
_SKIPPED = """
#if !defined(__CUDA_ARCH__)
        if (!ANY(close)) {
            @EARLIER@
            @KEPT@
            continue;
        }
#endif
"""


_EARLIER = "for (int c = 0; c < 3; ++c) KEEP(earlier, c, KEPT(impulses, c))"

_HELD = (("TAKEN", "TAKE"), ("GIVEN", "GIVE"))  # what a group keeps is in registers meanwhile (CUDA)


def _converging_parts(features: Features, *, blended: bool) -> dict[str, str]:
    """Parts of the text where steps converge: plain sweeps begin them, and blended ones go on."""
    parts = {"FROM_PLAIN": "" if blended else "const ", "BLEND": _BLEND if blended else ""}
    parts["FINAL"] = "false" if blended else "final == 1"
    parts["DEPTH"] = "0.1f * MIN(gap + 0.1f * parameters.smallest, 0.0f) * rate"
    if features.converging:
        parts["DEPTH"] = "parameters.deep * MIN(gap + 0.1f * parameters.smallest, 0.0f)"
        parts["OWN"] = f"const Number own_contacts = mine[3] > 0.0f ? mine[3] : {UNKNOWN}f;"
        parts["COUNTS"] = f"nj = nj > 0.0f ? nj : {UNKNOWN}f + zero;"
        parts["RESIDUAL"] = _residual(features)
    if blended:
        parts["PARTING"] = "zero"
        parts["OWN"] += " const Number blend = lists.weights.data[final]; const bool fresh = final == 0;"
    return parts


def _surfaces(features: Features) -> str:
    """Part of the text that says how a pair responds."""
    if features.materials:
        return _OWN_SURFACE
    return _TWO_SURFACES if features.guests else _SAME_SURFACE


def _varied_parts(features: Features, world: str) -> dict[str, str]:
    """Parts of the text where worlds differ in parameters: factors on what contacts have, and masses of a world."""
    if not features.varied:
        return {"VARIED": "", "SCALED": "", "LIGHTEST": "parameters.lightest"}
    same = {} if features.sizes else {"SIZES": _VARIED_SIZES}
    same |= {} if features.materials else {"SURFACES": _surfaces(features).replace("const F", "F")}
    return {
        **same,
        "VARIED": f"const auto& varied = parameters.varied.data[{world}];"
        + (_VARIED_GUESTS if features.guests else ""),
        "SCALED": _SCALED_GUESTS if features.guests else _SCALED,
        "LIGHTEST": "(parameters.lightest * varied.lightness)",
    }


def _bodies_ahead(features: Features) -> str:
    """Part of the text that asks for what contacts with bodies need after those with neighbours (CPU)."""
    if not features.kinds:
        return ""
    names = ["bodies", "body_predicted", *(["body_rollings"] if features.rolling else [])]
    asked = " ".join(f"__builtin_prefetch(lists.{name}.data + (size_t)i * lists.body_places);" for name in names)
    return f"if (((const int*)lists.counts.data)[2 * i + 1] > 0) {{ {asked} }}"


def _text(features: Features, end: str, *, blended: bool, rows: int = ALL, **more: str) -> str:
    """The text of a sweep over the neighbours of grain i, with what it ends with."""
    judged = features.judged_by_bodies
    if rows == APART:  # with the same arithmetic, but for what concerns guests
        features = replace(features, guests=False)
    wrap = "".join(
        f"{{ const Number period = parameters.period[{number}], half = 0.5f * period; "
        f"n{axis} = n{axis} > half ? n{axis} - period : n{axis}; "
        f"n{axis} = n{axis} < -half ? n{axis} + period : n{axis}; }}\n"
        for number, axis in enumerate("xyz")
        if features.periodic[number]
    )
    world = "((const int*)grains.names.data)[2 * i + 1]" if features.worlds else "0"
    sizes = _OWN_SIZE if features.sizes else _SAME_SIZE
    parts = {
        "FORGET": FORGET,
        **(_BY_LANES if rows == BESIDE else _NOT_SHARED),
        "MARGIN": f"{REACHES} + {WORLD_REACHES} * {world} + {MARGIN}",
        "WRAP": wrap,
        **sizes,
        "SURFACES": _surfaces(features),
        **(_BOUNCING if features.bouncing else _NOT_BOUNCING),
        "FACET": _FACET if features.guests else "",
        "FACETS": _FACETS if features.guests else "",
        "ASIDE": _ASIDE if features.guests else "",
        "COUPLE": _COUPLE if features.guests else "",
        "DEEP": _DEEP if features.guests else "",
        "COHESION": _COHESION if features.cohesive else "",
        "ROLLING": _ROLLING if features.rolling else "",
        **(_BESIDE_GUESTS if features.guests else _AMONG_GRAINS),
        "RESIDUAL": _RESIDUAL if features.tolerant else "",
        **_varied_parts(features, world),
        **_converging_parts(features, blended=blended),
    }
    if judged and not features.guests:
        parts["RESIDUAL"] = ""
    parts |= {
        "MOVED": _MOVED_BY_GUESTS if features.guests else "together",
        "AHEAD": f"{contact_horizon(features.bouncing)}f",
        "IMPACT": f"{float(IMPACT)}f",
        "SHARE": f"{1.0 / IMPACT!r}f",
    }
    parts["FINEST"] = f"{FINEST_IMPACT!r}f"
    kept = ["impulses", *(["rollings"] if features.rolling else [])]
    parts["SKIPPED"] = _SKIPPED.replace("@KEPT@", " ".join(f"NOTHING({name})" for name in kept))
    parts["EARLIER"] = _EARLIER if blended else ""
    kept += ["earlier"] if blended else []
    parts["AHEAD_OF_TIME"] = " ".join(f"FETCH({name})" for name in kept) + _bodies_ahead(features)
    parts |= {part: " ".join(f"{verb}({name})" for name in kept) for part, verb in _HELD}
    text = PLACES + _TYPES + _BEGIN + _NONSMOOTH + end
    for name, part in (parts | {"UNLISTED": "", **more}).items():
        text = text.replace(f"@{name}@", part)
    return text


@functools.cache
def pair_impulses(features: Features, *, blended: bool = False, rows: int = ALL) -> wp.Function:
    """A function `(i, lane, lanes, final, parameters, grains, lists) -> ContactSum`: sums over neighbours of grain i.

    What the next step is expected to bring matters in the final sweep of a step alone. Of blended sweeps none is
    final, and that number says which one it is. `rows` says which rows it is asked for. On CUDA.
    """

    @wp.func_native(_text(features, _END, blended=blended, rows=rows))
    def row_of_sums(
        i: int, lane: int, lanes: int, final: int, parameters: Parameters, grains: Grains, lists: Lists
    ) -> vec14: ...

    @wp.func
    def pairs(
        i: int, lane: int, lanes: int, final: int, parameters: Parameters, grains: Grains, lists: Lists
    ) -> ContactSum:
        return from_row(row_of_sums(i, lane, lanes, final, parameters, grains, lists))

    return pairs


@functools.cache
def pair_quads(features: Features, *, blended: bool = False) -> wp.Function:
    """A function `(i, final, parameters, grains, lists) -> vec16`: the same on a CPU, see `kernels.quads`."""
    unlisted = "if (length == 0) return wp::vec_t<16, wp::float32>(0.0f);"

    @wp.func_native(_text(features, _END_OF_QUADS, blended=blended, UNLISTED=unlisted))
    def quads(i: int, final: int, parameters: Parameters, grains: Grains, lists: Lists) -> vec16: ...

    return quads
