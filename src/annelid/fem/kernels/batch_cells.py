"""Cells of linear tetrahedra in many worlds at once: stress, tangent times a vector, how far a move may go.

One thread has one cell of one world, and the world is the fastest index of every array, so that accesses are coalesced
whatever the mesh. A thread holds the nodes of its cell in registers: cells that are alike, with tetrahedra between the
same of their nodes, have a kernel of their own in which these places are constants. The energy is that of
`kernels.hyperelastic` with changes of volume shared by a cell, in single precision and in displacements: with C the
cofactors of F, I₂ = |C|², and with A × B the bilinear form whose half at A = B = F is C,

    P  = 2 W₁ F + 2 W₂ C × F + (κ (J − 1) − p + λ θ) C,

or, in place of the first two, U diag(∂W/∂λ) Vᵀ with the principal stretches λ of F = U diag(λ) Vᵀ. Derivatives of W
follow from the formulas of the laws of the materials, see `materials.laws`.
"""
# Annotations are not postponed here: Warp reads the types of the kernels below from their closures.

from dataclasses import dataclass
from typing import Any

import warp as wp

from annelid.core.kernels.loading import once
from annelid.fem.kernels.batch_worlds import Each
from annelid.fem.kernels.hyperelastic import LEAST_VOLUME
from annelid.materials.formulas import in_cpp
from annelid.materials.laws import Form

wp.set_module_options({"enable_backward": False})

GEOMETRY = 10
"""Numbers of a tetrahedron: gradients of its nodes 1, 2 and 3 [1/m], and its volume [m³]."""
PULL, BULK, LAME, CRUSH, FIRST = range(5)
"""Columns of the constants of a material: p, κ, λ, what resists collapse, number of the law; those of it follow."""
LEAST_MOVED = 0.05
"""Part of its volume below which no move may bring a tetrahedron."""
FACES = 4
"""Faces of a tetrahedron; that without corner k has the three that follow k."""
SWEEPS = 4
"""Of Jacobi's method, which finds principal stretches in single precision in three or four."""
ALIKE = 1.0e-2
"""Stretches that differ by less than this part are taken for equal in differences that are divided by theirs."""
TRIES = 7
"""Parts of a move that are tried, each half of the one before; then none of it is taken."""


@dataclass(frozen=True)
class Shape:
    """What cells that are alike have in common.

    Attributes:
        nodes: Number of nodes of a cell.
        tetrahedra: Number of its tetrahedra.
        places: Places of the nodes of each tetrahedron among those of the cell; None where they differ from cell to
            cell and are read from memory.
    """

    nodes: int
    tetrahedra: int
    places: tuple[tuple[int, int, int, int], ...] | None = None


@wp.struct
class CellGroup:
    """Cells that are alike."""

    nodes: wp.array2d[wp.int32]
    places: wp.array2d[wp.int32]  # of the nodes of each tetrahedron, where they differ from cell to cell
    geometry: wp.array2d[wp.float32]  # of each tetrahedron of a cell, GEOMETRY numbers
    volumes: wp.array[wp.float32]
    constants: wp.array2d[wp.float32]  # of the material of each cell
    faces: wp.array[wp.int32]  # of its tetrahedra on which a chamber presses, a bit each; see `FACES`
    actors: wp.array2d[wp.int32]  # number of the actuator from 1 on, negative where the face shows the other way round
    first: wp.int32  # number of the first cell among all
    slot: wp.int32  # first of its rows among the slots


_HEAD = """
    using Vector = float[3];  // Warp has a macro float(x), so that no parenthesis may follow a type
    using Corners = int[4];
    PLACES
    const int W = u.shape[1];
    const int* node = group.nodes.data + NODES * (size_t)c;
    const float* geometry = group.geometry.data + 10 * TETS * (size_t)c;
    const float* k = group.constants.data + group.constants.shape[1] * (size_t)c;
    auto load = [&](const float* from, Vector* to) {
        #pragma unroll
        for (int a = 0; a < NODES; ++a)
            for (int i = 0; i < 3; ++i) to[a][i] = from[(size_t)(3 * node[a] + i) * W + w];
    };
    auto gradient = [&](int t, const Vector* v, float* H) {  // of a field, H[3 i + j] = dv_i / dX_j
        const float* g = geometry + 10 * t;
        float d[9];
        #pragma unroll
        for (int a = 0; a < 3; ++a)
            for (int i = 0; i < 3; ++i) d[3 * a + i] = v[tets[t][a + 1]][i] - v[tets[t][0]][i];
        #pragma unroll
        for (int i = 0; i < 3; ++i)
            for (int j = 0; j < 3; ++j) H[3 * i + j] = d[i] * g[j] + d[3 + i] * g[3 + j] + d[6 + i] * g[6 + j];
    };
    auto cross = [](const float* a, const float* b, float* c) {
        c[0] = a[1] * b[2] - a[2] * b[1]; c[1] = a[2] * b[0] - a[0] * b[2]; c[2] = a[0] * b[1] - a[1] * b[0];
    };
    auto cofactors = [&](const float* F, float* C) {
        cross(F + 3, F + 6, C); cross(F + 6, F, C + 3); cross(F, F + 3, C + 6);
    };
    auto both = [&](const float* A, const float* B, float* C) {  // A x B, twice the cofactors where A = B
        #pragma unroll
        for (int r = 0; r < 3; ++r) {
            float p[3], q[3];
            cross(A + 3 * ((r + 1) % 3), B + 3 * ((r + 2) % 3), p);
            cross(B + 3 * ((r + 1) % 3), A + 3 * ((r + 2) % 3), q);
            for (int i = 0; i < 3; ++i) C[3 * r + i] = p[i] + q[i];
        }
    };
    auto grown = [](const float* H) -> float {  // J - 1, without the cancellation of ones
        const float a = H[4] * H[8] - H[5] * H[7], b = H[3] * H[8] - H[5] * H[6], d = H[3] * H[7] - H[4] * H[6];
        const float minors = a + H[0] * H[8] - H[2] * H[6] + H[0] * H[4] - H[1] * H[3];
        return H[0] + H[4] + H[8] + minors + (H[0] * a - H[1] * b + H[2] * d);
    };
    auto give = [&](int t, const float* P, float weight, Vector* to) {  // weight P g to each corner
        const float* g = geometry + 10 * t;
        #pragma unroll
        for (int i = 0; i < 3; ++i) {
            float sum = 0.0f;
            for (int a = 0; a < 3; ++a) {
                const float *h = g + 3 * a, *row = P + 3 * i;
                const float f = weight * (row[0] * h[0] + row[1] * h[1] + row[2] * h[2]);
                to[tets[t][a + 1]][i] += f; sum += f;
            }
            to[tets[t][0]][i] -= sum;
        }
    };
    auto square = [](const float* F) -> float {
        float s = 0.0f;
        for (int i = 0; i < 9; ++i) s += F[i] * F[i];
        return s;
    };
    auto inner = [](const float* A, const float* B) -> float {
        float s = 0.0f;
        for (int i = 0; i < 9; ++i) s += A[i] * B[i];
        return s;
    };
"""

_PRINCIPAL = """
    auto principal = [](const float* F, float* V, float* s) {  // C = FᵀF = V diag(s²) Vᵀ by Jacobi's method
        float C[9];
        #pragma unroll
        for (int i = 0; i < 3; ++i)
            for (int j = 0; j < 3; ++j) {
                C[3 * i + j] = F[i] * F[j] + F[3 + i] * F[3 + j] + F[6 + i] * F[6 + j];
                V[3 * i + j] = i == j ? 1.0f : 0.0f;
            }
        for (int sweep = 0; sweep < SWEEPS; ++sweep)
            #pragma unroll
            for (int pair = 0; pair < 3; ++pair) {
                const int i = pair / 2, j = 2 - (pair == 0), k = 3 - i - j;
                const float off = C[3 * i + j], ratio = (C[4 * j] - C[4 * i]) / (2.0f * off);
                const float size = 1.0f / (wp::abs(ratio) + wp::sqrt(ratio * ratio + 1.0f));
                const float t = off == 0.0f ? 0.0f : ratio < 0.0f ? -size : size;
                const float c = 1.0f / wp::sqrt(t * t + 1.0f), one = C[3 * i + k], other = C[3 * j + k];
                C[4 * i] -= t * off; C[4 * j] += t * off; C[3 * i + j] = C[3 * j + i] = 0.0f;
                C[3 * i + k] = C[3 * k + i] = c * (one - t * other);
                C[3 * j + k] = C[3 * k + j] = c * (other + t * one);
                for (int r = 0; r < 3; ++r) {
                    const float x = V[3 * r + i], y = V[3 * r + j];
                    V[3 * r + i] = c * (x - t * y); V[3 * r + j] = c * (y + t * x);
                }
            }
        for (int i = 0; i < 3; ++i) s[i] = wp::sqrt(wp::max(C[4 * i], 1.0e-6f));
    };
    auto product = [](const float* A, const float* B, float* C) {
        #pragma unroll
        for (int i = 0; i < 3; ++i)
            for (int j = 0; j < 3; ++j)
                C[3 * i + j] = A[3 * i] * B[j] + A[3 * i + 1] * B[3 + j] + A[3 * i + 2] * B[6 + j];
    };
    auto add_turned = [](const float* U, const float* A, const float* V, float* P) {  // P += U A Vᵀ
        float X[9];
        #pragma unroll
        for (int i = 0; i < 3; ++i)
            for (int j = 0; j < 3; ++j)
                X[3 * i + j] = A[3 * i] * V[3 * j] + A[3 * i + 1] * V[3 * j + 1] + A[3 * i + 2] * V[3 * j + 2];
        for (int i = 0; i < 3; ++i)
            for (int j = 0; j < 3; ++j)
                P[3 * i + j] += U[3 * i] * X[j] + U[3 * i + 1] * X[3 + j] + U[3 * i + 2] * X[6 + j];
    };
"""

_FORCE = """
    float U[NODES][3], out[NODES][3], total = 0.0f;
    load(u.data, U);
    #pragma unroll
    for (int a = 0; a < NODES; ++a) out[a][0] = out[a][1] = out[a][2] = 0.0f;
    #pragma unroll
    for (int t = 0; t < TETS; ++t) {
        float F[9];
        gradient(t, U, F);
        total += geometry[10 * t + 9] * grown(F);
    }
    const float shared = k[2] * total / group.volumes.data[c];
    shares.data[(size_t)(group.first + c) * W + w] = shared;
    #pragma unroll
    for (int t = 0; t < TETS; ++t) {
        float F[9], C[9], P[9];
        gradient(t, U, F);
        const float more = grown(F);
        F[0] += 1.0f; F[4] += 1.0f; F[8] += 1.0f;
        cofactors(F, C);
        const float low = LEAST - 1.0f - more, held = low > 0.0f ? 3.0f * k[3] * low * low : 0.0f;
        const float push = k[1] * more - k[0] - held + shared;
        #pragma unroll
        for (int i = 0; i < 9; ++i) P[i] = push * C[i];
        LAW
        give(t, P, -stiffness.data[w] * geometry[10 * t + 9], out);
    }
    STORE
"""
_STRESS = """
        for (int i = 0; i < 9; ++i) P[i] += 2.0f * w1 * F[i];
"""
_STRESS_SECOND = """
        float Q[9];
        both(C, F, Q);
        for (int i = 0; i < 9; ++i) P[i] += 2.0f * w2 * Q[i];
"""
_STRESS_OF_STRETCHES = """
        float A[9], FV[9];  // F V diag(slope / s) Vᵀ
        product(F, V, FV);
        for (int i = 0; i < 9; ++i) A[i] = i % 4 == 0 ? slopes[i / 4] / s[i / 4] : 0.0f;
        add_turned(FV, A, V, P);
"""

_PRODUCT = """
    float U[NODES][3], V[NODES][3], out[NODES][3], slope[NODES][3];
    load(u.data, U);
    load(p.data, V);
    const float shared = shares.data[(size_t)(group.first + c) * W + w];
    #pragma unroll
    for (int a = 0; a < NODES; ++a)
        for (int i = 0; i < 3; ++i) out[a][i] = slope[a][i] = 0.0f;
    #pragma unroll
    for (int t = 0; t < TETS; ++t) {
        float F[9], C[9], D[9], E[9], P[9];
        gradient(t, U, F);
        gradient(t, V, D);
        const float more = grown(F);
        F[0] += 1.0f; F[4] += 1.0f; F[8] += 1.0f;
        cofactors(F, C);
        both(F, D, E);
        const float low = LEAST - 1.0f - more, beyond = low > 0.0f ? low : 0.0f;
        const float push = k[1] * more - k[0] - 3.0f * k[3] * beyond * beyond + shared;
        const float swell = (k[1] + 6.0f * k[3] * beyond) * inner(C, D);
        #pragma unroll
        for (int i = 0; i < 9; ++i) P[i] = swell * C[i] + push * E[i];
        LAW
        give(t, P, geometry[10 * t + 9], out);
        give(t, C, geometry[10 * t + 9], slope);
    }
    float rate = 0.0f;
    #pragma unroll
    for (int a = 0; a < NODES; ++a)
        for (int i = 0; i < 3; ++i) rate += slope[a][i] * V[a][i];
    rate *= k[2] / group.volumes.data[c];
    #pragma unroll
    for (int a = 0; a < NODES; ++a)
        for (int i = 0; i < 3; ++i) out[a][i] = stiffness.data[w] * (out[a][i] + rate * slope[a][i]);
    PRESSED
    STORE
"""
_CHANGE = """
        const float along = 4.0f * w11 * inner(F, D);
        for (int i = 0; i < 9; ++i) P[i] += 2.0f * w1 * D[i] + along * F[i];
"""
_CHANGE_SECOND = """
        float Q[9], R[9];
        both(E, F, Q);
        both(C, D, R);
        for (int i = 0; i < 9; ++i) P[i] += 2.0f * w2 * (Q[i] + R[i]);
"""
_CHANGE_MIXED = """
        both(C, F, Q);
        const float one = 4.0f * inner(F, D), two = 4.0f * inner(Q, D);
        for (int i = 0; i < 9; ++i) P[i] += w12 * two * F[i] + (w12 * one + w22 * two) * Q[i];
"""
_CHANGE_OF_STRETCHES = """
        // In the principal frame only (ii, jj), (ij, ij) and (ij, ji) answer each other.
        float U[9], X[9], Y[9], A[9];
        product(F, V, U);
        product(D, V, X);
        for (int i = 0; i < 9; ++i) U[i] /= s[i % 3];
        #pragma unroll
        for (int i = 0; i < 3; ++i)
            for (int j = 0; j < 3; ++j) Y[3 * i + j] = U[i] * X[j] + U[3 + i] * X[3 + j] + U[6 + i] * X[6 + j];
        #pragma unroll
        for (int i = 0; i < 3; ++i)
            for (int j = 0; j < 3; ++j) {
                if (i == j) {
                    A[4 * i] = bends[3 * i] * Y[0] + bends[3 * i + 1] * Y[4] + bends[3 * i + 2] * Y[8];
                    continue;
                }
                const float gap = s[i] - s[j], whole = s[i] + s[j];
                const float alike = 0.5f * (bends[4 * i] + bends[4 * j]) - bends[3 * i + j];
                const float shear = wp::abs(gap) > ALIKE * whole ? (slopes[i] - slopes[j]) / gap : alike;
                const float turn = (slopes[i] + slopes[j]) / whole;
                A[3 * i + j] = 0.5f * ((shear + turn) * Y[3 * i + j] + (shear - turn) * Y[3 * j + i]);
            }
        add_turned(U, A, V, P);
"""

_PRESSED = """
    const int faces = group.faces.data[c];
    if (faces != 0) {  // p + density g.x on triangles of chambers, see `kernels.batch_actors`
        const float fraction = each.fraction.data[w] / 24.0f;
        const auto pull = each.pull.data[w];
        #pragma unroll
        for (int face = 0; face < 4 * TETS; ++face) {
            if (((faces >> face) & 1) == 0) continue;
            const int t = face / 4, of[3] = {tets[t][(face + 1) % 4], tets[t][(face + 2) % 4], tets[t][(face + 3) % 4]};
            const int number = group.actors.data[(size_t)c * 4 * TETS + face];
            const int actor = (number > 0 ? number : -number) - 1;
            const float density = densities.data[actor], side = number > 0 ? fraction : -fraction;
            const float pressure = each.efforts.data[(size_t)actor * W + w] - each.datums.data[(size_t)actor * W + w];
            float x[3][3], b[3], d[3], db[3], dd[3], normal[3], swept[3], turned[3];
            float sum = 0.0f, more = 0.0f, high[3], higher[3];
            #pragma unroll
            for (int a = 0; a < 3; ++a) {
                high[a] = higher[a] = 0.0f;
                for (int i = 0; i < 3; ++i) {
                    x[a][i] = rest.data[node[of[a]]][i] + U[of[a]][i];
                    high[a] += pull[i] * x[a][i]; higher[a] += pull[i] * V[of[a]][i];
                }
                sum += high[a]; more += higher[a];
            }
            #pragma unroll
            for (int i = 0; i < 3; ++i) {
                b[i] = x[1][i] - x[0][i]; d[i] = x[2][i] - x[0][i];
                db[i] = V[of[1]][i] - V[of[0]][i]; dd[i] = V[of[2]][i] - V[of[0]][i];
            }
            cross(b, d, normal); cross(db, d, swept); cross(b, dd, turned);
            #pragma unroll
            for (int a = 0; a < 3; ++a) {
                const float mean = 4.0f * pressure + density * (sum + high[a]), change = density * (more + higher[a]);
                for (int i = 0; i < 3; ++i)
                    out[of[a]][i] -= side * (mean * (swept[i] + turned[i]) + change * normal[i]);
            }
        }
    }
"""

_STORE = """
    #pragma unroll
    for (int a = 0; a < NODES; ++a)
        for (int i = 0; i < 3; ++i)
            slots.data[(size_t)(group.slot + 3 * (NODES * c + a) + i) * W + w] = out[a][i];
"""

_INSPECT = """
    float U[NODES][3], V[NODES][3], M[9] = {0, 0, 0, 0, 0, 0, 0, 0, 0}, here = 1.0e9f, there = 1.0e9f;
    load(u.data, U);
    load(p.data, V);
    #pragma unroll
    for (int t = 0; t < TETS; ++t) {
        float H[9], D[9];
        gradient(t, U, H);
        gradient(t, V, D);
        const float weight = geometry[10 * t + 9] / group.volumes.data[c], now = 1.0f + grown(H);
        for (int i = 0; i < 9; ++i) { M[i] += weight * H[i]; H[i] += D[i]; }
        const float next = 1.0f + grown(H);
        here = now < here ? now : here;
        there = next < there ? next : there;
    }
    const size_t cell = group.first + c;
    for (int i = 0; i < 9; ++i) means.data[(9 * cell + i) * W + w] = M[i];
    ratios.data[cell * W + w] = there / (here > 1.0e-6f ? here : 1.0e-6f);
"""

_LIMIT = """
    float U[NODES][3], V[NODES][3], part = most.data[w];
    load(u.data, U);
    load(p.data, V);
    #pragma unroll
    for (int t = 0; t < TETS; ++t) {
        float H[9], D[9], C[9], E[9];
        gradient(t, U, H);
        gradient(t, V, D);
        const float more = grown(H);
        H[0] += 1.0f; H[4] += 1.0f; H[8] += 1.0f;
        cofactors(H, C);
        cofactors(D, E);
        const float first = inner(C, D), second = inner(E, H), third = D[0] * E[0] + D[1] * E[1] + D[2] * E[2];
        float s = most.data[w], safe = s;
        for (int trial = 0; trial < TRIES; ++trial) {  // smaller parts must be safe as well
            const float J = 1.0f + more + s * (first + s * (second + s * third));
            if (!(J > LOWEST)) safe = 0.5f * s;
            s *= 0.5f;
        }
        if (safe <= s) safe = 0.0f;
        part = safe < part ? safe : part;
    }
    parts.data[(size_t)(group.first + c) * W + w] = part;
"""


def _law(forms: tuple[Form, ...], *, change: bool) -> str:
    """C++ that adds to P what the law of a cell answers, or how that changes with D; its number is among constants."""
    text = ""
    for number, form in enumerate(forms):
        chosen = f"if (k[{FIRST}] == {float(number)}f)" if len(forms) > 1 else ""
        text += (
            f"{chosen} {{\n{(_in_invariants if form.of == 'invariants' else _in_stretches)(form, change=change)}\n}}\n"
        )
    return text


def _named(form: Form) -> dict[str, str]:
    """What the constants of a law are called."""
    return {f"k{place}": f"k[{FIRST + 1 + place}]" for place in range(form.count)}


def _in_invariants(form: Form, *, change: bool) -> str:
    lines, called = in_cpp([*form.slopes, *form.bends], _named(form) | {"i1": "i1", "i2": "i2"}, "float")
    names = zip(("w1", "w2", "w11", "w12", "w22"), called, strict=True)
    text = f"const float i1 = square(F), i2 = square(C);\n{lines}\n"
    text += " ".join(f"const float {name} = {value};" for name, value in names)
    text += _CHANGE if change else _STRESS
    if form.slopes[1].number != 0.0:
        text += _CHANGE_SECOND if change else _STRESS_SECOND
        if change and any(bend.number != 0.0 for bend in form.bends[1:]):
            text += _CHANGE_MIXED
    return text


def _in_stretches(form: Form, *, change: bool) -> str:
    rows = (0, 1, 2, 1, 3, 4, 2, 4, 5)  # of a symmetric matrix
    names = _named(form) | {f"s{axis}": f"s[{axis}]" for axis in range(3)}
    lines, called = in_cpp([*form.slopes, *(form.bends[row] for row in rows)], names, "float")
    text = f"float V[9], s[3];\nprincipal(F, V, s);\n{lines}\nconst float slopes[3] = {{{', '.join(called[:3])}}};"
    if not change:
        return text + _STRESS_OF_STRETCHES
    return text + f"\nconst float bends[9] = {{{', '.join(called[3:])}}};" + _CHANGE_OF_STRETCHES


def _snippet(body: str, shape: Shape, law: str = "", *, pressed: bool = False) -> str:
    """C++ for cells of a shape."""
    places = "const Corners* tets = (const Corners*)(group.places.data + 4 * TETS * (size_t)c);"
    if shape.places is not None:
        rows = ", ".join("{" + ", ".join(map(str, row)) + "}" for row in shape.places)
        places = f"const Corners tets[TETS] = {{{rows}}};"
    words = {
        "PLACES": places,
        "PRESSED": _PRESSED if pressed else "",
        "STORE": _STORE,
        "LAW": law,
        "TETS": str(shape.tetrahedra),
        "NODES": str(shape.nodes),
        "LEAST": f"{LEAST_VOLUME}f",
        "LOWEST": f"{LEAST_MOVED}f",
        "TRIES": str(TRIES),
        "SWEEPS": str(SWEEPS),
        "ALIKE": f"{ALIKE}f",
    }
    text = _HEAD + (_PRINCIPAL if "principal" in law else "") + body
    for word, value in words.items():
        text = text.replace(word, value)
    return text


@once
def force_kernel(shape: Shape, forms: tuple[Form, ...]) -> Any:
    """Forces on the nodes of cells, and what the changes of volume that they share cost."""

    @wp.func_native(_snippet(_FORCE, shape, _law(forms, change=False)))
    def forces(
        c: int,
        w: int,
        group: CellGroup,
        stiffness: wp.array[wp.float32],
        u: wp.array2d[wp.float32],
        shares: wp.array2d[wp.float32],
        slots: wp.array2d[wp.float32],
    ) -> None: ...

    @wp.kernel(module="unique", enable_backward=False)
    def cell_forces(
        group: CellGroup,
        stiffness: wp.array[wp.float32],
        running: wp.array[wp.int32],
        displacements: wp.array2d[wp.float32],
        shares_out: wp.array2d[wp.float32],
        slots_out: wp.array2d[wp.float32],
    ):
        c, w = wp.tid()
        if running[w] != 0:
            forces(c, w, group, stiffness, displacements, shares_out, slots_out)

    return cell_forces


@once
def product_kernel(shape: Shape, forms: tuple[Form, ...], *, pressed: bool) -> Any:
    """The tangent of cells, and of pressure on some of their faces, times a vector."""

    @wp.func_native(_snippet(_PRODUCT, shape, _law(forms, change=True), pressed=pressed))
    def product(
        c: int,
        w: int,
        group: CellGroup,
        rest: wp.array[wp.vec3],
        densities: wp.array[wp.float32],
        each: Each,
        stiffness: wp.array[wp.float32],
        u: wp.array2d[wp.float32],
        shares: wp.array2d[wp.float32],
        p: wp.array2d[wp.float32],
        slots: wp.array2d[wp.float32],
    ) -> None: ...

    @wp.kernel(module="unique", enable_backward=False)
    def cell_products(
        group: CellGroup,
        rest: wp.array[wp.vec3],
        densities: wp.array[wp.float32],
        each: Each,
        running: wp.array[wp.int32],
        displacements: wp.array2d[wp.float32],
        shares: wp.array2d[wp.float32],
        direction: wp.array2d[wp.float32],
        slots_out: wp.array2d[wp.float32],
    ):
        c, w = wp.tid()
        if running[w] != 0:
            product(c, w, group, rest, densities, each, each.stiffness, displacements, shares, direction, slots_out)

    return cell_products


@once
def inspect_kernel(shape: Shape) -> Any:
    """Mean gradients of the displacement of cells, and how a move would change their least volumes."""

    @wp.func_native(_snippet(_INSPECT, shape))
    def inspect(
        c: int,
        w: int,
        group: CellGroup,
        u: wp.array2d[wp.float32],
        p: wp.array2d[wp.float32],
        means: wp.array2d[wp.float32],
        ratios: wp.array2d[wp.float32],
    ) -> None: ...

    @wp.kernel(module="unique", enable_backward=False)
    def inspect_cells(
        group: CellGroup,
        displacements: wp.array2d[wp.float32],
        moves: wp.array2d[wp.float32],
        means_out: wp.array2d[wp.float32],
        ratios_out: wp.array2d[wp.float32],
    ):
        c, w = wp.tid()
        inspect(c, w, group, displacements, moves, means_out, ratios_out)

    return inspect_cells


@once
def limit_kernel(shape: Shape) -> Any:
    """How much of a move the tetrahedra of cells can take, of the most that is asked for."""

    @wp.func_native(_snippet(_LIMIT, shape))
    def limit(
        c: int,
        w: int,
        group: CellGroup,
        most: wp.array[wp.float32],
        u: wp.array2d[wp.float32],
        p: wp.array2d[wp.float32],
        parts: wp.array2d[wp.float32],
    ) -> None: ...

    @wp.kernel(module="unique", enable_backward=False)
    def limit_cells(
        group: CellGroup,
        most: wp.array[wp.float32],
        displacements: wp.array2d[wp.float32],
        moves: wp.array2d[wp.float32],
        parts_out: wp.array2d[wp.float32],
    ):
        c, w = wp.tid()
        limit(c, w, group, most, displacements, moves, parts_out)

    return limit_cells
