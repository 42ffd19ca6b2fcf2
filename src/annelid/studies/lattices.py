"""Voxel and quasi-uniform lattices of one closed surface, with their numbers and pictures (Cronos, Fig. 4)."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import warp as wp

from annelid.core.measurement import Measurement
from annelid.core.parameters import Checked, parameter
from annelid.core.progress import Progress
from annelid.core.snapshot import Lines, Mesh, Snapshot
from annelid.shapes import TriangleMesh
from annelid.shapes.lattice import Lattice
from annelid.shapes.quasi import QuasiLattice
from annelid.studies.support.bone import bone
from annelid.studies.support.plots import COLORS, figure
from annelid.view.picture import Painter, save_picture


@dataclass(frozen=True, eq=False)
class Sample:
    """One lattice.

    Attributes:
        name: Kind and resolution.
        nodes: Positions [m], shape [n, 3].
        links: Pairs of nodes, shape [m, 2].
        surface: Triangles of the outside, shape [t, 3].
        scale: Pitch or least distance [m].
        seconds: Wall time that it took to build [s].
    """

    name: str
    nodes: np.ndarray
    links: np.ndarray
    surface: np.ndarray
    scale: float
    seconds: float

    @property
    def lengths(self) -> np.ndarray:
        """Lengths of the links [m], shape [m]."""
        return np.linalg.norm(self.nodes[self.links[:, 1]] - self.nodes[self.links[:, 0]], axis=1)

    @property
    def degrees(self) -> np.ndarray:
        """Links of each node, shape [n]."""
        return np.bincount(self.links.ravel(), minlength=len(self.nodes))


@dataclass(frozen=True, eq=False)
class Found:
    """The shape and its lattices."""

    shape: TriangleMesh
    samples: list[Sample]


@dataclass(frozen=True)
class Lattices(Checked):
    """Voxel and quasi-uniform lattices of one closed surface at two resolutions."""

    name: ClassVar[str] = "lattices"

    quick: bool = parameter(False, "Coarser lattices.")
    surface: Path | None = parameter(None, "A closed mesh in metres (STL, OBJ or PLY); a bone by default.")
    seed: int = parameter(0, "Seed of the random points.", least=0)

    def compute(self, device: wp.Device, threads: int | None, progress: Progress) -> Found:
        """Build four lattices."""
        shape = bone() if self.surface is None else TriangleMesh.read(self.surface).require_closed()
        edge = shape.volume ** (1 / 3)
        samples = []
        for cells in (8, 14) if self.quick else (12, 24):
            samples.append(_voxels(shape, edge / cells))
            samples.append(_quasi(shape, edge / cells, self.seed))
            for sample in samples[-2:]:
                progress.say(f"{sample.name}: {len(sample.nodes)} nodes in {sample.seconds:.2f} s")
        return Found(shape, samples)

    def measure(self, found: Found) -> list[Measurement]:
        """Counts and statistics of lengths."""
        rows = [Measurement("volume", 1e6 * found.shape.volume, "cm3")]
        for sample in found.samples:
            lengths, name = 1e3 * sample.lengths, sample.name
            rows += [
                Measurement(f"{name}-nodes", len(sample.nodes)),
                Measurement(f"{name}-edges", len(sample.links)),
                Measurement(f"{name}-edges-a-node", float(sample.degrees.mean())),
                Measurement(f"{name}-fewest-edges", float(sample.degrees.min()), "", 3.0, bound="at-least"),
                Measurement(f"{name}-shortest", float(lengths.min()), "mm", 1e3 * sample.scale, 1e-9, bound="at-least"),
                Measurement(f"{name}-mean-length", float(lengths.mean()), "mm"),
                Measurement(f"{name}-spread", float(lengths.std() / lengths.mean()), "", source="std / mean"),
                Measurement(f"{name}-longest", float(lengths.max()), "mm"),
                Measurement(f"{name}-build", sample.seconds, "s"),
            ]
        return rows

    def plot(self, found: Found, folder: Path) -> list[Path]:
        """Pictures of the four lattices, and histograms of their lengths."""
        painter = Painter(
            size=(1280, 960),
            name=None,
            names=[sample.name for sample in found.samples],
            columns=len(found.samples),
            device="cpu",
        )
        picture = folder / "lattices.png"
        save_picture(painter.paint([_snapshot(found.shape, sample) for sample in found.samples]), picture)
        histogram = figure(folder / "lengths.png", lambda axes: _draw(axes, found), size=(9.0, 3.4), grid=(1, 2))
        return [picture, histogram]


def _voxels(shape: TriangleMesh, pitch: float) -> Sample:
    begin = time.perf_counter()
    lattice = Lattice.fill(shape, pitch)
    links = lattice.links[0]
    name = f"voxel-{1e3 * pitch:.3g}mm"
    return Sample(name, lattice.nodes, links, lattice.surface, pitch, time.perf_counter() - begin)


def _quasi(shape: TriangleMesh, pitch: float, seed: int) -> Sample:
    """With a least distance that gives about as many nodes as voxels of the pitch have."""
    spacing, begin = 0.8 * pitch, time.perf_counter()
    lattice = QuasiLattice.fill(shape, spacing, seed=seed)
    links, surface = lattice.links, lattice.surface
    name = f"quasi-uniform-{1e3 * spacing:.3g}mm"
    return Sample(name, lattice.nodes, links, surface, spacing, time.perf_counter() - begin)


def _snapshot(shape: TriangleMesh, sample: Sample) -> Snapshot:
    """The lattice on its outside: links between outer nodes, over the surface that they span."""
    outer = np.zeros(len(sample.nodes), bool)
    outer[np.unique(sample.surface)] = True
    shown = sample.links[outer[sample.links].all(axis=1)]
    skin = Mesh("surface", sample.nodes, sample.surface, color=(0.93, 0.90, 0.82))
    return Snapshot(0.0, parts=(skin, Lines("links", sample.nodes, shown.astype(np.int32))))


def _draw(axes: Any, found: Found) -> None:
    for axis, kind in zip(axes[0], ("voxel", "quasi-uniform"), strict=True):
        shown = [sample for sample in found.samples if sample.name.startswith(kind)]
        for sample, color in zip(shown, COLORS, strict=False):
            bins = np.linspace(0.8875, 2.1125, 50)  # lengths of cubes lie within bins, not between two
            axis.hist(sample.lengths / sample.scale, bins, color=color, alpha=0.6, density=True, label=sample.name)
        axis.set(xlabel="length of an edge / pitch or least distance", ylabel="density")
        axis.legend(fontsize=7)
