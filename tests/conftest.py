"""What every test shares: a quiet Warp, the devices of this machine, and hypothesis without clocks or chance."""

import pytest
import warp as wp
from hypothesis import settings

wp.config.log_level = wp.LOG_ERROR

# A first call compiles kernels, so no example may be judged by its time; and the same code must get the same verdict.
settings.register_profile("annelid", deadline=None, derandomize=True, database=None)
settings.load_profile("annelid")


def _devices() -> list[str]:
    return ["cpu", "cuda:0"] if wp.is_cuda_available() else ["cpu"]


@pytest.fixture(params=_devices())
def device(request: pytest.FixtureRequest) -> str:
    """Name of a device; a test that takes it runs once on each device that the machine has."""
    return str(request.param)
