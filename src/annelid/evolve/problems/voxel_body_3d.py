"""Bodies of 3-D voxel robots in the manner of evosoro: which cells of a box are soft, stiff, or one of two muscles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from annelid import voxels3d
from annelid.core.device import device as choose_device
from annelid.core.errors import InvalidValue
from annelid.core.parameters import Checked, documented, parameter
from annelid.core.simulation import Simulation
from annelid.evolve.contract import Evaluation, Problem
from annelid.evolve.problems.encodings_3d import ENCODINGS
from annelid.shapes import ground
from annelid.voxels3d.files.writing import xml_text
from annelid.voxels3d.stability import SAFE, recommended_step
from annelid.voxels3d.tables import compile_robot

SOFT, STIFF, MUSCLE, COUNTER = range(4)
"""Materials: two that are passive, and two that grow and shrink in turn."""

_CHUNK = 4096  # steps of one call, so that it can be interrupted


@documented
@dataclass(frozen=True, kw_only=True)
class VoxelBody3d(Checked):
    """Bodies that walk; the fitness is the velocity over the length of the box [1/s].

    Voxels are those of evosoro: 10 mm, 5 MPa, 10⁶ kg/m³, muscles that change their length by 14 %. What moves while a
    body settles, or falls over, does not count.
    """

    name: ClassVar[str] = "voxel-body-3d"

    encoding: Literal["cppn", "patched", "direct", "growth"] = parameter(
        "cppn",
        '"cppn": a network tells the material of each place; "patched": it does, but for single cells, which are '
        'exceptions; "direct": a row has numbers for each cell; "growth": a network tells what the cells beside a '
        "growing body become.",
    )
    cells: tuple[int, int, int] = parameter((6, 6, 6), "Cells of the box along x, y and z.", limits=(1, 100))
    seconds: float = parameter(5.0, "Simulated time [s].", unit="s", above=0.0)
    settling: float = parameter(1.0, "Time after which the way is measured [s].", unit="s", least=0.0)
    stiffness_ratio: float = parameter(
        10.0,
        "Modulus of the stiff material over that of the others; evosoro has 100, which needs a third of the time step.",
        above=0.0,
    )
    frequency: float = parameter(4.0, "Frequency of the muscles [Hz].", unit="Hz", above=0.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.settling >= self.seconds:
            raise InvalidValue(
                f"settling of voxel-body-3d must be below its seconds, {self.seconds}, not {self.settling}."
            )

    def build(self, *, device: str = "auto", threads: int | None = None) -> BodyWalk3d:
        """The problem."""
        return BodyWalk3d(self, device, threads)

    def materials(self) -> tuple[voxels3d.Voxel, ...]:
        """Soft, stiff, muscle, and muscle of the opposite phase."""

        def made(name: str, color: tuple[float, float, float], modulus: float, expansion: float) -> voxels3d.Voxel:
            return voxels3d.Voxel(youngs_modulus=modulus, density=1e6, expansion=expansion, name=name, color=color)

        return (
            made("soft", (0.30, 0.75, 0.80), 5e6, 0.0),
            made("stiff", (0.20, 0.30, 0.65), self.stiffness_ratio * 5e6, 0.0),
            made("muscle", (0.80, 0.25, 0.25), 5e6, 0.01),
            made("counter-muscle", (0.35, 0.70, 0.30), 5e6, -0.01),
        )


class BodyWalk3d(Problem):
    """Rows are bodies, all of which walk at once, each in a world of its own.

    Args:
        options: Settings.
        device: Where to compute.
        threads: CPU threads; None takes all cores.
    """

    name = "voxel-body-3d"
    measure_names = ("voxels", "muscles")

    def __init__(self, options: VoxelBody3d, device: str, threads: int | None) -> None:
        self.options, self.device, self.threads = options, device, threads
        self.encoding = ENCODINGS[options.encoding](options.cells)
        self.materials = options.materials()
        self.parameters, self.parts = self.encoding.size, self.encoding.parts
        self.measure_bounds = ((0.0, float(np.prod(options.cells))),) * 2
        # One step for all, or a body's walk would depend on those beside it.
        stiffest = voxels3d.Robot(np.full((2, 1, 1), STIFF if options.stiffness_ratio > 1.0 else SOFT), self.materials)
        self.dt = SAFE * recommended_step(compile_robot(stiffest))

    def sample(self, rng: np.random.Generator, count: int) -> np.ndarray:
        """Initial rows of the encoding."""
        return self.encoding.sample(rng, count)

    def robot(self, parameters: np.ndarray) -> voxels3d.Robot | None:
        """The robot of a row; None where a row makes none."""
        grid = self.encoding.grids(np.asarray(parameters, float)[None])[0]
        return self._robot(grid) if (grid >= 0).any() else None

    def evaluate(self, batch: np.ndarray) -> Evaluation:
        """Let all bodies that have muscles walk at once; the others stay where they are.

        Measured are the number of voxels and of muscles among them.
        """
        grids = self.encoding.grids(batch)
        counts = np.stack([(grids >= 0).sum(axis=(1, 2, 3)), (grids >= MUSCLE).sum(axis=(1, 2, 3))], axis=1)
        moving = np.flatnonzero(counts[:, 1])
        fitness = np.zeros(len(grids))
        if len(moving):
            fitness[moving] = self._walked([self._robot(grids[row]) for row in moving])
        return Evaluation(fitness, counts.astype(float))

    def keys(self, batch: np.ndarray) -> list[bytes]:
        """Grids: equal bodies need to walk only once."""
        return [grid.tobytes() for grid in self.encoding.grids(batch)]

    def traits(self, batch: np.ndarray) -> np.ndarray:
        """Materials of cells."""
        return self.encoding.grids(batch).reshape(len(batch), -1)

    def describe(self, parameters: np.ndarray) -> dict[str, Any]:
        """Materials of cells as `Robot.from_array` takes them, 0: empty."""
        robot = self.robot(parameters)
        if robot is None:
            return {}
        names = [material.name for material in self.materials]
        return {"cells": (robot.grid + 1).tolist(), "materials": names, "voxels": robot.voxel_count}

    def files_of(self, parameters: np.ndarray) -> dict[str, str]:
        """The robot, which runs for as long as in a trial."""
        robot = self.robot(parameters)
        return (
            {} if robot is None else {".vxa": xml_text(voxels3d.vxa_of(robot, seconds=self.options.seconds).to_vxa())}
        )

    def film(self, parameters: np.ndarray) -> tuple[Simulation[Any], float]:
        """The robot at the beginning of its walk."""
        robot = self.robot(parameters)
        if robot is None:
            raise InvalidValue("these parameters make no robot that could be shown: no cell of its box is filled.")
        simulation = voxels3d.simulation(
            robot, dt=self.dt, obstacles=[ground(1.0, sliding_friction=0.5)], device=self.device, threads=self.threads
        )
        return simulation, self.options.seconds

    def _robot(self, grid: np.ndarray) -> voxels3d.Robot:
        return voxels3d.Robot(grid.astype(int), self.materials, 0.01, amplitude=14.0, frequency=self.options.frequency)

    def _walked(self, robots: list[voxels3d.Robot]) -> np.ndarray:
        """Velocity along the ground over the length of the box [1/s], NaN where a motion stopped being finite."""
        options = self.options
        world = voxels3d.World(dt=self.dt, obstacles=[ground(1.0, sliding_friction=0.5)])
        solver = voxels3d.Solver(voxels3d.Model(robots, world, choose_device(self.device)), threads=self.threads)
        state = solver.initial_state()
        last, settled = round(options.seconds / self.dt), round(options.settling / self.dt)
        self._advance(solver, state, settled)
        before = solver.readout.centers(state)
        self._advance(solver, state, last - settled)
        way = np.linalg.norm((solver.readout.centers(state) - before)[:, :2], axis=1)
        lengths = way / (options.cells[0] * 0.01) / ((last - settled) * self.dt)
        return np.where(solver.troubles.numpy() >= 0, np.nan, lengths)

    @staticmethod
    def _advance(solver: voxels3d.Solver, state: voxels3d.State, steps: int) -> None:
        for begin in range(0, steps, _CHUNK):
            solver.advance(state, min(_CHUNK, steps - begin))
