"""What solvers of all physics do alike: they hand on what their model, their painter and a state say."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
import warp as wp

from annelid.core.controls import Commanded, Control
from annelid.core.snapshot import Look, Snapshot
from annelid.core.solver import Variable
from annelid.core.stability import StepReport
from annelid.core.variation import Variation


class Painter(Protocol):
    """Makes pictures of the states of a model."""

    @property
    def fields(self) -> tuple[str, ...]:
        """Names of the scalars that things can be coloured by."""
        ...

    def snapshot(self, state: Any, look: Look) -> Snapshot:
        """A picture of a state."""
        ...


M = TypeVar("M")
Q = TypeVar("Q", bound=Painter)


class ModelSolver(Generic[M, Q]):
    """A solver of one model; see `core.solver.Solver`.

    Attributes:
        physics: Name of the physics: "springs", "grains"...
        device: Where it computes.
        worlds: Number of independent worlds side by side.
        model: The bodies, compiled for the device.
    """

    physics: str
    device: wp.Device
    worlds: int
    model: M
    _painter: Q

    @property
    def controls(self) -> tuple[Control, ...]:
        """The channels that take commands."""
        model: Any = self.model
        return tuple(model.controls)

    def commanded(self, state: Any) -> Commanded:
        """Where a state keeps its commands."""
        return Commanded(state.commands, state.clock, state.variation, begun=state.begun)

    def variation(self, state: Any) -> Variation:
        """Where a state keeps its parameters."""
        variation: Variation = state.variation
        return variation

    def take_parameters(self, state: Any, before: wp.array[Any], mask: wp.array[Any]) -> None:
        """Follow a change of parameters; nothing to do where they are read when worlds are stepped."""

    @cached_property
    def _at_rest(self) -> wp.array[Any]:
        """Parameters of worlds that do not differ."""
        assert isinstance(self, Variable)
        rests = np.tile([parameter.rest for parameter in self.parameters], self.worlds)
        return wp.array(rests, dtype=wp.float64, device=self.device)

    def initial_state(self) -> Any:
        """A new state at time zero."""
        raise NotImplementedError

    @cached_property
    def _beginning(self) -> Any:
        """The state that worlds begin again with."""
        return self.initial_state()

    @cached_property
    def _world_of(self) -> dict[str, wp.array[Any]]:
        """World of each thing that rows of the state belong to, by its kind."""
        model: Any = self.model
        return dict(model.world_of())

    @cached_property
    def _every(self) -> wp.array[Any]:
        """The mask of all worlds."""
        return wp.full(self.worlds, True, dtype=wp.bool, device=self.device)

    def explain_step(self) -> StepReport:
        """What limits the time step."""
        model: Any = self.model
        report: StepReport = model.explain_step()
        return report

    def fingerprint(self) -> str:
        """Identity of the model, for checkpoints."""
        model: Any = self.model
        return f"{self.physics}-{model.fingerprint()}"

    @property
    def fields(self) -> tuple[str, ...]:
        """Scalars that snapshots can be coloured by."""
        return self._painter.fields

    def snapshot(self, state: Any, look: Look) -> Snapshot:
        """A picture of the state."""
        return self._painter.snapshot(state, look)
