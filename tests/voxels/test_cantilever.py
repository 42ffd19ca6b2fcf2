"""Cantilevers against the numbers of the original program."""

from pathlib import Path

import numpy as np
import pytest

from annelid.core.device import device as choose_device
from annelid.core.errors import InvalidValue
from annelid.core.progress import Progress
from annelid.studies.registry import study_class
from annelid.studies.voxel_cantilever import Case, VoxelCantilever, bend, cases

STATIC = {
    ("5x2", 4): -8.3515,
    ("5x2", 8): -2.0150,
    ("5x2", 15): -0.58320,
    ("5x2", 30): -0.14602,
    ("10x4", 4): -8.9207,
    ("10x4", 8): -2.3944,
    ("10x4", 15): -0.68448,
    ("10x4", 30): -0.17119,
}


def test_static_displacements_of_the_original(device: str) -> None:
    """Within 0.5 %; 1 % where ropes act."""
    every = [Case(size, frequency, "all") for size, frequency in STATIC]
    final = bend(every, 29.5, float("inf"), 60.0, "v1", device)[-1]
    for case, value in zip(every, final, strict=True):
        expected = STATIC[case.size, case.frequency]
        share = 0.01 if (case.size, case.frequency) == ("5x2", 4) else 0.005
        assert value == pytest.approx(expected, rel=share), case.name


def test_dynamic_displacement_of_the_original(device: str) -> None:
    path = bend([Case("10x4", 8, "all")], 800.0, 0.1, 3.0, "v1", device)
    assert path.min() == pytest.approx(-4.54, rel=0.05)


def test_softer_scaffoldings_bend_more(device: str) -> None:
    every = [Case("5x2", 8, name) for name in ("all", "eic", "ec")]
    final = bend(every, 29.5, float("inf"), 30.0, "v1", device)[-1]
    assert final[0] > final[1] > final[2]
    assert np.isfinite(final).all()


def test_cases_of_the_figures() -> None:
    names = [case.name for case in cases(["5x2", "10x2", "10x4"])]
    assert len(names) == len(set(names)) == 30
    assert {"10x4-8hz-all", "10x4-8hz-ec", "10x4-8hz-eic", "10x4-8hz-eix"} <= set(names)


def test_bad_size() -> None:
    with pytest.raises(InvalidValue, match="10x4"):
        Case("10by4", 8, "all").robot(1.0, 1.0, "v1")


def test_quick_study(tmp_path: Path) -> None:
    study = VoxelCantilever(quick=True)
    assert study_class(study.name) is VoxelCantilever
    with Progress("study", 1.0, quiet=True) as progress:
        found = study.compute(choose_device("cpu"), None, progress)
    rows = {m.name: m for m in study.measure(found)}
    assert len(rows) == 20
    assert rows["static-5x2-8hz-all"].passed
    assert rows["dynamic-5x2-8hz-ec"].passed is None
    assert study.plot(found, tmp_path)[0].stat().st_size > 0
