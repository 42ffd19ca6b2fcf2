"""Topology optimisation: a structure under load loses bars that carry least and regains those that would carry more.

The structure changes while it is simulated. Round after round it settles under its load; then the bars with the least
elastic energy per mass go, and bars that were removed come back where they would now carry more than those
(evolutionary structural optimisation in both directions). Masses that nothing holds any more are removed with their
last bar.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from annelid.core.errors import InvalidValue
from annelid.core.numbers import is_number
from annelid.core.options import require_kind
from annelid.core.simulation import Simulation
from annelid.springs.solver import Solver


@dataclass(frozen=True)
class Round:
    """One round of the optimisation.

    Attributes:
        mass: Mass of the bars over that at the beginning.
        stiffness: Stiffness under the load over that at the beginning.
        removed: Bars removed in this round.
        grown: Bars that came back.
    """

    mass: float
    stiffness: float
    removed: int
    grown: int


class Optimiser:
    """Changes the structure of a running simulation until it has lost a share of its mass.

    Args:
        simulation: A structure with fixed masses and external forces, damped so that it settles.
        target: Mass to reach, as a share of the mass at the beginning.
        rate: Share of the first mass that is removed in a round.
        growth: Share of what is removed that may come back elsewhere.
        first_settle: Simulated time [s] to settle under the load before the first round.
        settle: Simulated time [s] to settle between two rounds.
    """

    def __init__(
        self,
        simulation: Simulation[Solver],
        *,
        target: float = 0.6,
        rate: float = 0.04,
        growth: float = 0.25,
        first_settle: float = 1.0,
        settle: float = 0.2,
    ) -> None:
        require_kind("what is optimised", simulation, Simulation, "a simulation of springs")
        body, network = simulation.solver.model.body, simulation.solver.model.network
        if not (is_number(target) and 0.0 < target < 1.0):
            raise InvalidValue(f"the mass target must be between 0 and 1, not {target!r:.60}.")
        if not body.forces.any() or not body.fixed.any():
            raise InvalidValue("topology optimisation needs a load (push) and a support (fix).")
        # Not the simulation, which calls this: one that is dropped would stay.
        self._solver, self._state = simulation.solver, simulation.state
        self.target, self.rate, self.growth = target, rate, growth
        self.rounds: list[Round] = []
        self._handles = network.springs.handles()
        self._alive = np.ones(len(self._handles), bool)
        self._mass = body.rest_lengths * np.where(body.diameters > 0.0, body.diameters, 1.0) ** 2
        self._loaded = np.flatnonzero(np.abs(body.forces).sum(axis=1))
        self._anchors = body.fixed | (np.abs(body.forces).sum(axis=1) > 0.0)
        self._first = 0.0
        self._due = round(first_settle / simulation.dt)
        self._settle = round(settle / simulation.dt)
        simulation.observe(self._observe, every=settle)

    @property
    def mass(self) -> float:
        """Mass of the bars over that at the beginning."""
        return float(self._mass[self._alive].sum() / self._mass.sum())

    @property
    def stiffness(self) -> float:
        """Stiffness over that at the beginning; 1 until the first round."""
        return self._first / self.compliance() if self._first > 0.0 else 1.0

    @property
    def done(self) -> bool:
        """Whether the mass target is reached."""
        return self.mass <= self.target

    @property
    def bars(self) -> np.ndarray:
        """Whether each bar of the first structure is there, shape [s]."""
        return self._alive.copy()

    def compliance(self) -> float:
        """Work of the load on the displacement that it causes [J]; its inverse measures stiffness."""
        body = self._solver.model.body
        now = self._solver.positions_of(self._state, self._loaded)
        return float((body.forces[self._loaded] * (now - body.positions[self._loaded])).sum())

    def _observe(self, simulation: Simulation[Solver]) -> None:
        if simulation.step_count < self._due or self.done:
            return
        if self._first == 0.0:
            self._first = self.compliance()
        before = self._alive.copy()
        self._change(simulation)
        removed, grown = int((before & ~self._alive).sum()), int((self._alive & ~before).sum())
        self.rounds.append(Round(self.mass, self.stiffness, removed, grown))

    def _change(self, simulation: Simulation[Solver]) -> None:
        """One round: remove the bars that carry least and restore those that would carry most."""
        body = self._solver.model.body
        score = self._scores()
        lose = min(self.rate * (1.0 + self.growth), (self.mass - self.target) + self.rate * self.growth)
        gone = _lightest(
            score, self._alive & ~self._anchors[body.springs].all(axis=1), self._mass, lose * self._mass.sum()
        )
        threshold = score[gone].max(initial=0.0)
        there = self._mass_exists()
        missing = ~self._alive & there[body.springs].all(axis=1) & (score > threshold)
        room = self.rate * self.growth * self._mass.sum()
        back = _lightest(-score, missing, self._mass, room)
        alive = self._alive.copy()
        alive[gone], alive[back] = False, True
        alive = self._without_loose_ends(alive)
        self._apply(alive, simulation)

    def _scores(self) -> np.ndarray:
        """Elastic energy per mass that each bar carries, or would carry if it were there, shape [s]."""
        body = self._solver.model.body
        points = self._state.positions.numpy()[: body.mass_count, :3].astype(float)
        lengths = np.linalg.norm(points[body.springs[:, 1]] - points[body.springs[:, 0]], axis=1)
        return 0.5 * body.stiffness * (lengths - body.rest_lengths) ** 2 / self._mass

    def _mass_exists(self) -> np.ndarray:
        return self._solver.model.network.masses.alive[: self._solver.model.body.mass_count]

    def _without_loose_ends(self, alive: np.ndarray) -> np.ndarray:
        """Drop bars at free masses that fewer than three bars hold: they carry nothing."""
        body = self._solver.model.body
        while True:
            held = np.bincount(body.springs[alive].ravel(), minlength=body.mass_count)
            loose = (held < 3) & ~self._anchors
            kept = alive & ~loose[body.springs].any(axis=1)
            if kept.sum() == alive.sum():
                return kept
            alive = kept

    def _apply(self, alive: np.ndarray, simulation: Simulation[Solver]) -> None:
        """Edit the running network to these bars."""
        body = self._solver.model.body
        gone, back = np.flatnonzero(self._alive & ~alive), np.flatnonzero(alive & ~self._alive)
        there = self._mass_exists()
        held = np.bincount(body.springs[alive].ravel(), minlength=body.mass_count) > 0
        lost = np.flatnonzero(there & ~held & ~self._anchors)
        with simulation.edit() as edit:
            edit.remove_springs(self._handles[gone])
            if len(back):
                first, second = (edit.masses(ends) for ends in body.springs[back].T)
                new = edit.add_springs(
                    first, second, stiffness=body.stiffness[back], rest_lengths=body.rest_lengths[back]
                )
                self._handles.index[back], self._handles.generation[back] = new.index, new.generation
            edit.remove_masses(edit.masses(lost))
        self._alive = alive


def _lightest(score: np.ndarray, candidates: np.ndarray, mass: np.ndarray, budget: float) -> np.ndarray:
    """The candidates of lowest score whose mass together stays within a budget."""
    order = np.flatnonzero(candidates)
    order = order[np.argsort(score[order], kind="stable")]
    return order[np.cumsum(mass[order]) <= budget]
