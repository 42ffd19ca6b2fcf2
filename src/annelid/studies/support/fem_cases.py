"""Solids whose deformation is known in closed form: what finite elements are judged by."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import warp as wp
from scipy.optimize import brentq
from scipy.special import ellipe, ellipeinc, ellipk, ellipkinc

from annelid import fem
from annelid.fem.shape_functions import point_gradients, rule, values
from annelid.materials import Material, material
from annelid.shapes import TetMesh, tet_beam

_STRETCH = np.array([[1.10, 0.25, 0.05], [-0.30, 0.95, 0.10], [0.15, -0.20, 1.05]])
"""An affine map with stretch, shear and a rotation of 16 degrees."""
_TURN = np.array([[0.36, 0.48, -0.80], [-0.80, 0.60, 0.00], [0.48, 0.64, 0.60]])
_AMPLITUDE = 0.08  # of the manufactured displacement, in edges of the cube
_SMALL = 1e-4  # of the cube: distance for differences of stresses


@dataclass(frozen=True)
class Case:
    """How a case is computed: element order and device."""

    quadratic: bool
    device: wp.Device
    threads: int | None = None

    @property
    def name(self) -> str:
        """Name of the elements."""
        return "10-node" if self.quadratic else "linear"

    def solid(self, mesh: TetMesh, matter: Material, volume: fem.Volume = "plain") -> fem.Solid:
        """A solid of these elements."""
        return fem.Solid(mesh.quadratic() if self.quadratic else mesh, matter, volume=volume)

    def equilibrium(self, solid: fem.Solid, *, tolerance: float = 1e-9) -> np.ndarray:
        """Its equilibrium without gravity."""
        settings = fem.Settings(tolerance)
        return fem.equilibrium(
            solid, gravity=(0.0, 0.0, 0.0), device=self.device, threads=self.threads, settings=settings
        )


def rubber(poisson_ratio: float = 0.3) -> Material:
    """A material of 1 MPa."""
    return material("ecoflex-00-30").with_(youngs_modulus=1e6, poisson_ratio=poisson_ratio, density=1000.0)


def crooked_cube(count: int, *, seed: int = 0) -> TetMesh:
    """A unit cube whose inner nodes were moved at random."""
    mesh = tet_beam(1.0, 1.0, 1.0, cells=(count, count, count))
    inner = ~_on_surface(mesh.nodes)
    nodes = mesh.nodes.copy()
    nodes[inner] += np.random.default_rng(seed).uniform(-0.15, 0.15, (int(inner.sum()), 3)) / count
    return TetMesh(nodes, mesh.tetrahedra, cells=mesh.cells)


def patch_error(case: Case, *, volume: fem.Volume = "plain") -> float:
    """Largest distance of inner nodes from the affine map that the surface follows, in edges of the cube."""
    solid = case.solid(crooked_cube(3), rubber(), volume)
    goal = solid.nodes @ _STRETCH.T
    held = np.flatnonzero(_on_surface(solid.nodes))
    solid.displace(held, (goal - solid.nodes)[held])
    return float(np.abs(case.equilibrium(solid, tolerance=1e-13) - goal).max())


def rotation_force(case: Case, *, volume: fem.Volume = "plain") -> float:
    """Largest force on a node of a cube that is turned and moved, over modulus times area of the cube."""
    solid = case.solid(crooked_cube(3), rubber(), volume)
    model = fem.Model(solid, device=case.device, threads=case.threads)
    model.assembly.evaluate(model.vectors(solid.nodes @ _TURN.T + [1.0, 2.0, 3.0]))
    return float(np.abs(model.assembly.forces.numpy()).max() / 1e6)


def manufactured_error(case: Case, count: int) -> float:
    """Root mean square error of the displacement of a cube under the load that a chosen displacement needs."""
    matter = rubber()
    solid = case.solid(tet_beam(1.0, 1.0, 1.0, cells=(count, count, count)), matter)
    held = np.flatnonzero(_on_surface(solid.nodes))
    solid.displace(held, _displacement(solid.nodes[held]))
    solid.forces += _consistent(solid, lambda points: _body_force(points, matter))
    return _distance(solid, case.equilibrium(solid) - solid.nodes)


def cantilever_ratio(case: Case, cells: tuple[int, int, int]) -> float:
    """Deflection of the tip of a beam ten times as long as thick, at ν = 0, over that of Timoshenko's theory."""
    length, height, force = 1.0, 0.1, 1e-4
    matter = rubber(0.0)
    solid = _beam(case, matter, length, height, cells, force)
    area, inertia = height**2, height**4 / 12
    bending = force * length**3 / (3 * matter.youngs_modulus * inertia)
    shear = force * length / (5 / 6 * matter.shear_modulus * area)
    return float(-_tip(solid, case.equilibrium(solid), length)[2] / (bending + shear))


def elastica_tip(case: Case, load: float, cells: tuple[int, int, int] = (20, 1, 1)) -> tuple[np.ndarray, np.ndarray]:
    """Position of the tip of a slender beam under a load P L²/EI that keeps its direction, and by Euler's elastica.

    Both are distances along the beam and across it, in lengths of the beam, shape [2].
    """
    length, height = 1.0, 0.05
    matter = rubber(0.0)
    force = load * matter.youngs_modulus * height**4 / 12 / length**2
    solid = _beam(case, matter, length, height, cells, force)
    along, _, up = _tip(solid, case.equilibrium(solid), length)
    return np.array([length + along, -up]) / length, elastica(load)


def elastica(load: float) -> np.ndarray:
    """Tip of Euler's elastica, clamped at 0, under a load P L²/EI across it: distances along and across, shape [2].

    Bisshopp and Drucker, Large deflection of cantilever beams, Q. Appl. Math. 3 (1945), by the slope at the tip.
    """

    def limits(slope: float) -> tuple[float, float]:
        """Parameter of the elliptic integrals, and the amplitude that they begin with."""
        parameter = 0.5 * (1.0 + np.sin(slope))
        return parameter, np.arcsin(np.sqrt(0.5 / parameter))

    def surplus(slope: float) -> float:
        parameter, first = limits(slope)
        return float(ellipk(parameter) - ellipkinc(first, parameter) - np.sqrt(load))

    slope = float(brentq(surplus, 0.0, np.nextafter(0.5 * np.pi, 0.0), xtol=1e-15))
    parameter, first = limits(slope)
    drop = 1.0 - 2.0 / np.sqrt(load) * (ellipe(parameter) - ellipeinc(first, parameter))
    return np.array([np.sqrt(2.0 * np.sin(slope) / load), drop])


def _beam(
    case: Case, matter: Material, length: float, height: float, cells: tuple[int, int, int], force: float
) -> fem.Solid:
    """A square beam along x, clamped at 0, with a force down on the face of its tip."""
    solid = case.solid(tet_beam(length, height, height, cells=cells), matter)
    solid.fix(lambda p: p[:, 0] < 1e-9)
    return solid.pull(lambda p: p[:, 0] > length - 1e-9, (0.0, 0.0, -force))


def _tip(solid: fem.Solid, positions: np.ndarray, length: float) -> np.ndarray:
    """Mean displacement of the nodes at the tip [m], shape [3]."""
    tip = solid.nodes[:, 0] > length - 1e-9
    return np.asarray((positions - solid.nodes)[tip].mean(axis=0))


def _on_surface(points: np.ndarray) -> np.ndarray:
    """Whether points lie on the surface of the cube of `tet_beam(1, 1, 1)`."""
    low, high = points.min(axis=0), points.max(axis=0)
    return np.asarray(((points < low + 1e-9) | (points > high - 1e-9)).any(axis=1))


def _displacement(points: np.ndarray) -> np.ndarray:
    """The chosen displacement."""
    x, y, z = points.T
    return _AMPLITUDE * np.column_stack(
        [np.sin(2.0 * y) * np.cos(1.5 * z), np.sin(1.8 * z + 0.3) * np.cos(1.2 * x), np.sin(2.2 * x) * np.cos(y + z)]
    )


def _stress(points: np.ndarray, matter: Material) -> np.ndarray:
    """First Piola-Kirchhoff stress 2μ (F − R) + λ tr(RᵀF − I) R of the chosen displacement, shape [n, 3, 3]."""
    steps = 1e-6 * np.eye(3)
    columns = [(_displacement(points + s) - _displacement(points - s)) / 2e-6 for s in steps]
    f = np.eye(3) + np.stack(columns, axis=2)
    left, _, right = np.linalg.svd(f)
    r = left @ right
    mu, lame = matter.shear_modulus, matter.bulk_modulus - 2 / 3 * matter.shear_modulus
    return 2 * mu * (f - r) + lame * (np.einsum("nij,nij->n", r, f) - 3.0)[:, None, None] * r


def _body_force(points: np.ndarray, matter: Material) -> np.ndarray:
    """Force per volume −Div P [N/m³] that holds the chosen displacement, shape [n, 3]."""
    total = np.zeros_like(points)
    for axis, step in enumerate(_SMALL * np.eye(3)):
        change = _stress(points + step, matter) - _stress(points - step, matter)
        total -= change[:, :, axis] / (2 * _SMALL)
    return total


def _samples(solid: fem.Solid) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Shape functions [q, s], points [t, q, 3] and volumes [t, q] of a rule of degree 5."""
    points, _ = rule(5)
    shape = values(solid.elements.shape[1], points)
    _, volumes = point_gradients(solid.nodes, solid.elements, 5)
    return shape, np.einsum("qs,tsi->tqi", shape, solid.nodes[solid.elements]), volumes


def _consistent(solid: fem.Solid, load: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """Nodal forces of a force per volume, shape [n, 3]."""
    shape, points, volumes = _samples(solid)
    density = load(points.reshape(-1, 3)).reshape(points.shape)
    shares = np.einsum("tq,tqi,qs->tsi", volumes, density, shape)
    where = solid.elements.ravel()
    return np.column_stack([np.bincount(where, shares[:, :, axis].ravel(), solid.node_count) for axis in range(3)])


def _distance(solid: fem.Solid, displacement: np.ndarray) -> float:
    """Root mean square of what is between a displacement and the chosen one."""
    shape, points, volumes = _samples(solid)
    found = np.einsum("qs,tsi->tqi", shape, displacement[solid.elements])
    error = found - _displacement(points.reshape(-1, 3)).reshape(points.shape)
    return float(np.sqrt((volumes * (error**2).sum(axis=2)).sum() / volumes.sum()))
