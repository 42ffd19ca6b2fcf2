"""Segments of threads: energy, forces and exact tangent."""
# Annotations are not postponed here: Warp reads the types of the kernels below from their closures.

import warp as wp

wp.set_module_options({"enable_backward": False})

f64 = wp.float64

FORESEEN = 2
"""Of what is wanted: a tangent under tensions that were foreseen; 1 is one under those of now, 0 none."""
AT_REST = wp.constant(wp.float64(-1.0e-12))
"""Strain above which a one-sided thread pulls: rounding must not make one at rest slack."""


@wp.func
def along_of(
    s: int, nodes: wp.array2d[wp.int32], factors: wp.array2d[f64], used: wp.array[wp.int32],
    positions: wp.array[wp.vec3d],
) -> wp.vec3d:  # fmt: skip
    """From the start of a segment to its end."""
    origin = positions[nodes[s, 0]]
    along = wp.vec3d()
    for a in range(1, used[s]):  # differences to the first node: rounding must not depend on where the solid is
        along += factors[s, a] * (positions[nodes[s, a]] - origin)
    return along


@wp.kernel
def foresee_threads(
    # Parameters:
    first: int, nodes: wp.array2d[wp.int32], factors: wp.array2d[f64], used: wp.array[wp.int32],
    lengths: wp.array[f64], stiffnesses: wp.array[f64], one_sided: wp.array[wp.int32], stiffer: f64,
    # State in:
    positions: wp.array[wp.vec3d], move: wp.array[wp.vec3d],
    # State out:
    foreseen_out: wp.array2d[f64],
):  # fmt: skip
    """Tension of a segment after a move, to first order; none where a one-sided one gets slack."""
    s = first + wp.tid()
    along = along_of(s, nodes, factors, used, positions)
    length = wp.max(wp.length(along), f64(1.0e-12) * lengths[s])
    longer = f64(0.0)
    for a in range(used[s]):
        longer += factors[s, a] * wp.dot(along, move[nodes[s, a]]) / length
    strain = (length + longer) / lengths[s] - f64(1.0)
    if one_sided[s] != 0 and strain < AT_REST:
        strain = f64(0.0)
    foreseen_out[s, 0] = stiffer * stiffnesses[s] * strain


@wp.kernel
def stretch_threads(
    # Parameters:
    first: int, nodes: wp.array2d[wp.int32], factors: wp.array2d[f64], used: wp.array[wp.int32],
    lengths: wp.array[f64], stiffnesses: wp.array[f64], one_sided: wp.array[wp.int32], foreseen: wp.array2d[f64],
    stiffer: f64, wanted: int,
    # State in:
    positions: wp.array[wp.vec3d],
    # State out:
    energy_out: wp.array[f64], forces_out: wp.array2d[wp.vec3d],
    tangent_out: wp.array3d[wp.mat33d],
):  # fmt: skip
    """A segment d = Σ c_a x_a, Σ c_a = 0, of length l, in the direction u = d / l, with the strain ε = l/L - 1.

    Its tension is T = EA ε, its energy EA L ε²/2, its forces are -T c_a u, its tangent
    c_a c_b (EA/L u uᵀ + T/l (1 - u uᵀ)).
    """
    s = first + wp.tid()
    along = along_of(s, nodes, factors, used, positions)
    length = wp.max(wp.length(along), f64(1.0e-12) * lengths[s])
    unit = along / length
    strain = length / lengths[s] - f64(1.0)
    stiffness = stiffer * stiffnesses[s]
    if one_sided[s] != 0 and strain < AT_REST:
        stiffness = f64(0.0)
    tension = stiffness * strain
    energy_out[s] = f64(0.5) * tension * strain * lengths[s]
    for a in range(used[s]):
        forces_out[s, a] = (-tension * factors[s, a]) * unit
    if wanted == wp.static(FORESEEN):
        tension = foreseen[s, 0]
    if wanted != 0:
        pair = wp.outer(unit, unit)
        block = (stiffness / lengths[s]) * pair + (tension / length) * (wp.identity(n=3, dtype=f64) - pair)
        for a in range(used[s]):
            for b in range(a, used[s]):
                tangent_out[s, a, b] = (factors[s, a] * factors[s, b]) * block
