"""Small versions of the environments."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import warp as wp

from annelid.envs import bulldozer, excavation, sandworm

SMALL: dict[str, dict[str, object]] = {
    "annelid/Bulldozer-v0": {"grains": 60, "field": (3.2, 1.6), "substeps": 18, "seconds": 1.0},
    "annelid/Excavation-v0": {"grains": 60, "radius": 0.02, "dt": 1e-3, "substeps": 10, "seconds": 0.3},
    "annelid/SpringWalker-v0": {"substeps": 30, "seconds": 0.1},
    "annelid/VoxelLocomotion-v0": {"body": "biped", "seconds": 1.0},
    "annelid/SandWorm-v0": {"action_time": 5e-3, "seconds": 0.1, "depth": 0.04, "run_up": 0.05},
    "annelid/WormCrawl-v0": {"segments": 2, "every": 2e-3, "seconds": 0.02},
    "annelid/RunnerGallop-v0": {"every": 2e-3, "seconds": 0.02},
    "annelid/VoxelJump-v0": {"width": 2, "height": 1, "seconds": 1.0, "every": 0.1},
    "annelid/HeapPush-v0": {"every": 0.02, "seconds": 0.2},
    "annelid/FingerReach-v0": {"chambers": 1, "every": 0.1, "seconds": 1.0},
    "annelid/TrunkReach-v0": {"every": 0.1, "seconds": 1.0},
    "annelid/TrunkReachAround-v0": {
        "rings": 2,
        "dt": 1 / 60,
        "every": 1 / 60,
        "seconds": 1 / 6,
        "newtons": 2,
        "gradients": 4,
    },
    "annelid/SoftCrawl-v0": {
        "chambers": 2,
        "dt": 1 / 60,
        "every": 1 / 60,
        "seconds": 1 / 6,
        "newtons": 2,
        "gradients": 4,
    },
    "annelid/SoftGrasp-v0": {
        "chambers": 1,
        "dt": 1 / 60,
        "every": 1 / 60,
        "seconds": 1 / 6,
        "newtons": 2,
        "gradients": 4,
    },
}


@pytest.fixture(scope="session")
def tasks() -> dict[str, dict[str, object]]:
    """Options of all environments by their names."""
    return SMALL


@pytest.fixture(params=list(SMALL))
def task(request: pytest.FixtureRequest) -> tuple[str, dict[str, object]]:
    """Name and options of an environment."""
    return str(request.param), dict(SMALL[str(request.param)])


@pytest.fixture(autouse=True, scope="session")
def settle_once() -> Iterator[None]:
    """Let equal beds settle once in a process; `test_same_again_and_in_another_process` settles its own again."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (bulldozer, excavation):
            patch.setattr(module, "settled", _remembered(module.settled))
        patch.setattr(sandworm, "_settled", _remembered(sandworm._settled))
        yield


def _remembered(settle: Callable[..., Any]) -> Callable[..., Any]:
    """A function that gives a copy of what it gave before for arguments that look the same."""
    known: dict[bytes, Any] = {}

    def again(*arguments: Any) -> Any:
        key = pickle.dumps([str(a) if isinstance(a, wp.Device) else a for a in arguments])
        if key not in known:
            known[key] = settle(*arguments)
        return copy.deepcopy(known[key])

    return again
