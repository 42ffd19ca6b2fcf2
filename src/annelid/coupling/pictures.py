"""Pictures of soft bodies among grains: those of both sides together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import warp as wp

from annelid.core.scenery import Moving, Scenery, Visible
from annelid.core.snapshot import Field, Look, Number, Snapshot, Spheres
from annelid.core.solver import Side
from annelid.coupling.readout import Readout


class Painter:
    """Makes snapshots of one model.

    Args:
        radii: Radii of the grains [m], shape [n]; guests come after them and are not drawn.
        bodies: The side of the soft bodies.
        bed: The side of the grains.
        readout: What reads states.
    """

    def __init__(self, radii: np.ndarray, bodies: Side, bed: Side, readout: Readout) -> None:
        self._radii, self._bodies, self._bed, self._readout = radii, bodies, bed, readout
        self._grain_fields = tuple(name for name in bed.solver.fields if name not in ("radius", "material"))

    @property
    def fields(self) -> tuple[str, ...]:
        """Scalars that can be asked for, of bodies or of grains."""
        return tuple(dict.fromkeys((*self._bodies.solver.fields, *self._grain_fields)))

    def snapshot(self, state: Any, look: Look) -> Snapshot:
        """What `look` asks for; a field that only one side has colours that side."""
        look.require_known(self.fields)
        bodies = _shot(self._bodies, state, _asked(look, self._bodies.solver.fields))
        bed = _shot(self._bed, state, replace(_asked(look, self._grain_fields), numbers=False))
        parts = tuple(self._without_guests(part) for part in bed.parts)
        numbers = self._numbers(state, bodies) if look.numbers else {}
        return Snapshot(bed.time, int(state.clock.numpy()[0]), (*bodies.parts, *parts), numbers)

    def _without_guests(self, part: Any) -> Any:
        if not (isinstance(part, Spheres) and part.name == "grains"):
            return part
        radii, count = self._radii, len(self._radii)
        sizes = radii.astype(np.float32) if np.ptp(radii) > 0.0 else float(radii[0])
        fields = {name: Field(f.values[:count], f.unit, f.limits, f.labels) for name, f in part.fields.items()}
        return replace(part, centers=part.centers[:count], radii=sizes, fields=fields)

    def _numbers(self, state: Any, bodies: Snapshot) -> dict[str, Number]:
        force = self._readout.contact_force(state)
        bed = self._readout.summary(state).parts["grains"]
        return {
            **bodies.numbers,
            "contact-force-x": Number(float(force[0]), "N"),
            "contact-force-z": Number(float(force[2]), "N"),
            "grains-kinetic-energy": Number(bed.kinetic, "J"),
        }


def _asked(look: Look, offered: tuple[str, ...]) -> Look:
    """The same wish, without fields that this side does not have."""
    return replace(look, fields=tuple(name for name in look.fields if name in offered))


def _shot(side: Side, state: Any, look: Look) -> Snapshot:
    """A picture of one side."""
    return side.solver.snapshot(side.state(state), look)


def scenery_of_both(*sides: Side) -> Scenery:
    """What cameras and lidars can see of both sides; see `core.scenery.Visible`."""
    found = []
    for side in sides:
        assert isinstance(side.solver, Visible)
        found.append((side, side.solver.scenery()))
    still = tuple(part for _, scenery in found for part in scenery.still)
    moving = [Moving(one.part, _points(one, side)) for side, scenery in found for one in scenery.moving]
    return Scenery(still, tuple(moving), found[0][1].current)


def _points(one: Moving, side: Side) -> Callable[[Any], wp.array[Any]]:
    return lambda state: one.points(side.state(state))
