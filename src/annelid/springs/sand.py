"""Ground that resists, beside a body: which of its surface it acts on, and how the body may start."""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from annelid.core.errors import InvalidValue
from annelid.shapes import ResistiveGround
from annelid.springs.body import Body
from annelid.springs.kernels.layout import Layout


def require_surface(body: Body, sand: ResistiveGround) -> None:
    """Refuse a body without a surface, and one that starts below that of the ground without saying so."""
    if len(body.triangles) == 0:
        raise InvalidValue(
            "the body has no surface that a ResistiveGround could act on: build it from a shape (springs.lattice, box, "
            "block)."
        )
    surface = np.unique(body.triangles)
    depths = sand.height - body.positions[surface, 2]
    if not sand.buried and (depths > 0.0).any():
        raise InvalidValue(
            f"{int((depths > 0.0).sum())} of {len(surface)} masses of the surface start below the ResistiveGround, the "
            f"deepest by {depths.max():.3g} m: move the body up, or give the ground buried=True."
        )


def sand_numbers(body: Body, sand: ResistiveGround, types: Layout, device: wp.Device) -> Any:
    """The structure of the kernels, with the triangles of each mass in the order of the surface."""
    corners = np.ascontiguousarray(body.triangles, np.int32)
    order = np.argsort(corners.ravel(), kind="stable")
    numbers = types.Sand()
    numbers.ground = sand.numbers(types.real)
    numbers.mass_count, numbers.facet_count = body.mass_count, len(corners)
    numbers.corners = wp.array(corners, dtype=wp.vec3i, device=device)
    first = np.searchsorted(corners.ravel()[order], np.arange(body.mass_count + 1))
    numbers.first = wp.array(first.astype(np.int32), dtype=wp.int32, device=device)
    numbers.facets = wp.array((order // 3).astype(np.int32), dtype=wp.int32, device=device)
    numbers.areas = wp.zeros(len(corners), dtype=types.vec3, device=device)
    return numbers
