"""Stepping many worlds of a solid in motion together."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import warp as wp

from annelid.core.events import Event
from annelid.core.identity import identity
from annelid.core.replay import Graphs
from annelid.core.state import state_arrays
from annelid.core.variation import Parameter
from annelid.fem.actuation.actuator import Drive
from annelid.fem.batch.settings import Together
from annelid.fem.batch.steps import Steps
from annelid.fem.contact.contacts import Contacts
from annelid.fem.contact.leading import Leading
from annelid.fem.dynamic_solver import DynamicSolver
from annelid.fem.dynamics import Inertia
from annelid.fem.model import Model
from annelid.fem.newton import Settings
from annelid.fem.parameters import AMONG_SIZED_BODIES, IN_MOTION, TOUCHING
from annelid.fem.solver import Solver
from annelid.fem.state import State

_GRAPHS = 8  # graphs that are kept, of as many states and numbers of steps
_LONGEST = 16  # steps of a graph; more are replays of it


class BatchedSolver(DynamicSolver):
    """Advances many worlds of a solid in motion together, by backward Euler in single precision.

    Positions and velocities are kept in double precision between steps.

    Args:
        model: The model, with `inertia` among its extras.
        inertia: The inertia of its nodes.
        together: How.
        drives: Actuators whose efforts are commanded; their element sets are among the extras of the model.
        contacts: What worlds touch, if there are obstacles.
        worlds: Number of worlds.
        settings: How `DynamicSolver` would solve a step of one of them.
    """

    def __init__(
        self,
        model: Model,
        inertia: Inertia,
        *,
        together: Together,
        drives: Sequence[Drive] = (),
        contacts: Contacts | None = None,
        worlds: int = 1,
        settings: Settings | None = None,
    ) -> None:
        super().__init__(model, inertia, settings=settings, drives=drives, worlds=worlds, contacts=contacts)
        self._steps = Steps(model, inertia, self.drives, self.channels, contacts, worlds, together)
        self._together = identity(together)
        self._lost_last = 0
        self.batch = 1 if self.device.is_cpu else _LONGEST
        self._graphs = Graphs(self.device, kept=_GRAPHS)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """What can differ from world to world."""
        if self.contacts is None:
            return IN_MOTION
        return AMONG_SIZED_BODIES if self.contacts.bodies else TOUCHING

    @property
    def troubles(self) -> wp.array[Any]:
        """First step of each world whose result was not finite, -1 while all are, int64 of shape [worlds]."""
        return self._steps.lost

    def advance(self, state: State, steps: int) -> None:
        """Take steps, on CUDA without waiting for them."""
        self._steps.refresh()
        if self.device.is_cpu:
            self._launch(state, steps)
            return
        key = *(array.ptr for array in state_arrays(state).values()), self.model.gravity.tobytes()
        while steps > 0:
            some = min(steps, _LONGEST)
            self._graphs.run((some, *key), partial(self._launch, state, some))
            steps -= some

    def take_step(self, state: State) -> None:
        """Take one step by single launches, which can be timed."""
        self._steps.refresh()
        self._launch(state, 1)

    def _launch(self, state: State, steps: int) -> None:
        for _ in range(steps):
            self._steps.take(state)

    def fingerprint(self) -> str:
        """Identity of the model and of how worlds are stepped together, for checkpoints."""
        return f"{super().fingerprint()}-{self._together}"

    def reset(self, state: State, mask: wp.array[Any] | None = None) -> None:
        """Bring worlds back to rest; with a mask the clock goes on."""
        super().reset(state, mask)
        self._steps.find_again(mask)

    def _leading(self) -> Leading | None:
        """Nobody: what accelerates free bodies is the same in every step."""
        return None

    def _body_size(self, state: State) -> float:
        """How large free bodies of a state of one world are, of what they were built."""
        named = [parameter.name for parameter in self.parameters]
        if not state.variation.there or "body_size" not in named:
            return 1.0
        return float(state.variation.values.numpy()[named.index("body_size")])

    def collect_events(self, *states: State) -> list[Event]:
        """Strains only: iterations are limited here, and single steps may be left as they are."""
        return Solver.collect_events(self, *states)

    def diverged_at(self) -> int | None:
        """The first step whose result is not finite, None while all are; waits for the device."""
        lost = self._steps.lost.numpy()
        worlds = np.flatnonzero(lost >= 0)
        if len(worlds) == 0:
            return None
        self._lost_last = int(worlds[np.argmin(lost[worlds])])
        return int(lost[self._lost_last])

    def clear_divergence(self) -> None:
        """Forget a divergence, after the state was restored."""
        self._steps.find_again(None)

    def describe_divergence(self, state: State) -> str:
        """The world that was lost, and what may help."""
        return (
            f"in world {self._lost_last} a step led to forces that are not finite; smaller loads, loads that grow over "
            f"a longer ramp, a stiffer material, a smaller dt than {self.dt:g} s or more iterations (fem.Together) may "
            "help"
        )
