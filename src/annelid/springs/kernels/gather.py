"""The sum of spring forces on a mass, in the two forms that suit the devices.

Both walk the same rows in the same order. On CUDA one thread, or several lanes of a warp, sum the row of one mass. On
the CPU a core sums four masses at a time in vector registers: in a lattice the four usually share one row, so that
their neighbours lie side by side in memory.
"""

from dataclasses import dataclass
from typing import Any

import warp as wp

from annelid.core.kernels.loading import once
from annelid.springs.kernels.layout import Layout

wp.set_module_options({"enable_backward": False})

WIDTH = 4
"""Masses that a CPU core sums at a time."""


@dataclass(frozen=True)
class Springs:
    """What the springs do besides pulling: damp, follow signals, stay broken, and break in this very pass.

    `part` is "all" of them, or only the "fast" ones that lie first in a row, or the "slow" ones after them. Several
    `worlds` share rows, but each has signals of its own; where they are `varied`, stiffness and damping differ too.
    Dashpots that are `delayed` pull by how much longer a spring is than a length that follows it, which each entry of a
    mass keeps.
    """

    damped: bool = False
    actuated: bool = False
    breaking: bool = False
    detecting: bool = False
    part: str = "all"
    worlds: bool = False
    varied: bool = False
    delayed: bool = False


@once
def lane_sum(vec3: Any, lanes: int) -> wp.Function:
    """Sum of a vector over the lanes of a warp that share one mass; every lane gets it, in a fixed order."""
    steps = "".join(
        f"for (int c = 0; c < 3; ++c) v.c[c] += __shfl_xor_sync(0xffffffffu, v.c[c], {hop});\n"
        for hop in (16, 8, 4, 2, 1)
        if hop < lanes
    )

    @wp.func_native(f"#if defined(__CUDA_ARCH__)\n{steps}#endif\nreturn v;\n")
    def total(v: vec3) -> vec3: ...

    return total


@once
def vector_load(vec: Any, length: int, bits: int) -> wp.Function:
    """Load of a 2- or 4-vector in as few memory instructions as the device has."""
    scalar = "float" if bits == 32 else "double"
    wide = f"{scalar}{length}" if length * bits <= 128 else ""
    members = ", ".join(f"q.{c}" for c in "xyzw"[:length])
    cuda = f"const {wide} q = (({wide}*)a.data)[i]; return wp::vec_t<{length}, {scalar}>({members});" if wide else ""
    plain = f"return ((const wp::vec_t<{length}, {scalar}>*)a.data)[i];"

    @wp.func_native(f"#if defined(__CUDA_ARCH__)\n{cuda or plain}\n#else\n{plain}\n#endif\n")
    def load(a: wp.array[vec], i: int) -> vec: ...

    return load


@once
def inverse_root(real: Any) -> wp.Function:
    """1/sqrt(x): the hardware's own on CUDA in single precision, exact elsewhere."""
    scalar = "float" if real is wp.float32 else "double"
    cuda = "return rsqrtf(x);" if real is wp.float32 else "return rsqrt(x);"
    cpu = f"return ({scalar})1 / {'__builtin_sqrtf' if real is wp.float32 else '__builtin_sqrt'}(x);"

    @wp.func_native(f"#if defined(__CUDA_ARCH__)\n{cuda}\n#else\n{cpu}\n#endif\n")
    def root(x: real) -> real: ...

    return root


@once
def lane_union(lanes: int) -> wp.Function:
    """Bits that are set in any of the lanes that share one mass; every lane gets them."""
    steps = "".join(
        f"bits |= (uint64_t)__shfl_xor_sync(0xffffffffu, (unsigned long long)bits, {hop});\n"
        for hop in (16, 8, 4, 2, 1)
        if hop < lanes
    )

    @wp.func_native(f"#if defined(__CUDA_ARCH__)\n{steps}#endif\nreturn bits;\n")
    def union(bits: wp.uint64) -> wp.uint64: ...

    return union


@once
def thread_gather(types: Layout, springs: Springs, lanes: int) -> wp.Function:
    """Spring force on mass i at x, summed by `lanes` threads of a warp (CUDA)."""
    real, vec2, vec3, vec4, Arrays, Work = types.real, types.vec2, types.vec3, types.vec4, types.Arrays, types.Work
    bits = _bits(real)
    load4, load2, rsqrt = vector_load(vec4, 4, bits), vector_load(vec2, 2, bits), inverse_root(real)
    total, union = lane_sum(vec3, lanes), lane_union(lanes)
    damped, actuated, breaking, detecting = springs.damped, springs.actuated, springs.breaking, springs.detecting
    part, varied, delayed = springs.part, springs.varied, springs.delayed

    @wp.func
    def spring_force(
        i: int,
        lane: int,
        now: wp.int64,
        x: vec3,
        v: vec3,
        model: Arrays,
        work: Work,
        factor_base: int,
        scale: vec4,
        positions: wp.array[vec4],
        velocities: wp.array[vec3],
        catching: real,
        rate: real,
        there: bool,
    ):
        number = model.row_of[i]
        row = model.rows[number]
        first = row[0]
        end = row[0] + row[1] * model.stride
        if wp.static(part == "slow"):
            first = first + model.fast_counts[number] * model.stride
        if wp.static(part == "fast"):
            end = first + model.fast_counts[number] * model.stride
        entry = first + lane * model.stride
        slot = int(lane)
        force = vec3()
        bit = wp.uint64(1)
        broken = wp.uint64(0)
        before = wp.uint64(0)
        if wp.static(breaking):
            bit = bit << wp.uint64(lane)
            before = work.broken[i]
            broken = before
        while entry < end:
            j = i + model.offsets[entry]
            near = load4(positions, j)
            d = vec3(near[0], near[1], near[2]) - x
            squared = wp.max(wp.dot(d, d), real(1.0e-30))
            inverse = rsqrt(squared)
            spring = load2(model.elastic, entry)
            stiffness = spring[0]
            pull = spring[1]
            factor = real(1.0)
            if wp.static(actuated):
                factor = work.factors[factor_base + model.signals[entry]]
                pull = pull * factor
            if wp.static(detecting):
                if squared > model.limits[entry] * factor * factor:
                    broken = broken | bit
            along = stiffness - pull * inverse
            if wp.static(varied):
                along = along * scale[0]
            if wp.static(damped):
                drag = real(0.0)
                if wp.static(delayed):
                    length = squared * inverse
                    settled = work.settled[i, slot]
                    settled = wp.where(settled > real(0.0), settled, length)
                    settled += (length - settled) * catching
                    if there:
                        work.settled[i, slot] = settled
                    drag = model.damping[entry] * rate * (real(1.0) - settled * inverse)
                else:
                    drag = model.damping[entry] * wp.dot(velocities[j] - v, d) * inverse * inverse
                if wp.static(varied):
                    drag = drag * scale[1]
                along += drag
            if wp.static(breaking):
                along = wp.where((broken & bit) == wp.uint64(0), along, real(0.0))
                bit = bit << wp.uint64(wp.static(lanes))
            force += d * along
            entry += wp.static(lanes) * model.stride
            slot += wp.static(lanes)
        if wp.static(lanes > 1):
            force = total(force)
        if wp.static(detecting):
            if wp.static(lanes > 1):
                broken = union(broken)
            if broken != before and lane == 0:
                work.broken[i] = broken
                work.breaks[0] = now
        return force

    return spring_force


def _bits(real: Any) -> int:
    return 32 if real is wp.float32 else 64


@once
def vector_gather(types: Layout, springs: Springs) -> wp.Function:
    """Spring forces on the four masses of a group, written to `forces` (CPU)."""
    real, vec2, vec3, vec4 = types.real, types.vec2, types.vec3, types.vec4
    scalar = "float" if real is wp.float32 else "double"

    @wp.func_native(_vector_source(scalar, springs))
    def spring_forces(
        group: int,
        now: wp.int64,
        count: int,
        row_of: wp.array[wp.int32],
        rows: wp.array[wp.vec2i],
        fast_counts: wp.array[wp.int32],
        offsets: wp.array[wp.int32],
        elastic: wp.array[vec2],
        damping: wp.array[real],
        signals: wp.array[wp.int32],
        limits: wp.array[real],
        factors: wp.array[real],
        factor_base: int,
        signal_count: int,
        masses_a_world: int,
        scales: wp.array[vec4],
        positions: wp.array[vec4],
        velocities: wp.array[vec3],
        catching: real,
        rate: real,
        settled: wp.array2d[real],
        broken: wp.array[wp.uint64],
        breaks: wp.array[wp.int64],
        forces: wp.array[vec3],
    ): ...

    return spring_forces


def _vector_source(scalar: str, springs: Springs) -> str:
    """C++ of `vector_gather`: rows shared by all four lanes, or rows that differ, as long as all last and to the end.

    A row without entries begins where the next one does, so that lanes share a row only if it is as long, too. Lanes of
    two worlds that have signals of their own do not count as sharing.
    """
    damped, actuated, breaking, detecting = springs.damped, springs.actuated, springs.breaking, springs.detecting
    apart, varied = actuated and springs.worlds, springs.varied
    first, own, own_of = ("base[0]", "base[l]", "base[@]") if apart else ("factor_base",) * 3
    limit = "limit * factor * factor" if actuated else "limit"
    broken = f"""
                for (int l = 0; l < 4; ++l) {{
                    {f"if (d2[l] > ({limit})[l]) mask[l] |= 1ull << slot;" if detecting else ""}
                    if (mask[l] >> slot & 1) along[l] = 0;
                }}"""
    delayed, numbered = damped and springs.delayed, breaking or (damped and springs.delayed)
    moving = damped and not delayed
    loss = "rate * (1 - was * inverse)" if delayed else "(dvx * dx + dvy * dy + dvz * dz) * (inverse * inverse)"
    drag = f"along += {'damp * ' if varied else ''}c * {loss};"
    follow = """
                const lanes length = d2 * inverse;
                lanes was;
                for (int l = 0; l < 4; ++l) was[l] = settled.data[(size_t)at[l] * settled.shape[1] + slot];
                was = was > 0 ? was : length;
                was += (length - was) * catching;
                for (int l = 0; l < 4; ++l) settled.data[(size_t)at[l] * settled.shape[1] + slot] = was[l];"""
    law = f"""
                lanes d2 = dx * dx + dy * dy + dz * dz;
                d2 = d2 > tiny ? d2 : tiny;
                const lanes inverse = 1 / __builtin_elementwise_sqrt(d2);
                lanes along = k - {"kl * factor" if actuated else "kl"} * inverse;
                {"along *= stiff;" if varied else ""}
                {follow if delayed else ""}
                {drag if damped else ""}
                {broken if breaking else ""}
                fx += along * dx; fy += along * dy; fz += along * dz;"""
    neighbours = f"""
                lanes dx, dy, dz;
                TRANSPOSE(dx, dy, dz, P + 4 * j0, P + 4 * j1, P + 4 * j2, P + 4 * j3)
                dx -= x; dy -= y; dz -= z;
                {"lanes dvx, dvy, dvz; VELOCITIES(dvx, dvy, dvz) dvx -= vx; dvy -= vy; dvz -= vz;" if moving else ""}"""
    shared_constants = f"""
                const lanes k = E[2 * e], kl = E[2 * e + 1];
                {"const lanes c = damping.data[e];" if damped else ""}
                {f"const lanes factor = factors.data[{first} + signals.data[e]];" if actuated else ""}
                {"const lanes limit = limits.data[e];" if detecting else ""}
                {"const int slot = e - start[0];" if numbered else ""}"""

    def of_lanes(term: str) -> str:
        return "{" + ", ".join(term.replace("@", str(lane)) for lane in range(4)) + "}"

    held_constants = f"""
                const int e0 = start[0] + s, e1 = start[1] + s, e2 = start[2] + s, e3 = start[3] + s;
                const int j0 = at[0] + offsets.data[e0], j1 = at[1] + offsets.data[e1],
                          j2 = at[2] + offsets.data[e2], j3 = at[3] + offsets.data[e3];
                lanes low, high;  // two lanes each
                __builtin_memcpy(&low, E + 2 * e0, sizeof(lanes) / 2);
                __builtin_memcpy((char*)&low + sizeof(lanes) / 2, E + 2 * e1, sizeof(lanes) / 2);
                __builtin_memcpy(&high, E + 2 * e2, sizeof(lanes) / 2);
                __builtin_memcpy((char*)&high + sizeof(lanes) / 2, E + 2 * e3, sizeof(lanes) / 2);
                const lanes k = MIX(low, high, 0, 2, 4, 6), kl = MIX(low, high, 1, 3, 5, 7);
                {f"const lanes c = {of_lanes('damping.data[e@]')};" if damped else ""}
                {f"const lanes factor = {of_lanes(f'factors.data[{own_of} + signals.data[e@]]')};" if actuated else ""}
                {f"const lanes limit = {of_lanes('limits.data[e@]')};" if detecting else ""}
                {"const int slot = s;" if numbered else ""}"""
    names = ["k", "kl"] + ["c"] * damped + ["factor"] * actuated + ["limit"] * detecting
    lane_constants = f"""
                lanes {", ".join(names)};
                int j[4];
                {"const int slot = s;" if numbered else ""}
                for (int l = 0; l < 4; ++l) {{
                    // A lane whose row has ended repeats its last neighbour with no stiffness.
                    const bool held = s < count_of[l];
                    const int e = count_of[l] ? start[l] + (held ? s : count_of[l] - 1) : 0;
                    j[l] = count_of[l] ? at[l] + offsets.data[e] : at[l];
                    k[l] = held ? E[2 * e] : 0; kl[l] = held ? E[2 * e + 1] : 0;
                    {"c[l] = held ? damping.data[e] : 0;" if damped else ""}
                    {f"factor[l] = factors.data[{own} + signals.data[e]];" if actuated else ""}
                    {f"limit[l] = held ? limits.data[e] : ({scalar})1e30;" if detecting else ""}
                }}
                const int j0 = j[0], j1 = j[1], j2 = j[2], j3 = j[3];"""
    own_velocities = (
        "lanes vx, vy, vz; { const int j0 = at[0], j1 = at[1], j2 = at[2], j3 = at[3]; VELOCITIES(vx, vy, vz) }"
    )
    chosen_part = {
        "all": "",
        "fast": "count_of[l] = fast_counts.data[row];",
        "slow": "start[l] += fast_counts.data[row]; count_of[l] -= fast_counts.data[row];",
    }[springs.part]
    own_scales = f"""const {scalar}* scale = (const {scalar}*)scales.data{
        " + 4 * (at[l] / masses_a_world)" if springs.worlds else ""
    };
        stiff[l] = scale[0]; damp[l] = scale[1];"""
    read_masks = "unsigned long long mask[4]; for (int l = 0; l < 4; ++l) mask[l] = broken.data[at[l]];"
    write_masks = """
    for (int l = 0; l < 4 && 4 * group + l < count; ++l)
        if (broken.data[at[l]] != mask[l]) { broken.data[at[l]] = mask[l]; breaks.data[0] = now; }"""
    return f"""
#if !defined(__CUDA_ARCH__)
    typedef {scalar} lanes __attribute__((ext_vector_type(4)));
    #define MIX __builtin_shufflevector
    #define TRANSPOSE(X, Y, Z, A, B, C, D) {{ lanes a, b, c_, d; \\
        __builtin_memcpy(&a, A, sizeof(lanes)); __builtin_memcpy(&b, B, sizeof(lanes)); \\
        __builtin_memcpy(&c_, C, sizeof(lanes)); __builtin_memcpy(&d, D, sizeof(lanes)); \\
        const lanes ab = MIX(a, b, 0, 4, 1, 5), cd = MIX(c_, d, 0, 4, 1, 5); \\
        X = MIX(ab, cd, 0, 1, 4, 5); Y = MIX(ab, cd, 2, 3, 6, 7); \\
        Z = MIX(MIX(a, b, 2, 6, 2, 6), MIX(c_, d, 2, 6, 2, 6), 0, 1, 4, 5); }}
    #define VELOCITIES(X, Y, Z) {{ const int at_[4] = {{j0, j1, j2, j3}}; \\
        for (int l = 0; l < 4; ++l) {{ const {scalar}* q = V + 3 * at_[l]; X[l] = q[0]; Y[l] = q[1]; Z[l] = q[2]; }} }}
    const {scalar}* P = (const {scalar}*)positions.data;
    const {scalar}* V = (const {scalar}*)velocities.data;
    const {scalar}* E = (const {scalar}*)elastic.data;
    const lanes tiny = ({scalar})1e-30;
    int at[4], start[4], count_of[4], longest = 0, shortest = 2147483647;
    {"int base[4];" if apart else ""}
    {"lanes stiff, damp;" if varied else ""}
    bool shared = true;
    for (int l = 0; l < 4; ++l) {{
        at[l] = 4 * group + l < count ? 4 * group + l : count - 1;
        const int row = row_of.data[at[l]];
        start[l] = rows.data[row].c[0]; count_of[l] = rows.data[row].c[1];
        {chosen_part}
        longest = count_of[l] > longest ? count_of[l] : longest;
        shortest = count_of[l] < shortest ? count_of[l] : shortest;
        {own_scales if varied else ""}
        {"base[l] = factor_base + at[l] / masses_a_world * signal_count;" if apart else ""}
        shared = shared && at[l] == at[0] + l && start[l] == start[0] && count_of[l] == count_of[0];
        {"shared = shared && base[l] == base[0];" if apart else ""}
    }}
    lanes x, y, z, fx = 0, fy = 0, fz = 0;
    TRANSPOSE(x, y, z, P + 4 * at[0], P + 4 * at[1], P + 4 * at[2], P + 4 * at[3])
    {own_velocities if damped else ""}
    {read_masks if breaking else ""}
    if (shared) {{
        for (int e = start[0]; e < start[0] + longest; ++e) {{
                const int j0 = at[0] + offsets.data[e], j1 = j0 + 1, j2 = j0 + 2, j3 = j0 + 3;
                {neighbours}{shared_constants}{law}
        }}
    }} else {{
        for (int s = 0; s < shortest; ++s) {{
                {held_constants}{neighbours}{law}
        }}
        for (int s = shortest; s < longest; ++s) {{
                {lane_constants}{neighbours}{law}
        }}
    }}
    for (int l = 0; l < 4 && 4 * group + l < count; ++l) {{
        {scalar}* f = ({scalar}*)forces.data + 3 * (4 * group + l);
        f[0] = fx[l]; f[1] = fy[l]; f[2] = fz[l];
    }}
    {write_masks if detecting else ""}
    #undef MIX
    #undef TRANSPOSE
    #undef VELOCITIES
#endif
"""
