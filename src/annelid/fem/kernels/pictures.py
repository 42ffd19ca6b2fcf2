"""Where surfaces of obstacles are."""

import warp as wp

wp.set_module_options({"enable_backward": False})


@wp.kernel(enable_backward=False)
def place_vertices(
    number: int,  # of the obstacle
    count: int,  # obstacles in a world
    vertices: wp.array[wp.vec3d],  # in its frame [m]
    places: wp.array[wp.vec3d],
    turns: wp.array[wp.quatd],
    points_out: wp.array[wp.vec3],
):
    """Vertices of an obstacle in every world, one thread each."""
    i = wp.tid()
    world = i // vertices.shape[0]
    b = world * count + number
    points_out[i] = wp.vec3(places[b] + wp.quat_rotate(turns[b], vertices[i - world * vertices.shape[0]]))
