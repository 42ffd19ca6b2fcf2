"""The motion of one solid there and back: positions after each step are kept, each step back is one solve."""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from annelid.core.adjoint import Stretch
from annelid.core.errors import InvalidValue
from annelid.core.state import clone_state
from annelid.fem.adjoint.actuation import Directions, of_commands
from annelid.fem.adjoint.element_rates import HyperelasticRates, element_rates
from annelid.fem.adjoint.history_rates import HistoryRates
from annelid.fem.adjoint.inputs import by_law
from annelid.fem.adjoint.masses import mass_rows, of_motion
from annelid.fem.adjoint.stepping import Stepping, Track, command
from annelid.fem.contact.state import Touching
from annelid.fem.history import StressHistory
from annelid.fem.hyperelastic import Hyperelastic
from annelid.fem.kernels.motion_rates import (
    add_looks,
    collect_efforts,
    go_back,
    rate_holds,
    rate_masses,
    seed_step,
    sum_efforts,
)
from annelid.fem.linalg.unknowns import NotPositiveDefinite
from annelid.fem.state import State

_PARTS = 32  # of the nodes, whose products are added up one after the other


class Motion(Track[Stepping]):
    """A motion of one world."""

    def _prepare(self) -> None:
        solver, state, plan, wanted, model = self.solver, self._state, self._plan, self._wanted, self.solver.model
        self._clock = int(state.clock.numpy()[0]) - int(state.begun.numpy()[0])
        self._checkpoints: dict[int, tuple[State, wp.array[Any]]] = {}
        self._path = wp.zeros((plan.every + 2, model.node_count), dtype=wp.vec3d, device=model.device)
        self._materials = any(name in ("youngs_modulus", "poisson_ratio") or by_law(name) for name in wanted)
        self._nodes, self._holds = "nodes" in wanted, "offsets" in wanted or "nodes" in wanted
        self._weighs, self._commanded = "density" in wanted or "nodes" in wanted, "controls" in wanted
        self._directions = Directions(model, solver.drives)
        self._elements = element_rates(model.solid, model.tetrahedra, model.crew, nodes=self._nodes)
        self._memory = self._made_memory()
        self._histories: list[StressHistory] = []
        self._poses: list[tuple[np.ndarray, np.ndarray]] = []  # of obstacles after each step of a stretch
        self._room()
        self._begin()

    def _made_memory(self) -> HistoryRates | None:
        model, elements = self.solver.model, self._elements
        if not model.relaxes:
            return None
        assert isinstance(elements, HyperelasticRates)
        assert isinstance(model.tetrahedra, Hyperelastic)
        return HistoryRates(model.solid, model.tetrahedra, elements, self.solver.dt, model.crew, nodes=self._nodes)

    def _room(self) -> None:
        model, device = self.solver.model, self.solver.model.device
        vectors = [model.vectors() for _ in range(9)]
        self._seed, self._right, self._adjoint, self._pulls = vectors[:4]
        self._x, self._v, self._forces, self._whole, self._part = vectors[4:]
        self._damping = wp.zeros(model.node_count, dtype=wp.float64, device=device)
        nodes, shares = self.solver.inertia.nodes, self.solver.inertia.masses
        self._mass_nodes = wp.array(nodes, dtype=wp.int32, device=device)
        self._masses = wp.zeros(shares.shape if self._weighs else (0, 0, 0), dtype=wp.float64, device=device)
        self._rows = mass_rows(nodes, shares, model.node_count, device)
        drives = len(self.solver.drives)
        self._parts = wp.zeros((drives, _PARTS), dtype=wp.float64, device=device)
        self._effort_rates = wp.zeros((self._plan.steps, drives), dtype=wp.float64, device=device)

    # --- there ---

    def _begin(self) -> None:
        """Make the state it begins in the first checkpoint."""
        state = clone_state(self._state)
        earlier = self.solver.model.vectors(
            state.positions.numpy() - self.solver.dt * state.velocities.numpy()
        )  # where it came from, had it gone steadily
        self._checkpoints = {0: (state, earlier)}
        self._look(0, state)

    def run(self, stretch: Stretch, *, again: bool) -> None:
        """Run a stretch from its checkpoint; the first time leave the next one, too."""
        begin, earlier = self._checkpoints[stretch.number]
        state = clone_state(begin)
        wp.copy(self._path[0], earlier)
        wp.copy(self._path[1], state.positions)
        self._histories, self._poses = [], []
        for step in range(stretch.count):
            if isinstance(state.history, StressHistory):
                self._histories.append(clone_state(state.history))
            if self._table is not None:
                command(state, self._table[stretch.first + step])
            self.solver.advance(state, 1)
            wp.copy(self._path[step + 2], state.positions)
            self._efforts[stretch.first + step + 1] = state.efforts.numpy()
            if isinstance(state.touch, Touching):
                self._poses.append((state.touch.places.numpy().copy(), state.touch.turns.numpy().copy()))
            if not again:
                self._look(stretch.first + step + 1, state)
        self.unsettled = int(state.unsettled.numpy()[0]) - int(self._state.unsettled.numpy()[0])
        if not again and not stretch.last:
            self._checkpoints[stretch.number + 1] = (state, wp.clone(self._path[stretch.count]))

    def _look(self, step: int, state: State) -> None:
        row = self._plan.rows[step]
        if row >= 0:
            wp.copy(self.positions[int(row)], state.positions)
            wp.copy(self.velocities[int(row)], state.velocities)

    # --- back ---

    def turn(self, positions: wp.array[Any], velocities: wp.array[Any]) -> None:
        """Begin to run back with rates of the loss by what was looked at, vec3d of shape [looks, n] each."""
        self._seen = positions, velocities
        for array in (self._x, self._v, self._forces, self._whole, self._part, self._damping, self._masses):
            array.zero_()
        self._elements.clear()
        if self._memory is not None:
            self._memory.clear()
        self._see(self._plan.steps)

    def reverse(self, stretch: Stretch) -> None:
        """Run a stretch back that was run last."""
        for step in reversed(range(stretch.count)):
            where = [self._path[step + k] for k in range(3)]
            if self.solver.contacts is not None:
                self.solver.contacts.now.set(*self._poses[step])
            if self._memory is None:
                self._step_back(stretch.first + step, *where)
            else:
                self._step_back_remembering(stretch.first + step, where, self._histories[step])
            self._see(stretch.first + step)

    def _step_back_remembering(self, step: int, where: list[wp.array[Any]], before: StressHistory) -> None:
        """Run a step back whose material remembers what was before it."""
        assert self._memory is not None
        tetrahedra = self.solver.model.tetrahedra
        self._memory.forget(where[2], before, self._x)
        tetrahedra.pass_time(self.solver.dt, before)
        try:
            self._step_back(step, *where)
        finally:
            tetrahedra.rest()
        self._memory.hold(before)

    def _see(self, step: int) -> None:
        """Add what the loss sees after so many steps."""
        row = int(self._plan.rows[step])
        if row >= 0:
            self._launch(add_looks, [row, *self._seen, self._x, self._v])

    def _step_back(self, step: int, earlier: wp.array[Any], before: wp.array[Any], after: wp.array[Any]) -> None:
        """Run the step after so many back, from where nodes got to, to where they were."""
        solver, model = self.solver, self.solver.model
        dt, damping = wp.float64(solver.dt), wp.float64(solver.inertia.damping)
        fraction = wp.float64(solver.fraction(self._clock + step + 1))
        self._launch(seed_step, [dt, model.held, self._x, self._v, self._seed, self._right])
        self._solve(step, after, float(fraction))
        if self._materials or self._nodes or self._memory is not None:
            self._elements.add(self._adjoint, after)
        if self._weighs:
            inputs = [dt, damping, self._mass_nodes, self._adjoint, earlier, before, after]
            wp.launch(rate_masses, len(self._mass_nodes), [*inputs, self._masses], device=model.device)
        if self._holds:
            model.assembly.multiply(self._adjoint.reshape((-1, 1)), self._pulls.reshape((-1, 1)))
            self._launch(rate_holds, [fraction, model.held, self._seed, self._pulls, self._whole, self._part])
        if self._commanded:
            self._directions.aim(after)
            inputs = [self._directions.columns, self._adjoint]
            wp.launch(sum_efforts, self._parts.shape, [*inputs, self._parts], device=model.device)
            inputs = [step, self._parts, self._effort_rates]
            wp.launch(collect_efforts, len(self._parts), inputs, device=model.device)
        back = [dt, damping, fraction, *self._rows, self._adjoint, before, after]
        self._launch(go_back, [*back, self._v, self._forces, self._damping, self._x])

    def _solve(self, step: int, after: wp.array[Any], fraction: float) -> None:
        """z, at the end of a step."""
        model = self.solver.model
        for each in model.assembly.sets:
            each.ramp(fraction)
        for drive, effort in zip(self.solver.drives, self._efforts[step + 1].tolist(), strict=True):
            drive.exert(effort)
        model.assembly.evaluate(after)
        try:
            model.linear.factor(model.assembly.values)
        except NotPositiveDefinite:
            raise InvalidValue(
                f"step {step} of the rollout has no gradient: the solid is about to snap from one shape to another in "
                "it; take a smaller dt."
            ) from None
        model.linear.solve(self._right, self._adjoint)

    # --- rates ---

    def rates(self) -> dict[str, np.ndarray]:
        """Rates by all parameters that were asked for, and some more."""
        model = self.solver.model
        found = {"positions": self._x.numpy().copy(), "velocities": self._v.numpy().copy()}
        forces = self._forces.numpy().copy()
        found |= {"forces": forces, "gravity": model.weights @ forces, "offsets": self._part.numpy().copy()}
        found["velocity_damping"] = np.asarray(self._damping.numpy().sum())
        if self._materials:
            found |= self._elements.materials(by_law=self._by_law)
        if self._memory is not None:
            found["prony"] = self._memory.prony()
        if self._weighs:
            rates = of_motion(model.solid, forces @ model.gravity, self._masses.numpy(), nodes=self._nodes)
            found["density"], shaped = rates
        if self._nodes:
            found["nodes"] = self._elements.nodes() + shaped + self._whole.numpy()
        if self._table is not None and self._commanded:
            found["controls"] = self._by_commands(self._table)
        return found

    def _by_commands(self, table: np.ndarray) -> np.ndarray:
        """Rates of the commands of each step, shape [steps, channels]."""
        steps = range(self._clock + 1, self._clock + 1 + self._plan.steps)
        fractions = np.array([self.solver.fraction(step) for step in steps])
        return of_commands(self.solver, self._effort_rates.numpy(), self._efforts, fractions, table)

    def _launch(self, kernel: Any, arguments: list[Any]) -> None:
        wp.launch(kernel, self.solver.model.node_count, arguments, device=self.solver.model.device)
