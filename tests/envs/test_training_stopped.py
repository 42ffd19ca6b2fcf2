"""Ctrl-C anywhere in a training: at most one rollout is lost, and where and how it goes on is told."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from annelid.commands.train import stopped
from annelid.core.errors import InvalidValue
from annelid.envs.training.run import Plan, Training

from ..task_file import written

needs_signals = pytest.mark.skipif(os.name != "posix", reason="processes interrupt each other by signals")
SHORT = ("every = 0.02", "every = 0.002"), ("seconds = 0.06", "seconds = 0.02")


def test_there_must_be_something_to_go_on_from(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match=r"there is no training in .*out that could go on: leave out --resume"):
        Training(Plan("annelid/VoxelLocomotion-v0"), tmp_path / "out", resume=True)
    assert not (tmp_path / "out").exists()


def test_what_is_said_after_an_interrupt(tmp_path: Path) -> None:
    nothing = "stopped before anything was learnt; the same command begins again."
    assert stopped(tmp_path) == stopped(tmp_path, 5) == nothing
    (tmp_path / "agent.zip").touch()
    resume = "and the same command with --resume goes on from there."
    assert stopped(tmp_path) == f"stopped; what was there in {tmp_path} is kept, {resume}"
    assert stopped(tmp_path, 1234) == f"stopped; 1,234 actions of training are kept in {tmp_path}, {resume}"
    assert f"kept in {tmp_path} (PPO had not learnt from the last 1,034 yet), and" in stopped(tmp_path, 1234, 1034)


@needs_signals
def test_a_training_is_stopped_wherever_it_is_and_goes_on(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("stable_baselines3")
    folder, script = tmp_path / "out", Path(__file__).parent / "stopped_training.py"
    command = [sys.executable, str(script), written(tmp_path, *SHORT), str(folder)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert ended.returncode == 0, ended.stderr
    runs = {found["place"]: found for found in map(json.loads, ended.stdout.splitlines())}
    building, *later, whole = runs.values()
    assert building["code"] == 130
    assert building["files"] == []
    assert building["said"] == "annelid: stopped before anything was learnt; the same command begins again.\n"
    for found in later:
        assert found["code"] == 130, found
        lost = " (PPO had not learnt from the last 16 yet)" if found["place"] == "rollout" else ""
        assert found["said"] == (
            f"annelid: stopped; {found['actions']:,} actions of training are kept in {folder}{lost}, and the same "
            "command with --resume goes on from there.\n"
        )
    assert (whole["code"], whole["said"]) == (0, "")
    epochs = 8  # of an update
    rollout, update, twice, saving, evaluation = later
    assert (rollout["actions"], rollout["updates"]) == (80, epochs)  # one was learnt from, the second is lost
    assert update["updates"] == 2 * epochs  # it was finished
    assert update["updates"] <= twice["updates"] <= 3 * epochs  # what it had come to
    assert saving["updates"] == twice["updates"] + epochs
    assert evaluation["updates"] == whole["updates"] == saving["updates"]
    assert rollout["actions"] < update["actions"] < twice["actions"] < saving["actions"] == whole["actions"]
    assert (folder / "results.json").is_file()


@needs_signals
def test_another_process_stops_a_training(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("stable_baselines3")
    mark = "def reward(self, now, before, actions):\n        open(f'{__file__}.begun', 'w').close()"
    task = written(tmp_path, *SHORT, ("def reward(self, now, before, actions):", mark))
    options = ["--worlds", "2", "--out", str(tmp_path / "out"), "--no-plot", "--device", "cpu", "--threads", "1"]
    command = [sys.executable, "-m", "annelid", "train", task, *options]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert any("actions a second" in line for line in process.stderr)  # the rate is measured, now it learns
        (tmp_path / "crawl.py.begun").unlink(missing_ok=True)
        while not (tmp_path / "crawl.py.begun").exists():
            assert process.poll() is None, process.communicate()
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=120)
    assert process.returncode == 130
    assert f"actions of training are kept in {tmp_path / 'out'} (PPO had not learnt from the last" in told
    assert "the same command with --resume goes on from there." in told
    assert "Traceback" not in told
    assert (tmp_path / "out" / "agent.zip").is_file()
