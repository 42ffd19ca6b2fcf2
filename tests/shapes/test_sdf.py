"""Baked distances: error against the spacing, the outside, and use from a kernel of another module."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp

from annelid.core.errors import DeviceUnavailable, InvalidMesh, InvalidValue
from annelid.shapes import Box, Capsule, SdfGrid, Shape, SignedDistanceGrid, Sphere, TriangleMesh, sdf_sample

SHAPES: list[Shape] = [
    Box((1.0, 0.7, 0.4)),
    Sphere(0.5, center=(0.1, 0.2, 0.3)),
    Capsule(0.2, 0.5, axis=(1.0, 1.0, 0.0)),
]
shapes = pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: type(shape).__name__)


def cloud(grid: SignedDistanceGrid, count: int, *, beyond: float = 0.0) -> np.ndarray:
    low, high = grid.bounds()
    return np.random.default_rng(0).uniform(low - beyond, high + beyond, (count, 3))


def nodes(grid: SignedDistanceGrid) -> np.ndarray:
    axes = [start + grid.spacing * np.arange(n) for start, n in zip(grid.origin, grid.values.shape, strict=True)]
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)


@shapes
def test_nodes_hold_the_exact_distance(shape: Shape, device: str) -> None:
    grid = SignedDistanceGrid.bake(shape, resolution=20, device=device)
    assert grid.values.numpy().ravel() == pytest.approx(shape.signed_distance(nodes(grid)), abs=1e-6)


@pytest.mark.parametrize("name", ["notched", "plate", "hollow", "hinged"])
def test_nodes_of_a_baked_mesh_hold_the_exact_distance(name: str, request: pytest.FixtureRequest, device: str) -> None:
    blocks = request.getfixturevalue(name)
    grid = SignedDistanceGrid.bake(blocks.mesh(), spacing=0.037, device=device)
    assert grid.values.numpy().ravel() == pytest.approx(blocks.signed_distance(nodes(grid)), abs=1e-6)


@shapes
def test_error_is_of_the_order_of_the_spacing(shape: Shape, device: str) -> None:
    for resolution in (8, 16, 32, 64):
        grid = SignedDistanceGrid.bake(shape, resolution=resolution, device=device)
        points = cloud(grid, 4000)
        distance, _ = grid.sample(points)
        error = np.abs(distance - shape.signed_distance(points))
        assert error.max() < 0.6 * grid.spacing
        assert np.median(error) < 0.05 * grid.spacing


def test_smooth_distances_converge_with_order_two(device: str) -> None:
    sphere = Sphere(0.5)
    errors = []
    for resolution in (16, 32, 64):
        grid = SignedDistanceGrid.bake(sphere, resolution=resolution, device=device)
        points = cloud(grid, 8000)
        points = points[np.linalg.norm(points, axis=1) > 0.25]  # off the medial axis
        errors.append(np.abs(grid.sample(points)[0] - sphere.signed_distance(points)).max())
    assert np.log2(np.divide(errors[:-1], errors[1:])) == pytest.approx([2.0, 2.0], abs=0.25)


def test_gradient_converges_to_the_normal(device: str) -> None:
    sphere = Sphere(0.5)
    for resolution in (16, 32, 64):
        grid = SignedDistanceGrid.bake(sphere, resolution=resolution, device=device)
        points = cloud(grid, 4000)
        points = points[np.linalg.norm(points, axis=1) > 0.25]
        _, gradient = grid.sample(points)
        normal = points / np.linalg.norm(points, axis=1, keepdims=True)
        assert np.linalg.norm(gradient - normal, axis=1).max() < 4.0 * grid.spacing


def test_gradient_is_that_of_the_sampled_distance(device: str) -> None:
    """Inside the cells, inside and outside the grid: a force along it is then conservative."""
    grid = SignedDistanceGrid.bake(Box((1.0, 0.7, 0.4)), resolution=12, device=device)
    points = cloud(grid, 3000, beyond=0.3)
    local = (points - np.array(grid.origin)) / grid.spacing
    points = points[(np.abs(local - np.round(local)) > 0.05).all(axis=1)]
    step = 0.02 * grid.spacing
    ahead, behind = ([grid.sample(points + s * step * axis)[0] for axis in np.eye(3)] for s in (1.0, -1.0))
    slope = (np.stack(ahead, axis=1) - np.stack(behind, axis=1)) / (2.0 * step)
    assert np.abs(grid.sample(points)[1] - slope).max() < 2e-3


@shapes
def test_outside_the_grid_the_distance_is_never_too_long(shape: Shape, device: str) -> None:
    grid = SignedDistanceGrid.bake(shape, resolution=24, device=device)
    points = cloud(grid, 6000, beyond=1.0)
    low, high = grid.bounds()
    points = points[((points < low) | (points > high)).any(axis=1)]
    distance, gradient = grid.sample(points)
    exact = shape.signed_distance(points)
    assert (distance <= exact + 0.1 * grid.spacing).all()
    assert (distance > 0.5 * exact).all()
    assert (np.linalg.norm(gradient, axis=1) < 1.1).all()
    downhill = shape.signed_distance(points - 1e-3 * gradient)
    assert (downhill < exact).mean() > 0.99


def test_sampling_is_continuous_across_the_border(device: str) -> None:
    grid = SignedDistanceGrid.bake(Sphere(0.5), resolution=16, device=device)
    points = cloud(grid, 500)
    points[:, 1] = grid.bounds()[1][1]
    inside, outside = (grid.sample(points + np.array([0.0, shift, 0.0]))[0] for shift in (-1e-5, 1e-5))
    assert inside == pytest.approx(outside, abs=5e-5)


def test_a_coarse_grid_of_one_cell_works(device: str) -> None:
    grid = SignedDistanceGrid.bake(Box((1.0, 1.0, 1.0)), spacing=5.0, margin=0.0, device=device)
    assert grid.values.shape == (2, 2, 2)
    distance, _ = grid.sample([[0.0, 0.0, 0.0], [9.0, 0.0, 0.0]])
    assert np.isfinite(distance).all()


def test_margin_and_spacing_are_kept(device: str) -> None:
    box = Box((1.0, 0.5, 0.25), center=(1.0, 2.0, 3.0))
    grid = SignedDistanceGrid.bake(box, spacing=0.1, margin=0.3, device=device)
    low, high = grid.bounds()
    assert grid.spacing == 0.1
    assert (low <= box.bounds()[0] - 0.3 + 1e-9).all()
    assert (high >= box.bounds()[1] + 0.3 - 1e-9).all()
    assert (high - low < box.bounds()[1] - box.bounds()[0] + 0.8).all()
    assert 0.5 * (low + high) == pytest.approx(box.center)
    assert SignedDistanceGrid.bake(box, device=device).values.shape == (69, 37, 21)


@wp.kernel(enable_backward=False)
def push_out(grid: SdfGrid, points: wp.array[wp.vec3]):
    i = wp.tid()
    sample = sdf_sample(grid, points[i])
    if sample[3] < 0.0:
        points[i] = points[i] - sample[3] * wp.normalize(wp.vec3(sample[0], sample[1], sample[2]))


def test_a_kernel_elsewhere_can_push_points_out(device: str) -> None:
    sphere = Sphere(0.5)
    grid = SignedDistanceGrid.bake(sphere.surface(96), resolution=48, device=device)
    points = np.random.default_rng(0).normal(size=(500, 3))
    points *= np.random.default_rng(1).uniform(0.3, 0.7, (500, 1)) / np.linalg.norm(points, axis=1, keepdims=True)
    moved = wp.array(points, dtype=wp.vec3, device=device)
    wp.launch(push_out, len(points), inputs=[grid.struct, moved], device=device)
    was_inside = sphere.signed_distance(points) < -0.01
    assert sphere.signed_distance(moved.numpy())[was_inside] == pytest.approx(0.0, abs=3e-3)
    outside = sphere.signed_distance(points) > 0.01
    assert moved.numpy()[outside] == pytest.approx(points[outside], abs=1e-6)


def test_points_that_are_not_numbers_do_not_read_outside_the_array(device: str) -> None:
    grid = SignedDistanceGrid.bake(Sphere(0.5), resolution=4, device=device)
    bad = [[np.nan] * 3, [np.inf, 0.0, 0.0], [-np.inf, np.nan, 1e38], [3e38, -3e38, 0.0]]
    points = wp.array(np.array(bad), dtype=wp.vec3, device=device)
    wp.launch(push_out, len(bad), inputs=[grid.struct, points], device=device)
    wp.synchronize_device(device)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"resolution": 0}, "resolution = 0"),
        ({"resolution": 2.5}, "resolution = 2.5"),
        ({"spacing": 0.0}, "spacing = 0.0"),
        ({"spacing": np.nan}, "spacing = nan"),
        ({"spacing": 0.1, "resolution": 8}, "exclude each other"),
        ({"spacing": 1e-6}, "needs 1000005 x .* nodes, more than"),
        ({"margin": -0.1}, "margin = -0.1"),
        ({"margin": np.inf}, "margin = inf"),
    ],
)
def test_bad_options_are_named(options: dict[str, float], sentence: str) -> None:
    with pytest.raises(InvalidValue, match=sentence):
        SignedDistanceGrid.bake(Box((1.0, 1.0, 1.0)), **options)


def test_an_open_mesh_and_an_absent_device_are_refused() -> None:
    cube = Box((1.0, 1.0, 1.0)).surface()
    with pytest.raises(InvalidMesh, match="not closed"):
        SignedDistanceGrid.bake(TriangleMesh(cube.vertices, cube.triangles[1:]))
    for shape in (cube, Sphere(1.0)):
        with pytest.raises(DeviceUnavailable, match="no device 'cuda:77'"):
            SignedDistanceGrid.bake(shape, resolution=4, device="cuda:77")
