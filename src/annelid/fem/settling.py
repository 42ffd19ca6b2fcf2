"""Whether steps of a solid in motion are solved, told to whoever does not look."""

from __future__ import annotations

import warnings

import numpy as np

from annelid.core.events import Event
from annelid.fem.state import State

ROUGH = 2e-3
"""Of the size of a solid: a step of one solve after which another would move a node farther is not settled."""
_ENOUGH = 20  # steps after which a share of them says something
_MANY = 1.0 / 3.0  # of the steps of a world


class StepsUnsettled(UserWarning):
    """Many steps of a motion were not solved to the last digit."""


class Settling:
    """Warns once where many steps of a world are not solved to the last digit.

    It is asked where results are looked at, not in every step.

    Args:
        dt: Time step [s].
        one_solve: Whether a step is one linear solve.
    """

    def __init__(self, dt: float, *, one_solve: bool = False) -> None:
        self._dt, self._one_solve, self._told = dt, one_solve, False

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
        sentence = f"{left[worst]} of {steps[worst]} steps{where} {self._why()}; state.unsettled counts them."
        warnings.warn(sentence, StepsUnsettled, stacklevel=3)
        return [Event("unsettled", clock * self._dt, clock, sentence)]

    def _why(self) -> str:
        """What is wrong with such steps, and the remedy."""
        shorter = f"take a smaller dt, such as {0.5 * self._dt:.2g} s, slower commands or"
        if self._one_solve:
            return (
                f"were too fast for one solve, which is wrong by more than {ROUGH:g} of the size of the solid there "
                f"(state.solve.error): {shorter} integrator='backward-euler'"
            )
        return (
            f"were not solved to the last digit: {shorter}, where it touches, softer contacts "
            "(contact=fem.Contact(stiffness=...))"
        )
