"""Free parameters: where they begin, between what bounds, on what scale; and the coordinates of a search for them.

Positive numbers are searched by their logarithms, so that a factor of 2 is as far up as down, others in units of their
size. Every searcher of this package walks in these coordinates and knows nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal

import numpy as np

from annelid.core.errors import InvalidValue
from annelid.core.numbers import is_number
from annelid.core.options import Named, is_among, require_kind

Scale = Literal["auto", "log", "linear"]


@dataclass(frozen=True)
class Free(Named):
    """A free parameter.

    Attributes:
        start: Where it begins: a number, or an array of them.
        low: Least value; None for none.
        high: Largest value; None for none.
        scale: "log" for what is positive, "linear", or "auto": logarithmic where start is above 0 and low does not
            allow negative values.
        size: A change of it that matters, for a linear scale; None takes its start, or a tenth of what its bounds
            allow.
    """

    start: Any
    low: float | None = None
    high: float | None = None
    scale: Scale = "auto"
    size: float | None = None

    def __post_init__(self) -> None:
        try:
            start = np.asarray(self.start, float)
        except (TypeError, ValueError, OverflowError):
            raise InvalidValue(f"start of a free parameter must be numbers, not {self.start!r:.60}.") from None
        object.__setattr__(self, "start", start)
        if not is_among(self.scale, ("auto", "log", "linear")):
            raise InvalidValue(f"scale of a free parameter must be 'auto', 'log' or 'linear', not {self.scale!r}.")
        for name in ("low", "high", "size"):
            self._require_number(name)
        low, high = self.bounds
        if not low < high:
            raise InvalidValue(f"bounds of a free parameter must rise, not go from {low:g} to {high:g}.")
        if not np.isfinite(start).all() or (start < low).any() or (start > high).any():
            raise InvalidValue(f"start = {start.flat[0]:g} must be finite and between {low:g} and {high:g}.")
        if self.scale == "log" and ((start <= 0.0).any() or low < 0.0):
            raise InvalidValue(f"a logarithmic scale needs values above 0, not {start.min():g}; use scale='linear'.")
        if self.size is not None and not (is_number(self.size) and self.size > 0.0):
            raise InvalidValue(f"size of a free parameter must be above 0, not {self.size!r}.")

    def _require_number(self, name: str) -> None:
        given = vars(self)[name]
        if given is not None and not isinstance(given, Real):
            raise InvalidValue(f"{name} of a free parameter must be one number for all of it, not {given!r:.60}.")

    @property
    def bounds(self) -> tuple[float, float]:
        """Least and largest value."""
        positive = self.scale == "log" and self.low is None
        low = 0.0 if positive else -np.inf if self.low is None else float(self.low)
        return low, np.inf if self.high is None else float(self.high)

    @property
    def logarithmic(self) -> bool:
        """Whether it is searched by its logarithm."""
        if self.scale != "auto":
            return self.scale == "log"
        return bool((self.start > 0.0).all()) and self.low is not None and self.low >= 0.0

    @property
    def unit(self) -> float:
        """The change that counts as 1 on a linear scale."""
        if self.size is not None:
            return float(self.size)
        low, high = self.bounds
        wide = 0.1 * (high - low)
        largest = float(np.abs(self.start).max(initial=0.0))
        return wide if np.isfinite(wide) else largest if largest > 0.0 else 1.0


class Space:
    """The coordinates of free parameters: 0 is the start; 1 is a factor of e, or the unit of what is linear.

    Args:
        free: Free parameters by name; a number alone is a start without bounds.

    Attributes:
        parts: Which coordinates belong to each parameter.
    """

    def __init__(self, free: Mapping[str, Free | Any]) -> None:
        require_kind("what is free", free, Mapping, "a dictionary of free parameters by name")
        if not free:
            raise InvalidValue("there is nothing to search for: name at least one free parameter.")
        self.free = {name: one if isinstance(one, Free) else Free(one) for name, one in free.items()}
        sizes = [one.start.size for one in self.free.values()]
        ends = np.cumsum(sizes)
        self.parts = {name: slice(end - size, end) for name, end, size in zip(self.free, ends, sizes, strict=True)}
        self.count = int(ends[-1])
        self.logarithmic = np.concatenate([np.full(one.start.size, one.logarithmic) for one in self.free.values()])
        self.low, self.high = (self._ends(side) for side in (0, 1))

    @property
    def names(self) -> list[str]:
        """A name for each coordinate; entries of arrays have numbers."""
        found = []
        for name, one in self.free.items():
            found += [name] if one.start.ndim == 0 else [f"{name}[{i}]" for i in range(one.start.size)]
        return found

    def values(self, at: np.ndarray) -> dict[str, np.ndarray]:
        """Parameters at coordinates of shape [..., p], by name, each of shape [..., its own shape]."""
        at = np.asarray(at, float)
        found = {}
        for name, one in self.free.items():
            part, start = at[..., self.parts[name]], one.start.ravel()
            flat = start * np.exp(part) if one.logarithmic else start + one.unit * part
            low, high = one.bounds
            found[name] = np.clip(flat, low, high).reshape((*at.shape[:-1], *one.start.shape))
        return found

    def scales(self) -> tuple[np.ndarray, ...]:
        """All that coordinates mean: starts, units, which are logarithmic, and bounds, each of shape [p]."""
        starts = np.concatenate([one.start.ravel() for one in self.free.values()])
        units = np.concatenate([np.full(one.start.size, one.unit) for one in self.free.values()])
        return starts, units, self.logarithmic, self.low, self.high

    def coordinates(self, values: Mapping[str, Any]) -> np.ndarray:
        """Coordinates of parameters, shape [..., p]."""
        parts = []
        for name, one in self.free.items():
            given = np.asarray(values[name], float)
            flat = given.reshape((*given.shape[: given.ndim - one.start.ndim], -1))
            start = one.start.ravel()
            parts.append(np.log(flat / start) if one.logarithmic else (flat - start) / one.unit)
        return np.concatenate(parts, axis=-1)

    def slopes(self, at: np.ndarray) -> np.ndarray:
        """Change of each parameter with its coordinate, shape [..., p]."""
        found = np.empty(np.shape(at))
        for name, values in self.values(at).items():
            one, part = self.free[name], self.parts[name]
            flat = values.reshape((*np.shape(at)[:-1], -1))
            found[..., part] = flat if one.logarithmic else one.unit
        return found

    def rates(self, at: np.ndarray, rates: Mapping[str, Any]) -> np.ndarray:
        """Rates by coordinates from rates by parameters, shape [..., p]."""
        lead = np.shape(at)[:-1]
        flat = [np.reshape(np.asarray(rates[name], float), (*lead, -1)) for name in self.free]
        return np.asarray(np.concatenate(flat, axis=-1) * self.slopes(at))

    def clipped(self, at: np.ndarray) -> np.ndarray:
        """The nearest coordinates within bounds."""
        return np.clip(at, self.low, self.high)

    def _ends(self, side: int) -> np.ndarray:
        found = []
        with np.errstate(divide="ignore"):
            for one in self.free.values():
                end, start = one.bounds[side], one.start.ravel()
                found.append(np.log(end / start) if one.logarithmic else (end - start) / one.unit)
        return np.concatenate(found)
