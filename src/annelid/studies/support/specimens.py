"""Bars of every kind of lattice, for mechanical tests: those a user may build, and that of the papers beside them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from annelid import springs
from annelid.materials import material
from annelid.shapes import Box, Shape
from annelid.shapes.lattice import Lattice
from annelid.springs.quasi import quasi_lattice
from annelid.springs.stiffness import lattice_modulus
from annelid.springs.volume import VolumeTerm, split_moduli
from annelid.studies.support.bars import Bar

DIRECTIONS = {"100": (1.0, 0.0, 0.0), "110": (1.0, 1.0, 0.0), "111": (1.0, 1.0, 1.0)}
"""Directions of the axis of a bar, as seen from the cells of a cubic lattice."""
MATTER = material("dragon-skin-30")
"""What the bars are made of."""
SPRINGS_POISSON = 0.25
"""Poisson's ratio of every isotropic network of springs, whatever the material says."""
_WIDTH = 0.04  # of the bars [m]

Built = tuple[springs.Body, VolumeTerm | None]


@dataclass(frozen=True)
class Kind:
    """A kind of lattice.

    Attributes:
        build: Makes a body, and perhaps a volume term, of a shape with a pitch [m].
        poisson: Poisson's ratio that it is to have.
        calibrated: Whether it is to have the material's modulus.
        ordered: Whether its masses lie in planes, so that a bar along them ends in one.
    """

    build: Callable[[Shape, float], Built]
    poisson: float = SPRINGS_POISSON
    calibrated: bool = True
    ordered: bool = True


def specimen(kind: str, direction: str, cells: int, *, slender: int = 5) -> Bar:
    """A bar of a kind of lattice along a direction of its cells.

    Args:
        kind: One of `KINDS`.
        direction: One of `DIRECTIONS`.
        cells: Cells across the bar.
        slender: Its length in widths.
    """
    axis = np.array(DIRECTIONS[direction]) / np.linalg.norm(DIRECTIONS[direction])
    pitch, length = _WIDTH / cells, slender * _WIDTH
    shape: Shape = Box((length, _WIDTH, _WIDTH))
    turn = np.cross([1.0, 0.0, 0.0], axis)
    side = np.array([0.0, 1.0, 0.0])
    if np.linalg.norm(turn) > 1e-9:
        angle = float(np.arccos(axis[0]))
        shape = shape.surface().rotated(turn, angle)
        unit = turn / np.linalg.norm(turn)
        side = side * np.cos(angle) + np.cross(unit, side) * np.sin(angle) + unit * (unit @ side) * (1 - np.cos(angle))
    grip = (0.5 if direction == "100" and KINDS[kind].ordered else 1.0) * pitch
    body, volume = KINDS[kind].build(shape, pitch)
    return Bar(body, axis, side, length, _WIDTH, grip, volume)


def _voxel(shape: Shape, pitch: float) -> Built:
    return springs.lattice(shape, pitch, MATTER), None


def _voxel_volume(shape: Shape, pitch: float) -> Built:
    """Springs and a volume term that together have the material's two constants."""
    modulus, kappa = split_moduli(MATTER)
    body = springs.lattice(shape, pitch, MATTER.with_(youngs_modulus=modulus))
    return body, VolumeTerm(Lattice.fill(shape, pitch), kappa)


def _quasi(shape: Shape, pitch: float) -> Built:
    return quasi_lattice(shape, pitch / 1.25, MATTER), None  # the mean distance of masses is then about the pitch


def _cronos(shape: Shape, pitch: float) -> Built:
    """Constants k = c / L for every spring, as Cronos and Titan do, with c such that the bulk has E along its edges."""
    grid = Lattice.fill(shape, pitch)
    links, kinds = grid.links
    lengths = pitch * np.sqrt(kinds.astype(float))
    plain = lattice_modulus((1.0, 1 / np.sqrt(2.0), 1 / np.sqrt(3.0)), pitch)
    constants = (MATTER.youngs_modulus / plain) * pitch / lengths
    volumes = grid.node_sums(np.full(grid.cells.shape, pitch**3))
    return springs.Body(grid.nodes, MATTER.density * volumes, links, lengths, constants, volumes=volumes), None


KINDS = {
    "voxel": Kind(_voxel),
    "voxel-volume": Kind(_voxel_volume, poisson=MATTER.poisson_ratio),
    "quasi-uniform": Kind(_quasi, ordered=False),
    "voxel-cronos": Kind(_cronos, calibrated=False),
}
"""Cubic, cubic with a volume term, quasi-uniform, and cubic with stiffness over length as the papers have it."""
