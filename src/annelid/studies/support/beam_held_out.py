"""The measured silicone beam through identification: each load predicted from the other two."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from annelid import fem
from annelid.calibration import Calibration, Identified, Run, identify
from annelid.core.measurement import Measurement
from annelid.core.progress import Progress
from annelid.studies.support.measured_beam import GRAVITY, MARKERS, RUNS, Beam, read_runs

_START = 5e3  # [Pa], fifty times too soft
_REACH = 8e-3  # markers stand 6 mm off the beam, at its edges a little more [m]
_COMSOL = "what COMSOL reached with one modulus, fitted to all loads"


@dataclass(frozen=True, eq=False)
class HeldOut:
    """What was found without a load, and how far off its markers are predicted [mm], shape [3, 3]."""

    name: str
    found: Identified
    off: np.ndarray


def held_out(
    folder: Path,
    beam: Beam,
    device: Any,
    threads: int | None,
    progress: Progress,
    *,
    loads: Sequence[str] = tuple(RUNS),
    start: float = _START,
    scan: bool = True,
) -> list[HeldOut]:
    """The modulus from where the beam settles under two loads, and the third predicted, for some of the three.

    Args:
        folder: Where the tracks are.
        beam: The beam as a solid.
        device: Where to compute.
        threads: CPU threads.
        progress: What shows how far it is.
        loads: Runs to hold out, one after the other.
        start: Modulus with which the search begins [Pa].
        scan: Whether the search begins with a scan.
    """
    runs = _runs(folder)
    low = beam.solid(_START, 0.0).nodes.min(axis=0)
    markers = {f"tip{number}": tuple(place + low) for number, place in enumerate(MARKERS, 1)}

    def silicone(youngs_modulus: float, weight: float) -> fem.Solid:
        return beam.solid(youngs_modulus, weight)

    world: Mapping[str, Any] = {"gravity": (0.0, 0.0, -GRAVITY), "device": device, "threads": threads}
    results = []
    for out in (run for run in runs if run.name in loads):
        fitted = [run for run in runs if run is not out]
        plan = Calibration(
            silicone, fitted, markers, {"youngs_modulus": start}, held_out=[out], reach=_REACH, world=world
        )
        found = identify(plan, scan=scan)
        results.append(HeldOut(out.name, found, 1e3 * (found.runs[-1].model - found.runs[-1].measured)[0]))
        progress.say(f"without {out.name}: {found!r}")
    return results


def _runs(folder: Path) -> list[Run]:
    """Where the beam settles in each run, from where it was held, in the plane of bending."""
    found = []
    for run in read_runs(folder):
        end = float(run.times[-1])
        tracks = folder / f"{run.name}.csv"
        spans: dict[str, Any] = {"held": (float(run.times[0]), -0.005), "settled": (end - 1.0, end)}
        found.append(Run(tracks, motion=False, axes="xz", given={"weight": RUNS[run.name]}, **spans))
    return found


def measurements(results: list[HeldOut]) -> list[Measurement]:
    """Moduli, and errors of the loads that were held out."""
    if not results:
        return []
    rows = [
        Measurement(f"beam-modulus-without-{_named(each)}", 1e-3 * each.found.constants["youngs_modulus"], "kPa")
        for each in results
    ]
    for each in results:
        rows.append(Measurement(f"beam-{_named(each)}-predicted-plane-rms", float(_plane(each.off)), "mm"))
    off = np.concatenate([each.off for each in results])
    height = float(np.sqrt((off[:, 2] ** 2).mean()))
    return [
        *rows,
        Measurement("beam-predicted-height-rms", height, "mm", 0.4, source=_COMSOL, bound="at-most"),
        Measurement("beam-predicted-plane-rms", float(_plane(off)), "mm", 0.85, source=_COMSOL, bound="at-most"),
    ]


def _plane(off: np.ndarray) -> np.floating[Any]:
    return np.sqrt((off[:, [0, 2]] ** 2).sum(axis=1).mean())


def _named(each: HeldOut) -> str:
    return each.name.lower().replace(".", "-")
