"""Small versions of the environments."""

import pytest

SMALL = {
    "annelid/Bulldozer-v0": {"grains": 60, "field": (3.2, 1.6), "substeps": 18, "seconds": 1.0},
    "annelid/Excavation-v0": {"grains": 60, "radius": 0.02, "dt": 1e-3, "substeps": 10, "seconds": 0.3},
    "annelid/SpringWalker-v0": {"substeps": 30, "seconds": 0.1},
    "annelid/VoxelLocomotion-v0": {"body": "biped", "seconds": 1.0},
    "annelid/SandWorm-v0": {"action_time": 5e-3, "seconds": 0.1, "depth": 0.04, "run_up": 0.05},
}


@pytest.fixture(params=list(SMALL))
def task(request: pytest.FixtureRequest) -> tuple[str, dict[str, object]]:
    """Name and options of an environment."""
    return str(request.param), dict(SMALL[str(request.param)])
