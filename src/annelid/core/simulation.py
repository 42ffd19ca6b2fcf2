"""The run loop: owns a solver and a state, advances them here or in a thread of their own, and lets others look."""

from __future__ import annotations

import atexit
import inspect
import sys
import threading
import warnings
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from types import NoneType
from typing import Any, Generic, TypeVar

import numpy as np
import warp as wp

from annelid.core.archives import Arrays
from annelid.core.checkpoint import load_checkpoint, save_checkpoint
from annelid.core.controls import Controls
from annelid.core.described import Described
from annelid.core.errors import AnnelidError, InvalidValue, LeftBehind, forget_locals
from annelid.core.events import Breakpoint, Event
from annelid.core.files import as_path
from annelid.core.gate import Gate
from annelid.core.interrupts import held_back, raise_noted
from annelid.core.march import SECONDS_BETWEEN_CHECKS, March, Watch
from annelid.core.numbers import is_number
from annelid.core.options import require_callable, require_kind, require_words
from annelid.core.pacing import Act, Pacer, Rhythm, interval_in_steps, whole_steps
from annelid.core.progress import Progress, Told
from annelid.core.recipe import Recipe, Remade
from annelid.core.recording import Recorder
from annelid.core.runs import Runs
from annelid.core.sealed import Sealed
from annelid.core.sensors import Sensors
from annelid.core.showing import Shown
from annelid.core.snapshot import Look, Number, Part, Snapshot
from annelid.core.solver import Changing, Controllable, Limited, Solver, editable
from annelid.core.stability import StepReport
from annelid.core.state import fill_state, require_fit, state_arrays, state_hash
from annelid.core.summary import Summary
from annelid.core.variation import NEEDED
from annelid.core.world_parameters import Parameters, require_parameters

S = TypeVar("S", bound=Solver)
Observer = Callable[["Simulation[Any]"], None]


class Simulation(Remade, Shown, Described, Sealed, Generic[S]):
    """A solver, its state, and the loop that advances them.

    Args:
        solver: The solver; its initial state is where the simulation begins.

    Attributes:
        attachments: Things that belong to it: optimisers, controllers; by name.
        marks: What its pictures show beside what is simulated, such as a place to reach.
        controls: Channels that take commands, such as `simulation.controls["leg"] = 1.1`.
        sensors: Named readings on the device; `simulation.sensors.add(name, sensor)` adds one.
        parameters: Numbers in which worlds may differ: `simulation.parameters["friction"] = [0.8, 1.2]`, or drawn at
            random by `simulation.parameters.randomise({"friction": Uniform(0.8, 1.2)})`.
    """

    _settable = ("marks",)

    def __init__(self, solver: S) -> None:
        self.solver = solver
        self._march = March(solver)
        # Both stay, runs change them in place: whoever reads them refers to them and not back to the simulation, whose
        # memory is free as soon as the last reference to it is dropped.
        now, good = self._march.state, self._march.good
        self.attachments: dict[str, Any] = {}
        self.marks: tuple[Part, ...] = ()
        self.gate = Gate()
        self._recordings: list[_Recording] = []
        self._runs = Runs()
        self.controls = self._controls(now, good)
        self.sensors = sensors = Sensors(solver, lambda: now, self.gate)
        self.parameters = Parameters(solver, lambda: (now, good), self.gate, lambda: sensors.noisy)

    # --- where it stands ---

    @property
    def state(self) -> Any:
        """The state of now; runs change it in place."""
        return self._march.state

    @property
    def events(self) -> list[Event]:
        """What has happened in it: springs that broke..."""
        return self._march.events

    @property
    def dt(self) -> float:
        """Time step [s]."""
        return self.solver.dt

    @property
    def step_count(self) -> int:
        """Steps taken since the beginning."""
        return self._march.steps

    @property
    def time(self) -> float:
        """Simulated time [s]."""
        return self._march.time

    @property
    def running(self) -> bool:
        """Whether it advances in its own thread."""
        return self._runs.running

    @property
    def fields(self) -> tuple[str, ...]:
        """Names of the scalars that snapshots can be coloured by."""
        return self.solver.fields

    @property
    def limitation(self) -> str:
        """What its physics does not do yet and whoever watches would expect, in a sentence; empty if nothing."""
        return self.solver.limitation if isinstance(self.solver, Limited) else ""

    def facts(self) -> Mapping[str, str]:
        """Which physics, where it stands and where it is computed."""
        worlds = {"worlds": str(self.solver.worlds)} if self.solver.worlds > 1 else {}
        return {
            "of": self._package,
            "at": f"{self.time:.6g} s",
            "step": str(self.step_count),
            "dt": f"{self.dt:.3g} s{self.explain_step().because}",
            **worlds,
            "on": str(self.solver.device),
        }

    @property
    def _package(self) -> str:
        """Name of the package of its physics."""
        return type(self.solver).__module__.split(".")[1]

    def _instead(self, name: str) -> str | None:
        """How else what a name means can be set."""
        ways = []
        build = vars(sys.modules.get(f"annelid.{self._package}", object)).get("simulation")
        if build is not None and name in inspect.signature(build).parameters:
            ways.append(f"It is an option of {self._package}.simulation(...).")
        for what, channels in (("parameters", self.parameters), ("controls", self.controls)):
            if name in channels:
                ways.append(f"simulation.{what}[{name!r}] is its {channels.facts()[name]}.")
            elif name == what:
                ways.append(f"Set them by name, such as simulation.{what}[{next(iter(channels), 'name')!r}].")
        if name not in self.parameters and name in NEEDED:
            ways.append(f"As a parameter of the simulation it needs {NEEDED[name]}.")
        return " ".join(ways) or None

    def explain_step(self) -> StepReport:
        """What limits the time step, where, and what to change for a longer one; print it."""
        return self.solver.explain_step()

    # --- advancing it from here ---

    def step(self, count: int = 1) -> Event | None:
        """Take a number of steps; a breakpoint or a pause on the way ends them early and is returned as an event.

        Threads that call this, `run` or `start` at the same time take turns: each adds its own steps.
        """
        if not (is_number(count) and count >= 0 and count % 1 == 0):
            raise InvalidValue(f"the number of steps must be a whole number of 0 or more, not {count!r}.")
        with self._advancing():
            return self._advance(self.step_count + int(count), None)

    def run(self, seconds: float, *, progress: Progress | bool | None = None) -> Event | None:
        """Simulate for some time, rounded to whole steps; a breakpoint or a pause on the way ends it early.

        Args:
            seconds: Simulated time to add [s].
            progress: A progress display, True for one of its own, or None for none.

        Returns:
            The event that ended it early, or None.
        """
        if not (is_number(seconds) and seconds >= 0.0):
            raise InvalidValue(f"seconds must be a time of 0 or more, not {seconds!r}.")
        require_kind("progress", progress, (Told, bool, NoneType), "a Progress, True or None")
        with self._advancing():
            goal = self.step_count + round(float(seconds) / self.dt)
            if progress is True:
                with Progress("simulating", seconds) as display:
                    ended = self._advance(goal, display)
                    display.done(self.time)
                    return ended
            return self._advance(goal, progress or None)

    def run_for(self, seconds: float, *, most: int | None = None) -> Event | None:
        """Take one turn of the run loop: for loops that also do other work between turns, such as the viewer's.

        Args:
            seconds: Wall time to spend [s]; the first turns spend less, until the speed is known, and a turn ends when
                an observer was called.
            most: Take no more steps than these, 1 or more; None leaves their number open.

        Returns:
            The event of a breakpoint or a pause on the way, which ends it early, or None.
        """
        if not (is_number(seconds) and seconds > 0.0):
            raise InvalidValue(f"seconds must be a positive wall time, not {seconds!r}.")
        if most is not None and not (is_number(most) and most >= 1 and most % 1 == 0):
            raise InvalidValue(f"most must be a whole number of at least one step, not {most!r}.")
        with self._advancing():
            return self._take_turn(float(seconds), None if most is None else int(most))

    # --- advancing it in its own thread ---

    def start(self) -> None:
        """Advance in a thread of its own, as fast as it can, until a breakpoint, `pause` or `stop`; returns at once.

        While another thread is in `run` or `step`, this waits for it. Of several threads that start it one does; the
        others are refused.
        """
        self._refuse_inside("start")
        self._require_idle()
        with self.gate:
            self._require_idle()
            thread = threading.Thread(target=_background, args=(weakref.ref(self),), daemon=True, name="annelid-run")
            _ALIVE.add(self)
            self.gate.busy = True
            try:
                self._runs.begin(thread)
            except BaseException:
                self.gate.busy = False
                raise

    def resume(self) -> None:
        """Go on after a breakpoint or a pause."""
        self.start()

    def pause(self) -> Event:
        """Stop between two steps and return the event that stopped it; errors of the run are raised here, once.

        In an observer or a condition it returns at once, and the run ends after this step, also one by `run` or `step`.
        """
        return self._end_run("paused")

    def stop(self) -> Event:
        """End the run as `pause` does; the simulation can still be stepped, read, edited and started again."""
        return self._end_run("stopped")

    def breakpoint(self, *, at: float | None = None, when: Any = None, name: str = "") -> Breakpoint:
        """Stop at a time [s], exactly at that step, or as soon as a condition holds.

        Args:
            at: Simulated time [s]; it must not have passed.
            when: A condition that the physics package understands, evaluated on the device after every step, or a
                Python function `simulation -> bool`, called some twenty times a second, between two steps.
            name: Name that identifies it.
        """
        if (at is None) == (when is None):
            raise InvalidValue("a breakpoint needs either a time (at=...) or a condition (when=...).")
        with self.gate:
            return self._march.breakpoint_at(at, name) if at is not None else self._march.breakpoint_when(when, name)

    def clear_breakpoint(self, point: Breakpoint) -> None:
        """Forget a breakpoint; one that was reached is forgotten already."""
        require_kind("what is cleared", point, Breakpoint, "a breakpoint, as simulation.breakpoint(...) returns it")
        with self.gate:
            self._march.drop(point)

    def wait(self, timeout: float | None = None) -> Event:
        """Wait until the run stops and return why, at once if it has stopped already.

        An error that ended the run is raised once: in every thread that was waiting for it, or in the first that asks.
        In an observer or a condition, which the run itself waits for, it ends the run after this step, as `pause` does.
        """
        if self._runs.inside:
            return self._end_run(self._runs.wish or "paused")
        self._require_gate_free()
        return self._runs.wait(timeout)

    # --- looking and touching ---

    def observe(self, callback: Observer, *, every: float) -> None:
        """Call `callback(simulation)` each time that `every` seconds [s] of simulated time have passed, from now on.

        Where that is no multiple of the time step, it is called at the nearest step each time.
        """
        if not callable(callback):
            raise InvalidValue(f"an observer must be a function of the simulation, not {callback!r:.60}.")
        steps = interval_in_steps(every, self.dt)
        with self.gate:
            self._march.watches.append(Watch(callback, Rhythm(steps, self.step_count)))

    def record(
        self,
        path: str | PathLike[str],
        *,
        every: float,
        fields: Sequence[str] | None = None,
        look: Look | None = None,
        **header: Any,
    ) -> Recorder:
        """Record a snapshot now and each `every` seconds [s] of simulated time; close the result to end it.

        Where the simulation jumps, by `load` or `reset`, a new segment of the recording begins.

        Args:
            path: File to write, FILE.rec.
            every: Simulated time between two frames [s]; each is taken at the nearest step.
            fields: Scalars to record, the one that is shown first in front, or the name of one; None for all of
                `simulation.fields`.
            look: What is recorded besides the surface, and which fields, instead of `fields`.
            header: Further entries of the header of the file: `scene`, `parameters`.
        """
        # What cannot be recorded is refused before an older recording is replaced.
        interval_in_steps(every, self.dt)
        if look is not None and fields is not None:
            raise InvalidValue("give record() either fields or a look, which has fields of its own.")
        wanted = self.fields if fields is None else [fields] if isinstance(fields, str) else fields
        require_words("fields of a recording", wanted)
        require_kind("the look of a recording", look, (Look, NoneType), "a Look")
        chosen = look or Look(fields=tuple(wanted))
        chosen.require_known(self.fields)
        recorder = Recorder(_recording_path(path), **header)

        recording = _Recording(recorder, chosen)
        with self.gate:  # no frame comes before the first
            try:
                self.observe(recording, every=every)
                self._recordings.append(recording)
                recording(self)
            except BaseException:  # nobody could close it
                self._end_recording(recording)
                recorder.close()
                raise
        return recorder

    def _end_recording(self, recording: _Recording) -> None:
        """Forget a recording that was closed, or the run would stop for its frames for ever; with the gate."""
        self._march.watches = [watch for watch in self._march.watches if watch.callback is not recording]
        self._recordings = [one for one in self._recordings if one is not recording]

    def pace(self, act: Act, *, every: float) -> None:
        """Let something act on the device at regular steps: controllers, which `control.connect` makes of them.

        Unlike an observer it does not wait for the device, and it acts at the steps that are multiples of the interval,
        before they are taken: the same ones after `load`, and when steps are repeated. What it does must follow from
        the state and the step alone.

        Args:
            act: Called with the state and the number of steps done.
            every: Simulated time between two calls [s], rounded to whole steps; a warning tells where that is noticed.
        """
        require_callable("what acts on a simulation", act)
        steps = whole_steps(every, self.dt)
        with self.gate:
            self._march.pacers.append(Pacer(act, steps))

    def synchronize(self) -> None:
        """Wait until the device has done all steps."""
        wp.synchronize_device(self.solver.device)

    def snapshot(self, look: Look | None = None) -> Snapshot:
        """A picture of this moment, between two steps if it runs; the default look is the surface.

        Among its numbers are the readings of sensors and the values of controls, in the first of several worlds.
        """
        require_kind("what a snapshot shows", look, (Look, NoneType), "a Look")
        chosen = look or Look()
        with self.gate, self._march.undisturbed():
            shot = self.solver.snapshot(self.state, chosen)
            kinds = (self.controls, self.sensors, self.parameters) if chosen.numbers else ()
            own = {name: number for kind in kinds for name, number in kind.numbers().items()}
            marks = self.marks if chosen.surface else ()
            return replace(shot, parts=(*shot.parts, *marks), numbers={**own, **shot.numbers}) if own or marks else shot

    def positions(self) -> np.ndarray:
        """Positions [m], shape [n, 3], in the order in which the body was built."""
        with self.gate, self._march.undisturbed():
            return self.solver.readout.positions(self.state)

    def velocities(self) -> np.ndarray:
        """Velocities [m/s], shape [n, 3], in the order in which the body was built."""
        with self.gate, self._march.undisturbed():
            return self.solver.readout.velocities(self.state)

    def summary(self) -> Summary:
        """Mass, momenta and energies of this moment."""
        with self.gate, self._march.undisturbed():
            return self.solver.readout.summary(self.state)

    def snapshot_numbers(self) -> Mapping[str, Number]:
        """The named numbers of this moment, without geometry."""
        return self.snapshot(Look(surface=False)).numbers

    @contextmanager
    def edit(self) -> Iterator[Any]:
        """Change masses and springs: `with simulation.edit() as e: ...`; applied between two steps, all or nothing."""
        with editable(self.solver).editor(self.state, self._march.good).collecting(self.gate) as editor:
            yield editor

    def state_hash(self) -> str:
        """A hash of every bit of the state."""
        with self.gate, self._march.undisturbed():
            return state_hash(self.state)

    def save(self, path: str | PathLike[str], *, scene: str = "", file: str = "") -> None:
        """Write a checkpoint, whole or not at all.

        Args:
            path: File.
            scene: Name of the scene, for messages to those who take the file for something else.
            file: The user's own file that the scene is from, FILE.py or FILE.py:NAME, for the same messages.
        """
        require_kind("the scene of a checkpoint", scene, str, "a name")
        require_kind("the file of a scene", file, str, "a text")
        with self.gate, self._march.undisturbed():
            self._march.recount()
            changes = self.solver.changes() if isinstance(self.solver, Changing) else {}
            identity, steps = self.solver.fingerprint(), self.step_count
            save_checkpoint(
                as_path(path), self.state, identity, self.dt, steps, changes=changes, scene=scene, file=file
            )

    def load(self, path: str | PathLike[str]) -> None:
        """Continue from a checkpoint of the same model; on any error the simulation is as it was before."""
        self._refuse_inside("load")
        self._require_idle()
        with self.gate, self._march.undisturbed(), held_back(firmly=True):
            self._require_idle()
            self._march.steps = load_checkpoint(as_path(path), self.solver.fingerprint(), self.dt, self._fill)
            self._march.after_jump()
            self._begin_segments()

    def _fill(self, arrays: Mapping[str, np.ndarray], changes: Mapping[str, np.ndarray]) -> None:
        """Take over a state and what had become of the model, all or nothing."""
        require_fit(self.state, arrays)
        require_parameters(self.solver, arrays)
        if isinstance(self.solver, Changing):
            self.solver.restore_changes(changes, arrays)
        fill_state(self.state, arrays)

    def clone(self) -> Simulation[S]:
        """An independent simulation in the same state, which goes on as this one does, to the bit.

        What was attached to this one stays there: observers, recordings, breakpoints, sensors, attachments; and
        controllers, of which a warning reminds.
        """
        make, given = self.__reduce__()
        made: Simulation[S] = make(*given)
        if len(self._march.pacers) > len(made._march.pacers):
            warnings.warn(
                "controllers of a simulation do not go with its clone: connect the clone to its own.",
                LeftBehind,
                stacklevel=2,
            )
        return made

    __copy__ = clone

    def __deepcopy__(self, memo: dict[int, Any]) -> Simulation[S]:
        return self.clone()

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        if self._recipe is None:
            raise AnnelidError(
                "a simulation that was made as Simulation(solver) cannot be copied: make it by the simulation(...) of "
                "its physics, or make a second one and let it load a checkpoint of this."
            )
        with self.gate, self._march.undisturbed():
            arrays = {name: array.numpy().copy() for name, array in state_arrays(self.state).items()}
            changes = self.solver.changes() if isinstance(self.solver, Changing) else {}
            identity = self.solver.fingerprint()
            attached = self.step_count, self.marks, self.parameters.distributions
            return _as_it_was, (self._recipe, identity, arrays, changes, attached)

    def reset(self, worlds: Sequence[int] | None = None) -> None:
        """Go back to the beginning.

        Args:
            worlds: Numbers of the worlds that begin again while time goes on for the others; None for all of them, and
                the clock.
        """
        self._refuse_inside("reset")
        self._require_idle()
        with self.gate, self._march.undisturbed(), held_back(firmly=True):
            self._require_idle()
            mask = None if worlds is None else self._mask(worlds)
            self.parameters.redraw(mask)
            self.solver.reset(self.state, mask)
            if worlds is None:
                self._march.steps = 0
            self._march.after_jump()
            if worlds is None:
                self._begin_segments()

    def _mask(self, worlds: Sequence[int]) -> wp.array[Any]:
        count = self.solver.worlds
        try:
            chosen = np.asarray(worlds)
        except ValueError:  # rows of different lengths
            chosen = np.asarray(None)
        if chosen.ndim != 1 or chosen.dtype.kind not in "iu" or ((chosen < 0) | (chosen >= count)).any():
            there = "one world, number 0" if count == 1 else f"the worlds 0 to {count - 1}"
            raise InvalidValue(f"this simulation has {there}, not {worlds!r}.")
        mask = np.zeros(count, bool)
        mask[chosen] = True
        return wp.array(mask, dtype=wp.bool, device=self.solver.device)

    # --- the loop ---

    @contextmanager
    def _advancing(self) -> Iterator[None]:
        """A block in which the calling thread advances it, when its turn has come."""
        self._refuse_inside("step")
        self._require_idle()
        with self.gate:
            self._require_idle()
            self._march.recount()
            self._runs.wish = None
            try:
                with self._runs.driving():
                    yield
            finally:
                self._march.recount()

    def _require_idle(self) -> None:
        """Refuse while it runs in its own thread; an error of the last run that nobody was told of is raised here."""
        self.gate.require_process()
        if self.running:
            raise AnnelidError("the simulation runs in its own thread: pause() it first.")
        self._runs.raise_untold()

    def _refuse_inside(self, verb: str) -> None:
        if self._runs.inside:
            raise AnnelidError(
                f"an observer, a condition or a controller cannot {verb} the simulation that has called it."
            )

    def _require_gate_free(self) -> None:
        """Refuse to wait for a run that waits for the gate."""
        self.gate.require_process()
        if self.running and self.gate.mine:
            raise AnnelidError(
                "a run cannot end while `with simulation.gate` holds it: stop it or wait for it after that block."
            )

    def _begin_segments(self) -> None:
        """Record where the simulation has jumped to, as the beginning of a new segment."""
        self._recordings = [recording for recording in self._recordings if not recording.recorder.closed]
        for recording in self._recordings:
            recording.recorder.new_segment()
            recording(self)

    def _advance(self, goal: int, progress: Progress | None) -> Event | None:
        """Advance to a step, or to what ends the run before it, holding the gate."""
        while self.step_count < goal or self._march.overdue:
            event = self._ended(self._march.chunk(goal, self))
            if event is not None:
                return event
            if progress is not None:
                progress.update(self.time, self.dt * (goal - self.step_count))
            raise_noted()
        return self._ended(self._march.check(self))

    def _take_turn(self, seconds: float, most: int | None) -> Event | None:
        """Advance for about some wall time [s] or until an observer was called, holding the gate."""
        steps = self._march.steps_within(seconds)
        goal = self.step_count + (steps if most is None else min(steps, most))
        return self._ended(self._march.chunk(goal, self) or self._march.check(self))

    def _ended(self, reached: Breakpoint | None) -> Event | None:
        """The event that ends the run here, if any: a breakpoint that was reached, or what someone wished."""
        if reached is None and self._runs.wish is not None:
            reached = self._march.check(self)
        if reached is not None:
            self._march.drop(reached)
            return Event("breakpoint", self.time, self.step_count, reached)
        return None if self._runs.wish is None else Event(self._runs.wish, self.time, self.step_count)

    def _controls(self, now: Any, good: Any) -> Controls:
        solver = self.solver
        if not isinstance(solver, Controllable):
            return Controls((), solver.worlds, solver.dt, solver.device, lambda: (), self.gate)
        # Between two turns the last good state is the state of now: commands hold if steps are repeated from it.
        both = lambda: (solver.commanded(now), solver.commanded(good))  # noqa: E731
        return Controls(solver.controls, solver.worlds, solver.dt, solver.device, both, self.gate)

    # --- the thread ---

    def _end_run(self, wish: str) -> Event:
        """Ask the thread that advances it to stop, and wait until it has, unless it is this one."""
        if self._runs.inside:
            self._runs.wish = wish
            return Event(wish, self.time, self.step_count)
        self._require_gate_free()
        if self.running:
            self._runs.wish = wish
            return self._runs.wait(None)
        if self._runs.elsewhere:
            self._runs.wish = wish
            with self.gate:  # which that thread holds until it has stopped
                pass
        self._runs.raise_untold()
        return Event(wish, self.time, self.step_count)

    def _one_turn(self) -> Event | None:
        """One turn of the thread; the event that ends the run, if any."""
        with self.gate, self._runs.driving():
            return self._ended(None) or self._take_turn(SECONDS_BETWEEN_CHECKS, None)

    def _end(self, event: Event, failure: BaseException | None = None) -> None:
        self.gate.busy = False
        self._runs.end(event, failure)


@dataclass(frozen=True, eq=False)
class _Recording:
    """An observer that records what a look shows."""

    recorder: Recorder
    look: Look

    def __call__(self, simulation: Simulation[Any]) -> None:
        recorder = self.recorder
        if recorder.closed:
            simulation._end_recording(self)
            return
        if recorder.has(simulation.step_count):  # Ctrl-C has come between the frame and the count of it
            return
        try:
            recorder.write(simulation.snapshot(self.look))
        except InvalidValue:
            if not recorder.closed:  # by another thread, at this very moment
                raise


def _as_it_was(
    recipe: Recipe, identity: str, arrays: Arrays, changes: Arrays, attached: tuple[Any, ...]
) -> Simulation[Any]:
    """A new simulation by a recipe, brought to a state."""
    made: Simulation[Any] = recipe.again()
    if made.solver.fingerprint() != identity:
        raise AnnelidError(
            "a simulation whose model, or the body that it was made of, was changed afterwards cannot be copied: make "
            "a second one, and change it likewise."
        )
    with made.gate, made._march.undisturbed():
        made._fill(arrays, changes)
        made._march.steps, made.marks, made.parameters.distributions = attached
        made._march.after_jump()
    return made


def _recording_path(path: str | PathLike[str]) -> Path:
    """The path of a recording, whose name is not that of another kind of file."""
    found = as_path(path)
    if found.suffix not in ("", ".rec"):
        raise InvalidValue(
            f"{found.name!r} does not end in .rec as recordings do: record to {found.stem}.rec, and `annelid export` "
            "makes other files of it."
        )
    return found


_ALIVE: weakref.WeakSet[Simulation[Any]] = weakref.WeakSet()


def _background(reference: weakref.ref[Simulation[Any]]) -> None:
    """Advance a simulation until it stops; one that is no longer referenced simply ends."""
    while True:
        simulation = reference()
        if simulation is None:
            return
        try:
            event = simulation._one_turn()
        except BaseException as error:  # handed to the threads that wait
            forget_locals(error)
            simulation._end(Event("failed", simulation.time, simulation.step_count, error), error)
            del simulation  # which this frame, and so the error, would keep
            return
        if event is not None:
            simulation._end(event)
            return
        del simulation


@atexit.register
def _stop_all() -> None:
    """Leaving the program ends every run between two steps; errors that nobody was told of are told now."""
    for simulation in list(_ALIVE):
        simulation._runs.wish = "stopped"
    for simulation in list(_ALIVE):
        simulation._runs.join(timeout=5.0)
        if simulation._runs.untold is not None:
            print(f"annelid: a run in its own thread has failed: {simulation._runs.untold}", file=sys.stderr)
