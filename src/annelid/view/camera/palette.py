"""Colours of the elements of a layer: the parts' own, or those of a field through a colour table on the device."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
import warp as wp

from annelid.core.snapshot import Lines, Mesh, Spheres
from annelid.view.camera.kernels import staging as kernels
from annelid.view.camera.transfer import WarpArray, launch, put_scalars
from annelid.view.colors import MISSING, Scale, decode

P = TypeVar("P", Mesh, Spheres, Lines)


@dataclass(frozen=True)
class Placed(Generic[P]):
    """A part and the world that it stands in."""

    world: int
    part: P


@dataclass(frozen=True)
class ColorTable:
    """A scale on the device: linear light, the last entry for what is not a number."""

    scale: Scale
    colors: WarpArray

    @staticmethod
    def of(scale: Scale, device: Any) -> ColorTable:
        """The table of a scale."""
        return ColorTable(scale, wp.array(_rows(scale), dtype=wp.vec3, device=device))

    def rescaled(self, scale: Scale) -> ColorTable:
        """The same array for a scale with other limits, and with the colours of its map."""
        if scale.color_map != self.scale.color_map:
            self.colors.assign(_rows(scale))
        return ColorTable(scale, self.colors)

    @property
    def step(self) -> float:
        """Values between two entries; 0 for categories."""
        low, high = self.scale.limits
        return 0.0 if self.scale.labels else (high - low) / (self.colors.shape[0] - 2)


def _rows(scale: Scale) -> np.ndarray:
    return decode(np.vstack([scale.table(), np.array([MISSING], dtype=np.float32)])).astype(np.float32)


class Palette(Generic[P]):
    """Colours of the elements of a layer, and their places in the colour table, -1 for a colour of their own."""

    def __init__(self, placed: Sequence[Placed[P]], counts: Sequence[int], device: Any) -> None:
        self.device = device
        self.colors = wp.zeros(sum(counts), dtype=wp.vec3, device=device)
        self.values = wp.zeros(sum(counts), dtype=wp.float32, device=device)
        self.shades = wp.full(sum(counts), -1.0, dtype=wp.float32, device=device)
        self.spans = spans(counts)
        for item, span in zip(placed, self.spans, strict=True):
            self.colors[span].fill_(linear(item.part.color))

    def refresh(self, placed: Sequence[Placed[P]], table: ColorTable | None) -> None:
        """Colour by the field of the table; parts that do not carry it keep their own colour."""
        if table is None:
            return
        for item, span in zip(placed, self.spans, strict=True):
            field = item.part.fields.get(table.scale.name)
            if field is None or span.start == span.stop:
                continue
            values = self.values[span]
            put_scalars(field.values, values)
            inputs = [table.colors, table.scale.limits[0], table.step, values]
            outputs = [self.shades[span], self.colors[span]]
            launch(kernels.color_values, span.stop - span.start, inputs, outputs, self.device)


def spans(counts: Sequence[int]) -> list[slice]:
    """Consecutive ranges of these lengths."""
    ends = np.cumsum([0, *counts]).tolist()
    return [slice(a, b) for a, b in zip(ends[:-1], ends[1:], strict=True)]


def linear(color: tuple[float, float, float]) -> Any:
    """A display colour as linear light."""
    return wp.vec3(*(float(c) for c in decode(np.asarray(color, dtype=np.float64))))
