"""The study of grains: its parts in small, and how it judges and draws what it found."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import warp as wp

from annelid.core.measurement import Measurement
from annelid.scenes.column import Column
from annelid.scenes.hopper import Hopper
from annelid.studies.grains_physics import Found, GrainsPhysics
from annelid.studies.support.grain_beds import Collapse, Drop, Outflow, collapse, discharge, dropped_ball

from .conftest import by_name


def found(**changes: object) -> Found:
    """What a good run finds, in round numbers."""
    times = np.linspace(0.0, 1.0, 11)
    parts: dict[str, object] = {
        "closed": [Measurement("bounce", 0.25, "", 0.25, 0.0025)],
        "frictions": np.array([0.0, 0.5, 1.0]),
        "packings": np.array([0.64, 0.59, 0.58]),
        "materials": np.array([(0.2, 0.0), (0.5, 0.0), (0.5, 0.15)]),
        "reposes": np.radians([24.5, 28.0, 34.0]),
        "drop": Drop(times, 0.5 - 0.4 * times, 0.001 * np.ones(11), 1e-5 * np.ones(11), 1.0, 0.2),
        "columns": [Collapse(1.0, 1.2, 0.7, 0.3, 5, 1000), Collapse(2.0, 2.2, 0.9, 0.3, 5, 2000)],
        "silos": [Outflow(8.0, 2.9, 2.95), Outflow(10.0, 5.1, 5.2)],
    }
    return Found(**{**parts, **changes})  # type: ignore[arg-type]


def test_a_good_run_holds() -> None:
    rows = by_name(GrainsPhysics().measure(found()))
    assert all(row.passed for row in rows.values() if row.passed is not None)
    assert rows["column-fit-low"].value == pytest.approx(1.2)
    assert rows["column-fit-high"].value == pytest.approx(2.2 / 2.0**0.5)
    assert rows["beverloo-constant"].value == pytest.approx(0.569, abs=1e-3)
    assert rows["column-1.00-run-out"].passed


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"columns": [Collapse(1.0, 0.9, 0.7, 0.3, 5, 1000)]}, "column-1.00-run-out"),
        ({"packings": np.array([0.60, 0.59, 0.58])}, "packing-friction-0"),
        ({"packings": np.array([0.64, 0.59, 0.61])}, "packing-rises-with-friction"),
        ({"reposes": np.radians([24.5, 20.0, 34.0])}, "repose-rise"),
        ({"silos": [Outflow(8.0, 1.5, 2.95)]}, "beverloo-constant"),
    ],
)
def test_a_bad_run_does_not(changes: dict[str, object], name: str) -> None:
    rows = by_name(GrainsPhysics().measure(found(**changes)))
    assert rows[name].passed is False


def test_it_is_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    (path,) = GrainsPhysics().plot(found(), tmp_path)
    assert path.stat().st_size > 10_000


def test_a_ball_comes_to_rest_in_a_bed(cpu: wp.Device) -> None:
    drop = dropped_ball(speed=1.0, radius=0.03, side=8, layers=7, seconds=0.4, dt=2.5e-4, device=cpu, threads=1)
    assert drop.missing.max() < 1e-3 * drop.scale
    assert drop.speeds[-1] < 0.02
    assert 0.0 < drop.heights[-1] < drop.surface


def test_a_small_column_and_a_small_silo(cpu: wp.Device) -> None:
    """Too small for the laws: the right order, and more run-out from a higher column."""
    low, high = (collapse(Column(width=5.0, aspect=a, pause=0.1), device=cpu, threads=1) for a in (0.7, 1.5))
    assert low.aspect < 1.0 < high.aspect
    assert 0.2 < low.run_out < high.run_out < 2.5
    assert 0.3 < low.height < high.height + 0.3
    flow = discharge(Hopper(width=14.0, filling=8.0, opening=7.0, slope=0.0), 0.4, device=cpu, threads=1)
    assert 0.4 * flow.law < flow.rate < 1.5 * flow.law
