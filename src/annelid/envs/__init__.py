"""Environments to learn in: soil to push and dig, soft robots to walk.

Importing this package registers them with Gymnasium, if that is installed: `gymnasium.make("annelid/Bulldozer-v0")`,
`gymnasium.make_vec("annelid/Bulldozer-v0", num_envs=64)`.
"""

from contextlib import suppress
from typing import TYPE_CHECKING

from annelid.core.errors import MissingPackage
from annelid.core.lazy import offered, public
from annelid.core.packages import installed
from annelid.envs.registration import (
    TASKS,
    make_env,
    make_rsl_env,
    make_skrl_env,
    make_stable_env,
    make_vector_env,
    make_worlds,
    register,
)

if TYPE_CHECKING:
    from annelid.envs.hooks import Batch, Channel, each_world
    from annelid.envs.task import Task
    from annelid.envs.training.trained import Agent
    from annelid.envs.worlds import ActionClipped, Worlds
else:  # the help of the command line names the environments, and does not wait for Warp
    __getattr__ = offered(
        __name__,
        {
            "hooks": ["Batch", "Channel", "each_world"],
            "task": ["Task"],
            "training.trained": ["Agent"],
            "worlds": ["ActionClipped", "Worlds"],
        },
    )

__all__ = [
    "TASKS",
    "ActionClipped",
    "Agent",
    "Batch",
    "Channel",
    "Task",
    "Worlds",
    "each_world",
    "make_env",
    "make_rsl_env",
    "make_skrl_env",
    "make_stable_env",
    "make_vector_env",
    "make_worlds",
    "register",
]

__dir__ = public(__name__)

if installed("gymnasium"):
    with suppress(MissingPackage):  # it is there, but cannot be imported: whoever makes an environment is told so
        register()
