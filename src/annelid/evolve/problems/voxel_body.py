"""Bodies of voxel robots: which cells of a grid are filled, and with which of four materials."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from annelid import voxels
from annelid.control import PhasedSines
from annelid.core.parameters import documented, parameter
from annelid.evolve.contract import Evaluation
from annelid.evolve.problems.decoded import Recent
from annelid.evolve.problems.mixtures import in_the_corner, mixture_grids
from annelid.evolve.problems.walks import Walk, WalkOptions
from annelid.voxels.population import Population
from annelid.voxels.tasks import LocomotionOutcome

ACTIVE = np.array([[0, 0, 0, 0, 0], [0, 0, 0, 0, 0], [1, 1, 0, 0, 0], [1, -1, 0, 0, 0]], float)
"""Waves of the four materials: none, none, sin(2πt), sin(-2πt)."""


@documented
@dataclass(frozen=True, kw_only=True)
class VoxelBody(WalkOptions):
    """Bodies from mixtures of Gaussians (Medvet et al., sec. 3.1).

    Four materials: hard and soft ones that are passive, and two that shrink and grow in turn.
    """

    name: ClassVar[str] = "voxel-body"

    width: int = parameter(5, "Cells of the grid along x.", least=1)
    height: int = parameter(5, "Cells of the grid along y.", least=1)
    gaussians: int = parameter(5, "Gaussians of each material.", least=1)
    threshold: float = parameter(1.0, "What a mixture must reach to fill a cell.")

    def build(self, *, device: str = "auto", threads: int | None = None) -> GridWalk:
        """The problem."""
        return BodyWalk(self, device, threads)

    def materials(self) -> tuple[voxels.Voxel, ...]:
        """Hard and soft passive material, active material, active material of the opposite phase."""
        active = self.voxel()
        return (self.voxel(frequency=25.0), self.voxel(frequency=5.0, scaffolding="EC"), active, active)


class GridWalk(Walk):
    """Rows are robots cut from a grid, each with a body of its own.

    Args:
        options: Settings.
        materials: Materials of the grids.
        device: Where to compute.
        threads: CPU threads; None takes all cores.
    """

    measure_names = ("voxels", "active-voxels")

    def __init__(
        self, options: VoxelBody, materials: tuple[voxels.Voxel, ...], device: str, threads: int | None
    ) -> None:
        super().__init__(options, device, threads)
        self.options, self.materials = options, materials
        self.measure_bounds = ((0.0, float(options.width * options.height)),) * 2
        self._population: Population | None = None
        self._recent = Recent()

    def decode(self, batch: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Grids [n, width, height] in their lower left corners; waves of materials [m, 5] or of cells [n, ..., 5]."""
        raise NotImplementedError

    def evaluate(self, batch: np.ndarray) -> Evaluation:
        """Build all bodies and let them walk at once; a row without voxels does not move.

        Measured are the number of voxels and of those that are actuated.
        """
        grids, waves = self._recent.decoded(batch, self.decode)
        filled = grids >= 0
        there = filled.any(axis=(1, 2))
        speed = np.zeros(len(grids))
        if there.any():
            speed[there] = self._walked(grids[there], waves if waves.ndim == 2 else waves[there]).relative_velocity
        moving = (waves[..., 0] != 0.0)[grids] if waves.ndim == 2 else waves[..., 0] != 0.0
        counts = [filled.sum(axis=(1, 2)), (filled & moving).sum(axis=(1, 2))]
        return Evaluation(speed, np.stack(counts, axis=1).astype(float))

    def keys(self, batch: np.ndarray) -> list[bytes]:
        """Grids and waves: robots that are equal need to walk only once."""
        grids, waves = self._recent.decoded(batch, self.decode)
        if waves.ndim == 2:
            return [grid.tobytes() for grid in grids]
        return [grid.tobytes() + wave.tobytes() for grid, wave in zip(grids, waves, strict=True)]

    def robot(self, parameters: np.ndarray) -> voxels.Robot | None:
        """The robot of a row."""
        grids, waves = self.decode(np.asarray(parameters, float)[None])
        grid = grids[0]
        if (grid < 0).all():
            return None
        rows = waves[grid[grid >= 0]] if waves.ndim == 2 else waves[0][grid >= 0]
        brain = PhasedSines(2.0 * np.pi * rows[:, 2], frequency=rows[:, 1], amplitude=rows[:, 0])
        used = np.unique(grid[grid >= 0])
        numbers = np.where(grid >= 0, np.searchsorted(used, grid), -1)
        return voxels.Robot(numbers, tuple(self.materials[i] for i in used), brain)

    def _walked(self, grids: np.ndarray, waves: np.ndarray) -> LocomotionOutcome:
        if self._population is None:
            self._population = Population(self.task, self.materials, device=self.device, threads=self.threads)
        return self._population(grids, waves)


class BodyWalk(GridWalk):
    """Rows are mixtures of Gaussians.

    Args:
        options: Settings.
        device: Where to compute.
        threads: CPU threads; None takes all cores.
    """

    name = "voxel-body"

    def __init__(self, options: VoxelBody, device: str, threads: int | None) -> None:
        super().__init__(options, options.materials(), device, threads)
        self.parameters = len(self.materials) * options.gaussians * 4

    def sample(self, rng: np.random.Generator, count: int) -> np.ndarray:
        """Uniform from 0 to 1."""
        return rng.random((count, self.parameters))

    def decode(self, batch: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mixtures choose the materials, materials have their waves."""
        options = self.options
        genes = np.asarray(batch, float).reshape(len(batch), len(self.materials), options.gaussians, 4)
        grids = mixture_grids(genes, options.width, options.height, threshold=options.threshold)
        (grids,) = in_the_corner(grids)
        return grids, ACTIVE
