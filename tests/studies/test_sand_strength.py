"""The study of grains that are compressed until they shear: a tiny box, and how what its walls feel is judged."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import warp as wp

from annelid.core.errors import InvalidValue
from annelid.studies.sand_strength import SandStrength
from annelid.studies.support.compression import Compression, Sheared

from .conftest import by_name


def test_a_tiny_box_of_grains_bears_shear() -> None:
    box = Compression(sides=(4.0, 4.0, 6.0), strain=0.03, rate=0.6, dt=1e-4)
    found = box.run(wp.get_device("cpu"), 1)
    assert found.strains[-1] == pytest.approx(0.03, abs=2e-3)
    assert found.stresses[:, 0] == pytest.approx(np.full(len(found.strains), box.pressure), rel=0.3), "sides give way"
    assert 0.2 < found.peak < 0.9
    assert found.stresses[-1, 2] > 1.5 * found.stresses[0, 2]


def test_a_peak_is_judged_and_drawn(tmp_path: Path) -> None:
    strains = np.linspace(0.0, 0.1, 50)
    ratios = np.where(strains < 0.05, 12.0 * strains, 0.6 - 3.0 * (strains - 0.05))
    side = np.full(50, 1000.0)
    stresses = np.stack([side, side, side * (1.0 + ratios) / (1.0 - ratios)], axis=1)
    study = SandStrength()
    found = [Sheared(strains, 0.3 * strains, stresses, 0.62, 1000, 0.004)]
    rows = by_name(study.measure(found))
    assert rows["peak-ratio"].value == pytest.approx(0.6, abs=0.01)
    assert rows["peak-angle"].value == pytest.approx(np.degrees(np.arcsin(rows["peak-ratio"].value)))
    # The cubic law of the internal friction, times the weight of the bed.
    mu = rows["peak-ratio"].value
    bracket = 894.0 * mu**3 - 386.0 * mu**2 + 89.0 * mu
    assert rows["predicted-resistance"].value == pytest.approx(0.62 * 2650.0 * 9.81 * bracket / 1e6)
    (path,) = study.plot(found, tmp_path)
    assert path.stat().st_size > 1000


def test_bad_options_are_refused() -> None:
    with pytest.raises(InvalidValue, match="seeds of sand-strength must be"):
        SandStrength(seeds=0)
    with pytest.raises(InvalidValue, match="--slippery"):
        SandStrength(slippery=-0.5)
    with pytest.raises(InvalidValue, match="strain of a compression"):
        Compression(strain=0.0)
