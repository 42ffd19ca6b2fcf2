"""Cells of linear tetrahedra in many worlds at once: stress, tangent times a vector, how far a move may go.

One thread has one cell of one world, and the world is the fastest index of every array, so that accesses are coalesced
whatever the mesh. A thread holds the nodes of its cell in registers: cells that are alike, with tetrahedra between the
same of their nodes, have a kernel of their own in which these places are constants. The energy is that of
`kernels.hyperelastic` with changes of volume shared by a cell, in single precision and in displacements: with C the
cofactors of F, I₂ = |C|², and with A × B the bilinear form whose half at A = B = F is C,

    P  = 2 W₁ F + 2 W₂ C × F + (κ (J − 1) − p + λ θ) C.

What W₁, W₂ and their derivatives are follows from the formulas of the laws of the materials, see `materials.laws`.
"""
# Annotations are not postponed here: Warp reads the types of the kernels below from their closures.

from dataclasses import dataclass
from typing import Any

import warp as wp

from annelid.core.kernels.loading import once
from annelid.fem.kernels.batch_worlds import Each
from annelid.fem.kernels.hyperelastic import LEAST_VOLUME
from annelid.materials.formulas import Formula, in_cpp
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
        LAW
        const float low = LEAST - 1.0f - more, held = low > 0.0f ? 3.0f * k[3] * low * low : 0.0f;
        const float s = k[1] * more - k[0] - held + shared;
        #pragma unroll
        for (int i = 0; i < 9; ++i) P[i] = 2.0f * w1 * F[i] + s * C[i];
        SECOND
        give(t, P, -stiffness.data[w] * geometry[10 * t + 9], out);
    }
    STORE
"""
_FORCE_SECOND = """
        float Q[9];
        both(C, F, Q);
        for (int i = 0; i < 9; ++i) P[i] += 2.0f * w2 * Q[i];
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
        LAW
        const float low = LEAST - 1.0f - more, beyond = low > 0.0f ? low : 0.0f;
        const float s = k[1] * more - k[0] - 3.0f * k[3] * beyond * beyond + shared;
        const float swell = (k[1] + 6.0f * k[3] * beyond) * inner(C, D), stretch = 4.0f * w11 * inner(F, D);
        #pragma unroll
        for (int i = 0; i < 9; ++i) P[i] = 2.0f * w1 * D[i] + stretch * F[i] + swell * C[i] + s * E[i];
        SECOND
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
_PRODUCT_SECOND = """
        float Q[9], R[9];
        both(E, F, Q);
        both(C, D, R);
        for (int i = 0; i < 9; ++i) P[i] += 2.0f * w2 * (Q[i] + R[i]);
        MIXED
"""
_PRODUCT_MIXED = """
        both(C, F, Q);
        const float one = 4.0f * inner(F, D), two = 4.0f * inner(Q, D);
        for (int i = 0; i < 9; ++i) P[i] += w12 * two * F[i] + (w12 * one + w22 * two) * Q[i];
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


_SLOPES = ("w1", "w2", "w11", "w12", "w22")
"""Derivatives of the energy by I₁ and I₂ as they are called in C++."""


def _slopes(form: Form) -> list[Formula]:
    return [*form.slopes, *form.bends]


def _law(forms: tuple[Form, ...]) -> str:
    """C++ that finds the derivatives of the energy from the constants k of a material, whose law is one of several."""
    text = "const float i1 = square(F), i2 = square(C); float w1, w2, w11, w12, w22;"
    for number, form in enumerate(forms):
        names = {"i1": "i1", "i2": "i2"} | {f"k{place}": f"k[{FIRST + 1 + place}]" for place in range(form.count)}
        lines, called = in_cpp(_slopes(form), names, "float")
        chosen = f"if (k[{FIRST}] == {float(number)}f)" if len(forms) > 1 else ""
        text += f"\n{chosen} {{\n{lines}\n" + " ".join(map("{} = {};".format, _SLOPES, called)) + "\n}"
    return text


def _depends(forms: tuple[Form, ...], places: slice) -> bool:
    """Whether some of the derivatives of some law are not 0."""
    return any(slope.number != 0.0 for form in forms for slope in _slopes(form)[places])


def _snippet(body: str, shape: Shape, forms: tuple[Form, ...] = (), second: str = "", *, pressed: bool = False) -> str:
    """C++ for cells of a shape."""
    places = "const Corners* tets = (const Corners*)(group.places.data + 4 * TETS * (size_t)c);"
    if shape.places is not None:
        rows = ", ".join("{" + ", ".join(map(str, row)) + "}" for row in shape.places)
        places = f"const Corners tets[TETS] = {{{rows}}};"
    words = {
        "PLACES": places,
        "PRESSED": _PRESSED if pressed else "",
        "STORE": _STORE,
        "LAW": _law(forms),
        "SECOND": second if _depends(forms, slice(1, 2)) else "",
        "MIXED": _PRODUCT_MIXED if _depends(forms, slice(3, 5)) else "",
        "TETS": str(shape.tetrahedra),
        "NODES": str(shape.nodes),
        "LEAST": f"{LEAST_VOLUME}f",
        "LOWEST": f"{LEAST_MOVED}f",
        "TRIES": str(TRIES),
    }
    text = _HEAD + body
    for word, value in words.items():
        text = text.replace(word, value)
    return text


@once
def force_kernel(shape: Shape, forms: tuple[Form, ...]) -> Any:
    """Forces on the nodes of cells, and what the changes of volume that they share cost."""

    @wp.func_native(_snippet(_FORCE, shape, forms, _FORCE_SECOND))
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

    @wp.func_native(_snippet(_PRODUCT, shape, forms, _PRODUCT_SECOND, pressed=pressed))
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
