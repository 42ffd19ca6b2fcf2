"""Free rigid bodies among the unknowns of a step: six each, eliminated after the nodes.

Over a step of backward Euler a body is pulled to where it would fly, by springs m/h² and I/h², as nodes are; in flight
it keeps its angular momentum. Its unknowns are its centre and the rotation vector of this step. What nodes and bodies
do to each other fills a few columns of the matrix, which the factor of the nodes' own matrix eliminates.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import warp as wp
from scipy.spatial.transform import Rotation

from annelid.core.errors import InvalidValue
from annelid.core.state import overwrite
from annelid.fem.contact.loads import CornerLoad
from annelid.fem.contact.places import Pose
from annelid.fem.contact.points import PointContacts
from annelid.fem.contact.rolling import Rolling, Rubbing
from annelid.shapes import Box, Capsule, Rigid, Sphere
from annelid.shapes.form import Form
from annelid.shapes.kernels.spinning import ROUNDS
from annelid.shapes.surface import friction_between

_POINTS = 64  # of the surface of a body that touch other rigid things, at most


class Bodies:
    """The free ones among obstacles.

    Args:
        rigids: All obstacles.
        forms: What they are to the kernels.
        structure: The same as the structure of the kernels.
        reach: Gap at which contact begins [m].
        device: Where it is computed.

    Attributes:
        numbers: Which of the obstacles are free, shape [f].
        points: Contacts of their own points with other obstacles.
        rolling: Friction of those points that are round; that of others is a part of the contacts.
        frictions: Coulomb coefficients of all their points with obstacles, shape [p, o].
        masses: Their masses [kg], shape [f].
        inertias: Their inertias in the frames of the kernels [kg m²], shape [f, 3, 3].
        local: Their points in these frames [m], shape [p, 3].
        forces: What is left of forces and torques on them [N, N m], shape [6 f].
        step: How far Newton's method moves them: centres [m], rotations [rad], shape [f, 6].
    """

    def __init__(
        self, rigids: Sequence[Rigid], forms: Sequence[Form], structure: Any, reach: float, device: wp.Device
    ) -> None:
        self.numbers = np.array([n for n, rigid in enumerate(rigids) if rigid.moves == "free"], int)
        free = [rigids[n] for n in self.numbers]
        self.masses = np.array([rigid.total_mass for rigid in free])
        self.inertias = np.array([_inertia(rigids[n], forms[n]) for n in self.numbers]).reshape(-1, 3, 3)
        self._built = self.masses, self.inertias
        self._sizes = np.array([rigid.reach for rigid in free])
        for rigid, mass in zip(free, self.masses, strict=True):
            if not (np.isfinite(mass) and mass > 0.0):
                raise InvalidValue(f"a free body needs a mass above 0 kg, and {rigid.kind} has {mass:g}: give mass=.")
        owned = [_own_points(rigids[n], forms[n]) for n in self.numbers]
        self.local = np.concatenate([np.zeros((0, 3)), *(points for points, _ in owned)])
        self._owner = np.repeat(np.arange(len(free)), [len(points) for points, _ in owned])
        radii = np.repeat([radius for _, radius in owned], [len(points) for points, _ in owned])
        count = len(self.local)
        pairs = [[friction_between(free[body].surface, other.surface) for other in rigids] for body in self._owner]
        frictions = np.reshape(np.array(pairs, float), (count, len(rigids)))
        self.points = PointContacts(
            np.arange(count), count, structure, np.where(radii[:, None] > 0.0, 0.0, frictions),
            reach=reach, skins=radii, owners=self.owners, device=device,
        )  # fmt: skip
        self.frictions, self.rolling = frictions, Rolling(self.points, self.owners, radii, frictions)
        self._places = wp.zeros(count, dtype=wp.vec3d, device=device)
        self._moves = wp.zeros(count, dtype=wp.vec3d, device=device)
        self._all, self._dt = len(rigids), 1.0
        self.forces, self.step = np.zeros(6 * len(free)), np.zeros((len(free), 6))
        self._unknowns, self._goals, self._flown = (np.zeros((len(free), 6)) for _ in range(3))
        self._spins = np.zeros((len(free), 3))
        self._start: tuple[np.ndarray, Any] = np.zeros((len(free), 3)), Rotation.identity(max(len(free), 1))

    @property
    def owners(self) -> np.ndarray:
        """The obstacles that points belong to, shape [p]."""
        return np.asarray(self.numbers[self._owner])

    def owner_of(self, point: int) -> int:
        """The obstacle that a point belongs to."""
        return int(self.owners[point])

    def __len__(self) -> int:
        """How many there are."""
        return len(self.numbers)

    def scale_masses(self, factor: float) -> None:
        """Let masses, and inertias with them, be so many times what they were built with."""
        masses, inertias = self._built
        self.masses, self.inertias = factor * masses, factor * inertias

    # --- a step ---

    def begin(self, start: Pose, motion: tuple[np.ndarray, np.ndarray], dt: float, gravity: np.ndarray) -> None:
        """Start a step: where obstacles are, their velocities and spins, the time that passes [s], gravity [m/s²]."""
        self._dt, self._begun = dt, start
        self._start = start.places[self.numbers].copy(), Rotation.from_quat(start.turns[self.numbers])
        turns = self._start[1].as_matrix()
        self._now_inertias = turns @ self.inertias @ turns.transpose(0, 2, 1)
        velocities, self._spins = (part[self.numbers] for part in motion)
        flown = np.concatenate([self._start[0] + dt * velocities, dt * self._halfway()], axis=1)
        self._flown, self._goals = flown, flown.copy()
        self._goals[:, :3] += dt**2 * gravity
        self._unknowns = np.concatenate([self._start[0], np.zeros_like(self._spins)], axis=1)

    def _halfway(self) -> np.ndarray:
        """Spins in the middle of a flight over the step [rad/s], see `annelid.shapes.kernels.spinning`."""
        found = self._spins
        for _ in range(ROUNDS):
            found = self._spun_on(Rotation.from_rotvec(0.5 * self._dt * found), self._spins)
        return found

    def _spun_on(self, turned: Rotation, spins: np.ndarray) -> np.ndarray:
        """Spins of bodies that keep the angular momenta of these spins while they are turned on [rad/s]."""
        momenta = np.einsum("fij,fj->fi", self._now_inertias, spins)
        turns = (turned * self._start[1]).as_matrix()
        inertias = turns @ self.inertias @ turns.transpose(0, 2, 1)
        return np.asarray(np.linalg.solve(inertias, momenta[:, :, None])[:, :, 0])

    def guess(self, pose: Pose) -> None:
        """Write where the bodies would fly without any force into a pose: what rests is near its end there."""
        self._write(self._flown, pose)

    def take(self, pose: Pose) -> None:
        """Take the unknowns from a pose on the way to where they would fly."""
        turn = Rotation.from_quat(pose.turns[self.numbers]) * self._start[1].inv()
        self._unknowns = np.concatenate([pose.places[self.numbers], turn.as_rotvec()], axis=1)

    def motion(self) -> tuple[np.ndarray, np.ndarray]:
        """Velocities [m/s] and spins [rad/s] at the end of the step, shape [f, 3] each."""
        velocities = (self._unknowns[:, :3] - self._start[0]) / self._dt
        pushed = self._spins + (self._unknowns[:, 3:] - self._flown[:, 3:]) / self._dt
        return velocities, self._spun_on(Rotation.from_rotvec(self._unknowns[:, 3:]), pushed)

    def end(self, pose: Pose, stretches: wp.array[Any], forces: wp.array[Any]) -> None:
        """End a step: what friction of their points keeps, and forces on these, into arrays of a state."""
        places = self.place_points(pose)
        self.points.follow(places)
        rubbing = self._rubbed(pose)  # before the points forget the stretches that the step began with
        self.points.end(places, stretches, forces)
        self.rolling.end(rubbing, (stretches, forces))

    # --- iterations ---

    def unknowns(self) -> np.ndarray:
        """Centres and rotations as they are, to be put back."""
        return self._unknowns.copy()

    def move(self, begin: np.ndarray, length: float, pose: Pose) -> None:
        """Go a part of the step from where unknowns were, and write that into a pose."""
        self._unknowns = begin + length * self.step
        self._write(self._unknowns, pose)

    def put(self, unknowns: np.ndarray, pose: Pose) -> None:
        """Be where unknowns say, shape [f, 6], and write that into a pose."""
        self._unknowns = unknowns.copy()
        self._write(self._unknowns, pose)

    def lengths(self, moves: np.ndarray) -> np.ndarray:
        """Moves, shape [6 f], with rotations as lengths on the surfaces of the bodies [m], shape [6 f]."""
        found = moves.reshape(-1, 6).copy()
        found[:, 3:] *= self._sizes[:, None]
        return found.ravel()

    def end_of_step(self, pose: Pose) -> None:
        """Write where a whole step leads to into a pose."""
        self._write(self._unknowns + self.step, pose)

    def place_points(self, pose: Pose) -> wp.array[Any]:
        """Where the points of bodies are in the world [m], vec3d of shape [p]."""
        overwrite(self._places, self._points_at(pose))
        return self._places

    def free_part(self, begin: Pose, end: Pose) -> float:
        """Part of the way of all obstacles from one pose to another that is free for points of bodies."""
        here = self.place_points(begin)
        overwrite(self._moves, self._points_at(end) - self._points_at(begin))
        return self.points.free_part(here, self._moves, begin.device_pose, end.device_pose)

    def least_gap(self, pose: Pose) -> float:
        """Least gap between a point of a body and another rigid thing in a pose [m], infinite where there is none."""
        if not len(self):
            return float("inf")
        return float(self.points.gaps(self.place_points(pose), pose.device_pose).min(initial=np.inf))

    def look(
        self, pose: Pose, nodes: PointContacts, x: np.ndarray, loads: Sequence[CornerLoad], *, tangent: bool
    ) -> tuple[float, float]:
        """Energy [J] and largest force left on a body [N], with what nodes at x [m], shape [k, 3], do to them."""
        places = self.place_points(pose)
        self.points.evaluate(places, tangent=tangent)
        away = self._unknowns - self._goals
        inertial = np.zeros_like(away)
        inertial[:, :3] = self.masses[:, None] * away[:, :3] / self._dt**2
        inertial[:, 3:] = np.einsum("fij,fj->fi", self._now_inertias, away[:, 3:]) / self._dt**2
        forces = -inertial
        forces += self._contact_forces(nodes, x, pose, owned=False)
        forces += self._contact_forces(self.points, places.numpy(), pose, owned=True)
        self._rubbing = self._rubbed(pose)
        for sides, force in zip(self._rubbing_sides(pose), self._rubbing.forces, strict=True):
            for rubbed, lever in sides:
                forces[rubbed] += lever.T @ force
        for load in loads:
            for body in np.flatnonzero(self.numbers == load.obstacle):
                arm = load.place - pose.places[load.obstacle]
                forces[body] += _wrench(arm[None], load.force[None])
        self.forces = forces.ravel()
        energy = 0.5 * float((inertial * away).sum()) + float(self.points.energy.numpy().sum()) + self._rubbing.energy
        scaled = forces.copy()
        scaled[:, 3:] /= self._sizes[:, None]
        return energy, float(np.abs(scaled).max(initial=0.0))

    def matrices(self, pose: Pose, nodes: PointContacts, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Matrix of the bodies, shape [6 f, 6 f], and how they couple with the nodes, shape [k, 3, 6 f]."""
        count = len(self)
        matrix, coupling = np.zeros((6 * count, 6 * count)), np.zeros((len(x), 3, 6 * count))
        for body in range(count):
            rows = slice(6 * body, 6 * body + 6)
            matrix[rows, rows][:3, :3] += self.masses[body] / self._dt**2 * np.eye(3)
            matrix[rows, rows][3:, 3:] += self._now_inertias[body] / self._dt**2
            blocks = self._blocks(nodes)[:, self.numbers[body]]
            near = np.flatnonzero(blocks.any(axis=(1, 2)))
            levers = -levers_of(x[near] - pose.places[self.numbers[body]])
            product = blocks[near] @ levers
            coupling[near, :, rows] = product
            matrix[rows, rows] += np.einsum("kia,kib->ab", levers, product)
        self._add_points(matrix, pose)
        return matrix, coupling

    def solution(self, matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
        """How bodies move, shape [6 f], for their matrix without the nodes and what is left of forces on them.

        A push on a round body has a negative stiffness across its normal, which may exceed the inertia of a light body.
        No shift of the nodes' matrix mends that: negative eigenvalues are turned positive, so the direction descends.
        """
        if np.linalg.eigvalsh(matrix)[0] > 0.0:
            return np.asarray(np.linalg.solve(matrix, right))
        scales = np.ones((len(self), 6))
        scales[:, 3:] /= self._sizes[:, None]  # rotations as lengths
        scale = scales.ravel()
        values, axes = np.linalg.eigh(scale[:, None] * matrix * scale)
        values = np.maximum(np.abs(values), 1e-6 * np.abs(values).max())
        return np.asarray(scale * (axes @ ((axes.T @ (scale * right)) / values)))

    def add_corners(
        self, matrix: np.ndarray, coupling: np.ndarray, pose: Pose, loads: Sequence[CornerLoad], rows: np.ndarray
    ) -> None:
        """Add what their corners do to the matrix of the bodies and to their coupling with nodes.

        Args:
            matrix: The matrix, shape [6 f, 6 f].
            coupling: The coupling, shape [k, 3, 6 f].
            pose: Where obstacles are.
            loads: What corners do.
            rows: Place of each node in the coupling, -1 where it has none.
        """
        for load in loads:
            for body in np.flatnonzero(self.numbers == load.obstacle):
                own = slice(6 * body, 6 * body + 6)
                lever = levers_of(load.place - pose.places[load.obstacle])
                product = load.tangent @ lever
                matrix[own, own] += lever.T @ product
                for node, weight in zip(rows[load.nodes], load.weights, strict=True):
                    if node >= 0:
                        coupling[node, :, own] -= weight * product

    def _add_points(self, matrix: np.ndarray, pose: Pose) -> None:
        """Add what the points of bodies do to the matrix of the bodies."""
        places, blocks = self._places.numpy(), self._blocks(self.points)
        for point, other in np.argwhere(blocks.any(axis=(2, 3))):
            _add_block(matrix, self._sides(point, other, places[point], pose), blocks[point, other])
        for sides, block in zip(self._rubbing_sides(pose), self._rubbing.tangents, strict=True):
            _add_block(matrix, sides, block)

    def _sides(self, point: int, other: int, place: np.ndarray, pose: Pose) -> list[tuple[int, np.ndarray]]:
        """Bodies that a contact of a point with another obstacle at a place [m] moves, and their levers there."""
        own = int(self._owner[point])
        sides = [(own, levers_of(place - pose.places[self.numbers[own]]))]
        for body in np.flatnonzero(self.numbers == other):
            sides.append((int(body), -levers_of(place - pose.places[other])))
        return sides

    def _rubbed(self, pose: Pose) -> Rubbing:
        """Friction of round points, where points were placed last."""
        return self.rolling.look(self._places.numpy(), self._begun, pose)

    def _rubbing_sides(self, pose: Pose) -> Iterator[list[tuple[int, np.ndarray]]]:
        """Bodies that friction of round points moves, and their levers, pair by pair."""
        rubbing = self._rubbing
        for point, other, place in zip(rubbing.points, rubbing.obstacles, rubbing.places, strict=True):
            yield self._sides(int(point), int(other), place, pose)

    def _contact_forces(self, contacts: PointContacts, x: np.ndarray, pose: Pose, *, owned: bool) -> np.ndarray:
        """Forces and torques of contacts on the bodies, shape [f, 6]; of their own points, on these bodies as well."""
        found = np.zeros((len(self), 6))
        pairs = contacts.pair_forces.numpy().reshape(contacts.size[0], self._all, 3)
        for body, number in enumerate(self.numbers):
            arms = x - pose.places[number]
            found[body] -= _wrench(arms, pairs[:, number])
            if owned:
                own = self._owner == body
                found[body] += _wrench(arms[own], pairs[own].sum(axis=1))
        return found

    def _blocks(self, contacts: PointContacts) -> np.ndarray:
        return np.asarray(contacts.pair_tangents.numpy()).reshape(contacts.size[0], self._all, 3, 3)

    def _points_at(self, pose: Pose) -> np.ndarray:
        turns = Rotation.from_quat(pose.turns[self.numbers]).as_matrix()
        local = np.einsum("pij,pj->pi", turns[self._owner], self.local)
        return np.asarray(local + pose.places[self.numbers][self._owner])

    def _write(self, unknowns: np.ndarray, pose: Pose) -> None:
        places, turns = pose.places.copy(), pose.turns.copy()
        places[self.numbers] = unknowns[:, :3]
        turns[self.numbers] = (Rotation.from_rotvec(unknowns[:, 3:]) * self._start[1]).as_quat()
        pose.set(places, turns)


def _inertia(rigid: Rigid, form: Form) -> np.ndarray:
    """Inertia about the centre of mass in the frame of the kernels [kg m²], shape [3, 3]."""
    axes = form.axes.as_matrix()
    return np.asarray(axes.T @ rigid.unit.inertia @ axes * (rigid.total_mass / rigid.unit.mass))


def _own_points(rigid: Rigid, form: Form) -> tuple[np.ndarray, float]:
    """Points of a body that touch other rigid things, in the frame of the kernels [m], and the radius around them."""
    shape = rigid.shape
    if isinstance(shape, Sphere):
        return np.zeros((1, 3)), shape.radius
    if isinstance(shape, Capsule):
        ends = 0.5 * shape.length * np.linspace(-1.0, 1.0, 3)
        return np.column_stack([np.zeros((3, 2)), ends]), shape.radius
    if isinstance(shape, Box):
        signs = np.stack(np.meshgrid(*[[-1.0, 0.0, 1.0]] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
        return signs[signs.any(axis=1)] * form.size, 0.0
    vertices = form.axes.inv().apply(np.asarray(shape.surface(16).vertices) - form.middle)
    chosen = np.linspace(0, len(vertices) - 1, min(len(vertices), _POINTS)).astype(int)
    return vertices[chosen], 0.0


def _add_block(matrix: np.ndarray, sides: Sequence[tuple[int, np.ndarray]], block: np.ndarray) -> None:
    """Add what resists between the sides of a contact by a block [N/m], shape [3, 3]."""
    for first, left in sides:
        for second, right in sides:
            matrix[6 * first : 6 * first + 6, 6 * second : 6 * second + 6] += left.T @ block @ right


def levers_of(arms: np.ndarray) -> np.ndarray:
    """How points at arms from a centre move with it, [..., 3, 6]: with its centre, and with its rotation."""
    found = np.zeros((*arms.shape[:-1], 3, 6))
    found[..., :3] = np.eye(3)
    x, y, z = arms[..., 0], arms[..., 1], arms[..., 2]
    found[..., 0, 4], found[..., 0, 5] = z, -y
    found[..., 1, 3], found[..., 1, 5] = -z, x
    found[..., 2, 3], found[..., 2, 4] = y, -x
    return found


def _wrench(arms: np.ndarray, forces: np.ndarray) -> np.ndarray:
    """Sum of forces, and of their torques about a centre, shape [6]."""
    return np.concatenate([forces.sum(axis=0), np.cross(arms, forces).sum(axis=0)])
