"""Bulldozers in the soil of many worlds: where they stand, how they steer, what they have done and what they see."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import warp as wp

from annelid.envs.depth import DepthImages
from annelid.envs.hooks import Batch, Channel
from annelid.envs.kernels import bulldozer as kernels
from annelid.envs.kernels.soil import SHARES
from annelid.envs.machines import Bulldozer
from annelid.envs.soil import Soil
from annelid.view.camera.camera import Camera

NEAR, FAR = 0.2, 3.0
"""What the camera in a cabin sees [m]."""

CEILING = 2.0
"""Height of the camera above a field [m]."""

_FOV = 1.57  # of the camera in a cabin [rad]


class Bulldozers:
    """One machine a world.

    Args:
        worlds: The worlds, whose last body is the machine, called "bulldozer".
        images: Channels of the depth ahead and from above; empty for no images.
        width: Width of the field [m].

    Attributes:
        soil: The soil.
    """

    def __init__(self, worlds: Batch, images: Sequence[Channel], width: float) -> None:
        self.soil, self._device, self._count = Soil(worlds.simulation), worlds.device, worlds.count
        self._solver, self._state = worlds.simulation.solver, worlds.state
        self._which = self.soil.bodies, self.soil.bodies - 1
        self._middle = wp.vec3(*self._solver.model.bodies[self.soil.bodies - 1].rigid.middle)
        self._places, self._turns = self._zeros(self._count, wp.vec3), self._zeros(self._count, wp.quat)
        self._commands = self._zeros((self._count, 3), wp.float32)
        self._shares = self._zeros((self._count, SHARES), wp.vec2d)
        types = {"worth": wp.float32, "delivered": wp.float32, "poses": wp.vec3}
        self._judged = {name: self._zeros(self._count, dtype) for name, dtype in types.items()}
        if images:
            self._mount(worlds, *images, width=width)

    def stand(self, chances: wp.array[Any], low: wp.vec3, high: wp.vec3, mask: wp.array[Any]) -> None:
        """Put machines of masked worlds between two poses (x, y [m], heading [rad]), as chances from 0 to 1 say."""
        self._launch(kernels.stand, [chances, self._middle, low, high], [self._places, self._turns])
        self._solver.place(self._state, "bulldozer", self._places, self._turns, mask)

    def steered(self, actions: wp.array[Any], speed: float, spin: float) -> wp.array[Any]:
        """Velocity along x and y and spin about z in the next step, shape [worlds, 3]."""
        inputs = [actions, *self._which, self._middle, speed, spin, self._solver.dt, *self._poses]
        self._launch(kernels.steer, inputs, [self._commands])
        return self._commands

    def judged(self, goal: tuple[float, float, float, float]) -> Mapping[str, wp.array[Any]]:
        """What the grains are worth, which part of them is in the goal, and poses of the machines, by name."""
        (x0, x1, y0, y1), soil = goal, self.soil
        soil.gather()
        inputs = [soil.points, soil.grains, wp.vec3(x0, y0, -1.0), wp.vec3(x1, y1, 1.0e3)]
        wp.launch(kernels.share_reward, self._shares.shape, inputs, [self._shares], device=self._device)
        inputs = [self._shares, soil.grains, *self._which, self._middle, *self._poses]
        self._launch(kernels.judge, inputs, list(self._judged.values()))
        return self._judged

    def look(self) -> None:
        """Take the images."""
        self._launch(kernels.look_ahead, [*self._which, self._seat, self._target, *self._poses], [self._ego.eyes])
        self.soil.photograph(self._ego.take, self._sky.take)

    @property
    def _poses(self) -> list[wp.array[Any]]:
        return [self._state.places, self._state.turns]

    def _mount(self, worlds: Batch, ahead: Channel, above: Channel, *, width: float) -> None:
        """One camera in each cabin, one above each field."""
        size = Bulldozer().length  # above the windshield: from behind it the hood would fill half of the image
        seat, target = size * np.array([0.30, 0.0, 0.95]), size * np.array([1.5, 0.0, 0.1])
        self._seat, self._target = (wp.vec3(*(point - np.asarray(self._middle))) for point in (seat, target))
        sky = Camera((0.0, 0.0, CEILING), (0.0, 0.0, 0.0), up=(0.0, 1.0, 0.0), height=width)
        self._ego = DepthImages(worlds, ahead, Camera(tuple(seat), tuple(target), fov=_FOV), FAR)
        self._sky = DepthImages(worlds, above, sky, 2.0 * CEILING)

    def _launch(self, kernel: wp.Kernel, inputs: list[Any], outputs: list[Any]) -> None:
        wp.launch(kernel, self._count, inputs, outputs, device=self._device)

    def _zeros(self, shape: Any, dtype: Any) -> wp.array[Any]:
        return wp.zeros(shape, dtype=dtype, device=self._device)
