"""Which nodes of a solid are meant: a function, a shape, a mask, indices or the name of a group."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

import numpy as np

from annelid.core.arrays import array_or_none
from annelid.core.errors import InvalidValue, UnknownName

Where = Any
"""Which nodes: a function of positions [n, 3] -> bool [n], anything with `contains(points)`, a mask, indices, the name
of a group, or None for all."""


@runtime_checkable
class Container(Protocol):
    """A region of space that names nodes."""

    def contains(self, points: np.ndarray) -> np.ndarray:
        """Whether each of the points [n, 3] is inside, shape [n]."""
        ...


def selected(where: Where, nodes: np.ndarray, groups: Mapping[str, np.ndarray]) -> np.ndarray:
    """Indices of the nodes that `where` names.

    Args:
        where: Which.
        nodes: Positions of the nodes at rest [m], shape [n, 3].
        groups: Indices of the nodes of each group.
    """
    if where is None:
        return np.arange(len(nodes))
    if isinstance(where, str):
        if where not in groups:
            raise UnknownName("group of nodes", where, groups)
        return groups[where]
    if callable(where):
        return _answered(array_or_none(where(nodes)), len(nodes))
    if isinstance(where, Container):
        return np.flatnonzero(where.contains(nodes))
    return _given(array_or_none(where), len(nodes))


def _answered(found: np.ndarray, count: int) -> np.ndarray:
    """Nodes of which a function says that they are meant; indices or distances would be taken for other nodes."""
    if found.dtype != bool or found.shape != (count,):
        raise InvalidValue(
            f"a function that chooses nodes must say true or false of each, shape [{count}], as "
            f"lambda p: p[:, 0] < 1e-9 does; it gave {found.dtype} of shape {list(found.shape)}."
        )
    return np.flatnonzero(found)


def _given(where: np.ndarray, count: int) -> np.ndarray:
    if where.dtype == bool:
        if where.shape != (count,):
            raise InvalidValue(f"a mask of nodes must have the shape [{count}], not {list(where.shape)}.")
        return np.flatnonzero(where)
    if where.ndim > 1 or (not np.issubdtype(where.dtype, np.integer) and where.size):
        raise InvalidValue("nodes are chosen by a mask, indices, a function, a shape or the name of a group.")
    if where.size and (where.min() < 0 or where.max() >= count):
        wrong = where.min() if where.min() < 0 else where.max()
        raise InvalidValue(f"there is no node {wrong}: nodes are 0 to {count - 1}.")
    return np.atleast_1d(where).astype(np.int64)
