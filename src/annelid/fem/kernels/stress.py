"""Stress of integration points, and means of them at nodes, for pictures."""
# Annotations are not postponed here: Warp reads the types of the kernels below from their closures.

import warp as wp

from annelid.fem.kernels.solid import Points

wp.set_module_options({"enable_backward": False})

f64 = wp.float64


@wp.kernel
def von_mises(place: int, factors: wp.array[f64], points: Points, stress_out: wp.array[f64]):
    """Von Mises stress √(3/2 s:s) of each point [Pa]; s is the deviator of the co-rotated Biot stress.

    Where there are factors, stresses are multiplied by the one at a place.
    """
    p = wp.tid()
    stress = wp.transpose(points.rotations[p]) * points.strains[p]
    mean = wp.trace(stress) / f64(3.0)
    deviator = f64(0.5) * (stress + wp.transpose(stress)) - mean * wp.identity(n=3, dtype=f64)
    stress_out[p] = wp.sqrt(f64(1.5) * wp.ddot(deviator, deviator)) / points.volumes[p]
    if factors.shape[0] > 0:
        stress_out[p] = factors[place] * stress_out[p]


@wp.kernel
def cauchy_von_mises(
    place: int,
    factors: wp.array[f64],
    volumes: wp.array[f64],
    deformations: wp.array[wp.mat33d],
    stresses: wp.array[wp.mat33d],
    stress_out: wp.array[f64],
):
    """Von Mises stress of each point [Pa] from its Cauchy stress; factors as in `von_mises`."""
    p = wp.tid()
    f = deformations[p]
    stress = stresses[p] * wp.transpose(f) / (volumes[p] * wp.determinant(f))
    mean = wp.trace(stress) / f64(3.0)
    deviator = f64(0.5) * (stress + wp.transpose(stress)) - mean * wp.identity(n=3, dtype=f64)
    stress_out[p] = wp.sqrt(f64(1.5) * wp.ddot(deviator, deviator))
    if factors.shape[0] > 0:
        stress_out[p] = factors[place] * stress_out[p]


@wp.kernel
def node_means(
    nodes: wp.array[wp.int32],
    first: wp.array[wp.int32],
    entries: wp.array[wp.int32],
    volumes: wp.array[f64],
    values: wp.array[f64],
    means_out: wp.array[wp.float32],
):
    """Mean over the points around each node, by volume."""
    i = wp.tid()
    node = nodes[i]
    total = f64(0.0)
    weight = f64(0.0)
    for k in range(first[node], first[node + 1]):
        p = entries[k]
        total += volumes[p] * values[p]
        weight += volumes[p]
    means_out[i] = wp.float32(total / weight)


@wp.kernel
def distances(
    nodes: wp.array[wp.int32],
    here: wp.array[wp.vec3d],
    there: wp.array[wp.vec3d],
    lengths_out: wp.array[wp.float32],
):
    i = wp.tid()
    lengths_out[i] = wp.float32(wp.length(here[nodes[i]] - there[nodes[i]]))
