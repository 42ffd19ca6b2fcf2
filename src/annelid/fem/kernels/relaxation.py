"""Linear viscoelasticity on top of any hyperelastic law: a Prony series of the stress (Simo 1987).

The second Piola-Kirchhoff stress S of all that resists a change of shape relaxes by shares gᵢ with times τᵢ; λ, which
resists a change of volume, does not. A point remembers S and, for each term, h with ḣ = −h/τ + g Ṡ. Over a time Δt in
which S changes steadily, with a = exp(−Δt/τ) and b = (1 − a) τ/Δt,

    h ← a h + g b (S − S_old),    stress = (1 − Σ g) S + Σ h = G S + H,    G = 1 − Σ g (1 − b),

where H does not depend on where the point goes: a step has the energy G Ψ(F) + H:C/2.
"""
# Annotations are not postponed here: Warp reads the types of the kernels below from their closures.

import warp as wp

from annelid.fem.kernels.hyperelastic import CRUSH, FACTOR, LEAST_VOLUME, HyperPoints
from annelid.fem.kernels.solid import cofactors

wp.set_module_options({"enable_backward": False})

f64 = wp.float64


@wp.struct
class Series:
    """Prony series of the materials, for a time that passes; rows of m materials with t terms each."""

    decays: wp.array[f64]  # a, shape [m · t]
    rises: wp.array[f64]  # g b, shape [m · t]
    gains: wp.array[f64]  # G, shape [m]
    lames: wp.array[f64]  # λ where the points of a cell do not share it, else 0, shape [m]


@wp.func
def lasting(dilation: f64, lame: f64, crush: f64) -> wp.vec3d:
    """Energy of what does not relax at a point, and its first two derivatives: λ, and what resists being crushed."""
    low = wp.max(f64(LEAST_VOLUME) - f64(1.0) - dilation, f64(0.0))
    return wp.vec3d(
        f64(0.5) * lame * dilation * dilation + crush * low * low * low,
        lame * dilation - f64(3.0) * crush * low * low,
        lame + f64(6.0) * crush * low,
    )


@wp.kernel
def hold_back(
    offset: int,
    terms: int,
    points: HyperPoints,
    series: Series,
    past: wp.array[wp.mat33d],
    parts: wp.array[wp.mat33d],
    held_out: wp.array[wp.mat33d],
):
    """H of each point."""
    p = offset + wp.tid()
    row = points.materials[p] * terms
    held = wp.mat33d()
    for i in range(terms):
        held += series.decays[row + i] * parts[p * terms + i] - series.rises[row + i] * past[p]
    held_out[p] = held


@wp.func_native(
    """
    double* a = points.tangents.data + 81 * (size_t)p;
    const double* k = (const double*)&cof;
    for (int m = 0; m < 9; ++m)
        for (int n = 0; n < 9; ++n) {
            a[9 * m + n] = gain * a[9 * m + n] + lasting * k[m] * k[n];
            if (m / 3 == n / 3) a[9 * m + n] += scale * H.data[m % 3][n % 3];
        }
"""
)
def relax_tangent(
    p: int, gain: f64, lasting: f64, scale: f64, H: wp.mat33d, cof: wp.mat33d, points: HyperPoints
) -> None: ...


@wp.kernel
def relax_points(
    offset: int,
    tangent: int,
    width: int,
    constants: wp.array[f64],
    series: Series,
    held: wp.array[wp.mat33d],
    points: HyperPoints,
    energies: wp.array[f64],
):
    """What a point answers after a time, from what its law alone answers."""
    p = offset + wp.tid()
    material = points.materials[p]
    row = material * width
    scale = constants[row + wp.static(FACTOR)] * points.volumes[p]
    gain = series.gains[material]
    kept = f64(1.0) - gain
    f = points.deformations[p]
    cof = cofactors(f)
    stays = lasting(points.dilations[p], series.lames[material], constants[row + wp.static(CRUSH)])
    strain = wp.transpose(f) * f - wp.identity(n=3, dtype=f64)
    energies[p] = gain * energies[p] + scale * (kept * stays[0] + f64(0.5) * wp.ddot(held[p], strain))
    points.stresses[p] = gain * points.stresses[p] + scale * (kept * stays[1] * cof + f * held[p])
    points.pressures[p] = gain * points.pressures[p] + kept * scale * stays[1]
    if tangent == 1:
        relax_tangent(p, gain, kept * scale * stays[2], scale, held[p], cof, points)


@wp.kernel
def remember_points(
    offset: int,
    terms: int,
    width: int,
    constants: wp.array[f64],
    series: Series,
    points: HyperPoints,
    past: wp.array[wp.mat33d],
    parts: wp.array[wp.mat33d],
):
    """Take what the law alone answers into the history, after the time of the series."""
    p = offset + wp.tid()
    material = points.materials[p]
    row = material * width
    scale = constants[row + wp.static(FACTOR)] * points.volumes[p]
    cof = cofactors(points.deformations[p])
    stays = lasting(points.dilations[p], series.lames[material], constants[row + wp.static(CRUSH)])
    # A point that is crushed or inverted has no inverse; its history must stay finite.
    volume = wp.max(f64(1.0) + points.dilations[p], f64(LEAST_VOLUME))
    stress = wp.transpose(cof) * (points.stresses[p] / scale - stays[1] * cof) / volume
    stress = f64(0.5) * (stress + wp.transpose(stress))
    for i in range(terms):
        k = material * terms + i
        parts[p * terms + i] = series.decays[k] * parts[p * terms + i] + series.rises[k] * (stress - past[p])
    past[p] = stress
