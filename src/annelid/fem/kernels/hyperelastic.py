"""Hyperelastic tetrahedra: energy, stress and exact tangent, integration point by integration point.

With J = det F a point stores V [Ψ(F) − p (J − 1) + κ/2 (J − 1)²]: Ψ is the law of the material, p balances its tension
at rest, and κ makes the rest of it behave as with a Lamé parameter λ of 0. A cell adds λ/2 V Σ θ², with θ the change of
volume projected on a few functions of place. At small strains all of this is linear elasticity with μ and λ; it is a
polynomial in J, so that an inverted element has a finite energy and is pulled back.
"""
# Annotations are not postponed here: Warp reads the types of the kernels below from their closures.

import re
from typing import Any

import warp as wp

from annelid.core.kernels.loading import once
from annelid.fem.kernels.laws import Response, vec6d
from annelid.fem.kernels.solid import Cells, cofactors

wp.set_module_options({"enable_backward": False})

f64 = wp.float64
FACTOR, PULL, BULK, LAME, CRUSH, FIRST = range(6)
"""Columns of the constants of a material: a factor on all, p, κ, λ, what resists collapse; those of the law follow."""
LEAST_VOLUME = 0.1
"""Part of its volume below which a point resists more and more: changes of volume that are shared do not hold each."""
SWEEPS = 8
"""Of Jacobi's method, which finds eigenvalues of 3 by 3 matrices to the last digit in five or six."""
ALIKE = 1.0e-5
"""Stretches that differ by less than this part are taken for equal in differences that are divided by theirs."""
LEAST_SUM = 1.0e-2
"""Sums of two stretches below this, which inverted elements have, count as this in the tangent."""


@wp.struct
class HyperPoints:
    """Integration points of a set of cells; those of one cell follow each other."""

    nodes: wp.array2d[wp.int32]
    gradients: wp.array2d[wp.vec3d]
    places: wp.array2d[wp.int32]
    volumes: wp.array[f64]
    materials: wp.array[wp.int32]
    modes: wp.array2d[f64]  # functions of place that changes of volume are projected on; none leaves them as they are
    deformations: wp.array[wp.mat33d]
    stresses: wp.array[wp.mat33d]  # first Piola-Kirchhoff, times volume
    pressures: wp.array[f64]  # derivative of the energy with respect to J, times volume
    dilations: wp.array[f64]
    tangents: wp.array2d[f64]  # derivative of the stress with respect to F, 9 by 9, times volume
    grown: wp.array2d[wp.vec3d]  # derivative of J with respect to the nodes


@wp.func
def deformation(p: int, count: int, positions: wp.array[wp.vec3d], points: HyperPoints) -> wp.mat33d:
    """F at a point, from differences to the first node: rounding must not depend on where the solid is."""
    f = wp.mat33d()
    origin = positions[points.nodes[p, 0]]
    for i in range(1, count):
        f += wp.outer(positions[points.nodes[p, i]] - origin, points.gradients[p, i])
    return f


@wp.func
def volume_response(dilation: f64, row: int, constants: wp.array[f64]) -> wp.vec3d:
    """Energy of a change of volume at a point, and its first two derivatives."""
    pull = constants[row + wp.static(PULL)]
    bulk = constants[row + wp.static(BULK)]
    crush = constants[row + wp.static(CRUSH)]
    low = wp.max(f64(LEAST_VOLUME) - f64(1.0) - dilation, f64(0.0))
    return wp.vec3d(
        dilation * (f64(0.5) * bulk * dilation - pull) + crush * low * low * low,
        bulk * dilation - pull - f64(3.0) * crush * low * low,
        bulk + f64(6.0) * crush * low,
    )


@wp.func
def note_point(
    p: int,
    count: int,  # nodes of the point
    row: int,  # first of its constants
    scale: f64,
    energy: f64,  # of the law, of a unit of volume
    stress: wp.mat33d,  # the same
    f: wp.mat33d,
    cof: wp.mat33d,
    constants: wp.array[f64],
    points: HyperPoints,
    energies_out: wp.array[f64],
) -> f64:
    """Note what the law says of a point, and what its change of volume costs; how much more that resists."""
    dilation = wp.dot(f[0], cof[0]) - f64(1.0)
    volume = volume_response(dilation, row, constants)
    energies_out[p] = scale * (energy + volume[0])
    points.deformations[p] = f
    points.dilations[p] = dilation
    points.pressures[p] = scale * volume[1]
    points.stresses[p] = scale * (stress + volume[1] * cof)
    for i in range(count):
        points.grown[p, i] = cof * points.gradients[p, i]
    return volume[2]


@wp.func_native(
    """
    // A[rj][sl] of W(I1, I2) with dI1 = 2 F, dI2 = 2 (I1 F - F C), and kappa cof cof of the change of volume.
    double B[3][3], C[3][3], W[3][3];
    for (int r = 0; r < 3; ++r)
        for (int s = 0; s < 3; ++s) {
            B[r][s] = C[r][s] = 0.0;
            for (int k = 0; k < 3; ++k) {
                B[r][s] += F.data[r][k] * F.data[s][k];
                C[r][s] += F.data[k][r] * F.data[k][s];
            }
        }
    for (int r = 0; r < 3; ++r)
        for (int j = 0; j < 3; ++j) {
            W[r][j] = i1 * F.data[r][j];
            for (int k = 0; k < 3; ++k) W[r][j] -= F.data[r][k] * C[k][j];
        }
    // Rows without branches, which compilers vectorise, take a fifth of the time of one sum an entry.
    const double w1 = scale * w.c[1], w2 = 2.0 * scale * w.c[2];
    const double w11 = 4.0 * scale * w.c[3] + 2.0 * w2, w12 = 4.0 * scale * w.c[4], w22 = 4.0 * scale * w.c[5];
    const double diagonal = 2.0 * w1 + i1 * w2;
    const double *f = F.data[0], *x = W[0], *k = cof.data[0];
    for (int r = 0; r < 3; ++r)
        for (int j = 0; j < 3; ++j) {
            const int m = 3 * r + j;
            double* a = points.tangents.data + 81 * (size_t)p + 9 * m;
            const double by_f = w11 * f[m] + w12 * x[m], by_w = w22 * x[m] + w12 * f[m];
            const double by_k = scale * kappa * k[m];
            for (int n = 0; n < 9; ++n) a[n] = by_f * f[n] + by_w * x[n] + by_k * k[n];
            for (int s = 0; s < 3; ++s) {
                const double other = w2 * f[3 * s + j];
                for (int l = 0; l < 3; ++l) a[3 * s + l] -= other * f[3 * r + l];
                a[3 * s + j] -= w2 * B[r][s];
                a[3 * r + s] -= w2 * C[j][s];
            }
            a[m] += diagonal;
        }
"""
)
def invariant_tangent(
    p: int,
    scale: f64,
    kappa: f64,
    i1: f64,
    w: vec6d,
    F: wp.mat33d,
    cof: wp.mat33d,
    points: HyperPoints,
) -> None: ...


@once
def invariant_kernel(shape_nodes: int, law: Any) -> Any:
    """Energy, stress and tangent of points whose law speaks of invariants.

    Args:
        shape_nodes: Nodes of an element.
        law: The law, see `kernels.laws`.
    """

    @wp.kernel(module="unique", enable_backward=False)
    def strain_points(
        offset: int,
        positions: wp.array[wp.vec3d],
        tangent: int,
        members: wp.array[wp.int32],
        width: int,
        constants: wp.array[f64],
        points: HyperPoints,
        energies_out: wp.array[f64],
    ):
        p = members[offset + wp.tid()]
        f = deformation(p, wp.static(shape_nodes), positions, points)
        row = points.materials[p] * width
        scale = constants[row + wp.static(FACTOR)] * points.volumes[p]
        c = wp.transpose(f) * f
        i1 = wp.trace(c)
        i2 = f64(0.5) * (i1 * i1 - wp.ddot(c, c))
        w = law(i1, i2, row + wp.static(FIRST), constants)
        stress = f64(2.0) * ((w[1] + i1 * w[2]) * f - w[2] * (f * c))
        cof = cofactors(f)
        bulk = note_point(p, wp.static(shape_nodes), row, scale, w[0], stress, f, cof, constants, points, energies_out)
        if tangent == 1:
            invariant_tangent(p, scale, bulk, i1, w, f, cof, points)

    return strain_points


@wp.func
def principal(f: wp.mat33d):
    """F = U diag(s) Vᵀ with rotations U and V and stretches from large to small, the last below 0 where F inverts."""
    c = wp.transpose(f) * f
    v = wp.identity(n=3, dtype=f64)
    for _ in range(wp.static(SWEEPS)):
        for pair in range(3):
            i = 0
            j = 1
            if pair == 1:
                j = 2
            if pair == 2:
                i = 1
                j = 2
            if wp.abs(c[i, j]) > f64(1.0e-18) * (wp.abs(c[i, i]) + wp.abs(c[j, j])):
                ratio = (c[j, j] - c[i, i]) / (f64(2.0) * c[i, j])
                t = f64(1.0) / (wp.abs(ratio) + wp.sqrt(ratio * ratio + f64(1.0)))
                if ratio < f64(0.0):
                    t = -t
                cosine = f64(1.0) / wp.sqrt(t * t + f64(1.0))
                k = 3 - i - j
                one = c[i, k]
                other = c[j, k]
                c[i, i] = c[i, i] - t * c[i, j]
                c[j, j] = c[j, j] + t * c[i, j]
                c[i, j] = f64(0.0)
                c[j, i] = f64(0.0)
                c[i, k] = cosine * (one - t * other)
                c[j, k] = cosine * (other + t * one)
                c[k, i] = c[i, k]
                c[k, j] = c[j, k]
                for row in range(3):
                    one = v[row, i]
                    other = v[row, j]
                    v[row, i] = cosine * (one - t * other)
                    v[row, j] = cosine * (other + t * one)
    first = 0
    for i in range(1, 3):
        if c[i, i] > c[first, first]:
            first = i
    last = 0
    for i in range(1, 3):
        if c[i, i] < c[last, last]:
            last = i
    if first == last:
        last = 2 - first
        if last == first:
            last = 0
    v1 = wp.vec3d(v[0, first], v[1, first], v[2, first])
    v3 = wp.vec3d(v[0, last], v[1, last], v[2, last])
    v2 = wp.cross(v3, v1)
    image = f * v1
    s1 = wp.length(image)
    u1 = wp.vec3d(f64(1.0), f64(0.0), f64(0.0))
    if s1 > f64(0.0):
        u1 = image / s1
    image = f * v2
    image = image - wp.dot(image, u1) * u1
    s2 = wp.length(image)
    u2 = wp.cross(u1, wp.vec3d(f64(0.0), f64(0.0), f64(1.0)))
    if s2 > f64(1.0e-12) * s1:
        u2 = image / s2
    elif wp.length(u2) > f64(0.1):
        u2 = wp.normalize(u2)
    else:
        u2 = wp.normalize(wp.cross(u1, wp.vec3d(f64(0.0), f64(1.0), f64(0.0))))
    u3 = wp.cross(u1, u2)
    s3 = wp.dot(u3, f * v3)
    return wp.matrix_from_cols(u1, u2, u3), wp.vec3d(s1, s2, s3), wp.matrix_from_cols(v1, v2, v3)


@wp.func
def shearing(i: int, j: int, s: wp.vec3d, answer: Response):
    """How a shear between two principal directions is resisted, and a turn."""
    gap = s[i] - s[j]
    shear = f64(0.5) * (answer.bends[i, i] + answer.bends[j, j]) - answer.bends[i, j]
    if wp.abs(gap) > f64(ALIKE) * (wp.abs(s[i]) + wp.abs(s[j])):
        shear = (answer.slopes[i] - answer.slopes[j]) / gap
    turn = (answer.slopes[i] + answer.slopes[j]) / wp.max(s[i] + s[j], f64(LEAST_SUM))
    return f64(0.5) * (shear + turn), f64(0.5) * (shear - turn)


@wp.func_native(
    """
    // In the principal frame only entries (ii, jj), (ij, ij) and (ij, ji) differ from zero.
    double d[9][9];
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j)
            for (int r = 0; r < 3; ++r)
                for (int l = 0; l < 3; ++l) d[3 * i + j][3 * r + l] = U.data[r][i] * V.data[l][j];
    const double* k = (const double*)&cof;
    for (int m = 0; m < 9; ++m) {
        double* a = points.tangents.data + 81 * (size_t)p + 9 * m;
        const double by_k = scale * kappa * k[m];
        for (int n = 0; n < 9; ++n) a[n] = by_k * k[n];
        for (int i = 0; i < 3; ++i)
            for (int j = 0; j < 3; ++j) {
                double by_d = same.data[i][j] * d[3 * i + j][m] + other.data[j][i] * d[3 * j + i][m];
                if (i == j) by_d = bends.data[0][i] * d[0][m] + bends.data[1][i] * d[4][m] + bends.data[2][i] * d[8][m];
                for (int n = 0; n < 9; ++n) a[n] += scale * by_d * d[3 * i + j][n];
            }
    }
"""
)
def stretch_tangent(
    p: int,
    scale: f64,
    kappa: f64,
    U: wp.mat33d,
    V: wp.mat33d,
    bends: wp.mat33d,
    same: wp.mat33d,
    other: wp.mat33d,
    cof: wp.mat33d,
    points: HyperPoints,
) -> None: ...


@once
def stretch_kernel(shape_nodes: int, law: Any) -> Any:
    """Energy, stress and tangent of points whose law speaks of principal stretches.

    Args:
        shape_nodes: Nodes of an element.
        law: The law, see `kernels.laws`.
    """

    @wp.kernel(module="unique", enable_backward=False)
    def strain_points(
        offset: int,
        positions: wp.array[wp.vec3d],
        tangent: int,
        members: wp.array[wp.int32],
        width: int,
        constants: wp.array[f64],
        points: HyperPoints,
        energies_out: wp.array[f64],
    ):
        p = members[offset + wp.tid()]
        f = deformation(p, wp.static(shape_nodes), positions, points)
        row = points.materials[p] * width
        scale = constants[row + wp.static(FACTOR)] * points.volumes[p]
        u, s, v = principal(f)
        answer = law(s, row + wp.static(FIRST), constants)
        stress = u * wp.diag(answer.slopes) * wp.transpose(v)
        cof = cofactors(f)
        own = answer.energy
        bulk = note_point(p, wp.static(shape_nodes), row, scale, own, stress, f, cof, constants, points, energies_out)
        if tangent == 1:
            same = wp.mat33d()
            other = wp.mat33d()
            for i in range(3):
                for j in range(3):
                    if i != j:
                        one, two = shearing(i, j, s, answer)
                        same[i, j] = one
                        other[i, j] = two
            stretch_tangent(p, scale, bulk, u, v, answer.bends, same, other, cof, points)

    return strain_points


@wp.func_native(
    """
    // Second derivative of det F: entries with r != s and j != l are components of F, with a sign.
    double* a = points.tangents.data + 81 * (size_t)p;
    const double x = points.pressures.data[p];
    for (int r = 0; r < 3; ++r)
        for (int j = 0; j < 3; ++j) {
            const int r1 = (r + 1) % 3, r2 = (r + 2) % 3, j1 = (j + 1) % 3, j2 = (j + 2) % 3;
            double* row = a + 9 * (3 * r + j);
            row[3 * r1 + j1] += x * F.data[r2][j2];
            row[3 * r2 + j2] += x * F.data[r1][j1];
            row[3 * r1 + j2] -= x * F.data[r2][j1];
            row[3 * r2 + j1] -= x * F.data[r1][j2];
        }
"""
)
def add_volume_tangent(p: int, F: wp.mat33d, points: HyperPoints) -> None: ...


@once
def hyper_cell_kernel(modes: int) -> Any:
    """Energy of each cell, whose points share changes of volume that are sums of so many functions of place."""

    @wp.kernel(module="unique", enable_backward=False)
    def sum_cells(
        offset: int,
        tangent: int,
        foreseen: int,  # whether tangents are those under the pressures that were foreseen
        width: int,
        constants: wp.array[f64],
        points: HyperPoints,
        cells: Cells,
        foreseen_pressures: wp.array2d[f64],
        energies: wp.array[f64],
        energy_out: wp.array[f64],
    ):
        c = offset + wp.tid()
        first = cells.first[c]
        last = cells.first[c + 1]
        row = points.materials[first] * width
        lame = constants[row + wp.static(FACTOR)] * constants[row + wp.static(LAME)]
        total = f64(0.0)
        for p in range(first, last):
            total += energies[p]
        for k in range(wp.static(modes)):
            theta = f64(0.0)
            for p in range(first, last):
                theta += points.volumes[p] * points.modes[p, k] * points.dilations[p]
            theta = theta / cells.volumes[c]
            total += f64(0.5) * lame * cells.volumes[c] * theta * theta
            for p in range(first, last):
                pressure = points.volumes[p] * lame * points.modes[p, k] * theta
                points.stresses[p] = points.stresses[p] + pressure * cofactors(points.deformations[p])
                if foreseen == 1:
                    pressure = points.volumes[p] * points.modes[p, k] * foreseen_pressures[c, k]
                points.pressures[p] = points.pressures[p] + pressure
        energy_out[c] = total
        if tangent == 1:
            for p in range(first, last):
                add_volume_tangent(p, points.deformations[p], points)

    return sum_cells


@once
def foresee_kernel(shape_nodes: int, modes: int) -> Any:
    """Pressures of the shared changes of volume of each cell after a move, to first order.

    Args:
        shape_nodes: Nodes of each point.
        modes: Functions of place that changes of volume are projected on.
    """

    @wp.kernel(module="unique", enable_backward=False)
    def foresee_cells(
        offset: int,
        move: wp.array[wp.vec3d],
        width: int,
        constants: wp.array[f64],
        points: HyperPoints,
        cells: Cells,
        foreseen_pressures_out: wp.array2d[f64],
    ):
        c = offset + wp.tid()
        first = cells.first[c]
        row = points.materials[first] * width
        lame = constants[row + wp.static(FACTOR)] * constants[row + wp.static(LAME)]
        for k in range(wp.static(modes)):
            theta = f64(0.0)
            for p in range(first, cells.first[c + 1]):
                dilation = points.dilations[p]
                for i in range(wp.static(shape_nodes)):
                    dilation += wp.dot(points.grown[p, i], move[points.nodes[p, i]])
                theta += points.volumes[p] * points.modes[p, k] * dilation
            foreseen_pressures_out[c, k] = lame * theta / cells.volumes[c]

    return foresee_cells


_ROW = """
    // A block is the sum over points of g_a A g_b, and of products of the gradients of the shared changes of volume.
    const double* gradients = (const double*)points.gradients.data;
    const double* grown = (const double*)points.grown.data;
    double x[MOST][27];
    bool here[MOST];
    double growth[MODES + 1][3] = {};
    for (int p = first; p < last; ++p) {
        const int k = p - first;
        const int i = WHOLE ? a : points.places.data[p * width + a];
        here[k] = i >= 0;
        if (i < 0) continue;
        const double* g = gradients + 3 * ((size_t)p * NODES + i);
        const double* t = points.tangents.data + 81 * (size_t)p;
        for (int r = 0; r < 3; ++r)
            for (int m = 0; m < 9; ++m)
                x[k][9 * r + m] = g[0] * t[27 * r + m] + g[1] * t[27 * r + 9 + m] + g[2] * t[27 * r + 18 + m];
        const double* h = grown + 3 * ((size_t)p * NODES + i);
        for (int n = 0; n < MODES; ++n) {
            const double weight = points.volumes.data[p] * points.modes.data[p * MODES + n];
            for (int j = 0; j < 3; ++j) growth[n][j] += weight * h[j];
        }
    }
    double* row = (double*)tangent.data + 9 * ((size_t)c * width + a) * width;
    for (int b = a; b < used; ++b) {
        double sum[9] = {0.0}, other[MODES + 1][3] = {};
        for (int p = first; p < last; ++p) {
            const int k = p - first;
            const int i = WHOLE ? b : points.places.data[p * width + b];
            if (i < 0) continue;
            if (MODES > 0) {
                const double* h = grown + 3 * ((size_t)p * NODES + i);
                for (int n = 0; n < MODES; ++n) {
                    const double weight = points.volumes.data[p] * points.modes.data[p * MODES + n];
                    for (int j = 0; j < 3; ++j) other[n][j] += weight * h[j];
                }
            }
            if (!here[k]) continue;
            const double* g = gradients + 3 * ((size_t)p * NODES + i);
            for (int m = 0; m < 9; ++m)
                sum[m] += x[k][3 * m] * g[0] + x[k][3 * m + 1] * g[1] + x[k][3 * m + 2] * g[2];
        }
        for (int n = 0; n < MODES; ++n)
            for (int r = 0; r < 3; ++r)
                for (int s = 0; s < 3; ++s) sum[3 * r + s] += stiff * growth[n][r] * other[n][s];
        for (int m = 0; m < 9; ++m) row[9 * b + m] = sum[m];
    }
"""


@once
def hyper_row_kernel(shape_nodes: int, most: int, modes: int, whole: bool, tangent: bool) -> Any:
    """Force on one node of a cell and its row of the tangent, one thread each.

    Args:
        shape_nodes: Nodes of each point.
        most: Most points of a cell.
        modes: Functions of place that changes of volume are projected on.
        whole: Whether every point has all nodes of its cell, in their order.
        tangent: Whether the tangent is wanted.
    """
    constants = {"MOST": str(most), "NODES": str(shape_nodes), "WHOLE": str(int(whole)), "MODES": str(modes)}
    snippet = re.sub("MOST|NODES|WHOLE|MODES", lambda found: constants[found[0]], _ROW)

    @wp.func_native(snippet)
    def tangent_row(
        c: int,
        a: int,
        used: int,
        width: int,
        first: int,
        last: int,
        stiff: f64,
        points: HyperPoints,
        tangent: wp.array3d[wp.mat33d],
    ) -> None: ...

    @wp.kernel(module="unique", enable_backward=False)
    def cell_rows(
        offset: int,
        width: int,
        columns: int,
        constants: wp.array[f64],
        points: HyperPoints,
        cells: Cells,
        forces_out: wp.array2d[wp.vec3d],
        tangent_out: wp.array3d[wp.mat33d],
    ):
        row = offset + wp.tid()
        c = row // width
        a = row - c * width
        used = cells.used[c]
        if a >= used:
            return
        first = cells.first[c]
        last = cells.first[c + 1]
        force = wp.vec3d()
        for p in range(first, last):
            i = a
            if wp.static(not whole):
                i = points.places[p, a]
            if i >= 0:
                force -= points.stresses[p] * points.gradients[p, i]
        forces_out[c, a] = force
        if wp.static(tangent):
            own = points.materials[first] * columns
            lame = constants[own + wp.static(FACTOR)] * constants[own + wp.static(LAME)]
            tangent_row(c, a, used, width, first, last, lame / cells.volumes[c], points, tangent_out)

    return cell_rows
