"""Links of the CPU, several in the lanes of vector registers, against the text that serves CUDA."""

from typing import Any

import numpy as np
import pytest
import warp as wp

from annelid import voxels3d
from annelid.voxels3d.kernels.layout import layout
from annelid.voxels3d.kernels.links import link_pass, tension_pass

REAL = wp.float64


@pytest.fixture(scope="module")
def one_by_one() -> wp.Kernel:
    types = layout(REAL)
    Tables, Motion = types.Tables, types.Motion
    links_of, tensions_of = link_pass(REAL), tension_pass(REAL)

    @wp.kernel(module="unique", enable_backward=False)
    def load(tables: Tables, motion: Motion):
        i = wp.tid()
        if tables.special == 1:
            tensions_of(i, i + 1, 1, tables, motion)
        links_of(i, i + 1, 1, tables, motion)

    return load


@pytest.mark.parametrize(
    ("material", "links", "turned"),
    [
        ({}, "balanced", 0.1),
        ({}, "compatible", 2.5),
        ({"failure_stress": 2e5, "poisson_ratio": 0.3}, "balanced", 0.3),
    ],
)
def test_lanes_compute_what_single_links_do(
    one_by_one: wp.Kernel, material: dict[str, Any], links: Any, turned: float
) -> None:
    rng = np.random.default_rng(3)
    grid = np.where(rng.random((4, 3, 3)) < 0.8, rng.integers(0, 2, (4, 3, 3)), -1)
    grid[:, 0, 0] = 0
    kinds = tuple(voxels3d.Voxel(youngs_modulus=modulus, **material) for modulus in (1e6, 3e6))
    robot = voxels3d.Robot(grid, kinds, 0.01, whole=False)
    simulation = voxels3d.simulation(robot, precision="float64", links=links, device="cpu", threads=1)
    state, motion = simulation.state, simulation.solver.bound(simulation.state)
    turns = rng.normal(0.0, turned, state.rotations.numpy().shape) + np.eye(4)[3]
    state.rotations.assign(turns / np.linalg.norm(turns, axis=1, keepdims=True))
    for array, scale in ((state.displacements, 1e-3), (state.velocities, 0.1), (state.spins, 10.0)):
        array.assign(rng.normal(0.0, scale, array.numpy().shape))
    wp.launch(one_by_one, robot.voxel_count, [simulation.solver.model.tables, motion], device="cpu")
    written = (motion.forces, motion.moments, motion.end_forces, motion.end_moments)
    alone = [array.numpy().copy() for array in written]
    for array in written:
        array.zero_()
    simulation.step(1)
    for array, expected in zip(written, alone, strict=True):
        largest = np.abs(expected).max()
        assert largest > 0.0
        assert array.numpy() == pytest.approx(expected, rel=1e-9, abs=1e-12 * largest)
