"""Structures of a motion that is run there and back: what it keeps, and the rates that are gathered on the way back."""

from typing import Any

import warp as wp

from annelid.core.kernels.loading import once
from annelid.voxels3d.kernels.layout import layout

wp.set_module_options({"enable_backward": False})

STILL, COMMANDED, WAVING = range(3)
"""What changes the size of a voxel: nothing, the table of commands, or its wave."""


@once
def course_of(real: Any) -> Any:
    """The structure that holds kept states, checkpoints and what actuates voxels."""
    types = layout(real)
    return _struct(
        f"SpaceCourse{_bits(real)}",
        us=wp.array2d[types.vec3],  # states of a stretch: displacements [m]
        qs=wp.array2d[types.quat],  # rotations
        vs=wp.array2d[types.vec3],  # velocities [m/s]
        ws=wp.array2d[types.vec3],  # spins [rad/s]
        heads=wp.array2d[types.vec3],  # velocities that voxels would have after each step without friction [m/s]
        table=wp.array2d[real],  # commands of intervals and voxels
        interval=wp.int32,  # steps of an interval
        drives=wp.array[wp.int32],  # what changes the size of a voxel: see `STILL`
        actuated=wp.int32,  # 1 where the size of some voxel changes
        waves=wp.array[wp.vec4d],  # change of size, frequency [Hz], phase [cycles], time to grow [s]
        gravity=wp.array[types.vec3],  # of each world [m/s²]
    )


@once
def ledger_of(real: Any) -> Any:
    """The structure that holds rates of a loss: by the state, by forces, by what actuates voxels."""
    types = layout(real)
    return _struct(
        f"SpaceLedger{_bits(real)}",
        u_bars=wp.array[types.vec3],  # rates by the state, without what the links of the last reverse step owe
        q_bars=wp.array[types.vec3],  # by small turns about the axes of the world
        v_bars=wp.array[types.vec3],
        w_bars=wp.array[types.vec3],
        size_bars=wp.array[real],
        force_bars=wp.array[types.vec3],  # rates by the force and the moment on a voxel
        moment_bars=wp.array[types.vec3],
        sizes=wp.array[real],  # of voxels in the step
        own=wp.array2d[types.vec3],  # what a voxel's own links owe it: by u, q, v and w, shape [4, voxels]
        own_sizes=wp.array[real],
        ends=wp.array2d[types.vec3],  # what links owe the voxel at their other end, shape [4, 3 a voxel]
        end_sizes=wp.array[real],
        by_table=wp.array2d[real],  # rates by commands of intervals and voxels
        by_waves=wp.array[wp.vec3d],  # rates by change of size, frequency and phase
        by_gravity=wp.array[types.vec3],  # of voxels, summed over worlds by the host
        by_links=wp.array[real],  # rates by logarithms of the moduli of links, 3 a voxel; empty where nobody asks
        by_moduli=wp.array[real],  # the same of voxels, where contacts and drag depend on them
    )


@once
def sight_of(real: Any) -> Any:
    """The structure that says which states the loss sees, and the rates by them."""
    types = layout(real)
    return _struct(
        f"SpaceSight{_bits(real)}",
        rows=wp.array[wp.int32],  # place among the looks of the state after so many steps, -1 for none
        position_seeds=wp.array2d[types.vec3],  # rates of the loss by what is looked at, of each voxel
        velocity_seeds=wp.array2d[types.vec3],
    )


def _bits(real: Any) -> int:
    return 32 if real is wp.float32 else 64


def _struct(name: str, **members: Any) -> Any:
    return wp.struct(type(name, (), {"__annotations__": members, "__qualname__": name, "__module__": __name__}))
