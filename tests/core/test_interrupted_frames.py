"""Frames of a recording: exactly one each period, whatever line Ctrl-C comes at, once or again and again."""

from __future__ import annotations

import linecache
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

from annelid import Simulation, coupling, fem, grains, shapes, springs, voxels, voxels3d
from annelid.core.errors import InvalidValue
from annelid.core.interrupts import KEEPER
from annelid.core.recording import Recording

WATCHED = ("march.py", "simulation.py", "recorder.py", "pacing.py", "solver.py")
"""Files whose lines are interrupted: the loop, what is written, and what a physics does in Python."""
EVERY, STEPS = 3, 12
SAMPLED = int(os.environ.get("ANNELID_INTERRUPTED_LINES", "25"))
"""Lines of a run that are interrupted, of some hundred."""


class Presses:
    """Ctrl-C at chosen lines of the watched files, so many times at each."""

    sent, armed = 0, False

    def __init__(self, lines: set[int], times: int) -> None:
        self.lines, self.times, self.count = lines, times, 0

    def __call__(self, frame: FrameType, event: str, argument: object) -> Any:
        if not frame.f_code.co_filename.endswith(WATCHED):
            return None
        line = linecache.getline(frame.f_code.co_filename, frame.f_lineno)
        # Where a block begins or ends no signal is looked for: these instructions are outside of what cleans up. So are
        # some of a comprehension, which is part of its function from Python 3.12 on.
        inlined = sys.version_info >= (3, 12) and " for " in line
        if event == "line" and not inlined and not line.lstrip().startswith(("with ", "try:")):
            self.count += 1
            if self.count in self.lines:
                for _ in range(self.times):
                    Presses.sent += 1
                    signal.raise_signal(signal.SIGINT)
        return self

    @contextmanager
    def pressed(self) -> Iterator[None]:
        """A block in which they come."""
        before = sys.gettrace()
        Presses.armed = True
        sys.settrace(self)
        try:
            yield
        finally:
            try:
                Presses.armed = False
            finally:
                sys.settrace(before)


@pytest.fixture(autouse=True)
def no_press_ends_the_tests() -> Iterator[None]:
    """What was pressed at the last line of a block, and is heard after it, is left out; the user's Ctrl-C is not."""

    def handler(number: int, frame: FrameType | None) -> None:
        own = Presses.sent > 0
        Presses.sent -= own
        if Presses.armed or not own:
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, handler)
    yield
    left = KEEPER._depth, KEEPER._firm
    Presses.sent, Presses.armed = 0, False
    signal.signal(signal.SIGINT, before)
    assert left == (0, 0)  # else later tests would hold interrupts back for good


def advanced(simulation: Simulation[Any], presses: Presses) -> int:
    """How often it was interrupted until all steps were taken."""
    interrupts = 0
    while simulation.step_count < STEPS or simulation._march.overdue:
        try:
            with presses.pressed():
                simulation.step(max(STEPS - simulation.step_count, 0))
        except KeyboardInterrupt:
            interrupts += 1
    return interrupts


def steps_of(path: Path) -> list[int]:
    with Recording(path) as recording:
        return [recording.frame(i).step for i in range(len(recording))]


def lines_of_a_run(make: Callable[[], Simulation[Any]], path: Path) -> int:
    """How many lines of the watched files a run has."""
    simulation, presses = make(), Presses(set(), 0)
    with simulation.record(path, every=EVERY * simulation.dt):
        advanced(simulation, presses)
    return presses.count


WANTED = list(range(0, STEPS + 1, EVERY))


@pytest.mark.parametrize("times", [1, 2, 3])
def test_an_interrupt_at_any_line_loses_no_frame_and_writes_none_twice(
    times: int, growth: Callable[..., Any], tmp_path: Path
) -> None:
    def make() -> Simulation[Any]:
        return Simulation(growth(dt=1e-3))

    path, interrupts = tmp_path / "run.rec", 0
    count = lines_of_a_run(make, path)
    for line in np.random.default_rng(times).choice(count, SAMPLED, replace=False).tolist():
        simulation = make()
        with simulation.record(path, every=EVERY * simulation.dt):
            interrupts += advanced(simulation, Presses({line}, times))
        assert steps_of(path) == WANTED, f"line {line}"
    assert interrupts > SAMPLED // 2


def _springs() -> Simulation[Any]:
    return springs.simulation(springs.block((3, 2, 2), 0.05), obstacles=[shapes.Plane()], device="cpu", dt=2e-4)


def _grains() -> Simulation[Any]:
    return grains.simulation(grains.Bed([[0.0, 0.0, 0.02], [0.03, 0.0, 0.02]], 0.01), obstacles=[shapes.Plane()],
                             device="cpu")  # fmt: skip


def _fem() -> Simulation[Any]:
    solid = fem.Solid(shapes.tet_beam(0.1, 0.02, 0.02, cells=(2, 1, 1)), "ecoflex-00-30").fix(lambda p: p[:, 0] < 1e-9)
    return fem.simulation(solid, device="cpu")


def _voxels() -> Simulation[Any]:
    robot = voxels.Robot(np.zeros((2, 2), int), (voxels.Voxel(),))
    return voxels.simulation(robot, obstacles=(voxels.terrain("flat"),), device="cpu")


def _voxels3d() -> Simulation[Any]:
    return voxels3d.simulation(voxels3d.Robot(np.zeros((2, 2, 2), int)), obstacles=[shapes.Plane()], device="cpu")


def _coupling() -> Simulation[Any]:
    body = springs.block((2, 2, 2), mass=1.0).moved((0.0, 0.0, 0.5))
    return coupling.simulation(body, grains.Bed([[2.0, 0.0, 0.3]], 0.1), obstacles=[shapes.Plane()], device="cpu")


@pytest.mark.parametrize("make", [_springs, _grains, _fem, _voxels, _voxels3d, _coupling])
def test_interrupts_at_random_lines_of_any_physics_lose_no_frame(
    make: Callable[[], Simulation[Any]], tmp_path: Path
) -> None:
    path = tmp_path / "run.rec"
    count, rng = lines_of_a_run(make, path), np.random.default_rng(1)
    interrupts = 0
    for _ in range(3):
        simulation = make()
        lines = set(rng.integers(1, 2 * count, 40).tolist())
        with simulation.record(path, every=EVERY * simulation.dt):
            interrupts += advanced(simulation, Presses(lines, int(rng.integers(2, 4))))
        assert steps_of(path) == WANTED
    assert interrupts > 10


def test_an_observer_that_an_interrupt_ends_is_called_again_and_one_that_fails_is_not(
    growth: Callable[..., Any],
) -> None:
    simulation, called = Simulation(growth(dt=1e-3)), []
    errors: list[type[BaseException]] = [KeyboardInterrupt, InvalidValue]

    def observe(s: Simulation[Any]) -> None:
        called.append(s.step_count)
        if errors and s.step_count == 6:
            raise errors.pop(0)

    simulation.observe(observe, every=3e-3)
    for error in tuple(errors):
        with pytest.raises(error):
            simulation.step(10)
    simulation.step(10 - simulation.step_count)
    assert called == [3, 6, 6, 9]


def test_a_recording_whose_first_frame_is_interrupted_is_no_recording(
    growth: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, simulation = tmp_path / "run.rec", Simulation(growth(dt=1e-3))

    def interrupted(*given: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(simulation.solver, "snapshot", interrupted)
        with pytest.raises(KeyboardInterrupt):
            simulation.record(path, every=3e-3)
    with simulation.record(path, every=3e-3):  # which nobody else writes
        simulation.step(3)
    assert steps_of(path) == [0, 3]


@pytest.mark.parametrize("jump", ["reset", "load"])
def test_recordings_go_on_after_a_jump_that_is_interrupted(
    jump: str, growth: Callable[..., Any], tmp_path: Path
) -> None:
    saved, path = tmp_path / "state.npz", tmp_path / "run.rec"

    def jumped(lines: set[int]) -> tuple[int, list[int]]:
        simulation, presses = Simulation(growth(dt=1e-3)), Presses(lines, 3)
        with simulation.record(path, every=EVERY * simulation.dt):
            simulation.step(6)
            simulation.save(saved)
            simulation.step(6)
            try:
                with presses.pressed():
                    simulation.reset() if jump == "reset" else simulation.load(saved)
            except KeyboardInterrupt:
                pass
            where = simulation.step_count
            simulation.step(3)
        assert where in (12, 0 if jump == "reset" else 6)
        again = [where] if where < 12 else []
        assert steps_of(path) == [0, 3, 6, 9, 12, *again, where + 3], str(lines)
        return presses.count, again

    count, _ = jumped(set())
    found = [jumped({line})[1] for line in range(1, count + 1, 2)]
    assert [] in found
    assert found[-1] != []
