"""Limits of friction that must follow from themselves: those that go to and fro, or creep, are led to their end."""

import numpy as np

from annelid.fem.contact.limits import Limits


def followed(limits: np.ndarray) -> np.ndarray:
    """Limits that overshoot by 95 %, or creep by a fifth of the way, towards 1, 2, 3."""
    return np.array([1.0, 2.0, 3.0]) + np.array([-0.95, 0.8, 0.1]) * (limits - [1.0, 2.0, 3.0])


def test_limits_are_led_to_where_they_end() -> None:
    leading, limits, plain = Limits(), np.zeros(3), np.zeros(3)
    for _ in range(8):
        limits, plain = leading.better(limits, followed(limits)), followed(plain)
    assert np.abs(limits - [1.0, 2.0, 3.0]).max() < 1e-3
    assert np.abs(plain - [1.0, 2.0, 3.0]).max() > 0.3


def test_limits_are_never_negative_and_other_pairs_begin_anew() -> None:
    leading = Limits()
    assert (leading.better(np.array([1.0, 1.0]), np.array([-5.0, 1.0])) == [0.0, 1.0]).all()
    np.testing.assert_allclose(leading.better(np.zeros(3), np.full(3, 2.0)), 1.0)
