"""Largest principal strains, the stretch less 1: of each point, and the one farthest beyond what was measured."""
# Annotations are not postponed here: Warp reads the types of the kernels below from their closures.

import warp as wp

wp.set_module_options({"enable_backward": False})

f64 = wp.float64


@wp.func
def largest_eigenvalue(a: wp.mat33d) -> f64:
    """Of a symmetric matrix, in closed form (Smith 1961)."""
    mean = wp.trace(a) / f64(3.0)
    b = a - mean * wp.identity(n=3, dtype=f64)
    spread = wp.sqrt(wp.ddot(b, b) / f64(6.0))
    if spread <= f64(1.0e-14) * mean:
        return mean
    cosine = wp.clamp(wp.determinant(b / spread) / f64(2.0), f64(-1.0), f64(1.0))
    return mean + f64(2.0) * spread * wp.cos(wp.acos(cosine) / f64(3.0))


@wp.func
def largest_strain(
    p: int,
    first: int,
    nodes: wp.array2d[wp.int32],
    gradients: wp.array2d[wp.vec3d],
    positions: wp.array[wp.vec3d],
) -> f64:
    """Of a point whose nodes are numbered from the first of its world."""
    f = wp.mat33d()
    for i in range(nodes.shape[1]):
        f += wp.outer(positions[first + nodes[p, i]], gradients[p, i])
    return wp.sqrt(largest_eigenvalue(wp.transpose(f) * f)) - f64(1.0)


@wp.kernel
def point_strains(
    nodes: wp.array2d[wp.int32],
    gradients: wp.array2d[wp.vec3d],
    positions: wp.array[wp.vec3d],
    strain_out: wp.array[f64],
):
    p = wp.tid()
    strain_out[p] = largest_strain(p, 0, nodes, gradients, positions)


@wp.kernel
def farthest_strains(
    lanes: int,
    node_count: int,
    nodes: wp.array2d[wp.int32],
    gradients: wp.array2d[wp.vec3d],
    limits: wp.array[f64],
    positions: wp.array[wp.vec3d],
    share_out: wp.array[f64],
    strain_out: wp.array[f64],
    place_out: wp.array[wp.int32],
):
    """Of the points of each lane the one that is strained farthest, as a share of its limit.

    Points of several worlds come world after world.
    """
    lane = wp.tid()
    points = limits.shape[0]
    count = points * (positions.shape[0] / node_count)
    share = f64(0.0)
    strain = f64(0.0)
    place = int(-1)
    k = int(lane)
    while k < count:
        p = k % points
        first = (k / points) * node_count
        here = largest_strain(p, first, nodes, gradients, positions)
        if here / limits[p] > share:
            share = here / limits[p]
            strain = here
            place = k
        k += lanes
    share_out[lane] = share
    strain_out[lane] = strain
    place_out[lane] = place
