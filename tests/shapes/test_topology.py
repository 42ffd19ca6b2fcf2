"""How triangles hang together: edges, neighbours, shells, volumes and winding numbers of small meshes."""

from __future__ import annotations

import numpy as np
import pytest

from annelid.shapes import Box, Sphere
from annelid.shapes.topology import beyond, edges_of, neighbours, shells_of, signed_volumes, winding_numbers

CUBE = Box((1.0, 1.0, 1.0)).surface()


def test_edges_of_a_cube() -> None:
    edges = edges_of(CUBE.triangles)
    assert len(edges.pairs) == 18  # 12 sides and 6 diagonals
    assert (edges.count == 2).all()
    assert not edges.balance.any()
    assert not (edges.open | edges.crowded | edges.twisted).any()
    sides = np.sort(np.stack([CUBE.triangles, np.roll(CUBE.triangles, -1, axis=1)], axis=-1), axis=-1)
    assert np.array_equal(edges.pairs[edges.of_triangles], sides)


@pytest.mark.parametrize("resolution", [3, 8, 33])
def test_a_sphere_obeys_euler(resolution: int) -> None:
    mesh = Sphere(1.0).surface(resolution)
    assert len(mesh.vertices) - len(edges_of(mesh.triangles).pairs) + len(mesh.triangles) == 2


def test_neighbours_see_each_other(torus) -> None:
    triangles = torus.mesh().triangles
    edges = edges_of(triangles)
    pairs, alike = neighbours(edges)
    assert alike.all()
    assert len(pairs) == 3 * len(triangles) // 2
    across = beyond(edges)
    back = across[across]  # [n, 3, 3]: what the neighbours see
    assert (back == np.arange(len(triangles))[:, None, None]).any(axis=2).all()


def test_nothing_lies_beyond_an_open_side() -> None:
    assert np.array_equal(beyond(edges_of(np.array([[0, 1, 2], [2, 1, 3]]))), [[-1, 1, -1], [0, -1, -1]])


def test_shells_are_counted(hollow, hinged) -> None:
    for blocks in (hollow, hinged):
        count, shell = shells_of(edges_of(blocks.mesh().triangles))
        assert count == 2
        assert set(np.bincount(shell)) <= {12, 108}


def test_volumes_add_up_wherever_the_mesh_is() -> None:
    for offset in (0.0, 1e3):
        assert signed_volumes(CUBE.vertices + offset, CUBE.triangles).sum() == pytest.approx(1.0)


def test_winding_numbers_count_shells() -> None:
    points = np.array([[0.0, 0.0, 0.0], [0.3, 0.2, 0.1], [0.6, 0.0, 0.0], [5.0, 5.0, 5.0]])
    once = winding_numbers(CUBE.vertices, CUBE.triangles, points)
    assert once == pytest.approx([1.0, 1.0, 0.0, 0.0], abs=1e-12)
    twice = winding_numbers(CUBE.vertices, np.concatenate([CUBE.triangles, CUBE.triangles]), points)
    assert twice == pytest.approx(2.0 * once, abs=1e-12)
    back = winding_numbers(CUBE.vertices, CUBE.triangles[:, ::-1], points)
    assert back == pytest.approx(-once, abs=1e-12)
