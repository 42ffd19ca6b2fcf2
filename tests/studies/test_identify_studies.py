"""Studies of identification: known constants come back, and the measured beam is predicted where its tracks are."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import warp as wp

from annelid.core.progress import Progress
from annelid.studies.identify_springs import IdentifySprings
from annelid.studies.support import beam_held_out
from annelid.studies.support.measured_beam import Beam

from .conftest import by_name

DATA = Path(os.environ.get("ANNELID_BEAM", Path(__file__).parents[3] / "shared" / "data" / "beam"))
"""The measured tracks, which are not part of this project: set ANNELID_BEAM to their folder."""


@dataclass(frozen=True)
class Short(IdentifySprings):
    """One start, five times too stiff."""

    offs: tuple[float, ...] = (5.0,)


def test_a_lattice_comes_back(cpu: wp.Device, silence: Progress, tmp_path: Path) -> None:
    study = Short(quick=True)
    found = study.compute(cpu, 1, silence)
    rows = by_name(study.measure(found))
    assert rows["stiffness-factor-error-from-5-times-off"].passed
    assert rows["damping-factor-error-rms"].passed
    assert rows["noise-found"].passed
    assert study.plot(found, tmp_path)[0].is_file()


@pytest.mark.skipif(not DATA.is_dir(), reason="the measured tracks are not here")
def test_the_measured_beam_predicts_a_load_that_was_held_out(silence: Progress) -> None:
    beam = Beam((2, 1, 1), 3e-3)
    found = beam_held_out.held_out(DATA, beam, "cpu", 1, silence, loads=("load-0.51N",), start=4e5, scan=False)
    assert 2e5 < found[0].found.constants["youngs_modulus"] < 3e5
    assert np.sqrt((found[0].off[:, [0, 2]] ** 2).sum(axis=1).mean()) < 0.85
    assert "beam-predicted-height-rms" in by_name(beam_held_out.measurements(found))
