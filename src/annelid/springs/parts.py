"""What a lattice is made of: the materials of its inserts, and whether it is like the shape that was meant."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from annelid.core.errors import InvalidValue, UnlikeShape
from annelid.core.unlikely import warn_of_density, warn_of_matter, warn_of_size
from annelid.materials import Material
from annelid.materials import material as preset
from annelid.shapes import Shape, TriangleMesh
from annelid.shapes.given import MeshLike, WithFaces, WithParts, given_solid
from annelid.shapes.lattice import Lattice, Region, Solid, inside
from annelid.shapes.mass import mass_properties
from annelid.shapes.tet.overlaps import Shells
from annelid.springs.body import Body

MaterialLike = Material | str
Inserts = Sequence[tuple[Region | MeshLike, MaterialLike]]
"""Parts of another material: where it is, and what it is."""

_UNLIKE = 0.1  # of the volume: a lattice that is further off has another mass than was meant


def given_inserts(
    inserts: Inserts, *, scale: float | None = None, repair: bool = False
) -> list[tuple[Region, Material]]:
    """The regions and materials that are meant; meshes of files and of trimesh have the unit of the body's."""
    if not isinstance(inserts, Sequence) or isinstance(inserts, str):
        raise InvalidValue(f"inserts must be {_ACCEPTED}, not {inserts!r:.60}.")
    return [_given_insert(part, scale, repair) for part in inserts]


_ACCEPTED = "a list of pairs of a region and a material, [(Sphere(0.01), 'pla')]"


def _given_insert(part: Any, scale: float | None, repair: bool) -> tuple[Region, Material]:
    if not isinstance(part, tuple | list) or len(part) != 2:
        raise InvalidValue(f"inserts must be {_ACCEPTED}; {part!r:.60} is no such pair.")
    region, matter = part
    if isinstance(region, str | os.PathLike | WithFaces | WithParts):
        region = given_solid(region, scale=scale, repair=repair)
    elif not (isinstance(region, Solid) or callable(region)):
        raise InvalidValue(
            f"the region of an insert must be a solid, a mesh file or a function of points, not {region!r:.60}."
        )
    return region, preset(matter)


def materials_at(points: np.ndarray, parts: Sequence[Region]) -> np.ndarray:
    """Index of the material at each point [n, 3]: 0, or 1 + that of the last part which holds it, shape [n]."""
    which = np.zeros(len(points), np.int16)
    for index, part in enumerate(parts, start=1):
        which[inside(part, points)] = index
    return which


def warn_of_unused(which: np.ndarray, count: int) -> None:
    """Warn of inserts, `count` of them, whose material is nowhere in the body, where it is `which`."""
    for number in np.setdiff1d(np.arange(count), which - 1):
        warnings.warn(
            f"insert {number} holds no part of the body and changes nothing: move it, use a smaller spacing of masses "
            "if it is thin, or put it after those that cover it.",
            UnlikeShape,
            stacklevel=4,
        )


def warn_of_units(what: str, body: Body, masses: str = "", *, matter: Sequence[Material] = (), stacklevel: int) -> None:
    """Warn of a body so wide or so heavy, or of materials so soft, that numbers may be meant in another unit."""
    for each in matter:
        warn_of_matter(each.name, each.density, each.youngs_modulus, stacklevel=stacklevel + 1)
    low, high = body.bounds()
    warn_of_size(what, float((high - low).max()), stacklevel=stacklevel + 1)
    if body.volumes.any():
        warn_of_density(what, float(body.masses.sum()), float(body.volumes.sum()), masses, stacklevel=stacklevel + 1)


def warn_of_overlaps(solid: Any) -> None:
    """Warn of closed surfaces of a mesh that overlap, which are filled as one solid."""
    if isinstance(solid, TriangleMesh) and (fault := Shells(solid).overlap()) is not None:
        warnings.warn(f"{fault}; the body is one solid there, as heavy as one.", UnlikeShape, stacklevel=4)


def compare_volumes(solid: Any, grid: Lattice) -> None:
    """Warn of a lattice whose volume, and thus its mass, is far from that of its shape."""
    if not isinstance(solid, Shape) or _alike(grid.volume, solid.volume):
        return
    volume = mass_properties(solid).volume  # counts shells that overlap once
    if not _alike(grid.volume, volume):
        warnings.warn(
            f"the lattice fills {100.0 * grid.volume / volume:.0f} % of the volume of the body, and its mass at the "
            f"density of the material is as far off: use a pitch smaller than {grid.pitch:g} m.",
            UnlikeShape,
            stacklevel=4,
        )


def _alike(volume: float, other: float) -> bool:
    return abs(volume - other) <= _UNLIKE * other
