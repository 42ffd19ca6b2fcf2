"""The parameters of a rollout of 3-D voxels: what actuates them, where they begin, gravity."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from annelid.core.adjoint import Input
from annelid.core.errors import InvalidValue
from annelid.voxels3d.adjoint.kernels.course import COMMANDED, STILL, WAVING
from annelid.voxels3d.model import Model


class Padding:
    """Numbers of voxels, one world after the other, as arrays of worlds and things, and back.

    Args:
        first: First voxel of each world, and their number, shape [worlds + 1].
    """

    def __init__(self, first: np.ndarray) -> None:
        counts = np.diff(first)
        self.worlds, self.things = len(counts), int(counts.max())
        self.world_of = np.repeat(np.arange(len(counts)), counts)
        self.local = np.arange(int(first[-1])) - first[:-1][self.world_of]

    def flat(self, padded: np.ndarray) -> np.ndarray:
        """Numbers of voxels, shape [voxels, ...], from those of worlds and things."""
        return np.asarray(padded[self.world_of, self.local])

    def padded(self, flat: np.ndarray, empty: float = 0.0) -> np.ndarray:
        """Numbers of worlds and things, `empty` where a world has no voxel, from those of voxels."""
        found = np.full((self.worlds, self.things, *flat.shape[1:]), empty)
        found[self.world_of, self.local] = flat
        return found


class Actuation:
    """What changes the sizes of voxels: waves, and commands of channels or, where robots differ, of voxels.

    Args:
        model: The model.
        state: The state that motions begin in.
    """

    def __init__(self, model: Model, state: Any) -> None:
        robots = model.robots
        self.amplitude, self.frequency, self.phase = (
            np.concatenate([robot.of_voxels(name) for robot in robots]) for name in ("amplitude", "frequency", "phase")
        )
        self.expansion = np.concatenate(
            [np.array([material.expansion for material in robot.materials])[robot.material_of] for robot in robots]
        )
        self._bases = np.asarray(model.tables.bases.numpy(), float)
        self._ramps = np.asarray(model.tables.waves.numpy(), float)[:, 3]
        self.channels = model.channels
        obeys = (self.expansion * self.amplitude != 0.0) & (self.frequency == 0.0)
        self.drives = np.where(obeys, COMMANDED, np.where(self.expansion * self.frequency != 0.0, WAVING, STILL))
        self.held = np.zeros((model.world_count, 1, 1))
        if model.controls:  # what ramps of commands lead to
            self.held = np.asarray(state.commands.numpy(), float).reshape(model.world_count, 1, -1, 4)[..., 1]

    def changed(self, values: Mapping[str, np.ndarray], padding: Padding) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """What drives voxels, their waves, and a table of commands, shape [intervals, voxels], with new values."""
        own = {"amplitude": self.amplitude, "frequency": self.frequency, "phase": self.phase}
        now = {name: padding.flat(values[name]) if name in values else mine for name, mine in own.items()}
        change = self.expansion * now["amplitude"]
        if (self._bases <= np.abs(change)).any():
            least = float((self._bases - np.abs(change)).min())
            raise InvalidValue(f"a voxel would shrink to {least:.3g} of its size: use a smaller amplitude.")
        waves = np.column_stack([change, now["frequency"], now["phase"], self._ramps])
        table = values.get("controls", self.held)  # of worlds, intervals and channels
        commands = np.asarray(table[padding.world_of, :, np.maximum(self.channels, 0)], float).T
        return self.drives, waves, commands

    def rates(
        self, by_table: np.ndarray, by_waves: np.ndarray, values: Mapping[str, np.ndarray], padding: Padding
    ) -> dict[str, np.ndarray]:
        """Rates by parameters from those by what the kernels read."""
        found = {
            "amplitude": padding.padded(self.expansion * by_waves[:, 0]),
            "frequency": padding.padded(by_waves[:, 1]),
            "phase": padding.padded(by_waves[:, 2]),
        }
        if "controls" in values:
            by_controls = np.zeros(values["controls"].shape)
            there = np.flatnonzero(self.drives == COMMANDED)
            by_controls[padding.world_of[there], :, self.channels[there]] = by_table[:, there].T
            found["controls"] = by_controls
        return found


class Moduli:
    """Factors on the moduli of voxels, and rates by them.

    Args:
        model: The model.
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        self.value = np.concatenate([robot.of_voxels("stiffness") for robot in model.robots])
        materials = [np.array([m.youngs_modulus for m in robot.materials])[robot.material_of] for robot in model.robots]
        self._moduli = np.concatenate(materials)

    def changed(self, factors: np.ndarray) -> Model:
        """The model with other factors, shape [voxels]."""
        robots, first = [], self._model.first_voxel
        for number, robot in enumerate(self._model.robots):
            stiffness = np.ones(robot.grid.shape)
            stiffness[tuple(robot.cells.T)] = factors[first[number] : first[number + 1]]
            robots.append(replace(robot, stiffness=stiffness))
        world = replace(self._model.world, dt=self._model.dt)
        return Model(robots, world, self._model.device, positions=self._model.corners, group=self._model.group)

    def rates(self, by_links: np.ndarray, by_moduli: np.ndarray, factors: np.ndarray) -> np.ndarray:
        """Rates by factors from those by logarithms of moduli; halves of a link are in series, [voxels]."""
        after, _ = self._model.neighbours()
        first, axis = np.nonzero(after >= 0)
        second, moduli = after[first, axis], self._moduli * factors
        by_link, found = by_links.reshape(-1, 3)[first, axis], np.array(by_moduli)
        both = moduli[first] + moduli[second]
        np.add.at(found, first, by_link * moduli[second] / both)
        np.add.at(found, second, by_link * moduli[first] / both)
        return found / factors


def inputs_of(model: Model, state: Any, padding: Padding, actuation: Actuation, moduli: Moduli) -> dict[str, Input]:
    """The parameters by name."""
    still = "" if (actuation.drives != STILL).any() else "no voxel is actuated"
    waves = "" if (actuation.drives == WAVING).any() else "no voxel has an expansion and a frequency"
    commands = "" if (actuation.drives == COMMANDED).any() else "no voxel has an amplitude and no frequency"
    places = model.places + np.asarray(state.displacements.numpy(), float)
    speeds = np.asarray(state.velocities.numpy(), float)
    gravity = np.broadcast_to(np.asarray(model.world.gravity, float), (padding.worlds, 3))
    of_voxels, of_axes = ("world", "voxel"), ("world", "voxel", "axis")
    table = ("world", "interval", "control")
    listed = [
        Input("controls", table, actuation.held, 1, "", "commands from -1 to 1 of voxels that have no wave", -1.0, 1.0,
              idle=commands),
        Input("amplitude", of_voxels, padding.padded(actuation.amplitude), None, "K", "of temperatures", idle=still),
        Input("frequency", of_voxels, padding.padded(actuation.frequency), None, "Hz", "of waves", idle=waves),
        Input("phase", of_voxels, padding.padded(actuation.phase), None, "cycles", "of waves", idle=waves),
        Input("stiffness", of_voxels, padding.padded(moduli.value, 1.0), None, "", "factors on moduli", positive=True),
        Input("positions", of_axes, padding.padded(places), None, "m", "of voxels at the beginning"),
        Input("velocities", of_axes, padding.padded(speeds), None, "m/s", "of voxels at the beginning"),
        Input("gravity", ("world", "axis"), gravity, None, "m/s²", "acceleration"),
    ]  # fmt: skip
    return {one.name: one for one in listed}
