"""Beds: where grains start. Filling a region to a given packing, pouring from above, lattices, pushing apart."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import warp as wp
from numpy.typing import ArrayLike

from annelid.core.errors import InvalidValue
from annelid.core.memory import require_memory
from annelid.core.numbers import is_number
from annelid.core.options import require_kind
from annelid.grains.relax import Relaxation, bake_room
from annelid.shapes import Box, Cylinder, Shape, SignedDistanceGrid, TriangleMesh
from annelid.shapes.interior import Interior
from annelid.shapes.values import Floats, as_vector, require_count, require_positive, seeded

Radii: TypeAlias = float | tuple[float, float] | Callable[[np.random.Generator, int], ArrayLike]
"""One radius, the ends of a uniform distribution, or a function of a generator and a count [m]."""

MOST_GRAINS = 20_000_000

_BYTES_A_GRAIN = 800  # while it is placed and compiled; measured
_BYTES_A_CENTRE = 150  # of a lattice

_DENSEST = 0.635  # random packing of equal spheres that pushing apart still reaches, far from walls
_WALL_LOSS = 0.09  # of it for each diameter of wall area over volume; measured in boxes of 10 and 20 diameters
_MIXED = 0.08  # that spheres of different sizes may pack denser; beyond it nothing is tried


class GrainsStuck(InvalidValue):
    """Grains could not be pushed apart; others, of another seed, may come apart."""


def fill(
    region: Shape,
    radius: Radii,
    packing: float = 0.55,
    *,
    seed: int = 0,
    device: str | wp.Device = "cpu",
    steps: int = 8000,
) -> tuple[Floats, Floats]:
    """Grains at random places in a region, wholly inside and without overlap.

    Args:
        region: A box, a cylinder, any other shape or a closed mesh.
        radius: One radius [m], two ends of a uniform distribution, or a function `(generator, count) -> radii`.
        packing: Volume of the grains over that of the region; about 0.60 at most for equal grains, less between walls
            that are close.
        seed: Seed of places and sizes.
        device: Where grains are pushed apart.
        steps: Steps of pushing at most.

    Returns:
        Positions [m], shape [n, 3], and radii [m], shape [n]; n is the number whose volume comes closest from below.
    """
    require_kind("the region", region, Shape, "a shape, such as Box((0.2, 0.2, 0.1)), or a closed mesh")
    require_count("steps", steps, least=1, most=10**9)
    generator = seeded(seed)
    volume = region.volume
    radii = _drawn(radius, generator, _checked_packing(packing) * volume)
    _require_room(region, radii, packing)
    grid = None if isinstance(region, (Box, Cylinder)) else bake_room(region, float(radii.min()), device)
    start = _start(region if grid is None else _Gridded(grid, region), radii, generator)
    relaxation = Relaxation(start, radii, room=region, grid=grid, device=device)
    depth = relaxation.settle(most=steps)
    if grid is not None:
        depth = _settle_exactly(relaxation, region, grid, steps, depth)
    if depth > 1e-7:
        most = _densest(region, radii)
        raise GrainsStuck(
            f"packing = {packing:g} is not reached without overlap: {depth:.2g} of a diameter is left after "
            f"{relaxation.steps} steps; ask for less, about {most:.3f} is the limit for equal grains."
        )
    return relaxation.positions, radii


def pour(
    region: Shape,
    count: int,
    radius: Radii,
    *,
    gap: float = 0.1,
    jitter: float = 0.5,
    height: float | None = None,
    seed: int = 0,
) -> tuple[Floats, Floats]:
    """Grains in layers above a region, ready to fall into it; none overlaps another.

    Args:
        region: The container; the layers are as wide as its inside just below its top.
        count: Number of grains.
        radius: One radius [m], two ends of a uniform distribution, or a function `(generator, count) -> radii`.
        gap: Free space between the largest grains at rest in the layers, in largest diameters.
        jitter: Part of that space by which grains are displaced at random, 0 to 1.
        height: Height of the lowest point of the first layer [m]; by default the top of the region.
        seed: Seed of places and sizes.

    Returns:
        Positions [m], shape [n, 3], lowest layer first, and radii [m], shape [n].
    """
    require_kind("the region", region, Shape, "a shape, such as Box((0.2, 0.2, 0.1)), or a closed mesh")
    count = require_count("count", count, least=1, most=MOST_GRAINS)
    gap, jitter = require_positive("gap", gap), _share("jitter", jitter)
    generator = seeded(seed)
    radii = _sizes(radius, generator, count)
    largest = float(radii.max())
    pitch = 2.0 * largest * (1.0 + gap)
    _, high = region.bounds()
    base = float(high[2]) if height is None else height
    if not is_number(base):
        raise InvalidValue(f"height = {height!r:.60} cannot be used; give a height [m], or None for the top.")
    columns = _columns(region, pitch, largest + 0.5 * jitter * (pitch - 2.0 * largest))
    if len(columns) == 0:
        raise InvalidValue(f"no grain of radius {largest:g} m fits below the top of the region: use smaller grains.")
    layer, column = np.divmod(np.arange(count), len(columns))
    places = np.column_stack([columns[column], base + pitch * (layer + 0.5)])
    return places + jitter * (0.5 * pitch - largest) * generator.uniform(-1.0, 1.0, (count, 3)), radii


def jittered_lattice(
    counts: tuple[int, int, int],
    pitch: float,
    *,
    jitter: float = 0.0,
    corner: ArrayLike = (0.0, 0.0, 0.0),
    seed: int = 0,
) -> Floats:
    """Centres on a cubic lattice, each displaced at random, shape [nx ny nz, 3], the last axis running fastest.

    The case of 10,000 spheres that several codes were compared on (radius 0.01 m, box of 0.42 m x 0.42 m, 25 layers) is
    `jittered_lattice((20, 20, 25), 0.021, jitter=4e-4)`.

    Args:
        counts: Centres along x, y and z.
        pitch: Distance of neighbours [m]; the first centre is half of it from the corner.
        jitter: Largest displacement along each axis [m].
        corner: Lowest corner [m].
        seed: Seed of the displacements.
    """
    if not isinstance(counts, Sequence | np.ndarray) or len(counts) != 3:
        raise InvalidValue(f"counts = {counts!r:.60} cannot be used; give three numbers, of centres along x, y and z.")
    sizes = [require_count(f"counts[{axis}]", n, least=1, most=MOST_GRAINS) for axis, n in enumerate(counts)]
    pitch, centres = require_positive("pitch", pitch), float(math.prod(sizes))
    require_memory(f"a lattice of {centres:.2g} centres", _BYTES_A_CENTRE * centres, "use fewer or larger grains")
    if not (is_number(jitter) and jitter >= 0.0):
        raise InvalidValue(f"jitter = {jitter!r} cannot be used; give a finite length of 0 or more [m].")
    grid = np.stack(np.meshgrid(*[np.arange(n) for n in sizes], indexing="ij"), axis=-1).reshape(-1, 3)
    noise = seeded(seed).uniform(-jitter, jitter, grid.shape)
    return np.array(as_vector("corner", corner)) + (grid + 0.5) * pitch + noise


def _checked_packing(packing: float) -> float:
    if not (isinstance(packing, (int, float)) and 0.0 < packing < 1.0):
        raise InvalidValue(f"packing = {packing!r} cannot be used; give a fraction above 0, about 0.60 at most.")
    return float(packing)


def _share(name: str, value: float) -> float:
    if not (is_number(value) and 0.0 <= value <= 1.0):
        raise InvalidValue(f"{name} = {value!r} cannot be used; give a number from 0 to 1.")
    return float(value)


def _sizes(radius: Radii, generator: np.random.Generator, count: int) -> Floats:
    """That many radii [m], shape [count]."""
    if callable(radius):
        radii = np.asarray(radius(generator, count), dtype=np.float64)
        if radii.shape != (count,) or not (np.isfinite(radii).all() and (radii > 0.0).all()):
            raise InvalidValue(
                f"the function of the radii must give {count} finite numbers above 0, one for each grain."
            )
        return radii
    if isinstance(radius, str) or not isinstance(radius, Sequence | np.ndarray):
        return np.full(count, require_positive("radius", radius))
    ends: Any = radius
    if len(ends) != 2:
        raise InvalidValue(f"radius = {radius!r:.60} cannot be used; give one, or two ends of a range.")
    low, high = (require_positive("radius", end) for end in ends)
    return generator.uniform(min(low, high), max(low, high), count)


def _drawn(radius: Radii, generator: np.random.Generator, volume: float) -> Floats:
    """As many radii as have a volume [m^3] from below."""
    probe = _sizes(radius, np.random.default_rng(0), 1000)
    mean = float(np.mean(4.0 / 3.0 * np.pi * probe**3))
    expected = volume / mean if mean > 0.0 else math.inf
    if expected > MOST_GRAINS:
        raise InvalidValue(f"{expected:.2g} grains would be needed, more than {MOST_GRAINS}: use larger ones.")
    require_memory(f"a bed of {expected:.2g} grains", _BYTES_A_GRAIN * expected, "use larger grains or a smaller bed")
    radii = _sizes(radius, generator, int(1.2 * expected) + 1000)
    count = int(np.searchsorted(np.cumsum(4.0 / 3.0 * np.pi * radii**3), volume * (1.0 + 1e-12), side="right"))
    if count == 0:
        raise InvalidValue(f"not one grain of radius {radii[0]:g} m has room at this packing: use smaller grains.")
    return radii[:count]


def _densest(region: Shape, radii: Floats) -> float:
    """Packing that equal grains reach at random: the bulk's, less what walls cost."""
    return _DENSEST - _WALL_LOSS * 2.0 * float(radii.mean()) * _area(region) / region.volume


def _area(region: Shape) -> float:
    return region.surface(64).area


def _require_room(region: Shape, radii: Floats, packing: float) -> None:
    most = _densest(region, radii) + (0.0 if np.ptp(radii) == 0.0 else _MIXED)
    if packing > most:
        raise InvalidValue(
            f"packing = {packing:g} is more than grains of this size reach at random in this region, about {most:.3f}: "
            "ask for less, or use smaller grains."
        )


def _start(region: Shape, radii: Floats, generator: np.random.Generator) -> Floats:
    """Random places, spread evenly: one in each of a grid's cells, as many as there are grains."""
    pitch = (region.volume / len(radii)) ** (1.0 / 3.0)
    places = Interior(region, 0.97 * pitch).samples(generator, 1)
    if len(places) < len(radii):
        more = Interior(region, pitch).draw(generator, len(radii) - len(places))
        places = np.concatenate([places, more])
    return places[np.sort(generator.permutation(len(places))[: len(radii)])]


class _Gridded(Shape):
    """A region that is asked through its baked distance, which is many times faster than its triangles."""

    def __init__(self, grid: SignedDistanceGrid, region: Shape) -> None:
        self._grid, self._region = grid, region

    def bounds(self) -> tuple[Floats, Floats]:
        return self._region.bounds()

    def signed_distance(self, points: ArrayLike) -> Floats:
        return self._grid.sample(points)[0]

    @property
    def volume(self) -> float:
        return self._region.volume

    def surface(self, resolution: int = 32) -> TriangleMesh:
        return self._region.surface(resolution)


def _settle_exactly(relaxation: Relaxation, region: Shape, grid: SignedDistanceGrid, steps: int, depth: float) -> float:
    """Mend what the grid of a solid gets wrong: keep away from its wall by as much as a grain stands out."""
    radii = relaxation.radii
    for _ in range(8):
        positions = relaxation.positions
        near = np.flatnonzero(grid.sample(positions)[0] > -radii - 2.0 * grid.spacing)
        out = float((region.signed_distance(positions[near]) + radii[near]).max(initial=-1.0))
        if out <= 1e-7 * float(radii.min()) or depth > 1e-7:
            return depth
        relaxation.widen_inset(1.1 * out)
        depth = relaxation.settle(most=steps)
    raise InvalidValue(
        f"grains stand out of the region by {out:.2g} m: its walls are finer than a grain of radius {radii.min():g} m; "
        "use smaller grains."
    )


def _columns(region: Shape, pitch: float, radius: float) -> Floats:
    """Where columns of a square lattice meet the inside of a region just below its top [m], shape [n, 2]."""
    low, high = region.bounds()
    room = np.maximum(high[:2] - low[:2] - 2.0 * radius, 0.0)
    counts = (room / pitch + 1e-9).astype(int) + 1
    first = 0.5 * (low[:2] + high[:2] - pitch * (counts - 1))
    axes = [first[axis] + pitch * np.arange(counts[axis]) for axis in range(2)]
    flat = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2)
    below = np.column_stack([flat, np.full(len(flat), float(high[2]) - radius)])
    return flat[region.signed_distance(below) <= -radius * (1.0 - 1e-9)]
