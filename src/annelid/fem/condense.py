"""Condensation: what a soft robot does to first order, seen from its actuators, contacts and effectors alone.

With the stiffness K, the directions J of all that acts and what is left of the forces r, the solid moves by
K⁻¹(r + Jᵀ z) when efforts change by z. Strokes and gaps move by J times that, effectors by J_e times that. These
small matrices are all that an optimiser needs (Rodríguez et al., sec. II). The stiffness contains how pressures and
tensions change their own directions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import warp as wp

from annelid.fem.kernels.condense import (
    add_parts,
    lay_columns,
    lay_contacts,
    move_by,
    multiply_columns,
    sum_points,
)
from annelid.fem.kernels.motion import largest, largest_of
from annelid.fem.linear import NotPositiveDefinite
from annelid.fem.linear_lagged import LaggedSolver
from annelid.fem.robot import Robot

_PARTS = 16
_FIRST_SHIFT, _LAST_SHIFT = 1e-4, 1e4  # of the mean stiffness on the diagonal


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
    """

    def __init__(self, robot: Robot, *, refresh: int = 1) -> None:
        self.robot, self.device = robot, robot.device
        self._lagged: LaggedSolver | None = None
        if refresh > 1:
            self._lagged = LaggedSolver(robot.model, int(robot.columns[-1]), every=refresh)
        model, effectors = robot.model, robot.effectors
        self._point_nodes = wp.array(effectors.nodes, dtype=wp.int32, device=self.device)
        self._point_weights = wp.array(effectors.weights, dtype=wp.float64, device=self.device)
        self._before, self._moves, self._step = model.vectors(), model.vectors(), model.vectors()
        self._parts = wp.zeros(256, dtype=wp.float64, device=self.device)
        self._largest = wp.zeros(1, dtype=wp.float64, device=self.device)
        self._mixing = np.zeros((0, 0))
        self._width = 0
        self._resize(0)
        self.strokes = np.zeros(0)

    def _resize(self, contacts: int) -> None:
        """Room for some contacts."""
        width = 1 + int(self.robot.columns[-1]) + contacts
        if width == self._width:
            return
        self._width = width
        count = self.robot.model.node_count
        self._right, self._solved = (wp.zeros((count, width), dtype=wp.vec3d, device=self.device) for _ in range(2))
        self._sums = wp.zeros((len(self._point_nodes), width), dtype=wp.vec3d, device=self.device)
        self._product_parts = wp.zeros((width, width, _PARTS), dtype=wp.float64, device=self.device)
        self._products = wp.zeros((width, width), dtype=wp.float64, device=self.device)
        self._shares = wp.zeros(width, dtype=wp.float64, device=self.device)

    # --- the steps of a condensation ---

    def assemble(self) -> None:
        """Forces, stiffness, strokes and directions where the robot stands; the stiffness is factored, now or later."""
        robot, model, lagged = self.robot, self.robot.model, self._lagged
        robot.weigh()
        robot.touch()
        tangent = lagged is None or lagged.idle
        model.assembly.evaluate(robot.positions, tangent=tangent)
        self.strokes = robot.aim()
        if lagged is None or lagged.empty:
            self._factor()
            return
        lagged.advance()
        if tangent:
            lagged.renew(model.assembly.values, robot.directions)

    def _factor(self) -> None:
        """A stiffness that is not positive definite is shifted until it is: steps are shorter then, not wrong."""
        model, shift = self.robot.model, 0.0
        while True:
            try:
                if self._lagged is None:
                    model.linear.factor(model.assembly.values, shift=shift * model.stiffness_scale)
                else:
                    self._lagged.start(
                        model.assembly.values, self.robot.directions, shift=shift * model.stiffness_scale
                    )
                return
            except NotPositiveDefinite:
                shift = max(4.0 * shift, _FIRST_SHIFT)
                if shift > _LAST_SHIFT:
                    raise

    def condense(self, contacts: np.ndarray | None = None) -> Condensed:
        """The small matrices.

        Args:
            contacts: Pairs of obstacle and outer node that take part, shape [c, 2]; none unless told.
        """
        robot = self.robot
        pairs = np.zeros((0, 2), int) if contacts is None else contacts
        self._resize(len(pairs))
        self._lay(pairs)
        if self._lagged is None:
            robot.model.linear.solve(self._right, self._solved)
        else:
            self._lagged.solve_once(self._right[:, :1], self._solved[:, :1])
            self._lagged.sensitivities(self._solved[:, 1:])
        products, sums = self._multiply(), self._sum_points()
        return self._collect(products, sums, pairs)

    def apply(self, change: np.ndarray, share: float = 1.0) -> float:
        """Move the robot from where it stood by a change of efforts, shape [k + c]; the largest move of a node [m].

        Args:
            change: Change of the efforts and of the forces of contacts.
            share: Part of the way to go.
        """
        robot = self.robot
        wp.copy(self._before, robot.positions)
        shares = np.concatenate([[1.0], self._mixing @ change])
        return self._move(share * shares, self._before)

    def correct(self) -> float:
        """Balance the forces anew with the stiffness at hand; the largest move of a node [m], infinite if lost."""
        robot, model = self.robot, self.robot.model
        robot.touch()
        model.assembly.evaluate(robot.positions, tangent=False)
        arguments = [self.robot.model.held, robot.directions[:, :0], model.loads, model.assembly.forces]
        rest = self._moves.reshape((-1, 1))
        model.crew.command(lay_columns, model.node_count, [*arguments, rest])()
        if self._lagged is None:
            model.linear.solve(self._moves, self._step)
        else:
            self._lagged.solve_once(self._moves, self._step)
        return self._largest_of(self._step)

    def accept_correction(self) -> None:
        """Move by what `correct` found."""
        positions, one = self.robot.positions, wp.array([1.0], dtype=wp.float64, device=self.device)
        self.robot.model.crew.command(
            move_by, len(positions), [one, self._step.reshape((-1, 1)), positions, positions, self._moves]
        )()

    def restore(self) -> None:
        """Go back to where `apply` began."""
        wp.copy(self.robot.positions, self._before)

    # --- parts of them ---

    def _lay(self, pairs: np.ndarray) -> None:
        robot, model = self.robot, self.robot.model
        arguments = [model.held, robot.directions, model.loads, model.assembly.forces, self._right]
        model.crew.command(lay_columns, model.node_count, arguments)()
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
        arguments = [self._right, self._solved, self._product_parts]
        wp.launch(multiply_columns, self._product_parts.shape, arguments, device=self.device)
        wp.launch(add_parts, self._products.shape, [self._product_parts, self._products], device=self.device)
        return np.asarray(self._products.numpy())

    def _sum_points(self) -> np.ndarray:
        arguments = [self._point_nodes, self._point_weights, self._solved, self._sums]
        wp.launch(sum_points, self._sums.shape, arguments, device=self.device)
        return np.asarray(self._sums.numpy()).reshape(*self._sums.shape, 3)

    def _collect(self, products: np.ndarray, sums: np.ndarray, pairs: np.ndarray) -> Condensed:
        """Strokes are the first column of each actuator; a column of weight joins it with the volume it goes with."""
        robot = self.robot
        own = np.concatenate([robot.columns[:-1], robot.columns[-1] + np.arange(len(pairs))]).astype(int)
        inner = products[1:, 1:]
        mixing = np.zeros((len(inner), len(own)))
        mixing[own, np.arange(len(own))] = 1.0
        for i, drive in enumerate(robot.drives):
            if drive.columns == 2:
                mixing[own[i] + 1, i] = inner[own[i], own[i]]
        self._mixing = mixing
        gaps = robot.contacts.gaps[pairs[:, 0], pairs[:, 1]] if robot.contacts is not None else np.zeros(0)
        return Condensed(
            strokes=np.concatenate([self.strokes, gaps]),
            drift=products[1 + own, 0],
            response=inner[own] @ mixing,
            places=robot.places(),
            place_drift=sums[:, 0].copy(),
            effect=np.einsum("pcx,ck->pxk", sums[:, 1:], mixing),
        )

    def _move(self, shares: np.ndarray, before: wp.array) -> float:
        self._shares.assign(shares)
        arguments = [self._shares, self._solved, before, self.robot.positions, self._moves]
        self.robot.model.crew.command(move_by, len(before), arguments)()
        return self._largest_of(self._moves)

    def _largest_of(self, vectors: wp.array) -> float:
        wp.launch(largest, len(self._parts), [len(vectors), vectors, self._parts], device=self.device)
        wp.launch(largest_of, 1, [0, self._parts, self._largest], device=self.device)
        return float(self._largest.numpy()[0])
