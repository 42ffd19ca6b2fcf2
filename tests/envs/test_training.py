"""Training: agents learn and are saved, runs are resumed, what is damaged or foreign is refused."""

import importlib.util
import json
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("stable_baselines3")

from annelid import envs
from annelid.commands.support.environment_options import chosen, options_of
from annelid.commands.support.options import Machine, combined, helped, parse, part
from annelid.commands.train import Train, command, full_name
from annelid.core.errors import AnnelidError, FileFormatError, InvalidValue, UnknownName
from annelid.envs.stable import StableVecEnv
from annelid.envs.training.evaluation import constant, episode_returns, held, uniform
from annelid.envs.training.history import History
from annelid.envs.training.recipes import RECIPES, Recipe, recipe
from annelid.envs.training.run import Plan, Training

from ..task_file import written

VOXELS = "annelid/VoxelLocomotion-v0"
ROLLOUT = 128  # choices that PPO learns from at once in these tests


@pytest.fixture(autouse=True)
def short_rollouts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(RECIPES, VOXELS, Recipe(choices=ROLLOUT))


def plan(algorithm: str = "ppo", **changes: object) -> Plan:
    values = {"worlds": 2, "options": {"body": "worm", "seconds": 0.5}, **changes}
    return Plan(VOXELS, algorithm, **values)  # type: ignore[arg-type]


@pytest.mark.parametrize("algorithm", ["ppo", "td3"])
def test_training_is_resumed(tmp_path: Path, algorithm: str) -> None:
    told: list[int] = []
    first = Training(plan(algorithm), tmp_path, device="cpu", threads=1)
    first.learn(64, watch=lambda steps, *_: told.append(steps))
    assert first.steps >= 64
    assert told[-1] >= 64
    assert {"agent.zip", "history.csv", "training.json"} <= {path.name for path in tmp_path.iterdir()}
    again = Training(plan(algorithm), tmp_path, resume=True, device="cpu", threads=1)
    assert again.steps == first.steps
    assert again.history.rows == first.history.rows
    seen = np.random.default_rng(0).normal(size=(2, again.env.observation_space.shape[0])).astype(np.float32)
    assert np.array_equal(again.act(seen), first.act(seen))
    if algorithm == "td3":
        assert again.agent.replay_buffer.pos == first.agent.replay_buffer.pos > 0
        assert np.array_equal(again.agent.replay_buffer.rewards, first.agent.replay_buffer.rewards)
    again.learn(first.steps + 64)
    assert again.steps > first.steps
    assert len(again.history.rows) > len(first.history.rows)


def test_scaled_observations_are_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(RECIPES, VOXELS, Recipe(choices=ROLLOUT, scaled=True))
    first = Training(plan(), tmp_path, device="cpu", threads=1)
    assert first.env.norm_obs
    first.learn(64)
    again = Training(plan(), tmp_path, resume=True, device="cpu", threads=1)
    for name in ("mean", "var", "count"):
        assert np.array_equal(getattr(again.env.obs_rms, name), getattr(first.env.obs_rms, name))
    seen = np.random.default_rng(0).normal(size=(2, again.env.observation_space.shape[0])).astype(np.float32)
    assert np.array_equal(again.act(seen), first.act(seen))
    assert not np.array_equal(again.act(seen), again.agent.predict(seen, deterministic=True)[0])
    path = tmp_path / "scale.json"
    known = json.loads(path.read_text())
    for damaged in ({"observations": {**known["observations"], "mean": [0.0]}}, {"observations": 3}):
        path.write_text(json.dumps({**known, **damaged}))
        with pytest.raises(FileFormatError, match="cannot be read as the scale of rewards"):
            Training(plan(), tmp_path, resume=True, device="cpu", threads=1)


def test_tasks_of_ones_own_are_scaled() -> None:
    assert recipe("my_file.py:Crawl").scaled
    assert not recipe(VOXELS).scaled


def test_time_and_interruption_end_a_run(tmp_path: Path) -> None:
    training = Training(plan(), tmp_path, device="cpu", threads=1)
    training.learn(10_000, seconds=0.0)
    assert training.steps == ROLLOUT + 2  # a whole rollout, and the first step of the next

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = training.steps
    with pytest.raises(KeyboardInterrupt):
        training.learn(100_000, watch=interrupt)
    assert Training(plan(), tmp_path, resume=True, device="cpu", threads=1).steps >= before


def test_short_runs_learn(tmp_path: Path) -> None:
    updates = []
    for resume in (False, True):
        training = Training(plan(), tmp_path, resume=resume, device="cpu", threads=1)
        training.learn(training.steps + 10)
        updates.append(training.agent._n_updates)
        assert training.steps % ROLLOUT == 0
    training = Training(plan(), tmp_path, resume=True, device="cpu", threads=1)
    training.learn(100_000, seconds=0.0)
    assert 0 < updates[0] < updates[1] < training.agent._n_updates


def test_off_policy_run_ends_at_once(tmp_path: Path) -> None:
    training = Training(plan("td3"), tmp_path, device="cpu", threads=1)
    training.learn(10)
    assert training.steps == 10
    training.learn(1000, seconds=0.0)
    assert training.steps == 12


def test_plan_of_an_earlier_version_has_the_defaults(tmp_path: Path) -> None:
    Training(plan(), tmp_path, device="cpu", threads=1).save()
    path = tmp_path / "training.json"
    before = json.loads(path.read_text())
    del before["repeat"]
    path.write_text(json.dumps(before))
    Training(plan(), tmp_path, resume=True, device="cpu", threads=1)
    with pytest.raises(InvalidValue, match="repeat = 1, not 2"):
        Training(plan(repeat=2), tmp_path, resume=True, device="cpu", threads=1)
    path.write_text("[]")
    with pytest.raises(FileFormatError, match="no plan"):
        Training(plan(), tmp_path, resume=True, device="cpu", threads=1)


def test_worlds_that_are_staggered_are_at_different_moments_and_only_whole_episodes_are_noted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(RECIPES, VOXELS, Recipe(choices=ROLLOUT, staggered=True))
    training = Training(plan(worlds=4), tmp_path, device="cpu", threads=1)
    source, most = training.source, training.source.worlds.most_steps
    source.seed(3)
    source.reset()
    lengths = most - source.worlds.steps.numpy()
    assert len(set(lengths)) > 1
    ends: list[list[int]] = [[], [], [], []]
    for step in range(1, 2 * most + 1):
        _, _, done, infos = source.step(np.zeros((4, source.action_space.shape[0]), np.float32))
        for world in np.flatnonzero(done):
            assert infos[world]["TimeLimit.truncated"]  # out of time: what would come after is still worth something
            assert source.whole[world] == (bool(ends[world]) or lengths[world] == most)
            ends[world].append(step)
    for length, found in zip(lengths, ends, strict=True):
        assert found[:2] == [length, length + most]
    training.learn(4 * most)
    assert training.history.rows
    assert {row[-1] for row in training.history.rows} == {most}


def test_learners_are_paid_from_idleness_on(tmp_path: Path) -> None:
    options = {"grains": 40, "field": (3.2, 1.6), "images": False, "substeps": 20, "seconds": 0.2, "speed": 5.0}
    dozer = Training(Plan("annelid/Bulldozer-v0", "ppo", 0, 2, options), tmp_path, device="cpu", threads=1)
    source, idle = dozer.source, dozer.source.worlds.idle_reward
    assert idle < -0.2
    source.reset()
    _, rewards, done, _ = source.step(np.zeros((2, 2), np.float32))
    assert rewards == pytest.approx(source.paid - idle)
    assert np.abs(rewards).max() < 0.02
    assert not done.any()
    for k in range(9):  # one stays until its time is up, one drives off
        _, _, done, infos = source.step(np.array([[0.0, 0.0], [-1.0, 0.0]], np.float32))
        if done[1] and k < 8:
            assert infos[1]["TimeLimit.truncated"] is False
            break
    else:
        pytest.fail("it did not leave")
    while not done[0]:
        _, _, done, infos = source.step(np.zeros((2, 2), np.float32))
    assert infos[0]["TimeLimit.truncated"] is True


def test_held_actions_add_up(tmp_path: Path) -> None:
    single, triple = (
        StableVecEnv(envs.make_worlds(VOXELS, 2, device="cpu", body="worm", seconds=0.5), repeat=n) for n in (1, 3)
    )
    length = single.worlds.most_steps
    for env in (single, triple):
        env.seed(4)
        env.reset()
    actions = np.random.default_rng(1).uniform(-1.0, 1.0, (-(-length // 3), *single.action_space.shape))
    paid = [single.step(np.stack([a, -a]))[1] for a in np.repeat(actions, 3, axis=0)[:length]]
    for k, action in enumerate(actions):
        _, rewards, done, infos = triple.step(np.stack([action, -action]))
        parts = paid[3 * k : 3 * k + 3]
        assert rewards == pytest.approx(np.sum(parts, axis=0), abs=1e-6)
        assert triple.counted.tolist() == [len(parts)] * 2
        assert done.all() == (k == len(actions) - 1)
    assert all(info["TimeLimit.truncated"] for info in infos)
    assert (triple.worlds.steps.numpy() == 0).all()
    with pytest.raises(InvalidValue, match="repeat"):
        StableVecEnv(single.worlds, repeat=0)


def test_training_counts_actions_of_the_environment(tmp_path: Path) -> None:
    training = Training(plan(repeat=4), tmp_path, device="cpu", threads=1)
    training.learn(400)
    length = training.source.worlds.most_steps
    assert training.steps % 4 == 0
    assert training.steps == 4 * ROLLOUT
    assert {row[3] for row in training.history.rows} == {length}
    assert all(row[1] % 8 == 0 for row in training.history.rows)
    assert Training(plan(repeat=4), tmp_path, resume=True, device="cpu", threads=1).steps == training.steps
    assert training.evaluate(2).shape == (2,)
    assert training.baselines(2, 3)["random-held"].shape == (3,)
    with pytest.raises(InvalidValue, match="repeat = 4"):
        Training(plan(), tmp_path, resume=True, device="cpu", threads=1)
    with pytest.raises(InvalidValue, match="repeat must be a whole number"):
        plan(repeat=0)


def test_held_policy_chooses_now_and_then() -> None:
    asked: list[int] = []

    def policy(seen: int) -> np.ndarray:
        asked.append(seen)
        return np.array([seen])

    act = held(policy, 3)
    assert [int(act(k)[0]) for k in range(7)] == [0, 0, 0, 3, 3, 3, 6]
    assert asked == [0, 3, 6]


def test_recipe_of_the_bulldozer(tmp_path: Path) -> None:
    dozer, usual = recipe("annelid/Bulldozer-v0"), recipe(VOXELS)
    assert dozer.repeat > usual.repeat == 1
    assert recipe(VOXELS, "td3").rate > usual.rate
    options = {"grains": 40, "field": (3.2, 1.6), "images": False, "substeps": 5, "seconds": 0.2}
    scheme = Plan("annelid/Bulldozer-v0", "ppo", 0, 64, options, repeat=dozer.repeat)
    first = Training(scheme, tmp_path, device="cpu", threads=1)
    first.learn(64 * 16 * dozer.repeat)
    assert first.agent.n_steps * 64 == dozer.choices
    assert first.agent.target_kl == dozer.change
    assert first.agent.gamma == first.env.gamma == dozer.discount
    again = Training(scheme, tmp_path, resume=True, device="cpu", threads=1)
    rates = [again.agent.lr_schedule(left) for left in (1.0, 0.5, 0.0)]
    assert rates == pytest.approx([dozer.rate, 0.5 * dozer.rate, 0.05 * dozer.rate])


def test_damaged_scale_is_refused(tmp_path: Path) -> None:
    Training(plan(rate=1e-3), tmp_path, device="cpu", threads=1).save()
    with pytest.raises(InvalidValue, match="rate = 0.001"):
        Training(plan(), tmp_path, resume=True, device="cpu", threads=1)
    (tmp_path / "scale.json").write_text("{}")
    with pytest.raises(FileFormatError, match="scale of rewards"):
        Training(plan(rate=1e-3), tmp_path, resume=True, device="cpu", threads=1)


def test_command_writes_its_results(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "run"
    options = ["--steps", "64", "--worlds", "2", "--episodes", "2", "--body", "worm", "--seconds", "0.5"]
    assert command(["VoxelLocomotion", *options, "--out", str(out), "--device", "cpu", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert {m["name"] for m in report["measurements"]} >= {"evaluation-mean", "training-mean-of-last-100"}
    assert (out / "curve.png").is_file()
    assert (out / "results.json").is_file()
    if importlib.util.find_spec("tensorboard") is not None:
        assert list((out / "logs").rglob("events.out.tfevents*"))
    with pytest.raises(InvalidValue, match="--resume"):
        command(["VoxelLocomotion", *options, "--out", str(out), "--device", "cpu", "--json"])


def test_other_plan_is_refused(tmp_path: Path) -> None:
    Training(plan(), tmp_path, device="cpu", threads=1).save()
    with pytest.raises(InvalidValue, match="worlds = 2"):
        Training(plan(worlds=3), tmp_path, resume=True, device="cpu", threads=1)


def test_damaged_agent_is_refused(tmp_path: Path) -> None:
    Training(plan(), tmp_path, device="cpu", threads=1).save()
    (tmp_path / "agent.zip").write_bytes(b"not a zip")
    with pytest.raises(FileFormatError, match="agent"):
        Training(plan(), tmp_path, resume=True, device="cpu", threads=1)


def test_returns_are_repeatable() -> None:
    worlds = envs.make_worlds(VOXELS, 3, device="cpu", body="worm", seconds=0.5)
    first, second = (episode_returns(worlds, uniform(worlds, 1), 5) for _ in range(2))
    assert first.shape == (5,)
    assert np.array_equal(first, second)
    assert np.abs(episode_returns(worlds, constant(worlds), 2)).max() < 0.5


def test_curve_is_the_mean_of_the_last_hundred() -> None:
    history = History()
    for k in range(250):
        history.add(60.0 * k, k, float(k), 1)
    minutes, means = history.curve()
    assert minutes[-1] == 249.0
    assert means[0] == 0.0
    assert means[249] == pytest.approx(np.mean(np.arange(150, 250)))
    assert history.last_mean() == pytest.approx(means[-1])


def test_history_survives_the_file(tmp_path: Path) -> None:
    history = History([(1.5, 10, 2.25, 5), (3.25, 20, -1.0, 7)])
    history.write(tmp_path / "history.csv")
    assert History.read(tmp_path / "history.csv").rows == history.rows
    (tmp_path / "history.csv").write_text("nonsense\n")
    with pytest.raises(FileFormatError, match="no history"):
        History.read(tmp_path / "history.csv")


@pytest.mark.parametrize(
    ("name", "arguments", "options"),
    [
        (VOXELS, ["--body", "worm", "--seconds", "0.5"], {"body": "worm", "seconds": 0.5}),
        ("annelid/Bulldozer-v0", ["--grains", "40", "--field", "3.2", "1.6", "--no-images"],
         {"grains": 40, "field": (3.2, 1.6), "images": False}),
        ("annelid/SandWorm-v0", ["--ground", "resistive"], {"ground": "resistive"}),
    ],
)  # fmt: skip
def test_options_of_environments_are_flags_as_everywhere(
    name: str, arguments: list[str], options: dict[str, object]
) -> None:
    kind = options_of(name, "train", Train, Machine)
    found = parse(combined("Options", helped(kind), Train, Machine, doc=""), [*arguments, "--seed", "3"], "train")
    assert chosen(part(found, kind)) == options
    assert found.train.seed == 3


@pytest.mark.parametrize("name", list(envs.TASKS))
def test_no_option_of_an_environment_is_one_of_training(name: str) -> None:
    kind = options_of(name, "train", Train, Machine)
    assert chosen(kind()) == {}
    known = {each.name for each in fields(kind)}
    assert {"seconds", "every"} & known
    parse(combined("Options", helped(kind), Train, Machine, doc=""), ["--seconds", "0.5"], "train")


def test_an_option_of_training_is_no_option_of_a_task(tmp_path: Path) -> None:
    task = written(tmp_path, ("friction: float", "rate: float = 1.0\n    friction: float"))
    with pytest.raises(InvalidValue, match="`rate` is an option of `annelid train`: rename that option of Crawl"):
        options_of(task, "train", Train, Machine)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--episodes", "0"], "--episodes must be"),
        (["--episodes", "-3"], "--episodes must be"),
        (["--steps", "-5"], "--steps must be"),
        (["--minutes", "-1"], "--minutes must be"),
        (["--minutes", "nan"], "--minutes must be"),
    ],
)
def test_bad_arguments_are_refused_before_training(tmp_path: Path, arguments: list[str], sentence: str) -> None:
    out = tmp_path / "run"
    with pytest.raises(AnnelidError, match=sentence):
        command(["VoxelLocomotion", *arguments, "--out", str(out)])
    assert not out.exists()


def test_names() -> None:
    assert full_name("bulldozer") == full_name("annelid/Bulldozer-v0") == "annelid/Bulldozer-v0"
    with pytest.raises(UnknownName, match="Bulldozer"):
        full_name("Buldozer")
