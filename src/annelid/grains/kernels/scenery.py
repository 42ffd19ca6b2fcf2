"""Where surfaces of bodies are."""

import warp as wp

wp.set_module_options({"enable_backward": False})


@wp.kernel(enable_backward=False)
def place_vertices(
    numbers: wp.array[wp.int32],  # the body in each world
    vertices: wp.array[wp.vec3],  # in its frame [m]
    places: wp.array[wp.vec3],
    turns: wp.array[wp.quat],
    points_out: wp.array[wp.vec3],
):
    """Vertices of a body in every world, one thread each."""
    i = wp.tid()
    world = i // vertices.shape[0]
    b = numbers[world]
    points_out[i] = places[b] + wp.quat_rotate(turns[b], vertices[i - world * vertices.shape[0]])
