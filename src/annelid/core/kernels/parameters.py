"""Parameters of worlds on the device: drawn from distributions, and the pull that a world feels."""

from typing import Any

import warp as wp

wp.set_module_options({"enable_backward": False})

UNIFORM, LOG_UNIFORM, NORMAL, CHOICE = range(4)
"""Kinds of distributions."""

PULL = 6
"""Parameters that every physics with gravity has first: its factor, two slopes, three pushes."""

LAST = 3
"""Parameters that every physics has last: gain and lag of controls, and a factor on the noise of sensors."""


@wp.struct
class Law:
    """How one parameter is drawn."""

    kind: wp.int32
    column: wp.int32
    first: wp.int32  # of its choices
    count: wp.int32
    draws: wp.float64  # until the curriculum has reached its end; 0 without one
    start: wp.vec4d  # two numbers of the distribution, and its limits
    end: wp.vec4d


@wp.kernel(enable_backward=False)
def draw_values(
    mask: wp.array[wp.bool],
    laws: wp.array[Law],
    choices: wp.array[wp.float64],
    width: int,
    seeds: wp.array[wp.int64],
    # State in and out:
    draws: wp.array[wp.int64],
    # State out:
    values_out: wp.array[wp.float64],
):
    """Draw the parameters of some worlds: each time others, by the seed of the world alone; one thread a world."""
    world = wp.tid()
    if not mask[world]:
        return
    drawn = draws[world]
    draws[world] = drawn + wp.int64(1)
    own = wp.rand_init(int(seeds[world]), int(drawn))
    for k in range(laws.shape[0]):
        law = laws[k]
        chance = wp.rand_init(int(own), law.column)
        part = wp.float64(0.0)
        if law.draws > wp.float64(0.0):
            part = wp.min(wp.float64(drawn) / law.draws, wp.float64(1.0))
        shape = law.start + (law.end - law.start) * part
        value = shape[0]
        if law.kind == UNIFORM or law.kind == LOG_UNIFORM:
            value = shape[0] + (shape[1] - shape[0]) * wp.float64(wp.randf(chance))
        if law.kind == LOG_UNIFORM:
            value = wp.exp(value)
        if law.kind == NORMAL:
            value = shape[0] + shape[1] * wp.float64(wp.randn(chance))
        if law.kind == CHOICE:
            value = choices[law.first + wp.min(int(wp.randf(chance) * float(law.count)), law.count - 1)]
        values_out[world * width + law.column] = wp.clamp(value, shape[2], shape[3])


@wp.kernel(enable_backward=False)
def take_seeds(
    mask: wp.array[wp.bool],
    given: wp.array[wp.int32],
    episodes: wp.array[wp.int32],
    # State out:
    seeds_out: wp.array[wp.int64],
    draws_out: wp.array[wp.int64],
):
    """Let some worlds draw what belongs to an episode of a seed."""
    world = wp.tid()
    if mask[world]:
        seeds_out[world] = wp.int64(given[world])
        draws_out[world] = wp.int64(episodes[world])


@wp.kernel(enable_backward=False)
def set_values(
    mask: wp.array[wp.bool],
    given: wp.array2d[wp.float64],
    columns: wp.array[wp.int32],
    width: int,
    # State out:
    values_out: wp.array[wp.float64],
):
    """Give parameters of some worlds values."""
    world, k = wp.tid()
    if mask[world]:
        values_out[world * width + columns[k]] = given[world, k]


@wp.func
def world_pull(gravity: wp.vec3d, values: wp.array[wp.float64], first: int) -> wp.vec3d:
    """What pulls in a world: gravity times its factor, turned as if the ground rose along x and y, and a push.

    Args:
        gravity: Gravity of the model [m/s²].
        values: Parameters of all worlds.
        first: Where those of the world begin.
    """
    g = gravity * values[first]
    cosine, sine = wp.cos(values[first + 1]), wp.sin(values[first + 1])
    g = wp.vec3d(cosine * g[0] + sine * g[2], g[1], cosine * g[2] - sine * g[0])
    cosine, sine = wp.cos(values[first + 2]), wp.sin(values[first + 2])
    g = wp.vec3d(g[0], cosine * g[1] + sine * g[2], cosine * g[2] - sine * g[1])
    return g + wp.vec3d(values[first + 3], values[first + 4], values[first + 5])


@wp.kernel(enable_backward=False)
def scale_rows(
    mask: wp.array[wp.bool],
    rows_a_world: int,
    column: int,
    width: int,
    before: wp.array[wp.float64],
    values: wp.array[wp.float64],
    # State in and out:
    rows: wp.array[Any],
):
    """Divide the last number of each row, an inverse mass, by how much the factor on masses of its world has grown."""
    i = wp.tid()
    world = i // rows_a_world
    if mask[world]:
        row = rows[i]
        at = world * width + column
        row[3] = type(row[3])(wp.float64(row[3]) * before[at] / values[at])
        rows[i] = row


@wp.kernel(enable_backward=False)
def shape_ground(
    vertices: wp.array[wp.vec3],  # of the ground as it was built [m]
    zero: float,  # what its heights are measured from [m]
    column: int,  # of the factor on them; one or two shifts follow
    axes: int,  # number of these
    width: int,  # parameters of a world
    parameters: wp.array[wp.float64],
    # Out:
    vertices_out: wp.array[wp.vec3],
):
    """Where the ground of each world is, world by world."""
    world, k = wp.tid()
    at = world * width + column
    x = vertices[k]
    ahead = wp.float32(parameters[at + 1])
    aside = float(0.0)
    if axes == 2:
        aside = wp.float32(parameters[at + 2])
    height = zero + wp.float32(parameters[at]) * (x[2] - zero)
    vertices_out[world * vertices.shape[0] + k] = wp.vec3(x[0] + ahead, x[1] + aside, height)


# All overloads at once: one that is first needed later would compile this module again.
for _row in (wp.vec4f, wp.vec4d):
    wp.overload(scale_rows, {"rows": wp.array[_row]})
