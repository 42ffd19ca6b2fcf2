"""Central differences that gradients are held against."""

from __future__ import annotations

from collections.abc import Callable

ERROR = 1e-8
"""Relative error of a gradient against differences; differences of equilibria are not better than that."""


def slope(of: Callable[[float], float], value: float, stride: float) -> float:
    """Derivative of fourth order."""
    near, far = (of(value + k * stride) - of(value - k * stride) for k in (1, 2))
    return (8.0 * near - far) / (12.0 * stride)
