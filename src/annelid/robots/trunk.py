"""A tapering trunk that eight cables bend: four to its middle, four to its tip."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from annelid import fem
from annelid.core.errors import InvalidValue
from annelid.core.options import spelled_out
from annelid.materials import Material, material
from annelid.shapes import Path, Surface, TetMesh, tet_trunk

_LENGTH, _BASE, _TIP = 0.2, 0.016, 0.008
_LAYERS = 16
_SIDES = {"right": 0, "back": 1, "left": 2, "front": 3}


def cable_nodes(mesh: TetMesh, side: int, reach: float, radii: tuple[float, float], layers: int) -> list[int]:
    """Nodes of the surface along a side, from the base on; every second layer as far as the cable reaches [m]."""
    angle, length = 0.5 * math.pi * side, -float(mesh.nodes[:, 2].min())
    along = np.linspace(0.0, length, layers + 1)[::2]
    along = along[along <= reach + 1e-9]
    radius = np.interp(along, [0.0, length], radii)
    points = np.column_stack([radius * math.cos(angle), radius * math.sin(angle), -along])
    return [int(node) for node in mesh.nearest(points)]


def trunk_parts(
    *,
    tension: float = 8.0,
    tension_rate: float = math.inf,
    modulus: float = 300e3,
    length: float = _LENGTH,
    radii: tuple[float, float] = (_BASE, _TIP),
    layers: int = _LAYERS,
    silicone: Material | None = None,
    surface: Surface | None = None,
    motion: Path | None = None,
) -> tuple[fem.Solid, list[fem.Cable]]:
    """The trunk, hanging from its base at z = 0, and its cables, "long-right" to "short-front".

    Args:
        tension: Highest tension of a cable [N].
        tension_rate: Largest change of a tension in a second [N/s].
        modulus: Young's modulus of the silicone [Pa], unless that is given.
        length: Length [m].
        radii: Radii of base and tip [m].
        layers: Cells along it, an even number; cables pass through every second border.
        silicone: What it is made of; None is linear in strains, as worlds that are stepped together cannot be.
        surface: How its surface responds to contact.
        motion: Path that its base follows; None holds it where it is.
    """
    _require_radii(radii)
    mesh = tet_trunk(*radii, length, cells=2, layers=layers, axis=(0.0, 0.0, -1.0))
    usual = material("ecoflex-00-30").with_(youngs_modulus=modulus, poisson_ratio=0.45)
    solid = fem.Solid(mesh, silicone or usual, surface=surface).fix(lambda p: p[:, 2] > -1e-9, motion=motion)
    cables = [
        fem.Cable(
            name=f"{reach}-{side}", tension=(0.0, tension), tension_rate=tension_rate,
            through=cable_nodes(mesh, number, length if reach == "long" else 0.5 * length, radii, layers),
        )
        for reach in ("long", "short")
        for side, number in _SIDES.items()
    ]  # fmt: skip
    return solid, cables


def _require_radii(given: object) -> None:
    """Refuse what is no pair of radii of base and tip."""
    if not isinstance(given, Sequence | np.ndarray) or isinstance(given, str) or len(given) != 2:
        raise InvalidValue(f"radii = {given!r:.60} cannot be used; give those of base and tip [m].")


@spelled_out("a trunk")
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
    solid, cables = trunk_parts(tension=tension, modulus=modulus)
    tip = fem.Point(name="tip", at=(0.0, 0.0, -_LENGTH))
    return fem.Robot(solid, cables, [tip], device=device, threads=threads)
