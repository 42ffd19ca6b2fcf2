"""The bulldozer: it drives along arcs, pushes grains, is rewarded as the paper says, sees depth, and may leave."""

import math
import warnings

import gymnasium
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from annelid import envs
from annelid.core.errors import InvalidValue
from annelid.envs.task_worlds import TaskWorlds

SMALL = {"grains": 150, "field": (3.2, 1.6), "device": "cpu"}


def field(count: int = 1, **changes: object) -> TaskWorlds:
    worlds = envs.make_worlds("annelid/Bulldozer-v0", count, **{**SMALL, **changes})
    assert isinstance(worlds, TaskWorlds)
    worlds.restart(seeds=range(count))
    return worlds


def test_tracks_draw_arcs() -> None:
    worlds = field(field=(20.0, 20.0), grains=1, speed=0.8, spin=1.0, images=False)
    x, y, yaw = worlds.observations["pose"].numpy()[0].astype(float)
    for _ in range(10):
        worlds.step([[0.5, 1.0]])
    radius, turned = 0.4, 1.0  # v / omega, omega t
    expected = [
        x + radius * (math.sin(yaw + turned) - math.sin(yaw)),
        y - radius * (math.cos(yaw + turned) - math.cos(yaw)),
        yaw + turned,
    ]
    assert worlds.observations["pose"].numpy()[0] == pytest.approx(expected, abs=2e-4)
    assert worlds.observations["time"].numpy()[0, 0] == pytest.approx(1.0)


def test_reward_is_that_of_the_paper() -> None:
    worlds = field()
    worlds.step([[1.0, 0.0]])
    x = worlds.own.soil.points.numpy().astype(float)
    x0, x1, y0, y1 = worlds.options.goal_box
    away = x[:, :2] - np.clip(x[:, :2], [x0, y0], [x1, y1])
    distance = np.linalg.norm(away, axis=1)
    expected = np.where(distance == 0.0, 100.0, -distance).mean()
    assert worlds.rewards.numpy()[0] == pytest.approx(expected, rel=1e-5)
    assert worlds.info()["delivered"][0] == pytest.approx((distance == 0.0).mean())


def test_idleness_is_paid_what_is_told() -> None:
    worlds = field(images=False)
    assert worlds.idle_reward < -0.2
    worlds.step([[0.0, 0.0]])
    assert worlds.rewards.numpy()[0] == pytest.approx(worlds.idle_reward, abs=0.02)


def test_no_grain_begins_inside_the_machine() -> None:
    worlds = field(8, images=False)
    state, model = worlds.state, worlds.own.soil.model
    x = worlds.own.soil.points.numpy().reshape(8, -1, 3).astype(float)
    for world in range(8):
        number = world * worlds.own.soil.bodies + worlds.own.soil.bodies - 1
        body = model.bodies[number]
        turn = Rotation.from_quat(state.turns.numpy()[number].astype(float))
        local = turn.inv().apply(x[world] - state.places.numpy()[number]) + body.middle
        assert body.grid.sample(local)[0].min() > worlds.options.radius


def test_pushing_delivers_grains() -> None:
    worlds = field(goal=(0.4, 1.6, -0.8, 0.8), images=False)
    before = worlds.own.soil.points.numpy()[:, 0].mean()
    for _ in range(18):
        worlds.step([[1.0, 0.0]])
    assert worlds.own.soil.points.numpy()[:, 0].mean() > before + 0.1
    assert worlds.info()["delivered"][0] > 0.2
    inside = np.abs(worlds.own.soil.points.numpy()[:, :2]) < np.array([1.6, 0.8])
    assert inside.all()


@pytest.mark.parametrize("dt", [2.5e-3, 1e-2])
def test_no_grain_is_pressed_through_the_floor(dt: float) -> None:
    worlds = field(2, images=False, dt=dt, substeps=round(0.4 / dt))
    actions = np.random.default_rng(3).uniform(-1.0, 1.0, (16, 2, 2))
    for given in actions:
        worlds.step(given)
        worlds.restart(worlds.done)
        points = worlds.own.soil.points.numpy()
        assert points[:, 2].min() > -worlds.options.radius
        assert (np.abs(points[:, :2]) < np.array([1.64, 0.84])).all()


def test_heap_comes_to_rest_where_grains_are_not_round() -> None:
    speeds = []
    for rolling in (0.1, 0.0):
        worlds = field(images=False, grains=60, rolling=rolling)
        for _ in range(15):
            worlds.step([[0.0, 0.0]])
        speeds.append(np.abs(worlds.solver.readout.velocities(worlds.state)).mean())
    assert speeds[0] < 1e-3
    assert speeds[1] > 5e-3


def test_leaving_the_field_truncates() -> None:
    env = gymnasium.make("annelid/Bulldozer-v0", **{**SMALL, "images": False, "speed": 3.0}).unwrapped
    env.reset(seed=0)
    ends = [env.step(np.array([-1.0, 0.0]))[2:4] for _ in range(4)]
    assert (False, True) in ends
    assert not any(terminated for terminated, _ in ends)
    assert env.reset()[0]["time"][0] == 0.0


def test_sky_sees_the_highest_grain_of_each_column() -> None:
    worlds = field(speed=0.0)
    worlds.step([[0.0, 0.0]])
    sky = worlds.observations["sky"].numpy()[0]
    points, radius = worlds.own.soil.points.numpy().astype(float), worlds.options.radius
    long, wide = worlds.options.extent
    columns = (np.arange(72) + 0.5) / 72 * (2.0 * wide) - wide  # the image is twice as wide as high
    rows = 0.5 * wide - (np.arange(36) + 0.5) / 36 * wide
    gaps = (points[None, :, 0] - columns[:, None]) ** 2, (points[None, :, 1] - rows[:, None]) ** 2
    squares = radius**2 - gaps[1][:, None] - gaps[0][None]
    tops = np.where(squares > 0.0, points[:, 2] + np.sqrt(np.maximum(squares, 0.0)), 0.0).max(axis=2)
    machine = columns < worlds.observations["pose"].numpy()[0, 0] + 0.75
    inside = np.abs(columns) < 0.5 * long
    clear = inside & ~machine
    assert clear.sum() > 20
    assert tops[:, clear].max() > 0.03
    assert sky[:, clear] == pytest.approx(2.0 - tops[:, clear], abs=1e-4)


def test_ego_image_moves_with_the_machine() -> None:
    worlds = field(field=(6.0, 3.0))
    before = worlds.observations["ego"].numpy()[0].copy()
    assert before.min() >= np.float32(0.2)
    assert before.max() <= 3.0
    for _ in range(3):
        worlds.step([[0.0, 1.0]])
    after = worlds.observations["ego"].numpy()[0]
    assert np.abs(after - before).max() > 0.2


def test_worlds_that_age_differently_move_as_alone() -> None:
    count, steps = 8, 6
    batch = field(count, substeps=40, speed=1.2)
    actions = np.random.default_rng(0).uniform(-0.2, 1.0, (steps, count, 2)).astype(np.float32)
    rewards, skies = [], []
    for given in actions:
        batch.step(given)
        rewards.append(batch.rewards.numpy().copy())
        skies.append(batch.observations["sky"].numpy().copy())
    for world in (0, 7):
        alone = envs.make_worlds("annelid/Bulldozer-v0", 1, substeps=40, speed=1.2, **SMALL)
        alone.restart(seeds=[world])
        for given, reward, sky in zip(actions, rewards, skies, strict=True):
            alone.step(given[world : world + 1])
            assert alone.rewards.numpy()[0] == reward[world]
            assert np.array_equal(alone.observations["sky"].numpy()[0], sky[world])


def test_long_steps_hold_the_heap() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        worlds = field(dt=1e-2, images=False)
        for _ in range(10):
            worlds.step([[1.0, 0.2]])
    depth = worlds.solver.readout.overlap(worlds.state)
    assert worlds.options.steps == 10
    assert worlds.action_seconds == pytest.approx(0.1)
    assert depth.mean < 0.06
    assert np.mean(worlds.own.soil.points.numpy()[:, 2] > 0.8 * worlds.options.radius) > 0.95


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"grains": 0}, "grains"),
        ({"grains": 2.5}, "whole number"),
        ({"dt": 0.5}, "dt"),
        ({"field": (1.0, 1.0)}, "field"),
        ({"field": 4.0}, "field of .* must be two finite numbers"),
        ({"goal": (1.0, 0.0, 0.0, 1.0)}, "goal"),
        ({"goal": (9.0, 9.5, 0.0, 1.0)}, "on the field"),
        ({"goal": "right"}, "goal of .* must be four finite numbers"),
        ({"rolling": -0.1}, "rolling"),
        ({"grains": 200_000}, "do not fit"),
    ],
)
def test_bad_options(changes: dict[str, object], match: str) -> None:
    with pytest.raises(InvalidValue, match=match):
        field(**changes)
