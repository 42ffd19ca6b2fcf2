"""Accelerated corrections: conjugate gradients where forces are linear, and convergence where they are not quite."""

from __future__ import annotations

import numpy as np
import warp as wp

from annelid.fem.robots.acceleration import Accelerator

SIZE = 42


class Accelerated:
    """An accelerator of flat vectors, of three numbers a node.

    Args:
        device: Where they are.
    """

    def __init__(self, device: str) -> None:
        self.device = wp.get_device(device)
        self.accelerator = Accelerator(SIZE // 3, self.device)

    def begin(self, forces: np.ndarray, move: np.ndarray) -> None:
        """Know a move that was made of forces."""
        one = wp.ones(1, dtype=wp.float64, device=self.device)
        self.accelerator.begin_with(one, self._vectors(forces).reshape((-1, 1)), self._vectors(move))

    def step(self, forces: np.ndarray, solved: np.ndarray) -> np.ndarray:
        """How far to move."""
        step = self._vectors(solved)
        self.accelerator.improve(self._vectors(forces), step)
        return np.array(step.numpy()).ravel()

    def _vectors(self, values: np.ndarray) -> wp.array[wp.vec3d]:
        return wp.array(values.reshape(-1, 3), dtype=wp.vec3d, device=self.device)


def stiffness(seed: int = 0) -> np.ndarray:
    """A stiffness of which an old factor knows all but a few directions: those are up to four times as stiff."""
    generator = np.random.default_rng(seed)
    directions, _ = np.linalg.qr(generator.standard_normal((SIZE, SIZE)))
    return (directions * np.concatenate([[0.2, 0.5, 2.5, 4.0], np.ones(SIZE - 4)])) @ directions.T


def test_a_few_wrong_directions_take_as_many_corrections(device: str) -> None:
    matrix, load = stiffness(), np.random.default_rng(1).standard_normal(SIZE)
    place, accelerator = np.zeros(SIZE), Accelerated(device)
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


def test_the_move_before_counts(device: str) -> None:
    """A move that was made of forces by the same factor saves a correction."""
    matrix, load = stiffness(), np.random.default_rng(1).standard_normal(SIZE)
    place, accelerator = load.copy(), Accelerated(device)
    accelerator.begin(load, load)
    for _ in range(5):
        rest = load - matrix @ place
        place = place + accelerator.step(rest, rest)
    np.testing.assert_allclose(matrix @ place, load, atol=1e-9)


def test_forces_that_are_not_linear(device: str) -> None:
    matrix, load = stiffness(), 0.3 * np.random.default_rng(1).standard_normal(SIZE)
    place, accelerator = np.zeros(SIZE), Accelerated(device)
    for _ in range(12):
        rest = load - matrix @ place - 0.1 * place**3
        place = place + accelerator.step(rest, rest)
    assert np.abs(load - matrix @ place - 0.1 * place**3).max() < 1e-6


def test_moves_that_say_the_same_are_no_harm(device: str) -> None:
    accelerator = Accelerated(device)
    for _ in range(3):
        step = accelerator.step(np.ones(SIZE), np.ones(SIZE))  # forces that do not change however one moves
    np.testing.assert_allclose(step, 1.0)
