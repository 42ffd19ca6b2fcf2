"""Gradients at an equilibrium of a solid: one factor and one solve, however many parameters there are.

Where forces f(x, θ) balance, a loss L(x) changes with a parameter θ by z·∂f/∂θ, with K z = ∂L/∂x and the stiffness K at
the equilibrium.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import warp as wp
from numpy.typing import ArrayLike

from annelid.core.errors import InvalidValue, UnknownName
from annelid.core.simulation import Simulation
from annelid.fem.actuation.actuator import Drive
from annelid.fem.adjoint.actuation import refused, require_differentiable
from annelid.fem.adjoint.at_rest import RatesAtRest
from annelid.fem.adjoint.balance import Rest
from annelid.fem.adjoint.element_rates import Rates
from annelid.fem.adjoint.touching import require_smooth, stand_as_in
from annelid.fem.dynamic_solver import DynamicSolver
from annelid.fem.model import Model
from annelid.fem.robots.robot import Robot
from annelid.fem.solver import Solver


class Sensitivity:
    """Rates of a loss with all that a solid is made of and all that acts on it, where it is in equilibrium.

    Constants of materials change as `Material.with_` changes them: a new law leaves Poisson's ratio as it is, a new
    Poisson's ratio Young's modulus. Nodes at rest take held components along, and leave forces on nodes as they are.

    Args:
        subject: A `fem.Robot`, a simulation with `dynamic=False`, or a `fem.Model`.

    Attributes:
        names: What it finds rates of: "youngs_modulus", "poisson_ratio", constants of laws by their fields, such as
            "c1", "prony" for shares of the stress (of a solid that has relaxed), "density"; "gravity" [3], "forces"
            on nodes [n, 3], "offsets" of held components [n, 3], "nodes" at rest [n, 3], "efforts" of actuators [k],
            and "strokes" at which they are held [k].
    """

    def __init__(self, subject: Robot | Simulation[Any] | Model) -> None:
        self._subject = subject
        self._model, self._drives = _parts(subject)
        model = self._model
        require_differentiable(model, self._drives)
        self._missing = _missing(model, self._drives)
        self._rates = RatesAtRest(model, self._drives, nodes="nodes" not in self._missing)
        others = ["density", "gravity", "forces", "offsets", "nodes", *(["efforts"] if self._drives else [])]
        others += ["prony"] if model.relaxes else []
        others += ["strokes"] if self._drives and isinstance(subject, Robot) else []
        self.names = tuple(name for name in (*self._rates.constants, *others) if name not in self._missing)

    def rates(
        self, loss_rates: ArrayLike, *, positions: ArrayLike | None = None, names: Sequence[str] | None = None
    ) -> Rates:
        """Rates of a loss by name; those of materials have the shape [materials, ...], or [...] where there is one.

        Args:
            loss_rates: Rates of the loss with the positions of the nodes, shape [n, 3].
            positions: Where the nodes are in equilibrium [m], shape [n, 3]; by default where the robot or the
                simulation is.
            names: Which rates are wanted; by default all of `names`.
        """
        wanted = self.names if names is None else tuple(names)
        for name in wanted:
            if name not in self.names:
                raise UnknownName("rate of this solid", name, self.names, hint=self._missing.get(name))
        seed = self._vectors("rates of the loss", loss_rates)
        rest = Rest(self._where(positions))
        if isinstance(self._subject, Robot):
            rest = replace(rest, efforts=self._subject.efforts, limits=self._subject.limits)
        found = self._rates.at(rest, seed)
        if len(self._model.solid.materials) == 1:
            found |= {name: found[name][0] for name in (*self._rates.constants, "prony", "density") if name in found}
        return {name: found[name] for name in wanted}

    def _where(self, positions: ArrayLike | None) -> wp.array[Any]:
        """Where the nodes are; obstacles are where they are in the simulation."""
        subject = self._subject
        if isinstance(subject, Simulation) and subject.solver.contacts is not None:
            stand_as_in(subject.solver.contacts, subject.state)
        if positions is not None:
            return self._model.vectors(self._vectors("positions", positions))
        if isinstance(self._subject, Robot):
            return self._subject.positions
        if isinstance(self._subject, Simulation):
            return self._subject.state.positions
        raise InvalidValue("a fem.Model does not know where its solid is: give positions=, where it is in equilibrium.")

    def _vectors(self, what: str, given: ArrayLike) -> np.ndarray:
        try:
            array = np.asarray(given, float)
        except (TypeError, ValueError, OverflowError):
            array = np.zeros(0)
        if array.shape != (self._model.node_count, 3) or not np.isfinite(array).all():
            raise InvalidValue(f"{what} must be finite numbers of shape [{self._model.node_count}, 3].")
        return array


def _parts(subject: Robot | Simulation[Any] | Model) -> tuple[Model, tuple[Drive, ...]]:
    """The model of what is asked for, and its actuators."""
    if isinstance(subject, Model):
        return subject, ()
    if isinstance(subject, Robot):
        if subject.contacts is not None:
            raise refused("the obstacles of a fem.Robot", "leave them out.")
        return subject.model, subject.drives
    solver = subject.solver if isinstance(subject, Simulation) else None
    if not isinstance(solver, Solver):
        kind = type(subject if solver is None else solver).__name__
        raise InvalidValue(f"a sensitivity is that of a fem.Robot, a fem.Model or a fem.simulation, not of a {kind}.")
    if isinstance(solver, DynamicSolver):
        raise InvalidValue("a sensitivity is that of an equilibrium, and this solid moves: use dynamic=False.")
    if solver.worlds > 1 or subject.state.variation.there:
        raise refused("worlds that differ", "simulate one solid by itself.")
    require_smooth(solver.contacts)
    if solver.model.relaxes:
        raise refused("a solid that creeps from step to step", "give material.relaxed().")
    return solver.model, solver.drives


def _missing(model: Model, drives: Sequence[Drive]) -> dict[str, str]:
    """What there are no rates of, and why."""
    solid, found = model.solid, {}
    for drive in drives:
        if drive.fluid is not None:
            why = f"The weight of the liquid in {drive.actuator.name} would change with it, too."
            found["gravity"] = found["nodes"] = why
    if solid.threads or solid.fabrics:
        found["nodes"] = "Threads and fabrics would change with them, too."
    if any(stroke.held or drive.actuator.law(0.0) for drive in drives for stroke in [drive.actuator.limits()[1]]):
        found["nodes"] = "Strokes of actuators that are held or closed would change with them, too."
    if solid.carried:
        found["nodes"] = "Paths that carry held nodes would change with them, too."
    return found
