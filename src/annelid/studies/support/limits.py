"""Limits of the options of studies, which are looked at before anything is computed."""

from __future__ import annotations

import math
from collections.abc import Sequence

from annelid.core.errors import InvalidValue


def require_numbers(study: object, *, above_zero: Sequence[str] = (), from_zero: Sequence[str] = ()) -> None:
    """Refuse options that are out of their range, not finite, or an empty list; one that is None is left out.

    Args:
        study: The study, whose options are its attributes.
        above_zero: Names of those that must be above 0.
        from_zero: Names of those that may be 0 as well.
    """
    for name in (*above_zero, *from_zero):
        value, above = getattr(study, name), name in above_zero
        numbers = value if isinstance(value, tuple) else () if value is None else (value,)
        fit = all(math.isfinite(number) and (number > 0 if above else number >= 0) for number in numbers)
        if not fit or value == ():
            wanted = "finite and above 0" if above else "finite and 0 or more"
            told = " ".join(map(str, numbers)) or "nothing"
            raise InvalidValue(f"--{name.replace('_', '-')} must be {wanted}, not {told}.")
