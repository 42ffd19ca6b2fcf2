"""Snapshots of spring bodies among grains: those of both sides together."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from annelid import grains, springs
from annelid.core.snapshot import Field, Look, Number, Snapshot, Spheres
from annelid.coupling.model import Model
from annelid.coupling.readout import Readout
from annelid.coupling.state import State


class Painter:
    """Makes snapshots of one model.

    Args:
        model: The model.
        bodies: The solver of the spring bodies.
        bed: The solver of the grains.
        readout: What reads states.
    """

    def __init__(self, model: Model, bodies: springs.Solver, bed: grains.Solver, readout: Readout) -> None:
        self._radii, self._springs, self._grains, self._readout = model.bed.radii, bodies, bed, readout
        self._grain_fields = tuple(name for name in bed.fields if name not in ("radius", "material"))

    @property
    def fields(self) -> tuple[str, ...]:
        """Scalars that can be asked for, of bodies or of grains."""
        return tuple(dict.fromkeys((*self._springs.fields, *self._grain_fields)))

    def snapshot(self, state: State, look: Look) -> Snapshot:
        """What `look` asks for; a field that only one side has colours that side."""
        look.require_known(self.fields)
        bodies = self._springs.snapshot(state.springs, _asked(look, self._springs.fields))
        bed = self._grains.snapshot(state.grains, replace(_asked(look, self._grain_fields), numbers=False))
        parts = tuple(self._without_guests(part) for part in bed.parts)
        numbers = self._numbers(state, bodies) if look.numbers else {}
        return Snapshot(bed.time, bed.step, (*bodies.parts, *parts), numbers)

    def _without_guests(self, part: Any) -> Any:
        if not (isinstance(part, Spheres) and part.name == "grains"):
            return part
        radii, count = self._radii, len(self._radii)
        sizes = radii.astype(np.float32) if np.ptp(radii) > 0.0 else float(radii[0])
        fields = {name: Field(f.values[:count], f.unit, f.limits, f.labels) for name, f in part.fields.items()}
        return replace(part, centers=part.centers[:count], radii=sizes, fields=fields)

    def _numbers(self, state: State, bodies: Snapshot) -> dict[str, Number]:
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
