"""Robots side by side: the same bits on any number of threads, alone and among others, saved, reset and commanded."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import warp as wp

from annelid import voxels3d
from annelid.scenes.table import Table
from annelid.shapes import Plane


def walked(robots: list[voxels3d.Robot], threads: int = 1, worlds: int = 1) -> voxels3d.Solver:
    simulation = voxels3d.simulation(
        robots, dt=1e-4, obstacles=[Plane()], device="cpu", threads=threads, worlds=worlds, precision="float64"
    )
    simulation.step(300)
    return simulation


def test_bits_do_not_depend_on_threads_or_on_others() -> None:
    table = Table(ramp=0.0).robot()
    block = voxels3d.Robot(np.zeros((8, 8, 16), int), amplitude=10.0, frequency=4.0)  # two threads share it
    alone = walked([table]).state.displacements.numpy()
    among = walked([block, table, block], threads=2).state.displacements.numpy()
    np.testing.assert_array_equal(among[block.voxel_count :][: table.voxel_count], alone)
    one, two = walked([block]), walked([block], threads=2)
    assert two.solver.threads == 2
    assert one.state_hash() == two.state_hash()


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("special", [{"poisson_ratio": 0.3}, {"failure_stress": 1e9}], ids=["poisson", "breaking"])
def test_a_plain_robot_moves_to_the_bit_beside_one_of_another_law(
    device: str, special: dict[str, float], precision: str
) -> None:
    soft = voxels3d.Voxel(youngs_modulus=1e5)
    kinds = np.random.default_rng(0).integers(0, 2, (4, 3, 2))
    plain = voxels3d.Robot(kinds, [soft, voxels3d.Voxel(youngs_modulus=1e6)], side_length=0.01, amplitude=14.0)
    plain = plain.fix(lambda x, y, z: x == 0)
    other = voxels3d.Robot(np.zeros((3, 2, 2), int), voxels3d.Voxel(youngs_modulus=2e5, **special), side_length=0.01)
    alone, among = (
        voxels3d.simulation(robots, dt=2e-5, precision=precision, device=device) for robots in ([plain], [other, plain])
    )
    alone.step(300)
    among.step(300)
    moved = among.state.displacements.numpy()[other.voxel_count :]
    np.testing.assert_array_equal(moved, alone.state.displacements.numpy())
    assert np.abs(moved).max() > 1e-5


@pytest.mark.skipif(not wp.is_cuda_available(), reason="a CPU has one way to step them")
def test_large_robots_take_the_whole_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """To the bit as a block of threads would."""
    table, hashes = Table(ramp=0.0).robot(), []
    for large in (1, 1000):
        monkeypatch.setattr("annelid.voxels3d.solver._LARGE", large)
        simulation = voxels3d.simulation(table, dt=1e-4, obstacles=[Plane()], device="cuda", worlds=2)
        simulation.step(300)
        hashes.append(simulation.state_hash())
    assert hashes[0] == hashes[1]


def test_worlds_begin_again_by_themselves(tmp_path: Path) -> None:
    simulation = walked([Table(ramp=0.0).robot()], worlds=2)
    first = simulation.state.displacements.numpy()[:23].copy()
    simulation.save(tmp_path / "tables.npz")
    simulation.reset([1])
    simulation.step(300)
    np.testing.assert_array_equal(simulation.state.displacements.numpy()[23:], first)
    simulation.load(tmp_path / "tables.npz")
    np.testing.assert_array_equal(simulation.state.displacements.numpy()[:23], first)


def test_voxels_without_a_wave_obey_commands() -> None:
    robot = voxels3d.Robot(np.zeros((3, 1, 1), int), amplitude=[[[0.0]], [[10.0]], [[0.0]]])
    simulation = voxels3d.simulation(robot, gravity=(0.0, 0.0, 0.0), precision="float64", device="cpu", threads=1)
    assert simulation.controls.names == ("voxel 1,0,0",)
    simulation.controls["voxel 1,0,0"] = 1.0
    simulation.run(1.0)
    np.testing.assert_allclose(np.diff(simulation.positions()[:, 0]), 0.0105, rtol=1e-4)
    assert simulation.summary().elastic < 1e-9
