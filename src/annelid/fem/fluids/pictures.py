"""Pictures of the fluid in a cavity: the weight that each node carries, as a heat map (Rodríguez et al., Fig. 3)."""

from __future__ import annotations

import numpy as np

from annelid.core.errors import InvalidValue
from annelid.core.snapshot import Field, Mesh, Number, Snapshot
from annelid.fem.fluids.cavity import Cavity
from annelid.fem.fluids.columns import ColumnLoad
from annelid.shapes.values import Floats

WEIGHT_FIELD = "weight"
"""Name of the field to colour by."""


def weight_picture(cavity: Cavity, positions: Floats, load: ColumnLoad, *, relative: bool = False) -> Snapshot:
    """The cavity from outside, coloured by the weight of fluid that its nodes carry.

    The heaviest hundredth of the nodes shares the hot end of the colours, so that a few large triangles do not darken
    all others.

    Args:
        cavity: The cavity.
        positions: Positions of all nodes of the solid [m], shape [n, 3].
        load: What columns found at these positions.
        relative: Show shares of the hot end instead of weights, to compare cavities.
    """
    if len(load.weights) != len(cavity.nodes):
        raise InvalidValue(f"{len(load.weights)} weights do not fit a cavity of {len(cavity.nodes)} nodes.")
    hot = max(float(np.quantile(load.weights, 0.99)), 1e-30)
    field = Field(load.weights / hot, limits=(0.0, 1.0)) if relative else Field(load.weights, "N", limits=(0.0, hot))
    mesh = Mesh(cavity.name, cavity.points(positions), cavity.local, {WEIGHT_FIELD: field})
    numbers = {"weight": Number(load.weight, "N"), "volume": Number(load.exact_volume, "m³")}
    return Snapshot(time=0.0, parts=(mesh,), numbers=numbers)
