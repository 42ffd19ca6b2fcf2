"""What every test shares: a core a process, a quiet Warp, the devices, and hypothesis without clocks or chance."""

import faulthandler
import gc
import os
import signal
from collections import Counter
from collections.abc import Iterator
from types import FrameType

import pytest


def _take_one_core() -> None:
    """Give each of several pytest processes one core, before anything counts the cores.

    Threads that wait for each other at barriers would otherwise spend the cores on waiting for one another's turn.
    Tests of threads say how many they want.
    """
    worker = os.environ.get("PYTEST_XDIST_WORKER", "")  # "gw0", "gw1", ...; the process that starts them has none
    if worker and hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cores[int(worker[2:]) % len(cores)]})


def _hear_interrupts() -> None:
    """Let Ctrl-C be heard where the tests were started in the background, whose processes ignore it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


_take_one_core()
_hear_interrupts()
gc.disable()  # until all tests are collected: a fifth of that time went into looking for garbage among modules
os.environ.setdefault("ANNELID_CHECK_LOCKS", "1")  # locks taken out of order are found, not only when they hang
os.environ.setdefault("NUMBA_DISABLE_JIT", "1")  # pyribs would compile for seconds what runs for milliseconds

import warp as wp  # noqa: E402 - after the core is taken
from hypothesis import settings  # noqa: E402

import annelid.core.device  # noqa: E402, F401 - starts Warp quietly

wp.config.log_level = wp.LOG_ERROR

# A first call compiles kernels, so no example may be judged by its time; and the same code must get the same verdict.
settings.register_profile("annelid", deadline=None, derandomize=True, database=None)
settings.load_profile("annelid")


LONG = {
    "test_codesign.py", "test_contract.py", "test_docs.py", "test_hyperelastic.py", "test_live.py",
    "test_measured_arm.py", "test_measured_beam.py", "test_newcomer.py", "test_ray.py", "test_soak.py",
    "test_squeeze.py", "test_squeezing.py", "test_tutorials.py", "test_voxel_workshop.py", "test_workshop.py",
}  # fmt: skip
"""Files that take long for the number of their tests, such as those that wait for a browser."""


LONGEST = 600
"""Seconds after which a test hangs; the longest takes a tenth of that on two busy cores."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Let a test that hangs fail by its name, so that the others go on."""

    def hangs(number: int, frame: FrameType | None) -> None:
        faulthandler.dump_traceback()
        pytest.fail(f"{item.nodeid} hangs: it has not ended after {LONGEST} s")

    if not hasattr(signal, "SIGALRM"):
        return (yield)
    before = signal.signal(signal.SIGALRM, hangs)
    signal.alarm(LONGEST)
    try:
        return (yield)
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with long files, then those with many tests: what is left for the end is short."""
    counts = Counter(item.path for item in items)
    items.sort(key=lambda item: (item.path.name not in LONG, -counts[item.path]))


def pytest_collection_finish() -> None:
    """Look for garbage from now on, but seldom, and not among the modules and tests that were collected."""
    gc.freeze()
    gc.set_threshold(10_000)  # tests that parse all sources spent a third of their time on it
    gc.enable()


def _devices() -> list[str]:
    return ["cpu", "cuda:0"] if wp.is_cuda_available() else ["cpu"]


@pytest.fixture(params=_devices())
def device(request: pytest.FixtureRequest) -> str:
    """Name of a device; a test that takes it runs once on each device that the machine has."""
    return str(request.param)
