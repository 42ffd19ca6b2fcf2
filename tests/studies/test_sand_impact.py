"""The study of balls that fall into grains: how drops are judged, and that balls come deeper from higher up."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import warp as wp

from annelid.core.errors import InvalidValue
from annelid.studies.sand_impact import Found, SandImpact

from .conftest import by_name


def by_the_law(exponent: float) -> Found:
    """Drops that follow a law of the whole fall and the root of the density, each place with a factor of its own."""
    heights, densities, places = SandImpact().drops().T
    depths = 0.02 * np.ones_like(heights)
    for _ in range(50):
        depths = (1.0 + 0.2 * places) * 0.03 * np.sqrt(densities / 2000.0) * (heights + depths) ** exponent
    return Found(heights, densities, places.astype(int), depths, 5000)


def test_exponents_are_found_whatever_the_place(tmp_path: Path) -> None:
    study = SandImpact()
    rows = by_name(study.measure(by_the_law(1 / 3)))
    assert rows["exponent-of-the-fall"].value == pytest.approx(1 / 3, abs=1e-6)
    assert rows["exponent-of-the-fall"].passed
    assert rows["its-standard-error"].value < 1e-6
    assert rows["exponent-of-the-density"].value == pytest.approx(0.5, abs=1e-6)
    assert rows["heights-apart"].value > 8.0
    assert by_name(study.measure(by_the_law(0.5)))["exponent-of-the-fall"].passed is False
    (path,) = study.plot(by_the_law(1 / 3), tmp_path)
    assert path.stat().st_size > 1000


def test_balls_come_deeper_from_higher_up(cpu: wp.Device) -> None:
    study = SandImpact(quick=True)
    bed = study.settled(0.08, 0.04, cpu, 1)
    low, high = study.dropped(bed, 0.08, np.array([[0.02, 2000.0, 0.0], [0.3, 2000.0, 0.0]]), 0.03, cpu, 1)
    assert 0.0005 < low < high < 0.04


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(InvalidValue, match="ball of sand-impact must be a finite number above 0, not 0"):
        replace(SandImpact(), ball=0.0)
    with pytest.raises(InvalidValue, match="places of sand-impact must be a whole number of 1 or more, not 0"):
        replace(SandImpact(), places=0)
