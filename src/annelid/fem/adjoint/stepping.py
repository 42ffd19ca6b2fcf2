"""What steps a solid, as those see it who run motions and equilibria back."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from annelid.core.state import overwrite
from annelid.fem.contact.contacts import Contacts
from annelid.fem.dynamics import Inertia
from annelid.fem.model import Model
from annelid.fem.robots.channels import Channels
from annelid.fem.robots.drives import Drive
from annelid.fem.solid import Solid
from annelid.fem.state import State
from annelid.fem.world import World


class Standing(Protocol):
    """A solver that goes from equilibrium to equilibrium of one solid by itself.

    Attributes:
        model: The model.
        drives: Actuators that act on it.
        dt: Time step [s].
        channels: Channels that command them.
        contacts: What it touches, if anything.
    """

    model: Model
    drives: tuple[Drive, ...]
    dt: float
    channels: Channels
    contacts: Contacts | None

    @property
    def worlds(self) -> int:
        """Number of worlds side by side."""
        ...

    def fraction(self, step: float) -> float:
        """Part of the loads that acts after so many steps."""
        ...

    def advance(self, state: State, steps: int) -> None:
        """Take steps."""
        ...

    def diverged_at(self) -> int | None:
        """The step after which positions were no longer finite, None while all are."""
        ...

    def world(self, state: State, world: int) -> State:
        """One of the worlds as a state of its own, to be read; the next call overwrites it."""
        ...

    def twin(self, solid: Solid, world: World) -> Standing:
        """A solver like it, for one solid of the same mesh in another world."""
        ...


class Stepping(Standing, Protocol):
    """A solver of backward Euler for one solid by itself.

    Attributes:
        inertia: Its inertia.
    """

    inertia: Inertia


def command(state: State, values: np.ndarray) -> None:
    """Command the channels of a state from now on, shape [channels]."""
    still = np.zeros_like(values)
    overwrite(state.commands, np.column_stack([values, values, still, still]))
