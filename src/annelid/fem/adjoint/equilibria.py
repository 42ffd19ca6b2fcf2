"""Equilibria of one solid, each under its commands, and their rates: each is one solve, and none depends on others."""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from annelid.core.adjoint import Stretch
from annelid.core.state import clone_state
from annelid.fem.adjoint.actuation import of_commands
from annelid.fem.adjoint.at_rest import RatesAtRest
from annelid.fem.adjoint.balance import Rest
from annelid.fem.adjoint.stepping import Standing, Track, command
from annelid.fem.adjoint.touching import stand_as_in
from annelid.fem.state import State


class Equilibria(Track[Standing]):
    """Equilibria of one world, without velocities; steps that find none are refused, so that all are settled."""

    def _prepare(self) -> None:
        self._seen: list[State] = []
        self._rates = RatesAtRest(self.solver.model, self.solver.drives, nodes="nodes" in self._wanted)

    def run(self, stretch: Stretch, *, again: bool) -> None:
        """Run a stretch; what was looked at is kept, so that nothing is run again."""
        if again:
            return
        for step in range(stretch.first + 1, stretch.first + stretch.count + 1):
            if self._table is not None:
                command(self._state, self._table[step - 1])
            self.solver.advance(self._state, 1)
            self._efforts[step] = self._state.efforts.numpy()
            row = int(self._plan.rows[step])
            if row >= 0:
                wp.copy(self.positions[row], self._state.positions)
                self._seen.append(clone_state(self._state))

    def turn(self, positions: wp.array[Any], velocities: wp.array[Any]) -> None:
        """Begin to run back with rates of the loss by what was looked at; velocities are 0 whatever is given."""
        self._seeds = positions.numpy()
        self._found = {name: np.zeros(values.shape[1:]) for name, values in self._wanted.items()}
        self._effort_rates = np.zeros((self._plan.steps, len(self.solver.drives)))

    def reverse(self, stretch: Stretch) -> None:
        """Add the rates of the equilibria of a stretch that were looked at."""
        for step in range(stretch.first + 1, stretch.first + stretch.count + 1):
            row = int(self._plan.rows[step])
            if row >= 0 and self._seeds[row].any():
                self._add(step, self._seen[row], self._seeds[row])

    def _add(self, step: int, state: State, seed: np.ndarray) -> None:
        """Add the rates of one equilibrium."""
        solver, fraction = self.solver, self._fraction(step)
        for each in solver.model.assembly.sets:
            each.ramp(fraction)
        for drive, effort in zip(solver.drives, self._efforts[step].tolist(), strict=True):
            drive.exert(effort)
        if solver.contacts is not None:
            stand_as_in(solver.contacts, state)
        rates = self._rates.at(Rest(state.positions, fraction), seed, by_law=self._by_law)
        for name in self._found.keys() & rates.keys():
            self._found[name] += rates[name]
        self._effort_rates[step - 1] = rates["efforts"]

    def _fraction(self, step: int) -> float:
        """Part of the loads that acts after a step of this motion."""
        begun = int(self._state.begun.numpy()[0])
        return self.solver.fraction(int(self._state.clock.numpy()[0]) - begun - self._plan.steps + step)

    def rates(self) -> dict[str, np.ndarray]:
        """Rates by all parameters that were asked for; they are 0 by where the nodes were before."""
        found = dict(self._found)
        if self._table is not None:
            fractions = np.array([self._fraction(step + 1) for step in range(self._plan.steps)])
            found["controls"] = of_commands(self.solver, self._effort_rates, self._efforts, fractions, self._table)
        return found
