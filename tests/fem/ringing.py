"""A beam that rings, for tests of time: its first mode, and how much of it there is step by step."""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh

from annelid import fem
from annelid.core.simulation import Simulation
from annelid.fem.dynamics import masses
from annelid.materials import Material, NeoHooke
from annelid.shapes import tet_beam

_STILL = (0.0, 0.0, 0.0)


def beam(poisson_ratio: float = 0.49, *, law: bool = True, prony: tuple[tuple[float, float], ...] = ()) -> fem.Solid:
    """A cantilever of linear tetrahedra, 0.1 m long, with a group at its tip."""
    soft = Material.hyperelastic("test", NeoHooke(3e4), poisson_ratio=poisson_ratio, prony=prony)
    if not law:
        soft = Material("test", soft.density, soft.youngs_modulus, poisson_ratio, 1.0, 0.0, "test")
    solid = fem.Solid(tet_beam(0.1, 0.02, 0.02, cells=(5, 1, 1)), soft).fix(lambda p: p[:, 0] < 1e-9)
    return solid.group("tip", lambda p: p[:, 0] > 0.1 - 1e-9)


def ringing(dt: float, solid: fem.Solid, *, tip: float = 1e-3, damping: float = 0.0) -> Simulation[fem.Solver]:
    """A simulation of a beam that was pulled at its tip, by about that much [m], and let go."""
    stiffness = 3e4 * 3.0 * 0.02**4 / 4.0 / 0.1**3
    solid = solid.copy().push("tip", (0.0, 0.0, stiffness * tip))
    pulled = fem.equilibrium(solid, gravity=_STILL, relaxed=False, device="cpu")
    solid.forces[:] = 0.0
    simulation = fem.simulation(
        solid, dt=dt, integrator="midpoint", gravity=_STILL, velocity_damping=damping, device="cpu", threads=1
    )
    simulation.state.positions.assign(pulled)
    return simulation


def first_mode(solid: fem.Solid) -> tuple[float, np.ndarray]:
    """Period of the slowest small oscillation [s], and what a displacement is multiplied by to have its share of it."""
    model = fem.Model(solid, fem.World(gravity=_STILL), "cpu")
    model.assembly.evaluate(model.rest)
    mass = np.zeros((solid.node_count, solid.node_count))
    for nodes, shares in zip(*masses(solid), strict=True):
        mass[np.ix_(nodes, nodes)] += shares
    free = np.ix_(~solid.held.ravel(), ~solid.held.ravel())
    every = np.kron(mass, np.eye(3))
    squares, shapes = eigh(model.assembly.matrix().toarray()[free], every[free], subset_by_index=[0, 0])
    row = np.zeros(solid.nodes.size)
    row[~solid.held.ravel()] = every[free] @ shapes[:, 0]
    return float(2.0 * np.pi / np.sqrt(squares[0])), row


def shares_of(simulation: Simulation[fem.Solver], row: np.ndarray, steps: int) -> np.ndarray:
    """Share of a mode after each of some steps."""
    rest, found = simulation.solver.model.solid.nodes, []
    for _ in range(steps):
        simulation.step()
        found.append(row @ (simulation.positions() - rest).ravel())
    return np.array(found)


def decrement(simulation: Simulation[fem.Solver], row: np.ndarray, steps: int) -> float:
    """Logarithm of what a mode loses in a period of so many steps, from the first to the third whole one."""
    values = shares_of(simulation, row, 3 * steps + steps // 2) * np.sign(row[-1])
    early, late = (_peak(values[(2 * n - 1) * steps // 2 : (2 * n + 1) * steps // 2]) for n in (1, 3))
    return float(np.log(early / late)) / 2.0


def _peak(values: np.ndarray) -> float:
    """Largest value of a curve through values."""
    at = int(values[1:-1].argmax()) + 1
    below, here, above = values[at - 1 : at + 2]
    return float(here + (above - below) ** 2 / (8.0 * (2.0 * here - below - above)))
