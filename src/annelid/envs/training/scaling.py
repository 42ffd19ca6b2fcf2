"""Rewards brought to the size that learners expect: divided by the running spread of discounted returns.

An environment may pay hundredths of a metre or hundreds of points; the networks that predict returns learn neither
quickly. The spread is kept in a file beside the agent, as a resumed run must go on with it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from stable_baselines3.common.vec_env import VecEnv, VecNormalize

from annelid.core.errors import FileFormatError
from annelid.core.files import replaced

_FILE = "scale.json"
_NAMES = ("mean", "var", "count")


def scaled(env: VecEnv, discount: float) -> VecNormalize:
    """The worlds with scaled rewards; observations stay as they are."""
    return VecNormalize(env, norm_obs=False, norm_reward=True, gamma=discount)


def save_scale(env: VecNormalize, folder: Path) -> None:
    """Write the spread of returns."""
    values = {name: float(getattr(env.ret_rms, name)) for name in _NAMES}
    with replaced(folder / _FILE) as temporary:
        temporary.write_text(json.dumps(values) + "\n")


def load_scale(env: VecNormalize, folder: Path) -> None:
    """Go on with the spread of an earlier run."""
    path = folder / _FILE
    try:
        values: dict[str, Any] = json.loads(path.read_text())
        for name in _NAMES:
            setattr(env.ret_rms, name, float(values[name]))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise FileFormatError(f"{path} cannot be read as the scale of rewards: {error}.") from error
