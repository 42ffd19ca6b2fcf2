"""The worm in sand as an environment: what its segments feel, and what its way is worth."""

import numpy as np
import pytest

from annelid import envs
from annelid.core.errors import InvalidValue
from annelid.envs.kernels.sandworm import FELT
from annelid.envs.task_worlds import TaskWorlds

NAME = "annelid/SandWorm-v0"
SMALL = {"depth": 0.045, "run_up": 0.06, "noise": 0.0, "segments": 4}


def worms(count: int = 1, **options: object) -> TaskWorlds:
    worlds = envs.make_worlds(NAME, count, device="cpu", **{**SMALL, **options})
    assert isinstance(worlds, TaskWorlds)
    worlds.restart(seeds=range(count))
    return worlds


def felt(worlds: TaskWorlds) -> np.ndarray:
    """What each segment feels, shape [worlds, segments, 6]."""
    seen = worlds.observations["observation"].numpy()
    return seen[:, : FELT * worlds.action_size].reshape(worlds.count, -1, FELT)


def test_segments_swell_and_feel_it() -> None:
    worlds = worms(2)
    for _ in range(3):
        worlds.step(np.array([[1.0, 0.0, 0.0, -1.0], [0.0] * 4]))
    strained, calm = felt(worlds)
    assert strained[0, 5] == pytest.approx(0.2)
    assert strained[3, 5] == pytest.approx(-0.2)
    assert (strained[0, :2] > 0.08).all()
    assert (strained[3, :2] < -0.08).all()
    assert np.abs(calm[:, :2]).max() < 0.03


def test_contacts_bear_a_worm_at_rest() -> None:
    worlds = worms(action_time=0.1)
    worlds.step(np.zeros((1, 4)))
    assert felt(worlds)[0, :, 4].sum() == pytest.approx(1.0, abs=0.05)
    assert np.abs(worlds.rewards.numpy()).max() < 0.01


def test_a_wave_is_rewarded_by_its_way() -> None:
    worlds = worms(segments=6, run_up=0.1)
    start, total = worlds.info()["x"][0], 0.0
    for step in range(14):
        phase = 2.0 * np.pi * (2.0 * step * worlds.action_seconds - 2.0 * np.arange(6) / 6.0)
        worlds.step(np.sin(phase)[None])
        total += float(worlds.rewards.numpy()[0])
    way = worlds.state.springs.positions.numpy()[:, 0].mean(dtype=float) - start
    assert total == pytest.approx(way / worlds.task.length, abs=1e-4)
    assert total > 0.01
    assert worlds.observations["observation"].numpy()[0, -3:] == pytest.approx(
        worlds.now["velocities"].numpy()[0] / 0.4
    )


def test_seeds_begin_differently() -> None:
    worlds = worms(2, noise=0.02)
    first = felt(worlds)[:, :, 5]
    assert np.abs(first).max() <= 0.02
    assert not np.array_equal(first[0], first[1])


def test_picture_of_one_of_many() -> None:
    worlds = worms(2)
    worlds.step(np.array([[1.0] * 4, [-1.0] * 4]))
    large, small = (worlds.snapshot(world) for world in (0, 1))
    widths = [np.ptp(np.asarray(shot.parts[0].vertices)[:, 1]) for shot in (large, small)]
    assert widths[0] > 1.1 * widths[1]
    assert any(part.name == "grains" and len(part.centers) == len(worlds.solver.model.bed) // 2 for part in large.parts)


@pytest.mark.parametrize(("name", "value"), [("segments", 0), ("swelling", 0.9), ("buried", 2.0), ("length", "long")])
def test_bad_options(name: str, value: object) -> None:
    with pytest.raises(InvalidValue, match=name):
        envs.make_worlds(NAME, **{name: value})


@pytest.mark.parametrize("spacing", [0.1, 0.7])
def test_spacing_is_bounded(spacing: float) -> None:
    with pytest.raises(InvalidValue, match=r"spacing of SandWorm must be between 0\.2 and 0\.6"):
        envs.make_worlds(NAME, 1, device="cpu", spacing=spacing)
