"""A trained agent out of its folder: it acts as it did in training, in an environment and on the command line."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("stable_baselines3")

from annelid import envs
from annelid.core.errors import FileFormatError, InvalidValue
from annelid.envs.training.recipes import Recipe
from annelid.envs.training.run import Plan, Training
from annelid.scenes.support.own import own_scene

from ..task_file import written


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path, Training]:
    """A task, the folder of a training in it, and the training."""
    folder = tmp_path_factory.mktemp("trained")
    task = written(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("annelid.envs.training.run.recipe", lambda *_: Recipe(choices=128, scaled=True))
        training = Training(Plan(task, worlds=2, repeat=2), folder / "agent", device="cpu", threads=1)
        training.learn(64)
    return task, folder / "agent", training


def test_an_agent_chooses_as_in_training(trained: tuple[str, Path, Training]) -> None:
    task, folder, training = trained
    agent = envs.Agent(folder)
    assert (agent.plan.name, agent.plan.repeat, agent.sees.shape) == (task, 2, (4,))
    seen = np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32)
    assert np.array_equal(agent(seen), training.act(seen))
    np.testing.assert_allclose(agent(seen[1]), agent(seen)[1], rtol=1e-5)


def test_an_agent_acts_in_a_scene_as_in_the_environment(trained: tuple[str, Path, Training]) -> None:
    task, folder, _ = trained
    agent = envs.Agent(folder)
    worlds = envs.make_worlds(task, 1, device="cpu")
    worlds.restart(seeds=[0])
    total, action = 0.0, np.zeros((1, 2))
    for number in range(3):
        if number % 2 == 0:  # a choice is held for two actions
            action = np.clip(agent(worlds.observations["observation"].numpy()), -1.0, 1.0)
        worlds.step(action)
        total += float(worlds.rewards.numpy()[0])
    scene: Any = own_scene(task)(best=str(folder))
    simulation = scene.build(device="cpu")
    simulation.run(0.06)
    assert abs(total) > 1e-6
    assert scene.measure(simulation)[0].value == pytest.approx(total, rel=1e-3, abs=1e-8)


def test_folders_that_hold_no_agent_for_it(trained: tuple[str, Path, Training], tmp_path: Path) -> None:
    _, folder, _ = trained
    with pytest.raises(InvalidValue, match="name the folder that `annelid train` wrote"):
        envs.Agent(tmp_path)
    other: Any = own_scene(written(tmp_path, ('"strain", springs.strain_of()', '"speed", springs.velocity_of()')))
    with pytest.raises(InvalidValue, match=r"sees 4 numbers, and this task tells 6: give the task"):
        other(best=str(folder)).build(device="cpu")
    copy = tmp_path / "copy"
    copy.mkdir()
    for path in folder.glob("*.*"):
        (copy / path.name).write_bytes(path.read_bytes())
    for name, text, sentence in (
        ("scale.json", json.dumps({"observations": 3}), "cannot be read as the scale"),
        ("training.json", json.dumps({"algorithm": "ppo", "speed": 3}), "holds no plan of a training"),
    ):
        (copy / name).write_text(text)
        with pytest.raises(FileFormatError, match=sentence):
            envs.Agent(copy)
