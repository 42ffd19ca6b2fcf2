"""A training that real signals stop again and again: `python stopped_training.py TASK FOLDER`.

It prints one line of JSON a run: how it ended, what it said, and how far the agent in the folder is. Each run is
`annelid train` from its beginning; a signal is sent from the place in the program that the run has come to.
"""

import contextlib
import io
import json
import os
import signal
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import torch

from annelid import cli
from annelid.envs.stable import StableVecEnv
from annelid.envs.training import pace, run
from annelid.envs.training.recipes import RECIPES, Recipe

TASK, FOLDER = sys.argv[1], Path(sys.argv[2])
CHOICES = 64  # that PPO learns from at once; 32 of each of two worlds

PLACES: dict[str, tuple[Any, str, int, int]] = {
    "building": (pace, "make_worlds", 1, 1),
    "rollout": (StableVecEnv, "step_wait", 40, 1),  # in the second one
    "update": (torch.optim.Adam, "step", 3, 1),
    "update, pressed twice": (torch.optim.Adam, "step", 3, 2),
    "saving, pressed thrice": (run, "save_agent", 1, 3),
    "evaluation": (run, "episode_outcomes", 1, 1),
}
"""What is called there, at which of its calls Ctrl-C is pressed, and how often."""


@contextlib.contextmanager
def interrupted(place: str) -> Iterator[None]:
    """Press Ctrl-C at a place in the program, if it is one of those."""
    owner, name, due, often = PLACES.get(place, (run, "save_agent", 0, 0))
    real, calls = getattr(owner, name), 0

    def pressed(*arguments: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == due:
            for _ in range(often):
                os.kill(os.getpid(), signal.SIGINT)
        return real(*arguments, **options)

    with mock.patch.object(owner, name, pressed):
        yield
    assert calls >= due, f"{place} was never reached"


def trained(place: str, *options: str) -> dict[str, Any]:
    """A run."""
    arguments = ["train", TASK, "--out", str(FOLDER), "--worlds", "2", "--episodes", "2", "--no-plot", "--json"]
    said, code = io.StringIO(), 0
    with interrupted(place), contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
        try:
            cli.main([*arguments, *options, "--device", "cpu", "--threads", "1"])
        except SystemExit as end:
            code = int(end.code or 0)
    return {"place": place, "code": code, "said": said.getvalue(), **saved()}


def saved() -> dict[str, Any]:
    """Actions and updates of the agent in the folder."""
    if not (FOLDER / "agent.zip").exists():
        return {"files": [path.name for path in FOLDER.glob("*")]}
    with zipfile.ZipFile(FOLDER / "agent.zip") as file:
        data = json.loads(file.read("data"))
    return {"actions": data["num_timesteps"], "updates": data["_n_updates"]}


RECIPES[TASK] = Recipe(choices=CHOICES)
actions: int | None = None
for each in [*PLACES, "nowhere"]:
    goal = {"saving, pressed thrice": (actions or 0) + 1, "evaluation": 1, "nowhere": 1}.get(each, 10_000)
    found = trained(each, "--steps", str(goal), *(["--resume"] if actions is not None else []))
    actions = found.get("actions")
    print(json.dumps(found))
