"""Closed meshes from outlines in a plane, and several meshes as one; outlines are (x, z) and are drawn out along y."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from annelid.core.errors import InvalidValue
from annelid.shapes.mesh import TriangleMesh
from annelid.shapes.values import Floats, require_positive


def prism(outline: ArrayLike, width: float, *, y: float = 0.0) -> TriangleMesh:
    """A convex outline drawn out along y.

    Args:
        outline: Corners (x, z) in order around a convex polygon [m], shape [n, 2].
        width: Length along y [m].
        y: Middle along y [m].
    """
    corners = _outline("outline", outline, least=3)
    numbers = np.arange(1, len(corners) - 1)
    lid = np.stack([np.zeros_like(numbers), numbers, numbers + 1], axis=1)
    return _drawn_out(corners, lid, width, y)


def band(first: ArrayLike, second: ArrayLike, width: float, *, y: float = 0.0) -> TriangleMesh:
    """The area between two curves drawn out along y: a curved plate, a shell of some thickness.

    Args:
        first: Points (x, z) along one side [m], shape [n, 2].
        second: As many points along the other side, in the same order [m], shape [n, 2].
        width: Length along y [m].
        y: Middle along y [m].
    """
    one, other = _outline("first", first, least=2), _outline("second", second, least=2)
    if len(one) != len(other):
        raise InvalidValue(f"the two sides of a band have {len(one)} and {len(other)} points; give as many for both.")
    return _drawn_out(np.concatenate([one, other[::-1]]), _ladder(np.arange(len(one)), len(one)), width, y)


def ring(outer: ArrayLike, inner: ArrayLike, width: float, *, y: float = 0.0) -> TriangleMesh:
    """An outline that need not be convex, drawn out along y, triangulated against a convex one inside it.

    Args:
        outer: Corners (x, z) of the outline [m], shape [n, 2].
        inner: As many corners of a convex polygon, each beside that of the outline [m], shape [n, 2].
        width: Length along y [m].
        y: Middle along y [m].
    """
    border, core = _outline("outer", outer, least=3), _outline("inner", inner, least=3)
    if len(border) != len(core):
        raise InvalidValue(f"the outlines of a ring have {len(border)} and {len(core)} corners; give as many for both.")
    here = np.arange(len(border))
    on = np.roll(here, -1)
    inside, inside_on = here + len(border), on + len(border)
    fan = np.stack([np.full(len(border) - 2, len(border)), inside[1:-1], inside[2:]], axis=1)
    lid = np.concatenate([np.stack([here, on, inside_on], 1), np.stack([here, inside_on, inside], 1), fan])
    return _drawn_out(np.concatenate([border, core]), lid, width, y, rim=len(border))


def joined(meshes: Iterable[TriangleMesh]) -> TriangleMesh:
    """Several meshes as one; shells that overlap stay as they are, and distances treat them as one solid."""
    parts = list(meshes)
    if not parts:
        raise InvalidValue("there is no mesh to join; give at least one.")
    first = np.cumsum([0, *(len(part.vertices) for part in parts[:-1])])
    triangles = [part.triangles + start for part, start in zip(parts, first, strict=True)]
    return TriangleMesh(np.concatenate([part.vertices for part in parts]), np.concatenate(triangles).astype(np.int32))


def _outline(name: str, points: ArrayLike, *, least: int) -> Floats:
    array = np.asarray(points, dtype=np.float64)
    if array.ndim != 2 or array.shape[1] != 2 or len(array) < least or not np.isfinite(array).all():
        raise InvalidValue(
            f"{name} must be at least {least} finite points (x, z), not an array of {list(array.shape)}."
        )
    return array


def _ladder(numbers: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Triangles between two curves of `count` points, the second following the first and running back."""
    here, there = numbers[:-1], 2 * count - 1 - numbers[:-1]
    return np.concatenate([np.stack([here, here + 1, there - 1], 1), np.stack([here, there - 1, there], 1)])


def _drawn_out(
    corners: Floats, lid: NDArray[np.int64], width: float, y: float, *, rim: int | None = None
) -> TriangleMesh:
    """A flat patch and its copy, with a wall around the first `rim` corners; it is turned right side out."""
    half = 0.5 * require_positive("width", width)
    count, rim = len(corners), len(corners) if rim is None else rim
    near, far = (np.insert(corners, 1, y + side, axis=1) for side in (-half, half))
    here = np.arange(rim)
    on = np.roll(here, -1)
    wall = np.concatenate([np.stack([on, here, here + count], 1), np.stack([on, here + count, on + count], 1)])
    triangles = np.concatenate([lid, lid[:, ::-1] + count, wall])
    return TriangleMesh(np.concatenate([near, far]), triangles.astype(np.int32)).require_closed()
