"""Kernels that several threads need at the same time are made once, and loaded by each of them."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest
import warp as wp

from annelid.core.kernels.loading import once

from ..threads import forked, script, together

ALL_AT_ONCE = """
import threading
import numpy as np
from annelid import coupling, fem, grains, springs, voxels, voxels3d
from annelid.shapes import ground, tet_beam

HERE = dict(device="cpu", threads=1)
PLACES = np.array([[x, y, 0.04] for x in (-0.2, 0.2) for y in (-0.1, 0.0, 0.1)])

def of_springs():
    return springs.simulation(springs.block((3, 2, 2), 0.1), dt=1e-4, obstacles=[ground(height=-1.0)], **HERE)

def of_grains():
    return grains.simulation(grains.Bed(PLACES, 0.03), dt=1e-3, obstacles=[ground(0.5)], **HERE)

def of_solids():
    solid = fem.Solid(tet_beam(0.1, 0.02, 0.02, cells=(2, 1, 1)), "ecoflex-00-30").fix(lambda x: x[:, 0] < 1e-6)
    return fem.simulation(solid, dt=5e-3, dynamic=True, **HERE)

def of_voxels():
    return voxels.simulation(voxels.tripod(), obstacles=[voxels.terrain("flat")], **HERE)

def of_voxels3d():
    return voxels3d.simulation(voxels3d.Robot(np.zeros((2, 1, 1), int)), obstacles=[ground(0.5)], **HERE)

def of_coupling():
    body = springs.block((3, 3, 3), 0.04).moved((0.0, 0.0, 0.4))
    return coupling.simulation(body, grains.Bed(PLACES, 0.02), dt=1e-4, obstacles=[ground(0.5)], **HERE)

MAKERS = 2 * [of_springs, of_grains, of_solids, of_voxels, of_voxels3d, of_coupling]
hashes = {maker: [] for maker in MAKERS}
begin = threading.Barrier(len(MAKERS))

def work(maker):
    begin.wait()
    simulation = maker()
    simulation.step(5)
    simulation.snapshot()
    hashes[maker].append(simulation.state_hash())

threads = [threading.Thread(target=work, args=(maker,)) for maker in MAKERS]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
for maker, (one, other) in hashes.items():
    assert one == other, maker
print("all")
"""


def test_simulations_of_all_physics_are_built_and_stepped_at_the_same_time() -> None:
    assert script(ALL_AT_ONCE, seconds=400.0) == "all\n"


def fresh_kernel(number: int) -> Any:
    @wp.kernel(module="unique", enable_backward=False)
    def add(values: wp.array[wp.float64]):
        values[wp.tid()] = values[wp.tid()] + wp.float64(wp.static(number))

    return add


def test_kernels_are_compiled_loaded_and_run_by_several_threads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wp.config, "kernel_cache_dir", str(tmp_path))  # a cold one
    kernels = [fresh_kernel(number) for number in range(2)]
    begin, arrays = threading.Barrier(4), [wp.zeros(3, dtype=wp.float64, device="cpu") for _ in range(4)]

    def load(rank: int) -> None:
        begin.wait()
        kept = wp.launch(kernels[rank % 2], 3, [arrays[rank]], device="cpu", record_cmd=True)
        for _ in range(50):  # also after another thread has loaded the same module
            kept.launch()

    together(*[lambda rank=rank: load(rank) for rank in range(4)])  # type: ignore[misc]
    assert [array.numpy().tolist() for array in arrays] == 2 * [[0.0] * 3, [50.0] * 3]


def test_what_is_made_once_is_made_once_for_all_threads() -> None:
    made: list[Any] = []

    @once
    def make(number: int, *, name: str = "") -> Any:
        made.append((number, name))
        time.sleep(0.01)
        return object()

    found = together(*8 * [lambda: make(1, name="a")])
    assert len(set(found)) == len(made) == 1
    assert make(2, name="a") is not found[0]
    assert made == [(1, "a"), (2, "a")]


def test_what_fails_is_made_again() -> None:
    times: list[int] = []

    @once
    def make() -> int:
        times.append(1)
        if len(times) == 1:
            raise ValueError("not yet")
        return 3

    with pytest.raises(ValueError, match="not yet"):
        make()
    assert [make(), make(), len(times)] == [3, 3, 2]


def test_a_process_forked_while_a_kernel_is_made_can_make_its_own() -> None:
    held, go_on = threading.Event(), threading.Event()

    @once
    def make_slowly() -> None:
        held.set()
        go_on.wait(0.2)

    thread = threading.Thread(target=make_slowly)
    thread.start()
    assert held.wait(60.0)
    assert forked(lambda: once(fresh_kernel)(11).module.load("cpu", block_dim=1) is not None)
    thread.join()
