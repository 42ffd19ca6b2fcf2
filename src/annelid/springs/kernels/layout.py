"""Types of the kernels for one precision: vectors, and the structures that hold parameters, obstacles and the model."""

from dataclasses import dataclass
from typing import Any

import warp as wp

from annelid.core.kernels.loading import once
from annelid.shapes.kernels.free_bodies import FreeBodies
from annelid.shapes.kernels.geometry import geometry_struct
from annelid.shapes.kernels.moving import Motions
from annelid.shapes.resistive.kernels.stress import resistance

YIELDS, GIVES = range(2)
"""Kinds of sand: that resists by its law alone, and that gives before it yields."""

TORQUE, SPEED, ANGLE = range(3)
"""What a motor follows."""

UNBROKEN = -2
"""The last step in which a spring broke, where none did; -1 is before the first step, where Verlet looks once."""


@dataclass(frozen=True)
class Layout:
    """The types for one precision.

    `real` is the scalar; `Parameters`, `Obstacle`, `Sand`, `Arrays` (the model) and `Work` (scratch) are structures.
    """

    real: Any
    vec2: Any
    vec3: Any
    vec4: Any
    mat33: Any
    Parameters: Any
    Obstacle: Any
    Sand: Any
    Arrays: Any
    Work: Any
    Rule: Any
    Contacts: Any
    Motor: Any
    Drive: Any
    Motors: Any


@once
def layout(real: Any) -> Layout:
    """The types for `wp.float32` or `wp.float64`."""
    bits = 32 if real is wp.float32 else 64
    vec2, vec3, vec4 = (wp.types.vector(length=n, dtype=real) for n in (2, 3, 4))
    mat33 = wp.types.matrix(shape=(3, 3), dtype=real)
    parameters = make_struct(
        f"SpringParameters{bits}",
        dt=wp.float64,  # [s]
        gravity=vec3,  # [m/s²]
        velocity_damping=real,  # [1/s]
        drag=real,  # force per squared speed of one mass [kg/m]
        catching=real,  # part of the way to the length of its spring that a delayed dashpot settles in a step
        settling=real,  # inverse of the time that it needs [1/s]
        obstacle_count=wp.int32,
    )
    obstacle = make_struct(
        f"SpringObstacle{bits}",
        geometry=geometry_struct(real),
        place=vec3,  # [m]
        turn=mat33,  # from the frame of the geometry to the world's
        track=wp.vec2i,  # see `moving.moment_at`; its second number is 0 where it stands still
        body=wp.int32,  # number of the free body that it is, -1: none
        give=real,  # of that: inverse mass [1/kg]
        most=real,  # most speed that an impulse of 1 N s gives any of its points [1/kg]
        share=real,  # of a relative speed that one mass takes away, so that all that touch it take no more than that
        stiffness=real,  # [N/m], or of a kilogram where it is in proportion to the mass
        per_mass=wp.bool,
        dashpot=real,  # damping ratio; where it grows with the depth, what it adds to the push per speed [s/m]
        friction=real,
        sliding_friction=real,
        restitution=real,
        core=real,  # depth that no mass goes below [m]
    )
    sand = _sand(real, vec2, vec3, vec4, bits)
    arrays = make_struct(
        f"SpringArrays{bits}",
        mass_count=wp.int32,
        signal_count=wp.int32,  # of each world
        world_count=wp.int32,
        masses_a_world=wp.int32,
        control_count=wp.int32,  # of each world
        row_of=wp.array[wp.int32],
        rows=wp.array[wp.vec2i],
        fast_counts=wp.array[wp.int32],  # entries at the beginning of each row that take smaller steps
        fast_groups=wp.array[wp.int32],  # groups of masses that have such entries (CPU)
        fast_masses=wp.array[wp.int32],  # masses that have such entries (CUDA)
        stride=wp.int32,
        offsets=wp.array[wp.int32],
        elastic=wp.array[vec2],  # stiffness [N/m], stiffness times rest length [N]
        damping=wp.array[real],  # [N s/m]
        signals=wp.array[wp.int32],  # signal of each entry; 0 is passive
        limits=wp.array[real],  # squared length at which a spring breaks [m²]
        signal_kinds=wp.array[wp.int32],
        signal_parameters=wp.array[wp.vec4d],
        forces=wp.array[vec3],  # external [N]
        guides=wp.array[wp.int32],
        guide_axes=wp.array[vec3],
        obstacles=wp.array[obstacle],
        grid_values=wp.array[wp.float32],  # heights and signed distances of all obstacles [m]
        motions=Motions,  # of obstacles that move
        free=wp.array[FreeBodies],  # one, where obstacles are free; by reference
        weights=wp.array[real],  # masses as built, where obstacles are free [kg]
        sand=wp.array[sand],  # one, where the ground resists; by reference
        parameters=wp.array[parameters],
    )
    rule = _rule(real, bits)
    contacts = _contacts(real, vec3, rule, bits)
    motor, drive = _motor(bits), _drive(bits)
    motors = _motors(motor, drive, bits)
    work = make_struct(
        f"SpringWork{bits}",
        contacts=wp.array[contacts],  # one, where masses touch each other; by reference, it is large
        motors=wp.array[motors],  # one, where there are motors
        clock=wp.array[wp.int64],  # steps done before this batch
        trouble=wp.array[wp.int64],  # first step after which a velocity was not finite, -1 while all are
        hits=wp.array[wp.int64],  # first step after which each watched condition held, -1 while it did not
        broken=wp.array[wp.uint64],  # a bit for each entry of a mass's row that has broken
        breaks=wp.array[wp.int64],  # last step in which a spring broke, UNBROKEN if none did since it was looked at
        factors=wp.array[real],  # on rest lengths, a row of all signals for each moment of a batch
        commands=wp.array[wp.vec4d],  # of controls; see `core.kernels.controls`
        begun=wp.array[wp.int64],  # step at which each world began, where there are several
        parameters=wp.array[wp.float64],  # of worlds, where they differ
        pulls=wp.array[vec3],  # gravity of each world, made of them [m/s²]
        scales=wp.array[vec4],  # its factors on stiffness, damping, friction and mass
        grounds=wp.array[vec3],  # factor on its heights, and how far these are shifted along x and y [m]
        forces=wp.array[vec3],  # of springs (CPU)
        accelerations=wp.array[vec3],  # of the last step (Verlet)
        settled=wp.array2d[real],  # length to which the dashpot of each entry of a mass has settled [m]; 0 before
        x_p=wp.array[vec4],  # states within a step
        v_p=wp.array[vec3],
        v_q=wp.array[vec3],
    )
    forms = (parameters, obstacle, sand, arrays, work, rule, contacts, motor, drive, motors)
    return Layout(real, vec2, vec3, vec4, mat33, *forms)


def _sand(real: Any, vec2: Any, vec3: Any, vec4: Any, bits: int) -> Any:
    """Ground that resists, and the surface of the body that it acts on."""
    return make_struct(
        f"SpringSand{bits}",
        ground=resistance(real).Ground,
        mass_count=wp.int32,  # masses that edits have added have no surface
        facet_count=wp.int32,
        corners=wp.array[wp.vec3i],  # masses of each triangle, outward
        first=wp.array[wp.int32],  # of each mass, where its triangles begin in `facets`
        facets=wp.array[wp.int32],
        outer=wp.array[wp.int32],  # masses that have triangles, in any order
        ends=wp.array[wp.bool],  # whether a triangle is the last of those of a mass that look the same way
        level=real,  # cosine of the angle of repose: faces that look down by more keep hollows; 2 where none do
        stiffness=real,  # stress per way into sand before it yields [N/m³]; 0 where it does not give
        hollows=wp.array[real],  # of a state: how far sand is below corners, or pressed if negative [m]; may be empty
        pushes=wp.array[vec3],  # of a state: force on each mass in the last step [N]; may be empty
        pressing=wp.array[vec4],  # what presses each mass where sand gives: forces, sum of their sizes [N], for passes
        # Where sand stays at its place, `kernels.furrowing`; masses then remember behind the hollows of their world:
        furrow=wp.bool,
        slump=real,  # share of the hollow of a steep face that sand fills
        friction_way=real,  # way over which friction is reached [m]; 0 at once
        steepest=real,  # slope that sand stands at, and friction within it; may be infinite
        masses_a_world=wp.int32,
        corners_a_world=wp.int32,
        slopes=wp.array[vec2],  # of sand below each triangle, for passes; empty where it does not stay
        edges=wp.array[vec4],  # of each triangle, level: those opposite to the first and the second corner [m]
        areas=wp.array[vec3],  # a third of the area of each triangle, along its normal [m²], for passes
        # Of motions that are run back; here by reference, since the parameters of a kernel on CUDA are limited:
        rates=wp.array2d[real],  # by each number of the ground, of each mass
        entries=wp.array2d[vec3],  # by the areas of triangles at each corner, of even and of odd steps
        mates=wp.array[wp.vec3i],  # the three corners of each triangle among these
    )


def _rule(real: Any, bits: int) -> Any:
    """How two groups touch."""
    return make_struct(
        f"SpringRule{bits}",
        stiffness=real,  # [N/m], or 0
        share=real,  # stiffness in units of the pair's reduced mass over the squared time step, or 0
        damping_ratio=real,
        friction=real,
        reach=real,  # distance of centres at which they touch [m]; 0 for the sum of their radii
        itself=wp.int32,  # whether masses of one piece touch each other
    )


def _contacts(real: Any, vec3: Any, rule: Any, bits: int) -> Any:
    """Masses that touch each other: who may touch whom, the grid of cells, and the lists of those that are close.

    A *slot* is a mass that may touch; `masses` are the slots' masses in ascending order.
    """
    return make_struct(
        f"SpringContacts{bits}",
        mass_count=wp.int32,
        slot_count=wp.int32,
        slots_a_world=wp.int32,  # those of a world lie side by side, and touch nobody else
        kind_count=wp.int32,
        cell_count=wp.int32,  # a power of two
        capacity=wp.int32,  # entries that a list has room for
        slot_stride=wp.int32,  # distance of two lists, and of two entries of one list
        entry_stride=wp.int32,
        cell=real,  # edge of a cell [m]
        margin=real,  # how much further than contact the lists reach [m]
        slot_of=wp.array[wp.int32],  # of each mass, -1 for none
        kinds=wp.array[wp.int32],  # of each mass; kind 0 touches nothing
        radii=wp.array[real],  # of each mass [m]
        masses=wp.array[wp.int32],  # of each slot
        pieces=wp.array[wp.int32],  # connected piece of each slot
        apart_first=wp.array[wp.int32],  # of each slot, the masses of its piece that it never touches
        apart=wp.array[wp.int32],
        table=wp.array[wp.int32],  # rule of each pair of kinds, -1 for none
        rules=wp.array[rule],
        built=wp.array[vec3],  # where each slot was when the lists were made [m]
        heads=wp.array[wp.int32],  # first slot in a cell, -1 for none
        nexts=wp.array[wp.int32],  # next slot in the same cell
        counts=wp.array[wp.int32],  # length of each list; above the capacity the grid is searched instead
        lists=wp.array[wp.int32],  # masses close to each slot, ascending
        places=wp.int32,  # pairs whose friction a slot can track
        place_strides=wp.vec2i,  # distance of the places of two slots, and of two places of one slot
        partners=wp.array[wp.int32],  # mass at each place, -1 for none
        slips=wp.array[vec3],  # how far it has been dragged along the surface [m]
        forces=wp.array[vec3],  # on each slot [N], for passes that are launches
        flags=wp.array[wp.int32],  # two stamps of passes after which lists are stale; the longest list
    )


def _motor(bits: int) -> Any:
    """A motor between two sets of masses."""
    return make_struct(
        f"SpringMotor{bits}",
        axle=wp.vec2i,  # two masses on its axis
        rotor=wp.vec2i,  # first and last + 1 of its masses in `members`
        stator=wp.vec2i,
        kind=wp.int32,  # function of time, as for signals
        parameters=wp.vec4d,
        goal=wp.int32,  # whether the function is a TORQUE [N m], a SPEED [rad/s] or an ANGLE [rad]
        limit=wp.float64,  # largest torque [N m]
        built=wp.float64,  # angle between the arms of its sides in the body as built [rad]
        response=wp.float64,  # time in which the error of an angle falls to 1/e [s]
        slowing=wp.float64,  # angular acceleration by which the limit can stop it, estimated [rad/s²]
    )


def _drive(bits: int) -> Any:
    """What a motor does in a pass: the acceleration m (turn x (x - center)) of the masses of one of its sides."""
    return make_struct(f"SpringDrive{bits}", center=wp.vec3d, turn=wp.vec3d)


def _motors(motor: Any, drive: Any, bits: int) -> Any:
    """All motors; side 2 m is the rotor of motor m, side 2 m + 1 its stator."""
    return make_struct(
        f"SpringMotors{bits}",
        mass_count=wp.int32,
        motor_count=wp.int32,
        motors_a_world=wp.int32,
        motors=wp.array[motor],
        members=wp.array[wp.int32],
        arms=wp.array[wp.float64],  # share of each member in a vector that turns with its side
        side_first=wp.array[wp.int32],  # of each mass, the sides that it belongs to
        sides=wp.array[wp.int32],
        drives=wp.array[drive],  # of each side
        torques=wp.array[wp.vec2d],  # of each motor: torque [N m] and relative speed [rad/s] of the last pass
    )


def make_struct(name: str, **members: Any) -> Any:
    """A Warp structure made at run time; its name distinguishes the precisions in generated code."""
    return wp.struct(type(name, (), {"__annotations__": members, "__qualname__": name, "__module__": __name__}))
