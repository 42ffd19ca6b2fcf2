"""A fluid in a cavity: its density, the gravity that pulls it, and how far it fills the cavity. No device, no shape."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from annelid.core.errors import InvalidValue
from annelid.core.numbers import is_number
from annelid.shapes.values import Floats, Vector, as_vector, require_positive

_ROUNDING = 1.0 + 1e-9
"""A fluid that fills its cavity to the brim may seem to overflow by this factor."""

_HARDLY = 1e-9  # [m/s²]


@dataclass(frozen=True)
class Fluid:
    """What fills a cavity. With neither `level` nor `volume` it is full, whatever its shape becomes.

    Attributes:
        density: Density [kg/m³].
        gravity: Acceleration of free fall [m/s²].
        level: Height of the fluid's surface above the origin, measured against gravity [m]; the fluid flows in and out
            so that the level stays.
        volume: Volume of the fluid [m³]; the level follows from the shape of the cavity.
        datum: Height at which the pressure of a full cavity is that of the pump [m]; None for the highest point of
            the cavity when it is loaded.
    """

    density: float = 1000.0
    gravity: Vector = (0.0, 0.0, -9.81)
    level: float | None = None
    volume: float | None = None
    datum: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "density", require_positive("density of the fluid", self.density))
        object.__setattr__(self, "gravity", as_vector("gravity", self.gravity))
        if not any(self.gravity):
            raise InvalidValue("gravity = (0, 0, 0) gives a fluid no weight; leave the fluid out instead.")
        if self.level is not None and self.volume is not None:
            raise InvalidValue("level and volume of the fluid exclude each other; give one of them.")
        for name, value in (("level", self.level), ("datum", self.datum)):
            if value is not None and not is_number(value):
                raise InvalidValue(f"{name} of the fluid = {value!r} cannot be used; give a finite height [m].")
        if self.volume is not None:
            object.__setattr__(self, "volume", require_positive("volume of the fluid", self.volume))

    @property
    def full(self) -> bool:
        """Whether the fluid fills the cavity, without a surface of its own."""
        return self.level is None and self.volume is None

    @property
    def up(self) -> Floats:
        """Unit vector against gravity, shape [3]."""
        return -np.array(self.gravity) / math.hypot(*self.gravity)

    @property
    def specific_weight(self) -> float:
        """ρ g [N/m³]."""
        return self.density * math.hypot(*self.gravity)

    def pulled(self, gravity: Vector) -> Fluid:
        """The fluid under another pull [m/s²]; where this is none, it keeps its vertical and hardly weighs anything."""
        if math.hypot(*gravity) < _HARDLY:
            gravity = as_vector("gravity", -_HARDLY * self.up)
        return replace(self, gravity=gravity)

    def check(self, positions: ArrayLike, volume: float) -> None:
        """Refuse a level outside the cavity, or more fluid than it holds.

        Args:
            positions: Positions of the cavity's nodes [m], shape [n, 3].
            volume: Volume of the cavity [m³].
        """
        heights = np.asarray(positions, dtype=np.float64) @ self.up
        low, high = float(heights.min()), float(heights.max())
        if self.level is not None and not low < self.level < high:
            side = "above" if self.level >= high else "below"
            raise InvalidValue(
                f"level {self.level:g} m lies {side} the cavity, which reaches from {low:g} to {high:g} m along the "
                "vertical; give a level between them, or none for a full cavity."
            )
        if self.volume is not None and self.volume > volume * _ROUNDING:
            raise InvalidValue(
                f"{self.volume:g} m³ of fluid do not fit into a cavity of {volume:g} m³; "
                "give less, or no volume for a full cavity."
            )
