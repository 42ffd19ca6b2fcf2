"""What counts as a number where one is asked for."""

import math
from numbers import Integral, Real
from typing import Any, TypeGuard


def is_whole(value: Any, least: int) -> TypeGuard[int]:
    """Whether a value is a whole number of so much or more; truth values and fractions such as 2.0 are none."""
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= least


MOST_COUNTED = 10**18
"""No machine counts farther; arrays and clocks of 64 bits hold it with room to spare."""


def is_count(value: Any, least: int) -> TypeGuard[int]:
    """Whether a value is a whole number of so much or more that something can be counted to, unlike a seed."""
    return is_whole(value, least) and int(value) <= MOST_COUNTED


def is_number(value: Any) -> TypeGuard[float]:
    """Whether a value is a finite real number; truth values are none."""
    if not isinstance(value, Real) or isinstance(value, bool):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number beyond all others
        return False
