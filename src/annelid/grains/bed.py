"""A bed: grains as arrays, before they are compiled for a device."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from annelid.core.described import Described, extent
from annelid.core.errors import InvalidValue
from annelid.core.options import Named, require_kind
from annelid.core.sealed import Sealed
from annelid.grains.material import Grain
from annelid.shapes.values import as_vector, require_count

_ROWS = ("positions", "radii", "kinds", "velocities", "spins")
"""What each grain has of its own."""

_MOST_COPIES = 1_000_000


@dataclass(eq=False, repr=False)
class Bed(Described, Named, Sealed):
    """Spherical grains.

    Attributes:
        positions: Centres [m], shape [n, 3].
        radii: Radii [m], shape [n], or one number for all.
        materials: What they are made of; one for all, or several that `kinds` chooses from.
        kinds: Number of the material of each grain, shape [n].
        velocities: Velocities [m/s], shape [n, 3]; by default at rest.
        spins: Angular velocities [rad/s], shape [n, 3].
    """

    positions: np.ndarray
    radii: np.ndarray
    materials: tuple[Grain, ...] = (Grain(),)
    kinds: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int32))
    velocities: np.ndarray = field(default_factory=lambda: np.zeros((0, 3)))
    spins: np.ndarray = field(default_factory=lambda: np.zeros((0, 3)))

    def __init__(
        self,
        positions: ArrayLike,
        radii: ArrayLike,
        materials: Grain | tuple[Grain, ...] | None = None,
        *,
        kinds: ArrayLike | None = None,
        velocities: ArrayLike | None = None,
        spins: ArrayLike | None = None,
    ) -> None:
        self.positions = _vectors("positions", positions, None)
        count = len(self.positions)
        self.radii = _scalars("radii", radii, count)
        if not (self.radii > 0.0).all():
            raise InvalidValue(f"radii must be above 0, not {self.radii.min()}.")
        materials = Grain() if materials is None else materials
        several = materials if isinstance(materials, tuple | list) else (materials,)
        if not several or not all(isinstance(material, Grain) for material in several):
            raise InvalidValue(f"materials must be one grains.Grain or several, not {materials!r:.60}.")
        self.materials = tuple(several)
        if kinds is None and len(self.materials) > 1:
            raise InvalidValue(
                f"a bed of {len(self.materials)} materials needs kinds: the number of the material of each grain."
            )
        self.kinds = _scalars("kinds", 0 if kinds is None else kinds, count).astype(np.int32)
        if count and not (self.kinds.min() >= 0 and self.kinds.max() < len(self.materials)):
            raise InvalidValue(
                f"kinds must number the {len(self.materials)} materials from 0, not {self.kinds.min()} to "
                f"{self.kinds.max()}."
            )
        self.velocities = _vectors("velocities", np.zeros((count, 3)) if velocities is None else velocities, count)
        self.spins = _vectors("spins", np.zeros((count, 3)) if spins is None else spins, count)

    def __len__(self) -> int:
        return len(self.positions)

    def facts(self) -> dict[str, str]:
        """How many, how large and how heavy."""
        if len(self) == 0:
            return {"grains": "0"}
        low, high = self.radii.min(), self.radii.max()
        margin = self.radii[:, None]
        box = extent((self.positions - margin).min(axis=0), (self.positions + margin).max(axis=0))
        radii = f"{low:.4g} m" if low == high else f"{low:.4g} to {high:.4g} m"
        return {"grains": str(len(self)), "radii": radii, "size": box, "mass": f"{self.masses.sum():.4g} kg"}

    @property
    def masses(self) -> np.ndarray:
        """Masses [kg], shape [n]."""
        densities = np.array([material.density for material in self.materials])
        return 4.0 / 3.0 * math.pi * self.radii**3 * densities[self.kinds]

    def copy(self, **changes: Any) -> Bed:
        """A copy with some arrays changed."""
        own = {name: getattr(self, name) for name in (*_ROWS, "materials")}
        return Bed(**{**own, **changes})

    def moved(self, by: ArrayLike) -> Bed:
        """A copy, moved by a vector [m]."""
        return self.copy(positions=self.positions + np.array(as_vector("the shift of a bed", by)))

    def where(self, keep: ArrayLike) -> Bed:
        """The grains for which a mask holds, or of some indices."""
        rows = _chosen(keep, len(self))
        return self.copy(**{name: getattr(self, name)[rows] for name in _ROWS})

    def repeated(self, count: int) -> Bed:
        """So many copies, one after the other, each in the same place."""
        count = require_count("count of copies of a bed", count, least=1, most=_MOST_COPIES)
        return self.copy(**{name: np.concatenate([getattr(self, name)] * count) for name in _ROWS})

    def __add__(self, other: Bed) -> Bed:
        """Both beds together."""
        require_kind("what is added to a bed", other, Bed, "a grains.Bed")
        joined = {
            name: np.concatenate([getattr(self, name), getattr(other, name)]) for name in _ROWS if name != "kinds"
        }
        kinds = np.concatenate([self.kinds, other.kinds + len(self.materials)])
        return Bed(**joined, kinds=kinds, materials=self.materials + other.materials)


def _chosen(keep: ArrayLike, count: int) -> np.ndarray:
    """Indices of the grains that a mask or a list of indices means, in a bed of so many."""
    try:
        given = np.asarray(keep)
    except ValueError:  # rows of several lengths
        given = np.array(None)
    if given.dtype == bool and given.shape == (count,):
        return np.flatnonzero(given)
    rows = given.astype(np.int64) if given.dtype.kind in "iu" or given.shape == (0,) else np.full(1, count)
    if rows.ndim != 1 or not ((rows >= -count) & (rows < count)).all():
        raise InvalidValue(
            f"the grains to keep must be a mask of {count} truth values or indices below {count}, not "
            f"{str(keep)[:60]!r}."
        )
    return rows


def _vectors(name: str, values: ArrayLike, count: int | None) -> np.ndarray:
    array = _numbers(name, values)
    if array.ndim != 2 or array.shape[1] != 3 or (count is not None and len(array) != count):
        raise InvalidValue(f"{name} must have the shape [{'n' if count is None else count}, 3], not {array.shape}.")
    bad = ~np.isfinite(array).all(axis=1)
    if bad.any():
        raise InvalidValue(f"{name} of grain {int(np.flatnonzero(bad)[0])} are not finite numbers.")
    return array


def _numbers(name: str, values: ArrayLike) -> np.ndarray:
    try:
        return np.array(values, float)
    except (TypeError, ValueError, OverflowError):
        raise InvalidValue(f"{name} must be an array of numbers, not {str(values)[:60]!r}.") from None


def _scalars(name: str, values: ArrayLike, count: int) -> np.ndarray:
    array = _numbers(name, values)
    if array.ndim == 0:
        array = np.full(count, float(array))
    if array.shape != (count,):
        raise InvalidValue(f"{name} must be one number or have the shape [{count}], not {list(array.shape)}.")
    if not np.isfinite(array).all():
        raise InvalidValue(f"{name} of grain {int(np.flatnonzero(~np.isfinite(array))[0])} is not a finite number.")
    return array
