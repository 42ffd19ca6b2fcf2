"""Triangles of fabrics: energy, forces and exact tangent of a membrane."""
# Annotations are not postponed here: Warp reads the types of the kernels below from their closures.

import warp as wp

wp.set_module_options({"enable_backward": False})

f64 = wp.float64
FORESEEN = 2
"""Of what is wanted: a tangent under tensions that were foreseen; 1 is one under those of now, 0 none."""


@wp.func
def strain_rows(gradient: wp.vec2d, first: wp.vec3d, second: wp.vec3d) -> wp.mat33d:
    """B_a: how E11, E22 and 2 E12 change as a node moves."""
    shear = gradient[0] * second + gradient[1] * first
    return wp.matrix_from_rows(gradient[0] * first, gradient[1] * second, shear)


@wp.func
def edges_of(
    t: int, nodes: wp.array2d[wp.int32], gradients: wp.array2d[wp.vec2d], positions: wp.array[wp.vec3d]
):  # fmt: skip
    """Columns of F of a triangle."""
    origin = positions[nodes[t, 0]]
    first, second = wp.vec3d(), wp.vec3d()
    for a in range(1, 3):  # differences to the first node: rounding must not depend on where the solid is
        away = positions[nodes[t, a]] - origin
        first += gradients[t, a][0] * away
        second += gradients[t, a][1] * away
    return first, second


@wp.func
def strain_of(first: wp.vec3d, second: wp.vec3d) -> wp.vec3d:
    """E11, E22 and 2 E12."""
    half, one = f64(0.5), f64(1.0)
    return wp.vec3d(half * (wp.dot(first, first) - one), half * (wp.dot(second, second) - one), wp.dot(first, second))


@wp.kernel
def foresee_fabrics(
    # Parameters:
    offset: int, nodes: wp.array2d[wp.int32], gradients: wp.array2d[wp.vec2d], areas: wp.array[f64],
    moduli: wp.array[wp.mat33d], stiffer: f64,
    # State in:
    positions: wp.array[wp.vec3d], move: wp.array[wp.vec3d],
    # State out:
    foreseen_out: wp.array2d[f64],
):  # fmt: skip
    """Tension of a triangle, times its area, after a move, to first order."""
    t = offset + wp.tid()
    first, second = edges_of(t, nodes, gradients, positions)
    strain = strain_of(first, second)
    for a in range(3):
        strain += strain_rows(gradients[t, a], first, second) * move[nodes[t, a]]
    tension = (stiffer * areas[t]) * (moduli[t] * strain)
    for i in range(3):
        foreseen_out[t, i] = tension[i]


@wp.kernel
def stretch_fabrics(
    # Parameters:
    offset: int, nodes: wp.array2d[wp.int32], gradients: wp.array2d[wp.vec2d], areas: wp.array[f64],
    moduli: wp.array[wp.mat33d], foreseen: wp.array2d[f64], stiffer: f64, wanted: int,
    # State in:
    positions: wp.array[wp.vec3d],
    # State out:
    energy_out: wp.array[f64], forces_out: wp.array2d[wp.vec3d],
    tangent_out: wp.array3d[wp.mat33d],
):  # fmt: skip
    """With F = Σ x_a g_aᵀ, E = (FᵀF - 1)/2 and N = D E a triangle of area A stores A/2 E·D E.

    Its forces are -A B_aᵀ N, its tangent A (B_aᵀ D B_b + (g_a·N g_b) 1).
    """
    t = offset + wp.tid()
    first, second = edges_of(t, nodes, gradients, positions)
    strain = strain_of(first, second)
    modulus = (stiffer * areas[t]) * moduli[t]
    tension = modulus * strain
    energy_out[t] = f64(0.5) * wp.dot(strain, tension)
    for a in range(3):
        forces_out[t, a] = -(wp.transpose(strain_rows(gradients[t, a], first, second)) * tension)
    if wanted == wp.static(FORESEEN):
        tension = wp.vec3d(foreseen[t, 0], foreseen[t, 1], foreseen[t, 2])
    if wanted != 0:
        for a in range(3):
            ga = gradients[t, a]
            rows = wp.transpose(strain_rows(ga, first, second)) * modulus
            for b in range(a, 3):
                gb = gradients[t, b]
                turn = (
                    ga[0] * gb[0] * tension[0] + ga[1] * gb[1] * tension[1]
                    + (ga[0] * gb[1] + ga[1] * gb[0]) * tension[2]
                )  # fmt: skip
                block = rows * strain_rows(gb, first, second) + turn * wp.identity(n=3, dtype=f64)
                tangent_out[t, a, b] = block
