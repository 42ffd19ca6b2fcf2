"""Where obstacles and their surfaces are."""

import warp as wp

from annelid.core.kernels.parameters import LAST
from annelid.fem.kernels.parameters import BODY_SIZE

wp.set_module_options({"enable_backward": False})


@wp.kernel(enable_backward=False)
def place_vertices(
    number: int,  # of the obstacle
    count: int,  # obstacles in a world
    vertices: wp.array[wp.vec3d],  # in its frame [m]
    free: int,  # whether it is a free body
    width: int,  # parameters of a world
    parameters: wp.array[wp.float64],
    places: wp.array[wp.vec3d],
    turns: wp.array[wp.quatd],
    points_out: wp.array[wp.vec3],
):
    """Vertices of an obstacle in every world, one thread each."""
    i = wp.tid()
    world = i // vertices.shape[0]
    b = world * count + number
    vertex = vertices[i - world * vertices.shape[0]]
    if free != 0 and width > wp.static(BODY_SIZE + LAST):
        vertex = parameters[world * width + wp.static(BODY_SIZE)] * vertex
    points_out[i] = wp.vec3(places[b] + wp.quat_rotate(turns[b], vertex))


@wp.kernel(enable_backward=False)
def place_obstacles(
    mask: wp.array[wp.bool],
    number: int,  # of the obstacle
    count: int,  # obstacles in a world
    axes: wp.quatd,  # from its frame to that of the kernels
    places: wp.array[wp.vec3d],
    turns: wp.array[wp.quatd],
    places_out: wp.array[wp.vec3d],
    turns_out: wp.array[wp.quatd],
):
    """Put an obstacle of masked worlds somewhere else, turned as it is where no turns are given, one thread a world."""
    world = wp.tid()
    if mask[world]:
        b = world * count + number
        places_out[b] = places[world]
        if turns.shape[0] > 0:
            turns_out[b] = turns[world] * axes
