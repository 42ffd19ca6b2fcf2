"""Small solids that the tests of the finite elements share."""

from __future__ import annotations

import numpy as np

from annelid import fem
from annelid.materials import Material, material
from annelid.shapes import tet_beam


def rubber(poisson_ratio: float = 0.3, youngs_modulus: float = 1e6) -> Material:
    return material("ecoflex-00-30").with_(youngs_modulus=youngs_modulus, poisson_ratio=poisson_ratio, density=1000.0)


def bar(
    cells: tuple[int, int, int] = (4, 1, 1),
    *,
    quadratic: bool = False,
    poisson_ratio: float = 0.3,
    length: float = 1.0,
    thickness: float = 0.2,
    volume: fem.Volume = "auto",
) -> fem.Solid:
    """A bar along x, clamped at 0."""
    mesh = tet_beam(length, thickness, thickness, cells=cells)
    solid = fem.Solid(mesh.quadratic() if quadratic else mesh, rubber(poisson_ratio), volume=volume)
    return solid.fix(lambda p: p[:, 0] < 1e-9).group("tip", lambda p: p[:, 0] > length - 1e-9)


def shaken(solid: fem.Solid, size: float, seed: int = 0) -> np.ndarray:
    """Positions of its nodes, moved at random [m]."""
    return solid.nodes + size * np.random.default_rng(seed).standard_normal(solid.nodes.shape)
