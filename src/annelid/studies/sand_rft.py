"""Plates pulled through grains at all tilts and directions: their stresses against resistive force theory."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
import warp as wp

from annelid import grains
from annelid.core.errors import InvalidValue
from annelid.core.files import require_file
from annelid.core.measurement import Measurement
from annelid.core.parameters import Checked, parameter
from annelid.core.progress import Progress
from annelid.shapes.resistive.law import friction_angle_of
from annelid.shapes.resistive.media import write_medium
from annelid.studies.support.intruders import Laboratory
from annelid.studies.support.plots import figure
from annelid.studies.support.stress_maps import StressMap, draw_maps

_LI, _AGARWAL = "Li, Zhang and Goldman 2013", "Agarwal, Goldman and Kamrin 2023"
_COMPONENTS = "against", "upwards"
_QUICK = ((0, 90), (0, -90), (30, 45), (-30, 45), (60, 0), (90, 0), (90, 45), (30, 0))


@dataclass(frozen=True, eq=False)
class Found:
    """What the plates felt.

    Attributes:
        map: Stresses per depth, the mean over beds.
        packing: Part of the bed that grains fill.
        density: Mass of the bed per volume [kg/m³].
        grains: Grains in a bed.
        overlap: Largest overlap of grains, of a diameter.
    """

    map: StressMap
    packing: float
    density: float
    grains: int
    overlap: float


@dataclass(frozen=True)
class SandRft(Checked):
    """Plates pulled through grains: the map of their stresses over tilt and direction against the published one."""

    name: ClassVar[str] = "sand-rft"

    quick: bool = parameter(
        False, "Eight plates in a small bed; the map is then reported, not judged. The full one is for a GPU."
    )
    packing: Literal["loose", "close"] = parameter(
        "close", "How grains lie: settled with friction, or without and then given it."
    )
    friction: float = parameter(0.5, "Coulomb friction of grains and plates.", least=0.0)
    rolling: float = parameter(0.1, "Rolling resistance of the grains.", least=0.0)
    plate: float = parameter(7.0, "Side of a plate in grain diameters; the quick form takes 3.", above=0.0)
    room: float = parameter(
        2.0,
        "Plate widths to walls; twice as many before the plate, a quarter more below. The quick form takes 1.5 and 1.",
        above=0.0,
    )
    harder: float = parameter(
        4.0, "How many times shorter steps are than those of the bed alone; the quick form takes 2.", above=0.0
    )
    seeds: int = parameter(1, "Beds over which stresses are averaged.", least=1)
    batch: int = parameter(14, "Plates that are simulated side by side.", least=1)
    fit: Path | None = parameter(
        None, "File .json for the medium that is fitted to the map, for ResistiveGround(medium=FILE)."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.fit is not None and self.fit.suffix != ".json":
            raise InvalidValue(f"--fit must name a file .json, not {self.fit}.")

    def laboratory(self, seed: int) -> Laboratory:
        """Bed and plate."""
        grain = grains.Grain(density=2650.0, friction=self.friction, rolling=self.rolling)
        close = self.packing == "close"
        if self.quick:
            return Laboratory(
                plate=3.0, room=1.5, below=1.0, deep=2.0, speed=0.1, harder=2.0, grain=grain, close=close, seed=seed
            )
        return Laboratory(
            plate=self.plate, room=self.room, ahead=2.0 * self.room, below=1.25 * self.room, shallow=2.0, deep=3.0,
            speed=0.1, harder=self.harder, grain=grain, close=close, seed=seed,
        )  # fmt: skip

    def angles(self) -> np.ndarray:
        """Tilt and direction of each plate [rad], shape [n, 2]; a tilt of -90° is that of 90°."""
        if self.quick:
            return np.radians(np.array(_QUICK, float))
        tilts, directions = np.arange(-60.0, 91.0, 30.0), np.arange(-90.0, 91.0, 15.0)
        return np.radians(np.array([(beta, gamma) for beta in tilts for gamma in directions]))

    def compute(self, device: wp.Device, threads: int | None, progress: Progress) -> Found:
        """Settle beds, pull plates, and write what was fitted to them."""
        if self.fit is not None:
            require_file(self.fit)
        angles, overlap = self.angles(), 0.0
        sums = np.zeros_like(angles)
        self.laboratory(1).warn_of_size()
        for seed in range(1, self.seeds + 1):
            laboratory = self.laboratory(seed)
            settled = laboratory.settled(device, threads)
            progress.say(f"bed {seed}: {len(settled.bed)} grains, packing {settled.packing:.3f}")
            stresses = []
            for first in range(0, len(angles), self.batch):
                pulled = laboratory.pull(settled, angles[first : first + self.batch], device, threads)
                stresses += [one.per_depth for one in pulled]
                overlap = max(overlap, *(one.overlap for one in pulled))
                progress.say(f"bed {seed}: {len(stresses)} of {len(angles)} plates")
            sums += np.array(stresses) / self.seeds
        density = settled.packing * laboratory.grain.density
        found = Found(StressMap(angles, sums), settled.packing, density, len(settled.bed), overlap)
        if self.fit is not None:
            medium, left = found.map.fitted(self.fit.stem, density)
            write_medium(self.fit, medium)
            progress.say(f"{self.fit}: coefficients that leave {left:.2g} of the map")
        return found

    def measure(self, found: Found) -> list[Measurement]:
        """Likeness to the published maps, their scale, and ratios that do not depend on it."""
        ours = found.map
        rows = self._likeness(ours)
        medium, left = ours.fitted("ours", found.density)
        assert medium.resistance is not None
        return [
            *rows,
            Measurement("scale", ours.scale(ours.published), "N/cm³"),
            Measurement("resistance", medium.resistance / 1e6, "N/cm³", source="of the law in space"),
            Measurement("friction-angle-of-it", friction_angle_of(medium.resistance, found.density), "°"),
            Measurement("fit-leaves", left, source="of the map, by nine coefficients"),
            *self._ratios(ours),
            Measurement("packing", found.packing),
            Measurement("grains", found.grains),
            Measurement("largest-overlap", found.overlap, source="of a diameter"),
        ]

    def _likeness(self, ours: StressMap) -> list[Measurement]:
        """Correlations with the published laws, each judged by what it is.

        The map of nine terms is a fit: it is compared with the same fit of ours. Plates themselves are compared with
        the law in space, which has the kink where a plate begins to press; nine terms have none, so that not even the
        plates of that law are like them. How much they are stands beside ours.
        """
        least, bound = (None, "near") if self.quick else (0.9, "at-least")
        theirs = StressMap(ours.angles, ours.in_space)
        judged = (
            ("fitted-correlation", ours.smoothed().correlations(ours.published), _LI),
            ("correlation-3d", ours.correlations(ours.in_space), _AGARWAL),
        )
        rows = [
            Measurement(f"{which}-{name}", value, "", least, bound=bound, source=source)
            for which, pair, source in judged
            for name, value in zip(_COMPONENTS, pair, strict=True)
        ]
        plates = zip(_COMPONENTS, ours.correlations(ours.published), theirs.correlations(ours.published), strict=True)
        return rows + [
            Measurement(f"correlation-{name}", value, "", of_theirs, None, f"that of {_AGARWAL} with {_LI}")
            for name, value, of_theirs in plates
        ]

    def _ratios(self, ours: StressMap) -> list[Measurement]:
        """What the reference compares: down over up, and both components of two plates."""
        down, up = ours.at(0.0, 90.0), ours.at(0.0, -90.0)
        level, tilted = ours.at(90.0, 0.0), ours.at(30.0, 45.0)
        rows = []
        if down is not None and up is not None:
            rows.append(Measurement("flat-down-over-up", float(-down[1] / up[1]), "", 4.0, None, _LI))
        if level is not None:
            rows.append(Measurement("upright-up-over-against", float(level[1] / level[0]), "", 0.1, None, _LI))
        if tilted is not None:
            rows.append(Measurement("tilted-against-over-up", float(tilted[0] / tilted[1]), "", 0.4, None, _LI))
        return [row for row in rows if math.isfinite(row.value)]

    def plot(self, found: Found, folder: Path) -> list[Path]:
        """Our map above the published one."""
        path = folder / f"{self.name}.png"
        return [figure(path, lambda axes: draw_maps(axes, found.map), size=(10.0, 7.0), grid=(2, 2))]
