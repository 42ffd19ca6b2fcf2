"""Who may stop, start and advance a simulation: observers, conditions, several threads, Ctrl-C, forked processes."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from annelid import Simulation
from annelid.core.errors import AnnelidError, SimulationDiverged

from ..threads import PATIENCE, Thread, bounded, script, together, until

Make = Callable[..., Any]


def advanced(simulation: Simulation[Any], how: str) -> Any:
    """The event that ended a run in one of the ways in which a simulation runs."""

    def work() -> Any:
        if how == "run":
            return simulation.run(10.0)
        if how == "step":
            return simulation.step(10_000)
        if how == "run_for":
            event = None
            while event is None:
                event = simulation.run_for(0.05)
            return event
        simulation.start()
        return simulation.wait(PATIENCE)

    return bounded(work)


ways = pytest.mark.parametrize("how", ["run", "step", "run_for", "start"])


@ways
@pytest.mark.parametrize(("verb", "kind"), [("pause", "paused"), ("stop", "stopped"), ("wait", "paused")])
def test_an_observer_ends_the_run_after_this_step(how: str, verb: str, kind: str, growth: Make) -> None:
    simulation, told = Simulation(growth(dt=1e-3)), []

    def observe(s: Simulation[Any]) -> None:
        if s.step_count == 35:
            told.append(getattr(s, verb)())

    simulation.observe(observe, every=5e-3)
    event = advanced(simulation, how)
    assert (event.kind, event.step, simulation.step_count) == (kind, 35, 35)
    assert told == [event]
    assert not simulation.running
    simulation.step(3)
    assert simulation.step_count == 38


@ways
def test_paused_by_an_observer_it_goes_on(how: str, growth: Make, grown: Make) -> None:
    simulation, other = Simulation(growth(dt=1e-3)), Simulation(growth(dt=1e-3))
    simulation.observe(lambda s: s.pause(), every=7e-3)
    assert [advanced(simulation, how).step for _ in range(5)] == [7, 14, 21, 28, 35]
    other.step(35)
    assert simulation.state_hash() == other.state_hash()


@ways
def test_all_observers_of_the_step_are_called_before_it_ends(how: str, growth: Make) -> None:
    simulation, seen = Simulation(growth(dt=1e-3)), []
    simulation.observe(lambda s: s.stop(), every=5e-3)
    simulation.observe(lambda s: seen.append(s.step_count), every=5e-3)
    assert advanced(simulation, how).step == 5
    assert seen == [5]


@ways
def test_a_python_condition_ends_the_run(how: str, growth: Make) -> None:
    """It is called between two steps, now and then, as an energy is looked at."""
    simulation, looked = Simulation(growth(dt=1e-3)), []

    def late(s: Simulation[Any]) -> bool:
        looked.append((s.step_count, s.positions()[0, 2]))
        return s.time > 0.02

    point = simulation.breakpoint(when=late, name="late")
    event = advanced(simulation, how)
    assert (event.kind, event.detail, event.step) == ("breakpoint", point, simulation.step_count)
    assert [step for step, _ in looked[:-1] if step > 20] == []
    assert looked[-1][0] == event.step > 20
    before = len(looked)
    simulation.step(5)  # it is used up
    assert len(looked) == before


def test_a_python_condition_is_looked_at_as_often_as_the_loop_looks_up(growth: Make) -> None:
    solver = growth(dt=1e-3)
    simulation, looked = Simulation(solver), []
    simulation.breakpoint(when=lambda s: looked.append(s.step_count))
    simulation.step(300)
    assert looked[-1] == 300
    assert len(looked) < 60


@ways
def test_a_condition_may_pause(how: str, growth: Make) -> None:
    simulation = Simulation(growth(dt=1e-3))
    simulation.breakpoint(when=lambda s: s.step_count >= 12 and s.pause() and False)
    event = advanced(simulation, how)
    assert event.kind == "paused"
    assert event.step == simulation.step_count >= 12


@ways
def test_a_condition_that_fails_is_told(how: str, growth: Make) -> None:
    simulation = Simulation(growth(dt=1e-3))
    point = simulation.breakpoint(when=lambda s: 0 // (s.step_count < 10))
    with pytest.raises(ZeroDivisionError):
        advanced(simulation, how)
    simulation.clear_breakpoint(point)
    simulation.clear_breakpoint(point)  # is gone already
    simulation.step(5)


def test_a_condition_that_nobody_can_evaluate_is_refused(growth: Make) -> None:
    with pytest.raises(AnnelidError, match="lambda"):
        Simulation(growth()).breakpoint(when="later")


@ways
def test_an_observer_cannot_advance_what_has_called_it(how: str, growth: Make) -> None:
    simulation = Simulation(growth(dt=1e-3))
    simulation.observe(lambda s: s.step(), every=5e-3)
    with pytest.raises(AnnelidError, match="observer"):
        advanced(simulation, how)
    assert simulation.step_count == 5


@pytest.mark.parametrize("ask", ["stop", "pause", "wait", "start", "step", "reset"])
def test_an_error_of_a_run_is_raised_once(ask: str, growth: Make) -> None:
    simulation = Simulation(growth(fails_at=50))
    simulation.start()
    until(lambda: not simulation.running)
    with pytest.raises(SimulationDiverged, match="step 50"):
        bounded(getattr(simulation, ask))
    assert simulation.step_count == 49
    assert simulation.stop().kind == "stopped"
    assert simulation.pause().kind == "paused"
    again = simulation.wait(PATIENCE)
    assert (again.kind, again.step) == ("failed", 49)
    assert isinstance(again.detail, SimulationDiverged)


def test_an_error_reaches_everyone_who_waits(growth: Make) -> None:
    simulation, begun, go = Simulation(growth()), threading.Event(), threading.Event()

    def fail(s: Simulation[Any]) -> None:
        begun.set()
        go.wait(PATIENCE)
        raise OSError("full disk")

    simulation.observe(fail, every=0.5)
    simulation.start()
    assert begun.wait(PATIENCE)
    waiting = [Thread(simulation.wait), Thread(simulation.stop), Thread(lambda: simulation.wait(PATIENCE))]
    until(lambda: len(simulation._runs._changed._waiters) == 3)  # all of them wait
    go.set()
    for thread in waiting:
        with pytest.raises(OSError, match="full disk"):
            thread.result()
    assert simulation.stop().kind == "stopped"


def test_threads_that_run_take_turns(growth: Make) -> None:
    """Each adds its own time."""
    simulation = Simulation(growth(dt=1e-3))
    together(*[lambda: simulation.run(0.05)] * 4, *[lambda: simulation.step(25)] * 4)
    assert simulation.step_count == 4 * 50 + 4 * 25


def test_one_of_many_starts_and_the_others_are_told(growth: Make) -> None:
    simulation = Simulation(growth(dt=1e-3))
    meeting = threading.Barrier(8)

    def start() -> str:
        meeting.wait(PATIENCE)
        try:
            simulation.start()
        except AnnelidError as error:
            return str(error)
        return "started"

    for _ in range(10):
        outcomes = together(*[start] * 8)
        assert sorted(set(outcomes)) == ["started", "the simulation runs in its own thread: pause() it first."]
        assert outcomes.count("started") == 1
        assert sum(thread.name == "annelid-run" for thread in threading.enumerate()) == 1
        assert bounded(simulation.stop).kind == "stopped"


def test_start_right_after_a_stop(growth: Make) -> None:
    """The thread of the last run may be about to end."""
    simulation = Simulation(growth(dt=1e-3))
    for number in range(1, 200):
        simulation.breakpoint(at=number * 1e-3)
        simulation.start()
        assert simulation.wait(PATIENCE).step == number


@pytest.mark.parametrize("verb", ["pause", "stop"])
def test_another_thread_ends_a_synchronous_run(verb: str, growth: Make) -> None:
    simulation, begun = Simulation(growth(dt=1e-3)), threading.Event()
    simulation.observe(lambda s: begun.set(), every=5e-3)
    runner = Thread(lambda: simulation.run(1e6))
    assert begun.wait(PATIENCE)
    told = bounded(getattr(simulation, verb))
    event = runner.result()
    assert event.kind == told.kind
    assert event.step == told.step == simulation.step_count
    assert simulation.step(5) is None


@pytest.mark.parametrize("verb", ["stop", "wait"])
def test_a_run_cannot_be_waited_for_with_its_gate(verb: str, growth: Make) -> None:
    simulation = Simulation(growth(dt=1e-3))
    simulation.start()

    def work() -> None:
        with simulation.gate:
            getattr(simulation, verb)()

    with pytest.raises(AnnelidError, match="gate"):
        bounded(work)
    assert bounded(simulation.stop).kind == "stopped"


def test_observers_that_stop_each_others_simulations(growth: Make) -> None:
    """One of them is told that it waits in a circle; nothing hangs."""
    pair, told = [Simulation(growth(dt=1e-3)) for _ in range(2)], []
    for one, other in (pair, reversed(pair)):
        one.observe(lambda s, other=other: other.stop(), every=5e-3)
    for _ in range(20):
        for simulation in pair:
            simulation.start()
        for simulation in pair:
            try:
                bounded(simulation.stop)
            except AnnelidError as error:
                told.append(str(error))
    assert all("circle" in sentence for sentence in told)


def test_a_sudden_end_of_a_recording_does_not_end_the_run(growth: Make, tmp_path: Any) -> None:
    """Another thread closes recordings and begins new ones while the simulation writes to them."""
    simulation = Simulation(growth(dt=1e-3))
    simulation.start()

    def work(rank: int) -> None:
        for number in range(20):
            with simulation.record(tmp_path / f"{rank}-{number}.rec", every=2e-3) as recorder:
                while recorder.frame_count < 2:
                    assert simulation.running
                    time.sleep(1e-4)

    together(lambda: work(0), lambda: work(1))
    assert bounded(simulation.stop).kind == "stopped"


_INTERRUPTED = """
import random, signal, threading, time
import warp as wp
wp.config.log_level = wp.LOG_ERROR
from annelid import springs
body = springs.block((5, 5, 5))
s, check = (springs.simulation(body, gravity=(0, 0, 0), device="cpu", threads=2) for _ in range(2))
network = s.solver.model.network
main, chance = threading.get_ident(), random.Random(0)

def interrupted(work):
    timer = threading.Timer(chance.uniform(0.0, 0.02), lambda: signal.pthread_kill(main, signal.SIGINT))
    try:
        timer.start()
        while True:
            work()
    except KeyboardInterrupt:
        timer.join()

def goes_on():
    before, end = s.step_count, time.time() + 30.0
    while s.step_count == before:
        assert s.running and time.time() < end, "it stands"

def edit():
    with s.edit() as e:
        new = e.add_springs([3], [40], stiffness=1.0, rest_lengths=0.3)
    with s.edit() as e:
        e.remove_springs(new)

def start_and_stop():
    if not s.running:
        s.start()
    s.stop()

# Whoever reads a running simulation is interrupted, and it goes on.
s.start()
for number in range(24):
    interrupted((s.snapshot_numbers, s.positions, s.state_hash)[number % 3])
    goes_on()
print(s.stop().kind)

# A synchronous run is interrupted between two steps: the state is that of the step that is counted.
for number in range(16):
    interrupted(lambda: s.run(0.01))
    assert int(s.state.clock.numpy()[0]) == s.step_count
check.step(s.step_count)
print(check.state_hash() == s.state_hash())

# Edits are made or not, and starts and stops, too.
for number in range(24):
    interrupted(start_and_stop if number % 2 else edit)
    if not s.running and number % 4 == 0:
        s.start()
s.stop()
s.positions()
network.verify()
print(0 <= network.springs.live_count - body.spring_count <= 30, len(network.prepared))
"""


def test_ctrl_c_anywhere() -> None:
    assert script(_INTERRUPTED) == "stopped\nTrue\nTrue 0\n"


_FORKED = """
import os, signal, sys, time, warnings
warnings.simplefilter("ignore")
import warp as wp
wp.config.log_level = wp.LOG_ERROR
from annelid import springs
from annelid.core.errors import AnnelidError
s = springs.simulation(springs.block((12, 12, 12)), device="cpu", threads=2)
s.step(5)

def forked(work):
    child = os.fork()
    if child == 0:
        signal.alarm(30)
        code = 9
        try:
            code = int(work())
        except AnnelidError as error:
            code = 5 if "forked" in str(error) else 8
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

# Threads of a team do not follow a fork: a process that goes on with a simulation which stood makes its own.
def steps():
    s.step(20)
    s.start()
    s.pause()
    return s.step_count >= 25
print(s.solver.threads, forked(steps), s.step_count)

# One that ran is refused.
s.start()
for work in (s.stop, s.pause, s.wait, s.start, s.step, s.positions, s.snapshot, s.state_hash):
    time.sleep(0.002)
    print(forked(lambda: bool(work()) and 1), end=" ")
print(s.stop().kind)

# What nobody asks for is told at the end.
def fail(s):
    raise OSError("full disk")
s.observe(fail, every=1e-3)
s.start()
while s.running:
    time.sleep(1e-3)
sys.stderr = sys.stdout
"""


def test_forked_processes_and_the_end_of_the_program() -> None:
    told = "annelid: a run in its own thread has failed: full disk\n"
    assert script(_FORKED) == "2 1 5\n" + "5 " * 8 + "stopped\n" + told


def test_random_friends_and_enemies(growth: Make) -> None:
    """Threads start, stop, step, read and set breakpoints as they like; what is refused is refused in a sentence."""
    simulation = Simulation(growth(dt=1e-3, size=2))
    end = time.perf_counter() + 1.0

    def work(seed: int) -> None:
        random = np.random.default_rng(seed)
        deeds: list[Callable[[], Any]] = [
            simulation.start, simulation.stop, simulation.pause, simulation.step, lambda: simulation.run(2e-3),
            simulation.positions, lambda: simulation.wait(1e-3), simulation.reset,
            lambda: simulation.breakpoint(at=simulation.time + 3e-3),
            lambda: simulation.breakpoint(when=lambda s: s.step_count % 7 == 0),
        ]  # fmt: skip
        while time.perf_counter() < end:
            try:
                deeds[random.integers(len(deeds))]()
            except (AnnelidError, TimeoutError):
                continue

    together(*(lambda seed=seed: work(seed) for seed in range(6)))
    bounded(simulation.stop)
    assert not simulation.running


def test_steps_are_counted_as_they_are_taken_when_what_acts_before_them_fails(growth: Make, tmp_path: Path) -> None:
    """Else the simulation would stand at another step than its state, and its checkpoints could not be loaded."""
    simulation, seen = Simulation(growth(dt=1e-3)), []

    def act(state: Any, step: int) -> None:
        seen.append((step, simulation.step_count, int(state.clock.numpy()[0])))
        if step == 60 and len(seen) < 20:
            raise RuntimeError("a mistake in a controller")

    simulation.step(25)
    simulation.pace(act, every=1e-2)
    with pytest.raises(RuntimeError, match="a mistake"):
        simulation.run(0.2)
    assert all(step == counted == clock for step, counted, clock in seen)
    assert simulation.step_count == 60 == int(simulation.state.clock.numpy()[0])
    simulation.save(tmp_path / "here.npz")
    simulation.load(tmp_path / "here.npz")
    assert simulation.step_count == 60


def test_what_acts_before_a_step_may_save(growth: Make, tmp_path: Path) -> None:
    simulation = Simulation(growth(dt=1e-3))
    simulation.pace(lambda state, step: simulation.save(tmp_path / "here.npz"), every=1e-2)
    simulation.step(38)
    simulation.load(tmp_path / "here.npz")
    assert simulation.step_count == 30


@pytest.mark.parametrize("how", ["run", "start"])
def test_an_observer_cannot_set_the_simulation_back_under_its_own_run(how: str, growth: Make, tmp_path: Path) -> None:
    """A run to a step that an observer moves away from would have no end."""
    for back in ("reset", "load"):
        simulation = Simulation(growth(dt=1e-3))
        simulation.save(tmp_path / "begin.npz")
        arguments = {"reset": (), "load": (tmp_path / "begin.npz",)}[back]
        simulation.observe(lambda s, back=back, given=arguments: getattr(s, back)(*given), every=5e-3)
        with pytest.raises(AnnelidError, match=f"cannot {back} the simulation that has called it"):
            advanced(simulation, how)
        assert simulation.step_count == 5


def test_a_condition_or_an_observer_may_clear_the_breakpoint_that_was_reached(growth: Make) -> None:
    simulation = Simulation(growth(dt=1e-3))

    def once(s: Simulation[Any]) -> bool:
        s.clear_breakpoint(point)
        return True

    point = simulation.breakpoint(when=once)
    event = simulation.run(1.0)
    assert event is not None
    assert event.detail is point
    assert simulation.run(0.01) is None
    other = simulation.breakpoint(when=lambda s: True)
    simulation.observe(lambda s: s.clear_breakpoint(other), every=1e-3)
    event = simulation.run(1.0)
    assert event is not None
    assert event.detail is other
    assert simulation.run(0.01) is None


def test_times_that_are_no_numbers_are_refused(growth: Make) -> None:
    simulation = Simulation(growth(dt=1e-3))
    calls: list[Callable[[Any], object]] = [
        lambda wrong: simulation.breakpoint(at=wrong),
        simulation.run_for,
        lambda wrong: simulation.run_for(0.1, most=wrong),
    ]
    for call in calls:
        with pytest.raises(AnnelidError):
            call("soon")
