"""What a solid asks of its mesh; `shapes.TetMesh` and what its `quadratic()` makes have all of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np


@runtime_checkable
class Mesh(Protocol):
    """Tetrahedra."""

    @property
    def nodes(self) -> Any:
        """Positions [m], shape [n, 3]."""
        ...

    @property
    def tetrahedra(self) -> Any:
        """Nodes of each tetrahedron, shape [t, 4] or [t, 10]."""
        ...


@runtime_checkable
class WithRegions(Protocol):
    """A mesh of several materials."""

    @property
    def regions(self) -> np.ndarray:
        """Number of each tetrahedron's material, shape [t]."""
        ...


@runtime_checkable
class WithNames(Protocol):
    """A mesh whose parts have names."""

    @property
    def groups(self) -> Mapping[str, np.ndarray]:
        """Named sets of nodes."""
        ...

    @property
    def region_names(self) -> Mapping[int, str]:
        """Names of regions."""
        ...


@runtime_checkable
class WithCells(Protocol):
    """A mesh whose tetrahedra were cut from larger cells."""

    @property
    def cells(self) -> np.ndarray | None:
        """Number of each tetrahedron's cell, shape [t]."""
        ...


@runtime_checkable
class WithBoundary(Protocol):
    """A mesh that knows its surface."""

    def boundary(self) -> np.ndarray:
        """Triangles of the surface, shape [k, 3] or [k, 6]."""
        ...


@runtime_checkable
class Hollow(Protocol):
    """A mesh that knows its cavities."""

    def cavities(self) -> Sequence[np.ndarray]:
        """Triangles of the surface of each cavity."""
        ...
