"""How the lanes of a warp share the groups of neighbours of its grains (CUDA).

Lists differ in length, and all lanes wait for the longest one. Each lane takes groups of its own grain as long as most
lanes have some; what is left of longer lists is dealt out to all of them. The lane of a grain adds what was found for
it group after group: sums do not depend on who took which group.
"""

SUMS = ("sx", "sy", "sz", "tx", "ty", "tz", "hx", "hy", "hz", "kx", "ky", "kz", "touching")
"""What is summed over the contacts of a grain; of `worst` the largest counts."""

WARPS = 2
"""Warps of a block, at most."""

_SUMS = len(SUMS)

SHARE = f"""
    __shared__ float all_found[{WARPS}][{32 * (_SUMS + 1)}];
    __shared__ int all_firsts[{WARPS}][33], all_rows[{WARPS}][32];
    float* found = all_found[threadIdx.x >> 5];
    int *firsts = all_firsts[threadIdx.x >> 5], *rows = all_rows[threadIdx.x >> 5];
    const unsigned here = __activemask(), lower = here & ((1u << (threadIdx.x & 31)) - 1u);
    const int width = __popc(here), rank = __popc(lower);
    const int own = i, groups = ((const int*)lists.counts.data)[2 * i] >> 2;
    float out[{_SUMS + 1}] = {{0.0f}};
    int left = 0, most = 0;
    #pragma unroll 1
    for (unsigned some = __ballot_sync(here, groups > 0); some; some = __ballot_sync(here, groups > most)) {{
        left += __popc(some);
        ++most;
    }}
    int turns = 0, shared = (left + width - 1) / width;  // in which lanes take their own groups, and others after them
    #pragma unroll 1
    for (int t = 1, rest = left; t <= most; ++t) {{
        rest -= __popc(__ballot_sync(here, groups >= t));
        const int then = (rest + width - 1) / width;
        if (t + then <= turns + shared) {{ turns = t; shared = then; left = rest; }}
    }}
    if (shared > 0) {{
        int first = 0;
        #pragma unroll 1
        for (int t = turns; t < most; ++t) first += __popc(__ballot_sync(here, groups > t) & lower);
        firsts[rank] = first;
        if (rank == width - 1) firsts[width] = left;
        rows[rank] = i;
        __syncwarp(here);
    }}
    #pragma unroll 1
    for (int turn = 0; turn < turns + shared; ++turn) {{
        int i = own, k = 4 * turn;
        bool busy = turn < groups;
        const int start = (turn - turns) * width;  // of what is dealt out
        if (turn >= turns) {{
            busy = start + rank < left;
            if (busy) {{
                int low = 0, high = width;  // the last row that begins there or before
                #pragma unroll 1
                while (high - low > 1) {{
                    const int middle = (low + high) >> 1;
                    if (firsts[middle] <= start + rank) low = middle; else high = middle;
                }}
                i = rows[low]; k = 4 * (turns + start + rank - firsts[low]);
            }}
        }}
        {" = ".join((*SUMS, "worst"))} = 0.0f;
        if (busy) {{
"""
"""Text ahead of what is done with the neighbours `k` to `k + 3` of grain `i`."""

BOOK = f"""
        if (turn < turns) {{
            {" ".join(f"out[{n}] += {name};" for n, name in enumerate(SUMS))}
            out[{_SUMS}] = fmaxf(out[{_SUMS}], worst);
        }} else {{
            {" ".join(f"found[{32 * n} + rank] = {name};" for n, name in enumerate((*SUMS, "worst")))}
            __syncwarp(here);
            const int high = min(firsts[rank + 1] - start, width);
            #pragma unroll 1
            for (int n = max(firsts[rank] - start, 0); n < high; ++n) {{
                for (int c = 0; c < {_SUMS}; ++c) out[c] += found[32 * c + n];
                out[{_SUMS}] = fmaxf(out[{_SUMS}], found[{32 * _SUMS} + n]);
            }}
            __syncwarp(here);
        }}
"""
"""Text after it; `out` is what this lane's own grain has found so far."""
