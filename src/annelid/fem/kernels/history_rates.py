"""A step of a material with a Prony series run back: rates of a loss by what its points remember.

A point remembers S and h, see `kernels.relaxation`. A step answers with G S(F) + H, H = Σ a h − r S, and then takes
h ← a h + r (S(F) − S), S ← S(F), with r = g b. With bars for rates, and primes for what is remembered after the step,
S̄(F) = S̄′ + Σ r h̄′, and h and S gather what the update and H make of them. S is F⁻¹P of the part P of the stress that
relaxes, so that S̄:dS = B:dF with Y = F⁻ᵀ S̄ and B = 𝔸Y − Y S.
"""
# Annotations are not postponed here: Warp reads the types of the kernels below from their closures.

import warp as wp

from annelid.fem.kernels.hyperelastic import BULK, CRUSH, FACTOR, LAME, LEAST_VOLUME, PULL, HyperPoints
from annelid.fem.kernels.point_rates import tangent_times
from annelid.fem.kernels.relaxation import Series, lasting
from annelid.fem.kernels.solid import cofactors

wp.set_module_options({"enable_backward": False})

f64 = wp.float64


@wp.struct
class Memory:
    """Rates by what points remember, and by what decides how they forget; p points with t terms each."""

    past_bars: wp.array[wp.mat33d]  # by S, shape [p]
    part_bars: wp.array[wp.mat33d]  # by h, shape [p · t]
    decay_rates: wp.array2d[f64]  # by a, shape [p, t]
    rise_rates: wp.array2d[f64]  # by r, shape [p, t]


@wp.func
def cofactor_rate(m: wp.mat33d, rate: wp.mat33d) -> wp.mat33d:
    """How cofactors change with a matrix."""
    return wp.matrix_from_rows(
        wp.cross(rate[1], m[2]) + wp.cross(m[1], rate[2]),
        wp.cross(rate[2], m[0]) + wp.cross(m[2], rate[0]),
        wp.cross(rate[0], m[1]) + wp.cross(m[0], rate[1]),
    )


@wp.kernel
def forget_points(
    offset: int,
    terms: int,
    width: int,
    shared: int,
    constants: wp.array[f64],
    series: Series,
    points: HyperPoints,
    past: wp.array[wp.mat33d],
    parts: wp.array[wp.mat33d],
    memory: Memory,
    rates: wp.array2d[f64],
    slopes_out: wp.array[wp.mat33d],
    fluxes_out: wp.array[wp.mat33d],
):
    """From rates by what is remembered after a step to those before it; B, and the slope whose power Y:P is.

    Points are as their laws alone answer at the end of the step, with tangents.
    """
    p = offset + wp.tid()
    material = points.materials[p]
    row = material * width
    scale = constants[row + wp.static(FACTOR)] * points.volumes[p]
    f = points.deformations[p]
    cof = cofactors(f)
    dilation = points.dilations[p]
    volume = wp.max(f64(1.0) + dilation, f64(LEAST_VOLUME))
    stays = lasting(dilation, series.lames[material], constants[row + wp.static(CRUSH)])
    stress = wp.transpose(cof) * (points.stresses[p] / scale - stays[1] * cof) / volume
    stress = f64(0.5) * (stress + wp.transpose(stress))
    bar = memory.past_bars[p]
    before = wp.mat33d()
    for i in range(terms):
        k = material * terms + i
        q = p * terms + i
        one = memory.part_bars[q]
        bar += series.rises[k] * one
        before -= series.rises[k] * one
        memory.decay_rates[p, i] = memory.decay_rates[p, i] + wp.ddot(one, parts[q])
        memory.rise_rates[p, i] = memory.rise_rates[p, i] + wp.ddot(one, stress - past[p])
        memory.part_bars[q] = series.decays[k] * one
    memory.past_bars[p] = before
    bar = f64(0.5) * (bar + wp.transpose(bar))
    way = cof * bar / volume
    pressure = points.pressures[p] / scale - stays[1]
    change = tangent_times(p, way, points) / scale - (stays[2] * wp.ddot(cof, way)) * cof
    fluxes_out[p] = change + pressure * cofactor_rate(f, way) - way * stress
    slopes_out[p] = (f64(-1.0) / scale) * way
    growth = wp.ddot(cof, way)
    rates[p, wp.static(PULL)] = rates[p, wp.static(PULL)] - growth
    rates[p, wp.static(BULK)] = rates[p, wp.static(BULK)] + dilation * growth
    if shared == 0:
        rates[p, wp.static(LAME)] = rates[p, wp.static(LAME)] - dilation * growth


@wp.kernel
def shape_fluxes(offset: int, points: HyperPoints, fluxes: wp.array[wp.mat33d], shapes: wp.array[wp.mat33d]):
    """What B makes of H of `kernels.point_rates`."""
    p = offset + wp.tid()
    shapes[p] = shapes[p] - wp.transpose(points.deformations[p]) * fluxes[p]


@wp.kernel
def gather_fluxes(
    offset: int,
    first: wp.array[wp.int32],
    entries: wp.array[wp.int32],
    gradients: wp.array2d[wp.vec3d],
    fluxes: wp.array[wp.mat33d],
    position_rates: wp.array[wp.vec3d],
):
    """What B makes of the rates by where nodes are: each node sums over its points."""
    i = offset + wp.tid()
    width = gradients.shape[1]
    total = wp.vec3d()
    for e in range(first[i], first[i + 1]):
        p = entries[e] // width
        total += fluxes[p] * gradients[p, entries[e] - p * width]
    position_rates[i] = position_rates[i] + total


@wp.kernel
def hold_points(
    offset: int,
    terms: int,
    width: int,
    constants: wp.array[f64],
    series: Series,
    points: HyperPoints,
    slopes: wp.array[wp.mat33d],
    past: wp.array[wp.mat33d],
    parts: wp.array[wp.mat33d],
    memory: Memory,
    rates: wp.array2d[f64],
):
    """What H, which was held back in a step, makes of the rates by what was remembered before it.

    The power of all stress that `kernels.point_rates` took for that of the law contains that of H: it goes back.
    """
    p = offset + wp.tid()
    material = points.materials[p]
    scale = constants[material * width + wp.static(FACTOR)] * points.volumes[p]
    along = wp.transpose(points.deformations[p]) * slopes[p]
    bar = (f64(-0.5) * scale) * (along + wp.transpose(along))
    held = wp.mat33d()
    for i in range(terms):
        k = material * terms + i
        q = p * terms + i
        memory.part_bars[q] = memory.part_bars[q] + series.decays[k] * bar
        memory.past_bars[p] = memory.past_bars[p] - series.rises[k] * bar
        memory.decay_rates[p, i] = memory.decay_rates[p, i] + wp.ddot(bar, parts[q])
        memory.rise_rates[p, i] = memory.rise_rates[p, i] - wp.ddot(bar, past[p])
        held += series.decays[k] * parts[q] - series.rises[k] * past[p]
    rates[p, width] = rates[p, width] - wp.ddot(bar, held) / series.gains[material]
