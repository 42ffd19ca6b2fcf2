"""Robots compiled for a device: tables of their shapes, their controllers and sensors, and the ground."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import warp as wp

from annelid.control.bank import Bank
from annelid.control.controller import Program
from annelid.control.kernels.kinds import HOST
from annelid.core.controls import Control
from annelid.core.errors import InvalidValue
from annelid.core.identity import identity, settings_of
from annelid.voxels.kernels.layout import Layout, layout
from annelid.voxels.kernels.program import Features
from annelid.voxels.kernels.sensing import KINDS, sensor_layout
from annelid.voxels.placement import place
from annelid.voxels.robot import Robot
from annelid.voxels.tables import Shape, compile_shape
from annelid.voxels.terrain import Terrain
from annelid.voxels.world import PRECISIONS, World

_SHARED_BYTES = 48 * 1024
_MODES = {"current": 0, "mean": 1, "difference": 2}


class Model:
    """A batch of worlds, ready for the kernels.

    Args:
        worlds: The robots of each world; those of one world can touch each other.
        world: Surroundings and integration, the same for all.
        device: Warp device.
        positions: Lower left corner of each robot's voxels [m], shape [robots, 2]; None places them on the ground.
        box_positions: Centre of each box in each world [m], shape [worlds, boxes, 2]; None leaves them where they say.
    """

    def __init__(
        self,
        worlds: Sequence[Sequence[Robot]],
        world: World,
        device: wp.Device,
        *,
        positions: np.ndarray | None = None,
        box_positions: np.ndarray | None = None,
    ) -> None:
        if not worlds or not any(worlds):
            raise InvalidValue("there are no robots to simulate.")
        self.worlds, self.world, self.device = [tuple(w) for w in worlds], world, device
        self.robots = [robot for w in self.worlds for robot in w]
        self.real = PRECISIONS[world.precision]
        self.types: Layout = layout(self.real)
        self._compile()
        programs = [_program(robot) for robot in self.robots]
        self.bank = Bank(programs, self.real, device)
        self.controls = self._controls()
        self.hosted = [i for i, p in enumerate(programs) if p.kind == HOST]
        self.history_count, self.sensors = self._upload_sensors()
        largest = max(shape.voxel_count for shape in self.shapes)
        self.lanes = lanes_for(largest, len(self.worlds)) if device.is_cuda else 1
        self.features = self._features()
        self.box_positions = box_positions
        self.corners = place(self.worlds, world, positions)
        self.tables = self._upload_tables()
        self.terrain = upload_terrain(world.terrain, self.real, device)
        called = [self.robots[i].controller for i in self.hosted]  # functions of users may change as they are called
        self._surroundings = identity(world, called, self.corners, box_positions)

    @property
    def numpy_real(self) -> type:
        """NumPy type of the chosen precision."""
        return np.float32 if self.real is wp.float32 else np.float64

    @property
    def body_count(self) -> int:
        """Number of rigid bodies of all worlds."""
        return int(self.first_body[-1])

    @property
    def voxel_count(self) -> int:
        """Number of voxels of all worlds."""
        return int(self.first_voxel[-1])

    @property
    def _world_of_robot(self) -> np.ndarray:
        return np.repeat(np.arange(len(self.worlds)), np.diff(self.first_robot))

    def world_of(self) -> dict[str, wp.array[Any]]:
        """World of each body, voxel, kept reading, kept signal and world, by the kinds of rows of a state."""
        every = np.arange(len(self.worlds))
        owners = {
            "body": np.repeat(every, np.diff(self.first_body)),
            "voxel": np.repeat(every, np.diff(self.first_voxel)),
            "reading": self._world_of_reading,
            "signal": np.repeat(self._world_of_robot, self.bank.memory_counts),
            "channel": np.repeat(every, len(self.controls)),
            "world": every,
        }
        return {kind: wp.array(of.astype(np.int32), dtype=wp.int32, device=self.device) for kind, of in owners.items()}

    @property
    def interval(self) -> int:
        """Steps from one call of the controllers to the next."""
        return self.world.control_interval + 1

    def voxel_name(self, voxel: int) -> str:
        """A voxel in words."""
        robot = int(self.robot_of_voxel[voxel])
        first = int(np.searchsorted(self.robot_of_voxel, robot))
        x, y = self.robots[robot].cells[voxel - first]
        return f"voxel ({x}, {y}) of robot {robot}"

    def fingerprint(self) -> str:
        """A hash of robots and world as they were built, and of what controllers compute with now."""
        return identity(self._built, self.bank.arrays.parameters)

    @cached_property
    def _built(self) -> str:
        bodies = {robot: settings_of(robot, but=["controller"]) for robot in self.robots}
        worlds = [[bodies[robot] for robot in robots] for robots in self.worlds]
        called = set(self.hosted)
        controllers = [None if i in called else robot.controller for i, robot in enumerate(self.robots)]
        return identity(worlds, controllers, self._surroundings)

    def initial_motion(self) -> tuple[np.ndarray, np.ndarray]:
        """Positions (x, y, cos, sin) and velocities (vx, vy, spin, 0) of all bodies, shape [bodies, 4]."""
        positions, velocities = np.zeros((self.body_count, 4)), np.zeros((self.body_count, 4))
        positions[:, 2] = 1.0
        owner = self.robot_of_body
        ours = owner >= 0
        positions[:, :2] = self.body_centers
        positions[ours, :2] += self.corners[owner[ours]]
        for number, item in enumerate(self.world.boxes):
            where = owner == -1 - number
            positions[where] = [*item.position, np.cos(item.angle), np.sin(item.angle)]
            velocities[where, 2] = item.spin
            if self.box_positions is not None:
                positions[where, :2] = np.asarray(self.box_positions)[:, number]
        return positions, velocities

    def _compile(self) -> None:
        """Tables of the distinct worlds, and where each world begins in all arrays."""
        keys: dict[Any, int] = {}
        self.shapes: list[Shape] = []
        shape_of = []
        for robots in self.worlds:
            key = tuple(robot.body_key for robot in robots)
            if key not in keys:
                keys[key] = len(self.shapes)
                self.shapes.append(compile_shape(robots, self.world.boxes, self.world.step))
            shape_of.append(keys[key])
        self.shape_of = np.array(shape_of)
        self.first_body = _starts(np.array([s.body_count for s in self.shapes])[self.shape_of])
        self.first_voxel = _starts(np.array([s.voxel_count for s in self.shapes])[self.shape_of])
        self.first_robot = _starts(np.array([len(robots) for robots in self.worlds]))
        self.body_centers = np.concatenate([self.shapes[s].centers for s in shape_of])
        parts = [self.shapes[s].robot_of_body for s in shape_of]
        self.robot_of_body = np.concatenate(
            [np.where(part >= 0, part + first, part) for part, first in zip(parts, self.first_robot[:-1], strict=True)]
        )
        self.robot_of_voxel = np.concatenate(
            [self.shapes[s].robot_of_voxel + first for s, first in zip(shape_of, self.first_robot[:-1], strict=True)]
        )

    def _controls(self) -> tuple[Control, ...]:
        """Channels of the voxels of robots without a controller, if every world has the same ones."""
        free_ones = {tuple(robot.controller is None for robot in robots) for robots in self.worlds}
        robots = self.worlds[0] if len(self.shapes) == len(free_ones) == 1 else ()
        free = np.repeat([robot.controller is None for robot in robots], [robot.voxel_count for robot in robots])
        self.channel_of = np.where(free, np.cumsum(free) - 1, -1).astype(np.int32)
        return tuple(
            Control(f"{whose}voxel {x},{y}", -1.0, 1.0, 0.0, "", "shrinks a voxel (1) or makes it grow (-1)")
            for robot, whose in zip(robots, _owners(len(robots)), strict=True)
            if robot.controller is None
            for x, y in robot.cells.tolist()
        )

    def _features(self) -> Features:
        forced = any(shape.forced for shape in self.shapes)
        need = max(2 * s.body_count + (15 if forced else 11) * s.voxel_count for s in self.shapes)
        return Features(
            real=self.real,
            grounded=self.world.terrain is not None,
            uneven=self.world.terrain is not None and self.world.terrain.uneven,
            loaded=any(robot.loads for robot in self.robots),
            forced=forced,
            paired=bool(self.world.boxes) or any(len(robots) > 1 for robots in self.worlds),
            sensing=int(self.bank.first_inputs[-1]) > 0,
            worked=self.world.work,
            watched=self.world.watch,
            commanded=bool(self.controls),
            kinds=self.bank.kinds,
            functions=self.bank.functions,
            quads=shared_quads(need, self.real) if self.lanes > 1 else 0,
        )

    def _upload_tables(self) -> Any:
        types, tables = self.types, self.types.Tables()
        shapes = self.shapes
        bodies, voxels = (_starts([getattr(s, f"{n}_count") for s in shapes]) for n in ("body", "voxel"))
        materials = _starts([len(s.materials) for s in shapes])
        worlds = np.zeros(len(self.worlds), dtype=types.World.numpy_dtype())
        pick = self.shape_of
        worlds["body"], worlds["voxel"] = self.first_body[:-1], self.first_voxel[:-1]
        worlds["body_count"], worlds["voxel_count"] = np.diff(self.first_body), np.diff(self.first_voxel)
        worlds["shape_body"], worlds["shape_voxel"], worlds["shape_material"] = (
            bodies[pick],
            voxels[pick],
            materials[pick],
        )
        step, given = self.world.step, self.world.substeps
        worlds["substeps"] = np.array([given or shape.substeps(step) for shape in shapes])[pick]
        worlds["brain"], worlds["brain_count"] = self.first_robot[:-1], np.diff(self.first_robot)
        worlds["object"] = worlds["body_count"] - len(self.world.boxes)
        tables.worlds = wp.array(worlds, dtype=types.World, device=self.device)
        kinds = {
            "materials": types.real, "corners": types.real, "material_of": wp.int32,
            "side_bodies": wp.vec2i, "mass_body": wp.int32, "mass_arm": types.vec2, "body_constants": types.vec4,
            "body_surface": types.vec4, "body_box": types.vec4, "body_quadrants": wp.int32, "entries": wp.int32,
            "points": types.vec2, "point_bits": wp.int32,
        }  # fmt: skip
        for name, kind in kinds.items():
            setattr(tables, name, self._array(np.concatenate([getattr(s, name) for s in shapes]), kind))
        for name, what in (("entry_begin", "entries"), ("point_begin", "points")):
            ahead = _starts([len(getattr(s, what)) for s in shapes])
            begins = [getattr(s, name)[:-1] + start for s, start in zip(shapes, ahead[:-1], strict=True)]
            setattr(tables, name, self._array(np.concatenate([*begins, ahead[-1:]]), wp.int32))
        tables.loads, tables.load_end = self._loads()
        tables.gravity = types.vec2(0.0, self.world.gravity[2])
        tables.dt, tables.interval = self.world.step, self.interval
        tables.channel_of = self._array(self.channel_of, wp.int32)
        tables.channel_count = len(self.controls)
        tables.watched = int(self.world.watch)
        return tables

    def _loads(self) -> tuple[wp.array[Any], wp.array[Any]]:
        """Force of each body and its moments, and the step at which it ends."""
        loads, ends = np.zeros((self.body_count, 4)), np.full(self.body_count, np.iinfo(np.int64).max)
        for first, kind, robots in zip(self.first_body[:-1], self.shape_of, self.worlds, strict=True):
            shape = self.shapes[kind]
            for local, robot in enumerate(robots):
                masses = np.repeat(shape.robot_of_voxel == local, 4)
                body, arm = first + shape.mass_body[masses], shape.mass_arm[masses]
                for load in robot.loads:
                    f = load.forces[robot.cells[:, 0], robot.cells[:, 1]].reshape(-1, 2)
                    turned = np.stack([arm[:, 0] * f[:, 1] - arm[:, 1] * f[:, 0], (arm * f).sum(axis=1)], axis=1)
                    np.add.at(loads, body, np.concatenate([f, turned], axis=1))
                    if np.isfinite(load.seconds):
                        ends[body] = round(load.seconds / self.world.step + 0.5 + 1e-9)
        return self._array(loads, self.types.vec4), wp.array(ends, dtype=wp.int64, device=self.device)

    def _upload_sensors(self) -> tuple[int, Any]:
        """The inputs of all controllers, robot by robot."""
        sensors = sensor_layout(self.real)()
        first = self.first_voxel[np.repeat(np.arange(len(self.worlds)), np.diff(self.first_robot))]
        within = _starts([robot.voxel_count for robot in self.robots])[:-1] - first
        flat = [
            (voxel + start, sensor, robot.seed, n)
            for robot, start in zip(self.robots, within.tolist(), strict=True)
            for n, (voxel, sensor) in enumerate(robot.inputs)
        ]
        lengths = np.array([0 if s.window.length == 1 else s.window.length for _, s, _, _ in flat], int)
        starts = _starts(lengths)
        inputs = [len(robot.inputs) for robot in self.robots]
        self._world_of_reading = np.repeat(np.repeat(self._world_of_robot, inputs), lengths)
        columns = {
            "kinds": [KINDS.index(s.kind) for _, s, _, _ in flat],
            "voxels": [voxel for voxel, _, _, _ in flat],
            "modes": [_MODES[s.window.mode] for _, s, _, _ in flat],
            "lengths": lengths,
            "histories": starts[:-1],
            "seeds": [(seed * 1_000_003 + n * 7919) % (2**31) for _, _, seed, n in flat],
        }
        for name, values in columns.items():
            setattr(sensors, name, self._array(np.array(values, np.int32), wp.int32))
        settings = np.array([[*s.settings, s.noise] for _, s, _, _ in flat]).reshape(-1, 4)
        sensors.settings = self._array(settings, self.types.vec4)
        self.noisy = bool(settings[:, 3].any())
        sensors.mass_mask = self._array(np.concatenate([s.mass_mask for s in self.shapes]), wp.int32)
        return int(starts[-1]), sensors

    def _array(self, values: Any, dtype: Any) -> wp.array[Any]:
        return device_array(values, dtype, self.real, self.device)


def upload_terrain(ground: Terrain | None, real: Any, device: wp.Device) -> Any:
    """The ground as kernels take it."""
    result = layout(real).Terrain()
    points = np.zeros((0, 2)) if ground is None else ground.points
    starts, tops = (np.zeros(0), np.zeros(0)) if ground is None else ground.buckets()
    result.xs, result.ys = (device_array(points[:, i], real, real, device) for i in (0, 1))
    result.starts, result.tops = device_array(starts, wp.int32, real, device), device_array(tops, real, real, device)
    result.count = len(points)
    if ground is not None:
        result.pieces = device_array(ground.pieces(), layout(real).vec4, real, device)
        result.left, result.density = float(points[0, 0]), 1.0 / ground.bucket
        result.friction, result.restitution = ground.friction, ground.restitution
    return result


def device_array(values: Any, dtype: Any, real: Any, device: wp.Device) -> wp.array[Any]:
    """Numbers on the device: floating ones in the precision `real`, flat where they are scalars, others as int32."""
    values = np.ascontiguousarray(values)
    if dtype is real:
        values = values.reshape(-1)
    if len(values) == 0:
        return wp.zeros(0, dtype=dtype, device=device)
    if values.dtype.kind == "f":
        values = values.astype(np.float32 if real is wp.float32 else np.float64)
    elif values.dtype != np.int32:
        values = values.astype(np.int32)
    return wp.array(values, dtype=dtype, device=device)


def _program(robot: Robot) -> Program:
    if robot.controller is None:
        return Program(0, robot.voxel_count, len(robot.inputs))
    return robot.controller.bind(robot.voxel_count, robot.input_counts.tolist(), robot.neighbours)


def _owners(count: int) -> list[str]:
    """What the names of channels begin with, robot by robot."""
    return [""] if count == 1 else [f"robot {i} " for i in range(count)]


def _starts(counts: Any) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(np.asarray(counts, int))]).astype(int)


def shared_quads(need: int, real: Any) -> int:
    """Vectors of four numbers to set aside in shared memory for `need` of them; 0 where they do not fit."""
    quads = -(-need // 128) * 128
    return quads if quads * (16 if real is wp.float32 else 32) <= _SHARED_BYTES else 0


def lanes_for(voxels: int, worlds: int) -> int:
    """CUDA threads a world, in whole warps: one a side where few worlds leave the device idle, else one a voxel.

    Measured on an H200: 4,096 robots of 5x5 are fastest with 32 threads each, 2,500 of 11x4 and 2,500 random bodies
    within 10x10 with 64 (10 and 21 % ahead of 32; 4 % ahead of 128). The result of a step does not depend on it.
    """
    wanted, most = (4 * voxels, 256) if worlds <= 1024 else (voxels, 64)
    return int(np.clip(-(-wanted // 32) * 32, 32, most))
