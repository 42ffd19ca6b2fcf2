"""A hanging trunk beside a thing on a table, which it pushes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from annelid import fem
from annelid.core.errors import InvalidValue
from annelid.core.numbers import is_number
from annelid.core.options import spelled_out
from annelid.robots.trunk import trunk_parts
from annelid.shapes import Box, Rigid, Surface, ground, turned_about
from annelid.shapes.values import require_positive

REACH = 1e-3
"""Gap at which contact of a pusher begins [m]."""
_CUBE = Box((0.03, 0.03, 0.03))


@spelled_out("a pusher")
def pusher(
    thing: Any = _CUBE,
    *,
    heading: float = 0.0,
    gap: float = 1.5e-3,
    lift: float = 0.012,
    friction: float = 0.5,
    mass: float = 0.05,
    tension: float = 8.0,
    modulus: float = 300e3,
    length: float = 0.2,
    radii: tuple[float, float] = (0.016, 0.008),
    layers: int = 16,
    device: Any = "auto",
    threads: int | None = None,
) -> fem.Robot:
    """A trunk of eight cables whose tip hangs beside a free thing; obstacles are a table and "thing".

    A tip that swings to a side rises, and friction would tip over what it pushes. So it is meant to be lifted first, by
    cables that shorten the trunk, and to be kept at that height, half as high as the thing.

    Args:
        thing: What is pushed: a shape, a closed mesh, or the path of its file in metres.
        heading: Direction from the trunk to the thing, as an angle from x about z [rad].
        gap: Distance between the thing and the trunk at its height [m].
        lift: How far the tip is to be lifted before it pushes [m].
        friction: Coulomb friction of all surfaces.
        mass: Mass of the thing [kg].
        tension: Highest tension of a cable [N].
        modulus: Young's modulus of the silicone [Pa].
        length: Length of the trunk [m].
        radii: Radii of its base and its tip [m].
        layers: Cells along it, an even number.
        device: "auto", "cpu", "cuda" or "cuda:N".
        threads: CPU threads; None takes all cores.
    """
    for name, value in {"heading": heading, "lift": lift}.items():
        if not is_number(value):
            raise InvalidValue(f"{name} = {value!r:.60} cannot be used; give a finite number.")
    surface = Surface(friction=friction)
    solid, cables = trunk_parts(
        tension=tension, modulus=modulus, length=length, radii=radii, layers=layers, surface=surface
    )
    begin, end = (np.asarray(each, float) for each in Rigid(thing).shape.bounds())
    table = lift - length - 0.5 * float(end[2] - begin[2])
    # The thing is turned as a whole, with the side at its least x towards the trunk.
    widest = float(np.interp(table + float(end[2] - begin[2]), [-length, 0.0], radii[::-1]))
    ahead = widest + require_positive("gap", gap) - float(begin[0])
    aside = -0.5 * float(begin[1] + end[1])
    cos, sin = math.cos(heading), math.sin(heading)
    place = (ahead * cos - aside * sin, ahead * sin + aside * cos, table + REACH - float(begin[2]))
    body = Rigid(
        thing, surface, motion="free", mass=mass, position=place, rotation=turned_about("z", heading), name="thing",
        color=(0.35, 0.5, 0.75),
    )  # fmt: skip
    floor = ground(friction, height=table)
    tip = fem.Point(name="tip", at=(0.0, 0.0, -length))
    return fem.Robot(
        solid, cables, [tip], obstacles=[floor, body], contact=fem.Contact(reach=REACH), device=device, threads=threads
    )
