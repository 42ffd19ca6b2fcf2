"""Ready losses of rollouts: how far a body went, and how far it is from where it should be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from annelid.core.adjoint import summed
from annelid.core.arrays import as_numbers
from annelid.core.errors import InvalidValue
from annelid.core.track import Track


class Travel:
    """Minus the distance [m] that the middle of each world has gone along a direction, from the first look to the last.

    With one look it is minus the place of the middle. The middle is the mean over all masses or nodes, or over some.

    Args:
        direction: "x", "y", "z" or three numbers.
        things: Which masses or nodes count, indices or a mask; None for all.
    """

    def __init__(self, direction: str | Sequence[float] = "x", *, things: Any = None) -> None:
        if isinstance(direction, str) and direction in ("x", "y", "z"):
            self.direction = np.eye(3)["xyz".index(direction)]
        else:
            self.direction = np.zeros(0) if isinstance(direction, str) else as_numbers("a direction", direction)
        if self.direction.shape != (3,) or not np.isfinite(self.direction).all() or not self.direction.any():
            raise InvalidValue(f"a direction is 'x', 'y', 'z' or three finite numbers, not {direction!r:.60}.")
        self.direction = self.direction / np.linalg.norm(self.direction)
        self.things = things

    def __call__(self, track: Track) -> tuple[np.ndarray, np.ndarray]:
        """Value of each world, shape [worlds], and its rates by positions."""
        looks, _, things, _ = track.shape
        weights = np.zeros(things)
        weights[_chosen(self.things, things)] = 1.0
        weights /= weights.sum()
        rates = np.zeros(track.shape)
        rates[-1] -= weights[:, None] * self.direction
        if looks > 1:
            rates[0] += weights[:, None] * self.direction
        return _by_world(rates * track.positions), rates


class Match:
    """Half the mean squared distance [m²] of points from where they should be at the looks, of each world.

    Args:
        targets: Places [m] that broadcast to [looks, worlds, points, 3]; what is not a number is left out.
        things: Indices of the masses or nodes that are the points; None for all.
    """

    def __init__(self, targets: Any, *, things: Any = None) -> None:
        self.targets, self.things = as_numbers("targets", targets), things

    def __call__(self, track: Track) -> tuple[np.ndarray, np.ndarray]:
        """Value of each world, shape [worlds], and its rates by positions."""
        chosen = _chosen(self.things, track.shape[2])
        here = track.positions[:, :, chosen]
        try:
            targets = np.broadcast_to(self.targets, here.shape)
        except ValueError:
            raise InvalidValue(
                f"targets of shape {list(self.targets.shape)} do not broadcast to those of the track, "
                f"{list(here.shape)}: [looks, worlds, points, 3]."
            ) from None
        known = np.isfinite(targets).all(axis=-1)
        counts = known.sum(axis=(0, 2))
        if not counts.all():
            raise InvalidValue(f"world {int(np.flatnonzero(counts == 0)[0])} has no target that is a number.")
        away = np.where(known[..., None], here - targets, 0.0)
        off = away / counts[None, :, None, None]
        looks, worlds, things, _ = track.shape
        rates = np.zeros((things, looks, worlds, 3))
        np.add.at(rates, chosen, np.moveaxis(off, 2, 0))  # a point may be named twice
        return 0.5 * _by_world(off * away), np.moveaxis(rates, 0, 2)


def _chosen(given: Any, things: int) -> np.ndarray:
    """Indices of the masses or nodes that count; None stands for all, a mask has one entry for each."""
    if given is None:
        return np.arange(things)
    found = np.atleast_1d(np.asarray(given))
    if found.dtype == bool and found.shape == (things,):
        found = np.flatnonzero(found)
    good = found.dtype.kind in "iu" and found.ndim == 1 and found.size > 0
    if not good or found.min() < -things or found.max() >= things:
        raise InvalidValue(
            f"things must be some of the {things} masses or nodes, as indices or a mask of {things}, not {given!r:.60}."
        )
    return found


def _by_world(parts: np.ndarray) -> np.ndarray:
    """Sums of an array of shape [looks, worlds, things, 3] over each world, to the bit those of the world alone."""
    return summed(np.moveaxis(parts, 1, 0).reshape(parts.shape[1], -1), 1)
