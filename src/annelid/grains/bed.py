"""A bed: grains as arrays, before they are compiled for a device."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from annelid.core.described import Described, extent
from annelid.core.errors import InvalidValue
from annelid.core.options import Named
from annelid.grains.material import Grain


@dataclass(eq=False, repr=False)
class Bed(Described, Named):
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
        names = ("positions", "radii", "materials", "kinds", "velocities", "spins")
        return Bed(**{name: changes.get(name, getattr(self, name)) for name in names})

    def moved(self, by: ArrayLike) -> Bed:
        """A copy, moved by a vector [m]."""
        return self.copy(positions=self.positions + np.asarray(by, float))

    def where(self, keep: np.ndarray) -> Bed:
        """The grains for which a mask holds, or of some indices."""
        parts = {name: getattr(self, name)[keep] for name in ("positions", "radii", "kinds", "velocities", "spins")}
        return Bed(**parts, materials=self.materials)

    def repeated(self, count: int) -> Bed:
        """So many copies, one after the other, each in the same place."""
        names = ("positions", "radii", "kinds", "velocities", "spins")
        rows = {name: getattr(self, name) for name in names}
        tiled = {name: np.tile(row, (count,) + (1,) * (row.ndim - 1)) for name, row in rows.items()}
        return Bed(**tiled, materials=self.materials)

    def __add__(self, other: Bed) -> Bed:
        """Both beds together."""
        joined = {
            name: np.concatenate([getattr(self, name), getattr(other, name)])
            for name in ("positions", "radii", "velocities", "spins")
        }
        kinds = np.concatenate([self.kinds, other.kinds + len(self.materials)])
        return Bed(**joined, kinds=kinds, materials=self.materials + other.materials)


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
    except (TypeError, ValueError):
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
