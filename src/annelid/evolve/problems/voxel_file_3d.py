"""Bodies for a .vxa file: its palette, surroundings, stop and fitness, as in base.vxa of users of voxcraft-sim."""

from __future__ import annotations

import hashlib
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np

from annelid import voxels3d
from annelid.core.errors import InvalidValue, PartlyUsed
from annelid.core.parameters import Checked, documented, parameter
from annelid.core.simulation import Simulation
from annelid.evolve.contract import Evaluation, Problem
from annelid.evolve.problems.encodings_3d import ENCODINGS
from annelid.voxels3d.files.structure import Structure
from annelid.voxels3d.files.trials import stop_step
from annelid.voxels3d.files.writing import xml_text


@documented
@dataclass(frozen=True, kw_only=True)
class VoxelFile3d(Checked):
    """Robots whose cells are evolved, and for which a .vxa file says all the rest; the fitness is that of the file."""

    name: ClassVar[str] = "voxel-file-3d"

    base: str = parameter("base.vxa", "The .vxa file.")
    encoding: Literal["cppn", "patched", "direct", "growth"] = parameter(
        "cppn",
        '"cppn": a network tells the material of each place; "patched": it does, but for single cells, which are '
        'exceptions; "direct": a row has numbers for each cell; "growth": a network tells what the cells beside a '
        "growing body become.",
    )
    phases: bool = parameter(
        False, "Whether the phase of each cell is evolved too; else it is that of the file, or of the material."
    )
    cells: tuple[int, int, int] = parameter(
        (0, 0, 0), "Cells of the box along x, y and z; 0 takes those of the file.", limits=(0, 100)
    )
    seconds: float = parameter(0.0, "Simulated time at most [s]; 0 leaves that to the file.", unit="s", least=0.0)
    links: Literal["compatible", "balanced"] = parameter(
        "compatible", '"compatible" as in the original, or "balanced".'
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if 0 in self.cells and any(self.cells):
            raise InvalidValue(
                f"cells of voxel-file-3d must be three numbers from 1 to 100, or all 0, not {self.cells}."
            )

    @property
    def title(self) -> str:
        """The name of the file, and that it is a search: a run of the file has results of its own."""
        return f"{Path(self.base).stem}-evolved"

    def build(self, *, device: str = "auto", threads: int | None = None) -> FileWalk3d:
        """The problem."""
        return FileWalk3d(self, device, threads)


class FileWalk3d(Problem):
    """Rows are structures for the base.

    Args:
        options: Settings.
        device: Where to compute.
        threads: CPU threads; None takes all cores.
    """

    name = "voxel-file-3d"
    measure_names = ("voxels",)

    def __init__(self, options: VoxelFile3d, device: str, threads: int | None) -> None:
        self.options, self.device, self.threads = options, device, threads
        self.vxa = voxels3d.Vxa.read(options.base)
        if not 1 <= len(self.vxa.palette) <= 78:
            raise InvalidValue(f"the palette of {options.base} has {len(self.vxa.palette)} materials, not 1 to 78.")
        shape = self.vxa.structure.cells.shape
        cells = options.cells if all(options.cells) else (shape[0], shape[1], shape[2])
        self.encoding = ENCODINGS[options.encoding](cells, 1 + len(self.vxa.palette), int(options.phases))
        self.parameters, self.parts = self.encoding.size, self.encoding.parts
        self.measure_bounds = ((0.0, float(np.prod(cells))),)

    def sample(self, rng: np.random.Generator, count: int) -> np.ndarray:
        """Initial rows of the encoding."""
        return self.encoding.sample(rng, count)

    def files(self, batch: np.ndarray) -> list[voxels3d.Vxa]:
        """What the .vxa file of each row says."""
        grids, extras = self.encoding.decode(batch)
        return [self._file(grid, numbers) for grid, numbers in zip(grids, extras, strict=True)]

    def evaluate(self, batch: np.ndarray) -> Evaluation:
        """Run all robots side by side; a row without voxels is a failed trial. The number of voxels is measured."""
        files = self.files(batch)
        counts = np.array([int((file.structure.cells > 0).sum()) for file in files])
        fitness = np.full(len(files), np.nan)
        there = np.flatnonzero(counts)
        if len(there):
            results = voxels3d.run_setups(
                [self._setup(files[row]) for row in there], links=self.options.links, device=self.device,
                threads=self.threads, seconds=self.options.seconds or None,
            )  # fmt: skip
            fitness[there] = [result.fitness for result in results]
        return Evaluation(fitness, counts[:, None].astype(float))

    def keys(self, batch: np.ndarray) -> list[bytes] | None:
        """Cells and phases: equal robots need to run only once."""
        grids, extras = self.encoding.decode(batch)
        return [grid.tobytes() + numbers.tobytes() for grid, numbers in zip(grids, extras, strict=True)]

    def traits(self, batch: np.ndarray) -> np.ndarray | None:
        """Materials of cells; phases are no whole numbers."""
        return None if self.options.phases else self.encoding.grids(batch).reshape(len(batch), -1)

    def describe(self, parameters: np.ndarray) -> dict[str, Any]:
        """Cells as files have them, 0: empty, and phases."""
        (file,) = self.files(np.asarray(parameters, float)[None])
        phases = file.structure.layers.get("PhaseOffset") if self.options.phases else None
        told: dict[str, Any] = {"cells": file.structure.cells.tolist()}
        return told if phases is None else {**told, "phases": phases[..., 0].tolist()}

    def files_of(self, parameters: np.ndarray) -> dict[str, str]:
        """The file with the cells of the robot."""
        (file,) = self.files(np.asarray(parameters, float)[None])
        return {".vxa": xml_text(file.to_vxa())}

    def film(self, parameters: np.ndarray) -> tuple[Simulation[Any], float]:
        """The robot at the beginning of its run."""
        (file,) = self.files(np.asarray(parameters, float)[None])
        if not file.structure.cells.any():
            raise InvalidValue("these parameters make no robot that could be shown: no cell of its box is filled.")
        setup = self._setup(file)
        simulation = voxels3d.simulation(
            setup.robot, **setup.options(), links=self.options.links, device=self.device, threads=self.threads
        )
        return simulation, self.options.seconds or stop_step(setup) * setup.dt

    def fingerprint(self) -> str:
        """What the file says is part of what results depend on."""
        text = xml_text(self.vxa.to_vxa())
        return super().fingerprint() + hashlib.blake2b(text.encode(), digest_size=8).hexdigest()

    def _file(self, grid: np.ndarray, numbers: np.ndarray) -> voxels3d.Vxa:
        layers = dict(self.vxa.structure.layers) if grid.shape == self.vxa.structure.cells.shape else {}
        if self.options.phases:
            layers["PhaseOffset"] = np.where(grid[..., None] >= 0, numbers, 0.0)
        return replace(self.vxa, structure=Structure((grid + 1).astype(np.uint8), layers=layers))

    @staticmethod
    def _setup(file: voxels3d.Vxa) -> voxels3d.Setup:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PartlyUsed)  # of the base it was told when it was read
            return voxels3d.setup_of(file)
