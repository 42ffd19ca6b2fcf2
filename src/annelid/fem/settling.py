"""Whether steps of a solid in motion are solved, told to whoever does not look."""

from __future__ import annotations

import warnings

import numpy as np

from annelid.core.events import Event
from annelid.fem.state import State

_ENOUGH = 20  # steps after which a share of them says something
_MANY = 1.0 / 3.0  # of the steps of a world


class StepsUnsettled(UserWarning):
    """Many steps of a motion were not solved to the last digit."""


class Settling:
    """Warns once where many steps of a world are not solved to the last digit.

    It is asked where results are looked at, not in every step.

    Args:
        dt: Time step [s].
    """

    def __init__(self, dt: float) -> None:
        self._dt, self._told = dt, False

    def events(self, state: State) -> list[Event]:
        """Look, and make an event of what was found, once."""
        if self._told:
            return []
        clock = int(state.clock.numpy()[0])
        steps, left = clock - state.begun.numpy(), state.unsettled.numpy()
        shares = np.where(steps >= _ENOUGH, left / np.maximum(steps, 1), 0.0)
        worst = int(shares.argmax())
        if shares[worst] <= _MANY:
            return []
        self._told = True
        where = f" of world {worst}" if len(left) > 1 else ""
        sentence = (
            f"{left[worst]} of {steps[worst]} steps{where} were not solved to the last digit: take a smaller dt, "
            f"such as {0.5 * self._dt:.2g} s, slower commands or, where it touches, softer contacts "
            "(contact=fem.Contact(stiffness=...)); state.unsettled counts them."
        )
        warnings.warn(sentence, StepsUnsettled, stacklevel=3)
        return [Event("unsettled", clock * self._dt, clock, sentence)]
