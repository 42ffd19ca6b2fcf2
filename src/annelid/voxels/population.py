"""Many robots with bodies of their own, cut from grids of one size: built and run again and again by one object.

`Model` compiles robots one by one on the host, which is right for a few kinds of bodies. A search for bodies tries
thousands of new ones every generation: here their tables are assembled on the device, in arrays that are kept, and no
kernel is compiled again. Robots have no sensors; their voxels follow waves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import warp as wp

from annelid.control.kernels.kinds import WAVES
from annelid.control.kernels.layout import brain_layout
from annelid.core.device import device as choose_device
from annelid.core.device import thread_count
from annelid.core.errors import InvalidValue
from annelid.core.launch import Team, split_launch
from annelid.voxels.grids import Grids, require_robots
from annelid.voxels.kernels.assembly import MATTER, assembly_kernel
from annelid.voxels.kernels.layout import layout
from annelid.voxels.kernels.program import Features, block_kernel, shared_by_teams, team_kernel
from annelid.voxels.kernels.sensing import sensor_layout
from annelid.voxels.kernels.totals import CENTER_X, COLUMNS, totals_kernel
from annelid.voxels.material import Voxel
from annelid.voxels.model import lanes_for, shared_quads, upload_terrain
from annelid.voxels.placement import GAP
from annelid.voxels.stability import stable_substeps
from annelid.voxels.tables import corner_lanes, material_row
from annelid.voxels.tasks.locomotion import Locomotion, LocomotionOutcome
from annelid.voxels.terrain import Terrain, terrain
from annelid.voxels.world import PRECISIONS

WAVE = ("amplitude", "frequency", "turns", "offset", "drift")
"""Columns of the waves that drive voxels: A sin(2π (f t + turns)) + offset + drift t."""

_TABLES = {
    "material_of": ("voxels", 1), "side_bodies": ("voxels", 4), "mass_body": ("voxels", 4),
    "mass_arm": ("voxels", 4), "entries": ("voxels", 12), "body_constants": ("bodies", 1),
    "body_surface": ("bodies", 1), "body_box": ("bodies", 1), "body_quadrants": ("bodies", 1),
    "entry_begin": ("bodies", 1), "point_begin": ("bodies", 1), "points": ("points", 1), "point_bits": ("points", 1),
}  # fmt: skip
_MOTION = {
    "positions": ("bodies", 1), "velocities": ("bodies", 1), "touching": ("bodies", 1), "heights": ("bodies", 1),
    "ropes": ("voxels", 4), "controls": ("voxels", 1), "efforts": ("voxels", 1), "links": ("voxels", 6),
    "stiffness": ("voxels", 4), "lengths": ("voxels", 1), "trouble": ("robots", 1), "faults": ("robots", 1),
}  # fmt: skip
"""What the members of tables and motion have one or more of; see `kernels.layout`."""
_SLACK = 1.25  # room that arrays get beyond what was asked for


@dataclass(frozen=True)
class _Stock:
    """What the assembly and the steps need to know of materials, on the device."""

    matter: wp.array[Any]
    corners: np.ndarray
    rows: np.ndarray
    substeps: np.ndarray


class Population:
    """Robots of any bodies within a grid, all alike in size, that are asked to travel.

    Args:
        task: The task.
        materials: Materials that grids refer to; they have one side length and are actuated by area.
        device: "auto", "cpu", "cuda" or "cuda:N".
        threads: CPU threads; None takes all cores.
    """

    def __init__(
        self,
        task: Locomotion,
        materials: Sequence[Voxel],
        *,
        device: str | wp.Device = "auto",
        threads: int | None = None,
    ) -> None:
        if len({m.side_length for m in materials}) != 1 or any(m.actuation != "area" for m in materials):
            raise InvalidValue("materials of a population need one side length and must be actuated by area.")
        self.task, self.materials = task, tuple(materials)
        self.device = choose_device(device)
        self.real = PRECISIONS[task.precision]
        self._types, self._ground = layout(self.real), _ground(task.terrain)
        self._stock = self._materials()
        self._team = None if self.device.is_cuda else Team(thread_count(threads))
        self._terrain = upload_terrain(self._ground, self.real, self.device)
        self._sensors = sensor_layout(self.real)()
        self._tables, self._motion = self._types.Tables(), self._types.Motion()
        self._room = {"robots": 0, "bodies": 0, "voxels": 0, "points": 0}
        self._lanes = 0
        self._constant_tables()

    def __call__(self, grids: np.ndarray, waves: np.ndarray) -> LocomotionOutcome:
        """How far robots come; those that diverge get NaN.

        Args:
            grids: Material of each cell, -1 where it is empty, shape [robots, width, height].
            waves: Wave of each material, shape [materials, 5], or of each cell, shape [robots, width, height, 5]; the
                columns are `WAVE`.
        """
        cells = np.asarray(grids, np.int8)
        require_robots(cells, len(self.materials))
        substeps = self._substeps(cells)
        order = np.argsort(-substeps * (cells >= 0).sum(axis=(1, 2)), kind="stable")  # the longest first
        outcome = self._run(Grids(cells[order]), substeps[order], self._packed(cells, waves, order))
        back = np.argsort(order)
        return LocomotionOutcome(**{name: values[back] for name, values in vars(outcome).items()})

    def _run(self, grids: Grids, substeps: np.ndarray, waves: np.ndarray) -> LocomotionOutcome:
        count = len(grids.cells)
        self._reserve(grids)
        self._assemble(grids, substeps)
        brains = self._brains(grids, waves)
        robots = np.stack([np.arange(count), np.zeros(count, int), grids.voxel_counts], axis=1).astype(np.int32)
        rows = wp.array(robots, dtype=wp.vec3i, device=self.device)
        before = self._totals(rows)
        self._launch(grids, brains)
        after = self._totals(rows)
        largest = grids.sizes.max(axis=1) * self.materials[0].side_length
        lost = self._motion.trouble.numpy()[:count] >= 0
        return self.task.outcome(after.numpy(), before.numpy()[:, CENTER_X], largest, lost)

    def _substeps(self, cells: np.ndarray) -> np.ndarray:
        """Substeps of each robot: those that the stiffest of its materials needs."""
        flat = cells.reshape(len(cells), -1)
        return np.asarray(np.append(self._stock.substeps, 0)[flat].max(axis=1))  # an empty cell reads the last

    def _packed(self, cells: np.ndarray, waves: np.ndarray, order: np.ndarray) -> np.ndarray:
        """Waves of all voxels, robot by robot, shape [voxels, 5]."""
        ordered = cells[order]
        given = np.asarray(waves, float)
        filled = ordered >= 0
        if given.shape == (len(self.materials), len(WAVE)):
            return given[ordered[filled]]
        if given.shape != (*cells.shape, len(WAVE)):
            raise InvalidValue(
                f"waves need shape ({len(self.materials)}, 5) or {(*cells.shape, 5)}, not {given.shape}."
            )
        return given[order][filled]

    def _assemble(self, grids: Grids, substeps: np.ndarray) -> None:
        """Build the tables of all robots and put them where they begin."""
        motion, types, count = self._motion, self._types, len(grids.cells)
        for name, value in (("velocities", None), ("touching", None), ("ropes", -1.0), ("controls", None),
                            ("heights", None), ("efforts", None), ("trouble", -1)):  # fmt: skip
            array = getattr(motion, name)
            array.zero_() if value is None else array.fill_(value)
        motion.clock.zero_()
        starts, worlds = grids.starts, np.zeros(count, dtype=types.World.numpy_dtype())
        for name, column in (("body", 0), ("voxel", 1), ("shape_body", 0), ("shape_voxel", 1)):
            worlds[name] = starts[:-1, column]
        worlds["body_count"], worlds["voxel_count"] = np.diff(starts[:, 0]), np.diff(starts[:, 1])
        worlds["object"], worlds["substeps"] = worlds["body_count"], substeps
        worlds["brain"], worlds["brain_count"] = np.arange(count), 1
        self._tables.worlds = wp.array(worlds, dtype=types.World, device=self.device)
        given = [
            wp.array(np.ascontiguousarray(values), device=self.device, dtype=kind)
            for values, kind in (
                (grids.cells, wp.int8),
                (grids.voxel_numbers, wp.int32),
                (starts, wp.int32),
                (self._corners(grids), wp.float64),
            )
        ]
        side = self.materials[0].side_length
        arguments = [*given, self._stock.matter, side, self._tables, motion.positions]
        threads = 1 if self._team is None else self._team.size
        split_launch(assembly_kernel(self.real), count, arguments, self.device, threads)

    def _corners(self, grids: Grids) -> np.ndarray:
        """Where the corners of the grids stand: the lowest voxel of each robot just above the ground [m]."""
        side, ground = self.materials[0].side_length, self._ground
        left = ground.start + side * np.arange(grids.cells.shape[1])
        at = left[:, None] + np.linspace(0.0, side, 9)
        xs, ys = ground.points.T
        within = (xs >= left[:, None]) & (xs <= left[:, None] + side)
        tops = np.maximum(ground.height(at).max(axis=1), np.where(within, ys, -np.inf).max(axis=1))
        y = (tops - side * grids.lowest()).max(axis=1) + GAP
        return np.stack([np.full(len(y), ground.start), y], axis=1)

    def _brains(self, grids: Grids, waves: np.ndarray) -> Any:
        types = brain_layout(self.real)
        rows = np.zeros(len(grids.cells), dtype=types.Brain.numpy_dtype())
        rows["kind"], rows["channels"] = WAVES, grids.voxel_counts
        rows["channel"] = grids.starts[:-1, 1]
        rows["parameter"] = len(WAVE) * rows["channel"]
        brains = types.Brains()
        brains.brains = wp.array(rows, dtype=types.Brain, device=self.device)
        brains.parameters = wp.array(waves.astype(self._numpy_real).reshape(-1), dtype=self.real, device=self.device)
        return brains

    def _launch(self, grids: Grids, brains: Any) -> None:
        arguments = [self.task.steps, self._tables, self._terrain, self._sensors, brains, self._motion]
        if self._team is not None:
            self._team.run(team_kernel(shared_by_teams(self._features(grids)), False), arguments)
            return
        if not self._lanes:  # for good: another number of threads would be compiled anew
            self._lanes = lanes_for(int(np.ceil(grids.voxel_counts.mean())), len(grids.cells))
        size = len(grids.cells) * self._lanes
        kernel = block_kernel(self._features(grids), False)
        wp.launch(kernel, size, [self._lanes, *arguments], device=self.device, block_dim=self._lanes)

    def _features(self, grids: Grids) -> Features:
        """The same for all grids of a size: that of a full one needs the most memory."""
        _, width, height = grids.cells.shape
        need = 2 * (width + 1) * (height + 1) + 11 * width * height
        quads = shared_quads(need, self.real) if self.device.is_cuda else 0
        return Features(
            real=self.real, grounded=True, worked=self.task.energy, kinds=frozenset({WAVES}), quads=quads
        )  # fmt: skip

    def _totals(self, robots: wp.array[Any]) -> wp.array[Any]:
        motion = self._motion
        result = wp.empty((len(robots), COLUMNS), dtype=wp.float64, device=self.device)
        arguments = [robots, self._tables, motion.positions, motion.heights, motion.efforts, result]
        wp.launch(totals_kernel(self.real), len(robots), arguments, device=self.device)
        return result

    def _reserve(self, grids: Grids) -> None:
        """Make room for these robots; arrays only grow."""
        bodies, voxels, points = (int(n) for n in grids.starts[-1])
        need = {"robots": len(grids.cells), "bodies": bodies, "voxels": voxels, "points": points}
        grow = {name: int(_SLACK * count) for name, count in need.items() if count > self._room[name]}
        if not grow:
            return
        self._room |= grow
        types = self._types
        for owner, kinds, names in (
            (self._tables, types.Tables.vars, _TABLES),
            (self._motion, types.Motion.vars, _MOTION),
        ):
            for name, (unit, each) in names.items():
                if unit in grow:
                    count = each * self._room[unit] + (1 if name.endswith("_begin") else 0)
                    setattr(owner, name, wp.zeros(count, dtype=kinds[name].type.dtype, device=self.device))

    def _constant_tables(self) -> None:
        tables, task, rows = self._tables, self.task, self._stock.rows
        tables.materials = wp.array(rows.astype(self._numpy_real).reshape(-1), dtype=self.real, device=self.device)
        corners = self._stock.corners.astype(self._numpy_real).reshape(-1)
        tables.corners = wp.array(corners, dtype=self.real, device=self.device)
        tables.gravity = self._types.vec2(0.0, task.gravity[2])
        tables.dt, tables.interval = task.dt, task.control_interval + 1
        self._motion.clock = wp.zeros(1, dtype=wp.int64, device=self.device)

    def _materials(self) -> _Stock:
        step, device = self.task.dt, self.device
        matter = [
            [0.5 * m.mass_side if name == "half" else getattr(m, name) for name in MATTER] for m in self.materials
        ]
        return _Stock(
            matter=wp.array(np.array(matter), dtype=wp.float64, device=device),
            corners=np.stack([corner_lanes(m) for m in self.materials]),
            rows=np.stack([material_row(m, step) for m in self.materials]),
            substeps=np.array([stable_substeps(m, step) for m in self.materials]),
        )

    @property
    def _numpy_real(self) -> type:
        return np.float32 if self.real is wp.float32 else np.float64


def _ground(ground: Terrain | str) -> Terrain:
    return terrain(ground) if isinstance(ground, str) else ground
