"""Tubes of soft silicone that plates divide into chambers, of few nodes, for worlds that are stepped together.

Plates and one side are of a stiffer silicone: plates keep a tube from widening, so that air lengthens its other sides
and curls it towards the stiffer one, as windings do in fingers of Galloway et al. 2016 (doi:10.1089/soro.2015.0019).
Worlds that are stepped together have no threads and no fabrics.
"""

from __future__ import annotations

import numpy as np

from annelid.materials import Material, NeoHooke
from annelid.shapes import TetMesh
from annelid.shapes.tet.sections import rectangle, steps
from annelid.shapes.tet.sweep import swept
from annelid.shapes.values import require_count, require_positive

_SOFT, _STIFF = 0, 1  # regions
_POISSON, _DENSITY = 0.45, 1070.0  # [-], [kg/m³]
_MOST_CHAMBERS = 100


def tube_mesh(length: float, width: float, thickness: float, wall: float, chambers: int) -> TetMesh:
    """A tube along x with its stiffer side at z = 0.

    Args:
        length: Along x [m].
        width: Along y, centred [m].
        thickness: Along z [m].
        wall: Thickness of walls and plates [m].
        chambers: Number of chambers, each a cavity.
    """
    rooms = require_count("chambers", chambers, least=1, most=_MOST_CHAMBERS)
    wall = require_positive("wall", wall)
    wide = require_positive("width less two walls", width - 2.0 * wall)
    high = require_positive("thickness less two walls", thickness - 2.0 * wall)
    long = require_positive("length of a chamber", (length - (rooms + 1) * wall) / rooms)
    section = rectangle(steps([wall, wide, wall], [1, 1, 1]) - 0.5 * width, steps([wall, high, wall], [1, 1, 1]))
    layers = steps([wall, *[long, wall] * rooms], [1] * (2 * rooms + 1))
    plate = np.arange(len(layers) - 1) % 2 == 0
    column, row = section.patches.T
    hollow = ~plate[:, None] & (column == 1) & (row == 1)
    regions = np.where(plate[:, None] | (row == 0), _STIFF, _SOFT)
    return swept(section, layers, keep=~hollow, regions=regions, place=lambda at: at[:, [2, 0, 1]])


def tube_materials(soft: float, stiff: float) -> dict[int, Material]:
    """Materials of the regions of a tube, by Young's moduli of its soft sides, and of plates and stiffer side [Pa]."""
    return {_SOFT: _silicone("tube", soft), _STIFF: _silicone("plate", stiff)}


def _silicone(name: str, modulus: float) -> Material:
    law = NeoHooke(require_positive("a modulus", modulus) / (2.0 + 2.0 * _POISSON))
    return Material.hyperelastic(name, law, density=_DENSITY, poisson_ratio=_POISSON)
