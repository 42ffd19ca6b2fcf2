"""The run loop: steps, times, observers, divergence; with a solver whose states are known exactly."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from annelid import Look, Simulation
from annelid.core.errors import InvalidValue, SimulationDiverged
from annelid.core.pacing import IntervalRounded
from annelid.core.recording import Recording

Make = Callable[..., Any]


def first(simulation: Simulation[Any]) -> float:
    return float(simulation.state.values.numpy()[0])


class Listener:
    """Stands for a progress display."""

    def __init__(self) -> None:
        self.heard: list[tuple[float, float]] = []

    def update(self, time: float, remaining: float) -> None:
        self.heard.append((time, remaining))


def test_steps_and_time(growth: Make, grown: Make) -> None:
    simulation = Simulation(growth())
    assert (simulation.step_count, simulation.time, simulation.dt) == (0, 0.0, 0.1)
    simulation.step()
    simulation.step(4)
    simulation.step(0)
    assert (simulation.step_count, simulation.time) == (5, pytest.approx(0.5))
    assert first(simulation) == grown(5)


@pytest.mark.parametrize(("seconds", "steps"), [(0.0, 0), (0.3, 3), (0.26, 3), (0.24, 2), (2.0, 20)])
def test_a_run_is_a_whole_number_of_steps(seconds: float, steps: int, growth: Make, grown: Make) -> None:
    simulation = Simulation(growth())
    simulation.run(seconds)
    assert simulation.step_count == steps
    assert first(simulation) == grown(steps)


@pytest.mark.parametrize("seconds", [-1.0, math.nan, math.inf, "a", None])
def test_a_run_needs_a_time(seconds: Any, growth: Make) -> None:
    simulation = Simulation(growth())
    with pytest.raises(InvalidValue, match="seconds must be a time of 0 or more"):
        simulation.run(seconds)
    assert simulation.step_count == 0


@pytest.mark.parametrize("count", [-1, 2.5, math.nan, math.inf, "a", None])
def test_steps_are_counted(count: Any, growth: Make) -> None:
    simulation = Simulation(growth())
    with pytest.raises(InvalidValue, match=f"number of steps.*{count}"):
        simulation.step(count)
    assert simulation.step_count == 0


def test_observers_are_functions_and_files_have_names(growth: Make) -> None:
    simulation: Any = Simulation(growth())
    with pytest.raises(InvalidValue, match=r"an observer must be a function of the simulation, not 3\."):
        simulation.observe(3, every=0.1)
    with pytest.raises(InvalidValue, match="every must be at least one time step"):
        simulation.observe(print, every="often")
    for use in (simulation.save, simulation.load, lambda path: simulation.record(path, every=0.1)):
        with pytest.raises(InvalidValue, match=r"a file must be named by a text or a path, not by 3\."):
            use(3)


def test_observers_are_called_on_time(growth: Make, grown: Make) -> None:
    simulation = Simulation(growth())
    seen: list[tuple[str, int, float]] = []
    simulation.observe(lambda s: seen.append(("a", s.step_count, first(s))), every=0.3)
    simulation.step(1)
    simulation.observe(lambda s: seen.append(("b", s.step_count, first(s))), every=0.2)
    simulation.run(0.8)
    expected = [("a", 3), ("b", 3), ("b", 5), ("a", 6), ("b", 7), ("a", 9), ("b", 9)]
    assert [(name, step) for name, step, _ in seen] == expected
    assert all(value == grown(step) for _, step, value in seen)


def test_what_an_interval_is_off_does_not_add_up(growth: Make, tmp_path: Any) -> None:
    simulation = Simulation(growth())
    seen: list[int] = []
    simulation.observe(lambda s: seen.append(s.step_count), every=0.133)
    recorder = simulation.record(tmp_path / "r.rec", every=0.16)
    simulation.run(1.33)
    recorder.close()
    assert seen == [1, 3, 4, 5, 7, 8, 9, 11, 12, 13]  # nearest to 1.33, 2.66, 3.99...
    with Recording(tmp_path / "r.rec") as read:
        assert read.steps.tolist() == [0, 2, 3, 5, 6, 8, 10, 11, 13]


def test_pacers_act_at_multiples_of_whole_steps_and_say_so(growth: Make) -> None:
    simulation = Simulation(growth())
    acted: list[int] = []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        simulation.pace(lambda state, step: None, every=0.3)
        simulation.pace(lambda state, step: None, every=0.3005)
    with pytest.warns(
        IntervalRounded, match=r"every = 0.24 s is not a multiple of the time step of 0.1 s: 0.2 s is used"
    ):
        simulation.pace(lambda state, step: acted.append(step), every=0.24)
    simulation.step(7)
    assert acted == [0, 2, 4, 6]


@pytest.mark.parametrize("every", [0.0, -1.0, 0.04, 0.09, math.nan, math.inf])
def test_an_interval_is_at_least_a_step(every: float, growth: Make) -> None:
    with pytest.raises(InvalidValue, match="every must be"):
        Simulation(growth()).observe(lambda s: None, every=every)


def test_an_observer_that_fails_leaves_a_usable_simulation(growth: Make, grown: Make) -> None:
    simulation = Simulation(growth())
    calls = []

    def fragile(s: Any) -> None:
        calls.append(s.step_count)
        if len(calls) == 1:
            raise RuntimeError("full disk")

    simulation.observe(fragile, every=0.5)
    with pytest.raises(RuntimeError, match="full disk"):
        simulation.run(2.0)
    assert (simulation.step_count, first(simulation)) == (5, grown(5))
    simulation.run(0.5)
    assert calls == [5, 10]


def test_progress_reaches_the_end(growth: Make) -> None:
    simulation, listener = Simulation(growth()), Listener()
    simulation.step(3)
    simulation.run(5.0, progress=listener)  # type: ignore[arg-type]
    times, remaining = zip(*listener.heard, strict=True)
    assert list(times) == sorted(times)
    assert times[-1] == pytest.approx(5.3)
    assert remaining[-1] == pytest.approx(0.0)


def test_progress_is_told_however_often_observers_look(growth: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that is watched closely must not look as if it stood still."""
    from annelid.core import march as module

    now = [0.0]

    def clock() -> float:
        now[0] += 1e-3
        return now[0]

    monkeypatch.setattr(module.wall, "perf_counter", clock)
    simulation, listener = Simulation(growth(dt=1e-3)), Listener()
    simulation.observe(lambda s: None, every=5e-3)
    simulation.run(0.2, progress=listener)  # type: ignore[arg-type]
    late = [time for time, _ in listener.heard if time > 0.1]
    assert len(late) > 5


def test_progress_of_its_own(growth: Make, capsys: pytest.CaptureFixture[str]) -> None:
    simulation = Simulation(growth())
    simulation.run(1.0, progress=True)
    simulation.run(1.0, progress=False)
    assert simulation.step_count == 20
    assert capsys.readouterr().out == ""


def test_checks_grow_rare_when_steps_are_fast(growth: Make) -> None:
    """Looking for trouble costs a wait for the device: it must not happen at every step."""
    solver = growth(dt=1e-3)
    simulation = Simulation(solver)
    simulation.step(300)
    assert len(solver.calls) < 60
    assert sum(solver.calls) == 300


@pytest.mark.parametrize("fails_at", [1, 2, 17, 100])
def test_divergence_restores_the_last_good_step(fails_at: int, growth: Make, grown: Make) -> None:
    simulation = Simulation(growth(fails_at=fails_at))
    with pytest.raises(SimulationDiverged) as caught:
        simulation.step(100)
    last = fails_at - 1
    assert (caught.value.step, caught.value.time) == (last, pytest.approx(0.1 * last))
    assert (simulation.step_count, first(simulation)) == (last, pytest.approx(grown(last), rel=1e-12))
    assert int(simulation.state.clock.numpy()[0]) == last
    for part in (f"step {fails_at} ", f"last good step, {last}", f"the largest value is {grown(last):g}"):
        assert part in str(caught.value)


def test_divergence_comes_again_until_something_changes(growth: Make, grown: Make) -> None:
    solver = growth(fails_at=6)
    simulation = Simulation(solver)
    for _ in range(2):
        with pytest.raises(SimulationDiverged):
            simulation.step(10)
        assert simulation.step_count == 5
    solver.fails_at = -1
    simulation.step(10)
    assert (simulation.step_count, first(simulation)) == (15, grown(15))


def test_observers_never_see_a_state_that_diverged(growth: Make) -> None:
    simulation = Simulation(growth(fails_at=20))
    seen: list[float] = []
    simulation.observe(lambda s: seen.append(first(s)), every=0.5)
    with pytest.raises(SimulationDiverged):
        simulation.step(40)
    assert len(seen) == 3  # at 5, 10 and 15; step 20 is the one that fails
    assert np.isfinite(seen).all()


def test_steps_before_one_that_raises_are_counted(growth: Make, tmp_path: Any) -> None:
    """Else the clock of the state is ahead of the simulation, and what it saves then cannot be loaded."""
    solver = growth(dt=1e-9)
    simulation, advance = Simulation(solver), solver.advance

    def stumble(state: Any, steps: int) -> None:
        advance(state, steps // 2)
        raise ArithmeticError

    simulation.step(300)
    solver.advance = stumble
    with pytest.raises(ArithmeticError):
        simulation.step(100)
    assert simulation.step_count == int(simulation.state.clock.numpy()[0])
    simulation.save(tmp_path / "then.npz")
    simulation.load(tmp_path / "then.npz")


def test_reset(growth: Make, grown: Make) -> None:
    simulation = Simulation(growth())
    state, seen = simulation.state, []
    simulation.step(7)
    simulation.observe(lambda s: seen.append(s.step_count), every=0.5)
    simulation.reset()
    assert simulation.state is state  # viewers and kernels keep their arrays
    assert (simulation.step_count, first(simulation)) == (0, 1.0)
    simulation.step(6)
    assert first(simulation) == grown(6)
    assert seen == [5]


def test_snapshots_come_from_the_solver(growth: Make, grown: Make) -> None:
    simulation = Simulation(growth())
    simulation.step(2)
    snapshot = simulation.snapshot(Look(spheres=True))
    assert (snapshot.step, snapshot.time) == (2, pytest.approx(0.2))
    assert simulation.snapshot_numbers()["first"].value == grown(2)
    assert simulation.fields == ("size",)
    simulation.synchronize()


def test_an_observer_may_load_and_save(growth: Make, grown: Make, tmp_path: Any) -> None:
    simulation = Simulation(growth())
    simulation.observe(lambda s: s.save(tmp_path / f"{s.step_count}.npz"), every=0.4)
    simulation.run(1.0)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["4.npz", "8.npz"]
    simulation.load(tmp_path / "4.npz")
    assert (simulation.step_count, first(simulation)) == (4, grown(4))


def test_a_recording_goes_on_in_a_new_segment_after_a_jump(growth: Make, tmp_path: Any) -> None:
    simulation = Simulation(growth())
    recorder = simulation.record(tmp_path / "r.rec", every=0.2)
    simulation.step(5)
    simulation.save(tmp_path / "5.npz")
    simulation.step(3)
    simulation.load(tmp_path / "5.npz")
    simulation.step(2)
    simulation.reset([0])  # a world, not the clock
    simulation.reset()
    simulation.step(4)
    recorder.close()
    simulation.load(tmp_path / "5.npz")
    with Recording(tmp_path / "r.rec") as recording:
        assert [recording.steps[one.start : one.stop].tolist() for one in recording.segments] == [
            [0, 2, 4, 6, 8], [5, 7], [0, 2, 4]
        ]  # fmt: skip


def test_a_recording_that_was_closed_is_forgotten(growth: Make, tmp_path: Any) -> None:
    """Or a run that is recorded now and then would grow, and stop for frames that nobody wants."""
    simulation = Simulation(growth())
    for number in range(5):
        with simulation.record(tmp_path / f"{number}.rec", every=0.2):
            simulation.step(3)
    simulation.step(3)
    assert simulation._march.watches == []
    assert simulation._recordings == []


def test_an_interval_that_is_refused_leaves_the_older_recording(growth: Make, tmp_path: Any) -> None:
    (tmp_path / "r.rec").write_text("older")
    with pytest.raises(InvalidValue, match="every must be at least one time step"):
        Simulation(growth()).record(tmp_path / "r.rec", every=0.0)
    assert (tmp_path / "r.rec").read_text() == "older"


def test_turns_of_the_run_loop_grow_to_the_wall_time_and_keep_their_limit(growth: Make) -> None:
    simulation = Simulation(growth())
    assert simulation.run_for(0.02) is None
    assert simulation.step_count == 1
    for _ in range(5):
        simulation.run_for(0.02)
    assert simulation.step_count > 10
    before = simulation.step_count
    simulation.run_for(0.02, most=2)
    assert simulation.step_count == before + 2


def test_a_turn_ends_at_a_breakpoint_and_at_an_observer(growth: Make) -> None:
    simulation, seen = Simulation(growth()), []
    simulation.step(1000)
    point = simulation.breakpoint(at=simulation.time + 3 * simulation.dt)
    simulation.observe(lambda s: seen.append(s.step_count), every=2 * simulation.dt)
    events = [simulation.run_for(0.05) for _ in range(2)]
    assert seen == [1002]
    assert events[0] is None
    assert events[1] is not None
    assert (events[1].detail, events[1].step) == (point, 1003)


@pytest.mark.parametrize(("seconds", "most"), [(0.0, None), (float("nan"), None), (-1.0, 3), (0.1, 0)])
def test_turns_of_no_time_or_no_step_are_refused(growth: Make, seconds: float, most: int | None) -> None:
    with pytest.raises(InvalidValue, match="must be"):
        Simulation(growth()).run_for(seconds, most=most)
