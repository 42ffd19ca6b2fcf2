"""Depth images of many worlds, written where observations are read."""

from __future__ import annotations

from dataclasses import replace

import warp as wp

from annelid.envs.hooks import Batch, Channel
from annelid.envs.kernels import soil as kernels
from annelid.view.camera.camera import Camera, Film
from annelid.view.camera.stage import Stage


class DepthImages:
    """One camera a world.

    Args:
        worlds: The worlds, which observe the channel.
        channel: A channel of the shape [height, width]; depths are clipped to its limits [m].
        camera: The camera in each world.
        far: Depth beyond which nothing is looked for [m].

    Attributes:
        eyes: The cameras on the device, shape [worlds]; a kernel may move them.
    """

    def __init__(self, worlds: Batch, channel: Channel, camera: Camera, far: float) -> None:
        height, width = channel.shape
        views = [replace(camera, world=world) for world in range(worlds.count)]
        self._film = Film(views, size=(width, height), far=far, device=worlds.device)
        self._film.depth = worlds.observations[channel.name]  # rays write where observations are read
        self._limits, self._device, self.eyes = [channel.low, channel.high], worlds.device, self._film.eyes

    def take(self, stage: Stage) -> None:
        """Take the images of all worlds."""
        depth = self._film.cast_depth(stage)
        wp.launch(kernels.clip_depth, depth.shape, self._limits, [depth], device=self._device)
