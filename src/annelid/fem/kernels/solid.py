"""Co-rotational tetrahedra: energy, forces and exact tangent, integration point by integration point.

A cell is one or several tetrahedra with one change of volume. With h_a = R g_a, S = RᵀF, θ = tr S − 3 and
G = tr(S) I − S the blocks of the tangent are V [2μ (h_a·h_b) I + λ h_a h_bᵀ + (λθ − 2μ) [h_a]×ᵀ R G⁻¹ Rᵀ [h_b]×].
Where a cell has one θ, the mean over its points, λ h_a h_bᵀ becomes a product of the gradients of that mean.
"""
# Annotations are not postponed here: Warp reads the types of the kernels below from their closures.

import re
from typing import Any

import warp as wp

from annelid.core.kernels.loading import once

wp.set_module_options({"enable_backward": False})

f64 = wp.float64
ITERATIONS = 16
FLAT = 1.0e-7
"""Below this determinant, as a part of that of a ball of the same size, the polar factor comes from the SVD."""
LEAST_SPIN = 1.0e-2
"""Sums of two principal stretches below this, which inverted elements have, count as this in the tangent."""


@wp.struct
class Points:
    """Integration points of a set of cells; those of one cell follow each other."""

    nodes: wp.array2d[wp.int32]
    gradients: wp.array2d[wp.vec3d]
    places: wp.array2d[wp.int32]
    volumes: wp.array[f64]
    shear: wp.array[f64]
    lame: wp.array[f64]
    rotations: wp.array[wp.mat33d]
    strains: wp.array[wp.mat33d]
    spins: wp.array[wp.mat33d]
    turned: wp.array2d[wp.vec3d]
    dilations: wp.array[f64]


@wp.struct
class Cells:
    """Cells: their points, their nodes and how many of those they use."""

    first: wp.array[wp.int32]
    used: wp.array[wp.int32]
    volumes: wp.array[f64]


@wp.func
def cofactors(m: wp.mat33d) -> wp.mat33d:
    """Inverse transpose times the determinant."""
    return wp.matrix_from_rows(wp.cross(m[1], m[2]), wp.cross(m[2], m[0]), wp.cross(m[0], m[1]))


@wp.func
def squared(m: wp.mat33d) -> f64:
    return wp.dot(m[0], m[0]) + wp.dot(m[1], m[1]) + wp.dot(m[2], m[2])


@wp.func
def rotation_by_iteration(deformation: wp.mat33d) -> wp.mat33d:
    """Polar factor by Newton's iteration with scaling (Higham 1986), for a determinant well above 0."""
    r = deformation
    change = f64(1.0)
    count = int(0)
    while change > f64(1.0e-18) and count < ITERATIONS:
        c = cofactors(r)
        determinant = wp.dot(r[0], c[0])
        size = squared(r)
        # Scaling speeds up the first steps and only costs time once R is nearly a rotation.
        scale = f64(1.0)
        if change > f64(1.0e-2):
            scale = wp.sqrt(wp.sqrt(squared(c) / (determinant * determinant * size)))
        after = (f64(0.5) * scale) * r + (f64(0.5) / (scale * determinant)) * c
        change = squared(after - r) / size
        r = after
        count += 1
    return r


@wp.func
def rotation_and_spin(deformation: wp.mat33d):
    """Rotation R nearest to F, det R = 1 whatever F is, and R G⁻¹ Rᵀ."""
    size = squared(deformation) / f64(3.0)
    if wp.determinant(deformation) > f64(FLAT) * size * wp.sqrt(size):
        r = rotation_by_iteration(deformation)
        left = deformation * wp.transpose(r)  # R S Rᵀ
        g = wp.trace(left) * wp.identity(n=3, dtype=f64) - f64(0.5) * (left + wp.transpose(left))
        c = cofactors(g)
        return r, c / wp.dot(g[0], c[0])
    u, s, v = wp.svd3(deformation)
    sign = f64(1.0)
    if wp.determinant(u) * wp.determinant(v) < f64(0.0):
        sign = f64(-1.0)
    u = u * wp.diag(wp.vec3d(f64(1.0), f64(1.0), sign))
    third = sign * s[2]
    least = f64(LEAST_SPIN)
    inverse = wp.vec3d(
        f64(1.0) / wp.max(s[1] + third, least),
        f64(1.0) / wp.max(s[0] + third, least),
        f64(1.0) / wp.max(s[0] + s[1], least),
    )
    return u * wp.transpose(v), u * wp.diag(inverse) * wp.transpose(u)


@once
def point_kernel(shape_nodes: int) -> Any:
    """Strain, rotation and energy of each point, of elements with this many nodes."""

    @wp.kernel(module="unique", enable_backward=False)
    def strain_points(
        offset: int,
        positions: wp.array[wp.vec3d],
        points: Points,
        energies_out: wp.array[f64],
    ):
        p = offset + wp.tid()
        f = wp.mat33d()
        # Differences to the first node: rounding must not depend on how far the solid is from the origin.
        origin = positions[points.nodes[p, 0]]
        for i in range(1, wp.static(shape_nodes)):
            f += wp.outer(positions[points.nodes[p, i]] - origin, points.gradients[p, i])
        r, spin = rotation_and_spin(f)
        strain = f - r
        volume = points.volumes[p]
        mu = points.shear[p]
        points.rotations[p] = r
        points.strains[p] = (f64(2.0) * mu * volume) * strain
        points.spins[p] = spin
        points.dilations[p] = wp.dot(r[0], f[0]) + wp.dot(r[1], f[1]) + wp.dot(r[2], f[2]) - f64(3.0)
        energies_out[p] = mu * volume * squared(strain)
        for i in range(wp.static(shape_nodes)):
            points.turned[p, i] = r * points.gradients[p, i]

    return strain_points


@once
def cell_kernel(mean: bool) -> Any:
    """Energy of each cell; with `mean` its points share one change of volume."""

    @wp.kernel(module="unique", enable_backward=False)
    def sum_cells(
        offset: int,
        foreseen: int,  # whether tangents are those under the changes of volume that were foreseen
        points: Points,
        cells: Cells,
        foreseen_dilations: wp.array[f64],
        energies: wp.array[f64],
        energy_out: wp.array[f64],
    ):
        c = offset + wp.tid()
        first = cells.first[c]
        last = cells.first[c + 1]
        total = f64(0.0)
        if wp.static(mean):
            dilation = f64(0.0)
            for p in range(first, last):
                dilation += points.volumes[p] * points.dilations[p]
            dilation = dilation / cells.volumes[c]
            for p in range(first, last):
                points.dilations[p] = dilation
        for p in range(first, last):
            theta = points.dilations[p]
            pressure = points.lame[p] * theta
            total += energies[p] + f64(0.5) * points.volumes[p] * pressure * theta
            if wp.static(mean):
                if foreseen == 1:
                    pressure = points.lame[p] * foreseen_dilations[c]
            # (λθ − 2μ) V, the factor of the spin in the tangent
            points.spins[p] = (points.volumes[p] * (pressure - f64(2.0) * points.shear[p])) * points.spins[p]
        energy_out[c] = total

    return sum_cells


@wp.kernel(module="unique", enable_backward=False)
def foresee_dilations(
    offset: int,
    move: wp.array[wp.vec3d],
    points: Points,
    cells: Cells,
    dilations_out: wp.array[f64],
):
    """Shared change of volume of each cell after a move from where its points were evaluated, to first order."""
    c = offset + wp.tid()
    first = cells.first[c]
    growth = f64(0.0)
    for p in range(first, cells.first[c + 1]):
        for i in range(points.nodes.shape[1]):
            growth += points.volumes[p] * wp.dot(points.turned[p, i], move[points.nodes[p, i]])
    dilations_out[c] = points.dilations[first] + growth / cells.volumes[c]


_ROW = """
    // With X = [h_a]×ᵀ M of each point, a block is the sum of X [h_b]× + 2μV (h_a·h_b) I + λV h_a h_bᵀ. In plain loops
    // over doubles, which compilers vectorise, this takes half as long as in products of 3 x 3 matrices.
    const double* turned = (const double*)points.turned.data;
    const double* spins = (const double*)points.spins.data;
    double x[MOST][9], ha[MOST][3], shear[MOST], lame[MOST];
    bool here[MOST];
    for (int p = first; p < last; ++p) {
        const int k = p - first;
        const int i = WHOLE ? a : points.places.data[p * width + a];
        here[k] = i >= 0;
        if (i < 0) continue;
        const double* m = spins + 9 * (size_t)p;
        const double* h = turned + 3 * ((size_t)p * NODES + i);
        for (int j = 0; j < 3; ++j) {
            ha[k][j] = h[j];
            x[k][j] = h[2] * m[3 + j] - h[1] * m[6 + j];
            x[k][3 + j] = h[0] * m[6 + j] - h[2] * m[j];
            x[k][6 + j] = h[1] * m[j] - h[0] * m[3 + j];
        }
        shear[k] = 2.0 * points.volumes.data[p] * points.shear.data[p];
        lame[k] = MEAN ? 0.0 : points.volumes.data[p] * points.lame.data[p];
    }
    const double pressure = MEAN ? points.lame.data[first] / cells.volumes.data[c] : 0.0;
    double* row = (double*)tangent.data + 9 * ((size_t)c * width + a) * width;
    for (int b = a; b < used; ++b) {
        double sum[9] = {0.0}, other[3] = {0.0};
        for (int p = first; p < last; ++p) {
            const int k = p - first;
            const int i = WHOLE ? b : points.places.data[p * width + b];
            if (i < 0) continue;
            const double* h = turned + 3 * ((size_t)p * NODES + i);
            if (MEAN) {
                const double volume = points.volumes.data[p];
                for (int j = 0; j < 3; ++j) other[j] += volume * h[j];
            }
            if (!here[k]) continue;
            const double diagonal = shear[k] * (ha[k][0] * h[0] + ha[k][1] * h[1] + ha[k][2] * h[2]);
            for (int r = 0; r < 3; ++r) {
                const double* y = x[k] + 3 * r;
                const double s = lame[k] * ha[k][r];
                sum[3 * r] += y[1] * h[2] - y[2] * h[1] + s * h[0];
                sum[3 * r + 1] += y[2] * h[0] - y[0] * h[2] + s * h[1];
                sum[3 * r + 2] += y[0] * h[1] - y[1] * h[0] + s * h[2];
                sum[4 * r] += diagonal;
            }
        }
        for (int r = 0; r < 3; ++r)
            for (int j = 0; j < 3; ++j)
                row[9 * b + 3 * r + j] = MEAN ? sum[3 * r + j] + pressure * growth[r] * other[j] : sum[3 * r + j];
    }
"""


@once
def row_kernel(shape_nodes: int, most: int, mean: bool, whole: bool, tangent: bool) -> Any:
    """Force on one node of a cell and its row of the tangent, one thread each.

    Args:
        shape_nodes: Nodes of each point.
        most: Most points of a cell.
        mean: Whether the points of a cell share one change of volume.
        whole: Whether every point has all nodes of its cell, in their order.
        tangent: Whether the tangent is wanted.
    """
    constants = {"MOST": str(most), "NODES": str(shape_nodes), "WHOLE": str(int(whole)), "MEAN": str(int(mean))}
    snippet = re.sub("MOST|NODES|WHOLE|MEAN", lambda found: constants[found[0]], _ROW)

    @wp.func_native(snippet)
    def tangent_row(
        c: int,
        a: int,
        used: int,
        width: int,
        first: int,
        last: int,
        growth: wp.vec3d,
        points: Points,
        cells: Cells,
        tangent: wp.array3d[wp.mat33d],
    ) -> None: ...

    @wp.kernel(module="unique", enable_backward=False)
    def cell_rows(
        offset: int,
        width: int,
        points: Points,
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
        growth = wp.vec3d()
        for p in range(first, last):
            i = a
            if wp.static(not whole):
                i = points.places[p, a]
            if i >= 0:
                h = points.volumes[p] * points.turned[p, i]
                growth += h
                force -= points.strains[p] * points.gradients[p, i] + (points.lame[p] * points.dilations[p]) * h
        forces_out[c, a] = force
        if wp.static(tangent):
            tangent_row(c, a, used, width, first, last, growth, points, cells, tangent_out)

    return cell_rows
