"""Whether a solid is strained farther than its materials were measured."""

from __future__ import annotations

import math
import warnings
from functools import cached_property
from typing import Any

import numpy as np
import warp as wp

from annelid.core.errors import BeyondMeasured
from annelid.core.events import Event
from annelid.fem.kernels.strains import farthest_strains
from annelid.fem.shape_functions import point_gradients
from annelid.fem.solid import Solid

_LANES = 256
_ROUNDING = 1e-6


class MeasuredRange:
    """Warns once of strains beyond the range of a law.

    It is asked where results are looked at, not in every step, and costs nothing where no material has such a range or
    once it has warned. The strain is the largest principal one: a solid that is squeezed is stretched sideways.

    Args:
        solid: The solid.
        device: Where it is computed.
    """

    def __init__(self, solid: Solid, device: wp.Device) -> None:
        self._solid, self._device = solid, device
        self._reaches = [m.measured_to if m.law and m.measured_to else math.inf for m in solid.materials]
        self._watching = any(map(math.isfinite, self._reaches))
        self._untold: str | None = None

    def events(self, positions: wp.array[Any], clock: wp.array[Any], dt: float) -> list[Event]:
        """Look, and make an event of what was found, once.

        Args:
            positions: Positions of the nodes [m], vec3d of shape [worlds · n].
            clock: Steps done, shape [1].
            dt: Time step [s].
        """
        self.look(positions)
        if self._untold is None:
            return []
        sentence, self._untold = self._untold, None
        step = int(clock.numpy()[0])
        return [Event("overstrained", step * dt, step, sentence)]

    def look(self, positions: wp.array[Any]) -> None:
        """Warn if a point is beyond its range.

        Args:
            positions: Positions of the nodes [m], vec3d of shape [worlds · n].
        """
        if not self._watching:
            return
        solid, found = self._solid, self._found
        inputs = [_LANES, solid.node_count, *self._points, positions]
        wp.launch(farthest_strains, _LANES, inputs, [*found], device=self._device)
        shares, strains, places = (array.numpy() for array in found)
        best = int(np.argmax(shares))
        if shares[best] > 1.0 + _ROUNDING:
            self._watching = False
            self._untold = self._sentence(float(strains[best]), int(places[best]), len(positions) // solid.node_count)
            warnings.warn(self._untold, BeyondMeasured, stacklevel=3)

    def _sentence(self, strain: float, place: int, worlds: int) -> str:
        each = len(self._points[2]) // len(self._solid.elements)
        world, element = divmod(place // each, len(self._solid.elements))
        x, y, z = self._solid.nodes[self._solid.elements[element, :4]].mean(axis=0)
        material = self._solid.materials[self._solid.element_materials[element]]
        where = f" of world {world}" if worlds > 1 else ""
        return (
            f"{material.name!r} is strained by {strain:.3g} but its law was measured to {material.measured_to:g} only: "
            f"in tetrahedron {element}{where}, at rest near ({x:.4g}, {y:.4g}, {z:.4g}) m, results are extrapolated; "
            "lower the loads, or take a law that was measured farther."
        )

    @cached_property
    def _points(self) -> tuple[wp.array[Any], wp.array[Any], wp.array[Any]]:
        """Nodes, gradients and ranges of the integration points, element after element."""
        solid = self._solid
        gradients, volumes = point_gradients(solid.nodes, solid.elements)
        owner = np.repeat(np.arange(len(solid.elements)), volumes.shape[1])
        limits = np.array(self._reaches, float)[solid.element_materials[owner]]
        flat = np.ascontiguousarray(gradients.reshape(len(owner), -1, 3))
        return (
            wp.array(np.ascontiguousarray(solid.elements[owner], np.int32), dtype=wp.int32, device=self._device),
            wp.array(flat, dtype=wp.vec3d, device=self._device),
            wp.array(limits, dtype=wp.float64, device=self._device),
        )

    @cached_property
    def _found(self) -> tuple[wp.array[Any], wp.array[Any], wp.array[Any]]:
        kinds = (wp.float64, wp.float64, wp.int32)
        first, second, third = (wp.zeros(_LANES, dtype=kind, device=self._device) for kind in kinds)
        return first, second, third
