"""What parameters of worlds make of gravity, of grains and of what the next step would bring them."""

import warp as wp

from annelid.core.kernels.parameters import LAST, PULL, world_pull
from annelid.grains.kernels.layout import FREE, Body, Varied

wp.set_module_options({"enable_backward": False})

FACTORS = ("friction", "restitution", "cohesion", "density", "skin_friction")
"""Factors of a world, in order; they follow what pulls in it. The last is there where there are guests."""

DENSITY = PULL + FACTORS.index("density")
"""Column of the factor on the density of grains."""

GUESTS = PULL + len(FACTORS) + LAST
"""Parameters of a world where there are guests."""


@wp.func
def pull_of(gravity: wp.vec3, values: wp.array[wp.float64], first: int) -> wp.vec3:
    """What pulls in a world [m/s²]."""
    model = wp.vec3d(wp.float64(gravity[0]), wp.float64(gravity[1]), wp.float64(gravity[2]))
    pull = world_pull(model, values, first)
    return wp.vec3(wp.float32(pull[0]), wp.float32(pull[1]), wp.float32(pull[2]))


@wp.kernel(enable_backward=False)
def derive_worlds(gravity: wp.vec3, width: int, values: wp.array[wp.float64], varied_out: wp.array[Varied]):
    """Make what kernels read of the parameters of each world."""
    world = wp.tid()
    first = world * width
    at = first + wp.static(PULL)
    own = Varied()
    own.pull = pull_of(gravity, values, first)
    own.friction = wp.float32(values[at])
    own.restitution = wp.float32(values[at + 1])
    own.cohesion = wp.float32(values[at + 2])
    own.lightness = wp.float32(wp.float64(1.0) / values[at + 3])
    own.skin_friction = 1.0
    if width == wp.static(GUESTS):
        own.skin_friction = wp.float32(values[at + 4])
    varied_out[world] = own


@wp.kernel(enable_backward=False)
def follow_grains(
    mask: wp.array[wp.bool],
    gravity: wp.vec3,
    ahead: float,  # how far forecasts look [s]
    first_guest: int,
    width: int,
    before: wp.array[wp.float64],
    values: wp.array[wp.float64],
    names: wp.array[wp.vec2i],
    # State in and out:
    spins: wp.array[wp.vec4],
    forecast: wp.array[wp.vec4],
    turning: wp.array[wp.vec4],
):
    """Give grains of some worlds the masses, and the velocities of the next step, of parameters that have changed."""
    i = wp.tid()
    world = names[i][1]
    if not mask[world] or names[i][0] >= first_guest:
        return
    first = world * width
    lighter = before[first + wp.static(DENSITY)] / values[first + wp.static(DENSITY)]
    spin = spins[i]
    spin[3] = wp.float32(wp.float64(spin[3]) * lighter)
    spins[i] = spin
    turn = turning[i]
    turn[3] = spin[3]
    turning[i] = turn
    more = ahead * (pull_of(gravity, values, first) - pull_of(gravity, before, first))
    motion = forecast[i]
    forecast[i] = wp.vec4(motion[0] + more[0], motion[1] + more[1], motion[2] + more[2], motion[3])


@wp.kernel(enable_backward=False)
def follow_bodies(
    mask: wp.array[wp.bool],
    gravity: wp.vec3,
    ahead: float,
    width: int,
    before: wp.array[wp.float64],
    values: wp.array[wp.float64],
    forms: wp.array[Body],
    # State in and out:
    forecast: wp.array[wp.vec3],
):
    """The same for velocities of free bodies."""
    b = wp.tid()
    world = forms[b].world
    if mask[world] and forms[b].motion == wp.static(FREE):
        first = world * width
        more = ahead * (pull_of(gravity, values, first) - pull_of(gravity, before, first))
        forecast[b] = forecast[b] + more
