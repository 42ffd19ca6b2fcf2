"""Arms with a bucket in the soil of many worlds: their joints, what pushes them, and what they hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import warp as wp

from annelid.core.errors import InvalidValue
from annelid.envs.depth import DepthImages
from annelid.envs.hooks import Batch
from annelid.envs.kernels import arm as kernels
from annelid.envs.kernels import excavation as counting
from annelid.envs.kernels import soil as soil_kernels
from annelid.envs.machines import HOME, Bucket, Chain
from annelid.envs.site import BIN, outline_sides
from annelid.envs.soil import Soil
from annelid.shapes import Rigid

_MEMORY = 0.02  # time over which forces are smoothed [s]


class ArmInSoil:
    """One arm a world.

    Args:
        worlds: The worlds, whose last bodies are the links of the arm and the bucket.
        chain: Its joints.
        bodies: Links and bucket.
        bucket: The bucket.
        limits: Speeds [rad/s] and acceleration [rad/s²] of the joints, by name.
        camera: What `DepthImages` takes: the image, the camera and how far it sees; None for no image.

    Attributes:
        soil: The soil.
        joints: The joints on the device, see `kernels.Joints`.
        arrays: Their arrays by name.
        limits: What they can do, see `kernels.Limits`.
    """

    def __init__(
        self,
        worlds: Batch,
        chain: Chain,
        bodies: list[Rigid],
        bucket: Bucket,
        limits: Mapping[str, Any],
        camera: Mapping[str, Any] | None,
    ) -> None:
        self.soil, self.count, self.device = Soil(worlds.simulation), worlds.count, worlds.device
        self._solver, self._state, self._names = worlds.simulation.solver, worlds.state, [b.name for b in bodies]
        self._arm, self._chain, self._home = chain.on(self.device), chain, self._floats(HOME)
        self.limits = self._made(
            kernels.Limits(), lower=self._floats(chain.lower), upper=self._floats(chain.upper),
            speed=self._floats(limits["speed"]), effort=self._floats(chain.effort),
            acceleration=limits["acceleration"], memory=_MEMORY,
        )  # fmt: skip
        count = len(bodies)
        if count != len(chain) + 1 or len(chain) > kernels.MOST_JOINTS:
            raise InvalidValue(
                f"an arm in soil has at most {kernels.MOST_JOINTS} joints, a link for each and a bucket; this one has "
                f"{len(chain)} joints and {count} bodies."
            )
        self._links = self._made(
            kernels.Links(), first=self.soil.bodies - count, count=count, each=self.soil.bodies,
            middles=wp.array(np.array([b.middle for b in bodies], np.float32), dtype=wp.vec3, device=self.device),
        )  # fmt: skip
        each = ("angles", "speeds", "goals", "rates", "torques")
        self.arrays = {
            **{name: self._zeros((self.count, len(chain)), wp.float32) for name in each},
            "frames": self._zeros((self.count, len(chain) + 1), wp.transform),
            "wrenches": self._zeros(self.count, wp.spatial_vector),
            "work": self._zeros(self.count, wp.float64),
            "peaks": self._zeros(self.count, wp.float32),
        }
        self.joints = self._made(kernels.Joints(), **self.arrays)
        self._places, self._turns = (self._zeros((count, self.count), kind) for kind in (wp.vec3, wp.quat))
        self._sides = wp.array(outline_sides(bucket).astype(np.float32), dtype=wp.vec3, device=self.device)
        self._half = 0.5 * bucket.width - bucket.thickness
        self._shares = self._zeros((self.count, soil_kernels.SHARES), wp.vec3i)
        self._masses, self._ended = self._zeros(self.count, wp.vec3), self._zeros(self.count, wp.bool)
        self._images = None
        if camera is not None:
            self._images = DepthImages(worlds, camera["image"], camera["camera"], camera["far"])

    def pose(self, mask: wp.array[Any], chances: wp.array[Any], spread: float) -> None:
        """Put arms of masked worlds near home, at rest, as chances from 0 to 1 say."""
        inputs = [mask, chances, self._home, spread, self._arm, self._links, self.joints]
        self._launch(kernels.pose, inputs, [self._places, self._turns])
        for k, name in enumerate(self._names):
            self._solver.place(self._state, name, self._places[k], self._turns[k], mask)

    def steer(self, actions: wp.array[Any], channels: Any) -> None:
        """Send the links where the joints will be after the next step.

        Args:
            actions: Wishes of the joints, from -1 to 1, shape [worlds, joints].
            channels: Velocity and spin of each link, see `Batch.commanding`.
        """
        state = self._state
        inputs = [actions, self._solver.dt, self._arm, self.limits, self._links, state.places, state.turns]
        shape = (self.count, self._links.count, 6)
        wp.launch(kernels.steer, shape, [*inputs, self.joints, channels], device=self.device)

    def account(self) -> None:
        """Note work, wrench and loads after a step."""
        state = self._state
        motion = [state.places, state.body_velocities, state.body_spins, state.forces, state.torques]
        inputs = [self._solver.dt, self._arm, self.limits, self._links, *motion, self.joints]
        wp.launch(kernels.account, (self.count, len(self._chain) + 2), inputs, device=self.device)

    def weigh(self, mass: float) -> wp.array[Any]:
        """Masses in bucket, bin and world [kg], of grains of this mass each, vec3 of shape [worlds]."""
        soil, (low, high) = self.soil, (wp.vec3(*corner) for corner in BIN)
        soil.gather()
        hold = [len(self._chain), self.joints.frames, self._sides, self._half]
        inputs = [soil.points, soil.grains, *hold, low, high]
        wp.launch(counting.share_counts, self._shares.shape, inputs, [self._shares], device=self.device)
        self._launch(counting.count_shares, [self._shares, mass], [self._masses])
        return self._masses

    def given_in(self, masses: wp.array[Any], total: float) -> wp.array[Any]:
        """Arms of which a joint gives in, and worlds whose grains are not all of this total [kg], bool a world."""
        self._launch(counting.gives_in, [masses, total, self.joints, self.limits], [self._ended])
        return self._ended

    def look(self) -> None:
        """Take the image, if there is one."""
        if self._images is not None:
            self.soil.photograph(self._images.take)

    def _launch(self, kernel: wp.Kernel, inputs: list[Any], outputs: list[Any] | None = None) -> None:
        wp.launch(kernel, self.count, inputs, outputs or [], device=self.device)

    def _made(self, struct: Any, **values: Any) -> Any:
        for name, value in values.items():
            setattr(struct, name, value)
        return struct

    def _floats(self, values: np.ndarray) -> wp.array[Any]:
        return wp.array(np.asarray(values, np.float32), dtype=wp.float32, device=self.device)

    def _zeros(self, shape: Any, dtype: Any) -> wp.array[Any]:
        return wp.zeros(shape, dtype=dtype, device=self.device)
