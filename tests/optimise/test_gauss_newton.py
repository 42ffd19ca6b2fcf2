"""Gauss-Newton: known minima, bounds, points that are not finite, and what data leave open."""

import numpy as np
import pytest

from annelid.optimise import GaussNewton, gauss_newton, uncertainty

WIDE = np.full(2, 10.0)


def rosenbrock(at: np.ndarray) -> np.ndarray:
    return np.stack([10.0 * (at[:, 1] - at[:, 0] ** 2), 1.0 - at[:, 0]], axis=1)


@pytest.mark.parametrize("tries", [1, 3])
def test_a_bent_valley_is_followed(tries: int) -> None:
    found = gauss_newton(rosenbrock, np.array([-1.2, 1.0]), -WIDE, WIDE, GaussNewton(iterations=100, tries=tries))
    assert found.converged
    np.testing.assert_allclose(found.at, 1.0, atol=1e-4)
    assert found.costs == sorted(found.costs, reverse=True)


def test_bounds_hold_and_the_rest_is_fitted() -> None:
    def off(at: np.ndarray) -> np.ndarray:
        return np.stack([at[:, 0] - 3.0, at[:, 1] - at[:, 0]], axis=1)

    found = gauss_newton(off, np.zeros(2), -WIDE, np.array([1.0, 10.0]))
    np.testing.assert_allclose(found.at, 1.0, atol=1e-4)


def test_points_that_are_not_finite_count_as_worst() -> None:
    def torn(at: np.ndarray) -> np.ndarray:
        left = rosenbrock(at)
        left[at[:, 0] > 1.05] = np.nan
        return left

    found = gauss_newton(torn, np.array([0.0, 0.0]), -WIDE, WIDE, GaussNewton(iterations=100, radius=2.0))
    np.testing.assert_allclose(found.at, 1.0, atol=1e-3)


def test_deviations_are_those_of_a_line_through_noise() -> None:
    chance, x = np.random.default_rng(0), np.linspace(0.0, 1.0, 50)
    design = np.stack([np.ones(50), x], axis=1)
    exact = 0.1**2 * np.linalg.inv(design.T @ design)
    slopes = []
    for _ in range(60):
        data = design @ [1.0, 2.0] + chance.normal(0.0, 0.1, 50)
        found = gauss_newton(lambda at, data=data: at @ design.T - data, np.zeros(2), -WIDE, WIDE)
        slopes.append(found.at[1])
    known = uncertainty(found.residuals, found.jacobian)
    np.testing.assert_allclose(known.deviations, np.sqrt(np.diag(exact)), rtol=0.3)
    np.testing.assert_allclose(np.std(slopes), np.sqrt(exact[1, 1]), rtol=0.25)


def test_a_direction_that_data_leave_open_is_found() -> None:
    def sums(at: np.ndarray) -> np.ndarray:
        return np.repeat(at.sum(axis=1, keepdims=True) - 1.0, 5, axis=1) + 0.01 * np.array([1, -1, 1, -1, 0])

    found = gauss_newton(sums, np.zeros(2), -WIDE, WIDE)
    known = uncertainty(found.residuals, found.jacobian)
    assert np.isinf(known.sizes[0]) or known.sizes[0] > 1e3 * known.sizes[1]
    np.testing.assert_allclose(abs(known.directions[0] @ np.array([1.0, -1.0])) / np.sqrt(2.0), 1.0, atol=1e-6)
