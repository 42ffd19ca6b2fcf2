"""Depth images against plain NumPy: spheres, planes, meshes, capsules; perspective and orthographic."""

import numpy as np
import pytest

from annelid.core.snapshot import Lines, Mesh, Plane, Snapshot, Spheres
from annelid.view.camera.camera import Camera, Film
from annelid.view.camera.light import Light
from annelid.view.camera.stage import Stage

from ..conftest import box_mesh, camera_rays, random_cameras

SIZE = (64, 48)
TOLERANCE = 1e-4


def cast(snapshot: Snapshot, cameras: list[Camera], device: str, far: float = np.inf) -> np.ndarray:
    film = Film(cameras, size=SIZE, far=far, device=device)
    return film.cast_depth(Stage(snapshot, device=device)).numpy()


def compare(depth: np.ndarray, reference: np.ndarray, unsure: np.ndarray) -> None:
    """Within the tolerance wherever rounding cannot decide between a hit and a miss."""
    sure = ~unsure
    np.testing.assert_array_equal(np.isfinite(depth)[sure], np.isfinite(reference)[sure])
    both = np.isfinite(reference) & np.isfinite(depth)
    assert both.sum() > 1000
    np.testing.assert_allclose(depth[both], reference[both], rtol=TOLERANCE)
    assert unsure.mean() < 1e-3


def test_sphere_for_100_poses(device: str) -> None:
    center, radius = np.array([0.2, -0.1, 0.3]), 0.7
    cameras = random_cameras(100, seed=1)
    part = Spheres("ball", center[None], radius)
    depth = cast(Snapshot(0.0, parts=(part,)), cameras, device)
    origin, direction = (np.stack(rays) for rays in zip(*(camera_rays(c, SIZE) for c in cameras), strict=True))
    square = (direction**2).sum(-1)
    middle = ((center - origin) * direction).sum(-1) / square
    rest = radius**2 - ((origin + middle[..., None] * direction - center) ** 2).sum(-1)
    reference = np.where(rest >= 0.0, middle - np.sqrt(np.maximum(rest, 0.0) / square), np.inf)
    compare(depth, reference, np.abs(rest) < 1e-5 * radius**2)


@pytest.mark.parametrize("as_mesh", [False, True])
def test_tilted_plane_for_100_poses(device: str, as_mesh: bool) -> None:
    normal = np.array([0.3, -0.2, 0.9])
    normal /= np.linalg.norm(normal)
    cameras = random_cameras(100, seed=2, above=normal)
    far = 50.0
    part: Plane | Mesh = Plane("tilted", (0.0, 0.0, 0.0), tuple(normal))
    if as_mesh:
        side = np.cross(normal, [0.0, 1.0, 0.0])
        side /= np.linalg.norm(side)
        corners = 500.0 * np.array([side, np.cross(normal, side), -side, -np.cross(normal, side)])
        part = Mesh("tilted", corners.astype(np.float32), np.array([[0, 1, 2], [0, 2, 3]], dtype=np.int32))
        normal = np.cross(*np.diff(part.vertices[:3].astype(np.float64), axis=0))
        normal /= np.linalg.norm(normal)
    depth = cast(Snapshot(0.0, parts=(part,)), cameras, device, far)
    origin, direction = (np.stack(rays) for rays in zip(*(camera_rays(c, SIZE) for c in cameras), strict=True))
    with np.errstate(divide="ignore"):
        t = -(origin @ normal) / (direction @ normal)
    reference = np.where((t > 0.0) & (t < far), t, np.inf)
    depth = np.where(depth < far, depth, np.inf)
    compare(depth, reference, np.abs(t - far) < 1e-3 * far)


def test_capsule_against_sphere_tracing(device: str) -> None:
    start, end, radius = np.array([-0.6, 0.1, -0.2]), np.array([0.5, 0.4, 0.3]), 0.15
    cameras = random_cameras(20, seed=3)
    rope = Lines("rope", np.stack([start, end]), np.array([[0, 1]], dtype=np.int32))
    film = Film(cameras, size=SIZE, device=device)
    depth = film.cast_depth(Stage(Snapshot(0.0, parts=(rope,)), line_radius=radius, device=device)).numpy()
    origin, direction = (np.stack(rays) for rays in zip(*(camera_rays(c, SIZE) for c in cameras), strict=True))
    speed, axis = np.linalg.norm(direction, axis=-1), end - start
    t, gap = np.zeros_like(speed), np.ones_like(speed)
    for _ in range(300):
        offset = origin + t[..., None] * direction - start
        along = np.clip(offset @ axis / (axis @ axis), 0.0, 1.0)
        gap = np.linalg.norm(offset - along[..., None] * axis, axis=-1) - radius
        t = np.minimum(t + gap / speed, 100.0)
    reference = np.where(gap < 1e-7, t, np.inf)
    grazing = (gap > -1e-3) & (gap >= 1e-7) & (gap < 1e-3)
    both = np.isfinite(depth) & np.isfinite(reference)
    assert both.sum() > 1000
    assert (np.isfinite(depth) != np.isfinite(reference))[~grazing].sum() == 0
    np.testing.assert_allclose(depth[both], reference[both], rtol=TOLERANCE)


def test_depth_is_along_the_axis_not_along_the_ray(device: str) -> None:
    """A wall square to the view has one depth everywhere, however wide the lens."""
    camera = Camera((0.0, -3.0, 0.0), (0.0, 0.0, 0.0), fov=1.4)
    wall = Plane("wall", (0.0, 1.0, 0.0), (0.0, -1.0, 0.0))
    np.testing.assert_allclose(cast(Snapshot(0.0, parts=(wall,)), [camera], device), 4.0, rtol=1e-6)


def test_nothing_is_far(device: str) -> None:
    camera = Camera((0.0, -3.0, 0.0), (0.0, 0.0, 0.0))
    empty = Snapshot(0.0)
    assert np.isposinf(cast(empty, [camera], device)).all()
    assert (cast(empty, [camera], device, far=7.5) == 7.5).all()
    beyond = Snapshot(0.0, parts=(Plane("wall", (0.0, 10.0, 0.0), (0.0, -1.0, 0.0)),))
    assert (cast(beyond, [camera], device, far=7.5) == 7.5).all()


def test_planes_are_seen_from_their_free_side_only(device: str) -> None:
    wall = Snapshot(0.0, parts=(Plane("wall", (0.0, 0.0, 0.0), (0.0, -1.0, 0.0)),))
    front, back = Camera((0.0, -3.0, 0.0), (0.0, 0.0, 0.0)), Camera((0.0, 3.0, 0.0), (0.0, 0.0, 0.0))
    depth = cast(wall, [front, back], device)
    assert np.isfinite(depth[0]).all()
    assert np.isposinf(depth[1]).all()


def test_axis_aligned_rays_meet_flat_boxes(device: str) -> None:
    """Orthographic rays along an axis have zero components, which slab tests dislike."""
    camera = Camera((0.0, -3.0, 0.0), (0.0, 0.0, 0.0), height=1.5)
    ball = Spheres("ball", np.array([[0.0, 0.0, 0.0]]), 0.5)
    for part, nearest in ((box_mesh(), 2.5), (ball, 2.5)):
        depth = cast(Snapshot(0.0, parts=(part,)), [camera], device)[0]
        assert depth.min() == pytest.approx(nearest, abs=2e-3)
        inside = np.isfinite(depth).mean()
        expected = (1.0 if isinstance(part, Mesh) else np.pi / 4) / (1.5 * 2.0)
        assert inside == pytest.approx(expected, rel=0.05)


def test_the_nearest_part_wins(device: str) -> None:
    camera = Camera((0.0, -5.0, 0.0), (0.0, 0.0, 0.0))
    ball = Spheres("ball", np.array([[0.0, -1.0, 0.0]]), 0.25)
    wall = Plane("wall", (0.0, 2.0, 0.0), (0.0, -1.0, 0.0))
    depth = cast(Snapshot(0.0, parts=(wall, box_mesh(), ball)), [camera], device)[0]
    row, column = SIZE[1] // 2, SIZE[0] // 2
    assert depth[row, column] == pytest.approx(3.75, abs=0.01)  # ball
    assert depth[row, column + 7] == pytest.approx(4.5, abs=1e-4)  # box
    assert depth[0, 0] == pytest.approx(7.0, abs=1e-4)  # wall


def test_many_cameras_in_one_launch_see_what_each_sees_alone(device: str) -> None:
    snapshot = Snapshot(0.0, parts=(box_mesh(), Spheres("ball", np.array([[0.9, 0.0, 0.0]]), 0.3)))
    cameras = random_cameras(6, seed=4)
    together = cast(snapshot, cameras, device)
    for camera, depth in zip(cameras, together, strict=True):
        np.testing.assert_array_equal(cast(snapshot, [camera], device)[0], depth)


@pytest.mark.parametrize("size", [(64, 48), (37, 23)])
def test_threads_do_not_change_the_image(size: tuple[int, int]) -> None:
    snapshot = Snapshot(0.0, parts=(box_mesh(), Plane("ground", (0.0, 0.0, -0.5), (0.0, 0.0, 1.0))))
    stage = Stage(snapshot, device="cpu")
    camera, light = Camera.framing(snapshot), Light(shadow_rays=8)
    films = [Film(camera, size=size, samples=4, light=light, device="cpu", threads=threads) for threads in (1, 2, 3)]
    colors = [film.render(stage).numpy() for film in films]
    for film, color in zip(films[1:], colors[1:], strict=True):
        np.testing.assert_array_equal(color, colors[0])
        np.testing.assert_array_equal(film.depth.numpy(), films[0].depth.numpy())
