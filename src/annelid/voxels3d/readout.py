"""Reading a state of 3-D voxels on the host: places, rotations, strains, momenta and energies."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from annelid.core.summary import Summary
from annelid.shapes.bodies import ReadsBodies
from annelid.shapes.motions import MotionTable
from annelid.voxels3d.model import Model


class Readout(ReadsBodies):
    """Reads states of one model; voxels come robot by robot, in the order of `Robot.cells`.

    Args:
        model: The model.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self._mass = model.of_voxels("mass")
        self._inertia = 1.0 / model.of_voxels("per_inertia")
        self._side = model.of_voxels("side")

    @property
    def motions(self) -> MotionTable:
        """How obstacles move."""
        return self.model.motions

    def begun(self, state: Any) -> np.ndarray:
        """Step at which each world began."""
        return np.asarray(state.origins.numpy())

    def displacements(self, state: Any) -> np.ndarray:
        """How far voxels have moved since they were built [m], shape [voxels, 3]."""
        return np.asarray(state.displacements.numpy().astype(float))

    def positions(self, state: Any) -> np.ndarray:
        """Centres of the voxels [m], shape [voxels, 3]."""
        return self.model.places + self.displacements(state)

    def velocities(self, state: Any) -> np.ndarray:
        """Velocities of the voxels [m/s], shape [voxels, 3]."""
        return np.asarray(state.velocities.numpy().astype(float))

    def rotations(self, state: Any) -> Rotation:
        """How the voxels have turned since they were built."""
        return Rotation.from_quat(state.rotations.numpy().astype(float))

    def centers(self, state: Any) -> np.ndarray:
        """Centres of mass of the robots [m], shape [robots, 3]."""
        weights = self._mass[:, None] * self.positions(state)
        first = self.model.first_voxel[:-1]
        return np.asarray(np.add.reduceat(weights, first) / np.add.reduceat(self._mass, first)[:, None])

    def sizes(self, state: Any) -> np.ndarray:
        """Sizes of voxels that their actuation asks for now, as a factor, shape [voxels]."""
        tables, worlds = self.model.tables, self.model.world_of_voxel
        change, frequency, phase, ramp = tables.waves.numpy().T
        now = int(state.clock.numpy()[0])
        time = (now - state.origins.numpy()[worlds]) * self.model.dt
        grown = np.clip(np.divide(time, ramp, out=np.ones(len(time)), where=ramp > 0.0), 0.0, 1.0)
        crests = tables.crests.numpy()
        value = grown * np.minimum(np.sin(2.0 * np.pi * (frequency * time + phase)), crests)
        channels, count = tables.channels.numpy(), tables.channel_count
        obeys = channels >= 0
        if obeys.any():
            value[obeys] = _held(state.commands.numpy()[worlds[obeys] * count + channels[obeys]], now)
        return np.asarray(tables.bases.numpy() + change * value)

    def link_strains(self, state: Any) -> np.ndarray:
        """Relative change of length of each link, row by row of `links`, shape [links]."""
        return np.asarray(self._measures(state)[0])

    @cached_property
    def links(self) -> np.ndarray:
        """Voxels at the two ends of each link, shape [links, 2]."""
        slots = self._slots
        return np.column_stack([slots // 3, self.model.tables.next.numpy()[slots]])

    def summary(self, state: Any, world: int | None = None) -> Summary:
        """Totals of a world, or of all of them, free obstacles included.

        Args:
            state: The state.
            world: Number of the world; None for all.
        """
        first = self.model.first_of_world
        part = slice(None) if world is None else slice(*first[world : world + 2])
        x, v, mass = self.positions(state)[part], self.velocities(state)[part], self._mass[part]
        w, inertia = state.spins.numpy().astype(float)[part], self._inertia[part]
        momentum = mass[:, None] * v
        rotational = 0.5 * float((inertia * (w * w).sum(axis=1)).sum())
        ours = slice(None) if world is None else self.model.world_of_voxel[self.links[:, 0]] == world
        own = Summary(
            mass=float(mass.sum()),
            center_of_mass=mass @ x / mass.sum(),
            momentum=momentum.sum(axis=0),
            angular_momentum=(np.cross(x, momentum) + inertia[:, None] * w).sum(axis=0),
            kinetic=0.5 * float((mass[:, None] * v * v).sum()) + rotational,
            rotational=rotational,
            elastic=float(self.elastic_energies(state)[ours].sum()),
            gravitational=-float((mass[:, None] * x).sum(axis=0) @ np.array(self.model.world.gravity)),
        )
        worlds = range(self.model.world_count) if world is None else [world]
        return self.with_free(own, state, self.model.free, self.model.world.gravity, worlds)

    def elastic_energies(self, state: Any) -> np.ndarray:
        """Energy of each link [J], shape [links]: stretch, shear, bending and twist, as if it were linear."""
        strain, length, rest, phi, along, rho = self._measures(state)
        row = {name: self._constants[name] for name in ("axial", "shear", "bend", "twist")}
        kept, whole = self._kept(state)
        stretched = strain - kept
        bent, twisted = (phi * phi).sum(axis=1) - along**2, along**2
        arm = length if self.model.world.links == "balanced" else self._constants["side"]
        energy = row["axial"] * stretched**2 * rest + row["shear"] * arm * rho**2
        return np.asarray(0.5 * (energy + row["bend"] * bent + row["twist"] * twisted) * whole)

    def _kept(self, state: Any) -> tuple[np.ndarray, np.ndarray]:
        """Strain that each link keeps without a load, and whether it still holds."""
        if not self.model.remembers:
            return np.zeros(len(self._slots)), np.ones(len(self._slots))
        offsets, largest = (a.numpy().astype(float)[self._slots] for a in (state.offsets, state.largest))
        return offsets, (largest <= self._constants["fails"]).astype(float)

    def _measures(self, state: Any) -> tuple[np.ndarray, ...]:
        """Strain, length, rest length, relative rotation, its part along the link, and angle of shear of each link."""
        one, other = self.links.T
        x, turns, sizes = self.positions(state), self.rotations(state), self.sizes(state)
        d = x[other] - x[one]
        length = np.linalg.norm(d, axis=1)
        rest = 0.5 * (sizes[one] + sizes[other]) * self._side[one]
        u = d / length[:, None]
        phi = (turns[other] * turns[one].inv()).as_rotvec() if len(one) else np.zeros((0, 3))
        axes = np.eye(3)[self._slots % 3]
        image = turns[one].apply(axes) + turns[other].apply(axes) if len(one) else np.zeros((0, 3))
        image /= np.linalg.norm(image, axis=1)[:, None]
        rho = np.arctan2(np.linalg.norm(np.cross(image, u), axis=1), (image * u).sum(axis=1))
        return length / rest - 1.0, length, rest, phi, (phi * u).sum(axis=1), rho

    @cached_property
    def _slots(self) -> np.ndarray:
        """Where links are among three a voxel."""
        return np.flatnonzero(self.model.tables.row_of_link.numpy() >= 0)

    @cached_property
    def _constants(self) -> dict[str, np.ndarray]:
        rows = self.model.tables.links.numpy()[self.model.tables.row_of_link.numpy()[self._slots]]
        return {name: np.asarray(rows[name], float) for name in rows.dtype.names}


def _held(commands: np.ndarray, now: int) -> np.ndarray:
    """Values of channels at a step; see `core.kernels.controls.held`."""
    begun, goal, given, duration = commands.T
    part = np.clip(np.divide(now - given, duration, out=np.ones(len(goal)), where=duration > 0.0), 0.0, 1.0)
    return np.asarray(begun + (goal - begun) * part * part * (3.0 - 2.0 * part))
