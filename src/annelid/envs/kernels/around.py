"""Reaching round a post: where it stands."""

import warp as wp

wp.set_module_options({"enable_backward": False})

f64 = wp.float64


@wp.kernel
def stand_posts(
    least: f64,  # share of the way to the target where posts stand
    most: f64,
    aside: f64,  # how far they stand beside it, at most [m]
    height: f64,  # of their middles [m]
    targets: wp.array2d[wp.float32],  # x, y [m]
    drawn: wp.array2d[wp.float32],  # from 0 to 1
    # Out:
    places_out: wp.array[wp.vec3d],
    turns_out: wp.array[wp.quatd],
):
    """Stand posts upright between the axis and the targets."""
    world = wp.tid()
    target = wp.vec2d(f64(targets[world, 0]), f64(targets[world, 1]))
    across = wp.normalize(wp.vec2d(-target[1], target[0]))
    share = least + (most - least) * f64(drawn[world, 0])
    place = share * target + aside * (f64(2.0) * f64(drawn[world, 1]) - f64(1.0)) * across
    places_out[world] = wp.vec3d(place[0], place[1], height)
    turns_out[world] = wp.quatd(f64(0.0), f64(0.0), f64(0.0), f64(1.0))
