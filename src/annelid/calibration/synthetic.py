"""Tracks of a model with known constants and noise: to see what an experiment would determine before it is made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import NoneType
from typing import Any

import numpy as np

from annelid.calibration.calibration import Bodies, Calibration
from annelid.calibration.runs import Run
from annelid.calibration.tracks import Tracks
from annelid.core.arrays import as_numbers
from annelid.core.errors import InvalidValue
from annelid.core.numbers import is_number
from annelid.core.options import require_kind
from annelid.shapes.values import seeded


def synthetic_tracks(
    body: Bodies,
    markers: Mapping[str, Any],
    constants: Mapping[str, float],
    times: np.ndarray,
    *,
    noise: float = 0.0,
    seed: int = 0,
    reach: float = 0.0,
    world: Mapping[str, Any] | None = None,
    device: str = "auto",
    threads: int | None = None,
    **run: Any,
) -> Tracks:
    """Tracks that markers on a body would leave.

    Args:
        body: The body, as `Calibration` takes it.
        markers: Places of the markers on the body as built [m], by name.
        constants: Constants by name, as `Calibration` has them free.
        times: Moments since the motion begins [s], ascending, shape [t].
        noise: Standard deviation of each component [m].
        seed: Seed of the noise.
        reach: How far markers may stand off the body [m].
        world: Options of the simulation.
        device: "auto", "cpu", "cuda" or "cuda:N".
        threads: CPU threads; None takes all cores.
        run: What else a `Run` takes: loads, releases, start, motion, given.
    """
    require_kind("markers", markers, Mapping, "places by name")
    require_kind("constants", constants, Mapping, "numbers by name")
    require_kind("world", world, (Mapping, NoneType), "options of the simulation by name")
    if not (is_number(noise) and noise >= 0.0):
        raise InvalidValue(f"the noise of tracks must be 0 m or more, not {noise!r:.60}.")
    chance = seeded(seed)
    rest, moments = as_numbers("places of markers", list(markers.values())), as_numbers("times", times)
    if moments.ndim != 1:
        raise InvalidValue(f"times must have the shape [t], not {list(moments.shape)}.")
    if len(moments) and not (moments[0] >= 0.0 and (np.diff(moments) > 0.0).all()):
        raise InvalidValue(f"times must rise from 0 s or later, when the motion begins, not {moments.tolist()!s:.60}.")
    blank = Tracks(moments, np.broadcast_to(rest, (len(moments), *rest.shape)), tuple(markers), "synthetic tracks")
    plan = Calibration(body, [Run(blank, **run)], markers, dict(constants), reach=reach, world=world or {})
    (comparison,) = plan.comparisons(plan.runs, device, threads)
    values = {name: np.array([float(value)]) for name, value in constants.items()}
    places = comparison.model(values, comparison.end)[0]
    if not np.isfinite(places).all():
        raise InvalidValue("the motion with these constants diverges: take a smaller dt, or other constants.")
    shown = np.broadcast_to(places, (len(moments), *rest.shape))
    return replace(blank, places=shown + chance.normal(0.0, noise, shown.shape))
