"""Libraries for learning get every environment and tasks of users; what needs one of them is skipped without it."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from annelid import envs, springs
from annelid.core.errors import InvalidValue, MissingPackage
from annelid.shapes import ground

Named = tuple[Any, dict[str, object]]


class Stretch(envs.Task):
    """Be as long as possible."""

    seconds = 0.1
    every = 0.02

    def build(self, **machine: Any) -> Any:
        body = springs.block((5, 3, 3), 0.1, damping=20.0)
        middle = body.positions[body.springs].mean(axis=1)[:, 0]
        body.control("back", middle < 0.2).control("front", middle >= 0.2, low=0.7, high=1.3)
        simulation = springs.simulation(body, dt=2e-4, obstacles=[ground(0.8)], **machine)
        simulation.sensors.add("place", springs.position_of())
        simulation.sensors.add("strain", springs.strain_of())
        return simulation

    def reward(self, now: Any, before: Any, actions: Any) -> Any:
        return now["strain"][:, 0]


@pytest.fixture(autouse=True)
def quietly() -> Iterator[None]:
    """Learners explore beyond [-1, 1], and warn of what they themselves call deprecated."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.fixture(params=["own", "annelid/Bulldozer-v0", "annelid/VoxelLocomotion-v0"])
def learnt(request: pytest.FixtureRequest, tasks: dict[str, dict[str, object]]) -> Named:
    """A task of a user, an environment with several channels, and one with a single one."""
    name = str(request.param)
    return (Stretch, {}) if name == "own" else (name, tasks[name])


def rsl_settings(groups: list[str]) -> dict[str, Any]:
    network = {"class_name": "MLPModel", "hidden_dims": [16], "activation": "elu", "obs_normalization": True}
    normal = {"class_name": "GaussianDistribution", "init_std": 0.3, "std_type": "scalar"}
    return {
        "num_steps_per_env": 8,
        "save_interval": 100,
        "obs_groups": {"actor": groups, "critic": groups},
        "actor": {**network, "distribution_cfg": normal},
        "critic": network,
        "algorithm": {"class_name": "PPO", "num_learning_epochs": 2, "num_mini_batches": 2},
    }


def test_rsl_rl_trains(learnt: Named) -> None:
    runners = pytest.importorskip("rsl_rl.runners")
    torch = pytest.importorskip("torch")
    name, options = learnt
    env = envs.make_rsl_env(name, 3, device="cpu", **options)
    settings = rsl_settings(list(env.get_observations().keys()))
    runner = runners.OnPolicyRunner(env, settings, log_dir=None, device="cpu")
    before = [weight.clone() for weight in runner.alg.get_policy().parameters()]
    runner.learn(1, init_at_random_ep_len=True)
    after = list(runner.alg.get_policy().parameters())
    assert any(not torch.equal(a, b) for a, b in zip(before, after, strict=True))
    assert all(torch.isfinite(weight).all() for weight in after)


def skrl_agent(env: Any, folder: Path) -> Any:
    """PPO with small networks, as skrl's own examples make it."""
    from skrl.agents.torch.ppo import PPO, PPO_CFG
    from skrl.memories.torch import RandomMemory
    from skrl.utils.model_instantiators.torch import deterministic_model, gaussian_model

    channels = getattr(env.observation_space, "spaces", {})
    flat = [name for name, space in channels.items() if len(space.shape) == 1]
    seen = f"concatenate([{', '.join(f'OBSERVATIONS[{name!r}]' for name in flat)}])" if flat else "OBSERVATIONS"
    layers = [{"name": "net", "input": seen, "layers": [16], "activations": "elu"}]
    spaces = {"observation_space": env.observation_space, "action_space": env.action_space, "device": env.device}
    models = {
        "policy": gaussian_model(**spaces, network=layers, output="ACTIONS"),
        "value": deterministic_model(**spaces, network=layers, output="ONE"),
    }
    for role, model in models.items():
        model.init_state_dict(role=role)  # layers learn the sizes of their inputs
    experiment = {"directory": str(folder), "write_interval": 0, "checkpoint_interval": 0}
    settings = PPO_CFG(rollouts=8, learning_epochs=2, experiment=experiment)
    return PPO(cfg=settings, models=models, memory=RandomMemory(memory_size=8, num_envs=env.num_envs), **spaces)


@pytest.mark.parametrize("count", [1, 3])
def test_skrl_trains(learnt: Named, count: int, tmp_path: Path) -> None:
    trainers = pytest.importorskip("skrl.trainers.torch")
    torch = pytest.importorskip("torch")
    name, options = learnt
    env = envs.make_skrl_env(name, count, device="cpu", **options)
    agent = skrl_agent(env, tmp_path)
    before = [weight.clone() for weight in agent.models["policy"].parameters()]
    settings = trainers.SequentialTrainerCfg(
        timesteps=8, headless=True, disable_progressbar=True, close_environment_at_exit=False
    )
    trainers.SequentialTrainer(cfg=settings, env=env, agents=agent).train()
    after = list(agent.models["policy"].parameters())
    assert any(not torch.equal(a, b) for a, b in zip(before, after, strict=True))
    assert all(torch.isfinite(weight).all() for weight in after)


def test_skrl_gets_what_gymnasium_gets(task: Named) -> None:
    """Rows, rewards and ends of every environment, episodes that begin again included."""
    torch = pytest.importorskip("torch")
    pytest.importorskip("skrl")
    name, options = task
    options = {**options, "seconds": 1e-3}  # of one action
    env = envs.make_skrl_env(name, 2, device="cpu", **options)
    twin = envs.make_worlds(name, 2, device="cpu", **options)
    rows, _ = env.reset()
    assert env.num_envs == 2
    assert rows.shape == (2, sum(int(np.prod(channel.shape)) for channel in twin.channels))
    actions = torch.full((2, twin.action_size), 0.5)
    kept = rows.clone()
    later, rewards, terminated, truncated, _ = env.step(actions)
    assert torch.equal(rows, kept)
    assert rewards.shape == terminated.shape == truncated.shape == (2, 1)
    assert truncated.all()
    twin.restart(seeds=env.worlds.seeds.numpy())
    seen = np.concatenate([twin.observations[n].numpy().reshape(2, -1) for n in sorted(twin.observations)], axis=1)
    np.testing.assert_array_equal(rows.numpy(), seen)
    twin.step(actions.numpy())
    np.testing.assert_array_equal(rewards[:, 0].numpy(), twin.rewards.numpy())
    assert torch.equal(env.reset()[0], later)
    env.close()
    with pytest.raises(InvalidValue, match="closed"):
        env.step(actions)


def test_stable_baselines_checks_and_trains_on_a_task() -> None:
    checker = pytest.importorskip("stable_baselines3.common.env_checker")
    from stable_baselines3 import PPO

    checker.check_env(envs.make_env(Stretch, device="cpu"), skip_render_check=True)
    env = envs.make_stable_env(Stretch, 2, device="cpu")
    agent = PPO("MlpPolicy", env, n_steps=8, batch_size=8, n_epochs=1, seed=0, device="cpu")
    agent.learn(16)
    assert agent.num_timesteps == 16


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from annelid.envs import registration

    monkeypatch.setattr(registration, "installed", lambda module: False)
    with pytest.raises(MissingPackage, match="needs skrl, which is not installed: pip install skrl"):
        envs.make_skrl_env(Stretch)
