"""Obstacles of a solid in pictures, and as cameras and lidars see them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import warp as wp
from scipy.spatial.transform import Rotation

from annelid.core.scenery import Moving
from annelid.core.snapshot import Color, Lines, Mesh
from annelid.core.snapshot import Plane as PlanePart
from annelid.fem.contact.state import Touching
from annelid.fem.kernels.placing import place_vertices
from annelid.shapes import HeightField, Plane, Rigid
from annelid.shapes.form import Form

_COLOR: Color = (0.62, 0.66, 0.70)
_SEGMENTS = 24

Part = Mesh | Lines | PlanePart


class Obstacles:
    """Draws the obstacles of a solid; what solids are kept inside of is drawn as lines.

    Args:
        rigids: The obstacles.
        forms: What they are to the kernels.
        device: Where they are.
    """

    def __init__(self, rigids: Sequence[Rigid], forms: Sequence[Form], device: wp.Device) -> None:
        self._rigids, self._device = rigids, device
        self._meshes = {
            number: _mesh(rigid, form)
            for number, (rigid, form) in enumerate(zip(rigids, forms, strict=True))
            if not (rigid.hidden or isinstance(rigid.geometry, Plane))
        }

    def parts(self, touch: Touching, body_size: float = 1.0) -> list[Part]:
        """All of them, where a state has them; free ones so much larger than they were built."""
        places, turns = touch.places.numpy(), Rotation.from_quat(touch.turns.numpy())
        found: list[Part] = []
        for number, rigid in enumerate(self._rigids):
            name, color = f"{rigid.name or rigid.kind.lower()}-{number}", rigid.color or _COLOR
            if number in self._meshes:
                vertices, triangles = self._meshes[number]
                if rigid.moves == "free":
                    vertices = body_size * vertices
                there = (turns[number].apply(vertices) + places[number]).astype(np.float32)
                edges = triangles[:, [0, 1]].astype(np.int32)
                shown = Lines(name, there, edges, color=color) if rigid.inside else None
                found.append(shown or Mesh(name, there, triangles, color=color))
            elif isinstance(rigid.geometry, Plane) and not rigid.hidden:
                x, y, z = turns[number].apply(np.array(rigid.geometry.normal)).tolist()
                px, py, pz = places[number].tolist()
                found.append(PlanePart(name, (px, py, pz), (x, y, z)))
        return found

    def still(self, touch: Touching) -> list[PlanePart]:
        """Planes, which cameras see where they are at first."""
        return [part for part in self.parts(touch) if isinstance(part, PlanePart)]

    def moving(self, worlds: int) -> list[Moving]:
        """Everything else, as it is in every world."""
        solid = [number for number in self._meshes if not self._rigids[number].inside]
        return [self._moving(number, worlds) for number in solid]

    def _moving(self, number: int, worlds: int) -> Moving:
        vertices, triangles = self._meshes[number]
        local = wp.array(vertices, dtype=wp.vec3d, device=self._device)
        out = wp.zeros(worlds * len(vertices), dtype=wp.vec3, device=self._device)
        rigid, count = self._rigids[number], len(self._rigids)

        def points(state: Any) -> wp.array[Any]:
            values = state.variation.values
            known = [number, count, local, int(rigid.moves == "free"), len(values) // worlds, values]
            inputs = [*known, state.touch.places, state.touch.turns]
            wp.launch(place_vertices, len(out), inputs, [out], device=self._device)
            return out

        name = f"{rigid.name or rigid.kind.lower()}-{number}"
        return Moving(Mesh(name, vertices, triangles, color=rigid.color or _COLOR), points)


def _mesh(rigid: Rigid, form: Form) -> tuple[np.ndarray, np.ndarray]:
    """Vertices in the frame of the kernels [m], and triangles."""
    if isinstance(rigid.geometry, HeightField):
        return rigid.geometry.top()
    surface = rigid.shape.surface(_SEGMENTS)
    return form.axes.inv().apply(np.asarray(surface.vertices) - form.middle), np.asarray(surface.triangles, np.int32)
