"""Bodies from shapes and materials: lattices in any solid, blocks by number of masses, trusses of bars."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from annelid.core.arrays import as_numbers, whole_numbers
from annelid.core.errors import InvalidValue
from annelid.core.numbers import is_number
from annelid.core.options import require_kind, require_truth, spelled_out
from annelid.materials import Material
from annelid.materials import material as preset
from annelid.shapes import Box, Cylinder, Sphere
from annelid.shapes import beam as beam_shape
from annelid.shapes.given import MeshLike, given_solid
from annelid.shapes.lattice import Lattice, Region, Solid
from annelid.shapes.values import as_vector, require_positive
from annelid.springs.body import Body
from annelid.springs.covering import cover
from annelid.springs.parts import (
    Inserts,
    MaterialLike,
    compare_volumes,
    given_inserts,
    materials_at,
    warn_of_overlaps,
    warn_of_units,
    warn_of_unused,
)
from annelid.springs.stiffness import lattice_stiffness, round_area


def bars(lattice: Lattice, material: MaterialLike, diameter: float, *, breaking: bool = False) -> Body:
    """A lattice of round bars (see `truss`) with its surface for pictures."""
    links, _ = lattice.links
    body = truss(lattice.nodes, links, material, diameter, breaking=breaking)
    body.triangles = lattice.surface.astype(np.int32)
    return body


def block(
    masses: tuple[int, int, int],
    pitch: float = 0.1,
    *,
    mass: float = 0.1,
    stiffness: float = 1.0e4,
    damping: float = 0.0,
) -> Body:
    """A block of masses joined along edges, face and body diagonals, with the defaults of Cronos.

    Args:
        masses: Number of masses along x, y, z.
        pitch: Distance of two masses [m].
        mass: Mass of each [kg].
        stiffness: Spring constant at a length of 1 m [N]; k = stiffness / length.
        damping: Dashpot of each spring [N s/m].
    """
    constants = as_numbers("the stiffness of a block", stiffness)
    lattice = Lattice.block(masses, pitch)
    links, kinds = lattice.links
    lengths = lattice.pitch * np.sqrt(kinds.astype(float))
    if constants.shape not in ((), lengths.shape):
        raise InvalidValue(
            f"the stiffness of a block must be one number, or one for each of its {len(lengths)} springs, not an array "
            f"of shape {list(constants.shape)}."
        )
    body = Body(
        positions=lattice.nodes,
        masses=mass,
        springs=links,
        rest_lengths=lengths,
        stiffness=constants / lengths,
        damping=damping,
        volumes=lattice.node_sums(np.full(lattice.cells.shape, lattice.pitch**3)),
        triangles=lattice.surface,
    )
    wanted = f"mass= is of each mass, and about {1e3 * lattice.pitch**3:.2g} kg at 1000 kg/m³"
    warn_of_units("the block", body, wanted, stacklevel=2)
    return body


@spelled_out("a lattice of springs")
def lattice(
    shape: Solid | MeshLike,
    pitch: float,
    material: MaterialLike,
    *,
    inserts: Inserts = (),
    mass: float | None = None,
    damping_frequency: float | None = None,
    breaking: bool = False,
    scale: float | None = None,
    repair: bool = False,
) -> Body:
    """A solid as a cubic lattice whose bulk has the material's Young's modulus and density.

    Args:
        shape: Any solid: a primitive or a closed mesh, the path of an STL, OBJ or PLY file, or an object of trimesh.
        pitch: Edge of a cell [m].
        material: Material, or the name of one.
        inserts: Parts of another material, `[(region, material), …]`; later ones win. A region is a solid, a function
            of points, or a mesh as for `shape`.
        mass: Total mass [kg] spread evenly over the masses; None takes density times volume.
        damping_frequency: Frequency [Hz] at which springs have the material's damping ratio; None for no damping.
        breaking: Whether springs break at the material's yield strain.
        scale: Length of the unit of a file [m]: 1e-3 for millimetres; None takes metres and refuses what is too wide.
        repair: Close the surface of a file if need be.
    """
    solid = given_solid(shape, scale=scale, repair=repair)
    require_kind("the shape", solid, Solid, "a solid, the path of a mesh file or an object of trimesh")
    if mass is not None:
        require_positive("mass", mass)
    grid = Lattice.fill(solid, pitch)
    warn_of_overlaps(solid)
    compare_volumes(solid, grid)
    parts = given_inserts(inserts, scale=scale, repair=repair)
    kinds_of_matter = [preset(material), *(other for _, other in parts)]
    which = _cell_materials(grid, [part for part, _ in parts])
    links, kinds = grid.links
    modulus = np.array([m.youngs_modulus for m in kinds_of_matter])[which]
    stiffness = np.choose(kinds - 1, [grid.link_means(k) for k in lattice_stiffness(modulus, pitch)])
    volumes = grid.node_sums(np.full(grid.cells.shape, pitch**3))
    spring_materials = _link_materials(grid, which, len(kinds_of_matter))
    density = np.array([m.density for m in kinds_of_matter])[which]
    masses = grid.node_sums(density * pitch**3) if mass is None else np.full(grid.node_count, mass / grid.node_count)
    body = Body(
        positions=grid.nodes,
        masses=masses,
        springs=links,
        rest_lengths=pitch * np.sqrt(kinds.astype(float)),
        stiffness=stiffness,
        damping=_damping(grid, kinds, which, kinds_of_matter, pitch, damping_frequency),
        spring_materials=spring_materials,
        yield_strains=np.array([m.yield_strain for m in kinds_of_matter])[spring_materials] if breaking else None,
        materials=tuple(m.name for m in kinds_of_matter),
        volumes=volumes,
        triangles=grid.surface,
        coverings=cover(solid, grid),
    )
    warn_of_units("the lattice", body, "mass= is that of all of it [kg]", matter=kinds_of_matter, stacklevel=3)
    return body


def box(size: Sequence[float], pitch: float, material: MaterialLike, **options: Any) -> Body:
    """A box of that size [m], centred on the origin, as a `lattice`."""
    return lattice(Box(as_vector("the size of a box", size)), pitch, material, **options)


def beam(length: float, width: float, height: float, pitch: float, material: MaterialLike, **options: Any) -> Body:
    """A beam along x from x = 0 [m], as a `lattice`."""
    return lattice(beam_shape(length, width, height), pitch, material, **options)


def sphere(radius: float, pitch: float, material: MaterialLike, **options: Any) -> Body:
    """A ball [m] centred on the origin, as a `lattice`."""
    return lattice(Sphere(radius), pitch, material, **options)


def cylinder(radius: float, length: float, pitch: float, material: MaterialLike, **options: Any) -> Body:
    """A cylinder [m] along z centred on the origin, as a `lattice`."""
    return lattice(Cylinder(radius, length), pitch, material, **options)


def truss(
    points: np.ndarray, bars: np.ndarray, material: MaterialLike, diameter: float, *, breaking: bool = False
) -> Body:
    """Round bars between points: k = E A / L each, and half of a bar's mass at each of its ends (Titan, sec. III-E).

    Args:
        points: Joints [m], shape [n, 3].
        bars: The two joints of each bar, shape [m, 2].
        material: Material of the bars.
        diameter: Diameter of the bars [m].
        breaking: Whether bars break at the material's yield strain, which for a bar is its yield stress over E.
    """
    if not is_number(diameter) or diameter <= 0.0:
        raise InvalidValue(f"the diameter of bars must be positive, not {diameter}.")
    require_truth("breaking", breaking)
    points, bars = as_numbers("points of a truss", points), whole_numbers("bars of a truss", bars)
    matter = preset(material)
    if points.ndim != 2 or points.shape[1] != 3:
        raise InvalidValue(f"points must have shape [n, 3], not {list(points.shape)}.")
    if bars.ndim != 2 or bars.shape[1] != 2 or bars.size == 0 or bars.min() < 0 or bars.max() >= len(points):
        raise InvalidValue(f"bars must join two of the {len(points)} points.")
    bars = bars.astype(np.int64)
    lengths = np.linalg.norm(points[bars[:, 1]] - points[bars[:, 0]], axis=1)
    if not (lengths > 0.0).all():
        raise InvalidValue(f"bar {int(np.flatnonzero(~(lengths > 0.0))[0])} has no length: its two joints must differ.")
    area = round_area(diameter)
    half = matter.density * area * lengths / 2
    body = Body(
        positions=points,
        masses=np.bincount(bars.ravel(), np.repeat(half, 2), minlength=len(points)),
        springs=bars,
        rest_lengths=lengths,
        stiffness=matter.youngs_modulus * area / lengths,
        diameters=diameter,
        yield_strains=matter.yield_strain if breaking else None,
        materials=(matter.name,),
    )
    warn_of_units("the truss", body, matter=[matter], stacklevel=2)
    return body


def _cell_materials(grid: Lattice, parts: Sequence[Region]) -> np.ndarray:
    """Index of the material of each cell, shape of the cells."""
    if not parts:
        return np.zeros(grid.cells.shape, np.int16)
    which = materials_at(grid.cell_centers.reshape(-1, 3), parts)
    warn_of_unused(which[grid.cells.ravel()], len(parts))
    return which.reshape(grid.cells.shape)


def _link_materials(grid: Lattice, which: np.ndarray, count: int) -> np.ndarray:
    """The material that holds most of each link."""
    if count == 1:
        return np.zeros(len(grid.links[0]), np.int16)
    shares = np.stack([grid.link_means((which == index).astype(float)) for index in range(count)])
    return shares.argmax(axis=0).astype(np.int16)


def _damping(
    grid: Lattice,
    kinds: np.ndarray,
    which: np.ndarray,
    matter: Sequence[Material],
    pitch: float,
    frequency: float | None,
) -> np.ndarray:
    """Dashpots proportional to stiffness: damping ratio = c ω / 2k at the given frequency."""
    if frequency is None:
        return np.zeros(len(kinds))
    if not is_number(frequency) or frequency <= 0.0:
        raise InvalidValue(f"damping_frequency must be positive, not {frequency}.")
    viscous = np.array([m.youngs_modulus * m.damping for m in matter])[which] / (math.pi * frequency)
    floor = np.finfo(float).tiny  # a material without damping among damped ones
    return np.choose(kinds - 1, [grid.link_means(c) for c in lattice_stiffness(np.maximum(viscous, floor), pitch)])
