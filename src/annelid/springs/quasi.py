"""Bodies from quasi-uniform lattices: evenly spread masses without the preferred directions of a cubic grid.

A network of springs in all directions, of which those in a volume V hold Σ k L², has the elastic tensor
C = Σ k L² / 15 V (δδ + δδ + δδ) as long as masses follow the mean strain: isotropic, Poisson's ratio 1/4,
E = Σ k L² / 6 V. So each spring gets the share 6 E V / L² of the volume V around its middle.

Masses do not quite follow the mean strain. How much softer that makes the network is found once for each reach, by
solving for the relaxed positions inside a cube.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

import numpy as np
from scipy.sparse.linalg import cg

from annelid.core.errors import InvalidValue
from annelid.core.numbers import is_number
from annelid.core.options import require_kind, spelled_out
from annelid.materials import Material
from annelid.materials import material as preset
from annelid.shapes import Box, Shape
from annelid.shapes.given import MeshLike, given_solid
from annelid.shapes.quasi import QuasiLattice
from annelid.shapes.values import require_positive
from annelid.springs.body import Body
from annelid.springs.covering import cover_quasi
from annelid.springs.parts import (
    Inserts,
    MaterialLike,
    given_inserts,
    materials_at,
    warn_of_overlaps,
    warn_of_units,
    warn_of_unused,
)
from annelid.springs.potential import Potential

_PROBE = 0.055  # spacing in the unit cube on which the relaxation of a network is measured


@spelled_out("a quasi-uniform lattice of springs")
def quasi_lattice(
    shape: Shape | MeshLike,
    spacing: float,
    material: MaterialLike,
    *,
    seed: int = 0,
    reach: float = 2.1,
    inserts: Inserts = (),
    mass: float | None = None,
    damping_frequency: float | None = None,
    scale: float | None = None,
    repair: bool = False,
) -> Body:
    """A solid as a quasi-uniform lattice whose bulk has the material's Young's modulus and density.

    Args:
        shape: Any solid: a primitive or a closed mesh, the path of an STL, OBJ or PLY file, or an object of trimesh.
        spacing: Least distance of two masses [m]; their mean distance is about 1.25 times as large.
        material: Material, or the name of one.
        seed: Seed of the random points.
        reach: Masses are joined up to this many spacings, at least 1.8: below, the network loses its stiffness.
        inserts: Parts of another material, `[(region, material), …]`, as for `lattice`; later ones win.
        mass: Total mass [kg], shared by volume; None takes density times volume.
        damping_frequency: Frequency [Hz] at which springs have the material's damping ratio; None for no damping.
        scale: Length of the unit of a file [m]: 1e-3 for millimetres; None takes metres and refuses what is too wide.
        repair: Close the surface of a file if need be.
    """
    if not (is_number(reach) and 1.8 <= reach <= 6.0):
        raise InvalidValue(f"reach must be between 1.8 and 6 spacings, not {reach!r:.60}.")
    if damping_frequency is not None and not (is_number(damping_frequency) and damping_frequency > 0.0):
        raise InvalidValue(f"damping_frequency must be positive, not {damping_frequency!r:.60}.")
    if mass is not None:
        require_positive("mass", mass)
    solid = given_solid(shape, scale=scale, repair=repair)
    require_kind("the shape", solid, Shape, "a shape, the path of a mesh file or an object of trimesh")
    grid = QuasiLattice.fill(solid, spacing, reach=reach, seed=seed)
    warn_of_overlaps(solid)
    others = given_inserts(inserts, scale=scale, repair=repair)
    matter, parts = [preset(material), *(other for _, other in others)], [part for part, _ in others]
    which = materials_at(grid.samples, parts)
    warn_of_unused(which, len(parts))
    modulus, density, loss = (_values(matter, name)[which] for name in ("youngs_modulus", "density", "damping"))
    masses = grid.node_sums(density)
    softness = relaxation(reach)
    viscous = 0.0 if damping_frequency is None else loss * modulus / (math.pi * damping_frequency)
    body = Body(
        positions=grid.nodes,
        masses=masses if mass is None else masses * (mass / masses.sum()),
        springs=grid.links,
        rest_lengths=_lengths(grid),
        stiffness=_shared(grid, modulus) / softness,
        damping=_shared(grid, viscous) / softness,
        spring_materials=materials_at(grid.nodes[grid.links].mean(axis=1), parts),
        materials=tuple(m.name for m in matter),
        volumes=grid.node_sums(1.0),
        triangles=grid.surface,
        coverings=cover_quasi(solid, grid, spacing),
    )
    warn_of_units("the lattice", body, "mass= is that of all of it [kg]", matter=matter, stacklevel=3)
    return body


@functools.cache
def relaxation(reach: float) -> float:
    """Young's modulus of a network of this reach, over the one it would have if masses followed the mean strain.

    The inner masses of a cube relax while the outer ones are held in a state of uniform compression, then shear. The
    energies that are left, as parts of those before, are the ratios of the bulk and the shear modulus.
    """
    grid = QuasiLattice.fill(Box((1.0, 1.0, 1.0)), _PROBE, reach=reach)
    body = Body(grid.nodes, 1.0, grid.links, _lengths(grid), _shared(grid, 1.0))
    shears = np.array([[[0, 1, 0], [1, 0, 0], [0, 0, 0]], [[1, 0, 0], [0, -1, 0], [0, 0, 0]]], float)
    bulk = _energy_left(body, grid.radius, np.eye(3))
    shear = float(np.mean([_energy_left(body, grid.radius, strain) for strain in shears]))
    return 6.0 / (5.0 / shear + 1.0 / bulk)  # 1/E = 1/3G + 1/9K with K = 5/3 G


def _energy_left(body: Body, margin: float, strain: np.ndarray) -> float:
    """Elastic energy of the core of a unit cube after its masses have relaxed, over that before."""
    depth = 0.5 - np.abs(body.positions).max(axis=1)
    free = np.repeat(depth > margin, 3)
    stiffness = Potential(body).stiffness(body.positions).tocsr()
    before = (body.positions @ strain).ravel()
    after = before.copy()
    after[free] += cg(stiffness[free][:, free], -(stiffness[free] @ before), rtol=1e-4)[0]
    first, second = body.springs.T
    core = depth[body.springs].min(axis=1) > 1.5 * margin
    unit = (body.positions[second] - body.positions[first]) / body.rest_lengths[:, None]

    def energy(displacement: np.ndarray) -> float:
        moved = displacement.reshape(-1, 3)
        stretch = np.einsum("ij,ij->i", moved[second] - moved[first], unit)
        return float((body.stiffness * stretch**2)[core].sum())

    return energy(after) / energy(before)


def _shared(grid: QuasiLattice, modulus: float | np.ndarray) -> np.ndarray:
    """Spring constants 6 E V / L² [N/m] from a modulus [Pa] at each of the lattice's samples, shape [m]."""
    return np.asarray(6.0 * grid.link_sums(modulus) / _lengths(grid) ** 2)


def _lengths(grid: QuasiLattice) -> np.ndarray:
    first, second = grid.links.T
    return np.linalg.norm(grid.nodes[second] - grid.nodes[first], axis=1)


def _values(matter: Sequence[Material], name: str) -> np.ndarray:
    return np.array([getattr(m, name) for m in matter])
