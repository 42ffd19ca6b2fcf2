"""Colour maps, categorical colours, and the scale that turns a scalar field into colours and a legend.

Maps are a few control points in the Oklab colour space, with monotone lightness, so that equal steps of the value look
like equal steps of colour. All colours here are display colours (sRGB encoded) in [0, 1]; light is computed elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from annelid.core.errors import InvalidValue, UnknownName
from annelid.core.snapshot import Array, Color, Field, host_array

MISSING: Color = (0.62, 0.62, 0.62)
"""Colour of a value that is not a number."""

# (lightness, chroma, hue [deg]) from the low end to the high end.
_CONTROL_POINTS: dict[str, tuple[tuple[float, float, float], ...]] = {
    "tide": ((0.40, 0.14, 285), (0.52, 0.12, 255), (0.63, 0.11, 205), (0.77, 0.15, 150), (0.92, 0.17, 105)),
    "ember": ((0.33, 0.10, 310), (0.48, 0.18, 0), (0.63, 0.19, 28), (0.78, 0.16, 65), (0.94, 0.10, 100)),
    "balance": ((0.42, 0.14, 258), (0.68, 0.11, 245), (0.95, 0.0, 0), (0.70, 0.14, 40), (0.46, 0.17, 27)),
    "gray": ((0.25, 0.0, 0), (0.95, 0.0, 0)),
}

SEQUENTIAL = "tide"
DIVERGING = "balance"

_CATEGORIES: tuple[Color, ...] = (
    (0.90, 0.47, 0.36),
    (0.25, 0.55, 0.76),
    (0.95, 0.75, 0.33),
    (0.35, 0.66, 0.52),
    (0.56, 0.44, 0.72),
    (0.84, 0.52, 0.68),
    (0.53, 0.38, 0.29),
    (0.45, 0.72, 0.82),
    (0.67, 0.75, 0.36),
    (0.42, 0.45, 0.50),
)


@lru_cache(maxsize=32)
def _table(name: str, entries: int) -> np.ndarray:
    if name not in _CONTROL_POINTS:
        raise UnknownName("colour map", name, _CONTROL_POINTS)
    lightness, chroma, hue = np.array(_CONTROL_POINTS[name], dtype=np.float64).T
    angle = np.radians(hue)
    oklab = np.stack([lightness, chroma * np.cos(angle), chroma * np.sin(angle)], axis=1)
    at = np.linspace(0.0, len(oklab) - 1.0, entries)
    smooth = np.stack([np.interp(at, np.arange(len(oklab)), column) for column in oklab.T], axis=1)
    table = encode(_oklab_to_linear(smooth)).astype(np.float32)
    table.setflags(write=False)
    return table


def color_table(name: str, entries: int = 256) -> np.ndarray:
    """Colours of a map from its low to its high end, shape [entries, 3], float32, read-only."""
    return _table(name, entries)


def category_colors(count: int) -> np.ndarray:
    """Colours of `count` categories, shape [count, 3], float32; they repeat after ten."""
    return np.array([_CATEGORIES[i % len(_CATEGORIES)] for i in range(count)], dtype=np.float32).reshape(-1, 3)


def encode(linear: np.ndarray) -> np.ndarray:
    """Linear light to display values (the sRGB curve), clipped to [0, 1]."""
    x = np.clip(linear, 0.0, 1.0)
    return np.where(x <= 0.0031308, 12.92 * x, 1.055 * np.power(np.maximum(x, 1e-8), 1.0 / 2.4) - 0.055)


def decode(display: np.ndarray) -> np.ndarray:
    """Display values (sRGB) to linear light."""
    x = np.clip(display, 0.0, 1.0)
    return np.where(x <= 0.04045, x / 12.92, np.power((x + 0.055) / 1.055, 2.4))


def _oklab_to_linear(oklab: np.ndarray) -> np.ndarray:
    # B. Ottosson, "A perceptual color space for image processing" (2020): Oklab to cone responses to linear sRGB.
    to_cones = np.array(
        [[1.0, 0.3963377774, 0.2158037573], [1.0, -0.1055613458, -0.0638541728], [1.0, -0.0894841775, -1.2914855480]]
    )
    to_rgb = np.array(
        [
            [4.0767416621, -3.3077115913, 0.2309699292],
            [-1.2684380046, 2.6097574011, -0.3413193965],
            [-0.0041960863, -0.7034186147, 1.7076147010],
        ]
    )
    cones: np.ndarray = (oklab @ to_cones.T) ** 3
    return cones @ to_rgb.T


@dataclass(frozen=True)
class Scale:
    """How the values of one field become colours; also everything that a legend needs.

    Attributes:
        name: Name of the field.
        unit: Unit of the values, "" for a pure number.
        limits: Values at the two ends of the colour map; values outside take the colour of the nearer end.
        color_map: Name of the colour map.
        labels: Category names; if there are any, values are indices into them and `limits` and `color_map` are unused.
    """

    name: str
    unit: str
    limits: tuple[float, float]
    color_map: str = SEQUENTIAL
    labels: tuple[str, ...] = ()

    def table(self) -> np.ndarray:
        """Colours from low to high, or one a category, shape [entries, 3], float32."""
        return category_colors(len(self.labels)) if self.labels else color_table(self.color_map)

    def colors(self, values: Array) -> np.ndarray:
        """Colour of each value, shape [n, 3], float32 in [0, 1]; `MISSING` for what is not a number."""
        x = np.asarray(host_array(values), dtype=np.float64)
        table = self.table()
        missing = np.isnan(x)
        safe = np.where(missing, self.limits[0], x)
        if self.labels:
            colors = table[np.clip(np.rint(safe), 0, len(table) - 1).astype(np.int64)]
        else:
            low, high = self.limits
            at = np.clip((safe - low) / (high - low), 0.0, 1.0) * (len(table) - 1)
            below = np.minimum(at.astype(np.int64), len(table) - 2)
            part = (at - below)[:, None]
            colors = table[below] * (1.0 - part) + table[below + 1] * part
        return np.where(missing[:, None], MISSING, colors).astype(np.float32)


def scale_for(
    name: str,
    fields: Sequence[Field],
    *,
    limits: tuple[float, float] | None = None,
    color_map: str | None = None,
) -> Scale:
    """One scale for all parts that carry the field `name`.

    Args:
        name: Name of the field.
        fields: That field on each part that has it.
        limits: Values at the two ends; None takes the limits of the fields, or the range of the data (a host copy).
        color_map: Name of the map; None takes a diverging one for limits symmetric about zero, else a sequential one.
    """
    whole = merged(fields)
    chosen = limits or whole.limits or ((0.0, 1.0) if whole.labels else _symmetric(*_data_range(whole)))
    low, high = float(chosen[0]), float(chosen[1])
    if not (np.isfinite(low) and np.isfinite(high) and low < high):
        raise InvalidValue(f"limits {chosen} of field {name!r} must be two finite numbers, the lower one first.")
    if color_map is None:
        color_map = DIVERGING if low == -high else SEQUENTIAL
    color_table(color_map)
    return Scale(name, whole.unit, (low, high), color_map, tuple(whole.labels))


def merged(fields: Sequence[Field]) -> Field:
    """The extremes of many fields of one name, their unit, limits and labels: all that a scale is made of."""
    finite = [values[np.isfinite(values)] for values in (np.asarray(host_array(field.values)) for field in fields)]
    ends = [end for values in finite if values.size for end in (float(values.min()), float(values.max()))]
    labels = max((field.labels for field in fields), key=len, default=())
    unit = next((field.unit for field in fields if field.unit), "")
    return Field(np.array([min(ends), max(ends)] if ends else []), unit, _given_limits(fields), labels)


def _given_limits(fields: Sequence[Field]) -> tuple[float, float] | None:
    given = [field.limits for field in fields if field.limits is not None]
    return (min(low for low, _ in given), max(high for _, high in given)) if given else None


def _data_range(whole: Field) -> tuple[float, float]:
    return (float(whole.values[0]), float(whole.values[1])) if len(whole.values) else (0.0, 1.0)


def _symmetric(low: float, high: float) -> tuple[float, float]:
    """Limits for data in [low, high]: centred on zero if both signs matter, and never empty."""
    reach = max(-low, high)
    if min(-low, high) > 0.05 * reach:
        return -reach, reach
    if not low < high:
        return low, low + (abs(low) or 1.0)
    return low, high
