"""Grasping: where objects begin, how far they are above the ground, and what that is worth."""

import warp as wp

wp.set_module_options({"enable_backward": False})

f64 = wp.float64


@wp.func
def radius_of(radius: f64, column: int, width: int, parameters: wp.array[f64], world: int) -> f64:
    """Radius of the ball of a world, which has so many parameters [m]."""
    if width == 0:
        return radius
    return radius * parameters[world * width + column]


@wp.kernel
def lay_objects(
    radius: f64,  # that balls were built with [m]
    clearance: f64,  # [m]
    spread: f64,  # how far from the middle they lie, at most, along x and y [m]
    column: int,  # of the factor on their sizes
    width: int,
    parameters: wp.array[f64],
    drawn: wp.array2d[wp.float32],  # from -1 to 1
    # Out:
    places_out: wp.array[wp.vec3d],
    turns_out: wp.array[wp.quatd],
):
    """Where balls lie on the ground."""
    world = wp.tid()
    height = radius_of(radius, column, width, parameters, world) + clearance
    places_out[world] = wp.vec3d(spread * f64(drawn[world, 0]), spread * f64(drawn[world, 1]), height)
    turns_out[world] = wp.quatd(f64(0.0), f64(0.0), f64(0.0), f64(1.0))


@wp.kernel
def find_rises(
    radius: f64,
    clearance: f64,
    column: int,
    width: int,
    parameters: wp.array[f64],
    number: int,  # of the ball among the obstacles
    count: int,  # obstacles in a world
    places: wp.array[wp.vec3d],
    # Out:
    rise_out: wp.array[f64],
):
    """How far balls are above where they lay [m]."""
    world = wp.tid()
    lowest = places[world * count + number][2] - radius_of(radius, column, width, parameters, world)
    rise_out[world] = lowest - clearance


@wp.kernel
def judge_grasp(
    rises: wp.array[f64],  # [m]
    balls: wp.array2d[wp.float32],  # their places [m]
    tips: wp.array2d[wp.float32],  # places of the tips of all fingers, three numbers each [m]
    touch: wp.array2d[wp.float32],  # forces on the fingers, three numbers each [N]
    height: f64,  # at which an object counts as lifted [m]
    far: float,  # distance of the middle of the tips from the object that is worth nothing [m]
    squeeze: float,  # force of a firm touch [N]
    share: float,  # of the reward: of tips near the object, and of a firm touch by all fingers
    actions: float,  # in an episode
    # Out:
    reward_out: wp.array[wp.float32],
):
    """How far an object is lifted, how near the tips are and how firmly all touch it, over actions of an episode."""
    world = wp.tid()
    lifted = wp.clamp(wp.float32(rises[world] / height), 0.0, 1.0)
    firm = float(1.0)
    middle = wp.vec3()
    fingers = touch.shape[1] // 3
    for k in range(fingers):
        force = wp.vec3(touch[world, 3 * k], touch[world, 3 * k + 1], touch[world, 3 * k + 2])
        firm = wp.min(firm, wp.length(force) / squeeze)
        middle += wp.vec3(tips[world, 3 * k], tips[world, 3 * k + 1], tips[world, 3 * k + 2]) / float(fingers)
    away = middle - wp.vec3(balls[world, 0], balls[world, 1], balls[world, 2])
    near = wp.max(1.0 - wp.length(away) / far, 0.0)
    reward_out[world] = ((1.0 - 2.0 * share) * lifted + share * (near + firm)) / actions
