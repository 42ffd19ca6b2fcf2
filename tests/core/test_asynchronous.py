"""A simulation in its own thread: breakpoints, waiting, pausing, errors, and leaving the program."""

import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from annelid import springs
from annelid.core.errors import AnnelidError, InvalidValue


def small_block(device, **world):
    return springs.simulation(springs.block((5, 5, 5)), device=device, **{"dt": 1e-4, **world})


def test_start_returns_at_once_and_breakpoint_stops_exactly(device):
    running, stepped = small_block(device), small_block(device)
    running.breakpoint(at=0.0123)
    running.start()
    event = running.wait(60.0)
    assert (event.kind, event.step, running.step_count) == ("breakpoint", 123, 123)
    stepped.step(123)
    assert running.state_hash() == stepped.state_hash()


def test_a_thousand_random_breakpoints_match_a_synchronous_run(device):
    steps = np.unique(np.random.default_rng(0).integers(1, 20_000, 1000))
    running, stepped = small_block(device), small_block(device)
    points = [running.breakpoint(at=float(step) * 1e-4) for step in steps]
    assert len({id(point) for point in points}) == len(steps)
    for step in steps:
        running.start()
        event = running.wait(60.0)
        assert event.step == step
        stepped.step(int(step) - stepped.step_count)
        assert running.state_hash() == stepped.state_hash()


def test_several_threads_wait_for_one_event(device):
    simulation = small_block(device)
    simulation.breakpoint(at=0.5)
    simulation.start()
    events = []
    waiters = [threading.Thread(target=lambda: events.append(simulation.wait(60.0))) for _ in range(5)]
    for waiter in waiters:
        waiter.start()
    for waiter in waiters:
        waiter.join(60.0)
    assert [event.step for event in events] == [5000] * 5


def test_pause_read_resume_stop(device):
    simulation = small_block(device)
    simulation.start()
    while simulation.step_count == 0:
        time.sleep(0.001)
    snapshot = simulation.snapshot()
    assert snapshot.step > 0
    # Free fall from rest: heights and speeds of one snapshot belong to one step.
    fallen = 0.2 - snapshot.numbers["center-z"].value
    assert fallen == pytest.approx(0.5 * 9.81 * snapshot.time * (snapshot.time + 1e-4), rel=1e-3, abs=1e-6)
    paused = simulation.pause()
    assert paused.kind == "paused"
    before = simulation.step_count
    time.sleep(0.05)
    assert simulation.step_count == before
    simulation.resume()
    assert simulation.running
    assert simulation.stop().kind == "stopped"
    simulation.step(3)


def test_running_simulation_refuses_steps_and_second_start(device):
    simulation = small_block(device)
    simulation.start()
    with pytest.raises(AnnelidError, match="pause"):
        simulation.step()
    with pytest.raises(AnnelidError, match="pause"):
        simulation.start()
    simulation.stop()


def test_a_breakpoint_in_the_past_is_refused(device):
    simulation = small_block(device)
    simulation.step(10)
    for when in (0.0, 1e-3, -1.0, float("nan")):
        with pytest.raises(InvalidValue, match="past"):
            simulation.breakpoint(at=when)
    with pytest.raises(InvalidValue, match="either"):
        simulation.breakpoint()


def test_wait_without_start_says_so(device):
    with pytest.raises(AnnelidError, match="not been started"):
        small_block(device).wait()


def test_wait_times_out(device):
    simulation = small_block(device)
    simulation.start()
    with pytest.raises(TimeoutError):
        simulation.wait(0.05)
    simulation.stop()


def test_leaving_the_program_does_not_hang():
    code = "from annelid import springs\ns = springs.simulation(springs.block((5, 5, 5)), device='cpu')\ns.start()\n"
    assert subprocess.run([sys.executable, "-c", code], timeout=120).returncode == 0


def test_observers_and_breakpoints_agree_on_the_step(device):
    simulation, seen = small_block(device), []
    simulation.observe(lambda s: seen.append(s.step_count), every=1e-3)
    simulation.breakpoint(at=5e-3)
    simulation.start()
    simulation.wait(60.0)
    assert seen == [10, 20, 30, 40, 50]


def test_a_synchronous_run_stops_at_a_breakpoint_too(device):
    simulation = small_block(device)
    simulation.breakpoint(at=0.005)
    event = simulation.run(0.02)
    assert (event.kind, simulation.step_count) == ("breakpoint", 50)
    assert simulation.run(0.001) is None
    assert simulation.step_count == 60
