"""The soak command in short: what it counts is there, what it should notice it notices, and how it ends."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import warp as wp

from annelid import springs
from annelid.cli import main
from annelid.commands import soak as soak_command
from annelid.commands.soaking import treatment
from annelid.commands.soaking.companions import Companion
from annelid.commands.soaking.editors import all_editors
from annelid.commands.soaking.growth import Sampler, growth
from annelid.commands.soaking.reading import read_checkpoint, read_recording
from annelid.commands.soaking.soak import Outcome, soak
from annelid.commands.soaking.tower import TowerScene
from annelid.commands.soaking.treatment import Treatment
from annelid.commands.soaking.turnstile import Turnstile
from annelid.commands.soaking.wanted import NotAsWanted
from annelid.core.measurement import Measurement

from .threads import Thread, until

Treat = Callable[[], Treatment]


@pytest.fixture
def treated(tmp_path: Path) -> Treat:
    """A tower whose editors have each made an edit; their threads do not run."""

    def make() -> Treatment:
        made = Treatment(tmp_path, wp.get_device("cpu"), 1, seed=1)
        for editor in made.editors:
            editor.edit()
        return made

    return make


def test_a_short_soak_finds_nothing_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(treatment, "_RUN", 0.1)
    monkeypatch.setattr(treatment, "_SAVES", 0.1)
    passed: list[float] = []
    outcome = soak(0.8, tmp_path, wp.get_device("cpu"), threads=1, others=False, told=passed.append)
    assert outcome.failures == []
    found = {m.name: m for m in outcome.measurements}
    assert all(found[name].passed for name in ("edits", "edits-lost", "files-unreadable", "threads-left"))
    assert all(found[name].value > 0 for name in ("steps", "runs", "checkpoints", "frames"))
    assert len(list(tmp_path.glob("*.npz"))) == found["checkpoints"].value
    assert len(passed) > 1


def test_an_edit_that_does_not_reach_the_device_is_noticed(treated: Treat, monkeypatch: pytest.MonkeyPatch) -> None:
    tower = treated()
    tower.compare()
    monkeypatch.setattr(springs.Solver, "install", lambda *_: None)
    stiffener, _, _, mover, _ = tower.editors
    stiffener.edit()
    with pytest.raises(NotAsWanted, match="20 steps from the checkpoint"):
        tower.compare()
    with pytest.raises(NotAsWanted, match="fixed masses are at"):
        mover.edit()


def test_edits_that_are_undone_are_noticed(treated: Treat) -> None:
    tower = treated()
    network = tower.simulation.solver.model.network
    stiffener, _, grower, _, breaker = tower.editors
    with tower.simulation.edit() as edit:
        edit.change_springs([0], stiffness=1.0)
        edit.remove_masses(grower.held()[0][0], with_springs=True)
    with pytest.raises(NotAsWanted, match="1 springs have lost the stiffness"):
        stiffener.verify()
    with pytest.raises(NotAsWanted, match="is gone or has lost springs"):
        grower.verify()
    breaker.hold(set())
    tower.simulation.step(2)
    with pytest.raises(NotAsWanted, match="broke, which are strong"):
        breaker.verify()
    network.verify()


def test_going_back_takes_edits_back_and_begins_a_segment(treated: Treat) -> None:
    tower = treated()
    tower.compare()
    before = [editor.masses for editor in tower.editors]
    for _ in range(3):
        for editor in tower.editors:
            editor.edit()
    tower.simulation.step(300)
    tower.go_back()
    assert [editor.masses for editor in tower.editors] == before
    tower.close()
    assert tower.failures == []
    read_recording(tower.recorder, segments=2)
    with pytest.raises(NotAsWanted, match="frames and segments"):
        read_recording(tower.recorder, segments=3)


def test_another_physics_beside_it(tmp_path: Path) -> None:
    blocks = [springs.simulation(springs.block((3, 3, 3)), device="cpu", threads=1) for _ in range(2)]
    beside = Companion("springs", (blocks[0], blocks[1]), tmp_path)
    beside.act()
    beside.act()
    beside.close()
    read_recording(beside.recorder, segments=3)
    for path in beside.checkpoints:
        read_checkpoint(path, beside.twin)
    beside.checkpoints[0].write_bytes(b"nothing")
    with pytest.raises(NotAsWanted, match="springs-0.npz cannot be read back: "):
        read_checkpoint(beside.checkpoints[0], beside.twin)


def test_editors_do_not_share_springs_or_masses() -> None:
    simulation = TowerScene().build(device="cpu", threads=1)
    editors, breaker = all_editors(simulation, 1)
    assert editors[-1] is breaker
    for _ in range(5):
        for editor in editors:
            editor.edit()
    for editor in editors:
        editor.verify()


def test_who_closes_the_turnstile_waits_for_those_inside() -> None:
    turnstile, leave = Turnstile(), threading.Event()
    order: list[str] = []

    def passes(name: str) -> None:
        with turnstile.passing():
            leave.wait()
            order.append(name)

    def closes() -> None:
        with turnstile.closed():
            order.append("closed")

    first = Thread(lambda: passes("first"))
    until(lambda: turnstile._inside == 1)
    closing = Thread(closes)
    until(lambda: turnstile._is_closed)
    second = Thread(lambda: passes("second"))
    leave.set()
    for thread in (first, closing, second):
        thread.result()
    assert order == ["first", "closed", "second"]


def test_memory_that_grows_is_told_from_memory_that_varies() -> None:
    random = np.random.default_rng(1)
    warming = np.linspace(2e8, 4e8, 100)
    flat = np.concatenate([warming, 4e8 + 2e6 * random.standard_normal(500)])
    flat[::50] += 1e8  # peaks while files are written
    grown = growth(flat)
    assert grown is not None
    assert abs(grown.percent) < 0.2
    leaking = growth(flat + np.linspace(0.0, 3e7, 600))
    assert leaking is not None
    assert 3.0 < leaking.percent < 5.0
    assert growth(flat[:30]) is None


def test_samples_of_memory_take_no_memory() -> None:
    sampler = Sampler(0.05, every=1e-3)
    room = sampler._samples
    sampler.start()
    until(lambda: sampler._count > 5)
    samples = sampler.end()
    assert sampler._samples is room
    assert (samples > 1e7).all()


@pytest.mark.parametrize("failures", [[], ["an edit was lost.", "and another one."]])
def test_the_report_and_the_exit_code(
    failures: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lost = Measurement("edits-lost", len(failures), reference=0.0, tolerance=0.0)
    outcome = Outcome([lost], failures, np.array([1, 2]))
    monkeypatch.setattr(soak_command, "soak", lambda *_, **__: outcome)
    with pytest.raises(SystemExit) as end:
        main(["soak", "--no-browser", "--device", "cpu", "--out", str(tmp_path)])
    assert end.value.code == (1 if failures else 0)
    shown = capsys.readouterr()
    assert "edits-lost" in shown.out
    assert shown.err == ("annelid: the soak has failed: an edit was lost.\n" if failures else "")
    report = json.loads((tmp_path / "report.json").read_text())
    assert (report["passed"], report["failures"], report["memory"]) == (not failures, failures, [1, 2])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [([], "no Chromium or Chrome is on PATH"), (["--minutes", "-1"], "--minutes must be a positive time, not -1.0")],
)
def test_a_soak_that_cannot_be_is_refused(
    arguments: list[str],
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit, match="2"):
        main(["soak", "--device", "cpu", *arguments])
    said = capsys.readouterr().err
    assert words in said
    assert said.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
