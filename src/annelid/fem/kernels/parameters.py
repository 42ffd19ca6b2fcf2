"""What parameters of worlds make of the constants of a solid."""
# Annotations are not postponed here: Warp reads the types of the kernels below from their closures.

import warp as wp

from annelid.core.kernels.parameters import LAST, PULL, world_pull

wp.set_module_options({"enable_backward": False})

f64 = wp.float64

STIFFNESS, MASS, DAMPING = range(PULL, PULL + 3)
"""Columns of the factors of a world; damping is there for solids in motion only. `LAST` others follow."""

FRICTION, BODY_MASS, BODY_SIZE = range(DAMPING + 1, DAMPING + 4)
"""Those of solids in motion among obstacles; masses where some of these are free bodies, sizes where worlds are stepped
together besides."""

DERIVED = 8
"""Numbers that are derived of a world: its pull [m/s²], three of them, and its factors."""


@wp.kernel
def derive_worlds(gravity: wp.vec3d, width: int, values: wp.array[f64], derived_out: wp.array2d[f64]):
    """Pull and factors of each world."""
    world = wp.tid()
    first = world * width
    pull = world_pull(gravity, values, first)
    for k in range(3):
        derived_out[world, k] = pull[k]
    derived_out[world, 3] = values[first + wp.static(STIFFNESS)]
    derived_out[world, 4] = values[first + wp.static(MASS)]
    derived_out[world, 5] = f64(1.0)
    if width > wp.static(DAMPING + LAST):
        derived_out[world, 5] = values[first + wp.static(DAMPING)]
    derived_out[world, 6] = f64(1.0)
    if width > wp.static(FRICTION + LAST):
        derived_out[world, 6] = values[first + wp.static(FRICTION)]
    derived_out[world, 7] = f64(1.0)
    if width > wp.static(BODY_MASS + LAST):
        derived_out[world, 7] = values[first + wp.static(BODY_MASS)]


@wp.kernel
def load_nodes(
    offset: int,
    pull: wp.vec3d,
    masses: wp.array[f64],
    dead_loads: wp.array[wp.vec3d],
    loads_out: wp.array[wp.vec3d],
):
    """Forces that keep their direction, and weight."""
    i = offset + wp.tid()
    loads_out[i] = dead_loads[i] + masses[i] * pull


@wp.kernel
def scale_moduli(
    offset: int,
    factor: f64,
    shear: wp.array[f64],
    lame: wp.array[f64],
    shear_out: wp.array[f64],
    lame_out: wp.array[f64],
):
    p = offset + wp.tid()
    shear_out[p] = factor * shear[p]
    lame_out[p] = factor * lame[p]


@wp.kernel
def resist(offset: int, rate: f64, masses: wp.array3d[f64], tangent_out: wp.array3d[wp.mat33d]):
    """How springs that stand for inertia and damping resist."""
    first, a, b = wp.tid()
    e = offset + first
    tangent_out[e, a, b] = (masses[e, a, b] * rate) * wp.identity(n=3, dtype=f64)
