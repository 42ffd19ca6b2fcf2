"""How the work of the forces of elements along a nodal vector z changes with moduli and with positions at rest.

With Z = Σ z_a ⊗ g_a the work at a point is -V P:Z. When nodes at rest move by δX, D = Σ δX_b ⊗ g_b, gradients change by
-Dᵀ g, F by -F D, Z by -Z D and V by V tr D, so that the work changes by H:D with

    H = V (Fᵀ 𝔸Z + Zᵀ P − (P:Z) I),    𝔸 = ∂P/∂F.

A node at rest then gathers Σ H g over its points. Cells that share changes of volume add what their means do.
"""
# Annotations are not postponed here: Warp reads the types of the kernels below from their closures.

from typing import Any

import warp as wp

from annelid.core.kernels.loading import once
from annelid.fem.kernels.hyperelastic import BULK, CRUSH, FACTOR, LAME, LEAST_VOLUME, PULL, HyperPoints
from annelid.fem.kernels.solid import Cells, Points, cofactors

wp.set_module_options({"enable_backward": False})

f64 = wp.float64


@wp.kernel
def slope_points(
    offset: int,
    nodes: wp.array2d[wp.int32],
    gradients: wp.array2d[wp.vec3d],
    vectors: wp.array[wp.vec3d],
    slopes_out: wp.array[wp.mat33d],
):
    """Z of each point."""
    p = offset + wp.tid()
    slope = wp.mat33d()
    for i in range(nodes.shape[1]):
        slope += wp.outer(vectors[nodes[p, i]], gradients[p, i])
    slopes_out[p] = slope


@wp.kernel
def rate_moduli(
    offset: int,
    points: Points,
    slopes: wp.array[wp.mat33d],
    rates: wp.array2d[f64],
):
    """Rates of μ and λ of co-rotational points, from what they were found to be where they are."""
    p = offset + wp.tid()
    grown = points.volumes[p] * wp.ddot(points.rotations[p], slopes[p])
    rates[p, 0] = rates[p, 0] - wp.ddot(points.strains[p], slopes[p]) / points.shear[p]
    rates[p, 1] = rates[p, 1] - points.dilations[p] * grown


@wp.func
def identity_times(value: f64) -> wp.mat33d:
    return value * wp.identity(n=3, dtype=f64)


@once
def corotational_shape_kernel(shape_nodes: int, mean: bool) -> Any:
    """H of the points of co-rotational cells.

    Args:
        shape_nodes: Nodes of each point.
        mean: Whether the points of a cell share one change of volume.
    """

    @wp.kernel(module="unique", enable_backward=False)
    def shape_cells(
        offset: int,
        positions: wp.array[wp.vec3d],
        points: Points,
        cells: Cells,
        slopes: wp.array[wp.mat33d],
        shapes: wp.array[wp.mat33d],
    ):
        c = offset + wp.tid()
        first = cells.first[c]
        last = cells.first[c + 1]
        shared = f64(0.0)
        if wp.static(mean):
            for p in range(first, last):
                shared += points.volumes[p] * wp.ddot(points.rotations[p], slopes[p])
            shared = shared / cells.volumes[c]
        for p in range(first, last):
            f = wp.mat33d()
            origin = positions[points.nodes[p, 0]]
            for i in range(1, wp.static(shape_nodes)):
                f += wp.outer(positions[points.nodes[p, i]] - origin, points.gradients[p, i])
            r = points.rotations[p]
            slope = slopes[p]
            lame = points.volumes[p] * points.lame[p]
            theta = points.dilations[p]
            stress = points.strains[p] + (lame * theta) * r
            turning = slope * wp.transpose(r)
            axial = wp.vec3d(
                turning[2, 1] - turning[1, 2], turning[0, 2] - turning[2, 0], turning[1, 0] - turning[0, 1]
            )
            change = (f64(2.0) * points.shear[p] * points.volumes[p]) * slope
            change = change + wp.skew(points.spins[p] * axial) * r  # of the stress, but for that of θ
            growth = wp.ddot(r, slope)
            if wp.static(mean):
                growth = shared
            own = wp.ddot(r, f) - f64(3.0)
            found = wp.transpose(f) * change + wp.transpose(slope) * stress + (lame * growth) * (wp.transpose(f) * r)
            shapes[p] = shapes[p] + found - identity_times(wp.ddot(stress, slope) + lame * growth * (own - theta))

    return shape_cells


@wp.func
def growth_of(p: int, points: HyperPoints, slopes: wp.array[wp.mat33d]) -> f64:
    """How fast the volume of a hyperelastic point grows, of a unit of it."""
    return wp.ddot(cofactors(points.deformations[p]), slopes[p])


@wp.kernel
def project_cells(
    offset: int,
    points: HyperPoints,
    cells: Cells,
    slopes: wp.array[wp.mat33d],
    thetas_out: wp.array2d[f64],
    speeds_out: wp.array2d[f64],
):
    """Changes of volume that the points of each cell share, one for each function of place, and their rates."""
    c = offset + wp.tid()
    for k in range(thetas_out.shape[1]):
        theta = f64(0.0)
        speed = f64(0.0)
        for p in range(cells.first[c], cells.first[c + 1]):
            weight = points.volumes[p] * points.modes[p, k] / cells.volumes[c]
            theta += weight * points.dilations[p]
            speed += weight * growth_of(p, points, slopes)
        thetas_out[c, k] = theta
        speeds_out[c, k] = speed


@wp.func
def at_point(p: int, c: int, points: HyperPoints, sums: wp.array2d[f64]) -> f64:
    """Sum of the functions of place of a cell at a point."""
    total = f64(0.0)
    for k in range(sums.shape[1]):
        total += points.modes[p, k] * sums[c, k]
    return total


@wp.kernel
def rate_volumes(
    offset: int,
    width: int,
    constants: wp.array[f64],
    gains: wp.array[f64],
    lames: wp.array[f64],
    points: HyperPoints,
    cells: Cells,
    slopes: wp.array[wp.mat33d],
    thetas: wp.array2d[f64],
    rates: wp.array2d[f64],
):
    """Rates of a factor on all, p, κ, λ and of what resists being crushed, and of how much of the shape resists.

    Where points share no changes of volume λ is part of κ; the rate of λ is then that of the part that never relaxes.
    """
    c = offset + wp.tid()
    first = cells.first[c]
    row = points.materials[first] * width
    factor = constants[row + wp.static(FACTOR)]
    gain = gains[points.materials[first]]
    for p in range(first, cells.first[c + 1]):
        dilation = points.dilations[p]
        low = wp.max(f64(LEAST_VOLUME) - f64(1.0) - dilation, f64(0.0))
        growth = factor * points.volumes[p] * growth_of(p, points, slopes)
        power = wp.ddot(points.stresses[p], slopes[p])
        stays = lames[points.materials[p]] * dilation - f64(3.0) * constants[row + wp.static(CRUSH)] * low * low
        lasting = (f64(1.0) - gain) * dilation
        if thetas.shape[1] > 0:
            lasting = at_point(p, c, points, thetas)
            stays += constants[row + wp.static(LAME)] * lasting
        rates[p, wp.static(FACTOR)] = rates[p, wp.static(FACTOR)] - power / factor
        rates[p, wp.static(PULL)] = rates[p, wp.static(PULL)] + gain * growth
        rates[p, wp.static(BULK)] = rates[p, wp.static(BULK)] - gain * dilation * growth
        rates[p, wp.static(LAME)] = rates[p, wp.static(LAME)] - lasting * growth
        rates[p, wp.static(CRUSH)] = rates[p, wp.static(CRUSH)] + f64(3.0) * low * low * growth
        rates[p, width] = rates[p, width] - (power - stays * growth) / gain


@wp.func
def tangent_times(p: int, slope: wp.mat33d, points: HyperPoints) -> wp.mat33d:
    """𝔸Z of a point, times its volume."""
    found = wp.mat33d()
    for m in range(9):
        total = f64(0.0)
        for n in range(9):
            total += points.tangents[p, 9 * m + n] * slope[n // 3, n % 3]
        found[m // 3, m % 3] = total
    return found


@wp.kernel
def shape_hyperelastic(
    offset: int,
    width: int,
    constants: wp.array[f64],
    mode_slopes: wp.array2d[wp.vec3d],
    points: HyperPoints,
    cells: Cells,
    slopes: wp.array[wp.mat33d],
    thetas: wp.array2d[f64],
    speeds: wp.array2d[f64],
    shapes: wp.array[wp.mat33d],
    places: wp.array[wp.vec3d],
):
    """H of the points of hyperelastic cells, and how the places of the points themselves count, after a tangent."""
    c = offset + wp.tid()
    first = cells.first[c]
    row = points.materials[first] * width
    lame = constants[row + wp.static(FACTOR)] * constants[row + wp.static(LAME)]
    for p in range(first, cells.first[c + 1]):
        stress = points.stresses[p]
        volume = lame * points.volumes[p]
        theta = at_point(p, c, points, thetas)
        speed = at_point(p, c, points, speeds)
        found = wp.transpose(points.deformations[p]) * tangent_times(p, slopes[p], points)
        found = found + wp.transpose(slopes[p]) * stress
        found = found + identity_times(volume * speed * (f64(1.0) + theta) - wp.ddot(stress, slopes[p]))
        shapes[p] = shapes[p] + found
        if places.shape[0] > 0:
            theta_slope = wp.vec3d()
            speed_slope = wp.vec3d()
            for k in range(thetas.shape[1]):
                theta_slope += thetas[c, k] * mode_slopes[c, k]
                speed_slope += speeds[c, k] * mode_slopes[c, k]
            left = (growth_of(p, points, slopes) - speed) * theta_slope + (points.dilations[p] - theta) * speed_slope
            places[p] = places[p] - volume * left
