"""Rates of a loss with all that a solid is made of and all that acts on it, at one equilibrium after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import warp as wp

from annelid.fem.adjoint.balance import Balance
from annelid.fem.adjoint.element_rates import HyperelasticRates, Rates, element_rates
from annelid.fem.adjoint.masses import MassRates
from annelid.fem.model import Model
from annelid.fem.robots.drives import Drive
from annelid.fem.robots.limits import Limits


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

    def at(
        self,
        positions: wp.array[Any],
        seed: np.ndarray,
        *,
        fraction: float = 1.0,
        by_law: bool = False,
        efforts: np.ndarray | None = None,
        limits: Sequence[tuple[Limits, Limits]] = (),
    ) -> Rates:
        """Rates by name where forces balance; those of materials have the shape [materials, ...].

        Args:
            positions: Positions of the nodes [m], vec3d of shape [n].
            seed: Rates of the loss with them [1/m], shape [n, 3].
            fraction: Part of the loads and offsets that acts.
            by_law: Whether laws stay as they are when Poisson's ratio changes, instead of Young's moduli.
            efforts: What actuators exert, shape [k], where some may find their own effort.
            limits: Limits of effort and stroke of each of these.
        """
        model, balance = self._model, self._balance
        balance.solve(positions, seed, fraction=fraction, efforts=efforts, limits=limits)
        self._elements.clear()
        self._elements.add(balance.adjoint, positions)
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
