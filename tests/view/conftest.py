"""Geometry that the tests of `view` share, and a plain NumPy camera to compare with."""

import math
from collections.abc import Callable

import numpy as np
import pytest

from annelid.core.snapshot import Field, Lines, Mesh, Plane, Snapshot, Spheres
from annelid.view.camera.camera import Camera


def camera_rays(camera: Camera, size: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """Origins and directions through the pixel centres, [height, width, 3], with one metre of depth a unit."""
    width, height = size
    right, up, forward = camera.axes()
    half = math.tan(0.5 * camera.fov) if camera.height is None else 0.5 * camera.height
    x = (2.0 * (np.arange(width) + 0.5) / width - 1.0) * half * width / height
    y = (1.0 - 2.0 * (np.arange(height) + 0.5) / height) * half
    aside = x[None, :, None] * right + y[:, None, None] * up
    origin = np.broadcast_to(np.asarray(camera.position, dtype=np.float64), aside.shape)
    if camera.height is None:
        return origin, forward + aside
    return origin + aside, np.broadcast_to(forward, aside.shape)


def random_cameras(count: int, *, seed: int, above: np.ndarray | None = None) -> list[Camera]:
    """Cameras around the origin, half of them orthographic; above the plane through it if its normal is given."""
    rng = np.random.default_rng(seed)
    cameras = []
    for i in range(count):
        position = rng.normal(size=3)
        position *= rng.uniform(2.0, 6.0) / np.linalg.norm(position)
        if above is not None:
            position -= min(0.0, 2.0 * float(position @ above)) * above
            position += 2.5 * above  # an orthographic image plane must not cut the plane itself
        height = float(rng.uniform(1.0, 2.5)) if i % 2 else None
        target, up = rng.uniform(-0.5, 0.5, 3), rng.normal(size=3)
        cameras.append(Camera(tuple(position), tuple(target), tuple(up), float(rng.uniform(0.3, 1.2)), height))
    return cameras


def box_mesh(name: str = "box", *, low: float = -0.5, high: float = 0.5) -> Mesh:
    """A cube of twelve triangles with a field that is the height."""
    corners = np.array([[x, y, z] for x in (low, high) for y in (low, high) for z in (low, high)], dtype=np.float32)
    quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    triangles = np.array([t for a, b, c, d in quads for t in ((a, b, c), (a, c, d))], dtype=np.int32)
    return Mesh(name, corners, triangles, {"height": Field(corners[:, 2].copy(), "m")})


@pytest.fixture
def scene() -> Callable[..., Snapshot]:
    """A function that makes a small scene with one part of every kind, displaced along x."""
    box = box_mesh()
    segments = np.array([[0, 1], [1, 2]], dtype=np.int32)

    def make(shift: float = 0.0, *, time: float = 0.0) -> Snapshot:
        move = np.array([shift, 0.0, 0.0], dtype=np.float32)
        centers = np.array([[1.2, 0.0, 0.0], [1.2, 0.8, -0.2]], dtype=np.float32) + move
        points = np.array([[-1.0, -1.0, -0.4], [-1.2, 0.0, 0.6], [-1.0, 1.0, 0.2]], dtype=np.float32) + move
        return Snapshot(
            time,
            parts=(
                Plane("ground", (0.0, 0.0, -0.5), (0.0, 0.0, 1.0)),
                Mesh("box", box.vertices + move, box.triangles, box.fields),
                Spheres("balls", centers, np.array([0.5, 0.3], dtype=np.float32)),
                Lines("rope", points, segments),
            ),
        )

    return make
