"""Stepping grains and bodies: a team of CPU threads, or captured CUDA graphs."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import warp as wp
from scipy.spatial.transform import Rotation

from annelid.core.device import thread_count
from annelid.core.elements import scatter
from annelid.core.errors import InvalidValue, SimulationDiverged, StepTooLong
from annelid.core.launch import Team
from annelid.core.snapshot import Look, Snapshot
from annelid.core.state import clone_state, declared, rows
from annelid.grains.growth import mend, widened
from annelid.grains.kernels.layout import (
    BODY_OVERFLOW,
    FLAGS,
    GROUP,
    HALTED,
    LIMIT,
    OVERFLOW,
    REACHES,
    RESIDUAL,
    STALE,
    TOO_FAST,
    WORLD_REACHES,
    Grains,
    Lists,
    vec14,
)
from annelid.grains.kernels.program import team_kernel
from annelid.grains.launches import Launches
from annelid.grains.model import Model, Obstacle, replaced_features
from annelid.grains.paths import PathTable
from annelid.grains.pictures import Painter
from annelid.grains.readout import Readout, Summary
from annelid.grains.rigid import Rigid
from annelid.shapes.values import as_vector

_BATCH = 64
_QUEUE = 32  # batches that CUDA is given before the host looks at them
_FIRST_PLACES = 16
_FIRST_BODY_PLACES = 4
_GRAINS_A_THREAD = 200
_FAR = 1.0e9
_MANY = 1000.0


@dataclass
class State:
    """What changes with time. Grains are in the order of cells, which `names` undoes; bodies are in their own.

    Attributes:
        positions: Centres [m], and numbers of contacts, shape [n + 1, 4]; the last row is a ghost.
        velocities: Velocities [m/s] and radii [m], shape [n + 1, 4].
        spins: Angular velocities [rad/s] and inverse masses [1/kg], shape [n + 1, 4].
        forecast: Velocities that the next step would bring, and radii.
        turning: Angular velocities that the next step would bring, and inverse masses.
        surfaces: Friction, restitution, rolling resistance, cohesion, where grains differ.
        facets: Axes and extents of guests [m], shape [n + 1, 4], 0 for grains, where there are guests.
        names: Which grain this is, and its world, shape [n, 2].
        counts: Neighbours and bodies in the lists of each grain, shape [n, 2].
        neighbours: Lists of neighbours.
        impulses: Impulses by neighbours [N s].
        rollings: Angular impulses by rolling resistance [N m s].
        bodies: Lists of bodies.
        body_impulses: Impulses by bodies [N s].
        body_predicted: Those predicted for the next step [N s].
        body_rollings: Angular impulses by rolling resistance [N m s].
        built: Where grains were when the lists were made [m].
        places: Centres of mass of the bodies [m].
        turns: Quaternions of the bodies.
        body_velocities: Velocities of the bodies [m/s].
        body_spins: Angular velocities of the bodies [rad/s].
        body_forecast: Velocities that the next step would bring.
        body_turning: Angular velocities that the next step would bring.
        contacts: Contacts of each body.
        travel: How far the surface of each body may have moved since the lists were made [m].
        forces: Forces of contacts on each body [N].
        torques: Torques of contacts on each body about its centre of mass [N m].
        commands: Velocity and spin that driven bodies are told.
        loads: Force [N] and torque [N m] from outside on each body.
        touched_first: Where the contacts of each body begin in `touched`.
        touched: Places in `bodies`.
        point_impulses: Impulses on points of bodies by other bodies [N s].
        point_predicted: Those predicted for the next step [N s].
        reach: Margins and speeds of the lists.
        flags: Flags of the lists.
        clock: Steps done, shape [1].
    """

    positions: wp.array
    velocities: wp.array
    spins: wp.array
    forecast: wp.array
    turning: wp.array
    surfaces: wp.array
    facets: wp.array
    names: wp.array
    counts: wp.array
    neighbours: wp.array = rows("place", wp.int32, grows="places")
    impulses: wp.array = rows("place", wp.float32, each=3, grows="places")
    rollings: wp.array = rows("place", wp.float32, each=3, grows="places")
    bodies: wp.array = rows("body-place", wp.int32, grows="body_places")
    body_impulses: wp.array = rows("body-place", wp.vec3, grows="body_places")
    body_predicted: wp.array = rows("body-place", wp.vec3, grows="body_places")
    body_rollings: wp.array = rows("body-place", wp.vec3, grows="body_places")
    built: wp.array
    places: wp.array
    turns: wp.array
    body_velocities: wp.array
    body_spins: wp.array
    body_forecast: wp.array
    body_turning: wp.array
    contacts: wp.array
    travel: wp.array
    forces: wp.array
    torques: wp.array
    commands: wp.array
    loads: wp.array
    touched_first: wp.array
    touched: wp.array = rows("body-place", wp.int32, grows="body_places")
    point_impulses: wp.array
    point_predicted: wp.array
    reach: wp.array
    flags: wp.array
    clock: wp.array


_GRAIN_ARRAYS = ("positions", "velocities", "spins", "forecast", "turning", "surfaces", "facets", "names")
_LIST_ARRAYS = (
    "counts", "neighbours", "impulses", "rollings", "bodies", "body_impulses", "body_predicted", "body_rollings",
    "built", "reach", "flags", "clock",
)  # fmt: skip
_BODY_ARRAYS = {
    "places": "places", "turns": "turns", "velocities": "body_velocities", "spins": "body_spins",
    "forecast": "body_forecast", "turning": "body_turning", "contacts": "contacts", "travel": "travel",
    "forces": "forces", "torques": "torques", "commands": "commands", "loads": "loads",
    "touched_first": "touched_first", "touched": "touched", "point_impulses": "point_impulses",
    "point_predicted": "point_predicted",
}  # fmt: skip


class Solver:
    """Advances the state of a model.

    Args:
        model: The model.
        threads: CPU threads; None takes all cores.

    Attributes:
        pushes: Impulse [N s] and angular impulse [N m s] on each guest of the model in the last step, and the impulse
            that the next one is expected to bring, three each.
    """

    def __init__(self, model: Model, *, threads: int | None = None) -> None:
        self.model, self.device = model, model.device
        self.dt = model.dt
        self.threads = min(thread_count(threads), max(1, model.count // _GRAINS_A_THREAD))
        self.batch = _BATCH
        self._team = None if self.device.is_cuda else Team(self.threads)
        self._trouble = wp.full(1, -1, dtype=wp.int64, device=self.device)
        self.pushes = self._zeros(3 * model.guests, wp.vec3)
        self._here, self._there, self._old = Grains(), Grains(), Grains()
        self._lists: Any = Lists()
        self._kept: Any = Lists()
        self._bodies = model.body_arrays()
        self._bound: State | None = None
        self._companion: Callable[[Any], None] | None = None
        self.readout = Readout(model)
        self._painter = Painter(model, self.readout)
        self._warned = False
        self._scratch()
        self._paths = PathTable(model, self._bodies)
        parts = (self._here, self._there, self._old, self._lists, self._kept, self._bodies)
        self._launches = Launches(model, *parts) if self.device.is_cuda else None

    # --- states ---

    def initial_state(self) -> State:
        """Grains and bodies as they were built."""
        model, bed, n = self.model, self.model.bed, self.model.count
        features = model.features
        push = np.asarray(model.world.gravity) * self.dt * (features.method == "nonsmooth")
        columns = {
            "positions": (bed.positions, np.zeros(n), _FAR),
            "velocities": (bed.velocities, bed.radii, 0.0),
            "spins": (bed.spins, 1.0 / bed.masses, 0.0),
            "forecast": (bed.velocities + push, bed.radii, 0.0),
            "turning": (bed.spins, 1.0 / bed.masses, 0.0),
        }
        parts: dict[str, Any] = {}
        for name, (vectors, numbers, ghost) in columns.items():
            rows = np.full((n + 1, 4), ghost)
            rows[:n, :3], rows[:n, 3], rows[n, 3] = vectors, numbers, 1.0
            parts[name] = wp.array(rows.astype(np.float32), dtype=wp.vec4, device=self.device)
        surfaces = model.surfaces() if features.materials else np.zeros((0, 4), np.float32)
        if features.materials:
            surfaces = np.concatenate([surfaces, surfaces[:1]])
        parts["surfaces"] = wp.array(surfaces, dtype=wp.vec4, device=self.device)
        parts["facets"] = self._zeros(n + 1 if features.guests else 0, wp.vec4)
        names = np.column_stack([np.arange(n), model.worlds]).astype(np.int32)
        parts["names"] = wp.array(names, dtype=wp.vec2i, device=self.device)
        parts |= self._lists_of(_FIRST_PLACES, _FIRST_BODY_PLACES if model.bodies else 0)
        parts |= self._body_state()
        parts["counts"] = self._zeros(n, wp.vec2i)
        parts["built"] = self._zeros(n, wp.vec4)
        reach = np.zeros(REACHES + WORLD_REACHES * model.world_count, np.float32)
        reach[LIMIT] = np.linalg.norm(bed.velocities, axis=1).max()
        parts["reach"] = wp.array(reach, dtype=wp.float32, device=self.device)
        flags = np.zeros(FLAGS + model.world_count, np.int32)
        flags[STALE], flags[FLAGS:] = 1, 1
        parts["flags"] = wp.array(flags, dtype=wp.int32, device=self.device)
        parts["clock"] = self._zeros(1, wp.int64)
        return State(**parts)

    def _lists_of(self, places: int, body_places: int) -> dict[str, wp.array]:
        """Arrays whose sizes depend on the room of lists."""
        n, rolling = self.model.count, self.model.features.keeps_rolling
        sizes = {
            "neighbours": (n * places, wp.int32),
            "impulses": (3 * n * places, wp.float32),
            "rollings": (3 * n * places if rolling else 0, wp.float32),
            "bodies": (n * body_places, wp.int32),
            "body_impulses": (n * body_places, wp.vec3),
            "body_predicted": (n * body_places, wp.vec3),
            "body_rollings": (n * body_places if rolling else 0, wp.vec3),
            "touched": (n * body_places, wp.int32),
        }
        return {name: self._zeros(size, dtype) for name, (size, dtype) in sizes.items()}

    def _body_state(self) -> dict[str, wp.array]:
        bodies, count = self.model.bodies, len(self.model.bodies)
        places, turns = np.zeros((count, 3)), np.tile([0.0, 0.0, 0.0, 1.0], (count, 1))
        velocities, spins, push = np.zeros((count, 3)), np.zeros((count, 3)), np.zeros((count, 3))
        for number, body in enumerate(bodies):
            if isinstance(body, Rigid):
                places[number], turns[number] = body.place, body.quaternion
                velocities[number], spins[number] = body.velocity, body.spin
                push[number] = np.asarray(self.model.world.gravity) * self.dt * (body.motion == "free")
            else:
                places[number] = body.point
        for number in self.model.paths:
            start = np.array([0.0, self.dt])
            where, how = self._paths.poses(number, start)
            places[number], turns[number] = where[0], how[0]
            velocities[number] = (where[1] - where[0]) / self.dt
            turned = Rotation.from_quat(how)
            spins[number] = (turned[1] * turned[0].inv()).as_rotvec() / self.dt
        commands = np.stack([velocities, spins], axis=1).reshape(-1, 3)

        def vectors(rows: np.ndarray, dtype: Any = wp.vec3) -> wp.array:
            return wp.array(rows.astype(np.float32), dtype=dtype, device=self.device)

        points = len(self._bodies.points) * self._bodies.point_places
        return {
            "places": vectors(places),
            "turns": vectors(turns, wp.quat),
            "body_velocities": vectors(velocities),
            "body_spins": vectors(spins),
            "body_forecast": vectors(velocities + push),
            "body_turning": vectors(spins),
            # How many there are is not known yet: many, so that what rests is not kicked at the first step.
            "contacts": wp.full(count, _MANY, dtype=wp.float32, device=self.device),
            "travel": self._zeros(count, wp.float32),
            "forces": self._zeros(count, wp.vec3),
            "torques": self._zeros(count, wp.vec3),
            "commands": vectors(commands),
            "loads": self._zeros(2 * count, wp.vec3),
            "touched_first": self._zeros(count + 1, wp.int32),
            "point_impulses": self._zeros(points, wp.vec3),
            "point_predicted": self._zeros(points, wp.vec3),
        }

    # --- steps ---

    def advance(self, state: State, steps: int) -> None:
        """Take steps."""
        self._bind(state)
        if self.model.world.too_fast == "substep":
            for _ in range(steps):
                self._substep(state)
            return
        target = int(state.clock.numpy()[0]) + steps
        while (now := int(state.clock.numpy()[0])) < target:
            count = min(target - now, self._paths.reach(now, self.dt))
            self._run(count, now)
            self._look_after(state)

    @property
    def lists(self) -> Any:
        """The structure of the lists of the state that was stepped last."""
        return self._lists

    @property
    def bodies(self) -> Any:
        """The structure of the bodies of the state that was stepped last."""
        return self._bodies

    def accompany(self, companion: Callable[[Any], None]) -> None:
        """Let someone follow each step with `companion(grains)`, given the structure of the grains at its end.

        Whoever moves guests does it there. On CUDA it is called while steps are captured, and may only launch kernels.
        """
        self._companion = companion
        if self._launches is not None:
            self._launches.companion = companion
            self._launches.forget()

    def _run(self, steps: int, clock: int) -> None:
        """Take up to so many steps; fewer where lists do not fit."""
        if self._launches is None:
            self._team_steps(1 if self._companion else min(steps, self.batch))
            if self._companion and not self._lists.flags.numpy()[HALTED]:
                self._companion(self._here)
        else:
            self._launches.run(min(steps, _QUEUE * self.batch), self.batch, clock)

    def _substep(self, state: State) -> None:
        """Take one step, as several shorter ones while grains are fast."""
        clock = int(state.clock.numpy()[0])
        fastest = float(state.reach.numpy()[LIMIT])
        reach = 0.5 * self.model.parameters.smallest
        parts = max(1, math.ceil(fastest * self.dt / reach))
        self._set_step(self.dt / parts)
        done = 0
        while done < parts:
            origin = clock * self.dt + done * self.dt / parts
            self._paths.reach(clock + done, self.dt / parts, origin if parts > 1 else None)
            self._run(parts - done, clock + done)
            done = int(state.clock.numpy()[0]) - clock
            self._look_after(state)
        state.clock.assign(np.array([clock + 1], np.int64))

    def _set_step(self, dt: float) -> None:
        if self.model.parameters.dt != np.float32(dt):
            self.model.parameters.dt = dt
            if self._launches is not None:
                self._launches.forget()

    def diverged_at(self) -> int | None:
        """First step whose result was not finite, None while all are."""
        step = int(self._trouble.numpy()[0])
        return step if step >= 0 else None

    def clear_divergence(self) -> None:
        """Forget a divergence, after the state was restored."""
        self._trouble.fill_(-1)
        self._bound = None  # lists of another length were replaced

    def describe_divergence(self, state: State) -> str:
        """The fastest grain, in words."""
        speeds = np.abs(self.readout.velocities(state)).max(axis=1)[: self.model.count - self.model.guests]
        fastest = int(np.nanargmax(np.where(np.isnan(speeds), -1.0, speeds)))
        room = float(self.model.bed.radii[fastest]) / self.dt
        return (
            f"grain {fastest} moves fastest, at {speeds[fastest]:.3g} m/s along an axis; with a step of "
            f"{self.dt:.3g} s it passes its own radius at {room:.3g} m/s"
        )

    @property
    def fields(self) -> tuple[str, ...]:
        """Scalars that snapshots can be coloured by."""
        return self._painter.fields

    def summary(self, state: State) -> Summary:
        """Centre of mass, momenta and energies."""
        return self.readout.summary(state)

    def snapshot(self, state: State, look: Look) -> Snapshot:
        """A picture of the state."""
        return self._painter.snapshot(state, look)

    def fingerprint(self) -> str:
        """Identity of the model, for checkpoints."""
        return f"grains-{self.model.fingerprint()}"

    def _team_steps(self, steps: int) -> None:
        assert self._team is not None
        if self.model.features.bouncing:
            wp.copy(self._here.starts, self._here.velocities)
        self._team.run(
            team_kernel(self.model.features),
            [steps, self.model.sweeps, self.model.parameters, self._here, self._there, self._old,
             self._lists, self._kept, self._bodies],
        )  # fmt: skip

    def _look_after(self, state: State) -> None:
        """Make room for lists that did not fit; speak up about grains that are too fast."""
        flags = state.flags.numpy()
        if flags[HALTED]:
            places, body_places = int(flags[OVERFLOW]), int(flags[BODY_OVERFLOW])
            self._grow(state, places, body_places)
        if flags[TOO_FAST] and self.model.world.too_fast != "substep":
            self._complain_of_speed(state)

    @property
    def _remedy(self) -> str:
        return "" if self.model.guests else ", or too_fast='substep'"

    def _complain_of_speed(self, state: State) -> None:
        step = int(state.clock.numpy()[0])
        sentence = (
            f"before t = {step * self.dt:.4g} s a grain moved by more than its radius in a step, and may pass "
            f"through others: {self.describe_divergence(state)}; use a shorter step{self._remedy}."
        )
        if self.model.world.too_fast == "stop":
            raise SimulationDiverged(sentence, time=step * self.dt, step=step)
        if not self._warned:
            warnings.warn(sentence, StepTooLong, stacklevel=4)
            self._warned = True

    # --- bodies ---

    def drive(self, state: State, body: Obstacle | int, velocity: Any = None, spin: Any = None) -> None:
        """Tell a driven body how to move from now on.

        Args:
            state: The state.
            body: The body, or its number.
            velocity: Velocity of its centre of mass [m/s]; None leaves it as it is.
            spin: Angular velocity [rad/s]; None leaves it as it is.
        """
        number = self._movable(body, "driven")
        for place, value in ((0, velocity), (1, spin)):
            if value is not None:
                row = np.asarray(as_vector(("velocity", "spin")[place], value), np.float32)[None]
                scatter(state.commands, np.array([2 * number + place]), row)
                scatter((state.body_forecast, state.body_turning)[place], np.array([number]), row)

    def load(self, state: State, body: Obstacle | int, force: Any = (0, 0, 0), torque: Any = (0, 0, 0)) -> None:
        """Pull and turn a free body from now on.

        Args:
            state: The state.
            body: The body, or its number.
            force: Force on its centre of mass [N].
            torque: Torque [N m].
        """
        number = self._movable(body, "free")
        rows = np.array([as_vector("force", force), as_vector("torque", torque)], np.float32)
        scatter(state.loads, np.array([2 * number, 2 * number + 1]), rows)

    def residual(self, state: State) -> float:
        """By how much one more sweep would change the relative velocity of a contact at most [m/s]."""
        if self.model.features.method != "nonsmooth":
            raise InvalidValue(f"only the nonsmooth method has a residual, not {self.model.features.method!r}.")
        probe = Solver(replaced_features(self.model, tolerant=True), threads=self.threads)
        other = clone_state(state)
        probe.advance(other, 1)
        return float(other.reach.numpy()[RESIDUAL])

    def _movable(self, body: Obstacle | int, motion: str) -> int:
        number = self.model.number(body)
        found = self.model.bodies[number]
        if not (isinstance(found, Rigid) and found.motion == motion) or number in self.model.paths:
            raise InvalidValue(f"body {number} is not {motion}: give it motion={motion!r} and no path.")
        return number

    def reserve(self, state: State, places: int, body_places: int) -> None:
        """Give lists room for so many neighbours and bodies, ahead of need: while they grow, steps wait."""
        self._bind(state)
        self._grow(state, places, body_places)

    def _grow(self, state: State, places: int, body_places: int) -> None:
        n = self.model.count
        had, body_had = len(state.neighbours) // n, len(state.bodies) // n
        room = max(had, -(-places // GROUP) * GROUP)
        body_room = max(body_had, body_places)
        old = {name: getattr(state, name).numpy() for name, one in declared(State).items() if one.grows}
        new = self._lists_of(room, body_room)
        wide = {
            name: widened(old[name].reshape(n, -1), array.numpy().size // n)
            for name, array in new.items()
            if len(array) and name != "touched"
        }
        if room > had:
            counts = state.counts.numpy().copy()
            mend(counts[:, 0], wide["neighbours"], [wide[name] for name in ("impulses", "rollings") if name in wide])
            state.counts.assign(counts)
        for name, array in new.items():
            if name in wide:
                array.assign(wide[name].reshape(array.numpy().shape))
            setattr(state, name, array)
        flags = state.flags.numpy().copy()
        flags[[OVERFLOW, BODY_OVERFLOW, HALTED]] = 0
        flags[STALE] = 1
        state.flags.assign(flags)
        self._bound = None
        self._bind(state)

    def _bind(self, state: State) -> None:
        if self._bound is state:
            return
        self._bound = state
        n = self.model.count
        for grains in (self._here, self._there):
            for name in _GRAIN_ARRAYS:
                setattr(grains, name, getattr(state, name))
        for name in ("positions", "forecast", "turning"):
            setattr(self._there, name, self._spare[name])
            wp.copy(self._spare[name], getattr(state, name))  # the ghost
        for name in _LIST_ARRAYS:
            setattr(self._lists, name, getattr(state, name))
        for name, source in _BODY_ARRAYS.items():
            setattr(self._bodies, name, getattr(state, source))
        places, body_places = len(state.neighbours) // n, len(state.bodies) // n
        if self._kept.places != places or self._kept.body_places != body_places:
            for name, array in self._lists_of(places, body_places).items():
                if name != "touched":
                    setattr(self._kept, name, array)
            self._lists.body_spots = self._zeros(n * body_places, wp.vec3)
        for lists in (self._lists, self._kept):
            lists.places, lists.body_places = places, body_places
        if self._launches is not None:
            self._launches.forget()

    def _scratch(self) -> None:
        model, n = self.model, self.model.count
        self._spare = {name: self._zeros(n + 1, wp.vec4) for name in ("positions", "forecast", "turning")}
        for name in ("positions", "velocities", "spins", "forecast", "turning"):
            setattr(self._old, name, self._zeros(n + 1, wp.vec4))
        for grains in (self._here, self._there):
            grains.starts = self._zeros(n + 1 if model.features.bouncing else 0, wp.vec4)
        self._old.surfaces = self._zeros(n + 1 if model.features.materials else 0, wp.vec4)
        self._old.facets = self._zeros(n + 1 if model.features.guests else 0, wp.vec4)
        self._old.names = self._zeros(n, wp.vec2i)
        cells = model.world_count * model.parameters.cell_count
        lists = self._lists
        lists.starts, lists.cursors = self._zeros(cells + 1, wp.int32), self._zeros(cells + 1, wp.int32)
        lists.order, lists.keys = self._zeros(n, wp.int32), self._zeros(n, wp.int32)
        lists.sums = self._zeros(cells // 2048 + 2, wp.int32)
        lists.trouble, lists.pushes = self._trouble, self.pushes
        self._kept.counts = self._zeros(n, wp.vec2i)
        self._kept.places = -1
        count = len(model.bodies)
        self._bodies.chunk_counts = self._zeros(count * self._bodies.chunks, wp.int32)
        self._bodies.totals = self._zeros(count * self._bodies.parts, vec14)

    def _zeros(self, count: int, dtype: Any) -> wp.array:
        return wp.zeros(count, dtype=dtype, device=self.device)
