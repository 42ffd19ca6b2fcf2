"""Newton's method for the equilibrium of a solid: energy line search, shifted matrices, loads in steps.

The equilibrium is a minimum of the energy of all element sets less the work of the loads. A matrix that is not positive
definite is shifted until it is, so that every direction descends. A load too large for one go is applied in parts;
where even small parts find no equilibrium, the solid has collapsed, and the last equilibrium is what remains.

Where elements share changes of volume, pressures are first sought beside positions, each by its own linearised equation
(a mixed form, whose pressures are eliminated cell by cell); the energy decides where that does not lead to an end.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import warp as wp

from annelid.core.errors import AnnelidError
from annelid.core.parameters import Checked, documented, parameter
from annelid.core.readback import Mirror
from annelid.core.replay import Graphs, Launcher
from annelid.fem.kernels.motion import add_scaled, hold, largest, largest_of, residual
from annelid.fem.linalg.unknowns import Linear, NotPositiveDefinite
from annelid.fem.model import Model
from annelid.fem.strains import most_stretched

_PARTS = 256
_GRAPHS = 16  # that are kept, one for each array of positions that is looked at
_ENOUGH = 1e-4  # of the decrease that the slope promises
_ROUNDING = 2e-13  # of the energies that are added and taken away
_STRAIGHT = 15  # iterations that an equilibrium of shared pressures may take
_FAR = 10.0  # sizes of the solid, further than any equilibrium
_LONGEST_PULL = 0.25  # of the size: how far a hyperelastic solid's held nodes go in one part; further, it may buckle
FIRST_SHIFT, LAST_SHIFT = 1e-4, 1e4  # of the mean stiffness on the diagonal
_LARGER = 4.0  # a shift over the one before it that was not enough
FALLEN = 2e-3
"""Of the force at first: what may be left where nothing moves any more."""


class NoEquilibrium(AnnelidError, ArithmeticError):
    """No equilibrium was found; positions are those of the last one.

    Attributes:
        fraction: Part of the load whose equilibrium was found.
        residual: Largest force left on a node in the attempt beyond [N].
    """

    def __init__(self, sentence: str, *, fraction: float, residual: float) -> None:
        super().__init__(sentence)
        self.fraction, self.residual = fraction, residual


@documented
@dataclass(frozen=True)
class Settings(Checked):
    """How Newton's method works."""

    of_what: ClassVar[str] = "fem.Settings"

    tolerance: float = parameter(
        1e-8, "Largest force left on a node, as a part of the root mean square of the loads [-].", least=0.0
    )
    iterations: int = parameter(60, "Most iterations for one part of the load.", limits=(1, 10**9))
    smallest_part: float = parameter(
        1 / 256, "Smallest part of the load that is tried before giving up.", above=0.0, most=1.0
    )
    still: float = parameter(
        0.0,
        "A whole step of a stable solid that moves no node farther is the last one where the force left is a "
        "small part of what it was, as a part of the size [-].",
        least=0.0,
    )


@dataclass(frozen=True)
class Outcome:
    """How an equilibrium was found: iterations, parts of the load, largest force left on a node [N]."""

    iterations: int
    parts: int
    residual: float


@dataclass(frozen=True)
class Attempt:
    """Whether one attempt has found an equilibrium, its iterations, and the largest force left on a node [N]."""

    done: bool
    iterations: int
    residual: float


@dataclass(frozen=True, eq=False)
class Holds:
    """Where held components belong: a part of the way from where they were.

    Attributes:
        part: How far on their way they are, 1 at its end [-].
        starts: Where they were [m], vec3d of shape [n].
        moves: How far they go [m], vec3d of shape [n].
    """

    part: float
    starts: wp.array[Any]
    moves: wp.array[Any]


class Newton:
    """Finds equilibria of a model.

    Args:
        model: The model.
        settings: How.
        noise: Energy below which differences tell nothing, beside what rounding of large sums makes [J]; by default
            that of a hyperelastic solid, whose energies are small differences of large ones, and none of others.

    Attributes:
        patience: Iterations without less force than ever before, after which the solid is on its way to nowhere.
        shortest: Part of the longest step below which no other is tried.
        linear: What solves its linear systems.
    """

    patience = 20
    shortest = 2.0**-30

    def __init__(self, model: Model, settings: Settings | None = None, *, noise: float | None = None) -> None:
        self.model, self.device = model, model.device
        self.settings = settings or Settings()
        self.linear: Linear = model.linear
        self._noise = (model.rounding if model.solid.hyperelastic else 0.0) if noise is None else noise
        self._residual, self._step, self._trial, self._jump = (model.vectors() for _ in range(4))
        self._start, self._begin, self._placed = (model.vectors() for _ in range(3))
        self._made_stably = self._taken_whole = False  # the last step: without a shift, and all of it
        self._shift = 0.0  # of the last direction, as a part of the mean stiffness on the diagonal
        self._size = float(np.ptp(model.solid.nodes, axis=0).max())
        self._parts = wp.zeros(_PARTS, dtype=wp.float64, device=self.device)
        self._scalars = wp.zeros(5, dtype=wp.float64, device=self.device)
        self._numbers, self._gone_by = Mirror(self._scalars), 0.0
        self._launcher, self._graphs = Launcher(self.device), Graphs(self.device, kept=_GRAPHS)

    @property
    def left(self) -> wp.array[Any]:
        """What is left of the forces on free components where `settle` looked last [N], vec3d of shape [n]."""
        return self._residual

    def equilibrium(self, positions: wp.array[Any], *, start: float = 0.0, goal: float = 1.0) -> Outcome:
        """Move positions to the equilibrium under a part of the load, by default all of it.

        Args:
            positions: Positions [m], vec3d of shape [n]: an equilibrium under the part `start` of the load, or near the
                one that is sought. On failure they are those of the last equilibrium that was found.
            start: Part of the load that acts already; where it is the goal, one attempt is all.
            goal: Part of the load that is to act.
        """
        most = self._largest_part(abs(goal - start))
        reached, part, parts, iterations = start, math.copysign(most, goal - start), 0, 0
        self._keep(positions)
        while True:
            aim = goal if abs(goal - reached - part) < 1e-12 else reached + part
            tried = self.settle(positions, aim)
            iterations += tried.iterations
            if tried.done:
                self._keep(positions)
                reached, parts = aim, parts + 1
                if reached == goal:
                    return Outcome(iterations, parts, tried.residual)
                longer = min(abs(2.0 * part), most)
                part = math.copysign(longer, part) if longer < abs(goal - reached) else goal - reached
                continue
            self._return(positions)
            part *= 0.5
            if abs(part) < self.settings.smallest_part:
                self._ramp(reached)
                solid = self.model.solid
                stretch = most_stretched(solid.nodes, solid.elements, positions.numpy())
                raise _collapse(reached, start == goal, tried.residual, stretch)

    def _keep(self, positions: wp.array[Any]) -> None:
        """Note an equilibrium."""
        wp.copy(self._start, positions)

    def _return(self, positions: wp.array[Any]) -> None:
        """Go back to the equilibrium that was noted last."""
        wp.copy(positions, self._start)

    def _largest_part(self, whole: float) -> float:
        """Largest part of the load in one go: all of it, unless it pulls the ends of a hyperelastic solid far apart."""
        if not self.model.solid.hyperelastic:
            return whole
        pulled = float(np.abs(self.model.offsets.numpy()).max(initial=0.0))
        return min(whole, _LONGEST_PULL * self._size / pulled) if pulled > 0.0 else whole

    def _ramp(self, fraction: float) -> None:
        for each in self.model.assembly.sets:
            each.ramp(fraction)

    def settle(self, positions: wp.array[Any], fraction: float = 1.0, holds: Holds | None = None) -> Attempt:
        """Move positions towards the equilibrium under a part of the load, in one go, as far as that leads.

        Args:
            positions: Positions [m], vec3d of shape [n].
            fraction: Part of the load that acts.
            holds: Where held components belong; by default as far from rest as that part of the load says.
        """
        wp.copy(self._begin, positions)
        self._ramp(fraction)
        self._arrive(positions, fraction, holds or Holds(fraction, self.model.anchors, self.model.offsets))
        tried = self._straight(positions, fraction) if self._whole_steps else None
        if tried is not None and tried.done:
            return tried
        found = self._descend(positions, fraction, self.settings.iterations)
        return found if tried is None else replace(found, iterations=found.iterations + tried.iterations)

    def _arrive(self, positions: wp.array[Any], fraction: float, holds: Holds) -> None:
        """Bring what does not move freely to where it belongs."""
        self._move_held(positions, holds)

    @property
    def _whole_steps(self) -> bool:
        """Whether steps may be taken whole before the energy decides."""
        return self.model.tetrahedra.foresees

    def _straight(self, positions: wp.array[Any], fraction: float) -> Attempt:
        """Newton's method for positions and shared pressures alike, in whole steps.

        Pressures follow moves to first order and need not be those of the positions until the end, where no force is
        left. Along the energy nearly incompressible solids would have to creep: it rises steeply to either side of the
        curved ways on which volumes stay. Whole steps may lead astray; positions are then what they were.
        """
        tetrahedra, model = self.model.tetrahedra, self.model
        wp.copy(self._placed, positions)
        _, left = self._look(positions, fraction)
        first, enough, count, still = left, self._good_enough(fraction, left), 0, False
        try:
            while (
                not still and left > enough and np.isfinite(left) and count < min(_STRAIGHT, self.settings.iterations)
            ):
                count += 1
                self.linear.factor(model.assembly.values)
                self.linear.solve(self._residual, self._step)
                tetrahedra.foresee(self._step)
                self._add(positions, self._step, 1.0, positions)
                _, left = self._look(positions, fraction)
                if self._lost():
                    break
                still = left < FALLEN * first and self._stands_still()
        except NotPositiveDefinite:
            pass
        finally:
            tetrahedra.foresee(None)
        done = (left <= enough or still) and not (count and tetrahedra.inverted)
        if not done:
            wp.copy(positions, self._placed)
        return Attempt(done, count, left)

    def _descend(self, positions: wp.array[Any], fraction: float, iterations: int) -> Attempt:
        """Iterate along the energy until forces cancel, or as often as that leads anywhere."""
        self._shift = 0.0
        energy, left = self._look(positions, fraction)
        first, least, since, still = left, left, 0, False
        enough, count = self._good_enough(fraction, left), 0
        while not still and left > enough and np.isfinite(left) and count < iterations and since < self.patience:
            count += 1
            slope = self._direction()
            found = self._search(positions, fraction, energy, slope, left)
            if found is None or self._lost():
                break
            energy, left = found
            least, since = (left, 0) if left < least else (least, since + 1)
            still = left < FALLEN * first and self._made_stably and self._taken_whole and self._stands_still()
        return Attempt(left <= enough or still, count, left)

    def _stands_still(self) -> bool:
        """Whether the step at hand moves no node by more than what counts."""
        still = self.settings.still
        return still > 0.0 and self._largest(self._step) < still * self._size

    def _lost(self) -> bool:
        """Whether nodes were on their way to infinity where it was looked last: there is no minimum."""
        return self._gone_by > _FAR * self._size

    def _good_enough(self, fraction: float, first: float) -> float:
        """Force that may be left on a node [N]; never less than what rounding leaves of large and opposite forces."""
        scale = max(fraction * self.model.load_scale, min(first, 1e300))
        return max(self.settings.tolerance * scale, 1e-15 * self.model.stiffest * self._size)

    def _move_held(self, positions: wp.array[Any], holds: Holds) -> None:
        """Put held components where they belong; free nodes follow as far as the matrix says they would."""
        model = self.model
        arguments = [wp.float64(holds.part), model.held, holds.starts, holds.moves, positions, self._jump]
        self._launcher.launch(hold, model.node_count, arguments)
        if self._largest(self._jump) == 0.0:
            return
        model.assembly.evaluate(positions)
        model.assembly.multiply(self._jump.reshape((-1, 1)), self._residual.reshape((-1, 1)))
        self._add(positions, self._jump, 1.0, positions)
        self._guess_free(self.linear)
        self._add(positions, self._step, -1.0, positions)

    def _look(self, positions: wp.array[Any], fraction: float, *, tangent: bool = True) -> tuple[float, float]:
        """Energy [J] and largest force left on a node [N] at some positions; fills the residual.

        Where a law has no energy, as beyond Gent's limit, it has no forces that would lead back either: what is left
        is infinite there, so that nobody takes it for an equilibrium.
        """
        self.model.assembly.evaluate(positions, tangent=tangent)
        return self._left(positions, fraction)

    def _left(self, positions: wp.array[Any], fraction: float) -> tuple[float, float]:
        """The same, where all was evaluated already."""
        model = self.model
        arguments = [wp.float64(fraction), model.held, model.loads, model.assembly.forces, self._residual]
        self._launcher.launch(residual, model.node_count, arguments)
        if self.device.is_cuda:
            arrays = (positions, model.rest, model.loads, model.assembly.energy)
            self._graphs.run(tuple(each.ptr for each in arrays), lambda: self._measure(positions))
        else:
            self._measure(positions)
        work, left, energy, _, self._gone_by = self._numbers.read().tolist()
        self._magnitude = abs(energy) + abs(fraction * work)
        return energy - fraction * work, left if math.isfinite(energy) else math.inf

    def _measure(self, positions: wp.array[Any]) -> None:
        """Launch what finds the work of loads, the largest force left, how far nodes have gone, and the energy."""
        model = self.model
        self._add(positions, model.rest, -1.0, self._jump)
        model.assembly.dot(model.loads, self._jump, self._scalars, 0)
        self._launch_largest(self._residual, 1)
        self._add(positions, self._begin, -1.0, self._jump)
        self._launch_largest(self._jump, 4)
        wp.copy(self._scalars, model.assembly.energy, dest_offset=2, count=1)

    def _direction(self) -> float:
        """Newton's direction into `_step`; its slope along the residual, above 0 [J].

        Where the matrix is not positive definite its diagonal is shifted, at first by less than the last time.
        """
        shift, scale = 0.0, self.model.stiffness_scale
        while shift <= LAST_SHIFT:
            try:
                self._factor(shift * scale)
                slope = self._solved()
                if slope > 0.0:
                    self._made_stably, self._shift = shift == 0.0, shift
                    return slope
            except NotPositiveDefinite:
                pass
            shift = max(_LARGER * shift, FIRST_SHIFT, self._shift / _LARGER)
        return float("nan")

    def _factor(self, shift: float) -> None:
        """Factor the matrix at hand, with a shift of its diagonal [N/m]."""
        self.linear.factor(self.model.assembly.values, shift=shift)

    def _solved(self) -> float:
        """The solution for the residual into `_step`; its slope along the residual [J]."""
        self.linear.solve(self._residual, self._step)
        return self._slope()

    def _slope(self) -> float:
        self.model.assembly.dot(self._residual, self._step, self._scalars, 3)
        return float(self._numbers.read()[3])

    def _guess_free(self, solver: Linear) -> None:
        """Into the step: how free nodes answer to the residual by the matrix at hand, shifted if need be.

        Who solves with an old factor finds out only then that the matrix is not positive definite.
        """
        shift = 0.0
        while True:
            try:
                self._factor(shift * self.model.stiffness_scale)
                solver.solve(self._residual, self._step)
                return
            except NotPositiveDefinite:
                shift = max(_LARGER * shift, FIRST_SHIFT)
                if shift > LAST_SHIFT:
                    raise

    def _search(
        self, positions: wp.array[Any], fraction: float, energy: float, slope: float, left: float
    ) -> tuple[float, float] | None:
        """Go down along the step as far as the energy falls; the energy and the force left there, None if nowhere."""
        if not np.isfinite(slope):
            return None
        first = length = self._longest(positions)
        slack = _ROUNDING * self._magnitude + self._noise
        while length > self.shortest * first:
            self._try(positions, length)
            there, rest = self._look(self._trial, fraction, tangent=length == first)
            falls = there <= energy - _ENOUGH * length * slope
            level = slope * length <= 10.0 * slack and there <= energy + slack and rest < left
            if falls or level or (length == first and self._leads_on(rest, left)):
                self._taken_whole = length == 1.0
                wp.copy(positions, self._trial)
                return self._taken(positions, fraction, (there, rest) if length == first else None)
            length *= 0.5
        return None

    def _leads_on(self, rest: float, left: float) -> bool:
        """Whether a step as long as may be is good for the force left after it and before it, whatever the energy."""
        return False

    def _try(self, positions: wp.array[Any], length: float) -> None:
        """Go a part of a step, to look how it is there."""
        self._add(positions, self._step, length, self._trial)

    def _longest(self, positions: wp.array[Any]) -> float:
        """Part of a step that may be taken at most."""
        return 1.0

    def _taken(
        self, positions: wp.array[Any], fraction: float, known: tuple[float, float] | None
    ) -> tuple[float, float]:
        """Energy and force left where a step has led to, if they are not known yet."""
        return self._look(positions, fraction) if known is None else known

    def _add(self, here: wp.array[Any], step: wp.array[Any], scale: float, out: wp.array[Any]) -> None:
        self._launcher.launch(add_scaled, self.model.node_count, [wp.float64(scale), here, step, out])

    def _launch_largest(self, vectors: wp.array[Any], place: int) -> None:
        self._launcher.launch(largest, _PARTS, [self.model.node_count, vectors, self._parts])
        self._launcher.launch(largest_of, 1, [place, self._parts, self._scalars])

    def _largest(self, vectors: wp.array[Any]) -> float:
        self._launch_largest(vectors, 4)
        return float(self._numbers.read()[4])


def _collapse(reached: float, at_once: bool, left: float, stretch: str) -> NoEquilibrium:
    where = "under this load" if at_once else f"beyond {100 * reached:.3g} % of the load"
    return NoEquilibrium(
        f"the solid finds no equilibrium {where}: it collapses or bursts, or the load is too large for it (a force of "
        f"{left:.3g} N was left on a node); the last equilibrium is kept, {stretch}; lower the load or stiffen the "
        "solid.",
        fraction=reached,
        residual=left,
    )
