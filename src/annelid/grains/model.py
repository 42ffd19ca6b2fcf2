"""Grains and bodies compiled for a device: parameters, features, and the arrays of bodies."""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property
from typing import Any, TypeGuard

import numpy as np
import warp as wp

from annelid.core.arrays import as_numbers
from annelid.core.device import device as find_device
from annelid.core.errors import InvalidValue, UnknownName
from annelid.core.identity import identity, settings_of
from annelid.core.memory import require_memory
from annelid.core.options import require_kind
from annelid.core.stability import Cause, StepReport
from annelid.grains.bed import Bed
from annelid.grains.controls import BodyControl, channels_of
from annelid.grains.dashpot import dashpots
from annelid.grains.kernels.layout import FREE, Bodies, Body, Features, Parameters
from annelid.grains.material import Grain
from annelid.grains.rigid import Solid, Touched, Wall, bounce_together, twin
from annelid.grains.start import begin
from annelid.grains.steps import Load, default_step, halves, meeting_step, meeting_sweeps
from annelid.grains.world import World
from annelid.shapes import Obstacle
from annelid.shapes.kernels.gaps import PLANE
from annelid.shapes.surface import mixed

PATIENCE = 8
"""Steps between looks at stale lists on CUDA, where a look costs as much as half a step of a small bed."""

_BYTES_A_GRAIN = 800  # while a bed is compiled; measured
_BYTES_A_BODY = 2000  # about
_NEAR = 0.05  # gap, in radii, below which a contact counts
_ROWS_A_CHUNK, _CHUNKS = 128, 1024  # that a warp looks through, and at most so many a body
_GRAINS_A_PART, _PARTS = 16384, 16  # that a block sums what they do to a body, and at most so many a body
_BOUNCING_SWEEPS = 8
_SKIN, _CUDA_SKIN = 0.25, 0.4  # of lists, in radii: CUDA takes neighbours that are not close along at little cost
_BODY_SKIN = 0.375  # how far bodies may move, in radii, beyond what lists lead fast ones by
_GUEST_SKIN, _FAST_SKIN, _CALM_SKIN = 1.0, 0.75, 0.3  # how far guests, fast and calm grains may move, in skins
_FASTEST_SKIN = 1.5  # how far fast ones may where there are no guests: calm ones half a skin there, as on CUDA
_WIDEST_SKIN = 0.75  # on a CPU, where grains are fast; see `kernels.cells.skin_for`
_MOST_SWEEPS = 7  # of a step that converges: one, and pairs of others
_SOLVED = 0.5  # change of a velocity by a sweep at which a step is solved, in √(gR)
_SOLVED_AT_BODIES = 0.2  # the same where only contacts with bodies count
_NEIGHBOURS = 6.0  # contacts of two grains in a bed: they set how slowly plain sweeps converge
_DEEP = 0.1  # share of what is deep in a body that is pushed out in a step that contacts are as stiff as
_RELEASE = 4.0  # how much faster contacts let go that part
_CALM = 10.0  # in what gravity adds in a step: slower than that is not a blow
_CALM_BESIDE = 0.05  # speed at which contacts that part let go beside bodies, in sqrt(g R)
_BOUNCE_BESIDE = 12.0  # slowest impact that bounces beside a soft body, which never quite rests, in speeds of calm
_UNKNOWN_TO = {"hertz": ("rolling", "cohesion"), "paper": ("restitution", "rolling", "cohesion")}  # of grains
_LONGEST = 4.0  # step, in steps that contacts are as stiff as: longer ones make them softer


class Model:
    """A bed of grains and the bodies that they touch.

    Args:
        bed: The grains.
        world: Gravity, obstacles, time step and method.
        worlds: Copies of bed and bodies side by side that do not touch; each moves as it would alone.
        world_of: World of each grain, shape [n], of a bed that is not to be copied; without `worlds`, bodies are not
            copied either and name their worlds (`Rigid.world`).
        overlapping: What to do with grains that start deep in each other or in a body: "refuse", "push" or "allow".
        guests: How many of the last grains are guests: someone else moves them, and they do not touch each other.
        least_sweeps: Sweeps that a step takes at least unless the world says how many; None looks at its free bodies.
        device: Where to compute.
    """

    def __init__(
        self,
        bed: Bed,
        *,
        world: World | None = None,
        worlds: int = 1,
        world_of: np.ndarray | None = None,
        overlapping: str = "refuse",
        guests: int = 0,
        least_sweeps: int | None = None,
        device: str | wp.Device = "auto",
    ) -> None:
        if world is not None:
            require_kind("the world", world, World, "a grains.World")
        self.world, self.guests = world or World(), guests
        bodies = self.world.touched
        if len(bed) == 0:
            raise InvalidValue("a bed needs at least one grain.")
        self.device = find_device(device)
        self.copies, self.many = require_worlds(worlds, world_of, len(bed), bodies), world_of is not None
        given = np.zeros(len(bed), np.int32) if world_of is None else np.asarray(world_of, np.int32)
        order = np.argsort([body.world for body in bodies], kind="stable") if bodies else []
        self._own = [bodies[i] for i in order]
        self.bodies = [twin(body, world) if world else body for world in range(self.copies) for body in self._own]
        touched = self.bodies if self.many else bodies
        self.one = begin(bed, touched, given, overlapping, period=self.world.period).copy()  # beds may be changed
        copied = self.copies > 1 and not self.many
        self.bed = self.one.repeated(self.copies) if copied else self.one
        self.worlds = np.repeat(np.arange(self.copies, dtype=np.int32), len(bed)) if copied else given
        self.world_count = max(self.copies, 1 + int(max([self.worlds.max(), *(body.world for body in self.bodies)])))
        self.body_of = {id(body.source): number for number, body in enumerate(self._own)}
        single = [control for control in self.world.controls if isinstance(control, BodyControl)]
        numbers = {control.name: self.number(control.body) for control in single}
        self.controls, self.channel_of = channels_of(self.world.controls, self.bodies, numbers, self.world_count)
        if self.world.method == "paper" and any(map(is_free, self.bodies)):
            raise InvalidValue("bodies of the paper's method feel no forces: use another method for free ones.")
        self._require_known_contacts()
        self._choose_steps(least_sweeps)
        self.features = self._features()
        self.parameters = self._parameters()
        around = settings_of(self.world, but=["dt"])
        self._surroundings = identity(self.copies, guests, least_sweeps, around, self.contact_step)

    def _require_known_contacts(self) -> None:
        """Refuse what the method would leave out of contacts."""
        used = [self.bed.materials[kind] for kind in np.unique(self.bed.kinds)]
        for name in _UNKNOWN_TO.get(self.world.method, ()):
            value = max(getattr(material, name) for material in used)
            if value > 0.0:
                raise InvalidValue(
                    f"method={self.world.method!r} knows no {name}, and that of the grains is {value:g}: set it to 0, "
                    "or use method='nonsmooth'."
                )

    def _choose_steps(self, least_sweeps: int | None) -> None:
        """The time step, and the one that contacts are as stiff as: beside free bodies it is that of the bed.

        How deep a body falls must not depend on the step, so contacts must not: they are those of the longest step.
        """
        world = self.world
        loads = self._loads(self.one, world)
        self.suits = suits = default_step(self.one, world, self.worlds[: len(self.one)], loads)
        self.converges = self._whether_to_converge(loads)
        self.dt = self._longest(self.one, world, loads) if world.dt == "auto" else world.dt
        self.contact_step = world.contact_step or (suits if loads and world.method == "nonsmooth" else self.dt)
        self._least_sweeps = least_sweeps or meeting_sweeps(self.dt, self.one, loads)
        self._beside = bool(loads) or self.guests > 0

    def _loads(self, bed: Bed, world: World) -> list[Load]:
        """Free bodies, as they fall onto a bed."""
        return [
            replace(rigid_load(body, bed, world.gravity), called=body.rigid.called(number))
            for number, body in enumerate(self._own)
            if is_free(body)
        ]

    def _longest(self, bed: Bed, world: World, loads: Sequence[Load]) -> float:
        """The step that dt="auto" takes [s]."""
        suits = default_step(bed, world, self.worlds[: len(bed)], loads)
        chosen = world.method != "nonsmooth" or world.iterations is not None or world.tolerance is not None
        eight = self._bounces() and not chosen  # sweeps are taken in each step
        return suits if self.converges else min(suits, meeting_step(bed, loads, bouncing=eight))

    def explain_step(self) -> StepReport:
        """What limits the time step."""
        auto = self._longest(self.one, self.world, self._loads(self.one, self.world))
        causes = (
            Cause(half.name, "", half.remedy, self._longest(half.bed, half.world, half.loads))
            for half in halves(self.one, self.world, self._loads)
        )
        return StepReport.of(self.dt, auto, "the longest in which contacts stay shallow and bodies are met", causes)

    def _whether_to_converge(self, loads: Sequence[Load]) -> bool:
        bounces = self._bounces()
        if self.world.converge is True and bounces:
            raise InvalidValue(
                "converge=True cannot be used where something bounces, since steps that converge know no impacts: "
                "set restitution to 0, or leave converge out."
            )
        return (bool(loads) and self.world.converges(bouncing=bounces)) or self.world.converge is True

    @property
    def count(self) -> int:
        """Number of grains."""
        return len(self.bed)

    @property
    def paths(self) -> list[int]:
        """Numbers of the bodies that follow a path."""
        return [n for n, body in enumerate(self.bodies) if isinstance(body, Solid) and body.path is not None]

    def number(self, body: Obstacle | int | str) -> int:
        """Number of an obstacle, as it was given, or by its name; of copies in several worlds that of the first."""
        if isinstance(body, str):
            return self._named(body)
        if isinstance(body, int):
            if not 0 <= body < len(self.bodies):
                raise InvalidValue(f"there is no body {body}; there are {len(self.bodies)}.")
            return body
        if id(body) not in self.body_of:
            raise InvalidValue("that body does not belong to this model.")
        return self.body_of[id(body)]

    def numbers(self, body: Obstacle | int | str) -> np.ndarray:
        """Numbers of an obstacle in all worlds that it was copied to; a number stands for itself."""
        first, each = self.number(body), len(self._own)
        return np.array([first]) if isinstance(body, int) else first + each * np.arange(self.copies)

    def _named(self, name: str) -> int:
        found = [number for number, body in enumerate(self._own) if body.name == name]
        if not found:
            raise UnknownName("body", name, list(dict.fromkeys(body.name for body in self._own if body.name)))
        if len(found) > 1:
            raise InvalidValue(f"{len(found)} bodies are named {name!r}: name one by the object, or by its number.")
        return found[0]

    @cached_property
    def first_of_world(self) -> wp.array[Any]:
        """First grain of each world, and their number, on the device."""
        rows = np.bincount(self.worlds, minlength=self.world_count)
        return wp.array(np.append(0, np.cumsum(rows)), dtype=wp.int32, device=self.device)

    def fingerprint(self) -> str:
        """A hash of bed and world as they were built."""
        return self._identity

    @cached_property
    def _identity(self) -> str:
        return identity(self.one, self.worlds, self._surroundings)

    def surfaces(self) -> np.ndarray:
        """Friction, restitution, rolling resistance and cohesion of each grain, shape [n, 4]."""
        return self.surface_numbers(self.bed.materials)[self.bed.kinds]

    def surface_numbers(self, surfaces: Sequence[Grain | Touched]) -> np.ndarray:
        """The four numbers of each surface; penalty forces want a dashpot in place of a restitution; shape [k, 4]."""
        numbers = np.array([surface.numbers for surface in surfaces], np.float32).reshape(-1, 4)
        if self.world.method == "hertz":
            numbers[:, 1] = dashpots(numbers[:, 1].astype(float))
        return numbers

    @property
    def sweeps(self) -> int:
        """Sweeps in a step, at most: several impacts at once find the speeds at which they part only together."""
        world = self.world
        if self.converges:
            return world.iterations or _MOST_SWEEPS
        if world.iterations is not None or world.tolerance is not None or world.method != "nonsmooth":
            return world.sweeps
        return max(self._least_sweeps, _BOUNCING_SWEEPS if self.features.bouncing else 1)

    def _features(self) -> Features:
        bed, world = self.bed, self.world
        masses, surfaces = bed.masses, self.surfaces()
        kinds = {PLANE if isinstance(body, Wall) else body.form.kind for body in self.bodies}
        free = [body for body in self.bodies if is_free(body)]
        crowded = any(sum(other.world == body.world for other in self.bodies) > 1 for body in free)
        return Features(
            method=world.method,
            sizes=bool(np.ptp(bed.radii) > 0.0 or np.ptp(masses) > 0.0),
            materials=any(bool((np.ptp(part, axis=0) > 0.0).any()) for part in self._alike(surfaces)),
            bouncing=self._bounces(),
            rolling=bool((surfaces[:, 2] > 0.0).any()),
            cohesive=bool((surfaces[:, 3] > 0.0).any()),
            periodic=(world.period[0] > 0.0, world.period[1] > 0.0, world.period[2] > 0.0),
            kinds=tuple(sorted(kinds)),
            tracked=any(isinstance(body, Solid) for body in self.bodies),
            commanded=bool((self.channel_of >= 0).any()),
            free=bool(free),
            points=crowded and any(body.rigid.points > 0 for body in free),
            tolerant=world.tolerance is not None and not self.converges,
            converging=self.converges,
            guests=self.guests > 0,
            worlds=self.many or self.world_count > 1,
        )

    def _alike(self, rows: np.ndarray) -> list[np.ndarray]:
        """Rows of grains and of guests, which may be alike among themselves, apart."""
        own = self.count - self.guests
        return [rows[:own], rows[own:]] if 0 < own < len(rows) else [rows]

    def _parameters(self) -> Any:
        bed, world = self.bed, self.world
        p: Any = Parameters()
        surface = bed.materials[bed.kinds[0]]
        own = bed.radii[: self.count - self.guests]
        largest, smallest = float(bed.radii.max()), float((own if len(own) else bed.radii).min())
        p.first_guest = self.count - self.guests
        p.count, p.dt, p.gravity = self.count, self.dt, wp.vec3(*world.gravity)
        stiffer = max(self.contact_step / self.dt, 1.0 / _LONGEST)  # than a step of this length asks for
        p.correction, p.softness = world.share / stiffer, world.softness * stiffer
        skin = world.skin or (_CUDA_SKIN if self.device.is_cuda else _SKIN)
        p.near, p.skin, p.body_skin = _NEAR, skin * smallest, _BODY_SKIN * smallest
        allowing = self.guests > 0 if self.device.is_cuda else self.features.allowing
        if allowing:
            self._set_allowances(p)
        fixed = world.skin is not None or self.device.is_cuda or allowing
        p.widest_skin = p.skin if fixed else _WIDEST_SKIN * smallest
        p.patience = PATIENCE - 1.0 if self.device.is_cuda else 0.0
        p.radius, p.smallest, p.inverse_mass = largest, smallest, 1.0 / float(bed.masses[0])
        p.lightest = 1.0 / float((bed.masses[: p.first_guest] if len(own) else bed.masses).min())
        mine, theirs = self.surface_numbers([surface, bed.materials[bed.kinds[-1]]])  # guests come last
        p.friction, p.restitution, p.rolling, p.cohesion = np.abs(mine)
        p.surface, p.guest_surface = wp.vec4(*mine.tolist()), wp.vec4(*theirs.tolist())
        p.beside_guests = wp.vec4(*mixed(mine, theirs).tolist())
        p.stiffness = surface.youngs_modulus / (2.0 * (1.0 - surface.poisson_ratio**2))
        p.shear = surface.youngs_modulus / (4.0 * (1.0 + surface.poisson_ratio) * (2.0 - surface.poisson_ratio))
        p.calm_speed, p.bounce_speed = self._calm_and_bounce(smallest)
        p.period = wp.vec3(*world.period)
        # Sweeps of one step settle among themselves: letting go too quickly there would make them swing.
        p.release = _RELEASE if self.sweeps == 1 or world.tolerance is not None or self.converges else 0.0
        p.tolerance = 0.0 if world.tolerance is None else world.tolerance
        if self.converges:
            self._set_convergence(p)
        cells = self._cells(2.0 * largest * (1.0 + _NEAR) + p.skin + p.wider)
        p.cells, p.cell_count, p.worlds = wp.vec3i(*cells), int(np.prod(cells)), self.world_count
        return p

    def _calm_and_bounce(self, radius: float) -> tuple[float, float]:
        """Speeds above which contacts that part let go at once, and impacts bounce [m/s], with this smallest radius."""
        pull = math.hypot(*self.world.gravity)
        calm, bounce = max(_CALM * pull * self.dt, 1.0e-4 * radius / self.dt), 4.0 * pull * self.dt
        if self._beside and pull > 0.0:  # how deep bodies fall must not depend on the step
            calm = _CALM_BESIDE * math.sqrt(pull * radius)
            bounce = _BOUNCE_BESIDE * calm if self.guests else bounce
        return calm, bounce

    def _set_allowances(self, p: Any) -> None:
        """How far rows may move before lists are made anew, by what they are; see `kernels.allowances`."""
        if self.guests:
            calm = 0.5 if self.device.is_cuda else _CALM_SKIN
            p.calm_skin, p.fast_skin, p.guest_skin = calm * p.skin, _FAST_SKIN * p.skin, _GUEST_SKIN * p.skin
        else:
            p.calm_skin, p.fast_skin = 0.5 * p.skin, _FASTEST_SKIN * p.skin
        p.wider = p.fast_skin + max(p.fast_skin, p.guest_skin) - p.skin

    def _set_convergence(self, p: Any) -> None:
        """What sweeps that converge know of the range of rates at which plain ones do, see `kernels.converge`."""
        if self.world.tolerance is None:
            pull = math.hypot(*self.world.gravity)
            speed = math.sqrt(pull * p.smallest) if pull > 0.0 else 0.5 * p.smallest / self.dt
            solved = _SOLVED_AT_BODIES if self.features.judged_by_bodies else _SOLVED
            p.tolerance = solved * speed * min(self.dt / self.contact_step, 1.0)  # what is left is left in each step
        least = p.softness / (_NEIGHBOURS + p.softness)
        p.over, p.spread = 2.0 / (1.0 + least), ((1.0 - least) / (1.0 + least)) ** 2
        p.deep = _DEEP / self.contact_step

    def _bounces(self) -> bool:
        """Whether some restitution is not 0: of grains, or of two bodies that are in one world."""
        own, others = self.surfaces()[:, 1], self.surface_numbers(self.bodies)[:, 1]
        return bool((own > 0.0).any()) or bounce_together(self.bodies, others)

    def _cells(self, edge: float) -> list[int]:
        """Cells along each axis: enough for the bed as it is, not many more than grains."""
        extent = np.ptp(self.bed.positions, axis=0) + 4.0 * edge
        period = np.asarray(self.world.period)
        cells = np.maximum(np.ceil(np.where(period > 0.0, period, extent) / edge), 3.0)
        most = max(64.0, 4.0 * self.count / self.world_count)
        while np.prod(cells) > most and cells.max() > 3:
            cells[np.argmax(cells)] = max(3.0, math.floor(0.8 * cells.max()))
        return [int(c) for c in cells]

    @cached_property
    def rooms(self) -> np.ndarray:
        """How far each body may move in a step [m]: what the thinnest is thick of those that meet at points."""
        walls = [
            body.rigid.thinnest if isinstance(body, Solid) and not body.inside else math.inf for body in self.bodies
        ]
        worlds = np.array([body.world for body in self.bodies], int)
        thinnest = np.full(self.world_count, np.inf)
        if self.features.points:
            np.minimum.at(thinnest, worlds, walls)
        return np.asarray(thinnest[worlds])

    def body_arrays(self) -> Any:
        """A new structure of the bodies: their forms, grids and points; the rest is the solver's."""
        firsts, distances = _distances(self.bodies)
        points: list[np.ndarray] = []
        forms = []
        for number, body in enumerate(self.bodies):
            own = self.surface_numbers([body])[0]
            form = _plane_form(body, own) if isinstance(body, Wall) else _body_form(body, own, firsts[number])
            form.room = self.rooms[number]
            form.first_point = sum(len(p) for p in points)
            if is_free(body) and self.features.points and body.rigid.points > 0:
                sample = body.sample_points()
                points.append(np.column_stack([sample, np.full(len(sample), number)]))
            form.last_point = sum(len(p) for p in points)
            forms.append(form)
        shapes: Any = Bodies()
        device = self.device
        worlds = np.array([body.world for body in self.bodies], int)
        shapes.count = len(forms)
        shapes.first_of_world = _array(np.searchsorted(worlds, np.arange(self.world_count + 1)), wp.int32, device)
        shapes.forms = wp.array(forms, dtype=Body, device=device)
        shapes.distances = _array(distances, wp.float32, device)
        shapes.points = wp.array(
            np.concatenate([np.zeros((0, 4)), *points]).astype(np.float32), dtype=wp.vec4, device=device
        )
        shapes.point_places = int(np.bincount(worlds).max()) if len(worlds) else 0
        shapes.chunks = int(np.clip(self.count // self.world_count // _ROWS_A_CHUNK, 1, _CHUNKS))
        parts = int(np.clip(self.count // self.world_count // _GRAINS_A_PART, 1, _PARTS))
        shapes.parts = parts if device.is_cuda else 1
        shapes.path_of = _array(_columns(len(forms), self.paths), wp.int32, device)
        shapes.path_columns = len(self.paths)
        shapes.channels, shapes.control_count = _array(self.channel_of.ravel(), wp.int32, device), len(self.controls)
        shapes.pace = wp.array(np.array([[0.0, 1.0]]), dtype=wp.vec2d, device=device)
        return shapes


def replaced_features(model: Model, **changes: Any) -> Model:
    """The same model with other features compiled; it shares all arrays."""
    other = copy(model)
    other.features = replace(model.features, **changes)
    return other


def is_free(body: Touched) -> TypeGuard[Solid]:
    """Whether a body is moved by what touches it."""
    return isinstance(body, Solid) and body.free


def rigid_load(body: Solid, bed: Bed, gravity: tuple[float, float, float]) -> Load:
    """What a free body does to grains that it falls onto."""
    speed = math.hypot(*body.rigid.velocity) + body.reach * math.hypot(*body.rigid.spin)
    return Load.of(np.array(body.extent), body.weight[0], speed, bed, gravity)


def require_worlds(worlds: int, world_of: np.ndarray | None, count: int, bodies: Sequence[Touched]) -> int:
    """How many copies to make; what cannot be copied, or is no world of each grain, is refused."""
    if isinstance(worlds, bool) or not isinstance(worlds, int | np.integer) or not 1 <= worlds < 10**18:
        raise InvalidValue(
            f"worlds must be a whole number of 1 or more, not {worlds!r:.60}; the world of each grain is world_of."
        )
    needed = float(worlds) * (_BYTES_A_GRAIN * count + _BYTES_A_BODY * len(bodies))
    require_memory(
        f"a simulation of {worlds} worlds of {count} grains and {len(bodies)} bodies", needed, "simulate fewer worlds"
    )
    if world_of is not None:
        given = as_numbers("world_of", world_of, None)
        if given.shape != (count,) or given.dtype.kind not in "iu" or given.min() < 0:
            raise InvalidValue(f"world_of must be {count} whole numbers of 0 or more, one a grain.")
        things = count + len(bodies)
        if given.max() >= things:  # some would be empty, and nobody means a billion of those
            raise InvalidValue(
                f"world_of names world {given.max()}, and {things} grains and bodies are in no more than {things} "
                "worlds: number them from 0."
            )
        if worlds > 1 and given.max() >= worlds:
            raise InvalidValue(f"world_of names world {given.max()}, and there are the worlds 0 to {worlds - 1}.")
    if worlds > 1 and (elsewhere := [number for number, body in enumerate(bodies) if body.world]):
        number = elsewhere[0]
        raise InvalidValue(
            f"{bodies[number].rigid.called(number)}, names world {bodies[number].world}, and worlds={worlds} copies "
            "all bodies to each: leave its world out, or give the world of each grain as world_of."
        )
    return int(worlds)


def _plane_form(plane: Wall, surface: np.ndarray) -> Any:
    form: Any = Body()
    form.geometry.kind, form.geometry.size, form.geometry.side = PLANE, plane.normal, 1.0
    form.world, form.surface = plane.world, wp.vec4(*surface)
    return form


def _body_form(body: Solid, surface: np.ndarray, first: int) -> Any:
    form: Any = Body()
    form.geometry = body.form.struct(wp.float32, first, body.form.size)
    form.motion, form.world, form.surface = body.motion_number, body.world, wp.vec4(*surface)
    form.reach = 0.0 if body.inside else body.reach
    if body.motion_number == FREE:
        mass, inertia = body.weight
        inverse = np.linalg.inv(inertia)
        form.inverse_mass, form.inertia = 1.0 / mass, wp.mat33(*inertia.ravel())
        form.inverse_inertia = wp.mat33(*inverse.ravel())
        form.largest_inverse_inertia = float(np.linalg.eigvalsh(inverse).max())
    return form


def _distances(bodies: Sequence[Touched]) -> tuple[list[int], np.ndarray]:
    """Where the distances of each body begin, and those of all; bodies that share a grid share them."""
    begins: dict[int, int] = {}
    firsts, values, total = [], [np.zeros(1, np.float32)], 1  # an array must not be empty
    for body in bodies:
        grid = body.grid if isinstance(body, Solid) else None
        if grid is not None and id(grid) not in begins:
            begins[id(grid)] = total
            values.append(np.ascontiguousarray(grid.values.numpy(), np.float32).ravel())
            total += len(values[-1])
        firsts.append(begins.get(id(grid), 0))
    return firsts, np.concatenate(values)


def _columns(count: int, members: list[int]) -> np.ndarray:
    columns = np.full(count, -1)
    columns[members] = np.arange(len(members))
    return columns


def _array(values: np.ndarray, dtype: Any, device: wp.Device) -> wp.array[Any]:
    return wp.array(np.asarray(values), dtype=dtype, device=device)
