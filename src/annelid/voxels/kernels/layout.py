"""Types of the voxel kernels: the tables of a model and the state, in one structure each, for each precision."""

from dataclasses import dataclass
from typing import Any

import warp as wp

from annelid.core.kernels.loading import once

wp.set_module_options({"enable_backward": False})

MOST_SUBSTEPS = 46340
"""Of a step; its square, which ropes need, is the largest of 32 bits."""

MATERIAL_STRIDE = 32
"""Numbers a material has in its table; the names below are columns."""
M_SOFT = 0  # 2/m: inverse mass of a pair of masses [1/kg]
M_SPIN = 1  # 1/I [1/(kg m²)]
M_OMEGA2 = 2  # square of the angular frequency [1/s²]
M_BETA = 3  # damping time [s]
M_MASK = 4  # four lanes: 1 where the springs E, I, X, X exist
M_CENTRAL = 8  # stiffness of a central spring [N/m]
M_ROPE = 9  # length at which a rope acts [m]
M_ROPE_SIGN = 10  # 1: lower limit, -1: upper limit, 0: no ropes
M_ROPE_K = 11  # stiffness of a rope [N/m], for each of the substeps
M_ROPE_C = 12  # damping of a rope [N s/m]
M_LENGTHS = 13  # rest lengths [m] shrunk (3), at rest (3), enlarged (3)
M_LINEAR = 22  # 1: rest lengths linear in the control value; 0: area linear
M_SIDE = 23  # side of the voxel [m]
M_MASS_SIDE = 24  # side of a mass [m]
M_AREA = 25  # largest relative change of the area
M_FORCE = 26  # largest force [N]; 0 unless actuated by force

CORNER_STRIDE = 64
"""Numbers of a material's table of corners: four sides of 16 (four lanes of ax, ay, bx, by)."""


@dataclass(frozen=True)
class Layout:
    """The types for one precision."""

    real: Any
    vec2: Any
    vec3: Any
    vec4: Any
    vec8: Any
    World: Any
    Tables: Any
    Motion: Any
    Terrain: Any


@once
def layout(real: Any) -> Layout:
    """The types for `wp.float32` or `wp.float64`."""
    bits = 32 if real is wp.float32 else 64
    vec2, vec3, vec4, vec8 = (wp.types.vector(length=n, dtype=real) for n in (2, 3, 4, 8))
    world = _struct(
        f"VoxelWorld{bits}",
        body=wp.int32,  # first body of the world in the state
        body_count=wp.int32,
        voxel=wp.int32,
        voxel_count=wp.int32,
        shape_body=wp.int32,  # first body of its shape in the tables
        shape_voxel=wp.int32,
        shape_material=wp.int32,  # first material
        substeps=wp.int32,
        brain=wp.int32,  # first brain
        brain_count=wp.int32,
        object=wp.int32,  # first body that is no robot's
        pull=vec2,  # gravity of a world with parameters of its own [m/s²]; set when it is stepped, as are the next
        scale=vec4,  # its factors on stiffness, damping, friction and mass
        noise=real,  # its factor on the noise of sensors
        ground=vec2,  # its factor on heights, and how far its ground is shifted [m]
    )
    tables = _struct(
        f"VoxelTables{bits}",
        worlds=wp.array[world],
        materials=wp.array[real],
        corners=wp.array[real],  # lanes of corners about the centre of their mass [m]
        material_of=wp.array[wp.int32],  # of each voxel of a shape, within the shape
        side_bodies=wp.array[wp.vec2i],
        mass_body=wp.array[wp.int32],  # 4 a voxel
        mass_arm=wp.array[vec2],  # 4 a voxel: centre of the mass about the centre of its body [m]
        body_constants=wp.array[vec4],  # inverse mass, inverse inertia, linear and angular damping
        body_surface=wp.array[vec4],  # radius, friction, restitution, compound
        body_box=wp.array[vec4],  # centre and half sides of the box of a body [m]
        body_quadrants=wp.array[wp.int32],  # bits of the corners of the box that are filled
        entry_begin=wp.array[wp.int32],  # per body: first of its links
        entries=wp.array[wp.int32],  # 2 link + end
        point_begin=wp.array[wp.int32],  # per body: first of its contact points
        points=wp.array[vec2],  # [m]
        point_bits=wp.array[wp.int32],  # bit of the mass that a point belongs to
        loads=wp.array[vec4],  # per body of the state: force [N] and its moments with the body turned
        load_end=wp.array[wp.int64],  # per body of the state: step at which the load ends
        gravity=vec2,  # [m/s²]
        dt=wp.float64,  # [s]
        channel_of=wp.array[wp.int32],  # per voxel of a world: its channel, -1 where it takes no commands
        channel_count=wp.int32,  # of a world
        interval=wp.int32,  # steps from one call of the controllers to the next
        watched=wp.int32,  # 1 where the extremes of a run are kept
    )
    motion = _struct(
        f"VoxelMotion{bits}",
        positions=wp.array[vec4],
        velocities=wp.array[vec4],
        touching=wp.array[wp.int32],
        ropes=wp.array[real],
        controls=wp.array[real],
        commands=wp.array[wp.vec4d],  # of controls; see `core.kernels.controls`
        heights=wp.array[wp.float64],
        efforts=wp.array[wp.vec2d],
        peaks=wp.array[wp.vec4d],
        parameters=wp.array[wp.float64],  # of worlds, where they differ
        history=wp.array[real],
        signals=wp.array[real],
        clock=wp.array[wp.int64],
        origins=wp.array[wp.int64],  # step at which each world began, where worlds begin at different times
        links=wp.array[vec4],  # scratch: forces of the links
        stiffness=wp.array[vec4],  # scratch: stiffness of the four springs of a side
        lengths=wp.array[vec4],  # scratch: rest lengths of a voxel, force
        inputs=wp.array[real],  # scratch: inputs of the controllers
        neurons=wp.array[real],  # scratch: activations
        trouble=wp.array[wp.int64],  # per world: first step whose result is not finite, -1 while all are
        faults=wp.array[wp.vec2i],  # per world: voxel whose control value was not a number, and its step
    )
    terrain = _struct(
        f"VoxelTerrain{bits}",
        xs=wp.array[real],
        ys=wp.array[real],
        pieces=wp.array[vec4],  # left end and normal of each piece
        starts=wp.array[wp.int32],  # per bucket: segment at its left end
        tops=wp.array[real],  # per bucket: highest point within a bucket of it
        left=real,
        density=real,  # buckets a metre
        friction=real,
        restitution=real,
        count=wp.int32,  # points; 0 where there is no ground
    )
    return Layout(real, vec2, vec3, vec4, vec8, world, tables, motion, terrain)


def _struct(name: str, **members: Any) -> Any:
    """A Warp structure made at run time; its name distinguishes the precisions in generated code."""
    return wp.struct(type(name, (), {"__annotations__": members, "__qualname__": name, "__module__": __name__}))
