"""Body and brain of voxel robots together: which cells are filled with what, and the phase of each active voxel."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from annelid import voxels
from annelid.evolve.problems.mixtures import in_the_corner, mixture_grids
from annelid.evolve.problems.voxel_body import GridWalk, VoxelBody

_HARD, _SOFT, _ACTIVE = range(3)


@dataclass(frozen=True, kw_only=True)
class VoxelBodyAndBrain(VoxelBody):
    """Mixtures of Gaussians for three materials, hard, soft and active, and a phase for every cell of the grid."""

    name: ClassVar[str] = "voxel-body-and-brain"

    def build(self, *, device: str = "auto", threads: int | None = None) -> GridWalk:
        """The problem."""
        return BodyAndBrainWalk(self, device, threads)

    def materials(self) -> tuple[voxels.Voxel, ...]:
        """Hard and soft passive material, active material."""
        return super().materials()[:3]


class BodyAndBrainWalk(GridWalk):
    """Rows are mixtures, then phases φ [rad] of the cells, column by column.

    Args:
        options: Settings.
        device: Where to compute.
        threads: CPU threads; None takes all cores.
    """

    name = "voxel-body-and-brain"

    def __init__(self, options: VoxelBodyAndBrain, device: str, threads: int | None) -> None:
        super().__init__(options, options.materials(), device, threads)
        self._mixtures = len(self.materials) * options.gaussians * 4
        self.parameters = self._mixtures + options.width * options.height

    def sample(self, rng: np.random.Generator, count: int) -> np.ndarray:
        """Mixtures uniform from 0 to 1, phases from -π to π."""
        bodies = rng.random((count, self._mixtures))
        return np.concatenate(
            [bodies, rng.uniform(-math.pi, math.pi, (count, self.parameters - self._mixtures))], axis=1
        )

    def decode(self, batch: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mixtures choose the materials; active voxels follow sin(2πt + φ)."""
        options, batch = self.options, np.asarray(batch, float)
        genes = batch[:, : self._mixtures].reshape(len(batch), len(self.materials), options.gaussians, 4)
        grids = mixture_grids(genes, options.width, options.height, threshold=options.threshold)
        phases = batch[:, self._mixtures :].reshape(len(batch), options.width, options.height)
        grids, phases = in_the_corner(grids, phases)
        active = (grids == _ACTIVE).astype(float)
        nothing = np.zeros(grids.shape)
        turns = np.where(active > 0.0, phases / (2.0 * math.pi), 0.0)
        return grids, np.stack([active, active, turns, nothing, nothing], axis=-1)
