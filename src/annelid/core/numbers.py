"""What counts as a number where one is asked for."""

import math
from numbers import Real
from typing import Any, TypeGuard


def is_number(value: Any) -> TypeGuard[float]:
    """Whether a value is a finite real number; truth values are none."""
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
