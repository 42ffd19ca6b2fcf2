"""What every environment promises: checkers pass, one world is like another, nothing is copied to the host."""

import functools
import hashlib
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable

import gymnasium
import numpy as np
import pytest
import warp as wp
from gymnasium.utils.env_checker import check_env

from annelid import envs
from annelid.core.errors import InvalidValue, MissingPackage, UnknownName
from annelid.core.snapshot import Mesh, Spheres, host_array
from annelid.envs.single import WorldEnv

Task = tuple[str, dict[str, object]]
Shared = Callable[[str, str], WorldEnv]


def rolled(env: object, actions: np.ndarray, seed: int) -> list[object]:
    """Observations and results of a single environment."""
    seen: list[object] = [env.reset(seed=seed)[0]]  # type: ignore[attr-defined]
    for action in actions:
        observation, reward, terminated, truncated, _ = env.step(action)  # type: ignore[attr-defined]
        seen += [observation, reward, terminated, truncated]
    return seen


@pytest.fixture(scope="module")
def shared(tasks: dict[str, dict[str, object]]) -> Shared:
    """Environments that tests use one after the other: `test_restarted_world_is_a_fresh_one` lets them."""
    return functools.cache(lambda name, device: gymnasium.make(name, device=device, **tasks[name]).unwrapped)


def flat(observation: object) -> np.ndarray:
    if isinstance(observation, dict):
        return np.concatenate([np.ravel(observation[name]) for name in sorted(observation)])
    return np.ravel(np.asarray(observation))


def digest(seen: list[object]) -> str:
    return hashlib.blake2b(b"".join(flat(item).tobytes() for item in seen)).hexdigest()


def brief(options: dict[str, object]) -> dict[str, object]:
    """Options with which an episode is one action."""
    return {**options, "seconds": options.get("every", 1e-3)}


def drawn(size: int, steps: int = 4, worlds: int | None = None) -> np.ndarray:
    shape = (steps, size) if worlds is None else (steps, worlds, size)
    return np.random.default_rng(5).uniform(-1.0, 1.0, shape).astype(np.float32)


def test_gymnasium_check(task: Task, device: str) -> None:
    name, options = task
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_env(gymnasium.make(name, device=device, **options).unwrapped, skip_render_check=True)


def test_stable_baselines_check(task: Task) -> None:
    checker = pytest.importorskip("stable_baselines3.common.env_checker")
    name, options = task
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        checker.check_env(gymnasium.make(name, device="cpu", **options).unwrapped, skip_render_check=True)


def test_vector_of_one_is_the_single(task: Task, device: str, shared: Shared) -> None:
    name, options = task
    one = shared(name, device)
    many = gymnasium.make_vec(name, num_envs=1, device=device, **options)
    actions = drawn(one.action_space.shape[0], 5)
    alone = rolled(one, actions, 3)
    seen = [many.reset(seed=3)[0]]
    for action in actions:
        seen += list(many.step(action[None])[:4])
    assert all(np.array_equal(flat(a), flat(b)) for a, b in zip(alone, seen, strict=True))


def test_next_step_autoreset(task: Task, device: str) -> None:
    name, options = task
    many = gymnasium.make_vec(name, num_envs=2, device=device, **brief(options))
    first, _ = many.reset(seed=7)
    actions = np.zeros(many.action_space.shape, np.float32)
    *_, truncated, _ = many.step(actions)
    assert truncated.all()
    observation, reward, terminated, truncated, _ = many.step(actions)
    assert not terminated.any()
    assert not truncated.any()
    assert not reward.any()
    assert flat(observation).shape == flat(first).shape


@pytest.fixture(scope="module")
def elsewhere(tasks: dict[str, dict[str, object]]) -> dict[str, str]:
    """What `told` gives for each task in a process of its own, one for all of them."""
    code = (
        f"import sys; sys.path.insert(0, {str(__file__).rpartition('/')[0]!r})\n"
        "import annelid.envs\nfrom test_contract import told\n"
        f"for name, options in {tasks!r}.items(): print(name, told(name, options))"
    )
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return dict(line.split() for line in other.stdout.splitlines()[-len(tasks) :])


def told(name: str, options: dict[str, object]) -> str:
    """Digest of what a new environment shows."""
    env = gymnasium.make(name, device="cpu", **options).unwrapped
    return digest(rolled(env, drawn(env.action_space.shape[0], 3), 11))


def test_same_again_and_in_another_process(task: Task, elsewhere: dict[str, str], shared: Shared) -> None:
    name, _ = task
    env = shared(name, "cpu")
    actions = drawn(env.action_space.shape[0], 3)
    first, again = digest(rolled(env, actions, 11)), digest(rolled(env, actions, 11))
    assert first == again == elsewhere[name]


def test_restarted_world_is_a_fresh_one(task: Task, device: str, shared: Shared) -> None:
    name, options = task
    used, fresh = shared(name, device), gymnasium.make(name, device=device, **options).unwrapped
    actions = drawn(used.action_space.shape[0], 3)
    rolled(used, actions[::-1], 1)
    assert digest(rolled(used, actions, 2)) == digest(rolled(fresh, actions, 2))


def test_world_in_a_batch_moves_as_alone(task: Task, device: str) -> None:
    name, options = task
    count, steps = 3, 3
    batch = envs.make_worlds(name, count, device=device, **options)
    actions = drawn(batch.action_size, steps, count)
    batch.restart(seeds=range(20, 20 + count))
    shown = [snapshot(batch)]
    for step, given in enumerate(actions):
        batch.step(given)
        if step == 1:  # others begin anew in between
            batch.restart(np.arange(count) % 2 == 0, [20 + w for w in range(count)])
        shown.append(snapshot(batch))
    alone = envs.make_worlds(name, 1, device=device, **options)
    for world in (1, 2):
        alone.restart(seeds=[20 + world])
        assert np.array_equal(snapshot(alone)[0], shown[0][world])
        for step, given in enumerate(actions):
            alone.step(given[world : world + 1])
            if step == 1 and world % 2 == 0:
                alone.restart(seeds=[20 + world])
            assert np.array_equal(snapshot(alone)[0], shown[step + 1][world]), (world, step)


def snapshot(worlds: envs.Worlds) -> np.ndarray:
    parts = [array.numpy().reshape(worlds.count, -1) for array in worlds.observations.values()]
    return np.concatenate([*parts, worlds.rewards.numpy()[:, None]], axis=1)


@pytest.mark.parametrize("name", ["annelid/Bulldozer-v0", "annelid/Excavation-v0"])
def test_a_picture_stays_as_it_is_when_its_world_goes_on(name: str, shared: Shared) -> None:
    env = shared(name, "cpu")
    env.reset(seed=0)
    shot = env.worlds.snapshot()
    points = [part.vertices for part in shot.parts if isinstance(part, Mesh)]
    points += [part.centers for part in shot.parts if isinstance(part, Spheres)]
    before = [np.array(host_array(each)) for each in points]
    env.step(np.ones(env.action_space.shape, np.float32))
    assert all(np.array_equal(host_array(each), old) for each, old in zip(points, before, strict=True))


def test_tensors_share_memory(task: Task, device: str) -> None:
    torch = pytest.importorskip("torch")
    name, options = task
    many = gymnasium.make_vec(name, num_envs=2, device=device, output="torch", **options)
    many.reset(seed=0)
    actions = torch.zeros(many.action_space.shape, device=wp.device_to_torch(device))
    observation, reward, terminated, truncated, _ = many.step(actions)
    arrays = many.worlds.observations
    tensors = observation if isinstance(observation, dict) else {next(iter(arrays)): observation}
    assert {n: t.data_ptr() for n, t in tensors.items()} == {n: a.ptr for n, a in arrays.items()}
    results = (reward, many.worlds.rewards), (terminated, many.worlds.terminated), (truncated, many.worlds.truncated)
    for tensor, array in results:
        assert tensor.data_ptr() == array.ptr
        assert wp.device_from_torch(tensor.device) == array.device


def test_reset_mask(task: Task, device: str) -> None:
    name, options = task
    many = gymnasium.make_vec(name, num_envs=3, device=device, **options)
    many.reset(seed=0)
    actions = drawn(many.single_action_space.shape[0], 1, 3)[0]
    many.step(actions)
    before = snapshot(many.worlds)
    many.reset(seed=[None, 4, None], options={"reset_mask": np.array([False, True, False])})
    after = snapshot(many.worlds)
    assert np.array_equal(before[[0, 2]], after[[0, 2]])
    assert not np.array_equal(before[1], after[1])
    with pytest.raises(InvalidValue, match="reset_mask"):
        many.reset(options={"reset_mask": np.array([True])})


def test_reset_mask_needs_worlds_that_have_begun() -> None:
    many = gymnasium.make_vec("annelid/VoxelLocomotion-v0", num_envs=2, device="cpu")
    for first in ({"options": {"reset_mask": np.array([True, False])}}, {"seed": [1, 2, 3]}):
        with pytest.raises(InvalidValue, match=r"reset\(\) without|seeds are needed"):
            many.reset(**first)
        with pytest.raises(InvalidValue, match="before the first step"):
            many.step(np.zeros(many.action_space.shape, np.float32))
    with pytest.raises(InvalidValue, match="not -5"):
        many.worlds.restart(seeds=[0, -5])


def test_final_info_is_of_the_old_episode(device: str) -> None:
    options = {"grains": 60, "field": (3.2, 1.6), "images": False, "substeps": 18, "seconds": 1e-3}
    many = gymnasium.make_vec("annelid/Bulldozer-v0", num_envs=2, device=device, autoreset="same-step", **options)
    many.reset(seed=0)
    info = many.step(np.zeros(many.action_space.shape, np.float32))[-1]
    last = info["final_info"]
    assert last is not info
    assert set(last) == {"delivered", "_delivered"}
    assert info["_final_info"].all()
    assert np.array_equal(last["delivered"], info["delivered"])
    assert not np.shares_memory(last["delivered"], info["delivered"])


def test_bad_actions(task: Task, shared: Shared) -> None:
    name, _ = task
    env = shared(name, "cpu")
    env.reset(seed=0)
    size = env.action_space.shape[0]
    before = snapshot(env.worlds)
    with pytest.raises(InvalidValue, match="not a number"):
        env.step(np.full(size, np.nan, np.float32))
    assert np.array_equal(before, snapshot(env.worlds))
    with pytest.warns(envs.ActionClipped):
        wild = env.step(np.full(size, 3.0, np.float32))[0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env.step(np.full(size, 3.0, np.float32))
        env.reset(seed=0)
        tame = env.step(np.full(size, 1.0, np.float32))[0]
    assert np.array_equal(flat(wild), flat(tame))
    with pytest.raises(InvalidValue, match="must be numbers"):
        env.step("ahead")
    with pytest.raises(InvalidValue, match="shape"):
        env.step(np.zeros(size + 1, np.float32))


def test_a_closed_environment_says_so(tasks: dict[str, dict[str, object]]) -> None:
    name = "annelid/VoxelLocomotion-v0"
    options = {"device": "cpu", "render_mode": "rgb_array", **tasks[name]}
    for env in (gymnasium.make(name, **options), gymnasium.make_vec(name, num_envs=2, **options)):
        actions = np.zeros(env.action_space.shape, np.float32)
        env.reset(seed=0)
        env.step(actions)
        env.close()
        env.close()
        for deed in (env.reset, env.render, lambda env=env, actions=actions: env.step(actions)):
            with pytest.raises(InvalidValue, match="environment is closed: make a new one"):
                deed()


def test_an_interrupt_comes_between_two_actions(tasks: dict[str, dict[str, object]]) -> None:
    """Worlds that were interrupted in the middle of an action go on as those that were not."""
    name = "annelid/VoxelLocomotion-v0"
    calm, shaken = (gymnasium.make_vec(name, num_envs=2, device="cpu", **tasks[name]) for _ in range(2))
    for env in (calm, shaken):
        env.reset(seed=0)
    actions = drawn(shaken.single_action_space.shape[0], 3, 2)
    advance = shaken.worlds._advance

    def interrupted() -> None:
        signal.raise_signal(signal.SIGINT)
        advance()

    shaken.worlds._advance = interrupted
    for action in actions:
        calm.worlds.step(action)
        with pytest.raises(KeyboardInterrupt):
            shaken.worlds.step(action)
    assert np.array_equal(snapshot(calm.worlds), snapshot(shaken.worlds))
    assert np.array_equal(calm.worlds.steps.numpy(), shaken.worlds.steps.numpy())


def test_unknown_option(task: Task) -> None:
    with pytest.raises(UnknownName, match="option"):
        gymnasium.make(task[0], colour="red")


def test_missing_package_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "stable_baselines3", None)
    with pytest.raises(MissingPackage, match=r"EXTRA=rl|\[rl\]"):
        envs.make_stable_env("annelid/VoxelLocomotion-v0")


def test_stable_adapter(task: Task) -> None:
    pytest.importorskip("stable_baselines3")
    name, options = task
    env = envs.make_stable_env(name, 2, device="cpu", **brief(options))
    env.seed(3)
    first = env.reset()
    _, rewards, done, infos = env.step(np.zeros((2, env.action_space.shape[0]), np.float32))
    assert rewards.shape == (2,)
    assert done.all()
    assert infos[0]["TimeLimit.truncated"]
    env.close()
    for deed in (env.reset, env.get_images, lambda: env.step(np.zeros((2, env.action_space.shape[0]), np.float32))):
        with pytest.raises(InvalidValue, match="closed"):
            deed()
    assert flat(infos[0]["terminal_observation"]).size == flat(first).size // 2


def test_rsl_adapter(task: Task, device: str) -> None:
    torch = pytest.importorskip("torch")
    name, options = task
    env = envs.make_rsl_env(name, 2, device=device, **options)
    env.episode_length_buf = torch.tensor([0, env.max_episode_length - 1], dtype=torch.int32)
    observations, rewards, dones, extras = env.step(torch.zeros(2, env.num_actions, device=env.device))
    assert all(group.shape[0] == 2 for group in observations.values())
    assert rewards.shape == (2,)
    assert dones.tolist() == [0, 1]
    assert extras["time_outs"].tolist() == [False, True]
    assert env.episode_length_buf.tolist() == [1, 0]
    kept = {group: values.clone() for group, values in observations.items()}
    for _ in range(2):
        later = env.step(torch.ones(2, env.num_actions, device=env.device))[0]
    assert all(torch.equal(observations[group], values) for group, values in kept.items())
    assert any(not torch.equal(later[group], values) for group, values in kept.items())
