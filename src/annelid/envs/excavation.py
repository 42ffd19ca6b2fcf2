"""Excavation (GranularGym, sec. III-C): an arm with a bucket brings soil from a tray into a bin, and feels it.

The soil pushes back: forces on links and bucket are the sums of their contacts, loads of the joints are Jᵀw, and an
episode ends where a joint would give in. Gravity on the arm itself is taken to be balanced, as its maker's controller
does.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import warp as wp
from scipy.spatial.transform import Rotation

from annelid.core.device import device as find_device
from annelid.core.parameters import documented, parameter
from annelid.core.simulation import Simulation
from annelid.core.snapshot import Snapshot
from annelid.core.state import bundle
from annelid.envs.arm import ArmInSoil
from annelid.envs.hooks import Batch, Channel, each_world
from annelid.envs.kernels import excavation as kernels
from annelid.envs.kernels.arm import begin_action
from annelid.envs.machines import HOME, Bucket, Chain, Panda, panda
from annelid.envs.site import filled, site_walls
from annelid.envs.soil import settled, soil_simulation
from annelid.envs.task import Task
from annelid.grains import Solver, World
from annelid.grains.controls import AXES, spin_control, velocity_control
from annelid.shapes import Rigid, Surface
from annelid.view.camera.camera import Camera

_CEILING = 1.0  # height of the sky camera [m]
_VIEW = (0.5, 0.175, 0.9)  # middle of its image and the side of it [m]
_SETTLE = 0.5  # [s]
_WHITE, _STEEL = (0.92, 0.92, 0.90), (0.45, 0.48, 0.52)
_MOUTH = 0.75 * math.pi  # turn of the bucket on the flange: its mouth looks at the foot of the arm, which leaves
# the wrist room to turn it up
_MOST = 20.0  # speed [m/s] and spin [rad/s] of a link: no joint asks for half of it


@documented
class Excavation(Task):
    """Dig soil out of a tray with an arm and a bucket, and drop it into a bin: `annelid/Excavation-v0`."""

    fixed: ClassVar[tuple[str, ...]] = ("every", "smooth", "arrays")
    replayed: ClassVar[bool] = True
    followed: ClassVar[bool] = False
    told: ClassVar[Mapping[str, str]] = {
        "carried": "mass in the bucket [kg]",
        "delivered": "mass in the bin [kg]",
        "work": "work of the arm on the soil since the episode began [J]",
        "strain": "largest load of a joint over its limit",
    }

    grains: int = parameter(3000, "Number of grains in the tray; 3,000 fill it a hand deep.", limits=(1, 1_000_000))
    radius: float = parameter(0.01, "Radius of a grain [m].", unit="m", limits=(2e-3, 0.02))
    dt: float = parameter(5e-4, "Time step [s].", unit="s", limits=(1e-5, 2e-3))
    substeps: int = parameter(100, "Steps in an action.", limits=(1, 100_000))
    seconds: float = parameter(15.0, "Length of an episode [s].", unit="s", limits=(1e-3, 1e6))
    speed: float = parameter(
        0.4, "Share of the arm's largest joint speeds that an action of 1 asks for.", limits=(0.0, 1.0)
    )
    acceleration: float = parameter(10.0, "Largest acceleration of a joint [rad/s²].", unit="rad/s²", limits=(0.1, 1e4))
    force_limit: float = parameter(
        60.0, "Force on the bucket beyond which the reward falls [N].", unit="N", limits=(1e-3, 1e6)
    )
    penalty: float = parameter(
        0.1, "Reward that is lost in an action for each time that the limit is exceeded by itself.", limits=(0.0, 1e6)
    )
    spread: float = parameter(
        0.05,
        "Joint angles that episodes begin with differ by up to this from the usual pose [rad].",
        unit="rad",
        limits=(0.0, 0.3),
    )
    meshes: bool | None = parameter(
        None, "Whether to use the maker's meshes of the arm; None takes them where `example-robot-data` is installed."
    )
    images: bool = parameter(True, "Whether the depth image is observed.")
    arrays = "warp"

    @cached_property
    def robot(self) -> Panda:
        """The arm."""
        return panda(meshes=self.meshes)

    @cached_property
    def bucket(self) -> Bucket:
        """What it holds."""
        return Bucket()

    @cached_property
    def chain(self) -> Chain:
        """Its joints, up to the bucket."""
        turn = np.eye(4)
        turn[:2, :2] = [[math.cos(_MOUTH), -math.sin(_MOUTH)], [math.sin(_MOUTH), math.cos(_MOUTH)]]
        return self.robot.chain.with_tool(self.robot.chain.tool @ turn)

    @cached_property
    def grain_mass(self) -> float:
        """Mass of a grain [kg]."""
        return float(filled(self.grains, self.radius).masses[0])

    def arm(self) -> list[Rigid]:
        """Moving links and the bucket, driven, each in the frame that it moves with."""
        frames = self.chain.frames(HOME[None])[0]
        links = [Rigid(link, motion="driven", color=_WHITE, cells=32) for link in self.robot.links[1:]]
        bucket = Rigid(self.bucket.mesh(), Surface(friction=0.4), motion="driven", color=_STEEL, cells=64)
        turns = Rotation.from_matrix(frames[:, :3, :3]).as_quat()
        return [
            replace(body, position=tuple(frame[:3, 3]), rotation=tuple(turn), name=f"arm-{number}")
            for number, (body, frame, turn) in enumerate(zip([*links, bucket], frames, turns, strict=True))
        ]

    # --- building ---

    def build(self, **machine: Any) -> Simulation[Solver]:
        """Soil at rest in its tray, and arms whose links take velocities."""
        world, walls, arm = World(dt=self.dt), site_walls(), self.arm()
        bed = settled(filled(self.grains, self.radius), walls, world, _SETTLE, find_device(machine["device"]))
        controls = [
            kind(f"{body.name} {name} {axis}", body, axis, low=-_MOST, high=_MOST)
            for body in arm
            for name, kind in (("velocity", velocity_control), ("spin", spin_control))
            for axis in AXES
        ]
        return soil_simulation(bed, [*walls, *arm], world, controls, **machine)

    def prepare(self, worlds: Batch) -> ArmInSoil:
        """The soil, the arms in it and the cameras."""
        limits = {"speed": self.speed * self.chain.speed, "acceleration": self.acceleration}
        x, y, side = _VIEW
        sky = Camera((x, y, _CEILING), (x, y, 0.0), up=(0.0, 1.0, 0.0), height=side)
        image = self.channels(worlds.simulation)[-1]
        camera = {"image": image, "camera": sky, "far": 2.0 * _CEILING} if self.images else None
        return ArmInSoil(worlds, self.chain, self.arm(), self.bucket, limits, camera)

    def memory(self, worlds: Batch) -> Mapping[str, Any]:
        """The joints."""
        return {"joints": bundle(**worlds.own.arrays)}

    def steps_of_action(self, dt: float) -> int:
        """Steps in an action."""
        return self.substeps

    def action_size(self, simulation: Simulation[Any]) -> int:
        """Speeds of the joints."""
        return len(self.chain)

    # --- episodes ---

    def reset(self, worlds: Batch, mask: wp.array[Any]) -> None:
        """Put the arm where the seed says, at rest."""
        worlds.own.pose(mask, worlds.uniform(len(self.chain)), self.spread)

    def act(self, worlds: Batch) -> None:
        """Measure forces of this action anew; commands change in every step."""
        wp.launch(begin_action, worlds.count, [worlds.own.joints], device=worlds.device)

    def before_step(self, worlds: Batch) -> None:
        """Choose where the joints go, and send the links there."""
        worlds.own.steer(worlds.actions, worlds.commanding())

    def after_step(self, worlds: Batch) -> None:
        """Account for the forces of a step."""
        worlds.own.account()

    def measure(self, worlds: Batch) -> Mapping[str, wp.array[Any]]:
        """Masses in bucket, bin and world, the largest force on the bucket, and whether a joint gives in."""
        arm: ArmInSoil = worlds.own
        masses = arm.weigh(self.grain_mass)
        ended = arm.given_in(masses, self.grain_mass * self.grains)
        return {"masses": masses, "peaks": arm.joints.peaks, "ended": ended}

    def reward(self, now: Mapping[str, Any], before: Mapping[str, Any], actions: Any) -> Any:
        """Mass brought into the bin [kg], less what the bucket was pushed beyond its limit."""
        inputs = [now["masses"], before["masses"], now["peaks"], self.force_limit, self.penalty]
        return each_world(kernels.judge, inputs)

    def terminated(self, now: Mapping[str, Any], before: Mapping[str, Any], actions: Any) -> Any:
        """Joints that give in end an episode."""
        return now["ended"]

    def info(self, worlds: Batch) -> dict[str, np.ndarray]:
        """Mass in bucket and bin [kg], work of the arm [J], largest load of a joint over its limit."""
        masses, joints = worlds.now["masses"].numpy(), worlds.own.joints
        return {
            "carried": masses[:, 0].copy(),
            "delivered": masses[:, 1].copy(),
            "work": np.array(joints.work.numpy()),
            "strain": (np.abs(joints.torques.numpy()) / self.chain.effort).max(axis=1),
        }

    # --- sight ---

    def channels(self, simulation: Simulation[Any]) -> tuple[Channel, ...]:
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
            *((Channel("sky", (36, 36), 0.0, _CEILING, from_above),) if self.images else ()),
        )

    def observe(self, worlds: Batch, mask: wp.array[Any]) -> None:
        """Write what the arm knows of itself and feels, and take the image."""
        names = ("angles", "speeds", "bucket", "wrench", "carried")
        inputs, outputs = (
            [mask, worlds.own.joints, worlds.now["masses"]],
            [worlds.observations[name] for name in names],
        )
        wp.launch(kernels.show, worlds.count, inputs, outputs, device=worlds.device)
        worlds.own.look()

    @property
    def camera(self) -> Camera | None:
        """From the side of the bin."""
        return Camera.framing((np.array([-0.1, -0.3, 0.0]), np.array([0.85, 0.65, 0.7])), direction=(0.9, 0.9, 0.6))

    def picture(self, worlds: Batch, world: int) -> Snapshot:
        """The site with arm and soil."""
        arm: ArmInSoil = worlds.own
        return arm.soil.snapshot(world)
