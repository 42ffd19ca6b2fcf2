"""Gaps of kernels against the distances of shapes, their gradients and curvatures against differences."""

import numpy as np
import pytest
import warp as wp

from annelid.shapes import Box, Capsule, Cylinder, HeightField, Plane, Sphere, Torus
from annelid.shapes.kernels import gaps
from annelid.shapes.mesh import Shape

wp.set_module_options({"enable_backward": False})

SIZE = np.array([0.5, 0.3, 0.4])
in_grid, over_heights = gaps.grid_gap(True), gaps.heights_gap(True)


@wp.kernel
def find_gaps(
    kind: int,
    size: wp.vec3d,
    values: wp.array[wp.float32],
    nodes: wp.vec3i,
    origin: wp.vec3d,
    spacing: wp.vec3d,
    points: wp.array[wp.vec3d],
    gap_out: wp.array[wp.float64],
    gradient_out: wp.array[wp.vec3d],
    bend_out: wp.array[wp.mat33d],
):
    i = wp.tid()
    x = points[i]
    gap, gradient, curvature, straight = gaps.plane_gap(size, x)
    if kind == wp.static(gaps.SPHERE):
        gap, gradient, curvature, straight = gaps.sphere_gap(size, x)
    if kind == wp.static(gaps.BOX):
        gap, gradient, curvature, straight = gaps.box_gap(size, x)
    if kind == wp.static(gaps.CYLINDER):
        gap, gradient, curvature, straight = gaps.cylinder_gap(size, x)
    if kind == wp.static(gaps.CAPSULE):
        gap, gradient, curvature, straight = gaps.capsule_gap(size, x)
    if kind == wp.static(gaps.TORUS):
        gap, gradient, curvature, straight = gaps.torus_gap(size, x)
    if kind == wp.static(gaps.GRID):
        gap, gradient, curvature, straight = in_grid(values, 0, nodes, origin, spacing[0], x)
    if kind == wp.static(gaps.HEIGHTS):
        gap, gradient, curvature, straight = over_heights(values, 0, nodes, origin, spacing, x)
    gap_out[i] = gap
    gradient_out[i] = gradient
    whole = wp.identity(3, dtype=wp.float64) - wp.outer(gradient, gradient) - wp.outer(straight, straight)
    bend_out[i] = curvature * whole


@wp.kernel
def find_box_gaps(size: wp.vec3, points: wp.array[wp.vec3], gap_out: wp.array[wp.float32]):
    i = wp.tid()
    gap, _gradient, _curvature, _straight = gaps.box_gap(size, points[i])
    gap_out[i] = gap


class Gaps:
    """Gaps of a shape at points."""

    def __init__(self, kind: int, size: object = SIZE, values: object = (), grid: object = ((0, 0, 0), SIZE, SIZE)):
        nodes, origin, spacing = grid
        data = wp.array(np.ravel(values), dtype=wp.float32, device="cpu")
        self.inputs = [kind, wp.vec3d(*size), data, wp.vec3i(*nodes), wp.vec3d(*origin), wp.vec3d(*spacing)]

    def __call__(self, points: np.ndarray) -> tuple[np.ndarray, ...]:
        out = [wp.zeros(len(points), dtype=kind, device="cpu") for kind in (wp.float64, wp.vec3d, wp.mat33d)]
        given = wp.array(points, dtype=wp.vec3d, device="cpu")
        wp.launch(find_gaps, len(points), [*self.inputs, given], out, device="cpu")
        return tuple(each.numpy() for each in out)


def points_around(count: int = 400) -> np.ndarray:
    return np.random.default_rng(3).uniform(-0.9, 0.9, (count, 3))


def slopes(found: Gaps, points: np.ndarray, step: float = 1e-6) -> tuple[np.ndarray, np.ndarray]:
    """Gradient and second derivatives by differences."""
    sides = [(found(points + step * axis), found(points - step * axis)) for axis in np.eye(3)]
    first = np.stack([(more[0] - less[0]) / (2 * step) for more, less in sides], axis=1)
    second = np.stack([(more[1] - less[1]) / (2 * step) for more, less in sides], axis=2)
    return first, second


@pytest.mark.parametrize(
    ("kind", "size", "shape"),
    [
        (gaps.SPHERE, (0.4, 0.0, 0.0), Sphere(0.4)),
        (gaps.BOX, SIZE, Box(tuple(2 * SIZE))),
        (gaps.CYLINDER, (0.3, 0.4, 0.0), Cylinder(0.3, 0.8)),
        (gaps.CAPSULE, (0.3, 0.4, 0.0), Capsule(0.3, 0.8)),
        (gaps.TORUS, (0.4, 0.15, 0.0), Torus(0.4, 0.15)),
    ],
)
def test_gaps_of_primitives_are_their_distances_and_curve_as_they_do(kind: int, size: object, shape: Shape) -> None:
    found, points = Gaps(kind, size), points_around()
    gap, gradient, bend = found(points)
    np.testing.assert_allclose(gap, shape.signed_distance(points), atol=1e-12)
    first, second = slopes(found, points)
    np.testing.assert_allclose(gradient, first, atol=1e-6)
    outside = gap > 1e-3
    np.testing.assert_allclose(bend[outside], second[outside], atol=1e-4 * np.abs(bend).max())


def test_gap_of_a_plane() -> None:
    normal, points = np.array([0.6, 0.0, 0.8]), points_around(10)
    gap, gradient, bend = Gaps(gaps.PLANE, normal)(points)
    assert Plane(normal=(0.6, 0.0, 0.8)).normal == pytest.approx(tuple(normal))
    np.testing.assert_allclose(gap, points @ normal)
    np.testing.assert_array_equal(gradient, np.broadcast_to(normal, (10, 3)))
    assert not bend.any()


def test_gap_in_a_grid_is_smooth_and_near_the_distance() -> None:
    shape, spacing, nodes = Sphere(0.4), 0.05, (25, 25, 25)
    origin = np.full(3, -0.6)
    places = np.stack(np.meshgrid(*[origin[0] + spacing * np.arange(25)] * 3, indexing="ij"), axis=-1)
    values = shape.signed_distance(places.reshape(-1, 3))
    found, points = Gaps(gaps.GRID, values=values, grid=(nodes, origin, (spacing,) * 3)), points_around()
    gap, gradient, _ = found(points)
    near = np.abs(shape.signed_distance(points)) < 0.1
    np.testing.assert_allclose(gap[near], shape.signed_distance(points)[near], atol=0.1 * spacing)
    inner = np.abs(points).max(axis=1) < 0.55
    first, _ = slopes(found, points)
    np.testing.assert_allclose(gradient[inner], first[inner], atol=1e-5)
    outer = np.abs(points).max(axis=1) > 0.65
    np.testing.assert_allclose(gradient[outer], first[outer], atol=1e-5)
    assert (gap[outer] <= shape.signed_distance(points)[outer] + 1e-6).all()


def test_gap_above_heights_is_smooth_and_goes_on_flat_beyond_the_rim() -> None:
    rng = np.random.default_rng(4)
    field = HeightField(0.05 * rng.normal(size=(9, 7)), (0.2, 0.25))
    cosine = 0.7
    origin = (*field.begin, cosine)
    found = Gaps(gaps.HEIGHTS, values=field.heights, grid=((9, 7, 1), origin, (0.2, 0.25, 1.0)))
    points = points_around() * np.array([1.3, 1.3, 1.0])
    _, gradient, _ = found(points)
    np.testing.assert_allclose(gradient, slopes(found, points)[0], atol=1e-6)
    far = np.array([[9.0, 9.0, 1.0]])
    assert found(far)[0][0] == pytest.approx(cosine * (1.0 - field.heights[-1, -1]), rel=1e-6)


def test_gaps_in_single_precision() -> None:
    points = points_around(50)
    out = wp.zeros(50, dtype=wp.float32, device="cpu")
    inputs = [wp.vec3(*SIZE), wp.array(points, dtype=wp.vec3, device="cpu")]
    wp.launch(find_box_gaps, 50, inputs, [out], device="cpu")
    np.testing.assert_allclose(out.numpy(), Box(tuple(2 * SIZE)).signed_distance(points), atol=1e-6)
