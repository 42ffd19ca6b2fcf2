"""The state of a random generator as plain values, so that a search can be put aside and taken up again."""

from __future__ import annotations

from typing import Any

import numpy as np

from annelid.core.errors import FileFormatError


def chance(seed: int) -> np.random.Generator:
    """The generator of a repetition."""
    return np.random.Generator(np.random.PCG64(seed))


def chance_state(rng: np.random.Generator) -> dict[str, Any]:
    """Where a generator stands, in values that JSON can hold."""
    state: dict[str, Any] = dict(rng.bit_generator.state)
    return state


def set_chance(rng: np.random.Generator, state: dict[str, Any]) -> None:
    """Put a generator where another stood."""
    try:
        rng.bit_generator.state = state
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise FileFormatError(f"the state of the random generator cannot be read: {error}.") from None
