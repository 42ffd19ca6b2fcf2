"""Paths of targets."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from annelid import fem
from annelid.core.errors import InvalidValue

POINTS = [[0.0, 0.0, 0.0], [0.3, 0.0, 0.4], [0.3, 0.0, 0.0]]


def test_a_path_goes_straight_at_a_steady_speed() -> None:
    path = fem.Path.at_speed(POINTS, 0.1)
    assert path.duration == pytest.approx(9.0)
    np.testing.assert_allclose(path.at(2.5), [0.15, 0.0, 0.2])
    np.testing.assert_allclose(path.at(-1.0), POINTS[0])
    np.testing.assert_allclose(path.at(99.0), POINTS[-1])


@given(st.floats(1e-3, 2.0))
def test_steps_are_never_longer_than_asked_for_and_pass_the_corners(length: float) -> None:
    steps = np.array([POINTS[0], *fem.Path.at_speed(POINTS, 1.0).steps(length)])
    assert np.linalg.norm(np.diff(steps, axis=0), axis=1).max() <= length * (1 + 1e-6)
    for corner in POINTS:
        assert np.abs(steps - corner).max(axis=1).min() < 1e-12


def test_bad_paths_are_refused() -> None:
    with pytest.raises(InvalidValue, match="times that rise"):
        fem.Path(np.array(POINTS), np.array([0.0, 1.0, 1.0]))
    with pytest.raises(InvalidValue, match="finite numbers"):
        fem.Path(np.array([[0.0, np.nan, 0.0]]), np.array([0.0]))
    with pytest.raises(InvalidValue, match="speed"):
        fem.Path.at_speed(POINTS, 0.0)
    for length in (-1.0, "short"):
        with pytest.raises(InvalidValue, match="length"):
            list(fem.Path.at_speed(POINTS, 1.0).steps(length))
    for points in ([], 3, "ab", [[0.0, 1.0]]):
        with pytest.raises(InvalidValue, match=r"the points of a path must be finite numbers of shape \[p, 3\]"):
            fem.Path.at_speed(points, 1.0)
