"""The environments by name, and how Gymnasium, Stable-Baselines3, rsl_rl and skrl get them."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from annelid.core.errors import MissingPackage
from annelid.core.listing import listed
from annelid.core.own_files import is_own, split_own
from annelid.core.packages import installed, optional, require_installed

if TYPE_CHECKING:
    from annelid.envs.task import Task
    from annelid.envs.worlds import Worlds

    Named = str | Task | type[Task]

TASKS = {
    "annelid/Bulldozer-v0": ("annelid.envs.bulldozer", "BulldozerField"),
    "annelid/Excavation-v0": ("annelid.envs.excavation", "Excavation"),
    "annelid/VoxelLocomotion-v0": ("annelid.envs.voxel_locomotion", "VoxelLocomotion"),
    "annelid/SpringWalker-v0": ("annelid.envs.spring_walker", "SpringWalker"),
    "annelid/SandWorm-v0": ("annelid.envs.sandworm", "SandWorm"),
    "annelid/WormCrawl-v0": ("annelid.envs.tasks.worm_crawl", "WormCrawl"),
    "annelid/RunnerGallop-v0": ("annelid.envs.tasks.runner_gallop", "RunnerGallop"),
    "annelid/VoxelJump-v0": ("annelid.envs.tasks.voxel_jump", "VoxelJump"),
    "annelid/HeapPush-v0": ("annelid.envs.tasks.heap_push", "HeapPush"),
    "annelid/FingerReach-v0": ("annelid.envs.tasks.finger_reach", "FingerReach"),
    "annelid/TrunkReach-v0": ("annelid.envs.tasks.trunk_reach", "TrunkReach"),
    "annelid/TrunkReachAround-v0": ("annelid.envs.tasks.trunk_reach_around", "TrunkReachAround"),
    "annelid/SoftGrasp-v0": ("annelid.envs.tasks.soft_grasp", "SoftGrasp"),
    "annelid/SoftCrawl-v0": ("annelid.envs.tasks.soft_crawl", "SoftCrawl"),
}
"""Module and class of the task of each environment."""


def make_worlds(
    name: Named,
    count: int = 1,
    *,
    device: Any = "auto",
    threads: int | None = None,
    processes: int = 1,
    **options: Any,
) -> Worlds:
    """A batch of worlds without an interface.

    Args:
        name: Name of an environment, such as "annelid/Bulldozer-v0" or "Bulldozer", a `Task` of one's own, its class,
            or the FILE.py:NAME where that is.
        count: Number of worlds.
        device: "auto", "cpu", "cuda" or "cuda:N".
        threads: CPU threads; None takes all cores.
        processes: Processes of a CPU that simulate a share of the worlds each. A script that starts some must keep what
            it does under `if __name__ == "__main__":`.
        options: Options of the task, its fields.
    """
    if processes != 1:
        from annelid.envs.processes import ProcessWorlds

        return ProcessWorlds(make_worlds, name, count, processes=processes, device=device, threads=threads, **options)
    from annelid.envs.own import task_worlds

    given = task(name) if isinstance(name, str) and not is_own(name) else name
    return task_worlds(given, count, device=device, threads=threads, **options)


def environment_names() -> list[str]:
    """Names of all environments, without namespace and version."""
    return [short(name) for name in TASKS]


def short(name: str) -> str:
    """The name of an environment without namespace and version; that of a task without its file."""
    if is_own(name):
        path, wanted = split_own(name) or (Path(name), "")
        return wanted or path.stem
    return name.removeprefix("annelid/").removesuffix("-v0")


def settings_of(name: str) -> Any:
    """The task of an environment: a dataclass of its options."""
    if not is_own(name):
        return task(name)
    from annelid.envs.own import own_task

    return own_task(name)


def task(name: str) -> Any:
    """The task of an environment."""
    return listed("environment", in_full(name), TASKS)


def in_full(name: str) -> str:
    """The name of an environment with namespace and version, where it was given without them."""
    whole = f"annelid/{name}-v0"
    return whole if whole in TASKS else name


def make_env(name: Named, *, render_mode: str | None = None, **options: Any) -> Any:
    """One world as a `gymnasium.Env`."""
    optional("gymnasium", purpose="an environment", extra="rl")
    from annelid.envs.single import WorldEnv

    return WorldEnv(make_worlds(name, 1, **options), render_mode=render_mode)


def make_vector_env(
    name: Named,
    num_envs: int = 1,
    *,
    autoreset: str = "next-step",
    output: str = "numpy",
    render_mode: str | None = None,
    **options: Any,
) -> Any:
    """Many worlds as a `gymnasium.vector.VectorEnv`; see `vector`."""
    optional("gymnasium", purpose="an environment", extra="rl")
    from annelid.envs.vector import WorldVectorEnv

    worlds = make_worlds(name, num_envs, **options)
    return WorldVectorEnv(worlds, autoreset=autoreset, output=output, render_mode=render_mode)


def make_stable_env(name: Named, num_envs: int = 1, *, render_mode: str | None = None, **options: Any) -> Any:
    """Many worlds as a `VecEnv` of Stable-Baselines3."""
    optional("stable_baselines3", purpose="this adapter", extra="rl")
    from annelid.envs.stable import StableVecEnv

    return StableVecEnv(make_worlds(name, num_envs, **options), render_mode=render_mode)


def make_rsl_env(name: Named, num_envs: int = 1, **options: Any) -> Any:
    """Many worlds as rsl_rl takes them: tensors on the device, no copy to the host."""
    require_installed("torch", purpose="rsl_rl", extra="rl")
    from annelid.envs.rsl import RslVecEnv

    return RslVecEnv(make_worlds(name, num_envs, **options))


def make_skrl_env(name: Named, num_envs: int = 1, *, render_mode: str | None = None, **options: Any) -> Any:
    """Many worlds as skrl takes them: tensors on the device, no copy to the host."""
    if not installed("skrl"):
        raise MissingPackage("this adapter needs skrl, which is not installed: pip install skrl.")
    from annelid.envs.skrl import SkrlEnv

    return SkrlEnv(make_worlds(name, num_envs, **options), render_mode=render_mode)


def register() -> None:
    """Register the environments with Gymnasium."""
    gymnasium = optional("gymnasium", purpose="an environment", extra="rl")
    for name in TASKS:
        gymnasium.register(name, entry_point=partial(make_env, name), vector_entry_point=partial(make_vector_env, name))
