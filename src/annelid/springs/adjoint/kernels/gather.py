"""The sum over the springs of a mass on the way back, in the two forms that suit the devices.

With d = x_j - x_i, w = v_j - v_i, length l, force A d with A = k - P + c s, P = k L u / l, s = w·d / l², and b the
difference of the rates by the forces on both masses, β = b·d:

    x̄_i -= A b + β/l² ((P - 2 c s) d + c w)        v̄_i -= c β d / l²

and by the spring's own numbers: k (with k L held) β, k L -β u / l, c β s, u -β k L / l. Both walk the rows in the order
of the way there.
"""

from dataclasses import dataclass

import warp as wp

from annelid.core.kernels.loading import once
from annelid.springs.adjoint.kernels.ledger import ledger_of
from annelid.springs.adjoint.kernels.loads import constant_load
from annelid.springs.kernels.gather import inverse_root, lane_sum
from annelid.springs.kernels.layout import Layout

wp.set_module_options({"enable_backward": False})

CPU_GROUP, CUDA_GROUP = 4, 32
"""Masses whose places lie side by side."""


@dataclass(frozen=True)
class Way:
    """What the way back needs of springs.

    Attributes:
        damped: Whether springs have dashpots.
        actuated: Whether they follow signals.
        worlds: Whether there are several worlds, each with signals of its own.
        stiffness: Whether rates by stiffness are booked: with the product of stiffness and rest length held where
            `tensions` are booked too, else with the rest length held.
        tensions: Whether rates by that product are.
        dashpots: Whether rates by damping are.
        factors: Whether rates by the factors of signals are.
        own: Whether rates by what belongs to masses, obstacles and surroundings are.
    """

    damped: bool
    actuated: bool
    worlds: bool
    stiffness: bool
    tensions: bool
    dashpots: bool
    factors: bool
    own: bool

    @property
    def constants(self) -> bool:
        """Whether rates by numbers of springs are booked."""
        return self.stiffness or self.tensions or self.dashpots


@once
def thread_back(types: Layout, way: Way, lanes: int) -> wp.Function:
    """Sums over the springs of mass i by `lanes` threads of a warp, in the three rows of a matrix (CUDA).

    The first row is to be taken from its position bar, the second from its velocity bar; the third begins with the
    rate by the force times the force.
    """
    real, vec2, vec3, vec4, mat33 = types.real, types.vec2, types.vec3, types.vec4, types.mat33
    Arrays, Work, Ledger = types.Arrays, types.Work, ledger_of(types)
    scalar = "float" if real is wp.float32 else "double"
    load4, load2 = constant_load(vec4, 4, scalar), constant_load(vec2, 2, scalar)
    load, whole, rsqrt = constant_load(real, 1, scalar), constant_load(wp.int32, 1, "int"), inverse_root(real)
    total = lane_sum(vec3, lanes)
    damped, actuated, factors, own = way.damped, way.actuated, way.factors, way.own
    by_stiffness, by_tension, by_damping = way.stiffness, way.tensions, way.dashpots and way.damped

    @wp.func
    def sums(
        i: int,
        lane: int,
        parity: int,
        factor_base: int,
        model: Arrays,
        work: Work,
        ledger: Ledger,
        pulls: wp.array[vec4],
        speeds: wp.array[vec4],
        positions: wp.array[vec4],
    ) -> mat33:
        row = model.rows[model.row_of[i]]
        here = load4(positions, i)
        x = vec3(here[0], here[1], here[2])
        mine = load4(pulls, i)
        q = vec3(mine[0], mine[1], mine[2])
        v = load4(speeds, i)
        gx = vec3()
        gv = vec3()
        effort = real(0.0)
        place = ledger.first_places[i // wp.static(CUDA_GROUP)] + i % wp.static(CUDA_GROUP)
        place += lane * wp.static(CUDA_GROUP)
        entry = row[0] + lane * model.stride
        end = row[0] + row[1] * model.stride
        while entry < end:
            offset = whole(model.offsets, entry)
            j = i + offset
            near = load4(positions, j)
            theirs = load4(pulls, j)
            # What was booked before is asked for together with the neighbour: both are waited for once.
            stiffness_rate = real(0.0)
            tension_rate = real(0.0)
            damping_rate = real(0.0)
            if offset > 0:
                if wp.static(by_stiffness):
                    stiffness_rate = ledger.by_stiffness[place]
                if wp.static(by_tension):
                    tension_rate = ledger.by_tension[place]
                if wp.static(by_damping):
                    damping_rate = ledger.by_damping[place]
            d = vec3(near[0], near[1], near[2]) - x
            b = q - vec3(theirs[0], theirs[1], theirs[2])
            squared = wp.max(wp.dot(d, d), real(1.0e-30))
            inverse = rsqrt(squared)
            inverse2 = inverse * inverse
            spring = load2(model.elastic, entry)
            factor = real(1.0)
            if wp.static(actuated):
                factor = load(work.factors, factor_base + whole(model.signals, entry))
            beta = wp.dot(b, d)
            tension = spring[1] * factor * inverse
            along = spring[0] - tension
            turn = tension
            if wp.static(damped):
                c = load(model.damping, entry)
                theirs = load4(speeds, j) - v
                w = vec3(theirs[0], theirs[1], theirs[2])
                speed = wp.dot(w, d) * inverse2
                along += c * speed
                turn -= real(2.0) * c * speed
                slow = c * beta * inverse2
                gx += w * slow
                gv += d * slow
                damping_rate += beta * speed
            gx += b * along + d * (turn * beta * inverse2)
            if wp.static(own):
                effort += along * wp.dot(q, d)
            if offset > 0:
                if wp.static(by_stiffness and by_tension):
                    ledger.by_stiffness[place] = stiffness_rate + beta
                if wp.static(by_stiffness and not by_tension):
                    ledger.by_stiffness[place] = stiffness_rate + beta * (real(1.0) - tension / spring[0])
                if wp.static(by_tension):
                    ledger.by_tension[place] = tension_rate - beta * factor * inverse
                if wp.static(by_damping):
                    ledger.by_damping[place] = damping_rate
                if wp.static(factors):
                    ledger.by_factor[parity, place] = -beta * spring[1] * inverse
            entry += wp.static(lanes) * model.stride
            place += wp.static(lanes * CUDA_GROUP)
        more = vec3(effort, real(0.0), real(0.0))
        if wp.static(lanes > 1):
            gx = total(gx)
            if wp.static(damped):
                gv = total(gv)
            if wp.static(own):
                more = total(more)
        return mat33(gx[0], gx[1], gx[2], gv[0], gv[1], gv[2], more[0], more[1], more[2])

    return sums


@once
def vector_back(types: Layout, way: Way) -> wp.Function:
    """The same sums for the four masses of a group, written to the ledger (CPU)."""
    real, vec3, vec4 = types.real, types.vec3, types.vec4
    scalar = "float" if real is wp.float32 else "double"

    @wp.func_native(_vector_source(scalar, way))
    def sums(
        group: int,
        count: int,
        factors: wp.array[real],
        factor_base: int,
        signal_count: int,
        masses_a_world: int,
        first_places: wp.array[wp.int32],
        first_owned: wp.array[wp.int32],
        offsets: wp.array[wp.int32],
        stiffness: wp.array[real],
        tensions: wp.array[real],
        damping: wp.array[real],
        signals: wp.array[wp.int32],
        positions: wp.array[vec4],
        pulls: wp.array[vec4],
        speeds: wp.array[vec4],
        position_sums: wp.array[vec3],
        velocity_sums: wp.array[vec3],
        efforts: wp.array[real],
        by_stiffness: wp.array[real],
        by_tension: wp.array[real],
        by_damping: wp.array[real],
        by_factor: wp.array[real],
    ): ...

    return sums


def _vector_source(scalar: str, way: Way) -> str:
    """C++ of `vector_back`.

    The numbers of springs are read from places, four at a time; a lane whose row has ended finds a spring to itself
    there that does nothing.
    """
    damped, actuated, apart = way.damped, way.actuated, way.actuated and way.worlds
    base = "base[l]" if apart else "factor_base"
    factor = f"""lanes factor; for (int l = 0; l < 4; ++l)
                    factor[l] = factors.data[{base} + signals.data[place + l]];"""

    def store(where: str, what: str) -> str:
        return f"{{ const lanes put = {what}; __builtin_memcpy({where}.data + place, &put, sizeof(lanes)); }}"

    def book(where: str, what: str) -> str:
        return f"{{ LOAD(kept, {where}) {store(where, f'kept + {what}')} }}" if way.constants else ""

    head = f"""
                const int* near = offsets.data + place;
                const int j0 = at[0] + near[0], j1 = at[1] + near[1], j2 = at[2] + near[2], j3 = at[3] + near[3];
                lanes dx, dy, dz, bx, by, bz;
                TRANSPOSE(dx, dy, dz, P, j0, j1, j2, j3)
                dx -= x; dy -= y; dz -= z;
                lanes squared = dx * dx + dy * dy + dz * dz;
                squared = squared > tiny ? squared : tiny;
                const lanes inverse = 1 / __builtin_elementwise_sqrt(squared);
                TRANSPOSE(bx, by, bz, Q, j0, j1, j2, j3)
                bx = qx - bx; by = qy - by; bz = qz - bz;
                {"lanes wx, wy, wz; TRANSPOSE(wx, wy, wz, V, j0, j1, j2, j3)" if damped else ""}
                {factor if actuated else ""}
                LOAD(stiff, stiffness) LOAD(tense, tensions) {"LOAD(c, damping)" if damped else ""}"""
    dashpot = """
                wx -= vx; wy -= vy; wz -= vz;
                const lanes speed = (wx * dx + wy * dy + wz * dz) * twice;
                along += c * speed; turn -= 2 * c * speed;
                const lanes slow = c * beta * twice;
                gx += slow * wx; gy += slow * wy; gz += slow * wz;
                hx += slow * dx; hy += slow * dy; hz += slow * dz;
"""
    body = f"""
                const lanes twice = inverse * inverse;
                const lanes beta = bx * dx + by * dy + bz * dz;
                const lanes tension = {"tense * factor" if actuated else "tense"} * inverse;
                lanes along = stiff - tension, turn = tension;
                {dashpot if damped else ""}
                const lanes stretch = turn * beta * twice;
                gx += along * bx + stretch * dx;
                gy += along * by + stretch * dy;
                gz += along * bz + stretch * dz;
                {"effort += along * (qx * dx + qy * dy + qz * dz);" if way.own else ""}
                if (place >= owned) {{
                    {book("by_stiffness", "beta")}
                    {book("by_tension", "-beta * factor * inverse" if actuated else "-beta * inverse")}
                    {book("by_damping", "beta * speed") if damped else ""}
                    {store("by_factor", "-beta * tense * inverse") if way.factors else ""}
                }}"""
    return f"""
#if !defined(__CUDA_ARCH__)
    typedef {scalar} lanes __attribute__((ext_vector_type(4)));
    #define MIX __builtin_shufflevector
    #define TRANSPOSE(X, Y, Z, FROM, A, B, C, D) {{ lanes a, b, c_, d; \\
        __builtin_memcpy(&a, FROM + 4 * A, sizeof(lanes)); __builtin_memcpy(&b, FROM + 4 * B, sizeof(lanes)); \\
        __builtin_memcpy(&c_, FROM + 4 * C, sizeof(lanes)); __builtin_memcpy(&d, FROM + 4 * D, sizeof(lanes)); \\
        const lanes ab = MIX(a, b, 0, 4, 1, 5), cd = MIX(c_, d, 0, 4, 1, 5); \\
        X = MIX(ab, cd, 0, 1, 4, 5); Y = MIX(ab, cd, 2, 3, 6, 7); \\
        Z = MIX(MIX(a, b, 2, 6, 2, 6), MIX(c_, d, 2, 6, 2, 6), 0, 1, 4, 5); }}
    #define LOAD(X, FROM) lanes X; __builtin_memcpy(&X, FROM.data + place, sizeof(lanes));
    const {scalar}* P = (const {scalar}*)positions.data;
    const {scalar}* V = (const {scalar}*)speeds.data;
    const {scalar}* Q = (const {scalar}*)pulls.data;
    const lanes tiny = ({scalar})1e-30;
    int at[4], place = first_places.data[group];
    const int end = first_places.data[group + 1], owned = first_owned.data[group];
    for (int l = 0; l < 4; ++l) at[l] = 4 * group + l < count ? 4 * group + l : count - 1;
    {
        "int base[4]; for (int l = 0; l < 4; ++l) base[l] = factor_base + at[l] / masses_a_world * signal_count;"
        if apart
        else ""
    }
    lanes x, y, z, qx, qy, qz, gx = 0, gy = 0, gz = 0, hx = 0, hy = 0, hz = 0, effort = 0;
    TRANSPOSE(x, y, z, P, at[0], at[1], at[2], at[3])
    TRANSPOSE(qx, qy, qz, Q, at[0], at[1], at[2], at[3])
    {"lanes vx, vy, vz; TRANSPOSE(vx, vy, vz, V, at[0], at[1], at[2], at[3])" if damped else ""}
    for (; place < end; place += 4) {{ {head}{body} }}
    for (int l = 0; l < 4 && 4 * group + l < count; ++l) {{
        {scalar}* g = ({scalar}*)position_sums.data + 3 * (4 * group + l);
        {scalar}* h = ({scalar}*)velocity_sums.data + 3 * (4 * group + l);
        g[0] = gx[l]; g[1] = gy[l]; g[2] = gz[l];
        h[0] = hx[l]; h[1] = hy[l]; h[2] = hz[l];
        {"efforts.data[4 * group + l] = effort[l];" if way.own else ""}
    }}
    #undef MIX
    #undef TRANSPOSE
    #undef LOAD
#endif
"""
