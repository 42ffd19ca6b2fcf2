"""Ground that resists, as snapshots show it."""

from __future__ import annotations

from annelid.core.snapshot import Plane
from annelid.shapes.resistive.ground import ResistiveGround


def sand_parts(sand: ResistiveGround | None) -> list[Plane]:
    """The surface of the ground, where there is some and it is drawn."""
    if sand is None or sand.hidden:
        return []
    return [Plane(sand.name or "sand", (0.0, 0.0, sand.height), (0.0, 0.0, 1.0), sand.color)]
