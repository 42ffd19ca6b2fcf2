"""Small solids that the tests of the finite elements share, and what holds of whatever reinforces them."""

from __future__ import annotations

import numpy as np
import pytest

from annelid import fem
from annelid.core.replay import Crew
from annelid.fem.assembly import Assembly
from annelid.materials import Material, material
from annelid.shapes import tet_beam

STILL = fem.World(gravity=(0.0, 0.0, 0.0))


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


def reinforcement_only(solid: fem.Solid, device: str = "cpu") -> tuple[fem.Model, Assembly]:
    """A model of a solid, and an assembly of nothing but its threads and fabrics."""
    model = fem.Model(solid, STILL, device)
    return model, Assembly(solid.node_count, model.reinforcement, Crew(model.device, 1))


def evaluated(model: fem.Model, assembly: Assembly, positions: np.ndarray) -> tuple[float, np.ndarray]:
    """Energy [J] and forces [N] at positions [m]."""
    assembly.evaluate(model.vectors(positions))
    return float(assembly.energy.numpy()[0]), assembly.forces.numpy().copy()


def require_derivatives_that_turn(solid: fem.Solid, bent: np.ndarray, device: str) -> None:
    """Forces and tangents of what reinforces a solid are derivatives, turn with it, and vanish at rest."""
    rng = np.random.default_rng(2)
    model, assembly = reinforcement_only(solid, device)
    energy, forces = evaluated(model, assembly, bent)
    matrix, way, step = assembly.matrix(), rng.normal(size=bent.shape), 1e-7
    (above, after), (below, before) = (evaluated(model, assembly, bent + s * step * way) for s in (1.0, -1.0))
    product = (matrix @ way.ravel()).reshape(-1, 3)
    assert abs((above - below) / (2 * step) + (forces * way).sum()) < 1e-7 * abs(forces * way).sum()
    assert abs(-(after - before) / (2 * step) - product).max() < 1e-7 * abs(product).max()
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    turn *= np.sign(np.linalg.det(turn))
    again, turned = evaluated(model, assembly, bent @ turn.T + [3.0, -2.0, 1.0])
    assert abs(turned - forces @ turn.T).max() < 1e-12 * abs(forces).max()
    assert again == pytest.approx(energy, rel=1e-12)
    assert abs(evaluated(model, assembly, solid.nodes)[1]).max() < 1e-12 * abs(forces).max()
