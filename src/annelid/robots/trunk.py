"""A tapering trunk that eight cables bend: four to its middle, four to its tip."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from annelid import fem
from annelid.materials import material
from annelid.shapes import TetMesh, tet_trunk

_LENGTH, _BASE, _TIP = 0.2, 0.016, 0.008
_LAYERS = 16
_SIDES = {"right": 0, "back": 1, "left": 2, "front": 3}


def cable_nodes(mesh: TetMesh, side: int, length: float) -> list[int]:
    """Nodes of the surface along a side, from the base on; every second layer up to a length [m]."""
    angle = 0.5 * math.pi * side
    along = np.linspace(0.0, _LENGTH, _LAYERS + 1)[::2]
    along = along[along <= length + 1e-9]
    radius = np.interp(along, [0.0, _LENGTH], [_BASE, _TIP])
    points = np.column_stack([radius * math.cos(angle), radius * math.sin(angle), -along])
    return [int(node) for node in mesh.nearest(points)]


def trunk(
    *, tension: float = 8.0, modulus: float = 300e3, device: Any = "auto", threads: int | None = None
) -> fem.Robot:
    """The trunk, hanging from its base; its actuators are "long-right" to "short-front", its effector is "tip".

    Args:
        tension: Highest tension of a cable [N].
        modulus: Young's modulus of the silicone [Pa].
        device: "auto", "cpu", "cuda" or "cuda:N".
        threads: CPU threads; None takes all cores.
    """
    mesh = tet_trunk(_BASE, _TIP, _LENGTH, cells=2, layers=_LAYERS, axis=(0.0, 0.0, -1.0))
    silicone = material("ecoflex-00-30").with_(youngs_modulus=modulus, poisson_ratio=0.45)
    solid = fem.Solid(mesh, silicone).fix(lambda p: p[:, 2] > -1e-9)
    cables = [
        fem.Cable(
            name=f"{length}-{side}", tension=(0.0, tension),
            through=cable_nodes(mesh, number, _LENGTH if length == "long" else 0.5 * _LENGTH),
        )
        for length in ("long", "short")
        for side, number in _SIDES.items()
    ]  # fmt: skip
    tip = fem.Point(name="tip", at=(0.0, 0.0, -_LENGTH))
    return fem.Robot(solid, cables, [tip], device=device, threads=threads)
