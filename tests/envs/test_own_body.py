"""The task of the documentation on a body from a mesh file: it is short, it runs as printed, and it trains."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from annelid import envs
from annelid.shapes import Box

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "task.md"
NAME = "Creep"
SMALL = {"pitch": 0.05, "seconds": 0.1}


@pytest.fixture
def task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The block of the documentation as a file, beside an STL file."""
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    (block,) = (text for text in blocks if f"class {NAME}" in text)
    assert len(block.splitlines()) <= 40
    monkeypatch.chdir(tmp_path)
    Path("my_task.py").write_text(block, encoding="utf-8")
    Box((0.2, 0.1, 0.1), center=(0.0, 0.0, 0.05)).surface().write("body.stl")
    return f"my_task.py:{NAME}"


def test_it_becomes_an_environment_whose_worlds_differ(task: str) -> None:
    worlds = envs.make_worlds(task, 2, device="cpu", threads=1, **SMALL)
    worlds.restart(seeds=[1, 2])
    drawn = worlds.simulation.parameters
    worlds.step(np.zeros((2, 3)))
    assert np.isfinite(worlds.observations["observation"].numpy()).all()
    assert np.isfinite(worlds.rewards.numpy()).all()
    for name in ("friction", "stiffness", "mass", "lag"):
        assert drawn[name][0] != drawn[name][1]


def test_it_trains_from_the_command_line(
    task: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for package in ("torch", "stable_baselines3"):
        pytest.importorskip(package)
    from annelid.commands.train import command
    from annelid.envs.training.recipes import RECIPES, Recipe

    monkeypatch.setitem(RECIPES, task, Recipe(choices=64, worlds=2))
    options = [part for name, value in SMALL.items() for part in (f"--{name}", f"{value}")]
    few = ["--steps", "8", "--episodes", "1", "--no-plot", "--device", "cpu", "--threads", "1", "--out", "agent"]
    assert command([task, *few, *options]) == 0
    assert {"agent.zip", "history.csv", "results.json"} <= {path.name for path in Path("agent").iterdir()}
    assert "agent.zip" in capsys.readouterr().out
