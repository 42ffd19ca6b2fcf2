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
from annelid.studies.support.granular_gas import Cooling, cooling
from annelid.studies.support.tall_silos import Pressures, silo_pressures

from .conftest import by_name


def shares_by(length: float, heights: np.ndarray) -> np.ndarray:
    """Janssen's law."""
    return length / heights * (1.0 - np.exp(-heights / length))


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
        "columns": [Collapse(1.0, 1.2, 0.7, 0.3, 5, 1000), Collapse(2.0, 2.2, 0.8, 0.3, 5, 2000)],
        "silos": [Outflow(8.0, 2.9, 2.95), Outflow(10.0, 5.1, 5.2)],
        "gases": [Cooling(0.9, times, (1.0 + 2.05 * times) ** -2.0, 2.0)],
        "pressures": Pressures(0.06, 0.5, np.array([0.1, 0.4]), shares_by(0.12, np.array([0.1, 0.4]))),
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
        ({"columns": [Collapse(2.0, 2.2, 1.0, 0.3, 5, 1000)]}, "column-2.00-height"),
        ({"packings": np.array([0.60, 0.59, 0.58])}, "packing-friction-0"),
        ({"packings": np.array([0.64, 0.59, 0.61])}, "packing-rises-with-friction"),
        ({"reposes": np.radians([24.5, 20.0, 34.0])}, "repose-rise"),
        ({"silos": [Outflow(8.0, 1.5, 2.95)]}, "beverloo-constant"),
        ({"silos": [Outflow(d, 0.9 * d, 0.1 * d**2.5) for d in (8.0, 10.0, 12.0)]}, "beverloo-fit-lost"),
        (
            {"gases": [Cooling(0.9, np.arange(5.0), (1.0 + 2.2 * np.arange(5.0)) ** -2.0, 2.0)]},
            "haff-restitution-0.9-rate",
        ),
        ({"gases": [Cooling(0.9, np.arange(5.0), np.exp(-np.arange(5.0)), 2.0)]}, "haff-restitution-0.9-bend"),
        ({"pressures": Pressures(0.06, 0.5, np.array([0.1, 0.4]), np.array([0.9, 0.8]))}, "janssen-spread"),
        ({"pressures": Pressures(0.06, 0.5, np.array([0.4]), shares_by(0.4, np.array([0.4])))}, "janssen-redirected"),
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


def test_a_small_gas_cools_as_haff_says(cpu: wp.Device) -> None:
    gas = cooling(0.7, side=6, cooled=3.0, device=cpu, threads=1)
    assert gas.found == pytest.approx(gas.rate, rel=0.15)
    assert gas.bend < 0.06
    assert gas.temperatures[-1] == pytest.approx(1.0 / 9.0, rel=0.25)


def test_walls_bear_most_of_a_tall_silo(cpu: wp.Device) -> None:
    low, high = silo_pressures((6.0, 24.0), width=4.0, device=cpu, threads=1).shares
    assert 0.6 < low < 1.0
    assert 0.1 < high < 0.45


def test_fits_find_the_constants_that_rates_were_made_with() -> None:
    silos = [Outflow(d, 1.2 * (d - 1.8) ** 2.5, (d - 1.45) ** 2.5) for d in (8.0, 10.0, 13.0)]
    rows = by_name(GrainsPhysics().measure(found(silos=silos)))
    assert rows["beverloo-fit-constant"].value == pytest.approx(1.2 * 0.58)
    assert rows["beverloo-fit-lost"].value == pytest.approx(1.8)
    pressures = Pressures(0.06, 0.5, np.array([0.1, 0.4]), shares_by(0.12, np.array([0.1, 0.4])))
    assert pressures.lengths == pytest.approx([0.12, 0.12])


def test_a_small_column_and_a_small_silo(cpu: wp.Device) -> None:
    """Too small for the laws: the right order, and more run-out from a higher column."""
    low, high = (collapse(Column(width=5.0, aspect=a, pause=0.1), device=cpu, threads=1) for a in (0.7, 1.5))
    assert low.aspect < 1.0 < high.aspect
    assert 0.2 < low.run_out < high.run_out < 2.5
    assert 0.3 < low.height < high.height + 0.3
    flow = discharge(Hopper(width=14.0, filling=8.0, opening=7.0, slope=0.0), 0.4, device=cpu, threads=1)
    assert 0.4 * flow.law < flow.rate < 1.5 * flow.law
