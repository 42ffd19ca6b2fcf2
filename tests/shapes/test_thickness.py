"""How thin walls are found, which tapers are none, and grids that such walls have an inside in."""

from __future__ import annotations

import math

import numpy as np
import pytest

from annelid.core.errors import InvalidValue
from annelid.shapes import Box, Capsule, Cylinder, Revolved, Rigid, Shape, Sphere, TriangleMesh, turned_about
from annelid.shapes.spread import spread_over
from annelid.shapes.thickness import cells_for_walls, thinnest_wall


def bucket(wall: float, radius: float = 0.1, height: float = 0.2) -> Revolved:
    inner = radius - wall
    return Revolved(((0, 0), (radius, 0), (radius, height), (inner, height), (inner, wall), (0, wall)))


def wedge(angle: float) -> TriangleMesh:
    """A prism whose edge along y tapers off to nothing."""
    z = math.tan(0.5 * angle)
    ends = [[(0.0, y, 0.0), (1.0, y, z), (1.0, y, -z)] for y in (0.0, 1.0)]
    triangles = [(0, 2, 1), (3, 4, 5), (0, 1, 4), (0, 4, 3), (0, 3, 5), (0, 5, 2), (1, 2, 5), (1, 5, 4)]
    return TriangleMesh(np.concatenate(ends), np.array(triangles))


@pytest.mark.parametrize(
    ("solid", "thickness"),
    [
        (Box((1.0, 1.0, 0.01)), 0.01),
        (Box((1.0, 1.0, 0.001)), 0.001),
        (Box((1.0, 1.0, 0.01)).surface().rotated((1.0, 2.0, 3.0), 1.0), 0.01),
        (Box((0.3, 0.2, 0.1)), 0.1),
        (Capsule(0.01, 1.0), 0.02),
        (Sphere(0.3), 0.6),
        (bucket(0.003), 0.003),
        (bucket(0.0005), 0.0005),
    ],
)
def test_the_thinnest_wall_is_found(solid: Shape, thickness: float) -> None:
    assert thinnest_wall(solid)[0] == pytest.approx(thickness, rel=0.01)


@pytest.mark.parametrize(
    "solid", [wedge(math.radians(5)), wedge(math.radians(40)), Revolved(((0, 0), (0.02, 0), (0, 0.3)))]
)
def test_an_edge_and_a_tip_are_no_walls(solid: Shape) -> None:
    assert cells_for_walls(solid, 64, thinnest_wall(solid)[0]) == 64


@pytest.mark.parametrize("solid", [Box((1.0, 1.0, 0.032)), Sphere(0.3), bucket(0.0065)])
def test_what_the_grid_resolves_keeps_it(solid: Shape) -> None:
    assert cells_for_walls(solid, 64, thinnest_wall(solid)[0]) == 64


@pytest.mark.parametrize("cells", [0.3, 0.7, 1.0, 1.4, 3.0])
def test_points_of_the_surface_of_a_thin_plate_are_on_it(cells: float) -> None:
    plate = Box((1.0, 0.4, cells / 64)).surface().rotated("z", 0.3)
    grid = Rigid(plate).grid
    points, faces = spread_over(plate.vertices, plate.triangles, 2000)
    distance, _ = grid.sample(points)
    assert np.median(np.abs(distance)) < 0.01 * grid.spacing
    assert np.abs(distance).max() < 0.4 * grid.spacing  # edges are rounded
    a, b, c = np.moveaxis(plate.vertices[plate.triangles[faces]], 1, 0)
    normals = np.cross(b - a, c - a)
    inner = points - 0.5 * cells / 64 * normals / np.linalg.norm(normals, axis=1, keepdims=True)
    middle = np.abs(plate.signed_distance(inner)) > 0.49 * cells / 64
    assert (grid.sample(inner[middle])[0] < -0.2 * cells / 64).all()


def test_a_finer_grid_is_exact_near_the_surface_and_close_to_it_elsewhere() -> None:
    solid = bucket(0.02)
    grid = Rigid(solid, cells=8).grid
    assert grid.spacing < 0.02 / 1.9
    axes = [start + grid.spacing * np.arange(n) for start, n in zip(grid.origin, grid.values.shape, strict=True)]
    exact = solid.signed_distance(np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3))
    error = np.abs(grid.values.numpy().ravel() - exact)
    assert error[np.abs(exact) < 0.02].max() < 1e-7
    assert error.max() < 0.3 * 0.2 / 8
    mesh = Rigid(solid.surface(64), cells=8).grid.values.numpy().ravel()
    assert ((mesh < 0.0) == (exact < 0.0))[np.abs(exact) > 1e-3].all()


def test_a_wall_that_would_need_too_many_cells_is_refused_with_their_number() -> None:
    with pytest.raises(InvalidValue, match=r"walls of 0\.000\d+ m .* grid of 4\d\d\d cells"):
        _ = Rigid(bucket(0.0001)).grid
    assert Rigid(Box((1.0, 1.0, 0.004)).surface(), rotation=turned_about("x", 1.0)).grid.values.shape[2] < 10


def test_faces_that_coincide_are_no_walls() -> None:
    """A tube on a disc whose lower faces are one: rays through the tube meet both where they leave."""
    tube = Revolved(((0.02, 0.0), (0.03, 0.0), (0.03, 0.08), (0.02, 0.08))).surface(24)
    disc = Cylinder(0.025, 0.004, center=(0.0, 0.0, 0.002), axis="z").surface(24)
    both = TriangleMesh(
        np.concatenate([tube.vertices, disc.vertices]),
        np.concatenate([tube.triangles, disc.triangles + len(tube.vertices)]),
    )
    assert thinnest_wall(both)[0] == pytest.approx(0.004, rel=0.05)
