"""Rounded skins of 3-D voxel robots."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from annelid import voxels3d
from annelid.core.errors import InvalidValue
from annelid.core.snapshot import Look, Mesh

PARTS = (voxels3d.Voxel(name="soft"), voxels3d.Voxel(name="stiff", youngs_modulus=1e7))


def skin_of(grid: np.ndarray, skin: Any = "blocky") -> tuple[voxels3d.Solver, list[Mesh]]:
    robot = voxels3d.Robot(grid, PARTS, 1.0)
    simulation = voxels3d.simulation(robot, device="cpu", gravity=(0.0, 0.0, 0.0), skin=skin)
    parts = simulation.snapshot(Look(fields=("material", "strain"))).parts
    return simulation.solver, [part for part in parts if isinstance(part, Mesh)]


def test_a_cube_comes_close_to_the_surface_of_catmull_and_clark() -> None:
    """A corner at 1 from the middle goes to 5/9 in the first division and to 1/2 in the end."""
    _, (mesh, _) = skin_of(np.zeros((1, 1, 1), int), skin="smooth")
    vertices = np.asarray(mesh.vertices) * 2.0 - 1.0
    farthest = vertices[np.argmax(vertices.sum(axis=1))]
    assert np.ptp(farthest) < 1e-6
    assert 0.5 < farthest[0] < 5.0 / 9.0
    assert np.abs(vertices.mean(axis=0)).max() < 1e-6


def test_a_smooth_skin_is_closed_lies_within_the_blocky_one_and_changes_nothing() -> None:
    rng = np.random.default_rng(3)
    grid = voxels3d.largest_connected(rng.integers(-1, 2, (4, 3, 3)).astype(np.int16))
    solver, blocky = skin_of(grid)
    same, smooth = skin_of(grid, skin="smooth")
    assert same.fingerprint() == solver.fingerprint()
    ends = np.concatenate([np.roll(mesh.triangles, -k, axis=1)[:, :2] for mesh in smooth for k in range(3)])
    there, count = np.unique(ends, axis=0, return_counts=True)
    back, other = np.unique(ends[:, ::-1], axis=0, return_counts=True)
    np.testing.assert_array_equal(there, back)  # each edge is run along both ways, as often
    np.testing.assert_array_equal(count, other)
    inside, outside = np.asarray(smooth[0].vertices), np.asarray(blocky[0].vertices)
    assert (inside.min(axis=0) >= outside.min(axis=0) - 1e-6).all()
    assert (inside.max(axis=0) <= outside.max(axis=0) + 1e-6).all()
    labels = np.asarray(smooth[0].fields["material"].values)
    assert set(np.unique(labels)) == {0.0, 1.0}


def test_other_skins_are_refused() -> None:
    with pytest.raises(InvalidValue, match=r"skin .* must be one of blocky, smooth, not 'round'"):
        skin_of(np.zeros((1, 1, 1), int), skin="round")
