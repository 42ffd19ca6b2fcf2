"""The treatment of the tower: threads that edit and save it, while it is run, stopped, saved and loaded, act by act."""

from __future__ import annotations

import itertools
import threading
import time as wall
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import warp as wp

from annelid.commands.soaking.editors import Editor, all_editors
from annelid.commands.soaking.tower import Tower, TowerScene, scene_of, set_scene
from annelid.commands.soaking.turnstile import Turnstile
from annelid.commands.soaking.wanted import NotAsWanted, want
from annelid.core.errors import AnnelidError
from annelid.core.snapshot import Look

PATIENCE = 120.0
"""Longest wait for a thread or a breakpoint [s]."""

_RUN = 1.0  # seconds of an act
_SAVES = 2.0  # seconds between two checkpoints in the midst of a run
_FRAMES = 0.02  # simulated seconds between two frames
_STEPS = 20  # that a checkpoint is compared by
_REMEMBERED = 6  # checkpoints that the tower may be taken back to


@dataclass(frozen=True)
class Kept:
    """A checkpoint, the parameters that it is of, and what the editors must find when it is loaded."""

    path: Path
    scene: TowerScene
    held: tuple[Any, ...] = ()


@dataclass
class Counts:
    """How often things were done."""

    asked: int = 0
    found: int = 0
    runs: int = 0
    breakpoints: int = 0
    loads: int = 0
    checkpoints: list[Kept] = field(default_factory=list)


class Treatment:
    """A tower, its twin, and those who work on it.

    Args:
        folder: Where its files go.
        device: Where it computes.
        threads: CPU threads.
        seed: Of all choices.

    Attributes:
        simulation: The tower.
        twin: Another one, which loads what the first has saved.
        counts: What was done.
        failures: What went wrong, in sentences.
    """

    def __init__(self, folder: Path, device: wp.Device, threads: int | None, seed: int) -> None:
        self.simulation, self.twin = (TowerScene().build(device=device, threads=threads) for _ in range(2))
        self.counts, self.failures = Counts(), list[str]()
        self._folder, self._random = folder, np.random.default_rng(seed)
        self._network = self.simulation.solver.model.network
        self._base = self._network.masses.live_count, self._network.springs.live_count
        self.editors, self.breaker = all_editors(self.simulation, seed)
        self._turnstile, self._ending, self._lock = Turnstile(), threading.Event(), threading.Lock()
        self._numbers = itertools.count()
        self._remembered: deque[Kept] = deque(maxlen=_REMEMBERED)
        look = Look(lines=True, fields=self.simulation.fields)
        self.recorder = self.simulation.record(folder / "tower.rec", every=_FRAMES, look=look, scene="soak")
        works = [self._editing(editor) for editor in self.editors] + [self._save_on]
        self._threads = [threading.Thread(target=self._guarded(work), daemon=True, name="soak") for work in works]

    # --- those who work on it at the same time ---

    def start(self) -> None:
        """Let all threads begin."""
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        """End the threads, look at everything a last time, and finish the recording."""
        self._ending.set()
        for thread in self._threads:
            if thread.ident is not None:
                thread.join(PATIENCE)
            if thread.is_alive():
                self.fail(NotAsWanted(f"a thread that edits or saves did not end within {PATIENCE:.0f} s."))
        self.attempt(self.simulation.stop)
        self.attempt(self.compare)
        self.attempt(self.recorder.close)

    def attempt(self, work: Callable[[], Any]) -> None:
        """Do something; an error ends the soak, in a sentence."""
        try:
            work()
        except Exception as error:
            self.fail(error)

    def fail(self, error: Exception) -> None:
        """Note what went wrong."""
        sentence = str(error) if isinstance(error, AnnelidError) else f"{type(error).__name__}: {error}"
        with self._lock:
            self.failures.append(sentence)

    def _guarded(self, work: Callable[[], None]) -> Callable[[], None]:
        return lambda: self.attempt(work)

    def _editing(self, editor: Editor) -> Callable[[], None]:
        random = np.random.default_rng(self._random.integers(1 << 30))

        def edit_on() -> None:
            while not self._ending.wait(float(random.uniform(0.0, 0.06))):
                with self._turnstile.passing():
                    with self._lock:
                        self.counts.asked += 1
                    editor.edit()
                    with self._lock:
                        self.counts.found += 1

        return edit_on

    def _save_on(self) -> None:
        """Save again and again, whatever is going on."""
        while not self._ending.wait(_SAVES):
            with self.simulation.gate:
                kept = Kept(self._new_path(), scene_of(self.simulation))
                self.simulation.save(kept.path)
            self.counts.checkpoints.append(kept)

    def _new_path(self) -> Path:
        return self._folder / f"tower-{next(self._numbers)}.npz"

    # --- acts, one after another ---

    def run_on(self) -> None:
        """Run in its own thread for a while."""
        self.simulation.start()
        wall.sleep(_RUN)
        event = self.simulation.pause()
        want(event.kind == "paused", f"a run ended with {event.kind!r} instead of a pause.")
        self.counts.runs += 1

    def stop_at_a_time(self) -> None:
        """Stop at a breakpoint, exactly at its step."""
        steps = int(self._random.integers(50, 2000))
        goal = self.simulation.step_count + steps
        point = self.simulation.breakpoint(at=goal * self.simulation.dt)
        self.simulation.start()
        event = self.simulation.wait(PATIENCE)
        want(event.detail is point and event.step == goal, f"a breakpoint at step {goal} stopped at {event.step}.")
        self.counts.breakpoints += 1

    def stop_at_a_condition(self) -> None:
        """Stop as soon as a condition holds that is looked at between two steps."""
        goal = self.simulation.step_count + int(self._random.integers(50, 2000))
        point = self.simulation.breakpoint(when=lambda s: s.step_count >= goal)
        self.simulation.start()
        event = self.simulation.wait(PATIENCE)
        want(event.detail is point and event.step >= goal, f"a condition stopped the run with {event.kind!r}.")
        self.counts.breakpoints += 1

    def compare(self) -> None:
        """Save, and go on as a twin does that has loaded what was saved: edits that are not on the device show here."""
        with self._turnstile.closed():
            self._require_everything()
            kept = Kept(self._new_path(), scene_of(self.simulation), tuple(editor.held() for editor in self.editors))
            self.simulation.save(kept.path)
            self.counts.checkpoints.append(replace(kept, held=()))  # or the soak itself would grow
            self._remembered.append(kept)
            load(self.twin, kept)
            for steps in (0, _STEPS):
                self.simulation.step(steps)
                self.twin.step(steps)
                same = self.simulation.state_hash() == self.twin.state_hash()
                want(same, f"{steps} steps from the checkpoint {kept.path.name} are not those of the tower itself.")
            self.twin.events.clear()
            self.breaker.verify()
            want(self.breaker.springs == 0, f"{self.breaker.springs} overstretched springs did not break.")

    def go_back(self) -> None:
        """Load an earlier checkpoint; the recording goes on in a new segment."""
        if not self._remembered:
            return
        with self._turnstile.closed():
            self._require_everything()
            kept = self._remembered[int(self._random.integers(len(self._remembered)))]
            load(self.simulation, kept)
            self.counts.loads += 1
            for editor, held in zip(self.editors, kept.held, strict=True):
                editor.hold(held)
            self._require_everything()

    def _require_everything(self) -> None:
        """Look for all edits, and count masses and springs."""
        for editor in self.editors:
            editor.verify()
        with self.simulation.gate, self._network.settled():
            self._network.verify()
            counts = self._network.masses.live_count, self._network.springs.live_count
        masses = self._base[0] + sum(editor.masses for editor in self.editors)
        springs = self._base[1] + sum(editor.springs for editor in self.editors)
        want(counts == (masses, springs), f"there are {counts} masses and springs instead of {(masses, springs)}.")


def load(simulation: Tower, kept: Kept) -> None:
    """Take a tower back to a checkpoint, and to the parameters that it was saved with."""
    with simulation.gate:
        set_scene(simulation, kept.scene)
        simulation.load(kept.path)
