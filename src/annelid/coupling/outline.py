"""What grains meet of a body, whatever it is made of: a closed surface of triangles that hang on its masses."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np


@runtime_checkable
class Outline(Protocol):
    """A surface and what it hangs on; `springs.Body` is one, and `SolidOutline` makes one of a solid."""

    @property
    def positions(self) -> np.ndarray:
        """Positions of the masses [m], shape [n, 3]."""
        ...

    @property
    def velocities(self) -> np.ndarray:
        """Their velocities [m/s], shape [n, 3]."""
        ...

    @property
    def masses(self) -> np.ndarray:
        """What contacts have to move at each of them [kg], shape [n]."""
        ...

    @property
    def forces(self) -> np.ndarray:
        """Forces on them that are handed on with those of contacts [N], shape [n, 3]."""
        ...

    @property
    def triangles(self) -> np.ndarray:
        """Masses of each triangle, outward, shape [t, 3]."""
        ...
