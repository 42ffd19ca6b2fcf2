"""Accelerated corrections: conjugate gradients where forces are linear, and convergence where they are not quite."""

from __future__ import annotations

import numpy as np

from annelid.fem.robots.acceleration import Accelerator

SIZE = 40


def stiffness(seed: int = 0) -> np.ndarray:
    """A stiffness of which an old factor knows all but a few directions: those are up to four times as stiff."""
    generator = np.random.default_rng(seed)
    directions, _ = np.linalg.qr(generator.standard_normal((SIZE, SIZE)))
    return (directions * np.concatenate([[0.2, 0.5, 2.5, 4.0], np.ones(SIZE - 4)])) @ directions.T


def test_a_few_wrong_directions_take_as_many_corrections() -> None:
    matrix, load = stiffness(), np.random.default_rng(1).standard_normal(SIZE)
    place, accelerator = np.zeros(SIZE), Accelerator()
    for _ in range(6):
        rest = load - matrix @ place
        place = place + accelerator.step(rest, rest)  # an old factor that takes the stiffness for a unit matrix
    np.testing.assert_allclose(matrix @ place, load, atol=1e-9)


def test_without_it_they_would_never_end() -> None:
    matrix, load = stiffness(), np.random.default_rng(1).standard_normal(SIZE)
    place = np.zeros(SIZE)
    for _ in range(6):
        place = place + load - matrix @ place
    assert np.abs(load - matrix @ place).max() > 10.0


def test_the_move_before_counts() -> None:
    """A move that was made of forces by the same factor saves a correction."""
    matrix, load = stiffness(), np.random.default_rng(1).standard_normal(SIZE)
    place, accelerator = load.copy(), Accelerator()
    accelerator.begin(load, load)
    for _ in range(5):
        rest = load - matrix @ place
        place = place + accelerator.step(rest, rest)
    np.testing.assert_allclose(matrix @ place, load, atol=1e-9)


def test_forces_that_are_not_linear() -> None:
    matrix, load = stiffness(), 0.3 * np.random.default_rng(1).standard_normal(SIZE)
    place, accelerator = np.zeros(SIZE), Accelerator()
    for _ in range(12):
        rest = load - matrix @ place - 0.1 * place**3
        place = place + accelerator.step(rest, rest)
    assert np.abs(load - matrix @ place - 0.1 * place**3).max() < 1e-6


def test_moves_that_say_the_same_are_no_harm() -> None:
    accelerator = Accelerator()
    for _ in range(3):
        step = accelerator.step(np.ones(SIZE), np.ones(SIZE))  # forces that do not change however one moves
    np.testing.assert_allclose(step, 1.0)
