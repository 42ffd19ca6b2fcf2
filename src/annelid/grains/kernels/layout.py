"""Types of the kernels: which features are compiled, and the structures of parameters, grains, lists and bodies."""

from dataclasses import dataclass, replace

import warp as wp

from annelid.core.kernels.loading import once
from annelid.grains.kernels.sums import ContactSum
from annelid.shapes.kernels.gaps import BOX, CAPSULE, CYLINDER, PLANE, SPHERE
from annelid.shapes.kernels.geometry import geometry_struct

wp.set_module_options({"enable_backward": False})

SIMPLE = (PLANE, SPHERE, BOX, CYLINDER, CAPSULE)
"""Kinds of geometries that compile quickly."""

Geometry = geometry_struct(wp.float32)

FIXED, DRIVEN, FREE = range(3)
"""How bodies move: not at all, as they are told, or as forces make them."""

STALE, OVERFLOW, BODY_OVERFLOW, HALTED, TOO_FAST, BUILDS, DONE = range(7)
BODY_TOO_FAST = 2  # as TOO_FAST, of a body; it is 1 of a grain
"""Places in `Lists.flags`.

Whether lists must be made anew; the longest list that did not fit; the same for bodies; whether steps are skipped until
the host has looked; whether a grain moved by more than its radius in a step; how often lists were made; steps of this
batch that were done.
"""

FLAGS = 7
"""After so many, each world has a place that tells whether its lists are stale: worlds do not age together."""

LIMIT, RESIDUAL, CHANGES = range(3)
"""Places in `Lists.reach`.

The speed at which lists are made anew [m/s]; largest change of the relative velocity at a contact in the last sweep of
a batch [m/s], and the same in three sweeps by turns: the one under way, the one before, and the one to come, which is
made ready.
"""

REACHES = 5

MARGIN, FASTEST, SKIN = range(3)
"""Places of a world in `Lists.reach`, after `REACHES`, see `reach_place`.

How far from contact a pair is looked at [m]; largest speed while lists are made [m/s]; how much further than needed
they reach [m], which another device may want otherwise.
"""

WORLD_REACHES = 3

APPROACH = 2.2
"""Fastest approach that lists allow for, in largest speeds: two grains that meet head-on, and a tenth more."""

FASTER = 1.25
"""Largest speed that lists are made for, in the largest one there is: what falls would ask for new ones each step."""

GROUP = 4
"""Neighbours that lie together in memory: what a CPU core takes at a time."""


def contact_horizon(hard: bool) -> float:
    """How many steps ahead contacts are counted.

    A contact that begins during a step was up to two steps away at the step before. Hard ones must be counted by then,
    or each of several would take the whole mass; soft ones of a bed need not, and settle sooner if they are fewer.
    """
    return 2.05 if hard else 1.5


ALL, INTERIOR, NEAR_BOUNDARY = range(3)
"""Rows that a sweep takes (CUDA): all of them, those with no guest in their lists, or guests and those beside them."""

UNKNOWN = 6.0
"""Contacts that a grain is taken to have where none were counted, before the first of several sweeps of a step."""

IMPACT = 1024
"""What the number of contacts of a grain grows by for each part of one that shares its mass in the next impacts."""

FINEST_IMPACT = 1.0 / 16.0
"""Such a part: contacts beside the middle of a disc or rod count less than 1."""

ROLLING_SHARE = 2.0 / 7.0
"""Share of a turning that rolling resistance stops in a sweep. Friction stops the same turning: both at full strength
overshoot by 1.85, beyond the 4/3 up to which impulses that are kept settle, and together with this share by 1.22."""


@dataclass(frozen=True)
class Features:
    """What the kernels of a model do; those of a plain bed of equal spheres pay for nothing else.

    Attributes:
        method: "nonsmooth", "paper" or "hertz".
        sizes: Grains differ in radius or density.
        materials: Grains differ in friction, restitution, rolling resistance or cohesion, or guests do; that all guests
            differ from all grains is `Parameters.guest_surface`.
        bouncing: Some restitution is not 0.
        rolling: Some rolling resistance is not 0.
        cohesive: Some cohesion is not 0.
        periodic: Whether x, y and z are periodic.
        kinds: Kinds of surfaces of the bodies, ascending.
        tracked: There are bodies other than walls: forces on them are summed.
        commanded: Some body follows controls.
        free: Some body is free.
        points: Bodies touch each other.
        tolerant: Sweeps end at a residual, not after a fixed number.
        converging: Sweeps go on, faster than plain ones, until a step is solved; see `kernels.converge`.
        guests: Some grains are moved by someone else, who is told what pushes them.
        worlds: Several worlds lie side by side; each makes its lists when it must, so that it moves as it would alone.
        varied: Worlds differ in parameters, `Parameters.varied`.
    """

    method: str = "nonsmooth"
    sizes: bool = False
    materials: bool = False
    bouncing: bool = False
    rolling: bool = False
    cohesive: bool = False
    periodic: tuple[bool, bool, bool] = (False, False, False)
    kinds: tuple[int, ...] = ()
    tracked: bool = False
    commanded: bool = False
    free: bool = False
    points: bool = False
    tolerant: bool = False
    converging: bool = False
    guests: bool = False
    worlds: bool = False
    varied: bool = False

    @property
    def judged_by_bodies(self) -> bool:
        """Whether a step that converges is solved once sweeps change nothing where grains touch bodies that move.

        Grains alone take one sweep a step. Where one of them falls onto others no body needs to know of it, and in a
        large bed some always do.
        """
        return self.converging and (self.free or self.guests)

    @property
    def allowing(self) -> bool:
        """Whether a team tells each row how far it may move before lists are made anew; CUDA does beside guests."""
        return self.guests or self.free

    @property
    def keeps_rolling(self) -> bool:
        """Whether lists keep a second vector: of rolling resistance, or of the drag along a body."""
        return self.rolling or self.method == "hertz"


@once
def shared_by_teams(features: Features) -> Features:
    """The features that a team of CPU threads is compiled for, so that fewer kernels serve more models.

    To look up the world of a grain, to choose among the simple surfaces and to ask whether a body follows controls cost
    a CPU about one part in a hundred, and change no bit; a kernel takes seconds to compile. Grids of distances are the
    surface that takes longest.
    """
    simple = SIMPLE if set(features.kinds) - {PLANE} else ()
    kinds = (*simple, *(kind for kind in features.kinds if kind not in simple))
    return replace(features, worlds=True, kinds=kinds, commanded=features.commanded or features.tracked)


@wp.struct
class Varied:
    """What is a world's own where worlds differ in parameters."""

    pull: wp.vec3  # in place of gravity [m/s²]
    friction: wp.float32  # factors on what grains have
    restitution: wp.float32
    cohesion: wp.float32
    lightness: wp.float32  # on their inverse masses
    skin_friction: wp.float32  # and on the friction of guests


@wp.struct
class Parameters:
    count: wp.int32  # grains
    dt: wp.float32  # [s]
    gravity: wp.vec3  # [m/s²]
    correction: wp.float32  # share of an overlap that a step removes
    softness: wp.float32
    near: wp.float32  # gap, in radii, below which a contact counts
    skin: wp.float32  # how much further than needed lists reach [m]
    widest_skin: wp.float32  # the same where grains are fast: lists that are made often cost more than long ones [m]
    body_skin: wp.float32  # how far a body may move beyond what lists lead it by [m]
    calm_skin: wp.float32  # how far grains that lie may move before lists are made anew, see `kernels.allowances` [m]
    fast_skin: wp.float32  # and grains at most that are fast when they are made [m]
    guest_skin: wp.float32  # and guests [m]
    wider: wp.float32  # by how much cells are wider for their sake [m]
    patience: wp.float32  # steps that may pass before stale lists are made anew, less one
    radius: wp.float32  # of equal grains, or the largest [m]
    smallest: wp.float32  # the smallest radius [m]
    lightest: wp.float32  # inverse mass of the lightest grain: guests, which are lighter, are as soft [1/kg]
    inverse_mass: wp.float32  # of equal grains [1/kg]
    friction: wp.float32  # of the contact of two equal grains, and so on
    restitution: wp.float32
    rolling: wp.float32
    cohesion: wp.float32  # largest pull of a contact [N]
    stiffness: wp.float32  # effective modulus of two equal grains [Pa] (Hertz)
    shear: wp.float32  # effective shear modulus [Pa] (Hertz)
    bounce_speed: wp.float32  # slower impacts do not bounce [m/s]
    release: wp.float32  # how much faster contacts let go that part faster than that
    calm_speed: wp.float32  # what a new contact is expected to bring again, at most [m/s]
    period: wp.vec3  # [m]
    cells: wp.vec3i  # cells along each axis, after which they repeat; fewer along a short period
    cell_count: wp.int32  # in one world
    worlds: wp.int32
    tolerance: wp.float32  # [m/s]
    deep: wp.float32  # rate at which what is deep in a body is pushed out, where steps converge [1/s]
    over: wp.float32  # how much further than plain sweeps those go that converge
    spread: wp.float32  # and the square of how much their rates of convergence differ
    surface: wp.vec4  # friction, restitution, rolling resistance and cohesion of equal grains, see `shapes.surface`
    guest_surface: wp.vec4  # and of equal guests
    beside_guests: wp.vec4  # and of the contact of one with a grain
    first_guest: wp.int32  # grains from this name on are guests
    varied: wp.array[Varied]  # of each world, where they differ


@wp.struct
class Moment:
    """Where a phase of a step stands."""

    step: wp.int32  # of the batch
    sweep: wp.int32  # of the step; those that converge begin with `converge.BEGINS`
    turn: wp.int32  # number of the sweep in the batch
    most: wp.int32  # sweeps of a step
    final: wp.int32  # 1 where grains or bodies are moved, after or by the last sweep of a step, else 0


@wp.func
def moment_of(step: int, sweep: int, turn: int, most: int, final: int) -> Moment:
    moment = Moment()
    moment.step = step
    moment.sweep = sweep
    moment.turn = turn
    moment.most = most
    moment.final = final
    return moment


@wp.struct
class Grains:
    """What changes, in the order of cells; one more than there are grains: a ghost far away fills up lists."""

    positions: wp.array[wp.vec4]  # centre [m], contacts
    velocities: wp.array[wp.vec4]  # [m/s], radius [m]
    spins: wp.array[wp.vec4]  # [rad/s], inverse mass [1/kg]
    forecast: wp.array[wp.vec4]  # velocity that the next step would bring, radius
    turning: wp.array[wp.vec4]  # spin that the next step would bring, inverse mass
    starts: wp.array[wp.vec4]  # velocity at the start of the step, radius, where something bounces
    surfaces: wp.array[wp.vec4]  # friction, restitution, rolling resistance, cohesion [N], where they differ
    names: wp.array[wp.vec2i]  # which grain this is, and its world
    facets: wp.array[wp.vec4]  # axis and extent of guests [m], 0 for the rest, where there are guests


@wp.struct
class Lists:
    places: wp.int32  # room of a list, a multiple of GROUP
    body_places: wp.int32
    counts: wp.array[wp.vec2i]  # neighbours and bodies in the lists of each grain
    neighbours: wp.array[wp.int32]
    impulses: wp.array[wp.float32]  # that each neighbour is expected to bring [N s], groups of x, y, z
    rollings: wp.array[wp.float32]  # angular, by rolling resistance [N m s]
    bodies: wp.array[wp.int32]  # bodies that are close to each grain
    body_impulses: wp.array[wp.vec3]  # of the last step [N s]
    body_spots: wp.array[wp.vec3]  # where the last impulse acted [m], where there was one
    body_predicted: wp.array[wp.vec3]  # predicted for the next step [N s]
    body_rollings: wp.array[wp.vec3]  # [N m s]
    built: wp.array[wp.vec4]  # where each grain was when the lists were made [m], and less how far it may move
    first_of_world: wp.array[wp.int32]  # first row of each world, where it always lies, and the number of rows
    starts: wp.array[wp.int32]  # first grain of each cell, in worlds whose lists are being made
    cursors: wp.array[wp.int32]  # where the next grain of each cell goes
    order: wp.array[wp.int32]  # old place of each grain
    placed: wp.array[wp.int32]  # the same while those of a cell are in any order (CUDA)
    keys: wp.array[wp.int32]  # cell of each grain
    sums: wp.array[wp.int32]  # partial sums of the scan
    reach: wp.array[wp.float32]
    flags: wp.array[wp.int32]
    clock: wp.array[wp.int64]  # steps done before this batch
    trouble: wp.array[wp.int64]  # first step whose result was not finite, -1 while all are
    earlier: wp.array[wp.float32]  # impulses before the last sweep, where steps converge, as `impulses`
    body_earlier: wp.array[wp.vec3]
    totals: wp.array[ContactSum]  # what each grain has summed in the last sweep
    changes: wp.array[wp.float32]  # largest change of a velocity in each world [m/s], ahead of each pair of sweeps
    pair: wp.array[wp.int32]  # which pair of sweeps is taken (CUDA)
    asked: wp.array[wp.int32]  # whether some world needs each pair, the first also for that which comes next (CUDA)
    active: wp.array[wp.int32]  # whether some world is not solved yet (CPU), and how many sweeps the last step took
    weights: wp.array[wp.float32]  # of the sweeps after the first
    pushes: wp.array[wp.vec3]  # on each guest: impulse [N s], angular impulse [N m s], next impulse expected
    touches: wp.array[wp.float32]  # contacts of each guest in the last step
    guest_rows: wp.array[wp.int32]  # row of each guest
    near_boundary: wp.array[wp.int32]  # 1 for guests and for grains with guests in their lists, else 0 (CUDA)
    near_boundary_rows: wp.array[wp.int32]  # the rows of these, in any order
    near_boundary_count: wp.array[wp.int32]  # and how many they are


@wp.struct
class Body:
    geometry: Geometry
    motion: wp.int32  # FIXED, DRIVEN or FREE
    world: wp.int32
    reach: wp.float32  # radius of a ball around the centre of mass that holds it [m]; 0 for planes
    room: wp.float32  # how far it may move in a step, so that it and others do not pass each other [m]
    inverse_mass: wp.float32  # [1/kg], 0 unless it is free
    inertia: wp.mat33  # in the frame of the body [kg m²]
    inverse_inertia: wp.mat33  # [1/(kg m²)]
    largest_inverse_inertia: wp.float32
    surface: wp.vec4  # friction, restitution, rolling resistance, cohesion
    first_point: wp.int32  # its points that touch other bodies
    last_point: wp.int32


@wp.struct
class Bodies:
    count: wp.int32
    first_of_world: wp.array[wp.int32]
    forms: wp.array[Body]
    distances: wp.array[wp.float32]  # of all grids [m]
    places: wp.array[wp.vec3]  # centres of mass [m]
    turns: wp.array[wp.quat]
    velocities: wp.array[wp.vec3]  # [m/s]
    spins: wp.array[wp.vec3]  # [rad/s]
    forecast: wp.array[wp.vec3]  # velocity that the next step would bring
    turning: wp.array[wp.vec3]
    contacts: wp.array[wp.float32]  # of each body, at the step before
    travel: wp.array[wp.float32]  # how far its surface may have left what lists around it lead it by [m]
    parts: wp.int32  # shares of the contacts of a body that are summed side by side
    totals: wp.array[ContactSum]  # what touches each body, by shares
    forces: wp.array[wp.vec3]  # of grains and bodies on each, at the last step [N]
    torques: wp.array[wp.vec3]  # about its centre of mass [N m]
    drives: wp.array[wp.vec3]  # velocity and spin that driven bodies are given, two each
    channels: wp.array[wp.int32]  # controls that each body follows, six each: along and about x, y, z; -1 for none
    control_count: wp.int32  # of a world
    commands: wp.array[wp.vec4d]  # of the controls, world after world, see core.kernels.controls
    pace: wp.array[wp.vec2d]  # a step, and how many of them one is from there on, where steps are divided
    path_of: wp.array[wp.int32]  # column of each body in the tables of motion, -1 for none
    path_columns: wp.int32
    path_start: wp.array[wp.int64]  # step of their first row
    path_velocities: wp.array[wp.vec3]  # velocity and spin during each step, two each
    path_places: wp.array[wp.vec3]  # where a body is at the end of each step [m]
    path_turns: wp.array[wp.quat]
    loads: wp.array[wp.vec3]  # force and torque from outside on each body, two each
    touched_first: wp.array[wp.int32]  # where each body's contacts begin in `touched`
    touched: wp.array[wp.int32]  # places in `Lists.bodies`, ascending
    touched_first_before: wp.array[wp.int32]  # the same before lists of some worlds were made
    touched_before: wp.array[wp.int32]
    unlisted: wp.array[wp.int32]  # 1 where `touched` does not fit the lists of any world, else 0
    chunks: wp.int32  # shares of the grains of a world that are counted side by side
    chunk_counts: wp.array[wp.int32]
    points: wp.array[wp.vec4]  # in the frames of their bodies [m], body
    point_impulses: wp.array[wp.vec3]  # on each point by each body of its world, in the last step [N s]
    point_predicted: wp.array[wp.vec3]  # predicted for the next step [N s]
    point_places: wp.int32  # bodies that a world has at most


@wp.func
def reach_place(what: int, world: int) -> int:
    """Where `Lists.reach` holds the MARGIN, FASTEST or SKIN of a world."""
    return wp.static(REACHES) + wp.static(WORLD_REACHES) * world + what


@once
def world_of(features: Features) -> wp.Function:
    """A function `(i, grains) -> int`: the world of grain i; there is nothing to look up where there is one."""
    many = features.worlds

    @wp.func
    def world(i: int, grains: Grains) -> int:
        number = int(0)
        if wp.static(many):
            number = grains.names[i][1]
        return number

    return world


@once
def is_stale(features: Features) -> wp.Function:
    """A function `(world, lists) -> bool`: whether the lists of a world are to be made anew, when some are."""
    many = features.worlds

    @wp.func
    def stale(world: int, lists: Lists) -> bool:
        old = bool(True)
        if wp.static(many):
            old = lists.flags[wp.static(FLAGS) + world] == 1
        return old

    return stale


@once
def pull_in(features: Features) -> wp.Function:
    """A function `(world, parameters) -> vec3`: what pulls in a world [m/s²]."""
    varied = features.varied

    @wp.func
    def pull(world: int, parameters: Parameters) -> wp.vec3:
        out = parameters.gravity
        if wp.static(varied):
            out = parameters.varied[world].pull
        return out

    return pull


@once
def pull_on(features: Features) -> wp.Function:
    """A function `(i, parameters, grains) -> vec3`: what pulls grain i [m/s²]."""
    varied, world = features.varied, world_of(features)

    @wp.func
    def pull(i: int, parameters: Parameters, grains: Grains) -> wp.vec3:
        out = parameters.gravity
        if wp.static(varied):
            out = parameters.varied[world(i, grains)].pull
        return out

    return pull
