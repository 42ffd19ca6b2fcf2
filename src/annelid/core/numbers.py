"""What counts as a number where one is asked for."""

import math
from numbers import Real
from typing import Any, TypeGuard


def is_number(value: Any) -> TypeGuard[float]:
    """Whether a value is a finite real number; truth values are none."""
    if not isinstance(value, Real) or isinstance(value, bool):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number beyond all others
        return False
