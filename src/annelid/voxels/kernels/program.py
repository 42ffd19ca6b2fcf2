"""The kernel that takes many steps of many worlds: one group of threads a world, controllers inside.

On CUDA a group is a block, and its working data lie in shared memory where they fit; on the CPU a group is one thread,
and the worlds are dealt out to the threads of a team. No number depends on the size of a group or on other worlds, so a
robot moves to the bit as it would alone.
"""

from dataclasses import dataclass, replace
from typing import Any

import warp as wp

from annelid.control.kernels.brains import brain_act
from annelid.control.kernels.kinds import DISTRIBUTED, FUNCTION, MLP, TABLE, WAVES
from annelid.control.kernels.layout import brain_layout
from annelid.core.kernels.loading import once
from annelid.voxels.kernels.actuation import apply_controls
from annelid.voxels.kernels.bodies import body_move, body_step
from annelid.voxels.kernels.commands import obey_commands
from annelid.voxels.kernels.layout import layout
from annelid.voxels.kernels.links import link_forces
from annelid.voxels.kernels.memory import address, group_barrier, load, shared_block, store
from annelid.voxels.kernels.pairs import pair_contacts
from annelid.voxels.kernels.parameters import vary_world
from annelid.voxels.kernels.sensing import sense, sensor_layout

wp.set_module_options({"enable_backward": False})

_REGISTERS = 96
"""CUDA registers a thread in single precision.

On an H200, 2,500 robots of 11x4 step 11 % faster than with those that the compiler would take (97 to 121), robots that
sense 21 %, and bodies within 10x10 5 % slower: more robots fit beside each other.
"""


@dataclass(frozen=True)
class Features:
    """What a model needs of its kernels; equal features share compiled code.

    Attributes:
        real: Scalar type.
        grounded: There is ground.
        uneven: It has more than one height.
        loaded: Some bodies are pushed from outside.
        forced: Some voxels are actuated by force.
        paired: Worlds hold several robots or objects.
        sensing: Controllers have inputs.
        worked: The work of actuation is summed.
        watched: The extremes of a run are kept (heights, swings, contacts).
        commanded: Some voxels take commands.
        varied: Worlds have parameters of their own.
        kinds: Kinds of controllers.
        functions: The user's controllers.
        quads: Vectors of four numbers that shared memory must hold; 0 leaves everything in place.
    """

    real: Any = wp.float32
    grounded: bool = False
    uneven: bool = False
    loaded: bool = False
    forced: bool = False
    paired: bool = False
    sensing: bool = False
    worked: bool = False
    watched: bool = False
    commanded: bool = False
    varied: bool = False
    kinds: frozenset[int] = frozenset()
    functions: tuple[wp.Function, ...] = ()
    quads: int = 0

    @property
    def shaped(self) -> bool:
        """Whether worlds have ground of their own."""
        return self.varied and self.uneven


@once
def shared_by_teams(features: Features) -> Features:
    """The features that a team of CPU threads is compiled for, so that fewer kernels serve more models.

    To look which kind a controller is of, and whether there are commands or extremes to keep, costs a CPU next to
    nothing and changes no bit; a kernel takes seconds to compile. Work takes as long to compile as all the rest.
    """
    kinds = features.kinds
    if kinds:
        networks = {MLP, DISTRIBUTED} if kinds & {MLP, DISTRIBUTED} else set()
        kinds = frozenset({WAVES, TABLE} | networks | (kinds & {FUNCTION}))
    return replace(features, commanded=True, watched=True, kinds=kinds)


@wp.func
def world_clock(clock: wp.array[wp.int64], origins: wp.array[wp.int64], number: int) -> wp.int64:
    """Steps that a world has done."""
    now = clock[0]
    if origins.shape[0] > 0:
        now -= origins[number]
    return now


@once
def world_run(features: Features) -> wp.Function:
    """Steps of one world by one group of threads."""
    types = layout(features.real)
    real, vec4 = types.real, types.vec4
    bits = 32 if real is wp.float32 else 64
    World, Tables, Motion, Terrain = types.World, types.Tables, types.Motion, types.Terrain
    Sensors, Brains = sensor_layout(real), brain_layout(real).Brains
    paired, sensing, watched, shared = features.paired, features.sensing, features.watched, features.quads > 0
    controlled, extra_links = bool(features.kinds), 10 if features.forced else 6
    varied, shaped = features.varied, features.shaped
    vary = vary_world(types, shaped)
    links_of = link_forces(types, features.forced, varied)
    bodies_of = body_step(types, features.grounded, features.loaded, not paired, varied, shaped)
    move, pairs = body_move(types), pair_contacts(types, varied)
    controls_of, inputs_of = apply_controls(types, features.worked, varied), sense(types, paired, varied, shaped)
    commanded, obey = features.commanded, obey_commands(types, features.worked, varied)
    act = brain_act(real, features.kinds, features.functions, group_barrier)
    place, block = address(vec4), shared_block(bits, features.quads)
    read, write = load(vec4, bits), store(vec4, bits)
    observe = _observer(features)
    size = 4 * bits // 8

    @wp.func
    def control(
        lane: int, width: int, now: wp.int64, number: int, world: World, tables: Tables, terrain: Terrain,
        sensors: Sensors, brains: Brains, motion: Motion,
        positions: wp.uint64, velocities: wp.uint64, lengths: wp.uint64,
    ):  # fmt: skip
        call = now / wp.int64(tables.interval)
        time = wp.float64(now) * tables.dt
        if wp.static(controlled):
            for b in range(world.brain, world.brain + world.brain_count):
                brain = brains.brains[b]
                if wp.static(sensing):
                    inputs_of(
                        lane, width, brain.input, brain.inputs, time, call, world, tables, terrain, motion, sensors,
                        positions, velocities,
                    )  # fmt: skip
                    group_barrier(width)
                act(lane, width, b, time, call, brains, motion.inputs, motion.neurons, motion.signals, motion.controls)
                group_barrier(width)
        controls_of(lane, width, True, now, number, world, tables, motion, positions, lengths)
        group_barrier(width)

    @wp.func
    def run(
        number: int, lane: int, width: int, steps: int, tables: Tables, terrain: Terrain, sensors: Sensors,
        brains: Brains, motion: Motion,
    ):  # fmt: skip
        world = tables.worlds[number]
        stiffer, slower = real(1.0), real(1.0)
        if wp.static(varied):
            world = vary(world, number, tables, motion)
            stiffer, slower = world.scale[0], world.scale[1] / world.scale[0]
        positions = place(motion.positions, world.body)
        velocities = place(motion.velocities, world.body)
        links = place(motion.links, wp.static(extra_links) * world.voxel)
        stiffness = place(motion.stiffness, 4 * world.voxel)
        lengths = place(motion.lengths, world.voxel)
        if wp.static(shared):
            positions = block()
            velocities = positions + wp.uint64(wp.static(size) * world.body_count)
            lengths = velocities + wp.uint64(wp.static(size) * world.body_count)
            stiffness = lengths + wp.uint64(wp.static(size) * world.voxel_count)
            links = stiffness + wp.uint64(wp.static(4 * size) * world.voxel_count)
            for b in range(lane, world.body_count, width):
                write(positions, b, motion.positions[world.body + b])
                write(velocities, b, motion.velocities[world.body + b])
            group_barrier(width)
        begin = world_clock(motion.clock, motion.origins, number)
        controls_of(lane, width, False, begin, number, world, tables, motion, positions, lengths)
        group_barrier(width)
        h = real(tables.dt / wp.float64(world.substeps))
        for step in range(steps):
            now = begin + wp.int64(step)
            if wp.static(commanded):
                if tables.channel_count > 0:
                    clock = motion.clock[0] + wp.int64(step)
                    obey(lane, width, clock, number, world, tables, motion, positions, lengths)
                    group_barrier(width)
            if now % wp.int64(tables.interval) == wp.int64(0):
                control(
                    lane, width, now, number, world, tables, terrain, sensors, brains, motion,
                    positions, velocities, lengths,
                )  # fmt: skip
            for sub in range(world.substeps):
                links_of(
                    lane, width, sub == 0, world.substeps, world.voxel_count, world.shape_voxel, world.shape_material,
                    4 * world.voxel, stiffer, slower, tables.materials, tables.corners, tables.material_of,
                    tables.side_bodies, tables.mass_body, tables.mass_arm, motion.ropes,
                    positions, velocities, links, stiffness, lengths,
                )  # fmt: skip
                group_barrier(width)
                bodies_of(lane, width, now, h, world, tables, terrain, motion, positions, velocities, links)
                group_barrier(width)
                if wp.static(paired):
                    if lane == 0:
                        pairs(h, world, tables, motion, positions, velocities)
                    group_barrier(width)
                    move(lane, width, h, world, positions, velocities)
                    group_barrier(width)
            for b in range(lane, world.body_count, width):
                p, v = read(positions, b), read(velocities, b)
                motion.heights[world.body + b] = motion.heights[world.body + b] + wp.float64(p[1])
                if not wp.isfinite(v[0] + v[1] + v[2]) and motion.trouble[number] < wp.int64(0):
                    motion.trouble[number] = motion.clock[0] + wp.int64(step + 1)
            if wp.static(watched):
                if lane == 0 and tables.watched == 1:
                    observe(number, world, tables, motion, positions)
        if wp.static(shared):
            group_barrier(width)
            for b in range(lane, world.body_count, width):
                motion.positions[world.body + b] = read(positions, b)
                motion.velocities[world.body + b] = read(velocities, b)

    return run


def _observer(features: Features) -> wp.Function:
    """Extremes of a run: highest centre, summed swing of the first object, steps with robot or object on the ground."""
    types = layout(features.real)
    real, vec4 = types.real, types.vec4
    World, Tables, Motion = types.World, types.Tables, types.Motion
    read = load(vec4, 32 if real is wp.float32 else 64)

    @wp.func
    def observe(number: int, world: World, tables: Tables, motion: Motion, positions: wp.uint64):
        height = wp.float64(0.0)
        for i in range(4 * world.voxel_count):
            mass = 4 * world.shape_voxel + i
            p, arm = read(positions, tables.mass_body[mass]), tables.mass_arm[mass]
            height += wp.float64(p[1] + p[3] * arm[0] + p[2] * arm[1])
        height = height / wp.float64(wp.max(4 * world.voxel_count, 1))
        swing, robot, thing = wp.float64(0.0), wp.float64(0.0), wp.float64(0.0)
        for b in range(world.body_count):
            if (motion.touching[world.body + b] & 15) != 0:
                if b < world.object:
                    robot = wp.float64(1.0)
                if b == world.object:
                    thing = wp.float64(1.0)
        if world.object < world.body_count:
            p = read(positions, world.object)
            swing = wp.abs(wp.float64(wp.atan2(p[3], p[2])))
        old = motion.peaks[number]
        motion.peaks[number] = wp.vec4d(wp.max(old[0], height), old[1] + swing, old[2] + robot, old[3] + thing)

    return observe


@once
def world_senses(features: Features) -> wp.Function:
    """Inputs of the controllers of one world by one group of threads, for those that are called from the host."""
    types = layout(features.real)
    Tables, Motion, Terrain = types.Tables, types.Motion, types.Terrain
    Sensors, Brains = sensor_layout(features.real), brain_layout(features.real).Brains
    inputs_of, place = sense(types, features.paired, features.varied, features.shaped), address(types.vec4)
    varied, vary = features.varied, vary_world(types, features.shaped)

    @wp.func
    def read(
        number: int, lane: int, width: int, steps: int, tables: Tables, terrain: Terrain, sensors: Sensors,
        brains: Brains, motion: Motion,
    ):  # fmt: skip
        world = tables.worlds[number]
        if wp.static(varied):
            world = vary(world, number, tables, motion)
        now = world_clock(motion.clock, motion.origins, number)
        for b in range(world.brain, world.brain + world.brain_count):
            brain = brains.brains[b]
            inputs_of(
                lane, width, brain.input, brain.inputs, wp.float64(now) * tables.dt,
                now / wp.int64(tables.interval), world, tables, terrain, motion, sensors,
                place(motion.positions, world.body), place(motion.velocities, world.body),
            )  # fmt: skip

    return read


@once
def team_kernel(features: Features, sensing_only: bool) -> wp.Kernel:
    """Many steps on a team of CPU threads, to which the worlds are dealt in turn; or a reading of all sensors."""
    types = layout(features.real)
    Tables, Motion, Terrain = types.Tables, types.Motion, types.Terrain
    Sensors, Brains = sensor_layout(features.real), brain_layout(features.real).Brains
    run = world_senses(features) if sensing_only else world_run(features)

    @wp.kernel(module="unique", enable_backward=False)
    def team(
        rank: int,
        size: int,
        counter: wp.array[wp.int32],
        steps: int,
        tables: Tables,
        terrain: Terrain,
        sensors: Sensors,
        brains: Brains,
        motion: Motion,
    ):
        for number in range(rank, tables.worlds.shape[0], size):
            run(number, 0, 1, steps, tables, terrain, sensors, brains, motion)

    return team


@once
def block_kernel(features: Features, sensing_only: bool) -> wp.Kernel:
    """Many steps on CUDA, `width` threads a world; or a reading of all sensors."""
    types = layout(features.real)
    Tables, Motion, Terrain = types.Tables, types.Motion, types.Terrain
    Sensors, Brains = sensor_layout(features.real), brain_layout(features.real).Brains
    run = world_senses(features) if sensing_only else world_run(features)
    registers = _REGISTERS if features.real is wp.float32 and not sensing_only else None

    @wp.kernel(module="unique", enable_backward=False, grid_stride=False, cuda_max_registers=registers)
    def blocks(
        width: int,
        steps: int,
        tables: Tables,
        terrain: Terrain,
        sensors: Sensors,
        brains: Brains,
        motion: Motion,
    ):
        number = wp.tid() // width
        if number < tables.worlds.shape[0]:
            run(number, wp.tid() - number * width, width, steps, tables, terrain, sensors, brains, motion)

    return blocks
