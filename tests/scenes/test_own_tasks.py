"""A user's own task as a scene: commands show a world of it, sliders or a controller act, and its return is told."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from annelid import cli, control, envs
from annelid.core.errors import AnnelidError, InvalidValue
from annelid.scenes.support.own import own_scene

from ..task_file import written
from ..threads import until


def commanded(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        cli.main([*arguments, "--device", "cpu"])
    return int(ended.value.code or 0)


def a_controller(folder: Path) -> str:
    """The folder of a search whose best robot moves by sines."""
    robot = {"controller": control.PhasedSines([0.3, 2.0], frequency=7.0).to_dict()}
    (folder / "best.json").write_text(json.dumps({"robots": [{"robot": robot}, {"robot": {}}]}))
    return str(folder)


def returned(task: str, act: Any) -> float:
    """Return of an episode in the environment."""
    worlds = envs.make_worlds(task, 1, device="cpu", friction=0.4)
    worlds.restart(seeds=[0])
    total = 0.0
    while not worlds.done.numpy()[0]:
        worlds.step(np.asarray(act(float(worlds.steps.numpy()[0]) * worlds.action_seconds))[None])
        total += float(worlds.rewards.numpy()[0])
    return total


def test_a_task_runs_as_in_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Front springs span 0.7 to 1.2, so that the action 0 is not the rest of the body."""
    monkeypatch.chdir(tmp_path)
    task, folder = written(tmp_path), a_controller(tmp_path)
    sines = returned(task, lambda time: np.sin(2.0 * np.pi * 7.0 * time + np.array([0.3, 2.0])))
    for best, expected in (([], returned(task, lambda time: np.zeros(2))), (["--best", folder], sines)):
        # Longer than an episode, whose return it still is.
        assert commanded("run", task, "--friction", "0.4", "--seconds", "0.1", *best, "--json") == 0
        told = {m["name"]: m["value"] for m in json.loads(capsys.readouterr().out)["measurements"]}
        assert abs(expected) > 1e-5
        assert told == {"return": pytest.approx(expected, rel=1e-3, abs=1e-7), "actions": 3.0}
    rows = (tmp_path / "out" / "crawl-Crawl" / "numbers.csv").read_text().splitlines()
    assert {"back", "front", "place.x", "strain"} <= set(rows[0].split(","))


def test_pictures_and_videos(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("PIL")
    monkeypatch.chdir(tmp_path)
    task = written(tmp_path)
    small = ("--pixels", "64", "48")
    assert commanded("picture", task, "--at", "0.02", "--out", "still.png", *small) == 0
    assert Path("still.png").read_bytes().startswith(b"\x89PNG")
    assert commanded("video", task, "--best", a_controller(tmp_path), "--out", "moving.gif", *small) == 0
    assert Path("moving.gif").read_bytes().startswith(b"GIF8")


def test_a_task_is_seen_from_where_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Looking up, only the sky is seen; the default frames the body."""
    image = pytest.importorskip("PIL.Image")
    monkeypatch.chdir(tmp_path)
    upward = "Camera((0.0, 0.0, 1.0), (0.0, 0.1, 2.0))"
    imported = "from annelid.shapes import ground\nfrom annelid.view.camera.camera import Camera"
    spread = {}
    for follow in (True, False, None):
        camera = f"\n    camera = {upward}\n    followed = {follow}" if follow is not None else ""
        changes = ("from annelid.shapes import ground", imported), ("every = 0.02", f"every = 0.02{camera}")
        task = written(tmp_path, *changes)
        assert commanded("picture", task, "--at", "0.02", "--out", "still.png", "--pixels", "64", "48") == 0
        pixels = np.asarray(image.open("still.png").convert("RGB"), float)
        spread[follow] = np.ptp(pixels[:30, :, 0] - pixels[:30, :, 2])  # without the caption
    assert max(spread[True], spread[False]) < 20.0 < spread[None]


def test_goals_are_marked_in_what_commands_show(tmp_path: Path) -> None:
    goals = """def goals(self):
        return {"target": (0.2, 0.3)}

    def marks(self, goals):
        place = [[goals["target"][0], 0.0, 0.1]]
        return [Spheres("target", np.array(place), np.array([0.02]))]

    def reward"""
    imported = ("from annelid import envs", "import numpy as np\nfrom annelid import envs")
    shown = "from annelid.core.snapshot import Spheres\nfrom annelid.shapes import ground"
    changes = imported, ("def reward", goals), ("from annelid.shapes import ground", shown)
    scene: Any = own_scene(written(tmp_path, *changes))()
    simulation = scene.build(device="cpu")
    marked = [part for part in simulation.snapshot().parts if part.name == "target"]
    np.testing.assert_allclose(marked[0].centers[0, 0], simulation.sensors["target"][0, 0])


def test_a_task_in_pytorch_is_scored_too(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    scores = []
    for changes in ((), (("every = 0.02", 'every = 0.02\n    arrays = "torch"'),)):
        scene: Any = own_scene(written(tmp_path, *changes))()
        simulation = scene.build(device="cpu")
        simulation.run(0.06)
        scores.append(scene.measure(simulation)[0].value)
    assert scores[0] == pytest.approx(scores[1], abs=1e-7)


def test_an_episode_that_ends_early_earns_no_more(tmp_path: Path) -> None:
    ends = 'def terminated(self, now, before, actions):\n        return now["place"][:, 0] > -9.0\n\n    def reward'
    scene: Any = own_scene(written(tmp_path, ("def reward", ends)))()
    simulation = scene.build(device="cpu")
    simulation.run(0.05)
    assert scene.measure(simulation)[1].value == 1.0
    assert scene.status(simulation).endswith("after 1 action (the episode is over)")


def test_the_page_of_a_task_has_sliders_plots_and_a_reset(tmp_path: Path) -> None:
    pytest.importorskip("viser", reason="needs viser: pip install annelid[view]")
    from annelid.view.browser.live import LiveViewer

    kind: Any = own_scene(written(tmp_path))
    with LiveViewer({kind.name: kind}, kind(), build=lambda s: s.build(device="cpu"), port=18090) as viewer:
        sliders = {channel.name: slider for channel, slider in viewer._commands._sliders.items()}
        assert (sliders["front"].min, sliders["front"].max) == (0.7, 1.2)
        assert sliders["front"].value == pytest.approx(0.95)  # the action 0
        assert {"friction", "best"} <= set(viewer._controls)
        simulation = viewer.runner.simulations[0]
        channel = next(c for c in viewer._commands._sliders if c.name == "front")
        viewer._commands._moved(channel, SimpleNamespace(client=1, target=SimpleNamespace(value=1.1)))
        until(lambda: simulation.controls.targets()[0, 1] == 1.1)
        viewer.runner.step(300).result()
        assert simulation.controls.targets()[0, 1] == 1.1  # nobody else commands
        viewer.page.later(viewer._show)
        until(lambda: "after 3 actions" in viewer._status.content)
        assert {"front", "place.x", "strain"} <= set(viewer._shown.snapshots[0].numbers)
        viewer.page.later(viewer._reset)
        until(lambda: viewer.runner.simulations[0] is not simulation)
        until(lambda: "after 0 actions" in viewer._status.content)
        until(lambda: sliders["front"].value == pytest.approx(0.95))


def test_the_options_of_a_task_are_parameters(tmp_path: Path) -> None:
    kind: Any = own_scene(written(tmp_path))
    assert [each.name for each in fields(kind)] == ["every", "smooth", "stir", "friction", "best", "seed"]
    assert (kind.duration, kind.__doc__) == (0.06, "Crawl along x.")
    plain: Any = own_scene(written(tmp_path, ('    """Crawl along x."""\n', "")))
    assert plain.__doc__ == "The task Crawl."
    told = "Crawl along x.\n\n    Args:\n        friction: Of the ground\n    "
    described: Any = own_scene(written(tmp_path, ("Crawl along x.", told)))
    helps = {each.name: each.metadata["help"] for each in fields(described)}
    assert (described.__doc__, helps["friction"]) == ("Crawl along x.", "Of the ground")
    assert helps["stir"]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (("friction: float = 0.8", "friction: float"), "the option friction of Crawl needs a default."),
        (("friction: float = 0.8", "best: float = 0.8"), "`best` names the controller that acts in a scene"),
        (("friction: float = 0.8", "name: str = ''"), "`name` is no parameter but part of every scene"),
        (
            ("friction: float = 0.8", "friction: 'Rough' = 0.8"),
            "the type of an option of Crawl is not known: name",
        ),
    ],
)
def test_a_task_that_cannot_be_shown(tmp_path: Path, changes: tuple[str, str], sentence: str) -> None:
    with pytest.raises(InvalidValue) as found:
        own_scene(written(tmp_path, changes))
    assert sentence in str(found.value)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (None, "nowhere cannot be read: No such file or directory; name the folder of a search or of a training."),
        ("# Notes", "nowhere holds no controller: it is not JSON; name the folder"),
        ("1", "no table of a controller"),
        ('{"robots": []}', "its search has found no robot"),
        ('{"kind": "phased-sines", "phases": ["x"]}', "holds no controller that could be read"),
        ('{"kind": "brain"}', "there is no controller named 'brain'"),
        ('{"kind": "phased-sines", "phases": [0, 1, 2]}', "2 phases are needed (one a channel), not 3."),
    ],
)
def test_a_controller_that_does_not_fit(tmp_path: Path, text: str | None, sentence: str) -> None:
    path = tmp_path / "nowhere"
    if text is not None:
        path.write_text(text)
    with pytest.raises(AnnelidError) as found:
        own_scene(written(tmp_path))(best=str(path)).build(device="cpu")
    assert sentence in str(found.value)
