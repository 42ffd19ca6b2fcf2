"""What a state says: grains in the order of their bed, bodies, energies, momenta, contacts and overlaps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import warp as wp
from scipy.spatial import cKDTree
from scipy.spatial.transform import Rotation

from annelid.core.errors import InvalidValue
from annelid.core.summary import Summary
from annelid.grains.kernels.layout import GROUP, IMPACT
from annelid.grains.kernels.readout import unsort
from annelid.grains.model import Model, is_free
from annelid.grains.packing import packing_fraction
from annelid.grains.parameters import pulls_and_densities
from annelid.grains.rigid import Solid, Wall
from annelid.shapes import Obstacle, Shape


@dataclass(frozen=True, eq=False)
class Contacts:
    """Pairs of grains that push each other.

    Attributes:
        pairs: The two grains, the lower number first, shape [k, 2].
        forces: Force on the first by the second [N], shape [k, 3].
    """

    pairs: np.ndarray
    forces: np.ndarray


@dataclass(frozen=True)
class Depth:
    """Overlaps over the sums of radii: the largest, the mean over overlapping pairs, and the number of those."""

    largest: float
    mean: float
    count: int


class Readout:
    """Reads states of one model; grains come in the order of the bed, bodies in that of the model.

    Args:
        model: The model.
    """

    def __init__(self, model: Model) -> None:
        self.model, self.device = model, model.device
        free = {n: body for n, body in enumerate(model.bodies) if is_free(body)}
        self.free = np.array(list(free), int)
        weights = [body.weight for body in free.values()]
        self._masses = np.array([mass for mass, _ in weights])
        self._inertias = np.array([inertia for _, inertia in weights]).reshape(-1, 3, 3)

    # --- grains ---

    def positions(self, state: Any) -> np.ndarray:
        """Centres [m], shape [n, 3]."""
        return self._sorted(state, state.positions)[:, :3]

    def velocities(self, state: Any) -> np.ndarray:
        """Velocities [m/s], shape [n, 3]."""
        return self._sorted(state, state.velocities)[:, :3]

    def spins(self, state: Any) -> np.ndarray:
        """Angular velocities [rad/s], shape [n, 3]."""
        return self._sorted(state, state.spins)[:, :3]

    def contact_counts(self, state: Any) -> np.ndarray:
        """Contacts of each grain with grains and bodies, also those about to touch, shape [n]."""
        return self._sorted(state, state.positions)[:, 3] % IMPACT

    def points(self, state: Any) -> wp.array[Any]:
        """Centres [m] on the device, shape [n], vec3."""
        out = wp.empty(self.model.count, dtype=wp.vec3, device=self.device)
        wp.launch(unsort, self.model.count, [state.names, state.positions], [out], device=self.device)
        return out

    # --- bodies ---

    def body_position(self, state: Any, body: Obstacle | int | str) -> np.ndarray:
        """Centre of mass [m], shape [3]."""
        return self._body(state.places, body)

    def body_turn(self, state: Any, body: Obstacle | int | str) -> np.ndarray:
        """How its frame is turned, as `Rigid.rotation` is: a quaternion (x, y, z, w), shape [4]."""
        turn, found = self._body(state.turns, body), self.model.bodies[self.model.number(body)]
        if isinstance(found, Wall):
            return turn
        return np.asarray((Rotation.from_quat(turn) * Rotation.from_matrix(found.axes).inv()).as_quat())

    def body_velocity(self, state: Any, body: Obstacle | int | str) -> np.ndarray:
        """Velocity of the centre of mass [m/s], shape [3]."""
        return self._body(state.body_velocities, body)

    def body_spin(self, state: Any, body: Obstacle | int | str) -> np.ndarray:
        """Angular velocity [rad/s], shape [3]."""
        return self._body(state.body_spins, body)

    def force(self, state: Any, body: Obstacle | int | str) -> np.ndarray:
        """Force of all contacts on a body during the last step [N], shape [3]; that on a plane is summed here."""
        number = self.model.number(body)
        if isinstance(self.model.bodies[number], Solid):
            return self._body(state.forces, number)
        return self._wall_force(state, number)

    def torque(self, state: Any, body: Obstacle | int | str) -> np.ndarray:
        """Torque of all contacts about the centre of mass during the last step [N m], shape [3]; not for planes."""
        number = self.model.number(body)
        if not isinstance(self.model.bodies[number], Solid):
            raise InvalidValue(f"body {number} is a plane, which has no centre to measure a torque about.")
        return self._body(state.torques, number)

    # --- the whole ---

    def summary(self, state: Any) -> Summary:
        """Energies, momenta and the centre of mass of grains and free bodies."""
        bed, (own_masses, pulls) = self.model.bed, self._weights(state)
        moving = np.isin(np.arange(len(self.model.bodies)), self.free)
        masses = np.concatenate([own_masses, self._masses])
        x = np.concatenate([self.positions(state), _rows(state.places)[moving]])
        v = np.concatenate([self.velocities(state), _rows(state.body_velocities)[moving]])
        spins, inertia = self.spins(state), 0.4 * own_masses * bed.radii**2
        body_spins = _rows(state.body_spins)[moving]
        body_momenta = self._turn_inertias(_rows(state.turns)[moving], body_spins)
        momenta = masses[:, None] * v
        about = np.cross(x, momenta).sum(axis=0) + inertia @ spins + body_momenta.sum(axis=0)
        rotational = 0.5 * float(inertia @ (spins**2).sum(axis=1) + (body_spins * body_momenta).sum())
        return Summary(
            mass=float(masses.sum()),
            center_of_mass=masses @ x / masses.sum(),
            momentum=momenta.sum(axis=0),
            angular_momentum=about,
            kinetic=0.5 * float((momenta * v).sum()) + rotational,
            rotational=rotational,
            gravitational=-float(masses @ (x * pulls).sum(axis=1)),
        )

    def largest_speed(self, state: Any) -> float:
        """Speed of the fastest grain [m/s]."""
        return float(np.sqrt((self.velocities(state) ** 2).sum(axis=1).max()))

    def contacts(self, state: Any) -> Contacts:
        """Pairs of grains that push each other, and their forces."""
        count, names = self.model.count, state.names.numpy()[:, 0]
        places = len(state.neighbours) // count
        used = np.arange(places) < state.counts.numpy()[:, :1]
        neighbours = state.neighbours.numpy().reshape(count, places)
        impulses = state.impulses.numpy().reshape(count, places // GROUP, 3, GROUP)
        impulses = impulses.transpose(0, 1, 3, 2).reshape(count, places, 3)
        row, place = np.nonzero(used & (neighbours < count) & impulses.any(axis=2))
        pairs = np.column_stack([names[row], names[neighbours[row, place]]])
        first = pairs[:, 0] < pairs[:, 1]
        forces = impulses[row, place][first].astype(float) / self.model.dt
        order = np.lexsort(pairs[first].T[::-1])
        return Contacts(pairs[first][order], forces[order])

    def overlap(self, state: Any) -> Depth:
        """How far grains overlap now."""
        bed, period = self.model.bed, np.asarray(self.model.world.period)
        x, reach = self.positions(state), 2.0 * float(bed.radii.max())
        x = np.where(period > 0.0, x % np.where(period > 0.0, period, 1.0), x)
        # Worlds lie in the same place: a fourth coordinate keeps them out of each other's reach.
        apart_by_world = np.column_stack([x, 2.0 * reach * np.asarray(self.model.worlds)])
        tree = cKDTree(apart_by_world, boxsize=[*period, 0.0] if period.any() else None)
        pairs = tree.query_pairs(reach, output_type="ndarray")
        apart = x[pairs[:, 0]] - x[pairs[:, 1]]
        apart -= period * np.round(apart / np.where(period > 0.0, period, np.inf))
        touch = bed.radii[pairs].sum(axis=1)
        share = 1.0 - np.linalg.norm(apart, axis=1) / touch
        share = share[share > 0.0]
        return Depth(float(share.max(initial=0.0)), float(share.mean()) if len(share) else 0.0, len(share))

    def packing(self, state: Any, region: Shape, *, margin: float | None = None, top: float | None = None) -> float:
        """Part of a container that grains fill, away from its walls and surface; see `packing_fraction`."""
        return packing_fraction(self.positions(state), self.model.bed.radii, region, margin=margin, top=top)

    # --- parts ---

    def _weights(self, state: Any) -> tuple[np.ndarray, np.ndarray]:
        """Masses of the grains [kg], shape [n], and what pulls them and the free bodies [m/s²], shape [n + f, 3]."""
        pulls, densities = pulls_and_densities(self.model, state.variation)
        of_bodies = np.array([self.model.bodies[number].world for number in self.free], int)
        of_grains = self.model.worlds
        return self.model.bed.masses * densities[of_grains], pulls[np.concatenate([of_grains, of_bodies])]

    def _sorted(self, state: Any, rows: wp.array[Any]) -> np.ndarray:
        out = np.empty((self.model.count, 4))
        out[state.names.numpy()[:, 0]] = rows.numpy()[: self.model.count]
        return out

    def _body(self, rows: wp.array[Any], body: Obstacle | int | str) -> np.ndarray:
        return np.asarray(rows.numpy()[self.model.number(body)], float)

    def _wall_force(self, state: Any, number: int) -> np.ndarray:
        """Sum of the impulses of the grains that touch a plane: nobody else sums those."""
        count = self.model.count
        places = len(state.bodies) // count
        used = np.arange(places) < state.counts.numpy()[:, 1:]
        mine = used & (state.bodies.numpy().reshape(count, places) == number)
        impulses = state.body_impulses.numpy().reshape(count, places, 3)[mine]
        return -impulses.sum(axis=0, dtype=float) / self.model.dt

    def _turn_inertias(self, turns: np.ndarray, spins: np.ndarray) -> np.ndarray:
        """Angular momenta of the free bodies about their centres [kg m²/s], shape [free, 3]."""
        if not len(turns):
            return np.zeros((0, 3))
        frames = Rotation.from_quat(turns).as_matrix()
        return np.asarray(np.einsum("nij,njk,nlk,nl->ni", frames, self._inertias, frames, spins))


def _rows(array: wp.array[Any]) -> np.ndarray:
    return np.asarray(array.numpy(), float)
