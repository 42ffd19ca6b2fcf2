"""Rates of a loss with all that a solid is made of and all that acts on it, at one equilibrium after the other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from annelid.fem.actuation.actuator import Drive
from annelid.fem.adjoint.balance import Balance, Rest
from annelid.fem.adjoint.element_rates import HyperelasticRates, Rates, element_rates
from annelid.fem.adjoint.masses import MassRates
from annelid.fem.model import Model


class RatesAtRest:
    """Rates at equilibria of a model.

    Args:
        model: The model.
        drives: Actuators that act on it.
        nodes: Whether rates of the nodes at rest are wanted.
    """

    def __init__(self, model: Model, drives: Sequence[Drive], *, nodes: bool) -> None:
        self._model, self._nodes = model, nodes
        self._balance = Balance(model, drives)
        self._elements = element_rates(model.solid, model.tetrahedra, model.crew, nodes=nodes)
        self._masses = MassRates(model.solid)

    @property
    def constants(self) -> tuple[str, ...]:
        """Constants of materials that it finds rates of, by name."""
        return tuple(self._elements.materials())

    def at(self, rest: Rest, seed: np.ndarray, *, by_law: bool = False) -> Rates:
        """Rates by name at an equilibrium; those of materials have the shape [materials, ...].

        Args:
            rest: The equilibrium.
            seed: Rates of the loss with its positions [1/m], shape [n, 3].
            by_law: Whether laws stay as they are when Poisson's ratio changes, instead of Young's moduli.
        """
        model, balance, fraction = self._model, self._balance, rest.fraction
        balance.solve(rest, seed)
        self._elements.clear()
        self._elements.add(balance.adjoint, rest.positions)
        found = self._elements.materials(by_law=by_law)
        if isinstance(self._elements, HyperelasticRates):
            terms = max(len(material.prony) for material in model.solid.materials)
            found["prony"] = np.repeat(-self._elements.relaxed()[:, None], terms, axis=1)
        forces, held = fraction * balance.adjoint.numpy(), balance.offsets(seed)
        weighed = self._masses.of_weights(forces @ model.gravity)
        found |= {"density": self._masses.densities(weighed), "forces": forces, "gravity": model.weights @ forces}
        found |= {"offsets": fraction * held, "efforts": balance.efforts(), "strokes": balance.strokes()}
        if self._nodes:
            found["nodes"] = self._elements.nodes() + self._masses.nodes(weighed) + held
        return found
