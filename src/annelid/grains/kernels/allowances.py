"""How far each grain may move before lists are made anew, where some move and most do not.

A pair can miss each other's lists only by what both have moved. Beside a soft body its guests move, some grains that it
throws up do, and the bed does not: lists that reach further around these few last longer, at little cost. On CUDA,
where making lists takes as long as several steps, the fourth number of `Lists.built` is less what a row may move. A CPU
leaves another number there, 0 or more: then each may move by half of what lists reach further than needed.
"""

import warp as wp

from annelid.grains.kernels.layout import SKIN, Grains, Lists, Parameters, reach_place

wp.set_module_options({"enable_backward": False})

_LOOKS = 8.0  # at lists, that they are to last for where a grain is fast


@wp.func
def allowance(built: wp.vec4, half: float) -> float:
    """How far a row may move that was somewhere when lists were made [m]; `half` where it is not told there."""
    return wp.where(built[3] < 0.0, -built[3], half)


@wp.func
def set_allowance(i: int, parameters: Parameters, grains: Grains, lists: Lists):
    """Tell where row i is as lists are made, and how far it may move by its speed."""
    name = grains.names[i]
    allowed = parameters.guest_skin
    if name[0] < parameters.first_guest:
        v = grains.velocities[i]
        wanted = wp.static(_LOOKS) * (parameters.patience + 1.0) * parameters.dt * wp.length(wp.vec3(v[0], v[1], v[2]))
        half = 0.5 * lists.reach[reach_place(wp.static(SKIN), name[1])]
        allowed = wp.clamp(wanted, half, parameters.fast_skin)
    x = grains.positions[i]
    lists.built[i] = wp.vec4(x[0], x[1], x[2], -allowed)
