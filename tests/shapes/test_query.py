"""Exact distances of meshes: magnitude, sign and gradient against closed forms, on every device."""

from __future__ import annotations

import numpy as np
import pytest

from annelid.core.errors import DeviceUnavailable, InvalidValue
from annelid.shapes import Box, Capsule, Cylinder, MeshDistance, Shape, Sphere, TriangleMesh
from annelid.shapes.topology import winding_numbers


def cloud(low: np.ndarray, high: np.ndarray, count: int, *, margin: float = 0.4, seed: int = 0) -> np.ndarray:
    extent = margin * (high - low).max()
    return np.random.default_rng(seed).uniform(low - extent, high + extent, (count, 3))


def near(mesh: TriangleMesh, count: int, *, seed: int = 0) -> np.ndarray:
    """Points close to the surface, many of them close to edges and corners."""
    random = np.random.default_rng(seed)
    corners = mesh.vertices[mesh.triangles[random.integers(len(mesh.triangles), size=count)]]
    weights = random.dirichlet((0.3, 0.3, 0.3), count)
    return (weights[:, :, None] * corners).sum(axis=1) + random.normal(size=(count, 3)) * 10.0 ** random.uniform(
        -4, -1, (count, 1)
    )


def assert_same(found: np.ndarray, exact: np.ndarray, *, unsure: float = 5e-5) -> None:
    """Equal to rounding; the sign only where it is not a matter of single precision."""
    assert np.abs(found) == pytest.approx(np.abs(exact), rel=1e-9, abs=1e-12)
    clear = np.abs(exact) > unsure
    assert np.array_equal(found[clear] < 0.0, exact[clear] < 0.0)
    assert (exact[clear] < 0.0).sum() > 200  # there were points inside, so the signs were tested


def test_box_is_exact(device: str) -> None:
    box = Box((1.0, 2.0, 0.5), center=(3.0, -1.0, 0.2))
    points = cloud(*box.bounds(), 5000)
    assert_same(box.surface().signed_distance(points, device=device), box.signed_distance(points))


@pytest.mark.parametrize("shape", [Sphere(1.0), Cylinder(0.5, 2.0, axis="x"), Capsule(0.5, 1.0)])
def test_curved_surfaces_converge(device: str, shape: Shape) -> None:
    points = cloud(*shape.bounds(), 2000)
    exact = shape.signed_distance(points)
    errors = [np.abs(shape.surface(n).signed_distance(points, device=device) - exact).max() for n in (32, 64, 128)]
    assert errors[2] < 1e-3
    assert np.log2(np.divide(errors[:-1], errors[1:])) == pytest.approx([2.0, 2.0], abs=0.2)


@pytest.mark.parametrize("name", ["notched", "plate", "hollow", "hinged"])
def test_sign_and_distance_at_notches_thin_walls_and_cavities(
    name: str, request: pytest.FixtureRequest, device: str
) -> None:
    blocks = request.getfixturevalue(name)
    mesh = blocks.mesh()
    points = np.concatenate([cloud(*mesh.bounds(), 4000), near(mesh, 4000)])
    exact = blocks.signed_distance(points)
    assert_same(mesh.signed_distance(points, device=device), exact)


def test_sign_of_a_torus(device: str, torus) -> None:
    mesh = torus.mesh()
    points = np.concatenate([cloud(*mesh.bounds(), 4000), near(mesh, 4000), [[0.0, 0.0, 0.0]]])
    exact = torus.signed_distance(points)
    found = mesh.signed_distance(points, device=device)
    assert found == pytest.approx(exact, abs=1e-3)
    clear = np.abs(exact) > 1e-3
    assert np.array_equal(found[clear] < 0.0, exact[clear] < 0.0)
    assert found[-1] > 0.4  # the hole


def test_distance_without_a_sign(device: str, torus) -> None:
    mesh = torus.mesh()
    points = np.concatenate([cloud(*mesh.bounds(), 2000), near(mesh, 2000)])
    signed = mesh.signed_distance(points, device=device)
    assert (signed < 0.0).sum() > 200
    assert mesh.query(device).distance(points) == pytest.approx(np.abs(signed), rel=1e-9, abs=1e-12)


def test_sign_agrees_with_winding_numbers_in_double_precision(device: str) -> None:
    """A needle: the hardest case, because its faces are seen at grazing angles."""
    needle = Cylinder(0.001, 1.0, axis=(1.0, 1.0, 0.3)).surface(24)
    points = near(needle, 3000)
    found = needle.signed_distance(points, device=device)
    inside = winding_numbers(needle.vertices, needle.triangles, points) > 0.5
    clear = np.abs(found) > 5e-5
    assert (found[clear] < 0.0).sum() > 20
    assert np.array_equal(found[clear] < 0.0, inside[clear])


def test_overlapping_bodies_are_one(device: str) -> None:
    first, second = Box((1.0, 1.0, 1.0)), Box((1.0, 1.0, 1.0), center=(0.5, 0.4, 0.3))
    one, two = first.surface(), second.surface()
    both = TriangleMesh(
        np.concatenate([one.vertices, two.vertices]), np.concatenate([one.triangles, two.triangles + len(one.vertices)])
    )
    points = cloud(*both.bounds(), 4000)
    exact = np.minimum(first.signed_distance(points), second.signed_distance(points))
    found = both.signed_distance(points, device=device)
    assert np.array_equal(found < 0.0, exact < 0.0)
    assert found[exact > 0.0] == pytest.approx(exact[exact > 0.0])


def finite_difference(mesh: TriangleMesh, points: np.ndarray, step: float, device: str) -> np.ndarray:
    shifts = step * np.eye(3)
    ahead, behind = ([mesh.signed_distance(points + s * shift, device=device) for shift in shifts] for s in (1.0, -1.0))
    return (np.stack(ahead, axis=1) - np.stack(behind, axis=1)) / (2.0 * step)


def test_gradient_is_unit_and_matches_finite_differences(device: str, notched, plate, torus) -> None:
    for mesh in (Box((1.0, 2.0, 0.5)).surface(), notched.mesh(), plate.mesh(), torus.mesh()):
        points = cloud(*mesh.bounds(), 3000)
        distance, gradient = mesh.distance_and_gradient(points, device=device)
        assert np.linalg.norm(gradient, axis=1) == pytest.approx(1.0)
        slope = finite_difference(mesh, points, 1e-6, device)
        smooth = np.abs(np.linalg.norm(slope, axis=1) - 1.0) < 1e-6  # off the medial axis
        smooth &= np.abs(distance) > 1e-4
        assert smooth.mean() > 0.98
        assert np.abs(gradient - slope)[smooth].max() < 1e-3


def test_gradient_leads_to_the_surface(device: str, notched) -> None:
    mesh = notched.mesh()
    points = cloud(*mesh.bounds(), 3000)
    distance, gradient = mesh.distance_and_gradient(points, device=device)
    foot = points - distance[:, None] * gradient
    assert np.abs(notched.signed_distance(foot)).max() < 1e-12


def test_gradient_on_the_surface_is_the_normal(device: str) -> None:
    cube = Box((1.0, 1.0, 1.0)).surface()
    random = np.random.default_rng(0)
    points = random.uniform(-0.4, 0.4, (300, 3))
    axis, side = random.integers(3, size=300), random.choice([-1.0, 1.0], size=300)
    rows = np.arange(300)
    for offset in (0.0, 1e-14, -1e-14, 1e-9, -1e-9, 1e-6, -1e-6):
        points[rows, axis] = side * (0.5 + offset)
        distance, gradient = cube.distance_and_gradient(points, device=device)
        assert np.abs(distance) == pytest.approx(abs(offset), abs=1e-15)
        assert gradient[rows, axis] == pytest.approx(side)


def test_precision_is_relative_to_the_size_and_not_to_the_place(device: str) -> None:
    for size, place in ((1e-6, 0.0), (1e6, 0.0), (1e-3, 100.0)):
        box = Box((size, size, size), center=(place, place, place))
        points = cloud(*box.bounds(), 500)
        found = box.surface().signed_distance(points, device=device)
        assert found == pytest.approx(box.signed_distance(points), rel=1e-6, abs=1e-9 * size)


def test_far_points_are_far(device: str) -> None:
    cube = Box((1.0, 1.0, 1.0)).surface()
    distance, gradient = cube.distance_and_gradient([[1e4, 0.0, 0.0], [0.0, -1e12, 0.0]], device=device)
    assert distance == pytest.approx([1e4, 1e12], rel=1e-4)
    assert gradient == pytest.approx(np.array([[1.0, 0.0, 0.0], [0.0, -1.0, 0.0]]), abs=1e-4)


def test_results_repeat_bit_for_bit(device: str, torus) -> None:
    points = cloud(*torus.mesh().bounds(), 1000)
    first, second = (torus.mesh().distance_and_gradient(points, device=device) for _ in range(2))
    assert np.array_equal(first[0], second[0])
    assert np.array_equal(first[1], second[1])


def test_a_mesh_is_sent_to_a_device_once() -> None:
    cube = Box((1.0, 1.0, 1.0)).surface()
    assert cube.query("cpu") is cube.query("cpu")
    assert isinstance(cube.query(), MeshDistance)


def test_bad_points_and_devices_are_refused() -> None:
    cube = Box((1.0, 1.0, 1.0)).surface()
    with pytest.raises(InvalidValue, match="point 1 is"):
        cube.signed_distance([[0.0, 0.0, 0.0], [0.0, np.nan, 0.0]])
    with pytest.raises(DeviceUnavailable, match="there is no device 'cuda:77' here; there is cpu"):
        cube.signed_distance([[0.0, 0.0, 0.0]], device="cuda:77")
    assert cube.signed_distance(np.empty((0, 3))).shape == (0,)
