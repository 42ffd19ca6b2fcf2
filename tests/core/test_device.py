"""Choice of the device and of the number of threads."""

from __future__ import annotations

import os

import pytest
import warp as wp

from annelid.core.device import available_threads, device, device_title, thread_count
from annelid.core.errors import DeviceUnavailable, InvalidValue


def test_the_cpu_is_always_there() -> None:
    assert device("cpu").is_cpu
    assert device_title(device("cpu")) == f"cpu ({available_threads()} cores)"


def test_auto_takes_a_gpu_where_there_is_one() -> None:
    assert device().is_cuda == device("auto").is_cuda == wp.is_cuda_available()


def test_a_device_is_handed_through() -> None:
    cpu = wp.get_device("cpu")
    assert device(cpu) is cpu


def test_names_of_this_machine(device: str) -> None:
    chosen = globals()["device"](device)
    assert chosen.alias == device
    assert device.split(":")[0] in device_title(chosen)


@pytest.mark.parametrize("name", ["gpu", "CPU", "cuda:", "cuda:x", "cuda:-1", "", "cpu:1", "cuda:0 "])
def test_unknown_devices_are_refused_by_name(name: str) -> None:
    with pytest.raises(DeviceUnavailable, match="unknown device") as caught:
        device(name)
    assert repr(name) in str(caught.value)
    assert "'auto', 'cpu', 'cuda' or 'cuda:N'" in str(caught.value)


def test_absent_devices_are_refused_by_name() -> None:
    with pytest.raises(DeviceUnavailable, match="'cuda:99' is not there.*use 'auto' or 'cpu'"):
        device("cuda:99")


@pytest.mark.skipif(wp.is_cuda_available(), reason="needs a machine without CUDA")
def test_cuda_is_refused_where_there_is_none() -> None:
    with pytest.raises(DeviceUnavailable, match="finds 0 CUDA device"):
        device("cuda")


def test_threads_default_to_the_cores_that_may_be_used() -> None:
    assert thread_count(None) == available_threads() == len(os.sched_getaffinity(0))
    assert thread_count(3) == 3


@pytest.mark.parametrize("threads", [0, -1, -100])
def test_threads_are_at_least_one(threads: int) -> None:
    with pytest.raises(InvalidValue, match=f"threads must be a whole number of at least 1, not {threads}"):
        thread_count(threads)


def test_more_threads_than_any_machine_has_are_refused() -> None:
    with pytest.raises(InvalidValue, match="threads must be at most 4096, not 10000000000; this process may use"):
        thread_count(10**10)
