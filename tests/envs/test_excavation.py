"""The arm in the soil: it lifts what it scoops, feels it, pays for it, and gives in where it is too much."""

import numpy as np
import pytest

from annelid import envs
from annelid.core.errors import InvalidValue
from annelid.envs.task_worlds import TaskWorlds

from .audit import Audit
from .scoop import Stop, follow, scoop_stops

GRAVITY = 9.81


def site(**changes: object) -> TaskWorlds:
    options = {"grains": 700, "radius": 0.015, "dt": 2e-3, "substeps": 25, "spread": 0.0, "images": False}
    worlds = envs.make_worlds("annelid/Excavation-v0", 1, device="cpu", **{**options, "seconds": 100.0, **changes})
    assert isinstance(worlds, TaskWorlds)
    worlds.restart(seeds=[0])
    return worlds


def surface(worlds: TaskWorlds) -> float:
    return float(np.percentile(worlds.own.soil.points.numpy()[:, 2], 95.0)) + worlds.options.radius


def plunge_stops(depth: float, surface: float) -> list[Stop]:
    """Push the edge of a bucket that looks down straight into the soil [m]."""
    return [Stop(0.55, 0.0, surface + 0.02, -0.6, 1.6), Stop(0.55, 0.0, surface - depth, -0.6, 1.0)]


@pytest.fixture(scope="module")
def scooped() -> tuple[TaskWorlds, Audit, list[bool]]:
    worlds = site()
    audit = Audit(worlds)
    # How many grains come along is chance. In this scoop none hangs over the rim, which is felt but not counted.
    ends = [bool(worlds.terminated.numpy()[0]) for _ in follow(worlds, scoop_stops(0.042, surface(worlds)))]
    return worlds, audit, ends


def test_scoop_lifts_grains(scooped: tuple[TaskWorlds, Audit, list[bool]]) -> None:
    worlds, _, ends = scooped
    assert not any(ends)
    carried = float(worlds.info()["carried"][0])
    assert carried > 10 * worlds.task.grain_mass
    assert worlds.observations["carried"].numpy()[0, 0] == pytest.approx(carried)
    assert worlds.observations["bucket"].numpy()[0, 2] > 0.3


def test_bucket_feels_the_weight_it_carries(scooped: tuple[TaskWorlds, Audit, list[bool]]) -> None:
    worlds, _, _ = scooped
    force = worlds.own.joints.wrenches.numpy()[0, :3]
    weight = GRAVITY * float(worlds.info()["carried"][0])
    assert -force[2] == pytest.approx(weight, rel=0.05)
    assert np.hypot(force[0], force[1]) < 0.1 * weight


def test_joint_torques_are_those_of_the_wrench(scooped: tuple[TaskWorlds, Audit, list[bool]]) -> None:
    worlds, _, _ = scooped
    angles = worlds.observations["angles"].numpy().astype(float)
    expected = worlds.task.chain.torques(angles, worlds.own.joints.wrenches.numpy().astype(float))[0]
    assert worlds.own.joints.torques.numpy()[0] == pytest.approx(expected, abs=0.05 * np.abs(expected).max())


def test_work_is_gain_and_loss(scooped: tuple[TaskWorlds, Audit, list[bool]]) -> None:
    balance = scooped[1].balance()
    assert balance.work > 0.5
    assert balance.gained > 0.0
    assert balance.lost > 0.0
    assert abs(balance.error) < 0.01


def test_force_rises_with_depth() -> None:
    worlds = site()
    top, depths, forces = surface(worlds), [], []
    for stop in follow(worlds, plunge_stops(0.06, top)):
        if stop == 1:
            frame = worlds.task.chain.frames(worlds.observations["angles"].numpy())[0, -1]
            edge = frame[:3, :3] @ np.asarray(worlds.task.bucket.lip) + frame[:3, 3]
            depths.append(top - edge[2])
            forces.append(float(worlds.own.joints.wrenches.numpy()[0, 2]))
    depth, force = np.array(depths), np.array(forces)
    means = [force[(depth > low) & (depth <= low + 0.02)].mean() for low in (0.0, 0.02, 0.04)]
    assert 0.0 < means[0] < means[1] < means[2]


def test_episode_ends_where_a_joint_gives_in() -> None:
    worlds = site()
    ended = [bool(worlds.terminated.numpy()[0]) for _ in follow(worlds, plunge_stops(0.12, surface(worlds)))]
    assert any(ended)
    assert not ended[0]


def test_joint_limits_hold() -> None:
    worlds = site(grains=60)
    for _ in range(60):
        worlds.step(np.array([[0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0]]))
    angles = worlds.observations["angles"].numpy()[0]
    assert (angles <= worlds.task.chain.upper + 1e-6).all()
    assert (angles >= worlds.task.chain.lower - 1e-6).all()
    assert angles[6] == pytest.approx(worlds.task.chain.upper[6], abs=1e-4)
    assert abs(worlds.observations["speeds"].numpy()[0, 6]) < 1e-4


def test_bodies_stay_on_the_arm() -> None:
    worlds = site(grains=60)
    for _ in range(10):
        worlds.step(np.array([[0.5, 0.3, -0.4, 0.2, 0.6, -0.3, 0.8]]))
    state, bodies = worlds.state, worlds.own.soil.bodies
    angles = worlds.observations["angles"].numpy().astype(float)
    frames = worlds.task.chain.frames(angles)[0]
    middle = np.array([worlds.own.soil.model.bodies[bodies - 8 + k].middle for k in range(8)])
    expected = np.einsum("kij,kj->ki", frames[:, :3, :3], middle) + frames[:, :3, 3]
    assert state.places.numpy()[bodies - 8 :] == pytest.approx(expected, abs=2e-5)


def test_mass_in_the_bin_is_rewarded() -> None:
    worlds = site(grains=60)
    state = worlds.state
    positions = state.positions.numpy()
    positions[:5, :3] = [[0.40 + 0.04 * k, 0.45, 0.05] for k in range(5)]
    state.positions.assign(positions)
    worlds.step(np.zeros((1, 7)))
    assert worlds.rewards.numpy()[0] == pytest.approx(5 * worlds.task.grain_mass, rel=1e-5)


def test_unreachable_way_point_is_refused() -> None:
    worlds = site(grains=60)
    with pytest.raises(InvalidValue, match="does not reach"):
        list(follow(worlds, [Stop(2.0, 0.0, 0.1, 0.0, 1.0)]))


def test_too_many_grains_are_refused() -> None:
    with pytest.raises(InvalidValue, match="overflow"):
        site(grains=50_000)
