"""Studies that search by gradients: a gait, a throw and a shape, in forms that take a second."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import warp as wp

from annelid.core.errors import FileFormatError, InvalidValue
from annelid.core.packages import installed
from annelid.core.progress import Progress
from annelid.studies.gait import Gait, ratios
from annelid.studies.shape import Finger, Shape
from annelid.studies.support.gait_searches import Course
from annelid.studies.support.lattice_walker import Walk, Walked
from annelid.studies.throw import Throw

from .conftest import by_name


def test_a_gait_is_searched_by_each_method(cpu: wp.Device, silence: Progress) -> None:
    study = Gait(quick=True)
    found = study.compute(cpu, 1, silence)
    learnt = ["ppo"] if installed("stable_baselines3") else []
    assert list(found) == [(method, 0) for method in ("gradient", "sampled", "cma-es", *learnt)]
    for (method, _), course in found.items():
        assert (np.diff(course.steps) > 0.0).all()
        assert (np.diff(course.distances) >= 0.0).all()
        assert course.gait.shape == (study.walk().shape if method != "ppo" else (0, 0))
    assert found["gradient", 0].steps[-1] == 3 * 3 * study.walk().steps()  # there and back, three times
    assert found["gradient", 0].distances[-1] > found["gradient", 0].distances[0]
    assert by_name(study.measure(found))["gradient-0-farther-than-cma-es"].passed is None


def test_a_policy_walks_as_a_table_does(cpu: wp.Device) -> None:
    pytest.importorskip("stable_baselines3")  # what learns from it
    from annelid.envs.task_worlds import TaskWorlds
    from annelid.envs.worlds import read_options
    from annelid.studies.support.gait_learning import LatticeWalk

    walk = Walk(1, 4, cpu, 1)
    table = walk.random(np.random.default_rng(0), 1)[0]
    options = {"cycles": 1, "intervals": 4, "every": 0.025, "seconds": 0.1}
    worlds = TaskWorlds(2, read_options(LatticeWalk, options), device=cpu, threads=1)
    worlds.restart(seeds=[0, 1])
    far = np.zeros(2)
    for row in table:
        worlds.step(np.tile((row - 1.0) / 0.3, (2, 1)))
        far += worlds.rewards.numpy()
    np.testing.assert_allclose(far, -Walked(walk).value({"gait": table}), atol=2e-6)
    np.testing.assert_allclose(worlds.observations["observation"].numpy()[0, :2], [0.0, 1.0], atol=1e-6)


def course(steps: list[float], distances: list[float]) -> Course:
    return Course(np.array(steps), 0.1 * np.array(steps), np.array(distances), np.ones((2, 3)))


def test_searches_for_a_gait_are_compared_and_kept(tmp_path: Path) -> None:
    found = {
        ("gradient", 0): course([1.0, 2.0, 3.0], [0.0, 0.6, 0.7]),
        ("cma-es", 0): course([10.0, 60.0], [0.1, 0.5]),
        ("gradient", 1): course([1.0, 3.0], [0.0, 0.4]),
        ("cma-es", 1): course([10.0, 60.0], [0.1, 0.5]),
    }
    rows = by_name(Gait().measure(found))
    assert rows["gradient-0-farther-than-cma-es"].passed
    assert rows["gradient-1-farther-than-cma-es"].passed is False
    np.testing.assert_array_equal(ratios(found), [30.0, 0.0])
    found["gradient", 0].save(tmp_path / "one.npz", {"seed": 0})
    again = Course.load(tmp_path / "one.npz", {"seed": 0})
    np.testing.assert_array_equal(again.distances, found["gradient", 0].distances)
    with pytest.raises(FileFormatError, match="other options"):
        Course.load(tmp_path / "one.npz", {"seed": 1})
    with pytest.raises(InvalidValue, match="seeds of gait must be a whole number of 1 or more"):
        Gait(seeds=0)


def test_a_throw_comes_nearer_to_its_target(cpu: wp.Device, silence: Progress) -> None:
    found = Throw(quick=True).compute(cpu, 1, silence)
    assert found.misses[-1, 0] < found.misses[0, 0]
    place, speed = found.releases[0]
    flight = (speed[2] + np.sqrt(speed[2] ** 2 + 2.0 * 9.81 * place[2])) / 9.81
    assert abs(place[0] + speed[0] * flight - found.targets[0]) == pytest.approx(found.misses[-1, 0], rel=1e-4)


def test_moduli_of_a_finger_have_the_rates_of_differences(cpu: wp.Device) -> None:
    finger, moduli = Finger(2, cpu, 1), np.array([150e3, 120e3])
    _, rates = finger.loss({"youngs_modulus": moduli})
    changes = np.array([[0.0, 300.0], [0.0, -300.0]])
    up, down = (finger.loss({"youngs_modulus": moduli + change})[0] for change in changes)
    assert rates["youngs_modulus"][1] == pytest.approx((up - down) / 600.0, rel=1e-3)


def test_a_finger_comes_nearer_to_a_shape(cpu: wp.Device, silence: Progress, tmp_path: Path) -> None:
    study = Shape(quick=True)
    found = study.compute(cpu, 1, silence)
    assert by_name(study.measure(found))["part-left"].value < 0.6
    assert study.plot(found, tmp_path)[0].is_file()
