"""The study of blocks that drop in the usual step and in half of it: how drops are judged, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from annelid.core.errors import InvalidValue
from annelid.studies.sand_steps import Found, SandSteps
from annelid.studies.support.block_drops import CASES, Depths

from .conftest import by_name


def drops(halved: float) -> Found:
    """Three drops of each kind whose depth in half of the step is so much of the usual one, in the mean."""
    each = [Depths(d, (halved + off) * d, 0.99 * d, d) for d, off in ((0.01, 0.01), (0.01, -0.01), (0.02, 0.0))]
    return Found(CASES, [each] * len(CASES))


def test_drops_are_judged_by_what_halving_the_step_changes(tmp_path: Path) -> None:
    study = SandSteps()
    rows = by_name(study.measure(drops(1.02)))
    row = rows["sand-6mm-2.5kg-1.5ms-lattice-halved"]
    assert len(CASES) == 11
    assert row.value == pytest.approx(1.02)
    assert row.passed
    assert "over 3 drops" in row.source
    assert rows["sand-6mm-2.5kg-1.5ms-lattice-over-rigid"].value == pytest.approx(1 / 0.99)
    assert rows["sand-6mm-2.5kg-1.5ms-rigid-halved"].value == pytest.approx(1 / 0.99)
    assert by_name(study.measure(drops(0.96)))["smooth-10mm-2.5kg-1ms-lattice-halved"].passed is False
    (path,) = study.plot(drops(1.0), tmp_path)
    assert path.stat().st_size > 1000


def test_the_error_of_a_ratio_is_that_of_single_drops() -> None:
    ratio, error = drops(1.0).ratio(0, "lattice_halved", "lattice")
    assert ratio == pytest.approx(1.0)
    assert error == pytest.approx((2e-8 * 3 / 2) ** 0.5 / 0.04)


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(InvalidValue, match="beds of sand-steps must be a whole number of 1 or more, not 0"):
        replace(SandSteps(), beds=0)
    with pytest.raises(InvalidValue, match="only of sand-steps must be a whole number between -1 and 10, not 11"):
        SandSteps(only=11)
