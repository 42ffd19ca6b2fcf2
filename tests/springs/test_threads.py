"""Edits, breaking, recordings and checkpoints from several threads at once, while the simulation runs."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from annelid import Look, Simulation, springs
from annelid.core.errors import AnnelidError, StaleHandle
from annelid.core.recording import Recording

from ..threads import Thread, bounded, together, until

Sim = Simulation[springs.Solver]

FLOATING = (0.0, 0.0, 0.0)
"""No gravity: what falls for as long as threads take leaves the range in which single precision knows its springs."""


def breakable(device: str, *, strain: float = 10.0) -> Sim:
    body = springs.block((3, 3, 3))
    body.yield_strains[:] = strain
    return springs.simulation(body, device=device, gravity=FLOATING)


def stiffen(simulation: Sim, spring: int = 2) -> None:
    with simulation.edit() as edit:
        edit.change_springs([spring], stiffness=100.0)


def test_an_edit_of_a_breakable_body_while_it_runs(device: str) -> None:
    simulation = breakable(device)
    simulation.start()
    for _ in range(20):
        bounded(lambda: stiffen(simulation))
    assert bounded(simulation.stop).kind == "stopped"
    simulation.solver.model.network.verify()
    assert simulation.solver.model.network.spring_values(
        simulation.solver.model.network.springs.handles(np.array([2]))
    )["stiffness"] == pytest.approx(100.0)


@pytest.mark.parametrize("breaking", [True, False])
def test_an_observer_edits_while_other_threads_edit(device: str, breaking: bool) -> None:
    simulation = (
        breakable(device) if breaking else springs.simulation(springs.block((3, 3, 3)), device=device, gravity=FLOATING)
    )
    simulation.observe(stiffen, every=1e-3)
    simulation.start()
    together(*(lambda k=k: [stiffen(simulation, k) for _ in range(25)] for k in (3, 4, 5)))
    assert bounded(simulation.stop).kind == "stopped"
    simulation.solver.model.network.verify()


def test_a_reset_while_another_thread_edits(device: str) -> None:
    """The one has the gate and wants the network; the other had the network and wanted the gate."""
    simulation = springs.simulation(springs.block((3, 3, 3)), device=device, gravity=FLOATING)
    end = time.perf_counter() + 0.5

    def edit() -> None:
        while time.perf_counter() < end:
            try:
                with simulation.edit() as edit:
                    added = edit.add_springs([0], [26], stiffness=1.0, rest_lengths=1.0)
                with simulation.edit() as edit:
                    edit.remove_springs(added)
            except StaleHandle:  # there was a reset in between
                continue

    def reset() -> None:
        while time.perf_counter() < end:
            simulation.reset()
            simulation.step(2)

    together(edit, edit, reset)
    bounded(simulation.reset)
    simulation.solver.model.network.verify()
    fresh = springs.simulation(springs.block((3, 3, 3)), device=device, gravity=FLOATING)
    for one in (simulation, fresh):
        one.step(10)
    assert simulation.state_hash() == fresh.state_hash()


def test_an_edit_is_refused_after_its_block(device: str) -> None:
    simulation = springs.simulation(springs.block((3, 3, 3)), device=device, gravity=FLOATING)
    network = simulation.solver.model.network
    with simulation.edit() as over:
        pass
    with pytest.raises(ZeroDivisionError), simulation.edit() as failed:
        raise ZeroDivisionError
    for edit in (over, failed):
        for change in (
            lambda e: e.add_masses([[0.0, 0.0, 1.0]], 1.0),
            lambda e: e.change_masses([0], masses=1.0),
            lambda e: e.remove_masses([0]),
            lambda e: e.add_springs([0], [1], stiffness=1.0),
            lambda e: e.remove_springs([0]),
            lambda e: e.change_springs([0], stiffness=1.0),
        ):
            with pytest.raises(AnnelidError, match="edit is over"):
                change(edit)
    assert network.masses.live_count == 27
    network.verify()


def test_what_is_not_yet_there_is_not_seen(device: str, tmp_path: Path) -> None:
    """Handles of an edit that is still collected are nobody else's: not in pictures, sums, positions or checkpoints."""
    simulation, other = (
        springs.simulation(springs.block((3, 3, 3)), device=device, gravity=FLOATING) for _ in range(2)
    )
    stiffen(simulation)
    look = Look(lines=True, fields=("strain",))
    with simulation.edit() as edit:
        masses = edit.add_masses([[0.0, 0.0, 1.0], [0.0, 0.1, 1.0]], 0.1)
        edit.add_springs(masses, [0, 1], stiffness=1.0)
        simulation.step(2)
        assert len(simulation.positions()) == len(simulation.velocities()) == 27
        assert simulation.summary().mass == pytest.approx(27 * 0.1)
        assert simulation.solver.model.spring_count == other.solver.model.spring_count
        assert len(simulation.snapshot(look).parts[-1].segments) == other.solver.model.spring_count
        simulation.save(tmp_path / "meanwhile.npz")
        saved = simulation.state_hash()
    assert len(simulation.positions()) == 29
    other.load(tmp_path / "meanwhile.npz")
    assert other.state_hash() == saved
    other.solver.model.network.verify()
    with other.edit() as edit:
        edit.add_springs(edit.add_masses([[0.0, 0.0, 1.0]], 0.1), [0], stiffness=1.0)
    assert len(other.positions()) == 28


def test_a_load_while_an_edit_is_collected(device: str, tmp_path: Path) -> None:
    simulation = springs.simulation(springs.block((3, 3, 3)), device=device, gravity=FLOATING)
    stiffen(simulation)
    simulation.save(tmp_path / "edited.npz")

    def edit_and_load() -> None:
        with simulation.edit() as edit:
            edit.add_springs(edit.add_masses([[0.0, 0.0, 1.0]], 0.1), [0], stiffness=1.0)
            simulation.load(tmp_path / "edited.npz")

    with pytest.raises(StaleHandle, match="begin it again"):
        edit_and_load()
    simulation.solver.model.network.verify()
    assert simulation.solver.model.network.masses.live_count == 27
    with simulation.edit() as edit:
        edit.add_springs(edit.add_masses([[0.0, 0.0, 1.0]], 0.1), [0], stiffness=1.0)
    assert len(simulation.positions()) == 28


def test_an_edit_whose_thread_is_interrupted_is_made(device: str) -> None:
    """It is prepared while the simulation runs; whoever next has the gate installs it."""
    simulation = springs.simulation(springs.block((3, 3, 3)), device=device, gravity=FLOATING)
    network = simulation.solver.model.network

    class Interrupted(type(simulation.gate)):
        def __enter__(self) -> Any:
            raise KeyboardInterrupt

    editor = simulation.solver.editor(simulation.state, simulation._march.good)
    with pytest.raises(KeyboardInterrupt), editor.collecting(Interrupted()) as edit:
        edit.remove_springs([0])
    network.prepared[0] = (simulation.gate, network.prepared[0][1])
    simulation.step(1)
    assert not network.prepared
    network.verify()
    same = springs.simulation(springs.block((3, 3, 3)), device=device, gravity=FLOATING)
    with same.edit() as edit:
        edit.remove_springs([0])
    same.step(1)
    for one in (simulation, same):
        one.step(5)
    assert same.summary().elastic == simulation.summary().elastic


def test_everything_at_once(device: str, tmp_path: Path) -> None:
    """Springs break, threads edit, record, save, look and stop; no edit is lost and every file can be read."""
    body = springs.block((4, 4, 8))
    body.yield_strains[:] = 0.002
    body.fix(lambda x: x[:, 2] < 0.05).push(lambda x: x[:, 2] > 0.65, (0.0, 0.0, 600.0))
    simulation = springs.simulation(body, device=device)
    simulation.observe(lambda s: s.snapshot_numbers(), every=2e-3)
    network, end = simulation.solver.model.network, time.perf_counter() + 1.0
    simulation.start()

    def edit(rank: int) -> int:
        random, own, kept = np.random.default_rng(rank), network.springs.handles(np.zeros(0, np.int64)), 0
        while time.perf_counter() < end:
            with simulation.edit() as e:
                if len(own) > 5:
                    e.remove_springs(own)
                    own, kept = own[:0], 0
                else:
                    first = random.integers(0, 128, 2)
                    own += e.add_springs(first, (first + 1) % 128, stiffness=0.1, rest_lengths=0.5)
                    kept += 2
        return kept

    def grow() -> int:
        count = 0
        while time.perf_counter() < end and count < 40:
            with simulation.edit() as e:
                e.add_springs(e.add_masses([[0.0, 0.0, 2.0]], 0.1), [0], stiffness=0.1)
            count += 1
        return count

    def save() -> int:
        count = 0
        while time.perf_counter() < end:
            simulation.save(tmp_path / f"{count}.npz")
            count += 1
            time.sleep(0.05)
        return count

    def record() -> None:
        with simulation.record(tmp_path / "run", every=1e-3, look=Look(lines=True)):
            while time.perf_counter() < end:
                simulation.snapshot(Look(lines=True, fields=("strain",)))
                simulation.positions()

    def stop() -> None:
        while time.perf_counter() < end:
            simulation.stop()
            simulation.step(3)
            simulation.start()
            time.sleep(0.02)

    kept = together(lambda: edit(0), lambda: edit(1), grow, save, record, stop)
    bounded(simulation.stop)
    network.verify()
    broken = sum(len(event.detail) for event in simulation.events if event.kind == "broken")
    assert broken > 0
    assert network.springs.live_count == body.spring_count + kept[0] + kept[1] + kept[2] - broken
    with Recording(tmp_path / "run") as recording:
        assert len(recording) > 0
    again = springs.simulation(body, device=device)
    for number in {0, kept[3] // 2, kept[3] - 1}:
        again.load(tmp_path / f"{number}.npz")
        again.solver.model.network.verify()
        again.step(1)


def test_many_simulations_side_by_side(device: str) -> None:
    """A batch of worlds, each in its own thread, whose observers edit the next one."""
    ring = [springs.simulation(springs.block((3, 3, 3)), device=device, gravity=FLOATING) for _ in range(3)]
    refused: list[str] = []

    def edit_next(simulation: Sim) -> None:
        try:
            stiffen(ring[(ring.index(simulation) + 1) % 3])
        except AnnelidError as error:  # it would have waited in a circle
            refused.append(str(error))

    for simulation in ring:
        simulation.observe(edit_next, every=1e-3)
        simulation.start()
    until(lambda: all(simulation.step_count > 200 for simulation in ring))
    for simulation in ring:
        assert Thread(simulation.stop).result().kind == "stopped"
        simulation.solver.model.network.verify()
    assert all("circle" in sentence for sentence in refused)
