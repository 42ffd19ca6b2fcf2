"""Stepping grains and bodies: a team of CPU threads, or captured CUDA graphs."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import warp as wp
from scipy.spatial.transform import Rotation

from annelid.core.device import thread_count
from annelid.core.elements import scatter
from annelid.core.errors import InvalidValue, SimulationDiverged, StepTooLong
from annelid.core.kernels.worlds import begin_again
from annelid.core.launch import Team
from annelid.core.model_solver import ModelSolver
from annelid.core.relay import Leg, Relay, Task
from annelid.core.replay import Replay, Stage
from annelid.core.scenery import Scenery
from annelid.core.state import clone_state, copy_state, declared, restore_worlds, state_arrays
from annelid.core.variation import Parameter
from annelid.grains.growth import grow_lists, rounded_room
from annelid.grains.initial import initial_state
from annelid.grains.kernels.commands import expect_commands
from annelid.grains.kernels.layout import (
    BODY_OVERFLOW,
    BODY_TOO_FAST,
    HALTED,
    LIMIT,
    OVERFLOW,
    RESIDUAL,
    STALE,
    TOO_FAST,
    shared_by_teams,
)
from annelid.grains.kernels.shares import even_shares, new_claims
from annelid.grains.kernels.team import team_kernel
from annelid.grains.kernels.worlds import make_stale, place_bodies
from annelid.grains.launches import Launches
from annelid.grains.model import PATIENCE, Model, replaced_features
from annelid.grains.parameters import derive, follow, parameters_of, require_physical
from annelid.grains.paths import PathTable
from annelid.grains.pictures import SAND, Painter
from annelid.grains.readout import Readout
from annelid.grains.rigid import Solid
from annelid.grains.scenery import scenery_of
from annelid.grains.state import State
from annelid.grains.workspace import Workspace
from annelid.shapes import Obstacle
from annelid.shapes.values import as_vector, require_count

_BATCH, _CUDA_BATCH = 64, 16  # a graph of more steps takes longer to make than it saves
_QUEUE = 64  # batches that CUDA is given before the host looks at them
_GRAINS_A_THREAD = 200
_MOST_PARTS = 10_000  # of a step; who would need more has diverged
_MOST_PLACES = 100_000  # that a list can be given room for ahead of need


class Solver(ModelSolver[Model, Painter]):
    """Advances the state of a model.

    Args:
        model: The model.
        threads: CPU threads; None takes all cores.

    Attributes:
        readout: What reads states.
    """

    physics = "grains"
    state_type: ClassVar[type[State]] = State
    """Class of its states; one that declares more arrays is allocated, saved and restored like this one."""

    def __init__(self, model: Model, *, threads: int | None = None) -> None:
        self.model, self.device, self.worlds = model, model.device, model.world_count
        self.dt = model.dt
        self.threads = min(thread_count(threads), max(1, model.count // _GRAINS_A_THREAD))
        self.batch = _CUDA_BATCH if model.device.is_cuda else _BATCH
        self._team = None if self.device.is_cuda else Team(self.threads)
        self._relay = None if self._team is None else Relay(self._team)
        self._shares, self._claims = even_shares(model.count, self.threads), new_claims(self.threads)
        self._work = Workspace(model, self.state_type)
        self._companion: Callable[[Any], None] | None = None
        self._legs: Callable[[Any], Sequence[Leg] | None] | None = None
        self.readout = Readout(model)
        self._painter = Painter(model, self.readout)
        self._warned = False
        self._paths = PathTable(model, self._work.bodies)
        self._launches = Launches(model, self._work) if self.device.is_cuda else None

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """What can differ from world to world."""
        return parameters_of(self.model)

    def take_parameters(self, state: State, before: wp.array[Any], mask: wp.array[Any]) -> None:
        """Follow a change of parameters: masses are part of the rows, the rest is read at each batch of steps."""
        follow(self.model, self.bodies.forms, state, before, mask)

    def require_parameters(self, ranges: Mapping[str, tuple[float, float]]) -> None:
        """Refuse parameters that this method or these grains cannot have."""
        require_physical(self.model, ranges)

    # --- states ---

    def initial_state(self) -> State:
        """Grains and bodies as they were built."""
        return initial_state(self.state_type, self._work, self._paths)

    def reset(self, state: State, mask: wp.array[Any] | None = None) -> None:
        """Bring worlds back to their beginning; see `core.solver.Solver`."""
        if mask is None:
            copy_state(self._beginning, state, but="variation")
            self.unbind()
            self.begin_varied(self._beginning, state, self._every)
            return
        self.restore(self._beginning, state, mask)

    def restore(self, source: State, target: State, mask: wp.array[Any]) -> None:
        """Copy grains and bodies of some worlds from one state to another; their lists are made anew.

        Args:
            source: Where rows come from.
            target: Where they go to.
            mask: Which worlds, bool of shape [worlds].
        """
        if self.model.paths:
            raise InvalidValue(
                "worlds in which bodies follow a path, a function of time, begin again together: reset all of them."
            )
        restore_worlds(source, target, mask, self._world_of)
        self.begin_varied(source, target, mask)
        wp.launch(make_stale, self.worlds, [mask], [target.flags], device=self.device)
        wp.launch(begin_again, self.worlds, [mask, target.clock], [target.begun], device=self.device)
        self._note_beginnings(target)

    def begin_varied(self, source: State, target: State, mask: wp.array[Any]) -> None:
        """Let worlds that are as in another state follow their own parameters."""
        if target.variation.there:
            before = source.variation.values if source.variation.there else self._at_rest
            follow(self.model, self.bodies.forms, target, before, mask)

    def take_world(self, source: State, target: State, world: int) -> None:
        """Copy grains and bodies of one of several equal worlds into a state of one world; its lists are made anew."""
        there = state_arrays(target)
        for name, one in declared(self.state_type).items():
            count = len(there[name]) - one.spare
            if one.of in ("row", "body", "channel", "joint") and count > 0:
                wp.copy(there[name], state_arrays(source)[name], src_offset=world * count, count=count)
        first, guests = self.model.count - self.model.guests, self.model.guests
        names = target.names.numpy()[:, 0]
        own = np.where(names < first, names - world * (first // self.worlds), 0)
        own += np.where(names < first, 0, names - first + (first - world * guests) // self.worlds)
        target.names.assign(np.column_stack([own, np.zeros_like(own)]).astype(np.int32))
        target.counts.zero_()
        everything = wp.full(1, True, dtype=wp.bool, device=self.device)
        wp.launch(make_stale, 1, [everything], [target.flags], device=self.device)

    @cached_property
    def _world_of(self) -> dict[str, wp.array[Any]]:
        return self._work.world_of()

    def unbind(self) -> None:
        """Look at the arrays of a state anew, because some of them were replaced."""
        self._work.unbind()

    def reserve(self, state: State, places: int, body_places: int) -> None:
        """Give lists room for so many neighbours and bodies, ahead of need: while they grow, steps wait."""
        places, body_places = (
            require_count(name, given, least=0, most=_MOST_PLACES)
            for name, given in (("places", places), ("body_places", body_places))
        )
        self._bind(state)
        self._grow(state, places, body_places)

    def _grow(self, state: State, places: int, body_places: int) -> None:
        n = self.model.count
        room = max(len(state.neighbours) // n, rounded_room(places)), max(len(state.bodies) // n, body_places)
        grow_lists(state, n, self._work.row_counts(*room))
        self.unbind()
        self._bind(state)

    def _bind(self, state: State) -> bool:
        """Point at the arrays of a state; returns whether others were pointed at before."""
        moved, switched = self._work.bind(state), derive(self.model, state.variation)
        if moved:
            stage = Stage(expect_commands, (len(self.model.bodies), 6), [self.lists, self.bodies])
            self._expecting = Replay([stage], self.device, graph=False)
        if (moved or switched) and self._launches is not None:
            self._launches.forget()
            self._note_beginnings(state)
            if moved and self._work.falls_short(state):  # steps up to the next look would miss contacts
                self._launches.make_lists()
        return moved

    def _make_first_lists(self, state: State) -> None:
        """Make the lists that the next step begins with until there is room for them (CUDA).

        Graphs that are made before lists grow are of no use.
        """
        while self._launches is not None and state.flags.numpy()[STALE]:
            if self._launches.phases != (int(state.clock.numpy()[0]) % PATIENCE,):
                return
            self._launches.make_lists()
            self._make_room(state)

    def _note_beginnings(self, state: State) -> None:
        """Worlds that began at other steps are looked at in other steps."""
        if self._launches is not None:
            self._launches.begun = state.begun
            self._launches.phases = tuple(np.unique(state.begun.numpy() % PATIENCE).tolist())

    # --- steps ---

    def advance(self, state: State, steps: int) -> None:
        """Take steps."""
        if self._bind(state):
            self._make_first_lists(state)
        self.expect()
        if self.model.world.too_fast == "substep":
            for _ in range(steps):
                self._substep(state)
            return
        now = int(state.clock.numpy()[0])
        target = now + steps
        while now < target:
            now += self._run(min(target - now, self._paths.reach(now, self.dt)), now)
            if self._look_after(state):
                self._make_first_lists(state)
                now = int(state.clock.numpy()[0])

    @property
    def pushes(self) -> wp.array[Any]:
        """Impulses on each guest of the model, three vectors each.

        Those of the last step, linear [N s] and angular [N m s], and the impulse expected of the next one.
        """
        return self._work.pushes

    @property
    def touches(self) -> wp.array[Any]:
        """Contacts of each guest in the last step."""
        return self._work.touches

    @property
    def lists(self) -> Any:
        """The structure of the lists of the state that was stepped last."""
        return self._work.lists

    @property
    def bodies(self) -> Any:
        """The structure of the bodies of the state that was stepped last."""
        return self._work.bodies

    def accompany(
        self,
        companion: Callable[[Any], None],
        *,
        begin: Callable[[int], None] | None = None,
        end: Callable[[int], None] | None = None,
        legs: Callable[[Any], Sequence[Leg] | None] | None = None,
    ) -> None:
        """Let someone follow each step with `companion(grains)`, given the structure of the grains at its end.

        Whoever moves guests does it there. On CUDA it is called while steps are captured, and may only launch kernels.

        Args:
            companion: Who follows.
            begin: Called on CUDA before so many steps that are taken without a break.
            end: Called after them.
            legs: Gives what the companion would launch on a CPU, for a team that takes many steps without Python;
                None while it has to be called.
        """
        self._companion, self._legs = companion, legs
        if self._launches is not None:
            self._launches.companion, self._launches.around = companion, (begin, end)
            self._launches.forget()

    def expect(self) -> None:
        """Let contacts reckon with commands without a ramp that a companion has given since the last step."""
        if self.model.controls:
            self._expecting()

    def _run(self, steps: int, clock: int) -> int:
        """Take up to so many steps, fewer where lists do not fit; returns how many were to be taken."""
        steps = min(steps, self.batch if self._launches is None else _QUEUE * self.batch)
        if self._launches is not None:
            self._launches.run(steps, self.batch, clock)
        elif self._companion is None:
            self._team_steps(steps)
        else:
            self._accompanied_steps(steps, self._companion)
        return steps

    def _accompanied_steps(self, steps: int, companion: Callable[[Any], None]) -> None:
        """Take steps one by one on the CPU, each followed by the companion; none after one that did not fit."""
        if self._relayed_steps(steps):
            return
        flags = self._work.lists.flags.numpy()
        for _ in range(steps):
            self._team_steps(1)
            if flags[HALTED]:
                return
            companion(self._work.here)

    def _relayed_steps(self, steps: int) -> bool:
        """Take them without Python between them, if they and the companion allow for it; whether it was done."""
        legs = None if self._legs is None or self.model.features.bouncing else self._legs(self._work.here)
        if legs is None:
            return False
        assert self._relay is not None
        step = [Task(team_kernel(shared_by_teams(self.model.features)), self._team_inputs(1))]
        return self._relay.run([step, *legs], steps, (self._work.lists.flags, HALTED))

    def _substep(self, state: State) -> None:
        """Take one step, as several shorter ones while grains are fast."""
        clock, parts = int(state.clock.numpy()[0]), self._parts(state)
        self._set_step(self.dt / parts)
        self.bodies.pace.assign(np.array([[clock, 1.0 / parts]]))
        done = 0
        while done < parts:
            origin = clock * self.dt + done * self.dt / parts
            self._paths.reach(clock + done, self.dt / parts, origin if parts > 1 else None)
            self._run(parts - done, clock + done)
            done = int(state.clock.numpy()[0]) - clock
            self._look_after(state)
        state.clock.assign(np.array([clock + 1], np.int64))
        self.bodies.pace.assign(np.array([[0.0, 1.0]]))

    def _parts(self, state: State) -> int:
        """In how many smaller steps the next one is to be taken."""
        grains = float(state.reach.numpy()[LIMIT]) / self.model.parameters.smallest
        bodies = float((self._body_speeds(state) / self.model.rooms).max(initial=0.0))
        ways = 2.0 * self.dt * np.array([1.0, grains, bodies])  # in a step, in half of what may be gone
        if not np.isfinite(ways).all():  # whoever looks at the steps goes back to the last good one
            return 1
        parts = max(1, math.ceil(ways[1:].max()))
        if parts > _MOST_PARTS:
            step = int(state.clock.numpy()[0])
            raise SimulationDiverged(
                f"at t = {step * self.dt:.4g} s a step would be taken as {parts:.3g} smaller ones: "
                f"{self.describe_divergence(state)}.",
                time=step * self.dt,
                step=step,
            )
        return parts

    def _set_step(self, dt: float) -> None:
        if self.model.parameters.dt != np.float32(dt):
            self.model.parameters.dt = dt
            if self._launches is not None:
                self._launches.forget()

    def diverged_at(self) -> int | None:
        """First step whose result was not finite, None while all are."""
        step = int(self._work.trouble.numpy()[0])
        return step if step >= 0 else None

    def clear_divergence(self) -> None:
        """Forget a divergence, after the state was restored."""
        self._work.trouble.fill_(-1)
        self.unbind()  # lists of another length were replaced

    def describe_divergence(self, state: State) -> str:
        """The fastest grain or body and what helps, in words."""
        number, speed = self._fastest_body(state)
        if speed > self.readout.largest_speed(state):
            called = self.model.bodies[number].rigid.called(number % (len(self.model.bodies) // self.model.copies))
            return f"{called}, moves fastest, at {speed:.3g} m/s; a weaker force or torque, or a shorter step, helps"
        return f"{self._fastest(state)}; a shorter step{self._remedy} helps"

    def _fastest_body(self, state: State) -> tuple[int, float]:
        """Number of the body whose surface moves fastest, and how fast [m/s]; 0 at rest where there are none."""
        speeds = self._body_speeds(state)
        return (int(speeds.argmax()), float(speeds.max())) if len(speeds) else (0, 0.0)

    def _body_speeds(self, state: State) -> np.ndarray:
        """How fast the surface of each body moves at most [m/s]."""
        velocities, spins = (np.linalg.norm(a.numpy(), axis=1) for a in (state.body_velocities, state.body_spins))
        return velocities + spins * np.array([b.reach if isinstance(b, Solid) else 0.0 for b in self.model.bodies])

    def _fastest(self, state: State) -> str:
        speeds = np.abs(self.readout.velocities(state)).max(axis=1)[: self.model.count - self.model.guests]
        fastest = int(np.nanargmax(np.where(np.isnan(speeds), -1.0, speeds)))
        room = float(self.model.bed.radii[fastest]) / self.dt
        return (
            f"grain {fastest} moves fastest, at {speeds[fastest]:.3g} m/s along an axis; with a step of "
            f"{self.dt:.3g} s it passes its own radius at {room:.3g} m/s"
        )

    def scenery(self) -> Scenery:
        """What cameras and lidars can see; see `core.scenery.Visible`."""
        return scenery_of(self.model, self.readout, SAND)

    def _team_steps(self, steps: int) -> None:
        assert self._team is not None
        work = self._work
        if self.model.features.bouncing:
            wp.copy(work.here.starts, work.here.velocities)
        self._team.run(team_kernel(shared_by_teams(self.model.features)), self._team_inputs(steps))

    def _team_inputs(self, steps: int) -> list[Any]:
        work, model = self._work, self.model
        rows = [work.here, work.there, work.old, work.lists, work.kept, work.bodies]
        return [steps, model.sweeps, model.parameters, *rows, self._shares, self._claims]

    def _look_after(self, state: State) -> bool:
        """Make room for lists that did not fit; report grains that are too fast.

        Returns:
            Whether steps were left out because lists did not fit.
        """
        halted = self._make_room(state)
        if state.flags.numpy()[TOO_FAST] and self.model.world.too_fast != "substep":
            self._report_speed(state)
        return halted

    def _make_room(self, state: State) -> bool:
        """Make room for lists that did not fit; returns whether there were any."""
        flags = state.flags.numpy()
        if not flags[HALTED]:
            return False
        places, body_places = int(flags[OVERFLOW]), int(flags[BODY_OVERFLOW])
        if self.device.is_cuda:  # lists take long to grow, and room that is not used costs little
            places += 2 * places if self.model.guests else places // 2
        self._grow(state, places, body_places)
        return True

    @property
    def _remedy(self) -> str:
        there = self.model.guests or self.model.world.too_fast == "substep"
        return "" if there else ", or too_fast='substep'"

    def _report_speed(self, state: State) -> None:
        step = int(state.clock.numpy()[0])
        if state.flags.numpy()[TOO_FAST] == BODY_TOO_FAST:
            what, why = "body", f"what the thinnest body is thick, {self.model.rooms.min():.3g} m,"
        else:
            what, why = "grain", "its radius"
        sentence = (
            f"before t = {step * self.dt:.4g} s a {what} moved by more than {why} in a step, and may pass "
            f"through others{'' if what == 'body' else ': ' + self._fastest(state)}; use a shorter step{self._remedy}."
        )
        if self.model.world.too_fast == "stop":
            raise SimulationDiverged(sentence, time=step * self.dt, step=step)
        if not self._warned:
            warnings.warn(sentence, StepTooLong, stacklevel=4)
            self._warned = True

    # --- bodies ---

    def drive(self, state: State, body: Obstacle | int | str, velocity: Any = None, spin: Any = None) -> None:
        """Set how a driven body moves from now on, along and about axes that no control commands.

        Args:
            state: The state.
            body: The body or its name, in all worlds that it was copied to; or the number of a single one.
            velocity: Velocity of its centre of mass [m/s]; None leaves it as it is.
            spin: Angular velocity [rad/s]; None leaves it as it is.
        """
        numbers = self._movable(body, "driven")
        for place, value in ((0, velocity), (1, spin)):
            if value is not None:
                row = np.asarray(as_vector(("velocity", "spin")[place], value), np.float32)
                rows = np.tile(row, (len(numbers), 1))
                scatter(state.drives, 2 * numbers + place, rows)
                scatter((state.body_forecast, state.body_turning)[place], numbers, rows)

    def place(
        self,
        state: State,
        body: Obstacle | str,
        places: wp.array[Any],
        turns: wp.array[Any],
        mask: wp.array[Any],
    ) -> None:
        """Put a driven body somewhere else in masked worlds, as their episodes begin; grains there are pushed aside.

        Args:
            state: The state.
            body: The body or its name.
            places: Its centre of mass in each world [m], vec3 of shape [worlds], on the device.
            turns: How its frame is turned, quat of shape [worlds].
            mask: Which worlds, bool of shape [worlds].
        """
        numbers = self._movable(body, "driven")
        if len(numbers) != self.worlds:
            raise InvalidValue("bodies are put in places where they are in every world: give one world and worlds=n.")
        found = self.model.bodies[int(numbers[0])]
        assert isinstance(found, Solid)
        axes = wp.quat(*Rotation.from_matrix(found.axes).as_quat().tolist())
        inputs = [mask, int(numbers[0]), len(self.model.bodies) // self.worlds, axes, places, turns]
        moved = [state.places, state.turns, state.travel]
        wp.launch(place_bodies, self.worlds, inputs, moved, device=self.device)
        wp.launch(make_stale, self.worlds, [mask], [state.flags], device=self.device)

    def load(self, state: State, body: Obstacle | int | str, force: Any = (0, 0, 0), torque: Any = (0, 0, 0)) -> None:
        """Pull and turn a free body from now on, along and about axes that no control commands.

        Args:
            state: The state.
            body: The body or its name, in all worlds that it was copied to; or the number of a single one.
            force: Force on its centre of mass [N].
            torque: Torque [N m].
        """
        numbers = self._movable(body, "free")
        for place, value in enumerate((as_vector("force", force), as_vector("torque", torque))):
            scatter(state.loads, 2 * numbers + place, np.tile(np.asarray(value, np.float32), (len(numbers), 1)))

    def residual(self, state: State) -> float:
        """By how much one more sweep would change the relative velocity of a contact at most [m/s]."""
        if self.model.features.method != "nonsmooth":
            raise InvalidValue(f"only the nonsmooth method has a residual, not {self.model.features.method!r}.")
        solved = self.model.features.converging  # which look at what they change anyway
        model = self.model if solved else replaced_features(self.model, tolerant=True)
        probe = type(self)(model, threads=self.threads)
        other = clone_state(state)
        probe.advance(other, 1)
        return float(other.reach.numpy()[RESIDUAL])

    def _movable(self, body: Obstacle | int | str, motion: str) -> np.ndarray:
        number = self.model.number(body)
        found = self.model.bodies[number]
        if not (isinstance(found, Solid) and found.rigid.moves == motion) or number in self.model.paths:
            raise InvalidValue(f"body {number} is not {motion}: give it motion={motion!r} and no path.")
        return self.model.numbers(body)
