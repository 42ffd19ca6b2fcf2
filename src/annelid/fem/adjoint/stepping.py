"""What steps a solid, as those see it who run motions and equilibria back, and what these have in common."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
import warp as wp

from annelid.core.adjoint import Plan
from annelid.core.state import overwrite
from annelid.fem.actuation.actuator import Drive
from annelid.fem.actuation.channels import Channels
from annelid.fem.adjoint.inputs import by_law
from annelid.fem.contact.contacts import Contacts
from annelid.fem.dynamics import Inertia
from annelid.fem.model import Model
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


S = TypeVar("S", bound=Standing)


class Track(Generic[S]):
    """One world of a rollout.

    Args:
        solver: What steps it; nobody else uses it meanwhile.
        state: The state it begins in.
        plan: How it is divided.
        wanted: Names of the parameters whose rates are wanted.
        table: Commands of the channels in each step, shape [steps, channels]; None where the state has them.

    Attributes:
        unsettled: Steps whose equation was not solved to the last digit, once all was run.
        positions: Positions at the looks [m], vec3d of shape [looks, n].
        velocities: Velocities at the looks [m/s], vec3d of shape [looks, n].
    """

    def __init__(
        self, solver: S, state: State, plan: Plan, wanted: Mapping[str, Any], table: np.ndarray | None
    ) -> None:
        self.solver, self.unsettled, model = solver, 0, solver.model
        self._state, self._plan, self._wanted, self._table = state, plan, wanted, table
        looks = (len(plan.looks), model.node_count)
        self.positions, self.velocities = (wp.zeros(looks, dtype=wp.vec3d, device=model.device) for _ in range(2))
        self._efforts = np.zeros((plan.steps + 1, len(solver.drives)))
        self._efforts[0] = state.efforts.numpy()
        self._by_law = any(by_law(name) for name in wanted)
        self._prepare()

    def _prepare(self) -> None:
        """Make what is kept of the state it begins in and of its steps."""
        raise NotImplementedError


def command(state: State, values: np.ndarray) -> None:
    """Command the channels of a state from now on, shape [channels]."""
    still = np.zeros_like(values)
    overwrite(state.commands, np.column_stack([values, values, still, still]))
