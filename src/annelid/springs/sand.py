"""Ground that resists, beside a body: which of its surface it acts on, and how the body may start."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import warp as wp

from annelid.core.errors import InvalidValue
from annelid.shapes import ResistiveGround
from annelid.shapes.resistive.among import require_above
from annelid.shapes.resistive.facets import by_direction, by_facing
from annelid.springs.body import Body
from annelid.springs.kernels.furrowing import MEMORY
from annelid.springs.kernels.layout import Layout
from annelid.springs.world import World

_KEEPING = ("symplectic", "euler")  # integrators that look at each position once a step


def require_surface(body: Body, sand: ResistiveGround) -> None:
    """Refuse a body without a surface, and one that starts below that of the ground without saying so."""
    if len(body.triangles) == 0:
        raise InvalidValue(
            "the body has no surface that a ResistiveGround could act on: build it from a shape (springs.lattice, box, "
            "block)."
        )
    require_above(sand, body.positions[np.unique(body.triangles), 2], "masses of the surface")


def require_memory_of_hollows(world: World) -> None:
    """Refuse ground with a memory where a step looks at several positions, of which none has been left behind yet."""
    sand = world.sand
    if sand is not None and sand.remembers and world.integrator not in _KEEPING:
        what = f"stiffness={sand.stiffness:g}" if sand.repose is None else f"repose={sand.repose:g}"
        raise InvalidValue(
            f"hollows below a body ({what} of the ResistiveGround) are not kept by "
            f"integrator={world.integrator!r}: use {' or '.join(map(repr, _KEEPING))}, or {what.split('=')[0]}=None."
        )


def level_of(sand: ResistiveGround) -> float:
    """Cosine of the angle of repose, beyond which faces that look down keep hollows; 2 where nothing does."""
    return 2.0 if sand.repose is None else math.cos(math.radians(sand.repose))


def corners_with_hollows(body: Body, sand: ResistiveGround | None) -> int:
    """What a body remembers of sand: a number of each corner of a triangle, and some of each mass where sand stays."""
    if sand is None or not sand.remembers:
        return 0
    return 3 * len(body.triangles) + (0 if sand.furrow is None else MEMORY * body.mass_count)


def give_of(body: Body, sand: ResistiveGround) -> np.ndarray:
    """How stiffly sand that gives before it yields carries each mass: at most that of all its surface [N/m], [n]."""
    p, q, r = (body.positions[body.triangles[:, k]] for k in range(3))
    thirds = np.linalg.norm(np.cross(q - p, r - p), axis=1) / 6.0
    areas = np.bincount(body.triangles.ravel(), np.repeat(thirds, 3), body.mass_count)
    return np.asarray((sand.stiffness or 0.0) * areas)


def sand_numbers(body: Body, worlds: int, sand: ResistiveGround, types: Layout, device: wp.Device) -> Any:
    """The structure of the kernels, with the triangles of each mass in the order of the surface.

    Args:
        body: The bodies of all worlds.
        worlds: How many these are.
        sand: The ground.
        types: Types of the kernels.
        device: Where they run.
    """
    corners = np.ascontiguousarray(body.triangles, np.int32)
    masses, facets, ends = by_direction(body.positions, corners)
    numbers = types.Sand()
    numbers.mass_count, numbers.facet_count = body.mass_count, len(corners)
    numbers.corners = wp.array(corners, dtype=wp.vec3i, device=device)
    first = np.searchsorted(masses, np.arange(body.mass_count + 1))
    numbers.first = wp.array(first.astype(np.int32), dtype=wp.int32, device=device)
    numbers.facets = wp.array(facets.astype(np.int32), dtype=wp.int32, device=device)
    numbers.ends = wp.array(ends, dtype=wp.bool, device=device)
    outer = by_facing(body.positions, corners) if device.is_cuda else np.unique(corners)
    numbers.outer = wp.array(outer.astype(np.int32), dtype=wp.int32, device=device)
    numbers.masses_a_world, numbers.corners_a_world = body.mass_count // worlds, corners.size // worlds
    numbers.areas = wp.zeros(len(corners), dtype=types.vec3, device=device)
    giving = 0 if sand.stiffness is None else body.mass_count
    numbers.pressing = wp.zeros(giving, dtype=types.vec4, device=device)
    staying = 0 if sand.furrow is None else len(corners)
    numbers.slopes = wp.zeros(staying, dtype=types.vec2, device=device)
    numbers.edges = wp.zeros(staying, dtype=types.vec4, device=device)
    take_ground(numbers, sand, types)
    return numbers


def take_ground(numbers: Any, sand: ResistiveGround, types: Layout) -> None:
    """Write the constants of the ground, which may change while it runs, into the structure of the kernels."""
    numbers.ground = sand.numbers(types.real)
    numbers.level, numbers.stiffness = level_of(sand), sand.stiffness or 0.0
    numbers.furrow = sand.furrow is not None
    if sand.furrow is not None:
        numbers.slump, numbers.friction_way = sand.furrow.slump, sand.furrow.friction_way
        numbers.steepest = sand.furrow.steepest


def entries_of_triangles(body: Body) -> np.ndarray:
    """Where the corners of each triangle are among those of all masses, in the order of the surface, shape [k, 3]."""
    corners = np.ascontiguousarray(body.triangles, np.int32)
    masses, facets, _ = by_direction(body.positions, corners)
    found = np.zeros(corners.shape, np.int32)
    for entry_of_corner in range(3):
        mine = corners[facets, entry_of_corner] == masses
        found[facets[mine], entry_of_corner] = np.flatnonzero(mine)
    return found
