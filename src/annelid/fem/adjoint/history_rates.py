"""Rates of a loss through what materials with a Prony series remember, from step to step backwards."""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from annelid.core.replay import Crew
from annelid.fem.adjoint.element_rates import HyperelasticRates
from annelid.fem.history import StressHistory
from annelid.fem.hyperelastic import Hyperelastic
from annelid.fem.kernels.history_rates import Memory, forget_points, gather_fluxes, hold_points, shape_fluxes
from annelid.fem.solid import Solid


class HistoryRates:
    """What the points of a solid that relaxes hand back from step to step.

    Args:
        solid: The solid.
        tetrahedra: Its elements.
        elements: What gathers rates of their constants.
        dt: Time step [s].
        crew: Where it is computed.
        nodes: Whether rates of the nodes at rest are wanted.
    """

    def __init__(
        self, solid: Solid, tetrahedra: Hyperelastic, elements: HyperelasticRates, dt: float, crew: Crew, *, nodes: bool
    ) -> None:
        self._solid, self._tetrahedra, self._elements, self._dt = solid, tetrahedra, elements, dt
        self._shaped, self._device = nodes, crew.device
        self.terms = max(len(material.prony) for material in solid.materials)
        count = tetrahedra.point_count
        self._memory: Any = Memory()
        self._memory.past_bars = wp.zeros(count, dtype=wp.mat33d, device=crew.device)
        self._memory.part_bars = wp.zeros(count * self.terms, dtype=wp.mat33d, device=crew.device)
        for name in ("decay_rates", "rise_rates"):
            setattr(self._memory, name, wp.zeros((count, self.terms), dtype=wp.float64, device=crew.device))
        self._fluxes = wp.zeros(count, dtype=wp.mat33d, device=crew.device)
        columns, table = tetrahedra.constants
        points, shared = tetrahedra.points, int(tetrahedra.foresees)
        series, nothing = tetrahedra.series(dt), wp.zeros(0, dtype=wp.mat33d, device=crew.device)
        about = [self.terms, columns, shared, table, series, points, nothing, nothing, self._memory]
        self._forget = crew.command(forget_points, count, [*about, elements.constants, elements.slopes, self._fluxes])
        self._shape = crew.command(shape_fluxes, count if nodes else 0, [points, self._fluxes, elements.shapes])
        flat = tetrahedra.point_nodes.ravel()
        entries = np.argsort(flat, kind="stable")
        first = np.searchsorted(flat[entries], np.arange(solid.node_count + 1))
        lists = [wp.array(part.astype(np.int32), dtype=wp.int32, device=crew.device) for part in (first, entries)]
        nowhere = wp.zeros(0, dtype=wp.vec3d, device=crew.device)
        gathered = [*lists, tetrahedra.gradients, self._fluxes, nowhere]
        self._gather = crew.command(gather_fluxes, solid.node_count, gathered)
        held = [self.terms, columns, table, series, points, elements.slopes, nothing, nothing, self._memory]
        held.append(elements.constants)
        self._hold = crew.command(hold_points, count, held)

    def clear(self) -> None:
        """Begin with nothing: what is remembered at the end counts for nothing."""
        for array in (self._memory.past_bars, self._memory.part_bars):
            array.zero_()
        self._memory.decay_rates.zero_()
        self._memory.rise_rates.zero_()

    def forget(self, after: wp.array[Any], before: StressHistory, position_rates: wp.array[Any]) -> None:
        """Run back what points took into their memory at the end of a step.

        Args:
            after: Where nodes got to in it [m], vec3d of shape [n].
            before: What was remembered at its beginning.
            position_rates: Rates by where nodes got to, to which more is added, vec3d of shape [n].
        """
        self._tetrahedra.answer(after, tangent=True)
        self._forget((6, before.past), (7, before.parts))
        self._elements.add_laws()
        if self._shaped:
            self._shape()
        self._gather((4, position_rates))

    def hold(self, before: StressHistory) -> None:
        """Run back what points held back in a step, once its z is known to `elements`."""
        self._hold((6, before.past), (7, before.parts))

    def prony(self) -> np.ndarray:
        """Rates of shares and times of each material, shape [m, terms, 2]."""
        solid = self._solid
        owners = solid.element_materials[self._tetrahedra.point_elements]
        count = len(solid.materials)
        decays, rises = (
            np.stack([np.bincount(owners, column, count) for column in array.numpy().T], axis=1)
            for array in (self._memory.decay_rates, self._memory.rise_rates)
        )
        gains, found = self._elements.relaxed(), np.zeros((count, self.terms, 2))
        for number, material in enumerate(solid.materials):
            for term, (share, time) in enumerate(material.prony):
                decay = np.exp(-self._dt / time)
                part = (1.0 - decay) * time / self._dt  # b, and its slope with the time
                slope = (1.0 - decay) / self._dt - decay / time
                rise = rises[number, term]
                found[number, term, 0] = rise * part + gains[number] * (part - 1.0)
                slower = decays[number, term] * decay * self._dt / time**2
                found[number, term, 1] = slower + (rise + gains[number]) * share * slope
        return found
