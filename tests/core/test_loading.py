"""Kernels that several threads need at the same time are made and loaded once."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest
import warp as wp
from warp._src.context import Module

from annelid.core.kernels import loading
from annelid.core.kernels.loading import load_in_turn, once

from ..threads import bounded, forked, script, together

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


def test_a_kernel_is_loaded_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wp.config, "kernel_cache_dir", str(tmp_path))  # a cold one
    kernels = [fresh_kernel(number) for number in range(2)]
    begin, arrays = threading.Barrier(6), [wp.zeros(3, dtype=wp.float64, device="cpu") for _ in range(6)]

    def load(rank: int) -> Any:
        begin.wait()
        wp.launch(kernels[rank % 2], 3, [arrays[rank]], device="cpu")
        return kernels[rank % 2].module.load("cpu", block_dim=1)

    loaded = together(*[lambda rank=rank: load(rank) for rank in range(6)])  # type: ignore[misc]
    assert len({id(each) for each in loaded}) == 2
    assert [array.numpy().tolist() for array in arrays] == 3 * [[0.0] * 3, [1.0] * 3]


def test_who_has_a_kernel_does_not_wait_for_others() -> None:
    kernel = fresh_kernel(7)
    array = wp.zeros(1, dtype=wp.float64, device="cpu")
    wp.launch(kernel, 1, [array], device="cpu")
    with loading._LOADING:  # somebody compiles
        bounded(lambda: wp.launch(kernel, 1, [array], device="cpu"))
    assert array.numpy()[0] == 14.0


def test_warp_loads_by_way_of_it() -> None:
    found = Module.load
    assert hasattr(found, "__wrapped__")
    load_in_turn()  # a second time changes nothing
    assert Module.load is found


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


def test_a_process_forked_while_a_kernel_is_loaded_can_load_its_own() -> None:
    held, go_on = threading.Event(), threading.Event()

    def load() -> None:
        with loading._LOADING:
            held.set()
            go_on.wait(0.2)

    thread = threading.Thread(target=load)
    thread.start()
    assert held.wait(60.0)
    assert forked(lambda: fresh_kernel(11).module.load("cpu", block_dim=1) is not None)
    thread.join()
