"""Snapshots of spring bodies among grains: those of both sides together."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from annelid import grains, springs
from annelid.core.errors import UnknownName
from annelid.core.snapshot import Field, Look, Number, Snapshot, Spheres
from annelid.coupling.model import Model
from annelid.coupling.readout import Readout
from annelid.coupling.state import side_of


class Painter:
    """Makes snapshots of one model.

    Args:
        model: The model.
        springs: The solver of its spring bodies.
        grains: The solver of its grains.
        readout: What reads its states.
    """

    def __init__(self, model: Model, springs: springs.Solver, grains: grains.Solver, readout: Readout) -> None:
        self._model, self._springs, self._grains, self._readout = model, springs, grains, readout
        self._count = len(model.bed)
        self._grain_fields = tuple(name for name in grains.fields if name not in ("radius", "material"))

    @property
    def fields(self) -> tuple[str, ...]:
        """Scalars that can be asked for, of bodies or of grains."""
        return tuple(dict.fromkeys((*self._springs.fields, *self._grain_fields)))

    def snapshot(self, state: Any, look: Look) -> Snapshot:
        """What `look` asks for; a field that only one side has colours that side."""
        if look.field is not None and look.field not in self.fields:
            raise UnknownName("field", look.field, self.fields)
        spring_state, grain_state = side_of(state, "springs"), side_of(state, "grains")
        bodies = self._springs.snapshot(spring_state, _asked(look, self._springs.fields))
        bed = self._grains.snapshot(grain_state, replace(_asked(look, self._grain_fields), numbers=False))
        parts = tuple(self._without_guests(part) for part in bed.parts)
        numbers = self._numbers(state, grain_state, bodies) if look.numbers else {}
        return Snapshot(bed.time, bed.step, (*bodies.parts, *parts), numbers)

    def _without_guests(self, part: Any) -> Any:
        if not (isinstance(part, Spheres) and part.name == "grains"):
            return part
        radii = self._model.bed.radii
        sizes = radii.astype(np.float32) if np.ptp(radii) > 0.0 else float(radii[0])
        fields = {name: Field(f.values[: self._count], f.unit, f.limits, f.labels) for name, f in part.fields.items()}
        return replace(part, centers=part.centers[: self._count], radii=sizes, fields=fields)

    def _numbers(self, state: Any, grain_state: grains.State, bodies: Snapshot) -> dict[str, Number]:
        force = self._readout.contact_force(state)
        bed = self._readout.bed_summary(grain_state)
        return {
            **bodies.numbers,
            "contact-force-x": Number(float(force[0]), "N"),
            "contact-force-z": Number(float(force[2]), "N"),
            "grains-kinetic-energy": Number(bed.kinetic + bed.rotational, "J"),
        }


def _asked(look: Look, offered: tuple[str, ...]) -> Look:
    """The same wish, without a field that this side does not have."""
    return look if look.field is None or look.field in offered else replace(look, field=None)
