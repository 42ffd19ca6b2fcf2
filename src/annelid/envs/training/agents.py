"""Agents of Stable-Baselines3 for our environments: how they are made, saved and brought back."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from annelid.core.archives import Kind, read_archive, write_archive
from annelid.core.errors import FileFormatError, UnknownName
from annelid.core.files import open_regular, replaced
from annelid.core.packages import installed, optional
from annelid.envs.training.recipes import ALGORITHMS, Recipe

_REPLAY = Kind("annelid-replay", 1, "a replay buffer")
_BUFFER_BYTES = 1_000_000_000
_BUFFER_ROWS = 200_000
MANY_WORLDS = 128
_BUFFER_ARRAYS = ("actions", "rewards", "dones", "timeouts")


@dataclass(frozen=True)
class Fading:
    """A learning rate that falls in a line: an agent that still changes much when it is stopped is stopped by chance.

    Attributes:
        rate: That at the beginning.
    """

    rate: float

    def __call__(self, left: float) -> float:
        """The rate when so much of the training is left, from 1 to 0."""
        return self.rate * max(left, 0.05)


def make_agent(algorithm: str, env: Any, settings: Recipe, *, seed: int, log: Path | None, device: str = "auto") -> Any:
    """A new agent.

    Args:
        algorithm: "ppo" or "td3".
        env: A `VecEnv`.
        settings: How it learns.
        seed: Seed of its weights and noise.
        log: Folder for TensorBoard; None for no log.
        device: Where its networks compute.
    """
    if algorithm not in ALGORITHMS:
        raise UnknownName("algorithm", algorithm, ALGORITHMS)
    sb3 = optional("stable_baselines3", purpose="training", extra="rl")
    from gymnasium import spaces

    mixed = isinstance(env.observation_space, spaces.Dict)
    common: dict[str, Any] = {
        "policy": "MultiInputPolicy" if mixed else "MlpPolicy",
        "env": env,
        "seed": seed,
        "device": device,
        "learning_rate": Fading(settings.rate) if settings.fading else settings.rate,
        "tensorboard_log": str(log) if log is not None and installed("tensorboard") else None,
    }
    shape: dict[str, Any] = {"net_arch": [128, 128]}
    if mixed:
        from annelid.envs.training.features import DepthFeatures

        shape["features_extractor_class"] = DepthFeatures
    if algorithm == "ppo":
        rows = rollout_rows(settings, env.num_envs)
        shape["log_std_init"] = settings.log_spread
        return sb3.PPO(
            **common, n_steps=rows, batch_size=batch_size(rows * env.num_envs), n_epochs=settings.epochs,
            gamma=settings.discount, gae_lambda=0.95, target_kl=settings.change, policy_kwargs=shape,
        )  # fmt: skip
    size = env.action_space.shape[0]
    noise = sb3.common.noise.NormalActionNoise(np.zeros(size), 0.2 * np.ones(size))
    return sb3.TD3(
        **common, buffer_size=buffer_rows(env), batch_size=256,
        learning_starts=max(settings.choices // 2, 10 * env.num_envs),
        train_freq=(1, "step"), gradient_steps=max(1, env.num_envs // 4), gamma=settings.discount,
        action_noise=noise, policy_kwargs=shape,
    )  # fmt: skip


def rollout_rows(settings: Recipe, worlds: int) -> int:
    """Choices of each world in a rollout of PPO; with many worlds each makes as many as with `MANY_WORLDS`."""
    return max(1, settings.choices // min(worlds, MANY_WORLDS))


def batch_size(rollout: int) -> int:
    """Choices in a batch: a sixteenth of a rollout, but 64 at least where it has as many, and all batches alike."""
    most = min(rollout, max(64, rollout // 16))
    return next(size for size in range(most, 0, -1) if rollout % size == 0)


def buffer_rows(env: Any) -> int:
    """Actions that a replay buffer remembers: as many as fit into a gigabyte."""
    from gymnasium import spaces

    space = env.observation_space
    row = 2 * 4 * spaces.flatdim(space)
    return int(min(_BUFFER_ROWS, max(_BUFFER_BYTES // row, 1000)))


def save_agent(agent: Any, folder: Path) -> None:
    """Write the agent and, where it has one, its replay buffer; whole or not at all."""
    with replaced(folder / "agent.zip") as temporary, temporary.open("wb") as file:
        agent.save(file)
    buffer = getattr(agent, "replay_buffer", None)
    if buffer is not None:
        end = buffer.buffer_size if buffer.full else buffer.pos
        arrays = {name: getattr(buffer, name)[:end] for name in _BUFFER_ARRAYS}
        for kind in ("observations", "next_observations"):
            rows = getattr(buffer, kind)
            parts = rows if isinstance(rows, dict) else {"": rows}
            arrays |= {f"{kind}:{name}": values[:end] for name, values in parts.items()}
        write_archive(folder / "replay.npz", _REPLAY, {"pos": int(buffer.pos), "full": bool(buffer.full)}, arrays)


def load_agent(algorithm: str, env: Any, folder: Path, *, log: Path | None, device: str = "auto") -> Any:
    """The agent as it was saved. Its file is trusted: it must be one's own, Stable-Baselines3 keeps code in it."""
    sb3 = optional("stable_baselines3", purpose="training", extra="rl")
    if algorithm not in ALGORITHMS:
        raise UnknownName("algorithm", algorithm, ALGORITHMS)
    kind = {"ppo": sb3.PPO, "td3": sb3.TD3}[algorithm]
    path = folder / "agent.zip"
    try:
        with open_regular(path) as file:
            agent = kind.load(file, env=env, device=device)
    except Exception as error:
        raise FileFormatError(f"{path} cannot be read as an agent of {algorithm}: {error}") from error
    agent.tensorboard_log = str(log) if log is not None and installed("tensorboard") else None
    if (folder / "replay.npz").is_file() and getattr(agent, "replay_buffer", None) is not None:
        _fill_buffer(agent.replay_buffer, folder / "replay.npz")
    return agent


def _fill_buffer(buffer: Any, path: Path) -> None:
    header, values = read_archive(path, _REPLAY)
    try:
        end = len(values["actions"])
        for name in _BUFFER_ARRAYS:
            getattr(buffer, name)[:end] = values[name]
        for kind in ("observations", "next_observations"):
            rows = getattr(buffer, kind)
            for name, target in (rows if isinstance(rows, dict) else {"": rows}).items():
                target[:end] = values[f"{kind}:{name}"]
        buffer.pos, buffer.full = int(header["pos"]), bool(header["full"])
    except (KeyError, ValueError, TypeError) as error:
        raise FileFormatError(f"the replay buffer {path} does not fit this training: {error}") from error
