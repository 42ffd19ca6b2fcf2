"""The arrays of a motion that is run there and back, and the launches that do it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
import warp as wp

from annelid.core.adjoint import Plan, Stretch
from annelid.core.launch import Team
from annelid.core.replay import Graphs
from annelid.core.state import overwrite
from annelid.springs.adjoint.constants import GROUND, Constants
from annelid.springs.adjoint.kernels.back import begin_kernel, chunk_kernel, step_kernel, team_back
from annelid.springs.adjoint.kernels.gather import CUDA_GROUP, Way
from annelid.springs.adjoint.kernels.ledger import ledger_of, pick_kernel, place_kernel, shelf_of
from annelid.springs.adjoint.kernels.resisting import ROWS
from annelid.springs.adjoint.kernels.signals import CHUNK_LANES, Kinds, signal_kernel, term_kernel
from annelid.springs.adjoint.kernels.there import (
    PLACE,
    course_of,
    factor_kernel,
    keep_kernel,
    lay_kernel,
    load_kernel,
    sight_of,
    stretch_kernel,
)
from annelid.springs.adjoint.places import Chunks, Places
from annelid.springs.adjoint.sides import AHEAD, Side, row_count
from annelid.springs.kernels.program import pass_kernel
from annelid.springs.model import Model
from annelid.springs.sand import entries_of_triangles

_BLOCK = 128
_AROUND = ("gravity", "velocity_damping", "drag", "friction", "sliding_friction", "contact_stiffness")


class Motion:
    """Checkpoints, the kept states of a stretch, looks and the ledger of a model.

    Args:
        model: The model, whose constants are overwritten.
        plan: How the motion is divided.
        threads: CPU threads.
        places: Where rates by springs are booked.
        chunks: Springs by their signals.
        kinds: Kinds of the signals that follow commands and waves.
        commands: Commands then.
        begun: Step at which each world began.
    """

    def __init__(
        self,
        model: Model,
        plan: Plan,
        threads: int,
        places: Places,
        chunks: Chunks,
        kinds: Kinds,
        commands: wp.array[Any],
        begun: wp.array[Any],
    ) -> None:
        self.model, self.device = model, model.device
        self.way: Way | None = None
        self._plan, self._places, self._kinds = plan, places, kinds
        self._clock = 0  # steps that the simulation has done when the motion begins
        self._team = None if self.device.is_cuda else Team(threads)
        self._graphs = Graphs(self.device, kept=12)
        self._where = np.zeros(len(PLACE), np.int32)
        self._rows = row_count(plan, both=self._team is None)
        self.course = self._course()
        self._entries = wp.array(model.rows.springs, dtype=wp.int32, device=self.device)
        self._trouble = self._zeros(1, wp.int64)
        self._sides = self._new_sides(commands, begun)
        self._at_hand: int | None = None  # number of a stretch that was run again beside the way back of the next one
        self._beside = wp.Stream(self.device) if self.device.is_cuda else None
        self.ledger, self._shelf = self._ledger(chunks), self._new_shelf()
        self.by_ground = self._zeros((0, 0), model.types.real)  # rates by ground that resists, see `kernels.resisting`
        self._of_springs = wp.array(places.of_springs, dtype=wp.int32, device=self.device)
        self._before: Constants | None = None  # numbers that were taken over last
        self._as_built = True  # whether springs have the constants of the simulation
        self._fill_places()
        if model.features.own:
            self._own_surroundings()

    # --- parameters ---

    def take(self, now: Constants, way: Way, clock: int) -> None:
        """Take numbers over, and make the state of the beginning, after so many steps, checkpoint 0."""
        model, real, self._clock = self.model, self.model.numpy_real, clock
        if way != self.way:
            self.way = way
            self._graphs.clear()
            self._book()
        if way.constants or not self._as_built:
            self._lay(model.arrays.elastic, np.stack([now.stiffness, now.stiffness * now.rest_lengths], axis=-1))
            if model.features.damped:
                self._lay(model.arrays.damping, now.damping)
            self._as_built = not way.constants
            self._fill_places()
        before, self._before = self._before, None
        if model.features.pushed and not _alike(before, now, "forces"):
            self._assign("forces", now.forces.reshape(-1, 3).astype(real), model.types.vec3)
        if not _alike(before, now, *_AROUND):
            self._set_surroundings(now)
        if model.world.sand is not None and not _alike(before, now, *GROUND):
            self._set_ground(now)
        course = self.course
        if not _alike(before, now, "masses"):
            course.inverse_masses.assign(np.where(model.one.fixed, 0.0, 1.0 / now.masses).ravel().astype(real))
        for saved, values in ((course.saved_positions, now.positions), (course.saved_velocities, now.velocities)):
            saved[0].assign(values.reshape(-1, 3).astype(real))
        if model.features.actuated:
            if not _alike(before, now, "signals"):
                course.signals.assign(np.ascontiguousarray(now.signals))
            self._set_table(now.controls)
        self._before = now

    def _fill_places(self) -> None:
        """Bring the numbers of springs to their places, where these are read there."""
        if self.device.is_cpu:
            features = self.model.features
            fill = place_kernel(self.model.types, features.damped, features.actuated)
            inputs = [self._places.width, self.model.arrays, self.ledger, self._shelf]
            wp.launch(fill, self.model.mass_count, inputs, device=self.device)

    def _lay(self, entries: wp.array[Any], values: np.ndarray) -> None:
        """Write numbers of springs, shape [worlds, s, ...], to the entries of rows."""
        springs = values.astype(self.model.numpy_real, order="C").reshape(-1, *values.shape[2:])
        given = wp.array(springs, dtype=entries.dtype, device=self.device)
        inputs = [self._entries, given]
        wp.launch(lay_kernel(entries.dtype), len(self._entries), inputs, [entries], device=self.device)

    def _assign(self, name: str, values: np.ndarray, dtype: Any) -> None:
        """Write an array of the model; one of another length moves, and graphs captured before are void."""
        here = getattr(self.model.arrays, name)
        if here is not None and len(here) == len(values):
            here.assign(values)
        else:
            setattr(self.model.arrays, name, wp.array(values, dtype=dtype, device=self.device))
            self._graphs.clear()

    def _own_surroundings(self) -> None:
        """Give each world its own obstacles and parameters, which begin as those of all."""
        arrays, types, worlds = self.model.arrays, self.model.types, self.model.worlds
        for name, kind in (("obstacles", types.Obstacle), ("parameters", types.Parameters)):
            self._assign(name, np.tile(getattr(arrays, name).numpy(), worlds), kind)

    def _set_surroundings(self, now: Constants) -> None:
        """Write gravity, drag and the constants of obstacles."""
        arrays = self.model.arrays
        around = arrays.parameters.numpy().copy()
        around["gravity"] = now.gravity
        around["velocity_damping"], around["drag"] = now.velocity_damping, now.drag
        arrays.parameters.assign(around)
        if now.friction.shape[1]:
            obstacles = arrays.obstacles.numpy().copy()
            obstacles["friction"], obstacles["sliding_friction"] = now.friction.ravel(), now.sliding_friction.ravel()
            obstacles["stiffness"] = now.contact_stiffness.ravel()
            arrays.obstacles.assign(obstacles)

    def _set_ground(self, now: Constants) -> None:
        """Write the numbers of ground that resists."""
        sand = self.model.arrays.sand.numpy().copy()
        for name in GROUND:
            sand["ground"][name.removeprefix("ground_")] = vars(now)[name][0]
        self.model.arrays.sand.assign(sand)

    def _set_table(self, controls: np.ndarray | None) -> None:
        """Take a table of commands over; none holds the commands of the state."""
        shape = (self.model.worlds, 0, 1) if controls is None else controls.shape
        if self.course.table.shape != shape:
            self.course.table = self._zeros(shape, wp.float64)
            self.ledger.by_controls = self._zeros(shape, wp.float64)
            self._graphs.clear()
        if controls is not None:
            self.course.table.assign(np.ascontiguousarray(controls))
            self.course.interval = self._plan.interval(controls)

    # --- there ---

    def run(self, stretch: Stretch, *, again: bool) -> None:
        """Run a stretch from its checkpoint; the first time, leave the next one and look."""
        if again and self._at_hand == stretch.number:
            return
        self._at_hand = None
        if stretch.number == 0 and not again:
            self._trouble.fill_(-1)
        side = self._sides[0]
        self._stand(stretch, side, fresh=not again)
        if self._team is not None:
            arguments = [stretch.count, self.model.arrays, side.work, side.sight, self.course]
            self._team.run(stretch_kernel(self.model.features), arguments)
            return
        seen = (self._plan.rows[stretch.first + 1 : stretch.first + stretch.count] >= 0).any()
        kept = 0 if again else stretch.count if seen else 1  # rows from the last that are looked at
        self._graphs.run(("there", stretch.count, kept), lambda: self._enqueue(stretch.count, kept))

    def _stand(self, stretch: Stretch, side: Side, *, fresh: bool) -> None:
        """Tell the device where the motion stands on a side."""
        self._where[:] = stretch.first, stretch.number, fresh, stretch.last
        overwrite(side.sight.place, self._where)
        if self.device.is_cuda:
            side.work.clock.fill_(self._clock + stretch.first)
        else:
            side.work.clock.numpy()[0] = self._clock + stretch.first

    def _enqueue(self, steps: int, kept: int) -> None:
        """Launch the steps of a stretch (CUDA)."""
        side = self._sides[0]
        self._enqueue_begin(side, steps)
        self._enqueue_steps(side, range(steps))
        if kept:
            size, inputs = (kept, self.model.mass_count), [steps + 1 - kept, steps, side.sight, self.course]
            wp.launch(keep_kernel(self.model.types), size, inputs, device=self.device)

    def _enqueue_begin(self, side: Side, steps: int) -> None:
        """Launch what comes before the first step of a stretch (CUDA)."""
        model, course = self.model, self.course
        inputs = [side.rows[0], side.sight, course]
        wp.launch(load_kernel(model.types), model.mass_count, inputs, device=self.device)
        if model.features.actuated:
            size, inputs = (steps, model.signal_count * model.worlds), [model.arrays, side.work, side.sight, course]
            wp.launch(factor_kernel(model.features), size, inputs, device=self.device)

    def _enqueue_steps(self, side: Side, steps: range) -> None:
        """Launch some steps of a stretch (CUDA)."""
        model, course = self.model, self.course
        kernel, threads = pass_kernel(model.features, "symplectic", model.lanes), self._threads_of_masses
        for step in steps:
            here, after = ([course.xs[row], course.vs[row]] for row in side.rows[step : step + 2])
            self._launch(kernel, threads, [model.arrays, side.work, step, step, *here, *here, *after])

    @property
    def _threads_of_masses(self) -> int:
        return -(-self.model.mass_count * self.model.lanes // _BLOCK) * _BLOCK

    def diverged_at(self) -> int | None:
        """Step of the motion after which a velocity was not finite, None while all were; waits for the device."""
        step = int(self._trouble.numpy()[0])
        return step - self._clock if step >= 0 else None

    # --- back ---

    def turn(self, positions: wp.array[Any], velocities: wp.array[Any]) -> None:
        """Forget the rates of the last time, and take over what the loss says at the looks."""
        sight = self._sides[0].sight  # the other side's seeds are the same
        wp.copy(sight.position_seeds, positions)
        wp.copy(sight.velocity_seeds, velocities)
        ledger = self.ledger
        for array in (
            ledger.position_bars, ledger.velocity_bars, ledger.by_stiffness, ledger.by_tension, ledger.by_damping,
            ledger.by_pull, ledger.by_mass, ledger.by_friction, ledger.by_contact, ledger.by_controls,
            ledger.by_signals, self.by_ground,
        ):  # fmt: skip
            array.zero_()

    def reverse(self, stretch: Stretch, before: Stretch | None) -> None:
        """Run a stretch back whose states are kept; on CUDA run the one before it again meanwhile."""
        assert self.way is not None
        if self._team is not None:
            side = self._sides[0]
            arguments = [stretch.count, self.model.arrays, side.work, side.sight, self.course, self.ledger, self._shelf]
            self._team.run(team_back(self.model.features, self.way, self._kinds), arguments)
            return
        turned = self._plan.checkpoints - 1 - stretch.number  # stretches that were run back
        here, other = (self._sides[number % len(self._sides)] for number in (turned, turned + 1))
        again = 0
        if before is not None:
            self._stand(before, other, fresh=False)
            self._at_hand, again = before.number, before.count
        key = ("back", turned % 2, stretch.count, again)
        self._graphs.run(key, lambda: self._enqueue_back(here, stretch.count, other, again))

    def _enqueue_back(self, here: Side, steps: int, other: Side, again: int) -> None:
        """Launch the steps of a stretch from its last to its first, and those of the one before it, if any (CUDA).

        The latter write where states have been read for the last time: see `sides`.
        """
        model, way, course = self.model, self.way, self.course
        assert way is not None
        given = [model.arrays, here.work, here.sight]
        end, last = here.rows[steps], here.rows[steps - 1]
        states = [course.xs[last], course.vs[last], course.vs[end]]
        self._launch(begin_kernel(model.features, way.own), model.mass_count, [steps, *given, *states, self.ledger])
        if again:
            with self._aside():
                self._enqueue_begin(other, again)
        for turned in range(0, steps, AHEAD):
            if turned < again:
                with self._aside():
                    self._enqueue_steps(other, range(turned, min(turned + AHEAD, again)))
            self._enqueue_steps_back(here, range(steps - 1 - turned, max(steps - 1 - turned - AHEAD, -1), -1), steps)
        if way.factors:
            self._enqueue_rates_by_signals(here, steps)
        if again and self._beside is not None:
            wp.get_stream(self.device).wait_stream(self._beside)

    def _aside(self) -> AbstractContextManager[object]:
        """What is launched within waits for what was launched before, but nothing after it waits for that."""
        return nullcontext() if self._beside is None else wp.ScopedStream(self._beside)

    def _enqueue_steps_back(self, side: Side, steps: range, count: int) -> None:
        """Launch some steps of a stretch of so many, each run back (CUDA)."""
        model, way, course, rows, threads = self.model, self.way, self.course, side.rows, self._threads_of_masses
        assert way is not None
        kernel = step_kernel(model.features, way, model.lanes, self._lanes, single=len(model.world.contacts) == 1)
        for step in steps:
            states = [array[rows[state]] for state in (max(step - 1, 0), step) for array in (course.xs, course.vs)]
            size = threads + (self._threads_of_chunks if step < count - 1 else 0)
            self._launch(kernel, size, [step, threads, model.arrays, side.work, side.sight, *states, self.ledger])

    def _enqueue_rates_by_signals(self, side: Side, steps: int) -> None:
        """Launch what is left when all steps of a stretch are run back, where rates by signals are asked for (CUDA)."""
        model, course, ledger = self.model, self.course, self.ledger
        self._launch(chunk_kernel(model.types, self._lanes), self._threads_of_chunks, [ledger])
        fill, add = term_kernel(model.features, self._kinds), signal_kernel(model.features, self._kinds)
        size, inputs = (steps, model.signal_count * model.worlds), [model.arrays, side.work, course, ledger]
        wp.launch(fill, size, inputs, device=self.device)
        size, inputs = (model.worlds, model.signal_count), [steps, model.arrays, side.work, side.sight, course, ledger]
        wp.launch(add, size, inputs, device=self.device)

    @property
    def _lanes(self) -> int:
        """Threads that share a chunk."""
        return CHUNK_LANES if self.device.is_cuda else 1

    @property
    def _threads_of_chunks(self) -> int:
        return -(-self.ledger.by_chunk.shape[1] * self._lanes // _BLOCK) * _BLOCK

    def booked(self, array: wp.array[Any]) -> np.ndarray:
        """What an array of the ledger holds of each spring, shape [worlds, s]."""
        picked = self._zeros(len(self._of_springs), array.dtype)
        inputs = [self._of_springs, array]
        wp.launch(pick_kernel(array.dtype), len(picked), inputs, [picked], device=self.device)
        return np.asarray(picked.numpy(), float).reshape(self.model.worlds, -1)

    def _launch(self, kernel: wp.Kernel, size: int, arguments: Sequence[Any]) -> None:
        wp.launch(kernel, size, arguments, device=self.device, block_dim=_BLOCK)

    # --- arrays ---

    def _zeros(self, shape: Any, dtype: Any) -> wp.array[Any]:
        return wp.zeros(shape, dtype=dtype, device=self.device)

    def _course(self) -> Any:
        """Checkpoints, the states of a stretch, looks and signals."""
        model, types, plan, count = self.model, self.model.types, self._plan, self.model.mass_count
        course = course_of(types)()
        course.inverse_masses = self._zeros(count, types.real)
        saved, looks = len(plan.stretches), len(plan.looks)
        sizes = {"saved_positions": saved, "saved_velocities": saved, "vs": self._rows}
        sizes |= {"positions": looks, "velocities": looks}
        for name, rows in sizes.items():
            setattr(course, name, self._zeros((rows, count), types.vec3))
        course.xs = self._zeros((self._rows, count), types.vec4)
        course.signals = self._zeros((model.worlds, model.signal_count), wp.vec4d)
        course.table, course.interval = self._zeros((model.worlds, 0, 1), wp.float64), 1
        return course

    def _new_sides(self, commands: wp.array[Any], begun: wp.array[Any]) -> tuple[Side, ...]:
        """The side of a stretch, and another where one is run again while another is run back."""
        rows = range(self._rows)
        shape = (len(self._plan.looks), self.model.mass_count)
        seeds = [self._zeros(shape, self.model.types.vec3) for _ in range(2)]
        looks = wp.array(self._plan.rows, dtype=wp.int32, device=self.device)
        orders = (rows, rows[::-1]) if self._rows > self._plan.every + 1 else (rows,)
        return tuple(Side(order, self._scratch(commands, begun), self._new_sight(looks, *seeds)) for order in orders)

    def _new_sight(self, rows: wp.array[Any], position_seeds: wp.array[Any], velocity_seeds: wp.array[Any]) -> Any:
        """Where the motion stands, and rates of the loss by what it sees."""
        sight = sight_of(self.model.types)()
        sight.place, sight.rows = self._zeros(len(PLACE), wp.int32), rows
        sight.position_seeds, sight.velocity_seeds = position_seeds, velocity_seeds
        return sight

    def _new_shelf(self) -> Any:
        """What a CPU computes with."""
        types, shelf = self.model.types, shelf_of(self.model.types)()
        here = self.device.is_cpu
        places, count = (self._places.count, self.model.mass_count) if here else (0, 0)
        shelf.first_owned = wp.array(self._places.first_owned, dtype=wp.int32, device=self.device)
        for name in ("offsets", "signals"):
            setattr(shelf, name, self._zeros(places, wp.int32))
        for name in ("stiffness", "tensions", "damping"):
            setattr(shelf, name, self._zeros(places, types.real))
        for name in ("position_sums", "velocity_sums"):
            setattr(shelf, name, self._zeros(count, types.vec3))
        shelf.efforts = self._zeros(count, types.real)
        return shelf

    def _scratch(self, commands: wp.array[Any], begun: wp.array[Any]) -> Any:
        model, count = self.model, self.model.mass_count
        work = model.types.Work()
        work.clock, work.trouble = self._zeros(1, wp.int64), self._trouble
        work.commands, work.begun = commands, begun
        work.forces = self._zeros(0 if self.device.is_cuda else count, model.types.vec3)
        width = model.signal_count * model.worlds if model.features.actuated else 0
        work.factors = self._zeros(self._plan.every * width, model.types.real)
        return work

    def _ledger(self, chunks: Chunks) -> Any:
        """The ledger without the rates that are booked only where they are asked for."""
        model, types, count = self.model, self.model.types, self.model.mass_count
        ledger = ledger_of(types)()
        ledger.first_places = wp.array(self._places.first, dtype=wp.int32, device=self.device)
        for name in ("position_bars", "velocity_bars"):
            setattr(ledger, name, self._zeros(count, types.vec3))
        ledger.pulls, ledger.speeds = self._zeros((2, count), types.vec4), self._zeros((2, count), types.vec4)
        table = chunks.table.reshape(-1, 3)
        ledger.chunks = wp.array(table, dtype=wp.vec3i, device=self.device) if len(table) else self._zeros(0, wp.vec3i)
        members = self._places.of_springs.reshape(model.worlds, -1)[:, chunks.members]
        ledger.members = wp.array(np.ascontiguousarray(members), dtype=wp.int32, device=self.device)
        ledger.first_chunks = wp.array(chunks.first, dtype=wp.int32, device=self.device)
        ledger.by_controls = self._zeros((model.worlds, 0, 1), wp.float64)
        ledger.by_signals = self._zeros((model.worlds, model.signal_count), wp.vec3d)
        return ledger

    def _book_ground(self, masses: int) -> None:
        """Make room for the rates by ground that resists, and for those that triangles hand on."""
        model, types = self.model, self.model.types
        self.by_ground = self._zeros((ROWS if model.features.resisted else 0, masses), types.real)
        if model.features.resisted:
            mates = entries_of_triangles(model.body)
            entries = self._zeros((2, mates.size), types.vec3)
            model.bind_rates(self.by_ground, entries, wp.array(mates, dtype=wp.vec3i, device=self.device))

    def _book(self) -> None:
        """Make room for the rates that are asked for."""
        assert self.way is not None
        way, ledger, types, count = self.way, self.ledger, self.model.types, self.model.mass_count
        masses = count if way.own else 0
        booked = {"stiffness": way.stiffness, "tension": way.tensions, "damping": way.dashpots and way.damped}
        for name, asked in booked.items():
            setattr(ledger, f"by_{name}", self._zeros(self._places.count if asked else 0, types.real))
        ledger.by_pull, ledger.by_mass = self._zeros(masses, types.vec4), self._zeros(masses, types.vec4)
        obstacles = len(self.model.world.contacts)
        for name in ("by_friction", "by_contact"):
            setattr(ledger, name, self._zeros((obstacles, masses), types.real))
        self._book_ground(masses)
        ledger.by_factor = self._zeros((2, self._places.count if way.factors else 0), types.real)
        chunks = len(ledger.chunks) * self.model.worlds if way.factors else 0
        ledger.by_chunk = self._zeros((self._plan.every, chunks), types.real)
        terms = 3 * self._plan.every * self.model.worlds * self.model.signal_count
        ledger.terms = self._zeros(terms if way.factors and self._places.width == CUDA_GROUP else 0, wp.float64)


def _alike(before: Constants | None, now: Constants, *names: str) -> bool:
    """Whether numbers are the very arrays that were taken over last, as those of the simulation are; then they stay."""
    return before is not None and all(vars(before)[name] is vars(now)[name] for name in names)
