"""An audit of the excavation: work of the arm against the energy that the soil gains and what its contacts lose.

Work is what the arm's controller pays: the sum over steps of −(F·v + T·ω)Δt over links and bucket, with the contact
forces that the solver reports for them. The other side of the balance is found without these forces: kinetic and
potential energy of the grains, and for every contact (grain with grain, wall, link) its impulse times the mean
relative velocity of its sides during the step, which is friction, inelastic blows, and what overlaps store.
"""

from __future__ import annotations

from dataclasses import dataclass

import warp as wp

from annelid.core.state import state_arrays
from annelid.core.weakly import weakly
from annelid.envs.task_worlds import TaskWorlds
from annelid.grains.kernels.layout import Bodies, Grains

from . import audit_kernels as kernels


@dataclass(frozen=True)
class Balance:
    """Energies since the audit began [J], of one world.

    Attributes:
        work: Done by the arm.
        gained: Kinetic and potential energy of the grains, now less at the beginning.
        lost: At contacts.
    """

    work: float
    gained: float
    lost: float

    @property
    def error(self) -> float:
        """What is not accounted for, over the work."""
        return (self.work - self.gained - self.lost) / self.work


class Audit:
    """Follows every step of an excavation of one world.

    Args:
        worlds: The excavation, at the beginning of an episode.
    """

    def __init__(self, worlds: TaskWorlds) -> None:
        self.worlds, self.solver, self.state = worlds, worlds.simulation.solver, worlds.state
        self.model, device = worlds.simulation.solver.model, worlds.device
        count = self.model.count
        self._before = [wp.zeros(count, dtype=wp.vec3, device=device) for _ in range(3)]
        self._losses = wp.zeros(count, dtype=wp.float64, device=device)
        self._places, self._turns = wp.clone(self.state.places), wp.clone(self.state.turns)
        self._start, self._work = self._energy(), self._paid()
        self._kernel = kernels.loss_kernel(self.model.features)
        self._kernel.module.load(device)  # not possible while steps are captured
        self._remember(self.state)
        self.solver.accompany(weakly(self._after_step))

    def balance(self) -> Balance:
        """Where it stands."""
        return Balance(self._paid() - self._work, self._energy() - self._start, float(self._losses.numpy().sum()))

    def close(self) -> None:
        """Follow no more."""
        self.solver.accompany(weakly(self.worlds.between_steps))

    def _after_step(self, grains: object) -> None:
        before = Bodies()
        for name in ("count", "first_of_world", "forms", "distances", "velocities", "spins"):
            setattr(before, name, getattr(self.solver.bodies, name))
        before.places, before.turns = self._places, self._turns
        parameters, count = self.model.parameters, self.model.count
        inputs = [parameters, grains, self.solver.lists, before, *self._before, self._losses]
        wp.launch(self._kernel, count, inputs, device=self.worlds.device)
        self._remember(grains)
        self.worlds.between_steps()

    def _remember(self, grains: object) -> None:
        count, device = self.model.count, self.worlds.device
        if grains is self.state:
            grains = Grains()
            arrays = state_arrays(self.state)
            for name in ("positions", "velocities", "spins", "names"):
                setattr(grains, name, arrays[name])
        wp.launch(kernels.remember, count, [grains], self._before, device=device)
        wp.copy(self._places, self.state.places)
        wp.copy(self._turns, self.state.turns)

    def _paid(self) -> float:
        return float(self.worlds.own.joints.work.numpy()[0])

    def _energy(self) -> float:
        return float(self.solver.readout.summary(self.state).total)
