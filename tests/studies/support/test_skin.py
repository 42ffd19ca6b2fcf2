"""A skin follows affine motions exactly, and masses where it lies on them."""

from __future__ import annotations

import numpy as np
import pytest

from annelid.core.errors import InvalidValue
from annelid.shapes import Sphere
from annelid.springs.body import Body
from annelid.springs.build import sphere
from annelid.studies.support.skin import Skin


@pytest.fixture
def ball() -> Body:
    return sphere(0.1, 0.02, "tpu")


def test_rest_stays(ball: Body) -> None:
    points = Sphere(0.1).surface().vertices
    np.testing.assert_allclose(Skin(ball, points).deformed(ball.positions), points, atol=1e-9)


def test_affine_motion_is_exact(ball: Body) -> None:
    points = Sphere(0.1).surface().vertices
    turn = np.array([[1.1, 0.2, 0.0], [-0.3, 0.9, 0.1], [0.0, 0.4, 1.2]])
    moved = ball.positions @ turn.T + [1.0, -2.0, 0.5]
    np.testing.assert_allclose(Skin(ball, points).deformed(moved), points @ turn.T + [1.0, -2.0, 0.5], atol=1e-7)


def test_smooth_motion_is_close(ball: Body) -> None:
    points = Sphere(0.09).surface().vertices

    def bent(p: np.ndarray) -> np.ndarray:
        return np.column_stack([p[:, 0], p[:, 1], p[:, 2] + 2.0 * p[:, 0] ** 2])

    error = Skin(ball, points).deformed(bent(ball.positions)) - bent(points)
    assert np.abs(error).max() < 2.0 * 0.02**2


def test_too_few_masses() -> None:
    body = Body([[0.0, 0, 0], [1.0, 0, 0]], 1.0, [[0, 1]], 1.0, 1.0)
    with pytest.raises(InvalidValue, match="at least 4"):
        Skin(body, np.zeros((1, 3)))
