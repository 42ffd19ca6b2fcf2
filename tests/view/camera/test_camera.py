"""Cameras: their axes, framing, and what they refuse."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from annelid.core.errors import DeviceUnavailable, InvalidValue
from annelid.core.snapshot import Snapshot, Spheres
from annelid.view.camera.camera import Camera, Film
from annelid.view.camera.framing import corners

coordinate = st.floats(-100.0, 100.0)
extent = st.floats(1e-3, 50.0)


def project(camera: Camera, points: np.ndarray, aspect: float) -> np.ndarray:
    """Image coordinates, -1 to 1 from left to right and from bottom to top, shape [n, 2]."""
    right, up, forward = camera.axes()
    offset = points - np.asarray(camera.position)
    depth = offset @ forward
    assert (depth > 0.0).all()
    half = 0.5 * camera.height if camera.height is not None else math.tan(0.5 * camera.fov) * depth
    return np.stack([offset @ right / (half * aspect), offset @ up / half], axis=1)


@given(
    low=st.tuples(coordinate, coordinate, coordinate),
    size=st.tuples(extent, extent, extent),
    aspect=st.floats(0.4, 3.0),
    orthographic=st.booleans(),
)
def test_framing_sees_the_whole_box(
    low: tuple[float, ...], size: tuple[float, ...], aspect: float, orthographic: bool
) -> None:
    first, last = np.array(low), np.array(low) + size
    camera = Camera.framing((first, last), aspect=aspect, orthographic=orthographic)
    corners = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)]) * size + first
    seen = project(camera, corners, aspect)
    assert np.abs(seen).max() < 0.95
    assert np.abs(seen).max() > 0.6
    middle = 0.5 * (seen.min(axis=0) + seen.max(axis=0))
    assert np.abs(middle).max() < 0.1


def test_framing_leaves_room_for_a_legend() -> None:
    box = np.zeros(3), np.ones(3)
    corners = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)], dtype=float)
    seen = project(Camera.framing(box, aspect=1.0, free_right=0.3), corners, 1.0)
    assert seen[:, 0].max() < 0.45
    assert seen[:, 0].min() > -1.0


def test_framing_a_snapshot_counts_radii() -> None:
    ball = Snapshot(0.0, parts=(Spheres("ball", np.zeros((1, 3)), 2.0),))
    camera = Camera.framing(ball, aspect=1.0)
    distance = float(np.linalg.norm(camera.position))
    assert math.asin(2.0 / distance) < 0.5 * camera.fov
    assert Camera.framing(Snapshot(0.0)).position  # nothing to see is no error


def test_axes_are_right_handed_and_unit() -> None:
    axes = np.stack(Camera((1.0, 2.0, 3.0), (0.0, -1.0, 0.5), (0.2, 0.1, 1.0)).axes())
    np.testing.assert_allclose(axes @ axes.T, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(np.cross(axes[0], axes[1]), -axes[2], atol=1e-12)


def test_moved_keeps_the_direction() -> None:
    camera = Camera((1.0, 2.0, 3.0), (0.0, 0.0, 0.0)).moved((1.0, 1.0, 1.0))
    assert camera.position == (2.0, 3.0, 4.0)
    assert camera.target == (1.0, 1.0, 1.0)


@pytest.mark.parametrize("height", [None, 0.5])
def test_a_camera_that_sees_too_little_is_moved_and_not_turned(height: float | None) -> None:
    camera = Camera((3.0, -4.0, 2.0), (0.0, 0.0, 0.0), height=height)
    points = corners(np.full(3, -2.0), np.full(3, 2.0))
    framed = camera.framed(points, aspect=1.2)
    assert (camera.sees(points, aspect=1.2), framed.sees(points, aspect=1.2)) == (False, True)
    assert np.allclose(framed.axes(), camera.axes())
    assert not camera.sees(np.array([[6.0, -8.0, 4.0]]))  # behind it


def test_bad_cameras_are_refused() -> None:
    with pytest.raises(InvalidValue, match="radians"):
        Camera((1.0, 0.0, 0.0), (0.0, 0.0, 0.0), fov=40.0)
    with pytest.raises(InvalidValue, match="height -1"):
        Camera((1.0, 0.0, 0.0), (0.0, 0.0, 0.0), height=-1.0)
    with pytest.raises(InvalidValue, match="must differ"):
        Camera((1.0, 0.0, 0.0), (1.0, 0.0, 0.0))
    with pytest.raises(InvalidValue, match="must not point along"):
        Camera((0.0, 0.0, 1.0), (0.0, 0.0, 0.0))
    with pytest.raises(InvalidValue, match="finite"):
        Camera((float("nan"), 0.0, 1.0), (0.0, 0.0, 0.0))


def test_bad_films_are_refused() -> None:
    camera = Camera((1.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    for options, match in (
        ({"size": (0, 10)}, "at least 1"),
        ({"samples": 0}, "samples 0"),
        ({"far": 0.0}, "far 0"),
    ):
        with pytest.raises(InvalidValue, match=match):
            Film(camera, device="cpu", **options)
    with pytest.raises(InvalidValue, match="at least one camera"):
        Film([], device="cpu")
    with pytest.raises(InvalidValue, match="cannot be aimed with 2"):
        Film(camera, device="cpu").aim([camera, camera])
    with pytest.raises(DeviceUnavailable):
        Film(camera, device="cuda:99")
