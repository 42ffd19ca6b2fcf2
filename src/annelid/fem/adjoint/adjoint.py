"""Motions and equilibria of solids, run forward and backward, as `core.adjoint.Adjoint` declares it."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import warp as wp

from annelid.core.adjoint import Input, Plan, Stretch
from annelid.core.errors import InexactGradient, InvalidValue, SimulationDiverged
from annelid.core.state import clone_state, overwrite, state_arrays
from annelid.fem.adjoint.equilibria import Equilibria
from annelid.fem.adjoint.inputs import Numbers, built_of, changed, inputs_of, require_consistent
from annelid.fem.adjoint.motion import Motion
from annelid.fem.adjoint.refusals import carried, missing, require_adjoint
from annelid.fem.adjoint.stepping import Standing
from annelid.fem.state import State

_ROOM = 2 * 2**30
"""Memory up to which positions of all steps are kept [B], so that no step is taken twice."""


class SolidAdjoint:
    """Runs motions from a state there and back; see `core.adjoint.Adjoint`.

    Each world has a solver of its own; those whose solids are alike share one. Positions after every step are kept
    where there is room, and then nothing is run twice. Of equilibria those are kept that are looked at.

    Args:
        solver: The solver of the simulation.
        state: The state that motions begin in.
        run: What a world does.
    """

    vector = wp.vec3d

    def __init__(self, solver: Standing, state: State, run: Callable[..., Motion | Equilibria]) -> None:
        require_adjoint(solver, state)
        self._of, self._run, model = solver, run, solver.model
        self.device, self.things, self.carried = model.device, model.node_count, carried(solver)
        self._states = [clone_state(solver.world(state, world)) for world in range(solver.worlds)]
        positions = np.array([one.positions.numpy() for one in self._states])
        velocities = np.zeros_like(positions)
        if self._states[0].velocities.size:  # nothing has any at rest
            velocities = np.array([one.velocities.numpy() for one in self._states])
        controls = solver.channels.controls
        self._inputs = inputs_of(model, Numbers(positions, velocities, controls, missing(solver)))
        self._twins: list[tuple[dict[str, np.ndarray], Standing]] = []
        self._plan: Plan | None = None
        self._motions: list[Motion | Equilibria] = []
        self._values: Mapping[str, np.ndarray] = {}
        self._after = 0

    @property
    def inputs(self) -> Mapping[str, Input]:
        """The parameters that it knows, by name."""
        return self._inputs

    @property
    def _kept(self) -> int:
        """Memory that is kept of a step [B]: positions, and what materials remember."""
        remembered = sum(array.capacity for array in state_arrays(self._states[0].history).values())
        return (24 * self.things + remembered) * self._of.worlds

    def spacing(self, steps: int) -> int:
        """All steps, where their positions fit into some memory; else as few as need least."""
        return steps if steps * self._kept <= _ROOM else math.ceil(math.sqrt(2.0 * steps))

    def memory(self, plan: Plan) -> int:
        """Memory that checkpoints, a stretch and looks take [B], about."""
        steps = 3 * plan.checkpoints + plan.every + 2
        return steps * self._kept + 6 * len(plan.looks) * 24 * self.things * self._of.worlds

    def reserve(self, plan: Plan) -> None:
        """Remember the plan; arrays are made with the first motion, which tells what they must hold."""
        self._plan = plan

    # --- there ---

    def start(self, values: Mapping[str, np.ndarray], after: int) -> None:
        """Take parameters over; see `core.adjoint.Adjoint`."""
        require_consistent(values)
        self._values, self._after = values, after
        self._motions = [self._motion(world) for world in range(self._of.worlds)]

    def _motion(self, world: int) -> Motion | Equilibria:
        assert self._plan is not None
        state = clone_state(self._states[world])
        overwrite(state.clock, state.clock.numpy() + self._after)
        for name, array in (("positions", state.positions), ("velocities", state.velocities)):
            if name in self._values and array.size:
                array.assign(self._values[name][world])
        table = None
        if "controls" in self._values:
            table = self._table(self._values["controls"][world])
        return self._run(self._solver(world), state, self._plan, self._values, table)

    def _solver(self, world: int) -> Standing:
        """A solver of a solid with the values of a world; one that was made for the same values serves again."""
        built = built_of(self._values, world)
        for values, solver in self._twins:
            if values.keys() == built.keys() and all(np.array_equal(values[name], built[name]) for name in built):
                return solver
        if len(self._twins) >= self._of.worlds:
            self._twins.pop(0)
        made = self._of.twin(*changed(self._of.model, built))
        self._twins.append(({name: np.array(each) for name, each in built.items()}, made))
        return made

    def _table(self, table: np.ndarray) -> np.ndarray:
        """Commands of each step, from those of intervals; what cannot be commanded is refused."""
        assert self._plan is not None
        steps, intervals = self._plan.steps, len(table)
        if intervals == 0 or steps % intervals:
            raise InvalidValue(
                f"a table of controls with {intervals} intervals does not divide the {steps} steps of the rollout "
                "evenly: give as many rows as a divisor of the steps."
            )
        for column, channel in zip(table.T, self._of.channels.controls, strict=True):
            outside = (column < channel.low) | (column > channel.high)
            if outside.any():
                raise InvalidValue(
                    f"{column[outside][0]:g} for control {channel.name!r} is outside {channel.low:g} to "
                    f"{channel.high:g}: bound the table, or give the actuator other limits."
                )
        return np.repeat(table, steps // intervals, axis=0)

    def run(self, stretch: Stretch, *, again: bool) -> None:
        """Run a stretch; see `core.adjoint.Adjoint`."""
        for motion in self._motions:
            motion.run(stretch, again=again)

    def tracks(self) -> tuple[wp.array[Any], wp.array[Any]]:
        """Positions and velocities at the looks; see `core.adjoint.Adjoint`."""
        for motion in self._motions:
            step = motion.solver.diverged_at()
            if step is not None and self._of.worlds == 1:
                raise SimulationDiverged(
                    f"the motion diverges in step {step} of the simulation with these parameters: bound them, or take "
                    "a smaller dt.",
                    time=step * self._of.dt,
                    step=step,
                )
        self._tell_unsettled()
        positions = np.concatenate([motion.positions.numpy() for motion in self._motions], axis=1)
        velocities = np.concatenate([motion.velocities.numpy() for motion in self._motions], axis=1)
        arrays = (wp.array(each, dtype=wp.vec3d, device=self.device) for each in (positions, velocities))
        return next(arrays), next(arrays)

    def _tell_unsettled(self) -> None:
        """Warn of steps that a gradient takes for solved, and that are not."""
        assert self._plan is not None
        left = sum(motion.unsettled for motion in self._motions)
        if left:
            warnings.warn(
                f"{left} of {self._plan.steps * len(self._motions)} steps of the rollout were not solved to the "
                "tolerance of the simulation, and its gradient takes them for solved: allow more iterations "
                "(settings=fem.Settings(...)), or take a smaller dt.",
                InexactGradient,
                stacklevel=4,
            )

    # --- back ---

    def turn(self, positions: wp.array[Any], velocities: wp.array[Any]) -> None:
        """Begin to run back; see `core.adjoint.Adjoint`."""
        for world, motion in enumerate(self._motions):
            mine = slice(world * self.things, (world + 1) * self.things)
            motion.turn(positions[:, mine].contiguous(), velocities[:, mine].contiguous())

    def reverse(self, stretch: Stretch) -> None:
        """Run a stretch back; see `core.adjoint.Adjoint`."""
        for motion in self._motions:
            motion.reverse(stretch)

    def rates(self) -> dict[str, np.ndarray]:
        """Rates by parameters; see `core.adjoint.Adjoint`."""
        every = [motion.rates() for motion in self._motions]
        found = {name: np.array([each[name] for each in every]) for name in self._values}
        if "controls" in found:
            worlds, intervals = self._values["controls"].shape[:2]
            found["controls"] = (
                found["controls"].reshape(worlds, intervals, -1, found["controls"].shape[-1]).sum(axis=2)
            )
        return found
