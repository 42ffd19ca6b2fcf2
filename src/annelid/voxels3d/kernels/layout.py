"""Types of the kernels of 3-D voxels: constants of links and voxels, the tables of a model and the state."""

from dataclasses import dataclass
from typing import Any

import warp as wp

from annelid.core.kernels.loading import once
from annelid.shapes.kernels.free_bodies import FreeBodies
from annelid.shapes.kernels.geometry import geometry_struct
from annelid.shapes.kernels.moving import Motions
from annelid.shapes.resistive.kernels.stress import resistance

wp.set_module_options({"enable_backward": False})

LISTED = 16
"""Voxels in the list of those whom a voxel may touch."""


@dataclass(frozen=True)
class Layout:
    """The types for one precision."""

    real: Any
    vec3: Any
    quat: Any
    Link: Any
    Voxel: Any
    Obstacle: Any
    Tables: Any
    Motion: Any


@once
def layout(real: Any) -> Layout:
    """The types for `wp.float32` or `wp.float64`."""
    bits = 32 if real is wp.float32 else 64
    vec3, quat = wp.types.vector(length=3, dtype=real), wp.types.quaternion(real)
    link = _struct(
        f"SpaceLink{bits}",
        side=real,  # s, of the lattice [m]
        axial=real,  # E s² [N]: force per strain
        shear=real,  # E s² [N]: force per angle of shear
        arm=real,  # E s³/2 [N m]: moment of either end per angle of shear
        bend=real,  # E s³/12 [N m]
        twist=real,  # E s³/(12 (1 + ν)) [N m]
        damp=real,  # c √(E s) [N s/m], c = ζ √m
        damp_shear=real,  # c √(E s) s [N s]
        damp_arm=real,  # moment of either end per rate of shear [N m s]
        damp_bend=real,  # c √(E s) s²/24 [N m s]
        damp_twist=real,  # c √(E s) s²/(2 √(72 (1 + ν))) [N m s]
        poisson=real,  # ν
        hat=real,  # Ê = E/((1 + ν)(1 − 2ν)) [Pa]
        modulus=real,  # E [Pa]
        first_share=real,  # of the strain of the link that its first voxel has; the second has what is left of 2
        fails=real,  # strain beyond which it carries nothing
        curve=wp.int32,  # first point of the curve beyond the elastic range
        points=wp.int32,  # number of points; 0: linear
        remembers=wp.int32,  # 1 where the largest strain counts
    )
    voxel = _struct(
        f"SpaceVoxel{bits}",
        side=real,  # [m]
        per_mass=real,  # 1/m [1/kg]
        per_inertia=real,  # 1/I [1/(kg m²)]
        mass=real,  # [kg]
        drag=real,  # 2 ζ √(m E s) [N s/m]
        spin_drag=real,  # 2 ζ √(I E s³) [N m s]
        press=real,  # 2 E s: force per depth of contact [N/m]
        press_damp=real,  # 2 ζ √(m E s) of contacts [N s/m]
        holds=real,  # static friction, see `shapes.surface`
        rubs=real,  # kinetic friction
        poisson=real,
    )
    obstacle = _struct(
        f"SpaceObstacle{bits}",
        geometry=geometry_struct(wp.float64),
        place=wp.vec3d,  # [m]
        turn=wp.mat33d,  # from the frame of the geometry to the world's
        track=wp.vec2i,  # see `moving.moment_at`; its second number is 0 where it stands still
        body=wp.int32,  # number of the free body that it is
        give=real,  # of that: inverse mass [1/kg]
        most=real,  # most speed that an impulse of 1 N s gives any of its points [1/kg]
        holds=real,  # frictions, likewise
        rubs=real,
        press=real,  # stiffness [N/m]; negative: that of the voxel
        core=wp.float64,  # depth below the surface that no centre of a voxel goes beyond [m]
    )
    tables = _struct(
        f"SpaceTables{bits}",
        links=wp.array[link],
        voxels=wp.array[voxel],
        row_of_link=wp.array[wp.int32],  # 3 a voxel: its links along +x, +y, +z; -1: none
        next=wp.array[wp.int32],  # 3 a voxel: the voxel at the other end
        before=wp.array[
            wp.int32
        ],  # 3 a voxel: the voxel whose link along + leads here; the last of all where none does
        row_of_voxel=wp.array[wp.int32],
        world_of=wp.array[wp.int32],
        begins=wp.array[wp.int32],  # first voxel of each world, and their number
        places=wp.array[wp.vec3d],  # where voxels were built [m]
        sides=wp.array[wp.float64],  # of the lattice of voxels [m]
        bases=wp.array[real],  # size of voxels, before they are actuated, as a factor
        waves=wp.array[wp.vec4d],  # change of size, frequency [Hz], phase [cycles], time to grow [s]
        crests=wp.array[real],  # highest value of the sine: 0 where waves only cool, else 1
        channels=wp.array[wp.int32],  # channel that a voxel obeys, -1: none
        channel_count=wp.int32,
        loaded=wp.array[wp.int32],  # bits of axes along which a voxel is held or pulled from outside
        ties=wp.array[wp.int32],  # what holds a voxel, -1: nothing
        tie_bits=wp.array[wp.int32],  # freedoms: x, y, z, about x, y, z
        tie_moves=wp.array[wp.vec3d],  # prescribed displacement [m]
        tie_turns=wp.array[wp.vec3d],  # prescribed rotation [rad]
        tie_spans=wp.array[wp.vec2d],  # begin and duration of the motion [s]
        load_begins=wp.array[wp.int32],  # per voxel: first of its loads
        load_forces=wp.array[wp.vec3d],  # [N]
        load_moments=wp.array[wp.vec3d],  # [N m]
        load_spans=wp.array[wp.vec3d],  # begin, duration of the rise, end [s]
        curve_strains=wp.array[real],
        curve_stresses=wp.array[real],  # [Pa]
        obstacles=wp.array[obstacle],
        motions=Motions,  # of obstacles that move
        free=wp.array[FreeBodies],  # one, where obstacles are free; by reference
        softer=wp.array[real],  # of each free body of each world: factor on the stiffness of voxels, for it moves too
        grid_values=wp.array[wp.float32],  # heights and signed distances of all obstacles [m]
        bond_begins=wp.array[wp.int32],  # per voxel: first of its bonds
        bond_numbers=wp.array[wp.int32],
        bond_ends=wp.array[wp.vec2i],
        bond_rows=wp.array[wp.int32],  # their constants among those of links
        bond_turns=wp.array[quat],  # from the second voxel back to the first, at rest
        bond_axes=wp.array[vec3],  # from the first voxel to the second, in its frame
        bond_born=wp.array[wp.int64],  # step at which they were made
        bond_rise=wp.array[wp.float64],  # time in which they grow [s]
        bonded=wp.int32,  # 1 where there are bonds
        skin=wp.array[wp.int32],  # 1 where a voxel has a face without a link, and may touch others
        near_begins=wp.array[wp.int32],  # per voxel: first of those that few links lead to
        near_counts=wp.array[wp.int32],
        near=wp.array[wp.int32],  # their numbers less that of the voxel, rising
        reach=wp.float64,  # how far lists of whom a voxel may touch reach, and side of the cells [m]
        margin=wp.float64,  # how far voxels may move before lists are made anew [m]
        touching=wp.int32,  # 1 where voxels touch each other
        field_begins=wp.array[wp.int32],  # formulas of the force along x, y and z; empty: none
        field_codes=wp.array[wp.int32],
        field_numbers=wp.array[wp.float64],
        faces=wp.array[wp.int32],  # bits of open faces: +x, -x, +y, -y, +z, -z; empty without a fluid and sand
        fluid=real,  # density of what voxels move in, times the coefficient of drag [kg/m³]
        sand=wp.array[resistance(real).Ground],  # ground that resists: one or none
        gravity=vec3,  # [m/s²]
        dt=wp.float64,  # [s]
        balanced=wp.int32,
        volumetric=wp.int32,  # 1 where some material has a Poisson's ratio
        special=wp.int32,  # 1 where some link has a Poisson's ratio, flows or breaks
        actuated=wp.int32,  # 1 where sizes of voxels change with time
        pushed=wp.int32,  # 1 where something is held or loaded
    )
    motion = _struct(
        f"SpaceMotion{bits}",
        displacements=wp.array[vec3],
        rotations=wp.array[quat],
        velocities=wp.array[vec3],
        spins=wp.array[vec3],
        stuck=wp.array[wp.int32],
        strains=wp.array[vec3],
        largest=wp.array[real],
        offsets=wp.array[real],
        commands=wp.array[wp.vec4d],
        origins=wp.array[wp.int64],
        clock=wp.array[wp.int64],
        sizes=wp.array[real],  # scratch: size of voxels in this step, as a factor
        forces=wp.array[vec3],  # scratch: sum over a voxel's own links
        moments=wp.array[vec3],
        end_forces=wp.array[vec3],  # scratch: 3 a voxel, what its links do to their other ends
        end_moments=wp.array[vec3],
        tensions=wp.array[real],  # scratch: 3 a voxel, tensions of links [N], of plain ones `PLAIN`
        stretches=wp.array[real],  # scratch: 3 a voxel, strains of its links
        anchors=wp.array[wp.vec3d],  # scratch: where surface voxels were when lists were made [m]
        heads=wp.array[wp.int32],  # scratch: first voxel of a cell, -1: none
        chain=wp.array[wp.int32],  # scratch: next voxel of the same cell, -1: none
        partners=wp.array[wp.int32],  # scratch: `LISTED` a voxel, those whom it may touch
        moved=wp.array[wp.int32],  # scratch: per world, 1 where lists have to be made anew
        trouble=wp.array[wp.int64],  # per world: first step whose result is not finite, -1 while all are
    )
    return Layout(real, vec3, quat, link, voxel, obstacle, tables, motion)


def _struct(name: str, **members: Any) -> Any:
    """A Warp structure made at run time; its name distinguishes the precisions in generated code."""
    return wp.struct(type(name, (), {"__annotations__": members, "__qualname__": name, "__module__": __name__}))
