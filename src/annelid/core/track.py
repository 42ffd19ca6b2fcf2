"""What a loss sees of a motion: positions and velocities at the looks."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
import warp as wp

import annelid.core.device  # noqa: F401  starts Warp quietly
from annelid.core.arrays import as_numbers
from annelid.core.described import Described
from annelid.core.device_rates import all_finite
from annelid.core.errors import InvalidValue, UnknownName

PARTS = ("positions", "velocities")
"""What a track has of every thing."""


class Track(Described):
    """Positions and velocities at the looks of a rollout.

    Args:
        steps: Steps after which they were looked at, shape [looks].
        dt: Time step [s].
        arrays: Positions [m] and velocities [m/s] on the device, shape [looks, worlds, things].

    Attributes:
        steps: Steps after which they were looked at, shape [looks].
        times: Times since the beginning of the rollout [s], shape [looks].
        arrays: Positions [m] and velocities [m/s] on the device, by name, each of shape [looks, worlds, things].
    """

    def __init__(self, steps: np.ndarray, dt: float, arrays: Mapping[str, wp.array[Any]]) -> None:
        self.steps, self.times, self.arrays = steps, dt * steps, dict(arrays)

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """Looks, worlds, things and axes."""
        looks, worlds, things = self.arrays["positions"].shape
        return looks, worlds, things, 3

    def facts(self) -> Mapping[str, str]:
        """How much it holds."""
        looks, worlds, things, _ = self.shape
        return {"looks": str(looks), "worlds": str(worlds), "things": str(things)}

    @cached_property
    def positions(self) -> np.ndarray:
        """Positions [m], shape [looks, worlds, things, 3]."""
        return self._read("positions")

    @cached_property
    def velocities(self) -> np.ndarray:
        """Velocities [m/s], shape [looks, worlds, things, 3]."""
        return self._read("velocities")

    def _read(self, name: str) -> np.ndarray:
        return np.array(self.arrays[name].numpy(), float)

    def rates(self, given: Any) -> dict[str, wp.array[Any]]:
        """Rates of a loss by positions and velocities on the device, from arrays or from a mapping of them by name.

        What is not mentioned has none. Numbers that are not finite and shapes that do not broadcast are refused.
        """
        by_name = given if isinstance(given, Mapping) else {"positions": given}
        for name in by_name:
            if name not in PARTS:
                raise UnknownName("part of a track", name, PARTS)
        return {name: self._taken(name, by_name.get(name, 0.0)) for name in PARTS}

    def full(self, name: str, values: np.ndarray) -> np.ndarray:
        """Rates of a loss by a part of the track, broadcast to its shape."""
        try:
            return np.broadcast_to(values, self.shape)
        except ValueError:
            raise InvalidValue(
                f"the rates of the loss by {name} have shape {list(values.shape)}, not that of the track, "
                f"{list(self.shape)}: [looks, worlds, things, 3]."
            ) from None

    def _taken(self, name: str, given: Any) -> wp.array[Any]:
        like = self.arrays[name]
        if isinstance(given, wp.array):
            if given.dtype is not like.dtype or given.shape != like.shape or given.device != like.device:
                raise InvalidValue(
                    f"rates by {name} on the device must be like track.arrays[{name!r}]: {like.dtype.__name__} of "
                    f"shape {list(like.shape)} on {like.device}."
                )
            if not all_finite(given):
                raise _not_finite(name)
            return given
        values = as_numbers(f"the rates of the loss by {name}", given)
        if not np.isfinite(values).all():
            raise _not_finite(name)
        full = self.full(name, values)
        return wp.array(np.ascontiguousarray(full), dtype=like.dtype, device=like.device)


def _not_finite(name: str) -> InvalidValue:
    return InvalidValue(f"the rates of the loss by {name} are not finite: look for a division by 0 in it.")
