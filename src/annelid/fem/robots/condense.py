"""Condensation: what a soft robot does to first order, seen from its actuators, contacts and effectors alone.

With the stiffness K, the directions J of all that acts and what is left of the forces r, the solid moves by
K⁻¹(r + Jᵀ z) when efforts change by z. Strokes and gaps move by J times that, effectors by J_e times that. These
small matrices are all that an optimiser needs (Rodríguez et al., sec. II). The stiffness contains how pressures and
tensions change their own directions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import warp as wp

from annelid.core.replay import Replay, Replays, Stage
from annelid.core.state import new_state
from annelid.core.weakly import weakly
from annelid.fem.kernels.condense import (
    add_parts,
    lay_columns,
    lay_contacts,
    move_by,
    multiply_columns,
    sum_points,
)
from annelid.fem.kernels.motion import add_scaled, largest, largest_of, residual
from annelid.fem.linalg.front_solver import FrontSolver
from annelid.fem.linalg.tile_solver import TileSolver
from annelid.fem.linalg.unknowns import Linear, NotPositiveDefinite
from annelid.fem.robots.acceleration import Accelerator
from annelid.fem.robots.led import FreshLeader, LaggedLeader, LedSolver
from annelid.fem.robots.memory import StiffnessMemory
from annelid.fem.robots.robot import Robot
from annelid.fem.robots.sensitivities import Base, LaggedSolver

_PARTS, _PARTS_ON_CUDA = 16, 128  # of the nodes, whose products are added up one after the other
_FIRST_SHIFT, _LAST_SHIFT, _LARGER = 1e-6, 1e4, 8.0  # of the mean stiffness on the diagonal, and of a shift before


@dataclass(frozen=True, eq=False)
class Condensed:
    """A robot to first order. What acts are its k actuators, then the c contacts that were asked for.

    Attributes:
        strokes: Strokes of the actuators, then gaps of the contacts, shape [k + c].
        drift: How they move when nothing changes, because forces are not quite balanced, shape [k + c].
        response: How they move with the efforts, shape [k + c, k + c].
        places: Where effectors are [m], shape [p, 3].
        place_drift: How they move when nothing changes [m], shape [p, 3].
        effect: How they move with the efforts, shape [p, 3, k + c].
    """

    strokes: np.ndarray
    drift: np.ndarray
    response: np.ndarray
    places: np.ndarray
    place_drift: np.ndarray
    effect: np.ndarray


class Condenser:
    """Condenses a robot where it stands.

    Args:
        robot: The robot.
        refresh: Steps for which the factor of a stiffness and the sensitivities found with it serve; above 1 new ones
            are made in the background meanwhile (on the CPU, and without contacts).
        sooner: The same where the robot's responses change fast; as many unless told.
        linear: What solves with its stiffness; that of its model unless told.
        accelerated: Whether corrections learn from those before, as they do where a stiffness serves for several steps.
    """

    def __init__(
        self,
        robot: Robot,
        *,
        refresh: int = 1,
        sooner: int | None = None,
        linear: Linear | None = None,
        accelerated: bool = False,
    ) -> None:
        self.robot, self.device = robot, robot.device
        self._linear: Linear = linear or robot.model.linear
        self.rows = Rows(robot)
        self._before, self._moves, self._step = (robot.model.vectors() for _ in range(3))
        self._parts = wp.zeros(256, dtype=wp.float64, device=self.device)
        self._largest = wp.zeros(1, dtype=wp.float64, device=self.device)
        model, one = robot.model, wp.float64(1.0)
        forces = [model.held, model.loads, model.assembly.forces]
        self._leftover = self._replay([Stage(residual, model.node_count, [one, *forces, self._moves])])
        self._accept = self._replay(
            [Stage(add_scaled, model.node_count, [one, robot.positions, self._step, robot.positions])]
        )
        self._finding = {id(v): self._replay(self._largest_stages(v)) for v in (self._moves, self._step)}
        self._mixing = np.zeros((0, 0))
        self._width = 0
        self._lagged: LaggedSolver | None = None
        self._led: LedSolver | None = None
        self._accelerator = Accelerator(model.node_count, self.device) if accelerated or refresh > 1 else None
        self._resize(0)
        self._refined = False
        if refresh > 1:
            self._lagged = LaggedSolver(robot.model, wp.zeros_like(self._right[:, 1:]), every=refresh, sooner=sooner)
        self.strokes = np.zeros(0)
        self._aimed_from = np.zeros((0, 3))

    @property
    def refined(self) -> bool:
        """Whether responses are those of where the robot stands."""
        return self._refined

    @property
    def of_now(self) -> bool:
        """Whether the stiffness at hand is that of where the robot stood when the step began."""
        return self._lagged is None or self._lagged.of_now

    @property
    def lagged(self) -> bool:
        """Whether a stiffness serves for several steps."""
        return self._lagged is not None

    def _resize(self, more: int) -> None:
        """Room for the residual, the directions of actuators, and some more columns."""
        width = 1 + int(self.robot.columns[-1]) + more
        if width == self._width:
            return
        self._width = width
        shape = self.robot.model.node_count, width
        self._right, self._solved = (wp.zeros(shape, dtype=wp.vec3d, device=self.device) for _ in range(2))
        parts = _PARTS_ON_CUDA if self.device.is_cuda else _PARTS
        self._product_parts = wp.zeros((width, width, parts), dtype=wp.float64, device=self.device)
        self._products = wp.zeros((width, width), dtype=wp.float64, device=self.device)
        self._shares = wp.zeros(width, dtype=wp.float64, device=self.device)
        robot, model = self.robot, self.robot.model
        forces = [model.held, robot.directions, model.loads, model.assembly.forces]
        self._laying = self._replay([Stage(lay_columns, shape[0], [0, *forces, self._right])])
        columns = [self._right, self._solved, self._product_parts]
        self._multiplying = self._replay(
            [
                Stage(multiply_columns, (width, -(-width // 4), parts), columns),
                Stage(add_parts, self._products.shape, [self._product_parts, self._products]),
            ]
        )
        moving = [0, self._shares, self._solved, self._before, robot.positions, self._moves]
        self._adding = self._replay([Stage(move_by, shape[0], moving)])

    def _replay(self, stages: list[Stage]) -> Replay:
        return Replay(stages, self.device)

    def rehearse(self) -> None:
        """Do what the steps of a condensation do, so that kernels are loaded and graphs captured before the first one.

        A stiffness that would serve for several steps is factored, for the first step to find. The robot is left a
        little nearer to balance than it was.
        """
        robot, model, lagged = self.robot, self.robot.model, self._lagged
        if lagged is None:
            self.assemble()
        else:
            robot.weigh()
            model.assembly.evaluate(robot.positions)
            self.strokes = robot.aim()
            self._lay_directions(lagged)
            self._shifted(self._restart)
            lagged.refine(model.assembly.values, self._right, self._solved)
        self.condense()
        self.apply(np.zeros(self._mixing.shape[1]))
        self.correct()
        if self._led is not None:
            self._led.rehearse(self._moves)
        self.accept_correction()
        self.outdate()

    # --- the steps of a condensation ---

    def assemble(self, *, shifted: bool = True) -> None:
        """Forces, stiffness, strokes and directions where the robot stands; the stiffness is factored.

        Args:
            shifted: Whether a stiffness that is not positive definite is shifted until it is: steps are shorter then,
                not wrong. Else `NotPositiveDefinite` is raised.
        """
        robot, model = self.robot, self.robot.model
        if self._led is not None:
            self._led.forget()  # or a step would depend on more than states hold
        robot.weigh()
        robot.touch()
        needed = self._lagged is None or self._lagged.due
        model.assembly.evaluate(robot.positions, tangent=needed)
        self.strokes = robot.aim()
        self._refined = False
        if self._lagged is not None:
            self._lay_directions(self._lagged)
            if not needed:
                self._lagged.advance()
                return
        self._make(self._factor, shifted)

    def _make(self, factor: Callable[[float], None], shifted: bool) -> None:
        if shifted:
            self._shifted(factor)
        else:
            factor(0.0)

    def _shifted(self, factor: Callable[[float], None]) -> None:
        """Factor a matrix, shifted as far as need be."""
        shift = 0.0
        while True:
            try:
                factor(shift * self.robot.model.stiffness_scale)
                return
            except NotPositiveDefinite:
                shift = max(_LARGER * shift, _FIRST_SHIFT)
                if shift > _LAST_SHIFT:
                    raise

    def look_again(self, *, shifted: bool = True) -> None:
        """Find how the robot responds where it stands now, within a step that has moved it from where it was assembled.

        An old stiffness that no longer leads there is made anew.

        Args:
            shifted: Whether it is shifted as far as need be, see `assemble`.
        """
        if self._lagged is None:
            self.assemble(shifted=shifted)
            return
        robot, model = self.robot, self.robot.model
        robot.weigh()
        robot.touch()
        model.assembly.evaluate(robot.positions)
        self.strokes = robot.aim()
        self._lay_directions(self._lagged)
        if not self._lagged.refine(model.assembly.values, self._right, self._solved):
            self._make(self._restart, shifted)
            self._respond(self._lagged)
        self._refined = True

    def begin_again(self) -> None:
        """Factor the stiffness where the robot stands at once, unless the one at hand was taken there."""
        lagged, robot = self._lagged, self.robot
        if lagged is None:
            self.assemble()
            return
        robot.weigh()
        if lagged.base is None or not np.array_equal(lagged.base.positions, robot.positions.numpy()):
            robot.model.assembly.evaluate(robot.positions)
            self.strokes = robot.aim()
            self._lay_directions(lagged)
            self._shifted(self._restart)
            self._respond(lagged)
        self._refined = True

    def condense(self, contacts: np.ndarray | None = None) -> Condensed:
        """The small matrices.

        Args:
            contacts: Pairs of obstacle and outer node that take part, shape [c, 2]; none unless told.
        """
        pairs = np.zeros((0, 2), int) if contacts is None else contacts
        if self._lagged is None:
            self._resize(len(pairs))
            self._lay(pairs)
            self._linear.solve(self._right, self._solved)
        elif not self._refined:
            self._respond(self._lagged)
        return self._collect(self._multiply(), self.rows.sums(self._solved), pairs)

    def _respond(self, lagged: LaggedSolver) -> None:
        """What is out of balance, and all directions, with the factor and the responses at hand."""
        lagged.solve(self._right[:, :1], self._solved[:, :1])
        wp.copy(self._solved[:, 1:], lagged.responses)

    def apply(self, change: np.ndarray, share: float = 1.0) -> float:
        """Move the robot from where it stood by a change of efforts, shape [k + c]; the largest move of a node [m].

        Args:
            change: Change of the efforts and of the forces of contacts.
            share: Part of the way to go.
        """
        wp.copy(self._before, self.robot.positions)
        shares = np.zeros(self._width)
        shares[0] = share
        shares[1 : 1 + len(self._mixing)] = share * (self._mixing @ change)
        self._shares.assign(shares)
        self._adding()
        if self._accelerator is not None:
            if share == 1.0:
                self._accelerator.begin_with(self._shares, self._right, self._moves)
            else:
                self._accelerator.begin()
        return self._largest_of(self._moves)

    def correct(self) -> float:
        """Balance the forces anew with the stiffness at hand; the largest move of a node [m], infinite if lost."""
        robot, model = self.robot, self.robot.model
        robot.weigh()
        robot.touch()
        model.assembly.evaluate(robot.positions, tangent=False)
        self._leftover()
        if self._lagged is None:
            self._linear.solve(self._moves, self._step)
        else:
            self._lagged.solve(self._moves, self._step)
        if self._accelerator is not None:
            self._accelerator.improve(self._moves, self._step)
        return self._largest_of(self._step)

    def _restart(self, shift: float) -> None:
        assert self._lagged is not None
        self._lagged.restart(self.robot.model.assembly.values, self._base(), shift=shift)

    def led(self) -> Linear:
        """What solves with the stiffness of now, led by the factor at hand where a new one takes much longer."""
        model, linear = self.robot.model, self._linear
        if self._lagged is not None:
            self._led = LedSolver(model, LaggedLeader(self._lagged, weakly(self._base)))
        elif self._accelerator is not None and isinstance(linear, FrontSolver | TileSolver):
            self._led = LedSolver(model, FreshLeader(linear, linear.twin(), model.node_count))
        return self._led or self._linear

    def outdate(self) -> None:
        """Let the next step factor its own stiffness, because the robot was moved by other means."""
        if self._lagged is not None:
            self._lagged.outdate()

    # --- what states hold ---

    def memory(self) -> StiffnessMemory:
        """A memory of no stiffness."""
        lagged = self._lagged is not None
        counts = {"factor": 1, "node": self.robot.model.node_count, "actuator": len(self.robot.drives)}
        counts["response"] = counts["node"] * int(self.robot.columns[-1])
        found = new_state(StiffnessMemory, counts if lagged else dict.fromkeys(counts, 0), self.device)
        found.age.fill_(-1)
        return found

    def remember(self, memory: StiffnessMemory) -> None:
        """Write where the stiffness at hand was taken, and the next one, where they serve for several steps."""
        lagged = self._lagged
        if lagged is None:
            return
        memory.age.fill_(lagged.age)
        memory.pending.fill_(int(lagged.next_base is not None))
        memory.shift.fill_(lagged.shift)
        memory.responses_age.fill_(lagged.responses_age)
        wp.copy(memory.responses, lagged.responses.flatten())
        if lagged.base is not None:
            memory.positions.assign(lagged.base.positions)
            memory.efforts.assign(lagged.base.efforts)
            memory.aimed_from.assign(lagged.base.aimed_from)
        if lagged.next_base is not None:
            memory.next_positions.assign(lagged.next_base.positions)
            memory.next_efforts.assign(lagged.next_base.efforts)

    def recall(self, memory: StiffnessMemory) -> None:
        """Make the stiffness and its factor again, unless it is the one at hand. The robot stays where it is."""
        lagged = self._lagged
        if lagged is None:
            return
        age, pending, shift = (array.numpy()[0] for array in (memory.age, memory.pending, memory.shift))
        base = next_base = None
        if age >= 0:
            places = (memory.positions, memory.efforts, memory.aimed_from)
            base = Base(*(array.numpy().copy() for array in places))
        if pending:
            place, efforts = memory.next_positions.numpy().copy(), memory.next_efforts.numpy().copy()
            next_base = Base(place, efforts, place)
        responses = memory.responses.numpy().reshape(*lagged.responses.shape, 3)
        alike = np.array_equal(responses, lagged.responses.numpy())
        if age == lagged.age and alike and _same(base, lagged.base) and _same(next_base, lagged.next_base):
            return
        robot, stood, exerted = self.robot, self.robot.positions.numpy().copy(), self.robot.efforts.copy()
        lagged.outdate()
        if base is not None:
            self._go_to(lagged, base)
            lagged.restart(robot.model.assembly.values, base, shift=float(shift))
        if next_base is not None:
            self._go_to(lagged, next_base)
            lagged.prepare(robot.model.assembly.values, next_base)
        lagged.age, lagged.responses_age = int(age), int(memory.responses_age.numpy()[0])
        lagged.responses.assign(responses)
        robot.positions.assign(stood)
        robot.exert(exerted)

    def _go_to(self, lagged: LaggedSolver, base: Base) -> None:
        """Find stiffness and directions where the robot once stood."""
        robot = self.robot
        robot.positions.assign(base.aimed_from)
        robot.weigh()
        robot.aim()
        self._lay_directions(lagged)
        robot.positions.assign(base.positions)
        robot.exert(base.efforts)
        robot.weigh()
        robot.model.assembly.evaluate(robot.positions)

    def _lay_directions(self, lagged: LaggedSolver) -> None:
        """Directions of actuators and effectors where the robot stands, for the next factor."""
        self._aimed_from = self.robot.positions.numpy().copy()
        self._lay(np.zeros((0, 2), int))
        wp.copy(lagged.directions, self._right[:, 1:])

    def _base(self) -> Base:
        robot = self.robot
        return Base(robot.positions.numpy().copy(), robot.efforts.copy(), self._aimed_from)

    def _factor(self, shift: float) -> None:
        values = self.robot.model.assembly.values
        if self._lagged is None:
            self._linear.factor(values, shift=shift)
        else:
            self._lagged.factor(values, self._base(), shift=shift)

    # --- moving on ---

    def accept_correction(self) -> None:
        """Move by what `correct` found."""
        self._accept()

    def restore(self) -> None:
        """Go back to where `apply` began."""
        wp.copy(self.robot.positions, self._before)

    # --- parts of them ---

    def _lay(self, pairs: np.ndarray) -> None:
        robot, model = self.robot, self.robot.model
        self._laying()
        if len(pairs) and robot.contacts is not None:
            nodes = robot.contacts.loads.outer[pairs[:, 1]]
            normals = robot.contacts.normals[pairs[:, 0], pairs[:, 1]]
            more = [
                1 + int(robot.columns[-1]),
                model.held,
                wp.array(nodes, dtype=wp.int32, device=self.device),
                wp.array(normals, dtype=wp.vec3d, device=self.device),
                self._right,
            ]
            wp.launch(lay_contacts, len(pairs), more, device=self.device)

    def _multiply(self) -> np.ndarray:
        self._multiplying()
        return np.array(self._products.numpy())

    def _collect(self, products: np.ndarray, sums: np.ndarray, pairs: np.ndarray) -> Condensed:
        """Strokes are the first column of each actuator; a column of weight joins it with the volume it goes with."""
        robot, acting = self.robot, int(self.robot.columns[-1]) + len(pairs)
        own = np.concatenate([robot.columns[:-1], robot.columns[-1] + np.arange(len(pairs))]).astype(int)
        inner = products[1 : 1 + acting, 1 : 1 + acting]
        mixing = np.zeros((acting, len(own)))
        mixing[own, np.arange(len(own))] = 1.0
        for i, drive in enumerate(robot.drives):
            if drive.columns == 2:
                mixing[own[i] + 1, i] = inner[own[i], own[i]]
        self._mixing = mixing
        gaps = robot.contacts.gaps[pairs[:, 0], pairs[:, 1]] if robot.contacts is not None else np.zeros(0)
        return Condensed(
            strokes=np.concatenate([self.strokes, gaps]),
            drift=products[0, 1 + own],
            response=inner[own] @ mixing,
            places=robot.places(),
            place_drift=sums[:, 0].copy(),
            effect=np.einsum("pcx,ck->pxk", sums[:, 1 : 1 + acting], mixing),
        )

    def _largest_of(self, vectors: wp.array[Any]) -> float:
        self._finding[id(vectors)]()
        return float(self._largest.numpy()[0])

    def _largest_stages(self, vectors: wp.array[Any]) -> list[Stage]:
        return [
            Stage(largest, len(self._parts), [len(vectors), vectors, self._parts]),
            Stage(largest_of, 1, [0, self._parts, self._largest]),
        ]


def _same(first: Base | None, second: Base | None) -> bool:
    return first is second if first is None or second is None else first.same(second)


class Rows:
    """The sums of the effectors on the device.

    Args:
        robot: The robot.

    Attributes:
        count: Number of their coordinates.
    """

    def __init__(self, robot: Robot) -> None:
        self.robot, self.device = robot, robot.device
        effectors = robot.effectors
        self.count = 3 * len(effectors.nodes)
        self._nodes = wp.array(effectors.nodes, dtype=wp.int32, device=self.device)
        self._weights = wp.array(effectors.weights, dtype=wp.float64, device=self.device)
        self._sums = Replays(self.device, kept=1)
        self._seen = wp.zeros((len(self._nodes), 0), dtype=wp.vec3d, device=self.device)

    def sums(self, vectors: wp.array[Any]) -> np.ndarray:
        """What effectors see of nodal vectors, vec3d of shape [n, c]; shape [p, c, 3]."""
        if self._seen.shape[1] != vectors.shape[1]:
            self._seen = wp.zeros((len(self._nodes), vectors.shape[1]), dtype=wp.vec3d, device=self.device)
        out = self._seen
        arguments = [self._nodes, self._weights, vectors, out]
        self._sums.run(lambda: [Stage(sum_points, out.shape, arguments)], vectors, out)
        return np.asarray(out.numpy()).reshape(*out.shape, 3)
