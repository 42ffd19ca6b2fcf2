"""Balls that fall into grains: how deep they come against how far they fall and how dense they are."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import warp as wp

from annelid import grains
from annelid.core.errors import BedTooSmall
from annelid.core.measurement import Measurement
from annelid.core.parameters import Checked, parameter
from annelid.core.progress import Progress
from annelid.shapes import Box, Rigid, Sphere, Surface, box_walls
from annelid.studies.support.plots import COLORS, figure

_UEHARA = "Uehara, Ambroso, Ojha and Durian 2003"
_GRAVITY = 9.81  # [m/s²]
_RADIUS = 0.006  # of a grain [m]
_POURED, _SETTLED = 0.5, 0.58  # packing before and after grains come to rest, about
_RESTING = 0.25  # time from the blow until all balls rest [s]
_USUAL = 2000.0  # density of balls whose height differs [kg/m³]
_ROOM = 1.5  # ball diameters to a wall below which it is warned of


@dataclass(frozen=True, eq=False)
class Found:
    """Drops, one a row.

    Attributes:
        heights: Height of the fall down to the first touch [m], shape [n].
        densities: Of the balls [kg/m³], shape [n].
        places: Number of the place of each, shape [n].
        depths: How far they came below the first touch [m], shape [n].
        grains: Grains in a bed.
    """

    heights: np.ndarray
    densities: np.ndarray
    places: np.ndarray
    depths: np.ndarray
    grains: int

    def exponent(self, causes: np.ndarray, chosen: np.ndarray) -> tuple[float, float]:
        """Exponent of the depth by a cause, and its standard error; each place has a factor of its own."""
        own = (self.places[chosen, None] == np.unique(self.places[chosen])).astype(float)
        table = np.column_stack([np.log(causes[chosen]), own])
        wanted = np.log(self.depths[chosen])
        solution, *_ = np.linalg.lstsq(table, wanted, rcond=None)
        left = wanted - table @ solution
        variance = left @ left / max(1, len(left) - table.shape[1])
        return float(solution[0]), float(math.sqrt(variance * np.linalg.pinv(table.T @ table)[0, 0]))

    @property
    def falls(self) -> np.ndarray:
        """How far balls come down from their beginning to their end [m], which is what the law is about."""
        return np.asarray(self.heights + self.depths)


@dataclass(frozen=True)
class SandImpact(Checked):
    """Balls fall into a bed of grains from a decade of heights: depth grows with the cube root of the whole fall."""

    name: ClassVar[str] = "sand-impact"

    quick: bool = parameter(False, "Three heights in a small bed; the exponent is then reported, not judged.")
    ball: float = parameter(5.0, "Diameter of the balls in grain diameters; the quick form takes 4.", above=0.0)
    room: float = parameter(1.6, "Ball diameters between a ball and the walls; the quick form takes 1.", above=0.0)
    places: int = parameter(
        9,
        "Places where balls fall; the quick form takes one. Exponents of three scatter by 0.04 from bed to bed.",
        least=1,
    )
    friction: float = parameter(0.5, "Coulomb friction of grains and balls.", least=0.0)
    rolling: float = parameter(0.1, "Rolling resistance of the grains.", least=0.0)
    seed: int = parameter(1, "Seed of the places of grains and balls.", least=0)

    def drops(self) -> np.ndarray:
        """Height [m], density [kg/m³] and number of the place of each ball, shape [n, 3]."""
        heights = (0.04, 0.13, 0.5) if self.quick else (0.04, 0.08, 0.16, 0.32, 0.5)
        cases = [(height, _USUAL) for height in heights]
        if not self.quick:
            cases += [(0.16, 0.5 * _USUAL), (0.16, 2.0 * _USUAL)]
        return np.array([(*case, place) for place in range(1 if self.quick else self.places) for case in cases])

    def compute(self, device: wp.Device, threads: int | None, progress: Progress) -> Found:
        """Settle a bed, and let each ball fall into a copy of it, in a world of its own."""
        diameter = (4.0 if self.quick else self.ball) * 2.0 * _RADIUS
        room = 1.0 if self.quick else self.room
        if room < _ROOM:
            warnings.warn(
                f"walls are {room:g} ball diameters away, less than the {_ROOM:g} from which on they no longer matter "
                "much: take depths for what this bed does.",
                BedTooSmall,
                stacklevel=2,
            )
        side = diameter * (1.0 + 2.0 * room)
        bed = self.settled(side, 2.2 * diameter, device, threads)
        drops = self.drops()
        progress.say(f"{len(bed)} grains at rest, {len(drops)} balls")
        depths = self.dropped(bed, side, drops, diameter, device, threads)
        return Found(drops[:, 0], drops[:, 1], drops[:, 2].astype(int), depths, len(bed))

    def settled(self, side: float, depth: float, device: wp.Device, threads: int | None) -> grains.Bed:
        """A bed at rest, as wide as `side` and about as deep as `depth` [m]."""
        tall = depth * _SETTLED / _POURED
        region = Box((side, side, tall), center=(0.0, 0.0, 0.5 * tall + _RADIUS))
        positions, radii = grains.fill(region, _RADIUS, _POURED, seed=self.seed, device=device)
        bed = grains.Bed(positions, radii, grains.Grain(density=2650.0, friction=self.friction, rolling=self.rolling))
        simulation = grains.simulation(bed, obstacles=self._walls(side, 0), device=device, threads=threads)
        simulation.run(4.0 * math.sqrt(2.0 * tall / _GRAVITY))
        return bed.copy(positions=simulation.positions())

    def _walls(self, side: float, world: int) -> list[Rigid]:
        half = 0.5 * side
        surface = Surface(friction=self.friction)
        return box_walls((-half, -half, 0.0), (half, half, 4.0 * side), surface, world=world)

    def dropped(
        self, bed: grains.Bed, side: float, drops: np.ndarray, diameter: float, device: wp.Device, threads: int | None
    ) -> np.ndarray:
        """Depths below the first touch [m], shape [n]."""
        spots = np.random.default_rng(self.seed).uniform(-0.08, 0.08, (int(drops[:, 2].max()) + 1, 2)) * side
        balls = []
        for world, (height, density, place) in enumerate(drops):
            start = (*spots[int(place)].tolist(), _touch(bed, spots[int(place)], 0.5 * diameter) + 1e-4)
            speed = math.sqrt(2.0 * _GRAVITY * height)
            balls.append(
                Rigid(
                    Sphere(0.5 * diameter), Surface(friction=self.friction), position=start, motion="free",
                    density=density, velocity=(0.0, 0.0, -speed), world=world,
                )
            )  # fmt: skip
        count = len(drops)
        walls = [wall for world in range(count) for wall in self._walls(side, world)]
        many = grains.Bed(np.tile(bed.positions, (count, 1)), np.tile(bed.radii, count), bed.materials)
        simulation = grains.simulation(
            many, obstacles=[*balls, *walls], world_of=np.repeat(np.arange(count), len(bed)), device=device,
            threads=threads,
        )  # fmt: skip
        simulation.run(_RESTING)
        ends = [simulation.solver.readout.body_position(simulation.state, ball)[2] for ball in balls]
        return np.array([ball.position[2] - end for ball, end in zip(balls, ends, strict=True)])

    def measure(self, found: Found) -> list[Measurement]:
        """Exponents of the depth by the whole fall and by the density of the ball."""
        usual = found.densities == _USUAL
        by_fall, error = found.exponent(found.falls, usual)
        rows = [
            Measurement("grains", found.grains),
            Measurement("drops", len(found.depths)),
            Measurement("heights-apart", float(found.falls[usual].max() / found.falls[usual].min())),
            Measurement("exponent-of-the-fall", by_fall, "", 1 / 3, None if self.quick else 0.04, _UEHARA),
            Measurement("its-standard-error", error),
            Measurement("shallowest", float(found.depths.min()), "m"),
            Measurement("deepest", float(found.depths.max()), "m"),
        ]
        if len(np.unique(found.densities)) > 1:
            level = found.heights == 0.16
            # The whole fall grows with the depth: its own law is taken out first.
            reduced = replace(found, depths=found.depths / np.cbrt(found.falls))
            by_density = reduced.exponent(found.densities, level)[0]
            rows.append(Measurement("exponent-of-the-density", by_density, "", 0.5, source=_UEHARA))
        return rows

    def plot(self, found: Found, folder: Path) -> list[Path]:
        """Depths against falls, with the law through their middle."""
        path = folder / f"{self.name}.png"
        return [figure(path, lambda axes: _draw(axes[0, 0], found), size=(5.0, 3.6), grid=(1, 1))]


def _touch(bed: grains.Bed, spot: np.ndarray, radius: float) -> float:
    """Height of the middle of a ball that comes down at a spot and touches its first grain [m]."""
    reach = radius + bed.radii
    aside = np.linalg.norm(bed.positions[:, :2] - spot, axis=1)
    near = aside < reach
    return float((bed.positions[near, 2] + np.sqrt(reach[near] ** 2 - aside[near] ** 2)).max())


def _draw(axes: Any, found: Found) -> None:
    for density, color in zip(np.unique(found.densities), COLORS, strict=False):
        mine = found.densities == density
        axes.loglog(found.falls[mine], found.depths[mine], "o", color=color, label=f"{density:g} kg/m³")
    falls = np.geomspace(found.falls.min(), found.falls.max(), 2)
    usual = found.densities == _USUAL
    factor = np.exp(np.mean(np.log(found.depths[usual]) - np.log(found.falls[usual]) / 3.0))
    axes.loglog(falls, factor * np.cbrt(falls), "k--", linewidth=1.0, label="cube root")
    axes.set(xlabel="whole fall [m]", ylabel="depth [m]")
    for axis, ticks in ((axes.xaxis, (0.02, 0.05, 0.1, 0.2, 0.5, 1.0)), (axes.yaxis, (0.005, 0.01, 0.02, 0.05))):
        span = axis.get_view_interval()  # less than a decade, of which powers of ten would be written over each other
        axis.set_ticks([tick for tick in ticks if span[0] <= tick <= span[1]])
        axis.set_major_formatter("{x:g}")
        axis.set_minor_formatter("")
    axes.legend()
