"""Motion of a solid by the midpoint rule, of second order, which lets it ring as long as it should.

A step is two halves. Each goes by backward Euler to its middle, and from there as far again in a straight line:
x ← 2 x_mid − x, v ← 2 v_mid − v. The energy of a linear solid is kept, whatever the step. Where strains are large, the
straight line may create energy, and a step that is too long for what happens would blow up. What it creates is
known: by how much the energy Φ of all element sets changes, less what the forces in the middle say,
Φ(x₁) − Φ(x₀) − ∇Φ(x_mid)·(x₁ − x₀). A half that would create more than a little goes by backward Euler to its end.
"""

from __future__ import annotations

import math
from typing import Any

import warp as wp

from annelid.core.replay import Launcher
from annelid.fem.dynamic_solver import DynamicSolver
from annelid.fem.kernels.motion import add_scaled, go_straight, hold, tick
from annelid.fem.newton import Holds, Newton, Settings
from annelid.fem.state import State

_CREATED = 5e-3
"""Energy that half a step may create, as a part of the elastic and kinetic energies at its beginning and its end."""


class MidpointSolver(DynamicSolver):
    """Advances a solid in motion by the midpoint rule; its inertia and world are made for that integrator."""

    integrator = "midpoint"

    def _prepare(self) -> None:
        vectors = (self.model.vectors() for _ in range(4))
        self._starts, self._start_velocities, self._moves, self._ends = vectors
        self._works = wp.zeros(2, dtype=wp.float64, device=self.device)
        self._launcher = Launcher(self.device)

    def _take(self, state: State, clock: int, step: int) -> None:
        """One step; the few with an equation that is not solved to the last digit are counted in `state.unsettled`."""
        done = self._half(state, clock, step, 0.0)
        done = self._half(state, clock, step, 0.5) and done
        self._exert(state, clock)
        if not done:
            wp.launch(tick, 1, [1, state.unsettled], device=self.device)

    def _half(self, state: State, clock: int, step: int, begin: float) -> bool:
        """Half a step that begins at a part of it; whether its equations are solved to the last digit."""
        reach = 0.5 if begin == 0.0 else 1.0  # of the way that held components have left in this step
        self._start(state, self.fraction(step + 1))
        with self._passing(state, self.inertia.dt):
            done = self._stage(state, clock, step, begin + 0.25, 0.5 * reach)
            straight = self._look_ahead(state)
        with self._passing(state, self.inertia.dt):
            if straight:
                self._go_on(state, reach)
                return done
            return self._stage(state, clock, step, begin + 0.5, reach) and done

    def _start(self, state: State, goal: float) -> None:
        """Note where half a step begins, and how far held components are from where a part of the loads has them."""
        wp.copy(self._starts, state.positions)
        wp.copy(self._start_velocities, state.velocities)
        model = self.model
        arguments = [wp.float64(goal), model.held, model.anchors, model.offsets, self._starts, self._moves]
        self._launch(hold, arguments)

    def _stage(self, state: State, clock: int, step: int, part: float, reach: float) -> bool:
        """A quarter of a step by backward Euler to a part of it; loads, efforts and what is held are on their way."""
        self._exert(state, clock, part)
        return self._move(state, self.fraction(step + part), Holds(reach, self._starts, self._moves))

    def _look_ahead(self, state: State) -> bool:
        """Find where as far again as from the start to the middle leads; whether that creates no energy."""
        self._add(-1.0, state.positions, self._starts)  # from the start to the middle
        for place, forces in enumerate((self.model.assembly.forces, self.newton.left)):
            self.model.assembly.dot(forces, self._ends, self._works, place)
        all_of_them, left = self._works.numpy().tolist()
        work = 2.0 * (all_of_them - left)  # forces that are left are no forces: inertia was to take them
        self._add(1.0, state.positions, self._ends)
        before, own_before = self._energies(self._starts)
        after, own_after = self._energies(self._ends)
        created = after - before + work  # infinite where a law has no energy
        return math.isfinite(created) and created <= _CREATED * (own_before + own_after)

    def _go_on(self, state: State, reach: float) -> None:
        """Go there."""
        rate = wp.float64(reach / (0.5 * self.dt))
        wp.copy(state.positions, self._ends)
        self._launch(go_straight, [rate, self.model.held, self._moves, self._start_velocities, state.velocities])

    def _energies(self, positions: wp.array[Any]) -> tuple[float, float]:
        """Energy of all element sets, and that of the elements and of motion alone [J], at an end of half a step.

        There the springs that stand for inertia are as long as the way of a quarter of a step: their energy is kinetic.
        """
        self.model.assembly.evaluate(positions, tangent=False)
        own = (self.model.tetrahedra, self.inertia, *self.model.reinforcement)
        return float(self.model.assembly.energy.numpy()[0]), sum(float(each.energy.numpy().sum()) for each in own)

    def _made_newton(self, settings: Settings | None) -> Newton:
        """It gets on with forces where energies are no longer told apart: a beam that rings gets to small strains."""
        return Newton(self.model, settings, noise=self.model.rounding)

    def _add(self, scale: float, here: wp.array[Any], step: wp.array[Any]) -> None:
        """`here` and some times `step`, into the ends."""
        self._launch(add_scaled, [wp.float64(scale), here, step, self._ends])

    def _launch(self, kernel: Any, arguments: list[Any]) -> None:
        self._launcher.launch(kernel, self.model.node_count, arguments)
