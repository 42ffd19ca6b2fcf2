"""Excavation (GranularGym, sec. III-C): an arm with a bucket brings soil from a tray into a bin, and feels it.

The soil pushes back: forces on links and bucket are the sums of their contacts, loads of the joints are Jᵀw, and an
episode ends where a joint would give in. Gravity on the arm itself is taken to be balanced, as its maker's controller
does.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import warp as wp
from scipy.spatial.transform import Rotation

from annelid import grains
from annelid.core.snapshot import Snapshot
from annelid.core.state import bundle
from annelid.envs.kernels import excavation as kernels
from annelid.envs.kernels import soil as soil_kernels
from annelid.envs.machines import HOME, Bucket, panda
from annelid.envs.site import BIN, filled, outline_sides, site_walls
from annelid.envs.soil import Soil, settled
from annelid.envs.worlds import Channel, Worlds, require
from annelid.grains import World
from annelid.shapes import Obstacle, Rigid, Surface
from annelid.view.camera.camera import Camera, Film

_CEILING = 1.0  # height of the sky camera [m]
_VIEW = (0.5, 0.175, 0.9)  # middle of its image and the side of it [m]
_SETTLE = 0.5  # [s]
_WHITE, _STEEL = (0.92, 0.92, 0.90), (0.45, 0.48, 0.52)
_MOUTH = 0.75 * math.pi  # turn of the bucket on the flange: its mouth looks at the foot of the arm, which leaves
# the wrist room to turn it up


@dataclass(frozen=True, kw_only=True)
class ExcavationOptions:
    """Options of `annelid/Excavation-v0`.

    Attributes:
        grains: Number of grains in the tray; 3,000 fill it a hand deep.
        radius: Radius of a grain [m].
        dt: Time step [s].
        substeps: Steps in an action.
        seconds: Length of an episode [s].
        speed: Share of the arm's largest joint speeds that an action of 1 asks for.
        acceleration: Largest acceleration of a joint [rad/s²].
        force_limit: Force on the bucket beyond which the reward falls [N].
        penalty: Reward that is lost in an action for each time that the limit is exceeded by itself.
        spread: Joint angles that episodes begin with differ by up to this from the usual pose [rad].
        meshes: Whether to use the maker's meshes of the arm; None takes them where `example-robot-data` is installed.
        images: Whether the depth image is observed.
    """

    grains: int = 3000
    radius: float = 0.01
    dt: float = 5e-4
    substeps: int = 100
    seconds: float = 15.0
    speed: float = 0.4
    acceleration: float = 10.0
    force_limit: float = 60.0
    penalty: float = 0.1
    spread: float = 0.05
    meshes: bool | None = None
    images: bool = True

    def __post_init__(self) -> None:
        require("grains", self.grains, 1, 1_000_000, whole=True)
        require("radius", self.radius, 2e-3, 0.02)
        require("dt", self.dt, 1e-5, 2e-3)
        require("substeps", self.substeps, 1, 100_000, whole=True)
        require("seconds", self.seconds, 1e-3, 1e6)
        require("speed", self.speed, 0.0, 1.0)
        require("acceleration", self.acceleration, 0.1, 1e4)
        require("force_limit", self.force_limit, 1e-3, 1e6)
        require("penalty", self.penalty, 0.0, 1e6)
        require("spread", self.spread, 0.0, 0.3)


class Excavation(Worlds):
    """Trays with soil, bins, and an arm each.

    Args:
        count: Number of worlds.
        options: Options of the task.
        device: Where to compute.
        threads: CPU threads; None takes all cores.
    """

    title: ClassVar[str] = "Excavation"
    settings: ClassVar[type[Any]] = ExcavationOptions
    followed: ClassVar[bool] = False
    solver: grains.Solver

    def __init__(
        self, count: int, options: ExcavationOptions, *, device: str | wp.Device = "auto", threads: int | None = None
    ) -> None:
        self.robot, self.bucket = panda(meshes=options.meshes), Bucket()
        turn = np.eye(4)
        turn[:2, :2] = [[math.cos(_MOUTH), -math.sin(_MOUTH)], [math.sin(_MOUTH), math.cos(_MOUTH)]]
        self.chain = self.robot.chain.with_tool(self.robot.chain.tool @ turn)
        super().__init__(count, options, device=device)
        world = World(dt=options.dt)
        bed = settled(filled(options.grains, options.radius), site_walls(), world, _SETTLE, self.device)
        arm = self._arm_bodies()

        def bodies(number: int) -> Sequence[Obstacle]:
            return [*site_walls(number), *(replace(body, world=number) for body in arm)]

        self.soil = Soil(count, bed, bodies, world, device=self.device, threads=threads)
        self.solver = self.soil.solver
        self.grain_mass = float(bed.masses[0])
        self._build_arm(arm)
        self._build_camera()
        self.soil.solver.accompany(lambda grains: self.after_step())

    @property
    def channels(self) -> tuple[Channel, ...]:
        """Joint angles and speeds, bucket, wrench, mass carried, depth from above."""
        from_above = (("depth from above [m], row by row", 36 * 36),)
        bucket = (("x, y, z of the bucket [m]", 3), ("its rotation as a quaternion x, y, z, w", 4))
        wrench = (("force on the bucket in its frame, x, y, z [N]", 3), ("torque, x, y, z [N m]", 3))
        return (
            Channel("angles", (7,), -4.0, 4.0, (("angles of the joints from the base [rad]", 7),)),
            Channel("speeds", (7,), -3.0, 3.0, (("speeds of the joints [rad/s]", 7),)),
            Channel("bucket", (7,), -2.0, 2.0, bucket),
            Channel("wrench", (6,), parts=wrench),
            Channel("carried", (1,), 0.0, 1.0e3, (("mass in the bucket [kg]", 1),)),
            *((Channel("sky", (36, 36), 0.0, _CEILING, from_above),) if self.options.images else ()),
        )

    @property
    def action_size(self) -> int:
        """Speeds of the joints."""
        return len(self.chain)

    @property
    def action_seconds(self) -> float:
        """Simulated time of an action [s]."""
        return self.options.dt * self.options.substeps

    @property
    def camera(self) -> Camera | None:
        """From the side of the bin."""
        return Camera.framing((np.array([-0.1, -0.3, 0.0]), np.array([0.85, 0.65, 0.7])), direction=(0.9, 0.9, 0.6))

    told: ClassVar[Mapping[str, str]] = {
        "carried": "mass in the bucket [kg]",
        "delivered": "mass in the bin [kg]",
        "work": "work of the arm on the soil since the episode began [J]",
        "strain": "largest load of a joint over its limit",
    }

    def info(self) -> dict[str, np.ndarray]:
        """Mass in bucket and bin [kg], work of the arm [J], largest load of a joint over its limit."""
        masses = self._masses.numpy()
        torques = np.abs(self.joints.torques.numpy()) / self.chain.effort
        return {
            "carried": masses[:, 0].copy(),
            "delivered": masses[:, 1].copy(),
            "work": np.array(self.joints.work.numpy()),
            "strain": torques.max(axis=1),
        }

    def snapshot(self, world: int = 0) -> Snapshot:
        """The site with arm and soil."""
        return self.soil.snapshot(world, float(self.steps.numpy()[world]) * self.action_seconds)

    def _memory(self) -> dict[str, Any]:
        return {
            "soil": self.soil.state,
            "joints": bundle(**self._joint_arrays),
            "masses": self._masses,
            "before": self._before,
        }

    def _after_load(self) -> None:
        self.solver.unbind()

    # --- episodes ---

    def _begin(self, mask: wp.array[Any]) -> None:
        self.soil.restart(mask)
        state = self.soil.state
        inputs = [mask, self.seeds, self.episodes, self._home, self.options.spread, self._arm, self._links]
        self._launch(kernels.pose, [*inputs, self.joints], [state.places, state.turns])
        self._weigh()
        self._launch(kernels.note_start, [mask, self._masses], [self._before])

    def _advance(self) -> None:
        self._drive()
        self.soil.advance(self.options.substeps)

    def after_step(self) -> None:
        """Account for a step of the soil, and set where the arm goes in the next one."""
        state = self.soil.state
        motion = [state.places, state.body_velocities, state.body_spins, state.forces, state.torques]
        inputs = [self.options.dt, self._arm, self._limits, self._links, *motion, self.joints]
        self._launch(kernels.account, inputs)
        self._drive()

    def _drive(self) -> None:
        state = self.soil.state
        inputs = [self.actions, self.options.dt, self._arm, self._limits, self._links, self.joints]
        outputs = [state.drives, state.body_forecast, state.body_turning]
        self._launch(kernels.drive, [*inputs, state.places, state.turns], outputs)

    def _judge(self) -> None:
        o = self.options
        self._weigh()
        total = self.grain_mass * self.soil.grains
        inputs = [self._masses, total, self._limits, o.force_limit, o.penalty, self.joints, self._before]
        self._launch(kernels.judge, inputs, [self.rewards, self.terminated])

    def _weigh(self) -> None:
        """Masses in bucket and bin."""
        soil = self.soil
        soil.gather()
        low, high = (wp.vec3(*corner) for corner in BIN)
        hold = [len(self.chain), self.joints.frames, self._sides, self._half]
        size = (self.count, soil_kernels.SHARES)
        inputs = [soil.points, soil.grains, *hold, low, high]
        wp.launch(kernels.share_counts, size, inputs, [self._shares], device=self.device)
        self._launch(kernels.count_shares, [self._shares, self.grain_mass], [self._masses])

    def _observe(self, mask: wp.array[Any]) -> None:
        seen = self.observations
        names = ("angles", "speeds", "bucket", "wrench", "carried")
        self._launch(kernels.show, [mask, self.joints, self._masses], [seen[name] for name in names])
        if self.options.images:
            depth = self._film.cast_depth(self.soil.look())
            wp.launch(soil_kernels.clip_depth, depth.shape, [0.0, _CEILING], [depth], device=self.device)

    # --- building ---

    def _arm_bodies(self) -> list[Rigid]:
        """Moving links and the bucket, driven, each in the frame that it moves with."""
        frames = self.chain.frames(HOME[None])[0]
        links = [Rigid(link, motion="driven", color=_WHITE, cells=32) for link in self.robot.links[1:]]
        bucket = Rigid(self.bucket.mesh(), Surface(friction=0.4), motion="driven", color=_STEEL, cells=64)
        turns = Rotation.from_matrix(frames[:, :3, :3]).as_quat()
        return [
            replace(body, position=tuple(frame[:3, 3]), rotation=tuple(turn))
            for body, frame, turn in zip([*links, bucket], frames, turns, strict=True)
        ]

    def _build_arm(self, bodies: list[Rigid]) -> None:
        chain, count, device, o = self.chain, self.count, self.device, self.options
        self._arm = chain.on(device)

        def floats(values: np.ndarray) -> wp.array[Any]:
            return wp.array(np.asarray(values, np.float32), dtype=wp.float32, device=device)

        limits: Any = kernels.Limits()
        limits.lower, limits.upper = floats(chain.lower), floats(chain.upper)
        limits.speed, limits.effort = floats(o.speed * chain.speed), floats(chain.effort)
        limits.acceleration, limits.memory = o.acceleration, 0.02
        links: Any = kernels.Links()
        links.first, links.count, links.each = self.soil.bodies - len(bodies), len(bodies), self.soil.bodies
        links.frame_of = wp.array(np.arange(len(bodies), dtype=np.int32), dtype=wp.int32, device=device)
        middles = np.array([body.middle for body in bodies], np.float32)
        links.middles = wp.array(middles, dtype=wp.vec3, device=device)
        joints: Any = kernels.Joints()
        each = ("angles", "speeds", "goals", "rates", "torques")
        self._joint_arrays = {
            **{name: self._zeros((count, len(chain)), wp.float32) for name in each},
            "frames": self._zeros((count, len(chain) + 1), wp.transform),
            "wrenches": self._zeros(count, wp.spatial_vector),
            "work": self._zeros(count, wp.float64),
            "peaks": self._zeros(count, wp.float32),
        }
        for name, array in self._joint_arrays.items():
            setattr(joints, name, array)
        self._limits, self._links, self.joints, self._home = limits, links, joints, floats(HOME)
        self._sides = wp.array(outline_sides(self.bucket).astype(np.float32), dtype=wp.vec3, device=device)
        self._half = 0.5 * self.bucket.width - self.bucket.thickness
        self._shares = self._zeros((count, soil_kernels.SHARES), wp.vec3i)
        self._masses, self._before = self._zeros(count, wp.vec3), self._zeros(count, wp.float32)

    def _build_camera(self) -> None:
        if not self.options.images:
            return
        x, y, side = _VIEW
        sky = Camera((x, y, _CEILING), (x, y, 0.0), up=(0.0, 1.0, 0.0), height=side)
        views = [replace(sky, world=world) for world in range(self.count)]
        self._film = Film(views, size=(36, 36), far=2.0 * _CEILING, device=self.device)
        self._film.depth = self.observations["sky"]  # rays write where observations are read
