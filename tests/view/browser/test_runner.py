"""The thread that advances simulations while others look."""

from __future__ import annotations

import time as wall
from collections.abc import Iterator

import pytest

from annelid import springs
from annelid.core.errors import InvalidValue
from annelid.core.snapshot import Look
from annelid.view.browser.runner import Runner

from ...threads import until
from .fakes import Hop


@pytest.fixture
def runner() -> Iterator[Runner]:
    made = Runner([Hop().build()])
    yield made
    made.close()


def test_it_begins_paused_plays_and_pauses(runner: Runner) -> None:
    simulation = runner.simulations[0]
    assert runner.look(Look()).result().snapshots[0].step == 0
    runner.play()
    until(lambda: simulation.step_count > 100)
    runner.pause()
    stopped = runner.look(Look()).result().snapshots[0].step
    wall.sleep(0.1)
    assert simulation.step_count == stopped


def test_steps_are_exact(runner: Runner) -> None:
    runner.play()
    runner.step(0).result()
    before = runner.simulations[0].step_count
    runner.step(123).result()
    assert runner.simulations[0].step_count == before + 123
    assert not runner.playing


def test_a_chosen_speed_is_kept(runner: Runner) -> None:
    runner.speed = 0.5
    runner.play()
    begin = wall.perf_counter()
    until(lambda: wall.perf_counter() - begin > 0.6)
    elapsed, simulated = wall.perf_counter() - begin, runner.simulations[0].time
    assert 0.0 < simulated <= 0.5 * elapsed + 0.01


def test_nobody_who_looks_waits_for_ever(runner: Runner) -> None:
    runner.play()
    looks = [runner.look(Look()) for _ in range(50)]
    assert [look.result(timeout=20).snapshots[0].step for look in looks] == sorted(
        look.result().snapshots[0].step for look in looks
    )


def test_an_error_stops_it_and_is_kept() -> None:
    runner = Runner([Hop(fails=True).build()])
    runner.play()
    until(lambda: runner.error is not None)
    assert not runner.playing
    assert str(runner.error) == "it broke."
    with pytest.raises(InvalidValue, match="it broke"):
        runner.step(100).result()
    runner.replace([Hop().build()])
    assert runner.error is None
    runner.play()
    until(lambda: runner.simulations[0].step_count > 100)
    runner.close()


def test_closing_ends_the_thread_and_refuses_more(runner: Runner) -> None:
    runner.play()
    runner.close()
    assert not runner._thread.is_alive()
    with pytest.raises(RuntimeError, match="closed"):
        runner.look(Look()).result()


def test_simulations_side_by_side_stay_together() -> None:
    runner = Runner([Hop(cost=cost).build() for cost in (2e-5, 1e-5, 4e-5)])
    runner.play()
    until(lambda: runner.simulations[2].step_count > 100)
    runner.pause()
    counts = runner.call(lambda: {simulation.step_count for simulation in runner.simulations}).result()
    assert len(counts) == 1
    runner.close()


def test_a_breakpoint_pauses_it_at_its_step() -> None:
    simulation = springs.simulation(springs.block((2, 2, 2)), device="cpu", threads=1)
    simulation.breakpoint(at=50 * simulation.dt)
    runner = Runner([simulation])
    runner.play()
    until(lambda: not runner.playing)
    assert simulation.step_count == 50
    runner.play()
    until(lambda: simulation.step_count > 50)
    runner.close()
