"""Rigid boxes that share a world with robots: loads to carry, planks that swing about a pivot, walls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from annelid.core.errors import InvalidValue
from annelid.core.numbers import is_number


@dataclass(frozen=True, kw_only=True)
class Box:
    """A rigid rectangle.

    Attributes:
        size: Width and height [m].
        position: Centre [m].
        mass: Mass [kg].
        angle: Angle at the beginning [rad].
        held: "free" moves, "pivot" turns about its fixed centre, "fixed" does not move at all.
        friction: Coulomb friction; a pair of surfaces has the geometric mean of its two.
        restitution: Restitution; a pair of surfaces has the larger of its two.
        damping: Rate at which velocity and spin decay [1/s].
        spin: Angular velocity at the beginning [rad/s].
    """

    size: tuple[float, float]
    position: tuple[float, float] = (0.0, 0.0)
    mass: float = 1.0
    angle: float = 0.0
    held: str = "free"
    friction: float = 0.2
    restitution: float = 0.0
    damping: float = 0.0
    spin: float = 0.0

    def __post_init__(self) -> None:
        pairs = (self.size, self.position)
        if not all(isinstance(pair, Sequence | np.ndarray) and len(pair) == 2 for pair in pairs):
            raise InvalidValue(
                f"size and position of a box are two numbers each, along x and z, not {self.size!r:.40} and "
                f"{self.position!r:.40}."
            )
        numbers = [self.mass, self.angle, self.spin, self.friction, self.damping, self.restitution]
        finite = all(map(is_number, [*self.size, *self.position, *numbers]))
        if not finite or min(*self.size, self.mass) <= 0.0 or self.friction < 0.0:
            raise InvalidValue(f"a box needs a positive size and mass and finite numbers, not {self}.")
        if self.held not in ("free", "pivot", "fixed"):
            raise InvalidValue(f"held must be 'free', 'pivot' or 'fixed', not {self.held!r}.")

    @property
    def inverse_mass(self) -> float:
        """1/m [1/kg], 0 where the centre does not move."""
        return 1.0 / self.mass if self.held == "free" else 0.0

    @property
    def inverse_inertia(self) -> float:
        """1/I [1/(kg m²)], 0 where it does not turn."""
        return 0.0 if self.held == "fixed" else 12.0 / (self.mass * (self.size[0] ** 2 + self.size[1] ** 2))

    def outline(self) -> np.ndarray:
        """Corners about the centre [m], shape [4, 2]."""
        return 0.5 * np.array(self.size) * np.array([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]])
