"""Thinned surfaces: few triangles, made of real vertices, still closed, still the same shape."""

from __future__ import annotations

import numpy as np
import pytest
import trimesh

from annelid.view.browser.decimate import thinned


@pytest.mark.parametrize("limit", [200, 1000, 5000])
def test_a_thinned_sphere_is_a_sphere(limit: int) -> None:
    ball = trimesh.creation.icosphere(subdivisions=6)  # 81,920 triangles
    thin = thinned(np.asarray(ball.vertices, np.float32), np.asarray(ball.faces, np.int32), limit)
    assert 0.2 * limit < len(thin.triangles) <= limit
    small = trimesh.Trimesh(ball.vertices[thin.vertices], thin.triangles, process=False)
    assert small.area == pytest.approx(ball.area, rel=0.15)
    np.testing.assert_allclose(np.linalg.norm(small.vertices, axis=1), 1.0, atol=1e-5)


def test_a_small_mesh_is_left_alone() -> None:
    box = trimesh.creation.box()
    thin = thinned(np.asarray(box.vertices), np.asarray(box.faces), 12)
    np.testing.assert_array_equal(thin.triangles, box.faces)
    np.testing.assert_array_equal(thin.vertices, np.arange(8))


def test_a_mesh_without_extent_does_not_hang() -> None:
    thin = thinned(np.zeros((300, 3)), np.arange(300).reshape(-1, 3), 10)
    assert len(thin.triangles) <= 10
