"""Candidates for the list of a grain, eight at a time, on cores that can pack those that they find (AVX-512).

The sums and products are those of `collect.gather_row`, which looks at one after the other: the lists are the same to
the bit, and so is what is left beyond their ends, which is part of a state.
"""

from annelid.grains.kernels.layout import Features

_TEXT = """
    typedef float F __attribute__((ext_vector_type(8))); typedef int I __attribute__((ext_vector_type(8)));
    #define MIX __builtin_shufflevector
    #define MORE(a, b) ((a) > (b) ? (a) : (b))
    #define LESS(a, b) ((a) < (b) ? (a) : (b))
    // Two rows of four numbers, the n-th two of those at hand: nothing is touched beyond the last.
    #define TWO(from, n) __builtin_ia32_loadups256_mask( \\
        (const F*)(from + 4 * at + 8 * (n)), (F)0.0f, (unsigned char)(there >> 8 * (n)))
    #define ROWS(from, p, q, r, s) const F p = TWO(from, 0), q = TWO(from, 1), r = TWO(from, 2), s = TWO(from, 3);
    #define COLUMN(p, q, r, s, c) \\
        MIX(MIX(p, q, c, 4 + c, 8 + c, 12 + c), MIX(r, s, c, 4 + c, 8 + c, 12 + c), 0, 1, 2, 3, 4, 5, 6, 7)
    const I numbers = {0, 1, 2, 3, 4, 5, 6, 7};
    for (int at = first; at < last; at += 8) {
        const unsigned there = last - at < 8 ? (1u << 4 * (last - at)) - 1u : ~0u;
        ROWS(all, p0, p1, p2, p3)
        F dx = x[0] - COLUMN(p0, p1, p2, p3, 0), dy = x[1] - COLUMN(p0, p1, p2, p3, 1),
          dz = x[2] - COLUMN(p0, p1, p2, p3, 2);
        @WRAP@
        @RADII@
        const I js = numbers + at;
        I near_by = (js < last) & (js != i);
        @GUESTS@
        near_by &= dx * dx + dy * dy + dz * dz < far * far;
        // As one by one, what follows the last that is near is written as well.
        const unsigned found_here = __builtin_ia32_movmskps256((F)near_by);
        const int more = __builtin_popcount(found_here), end = wp::min(last - at, 8) - 1;
        const int written = wp::min(more + 1 - (int)(found_here >> end & 1u), lists.places - count);
        const I packed = __builtin_ia32_compresssi256_mask(js, (I)(at + end), (unsigned char)found_here);
        __builtin_ia32_storedqusi256_mask((I*)(lists.neighbours.data + AT(lists, i, count)), packed,
                                          (unsigned char)((1u << wp::max(written, 0)) - 1u));
        count += more;
    }
    #undef MIX
    #undef MORE
    #undef LESS
    #undef TWO
    #undef ROWS
    #undef COLUMN
"""

_RADII = """
        ROWS(((const float*)grains.forecast.data), f0, f1, f2, f3)
        const F radius = COLUMN(f0, f1, f2, f3, 3);
"""

_GUESTS = """
        const I guest = radius < parameters.smallest;
        const int am_guest = own < parameters.smallest ? -1 : 0;
        near_by &= ~(guest & am_guest);
        const I mixed = near_by & (guest ^ am_guest);
        if (__builtin_ia32_movmskps256((F)mixed)) {
            const float* facets = (const float*)grains.facets.data;
            F gx, gy, gz, extent;
            if (am_guest) {
                gx = facets[4 * i]; gy = facets[4 * i + 1]; gz = facets[4 * i + 2]; extent = facets[4 * i + 3];
            } else {
                ROWS(facets, g0, g1, g2, g3)
                gx = COLUMN(g0, g1, g2, g3, 0); gy = COLUMN(g0, g1, g2, g3, 1); gz = COLUMN(g0, g1, g2, g3, 2);
                extent = COLUMN(g0, g1, g2, g3, 3);
            }
            const F zero = 0.0f, one = 1.0f, along = dx * gx + dy * gy + dz * gz;
            const F bx = dx - along * gx, by = dy - along * gy, bz = dz - along * gz;
            const F aside = __builtin_elementwise_sqrt(bx * bx + by * by + bz * bz), wide = MORE(extent, zero);
            const F away = MORE(aside, 1.0e-20f + zero), share = wide / away, part = one - LESS(share, one);
            const F low = LESS(extent, zero), high = MORE(-extent, zero), least = MORE(along, low);
            const F rest = along - LESS(least, high);
            dx = mixed ? part * bx + rest * gx : dx; dy = mixed ? part * by + rest * gy : dy;
            dz = mixed ? part * bz + rest * gz : dz;
        }
"""


def look_at_eight(features: Features, *, allowed: bool) -> str:
    """Text of `gather_row` that adds those from `first` to `last` that are near to the list of grain i at `x`."""
    wrap = "".join(
        f"d{axis} = d{axis} > 0.5f * parameters.period[{n}] ? d{axis} - parameters.period[{n}] : d{axis};\n"
        f"d{axis} = d{axis} < -0.5f * parameters.period[{n}] ? d{axis} + parameters.period[{n}] : d{axis};\n"
        for n, axis in enumerate("xyz")
        if features.periodic[n]
    )
    radii = _RADII if features.sizes else "const F radius = parameters.radius;"
    reach = "near + radius - COLUMN(p0, p1, p2, p3, 3)" if allowed else "near + radius"
    far = f"const F sum = {reach}, far = " + ("MORE(sum, (F)0.0f);" if features.guests else "sum;")
    parts = {"WRAP": wrap, "RADII": radii + far, "GUESTS": _GUESTS if features.guests else ""}
    text = _TEXT
    for name, part in parts.items():
        text = text.replace(f"@{name}@", part)
    return text
