"""Types of the kernels for one precision: vectors, and the structures that hold parameters, obstacles and the model."""

import functools
from dataclasses import dataclass
from typing import Any

import warp as wp

PLANE, BALL = 0, 1


@dataclass(frozen=True)
class Layout:
    """The types for one precision.

    `real` is the scalar; `Parameters`, `Obstacle`, `Arrays` (the model) and `Work` (scratch) are Warp structures.
    """

    real: Any
    vec2: Any
    vec3: Any
    vec4: Any
    Parameters: Any
    Obstacle: Any
    Arrays: Any
    Work: Any


@functools.cache
def layout(real: Any) -> Layout:
    """The types for `wp.float32` or `wp.float64`."""
    bits = 32 if real is wp.float32 else 64
    vec2, vec3, vec4 = (wp.types.vector(length=n, dtype=real) for n in (2, 3, 4))
    parameters = _struct(
        f"SpringParameters{bits}",
        time_step=wp.float64,  # [s]
        gravity=vec3,  # [m/s²]
        velocity_damping=real,  # [1/s]
        drag=real,  # force per squared speed of one mass [kg/m]
        obstacle_count=wp.int32,
    )
    obstacle = _struct(
        f"SpringObstacle{bits}",
        kind=wp.int32,  # PLANE or BALL
        place=vec3,  # unit normal, or centre [m]
        size=real,  # distance of the plane from the origin along its normal, or radius [m]
        stiffness=real,  # [N/m]
        damping_ratio=real,
        static_friction=real,
        kinetic_friction=real,
    )
    arrays = _struct(
        f"SpringArrays{bits}",
        mass_count=wp.int32,
        signal_count=wp.int32,
        row_of=wp.array(dtype=wp.int32),
        rows=wp.array(dtype=wp.vec2i),
        fast_counts=wp.array(dtype=wp.int32),  # entries at the beginning of each row that take smaller steps
        fast_groups=wp.array(dtype=wp.int32),  # groups of masses that have such entries (CPU)
        fast_masses=wp.array(dtype=wp.int32),  # masses that have such entries (CUDA)
        stride=wp.int32,
        offsets=wp.array(dtype=wp.int32),
        elastic=wp.array(dtype=vec2),  # stiffness [N/m], stiffness times rest length [N]
        damping=wp.array(dtype=real),  # [N s/m]
        signals=wp.array(dtype=wp.int32),  # signal of each entry; 0 is passive
        limits=wp.array(dtype=real),  # squared length at which a spring breaks [m²]
        signal_kinds=wp.array(dtype=wp.int32),
        signal_parameters=wp.array(dtype=wp.vec4d),
        forces=wp.array(dtype=vec3),  # external [N]
        guides=wp.array(dtype=wp.int32),
        guide_axes=wp.array(dtype=vec3),
        obstacles=wp.array(dtype=obstacle),
        parameters=wp.array(dtype=parameters),
    )
    work = _struct(
        f"SpringWork{bits}",
        clock=wp.array(dtype=wp.int64),  # steps done before this batch
        trouble=wp.array(dtype=wp.int64),  # first step after which a velocity was not finite, -1 while all are
        hits=wp.array(dtype=wp.int64),  # first step after which each watched condition held, -1 while it did not
        broken=wp.array(dtype=wp.uint64),  # a bit for each entry of a mass's row that has broken
        breaks=wp.array(dtype=wp.int64),  # last step in which a spring broke, -1 if none did since it was looked at
        factors=wp.array(dtype=real),  # on rest lengths, a row of all signals for each moment of a batch
        forces=wp.array(dtype=vec3),  # of springs (CPU)
        sum_x=wp.array(dtype=vec3),  # weighted velocities of the stages of a step
        sum_v=wp.array(dtype=vec3),  # weighted accelerations, or the last acceleration (Verlet)
        x_p=wp.array(dtype=vec4),
        v_p=wp.array(dtype=vec3),
        x_q=wp.array(dtype=vec4),
        v_q=wp.array(dtype=vec3),
    )
    return Layout(real, vec2, vec3, vec4, parameters, obstacle, arrays, work)


def _struct(name: str, **members: Any) -> Any:
    """A Warp structure made at run time; its name tells the precisions apart in generated code."""
    return wp.struct(type(name, (), {"__annotations__": members, "__qualname__": name, "__module__": __name__}))
