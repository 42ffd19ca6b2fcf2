"""Beam theory, and a coarse run of the experiments with beams: frequencies, modes and energy."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import warp as wp

from annelid.core.progress import Progress
from annelid.materials import material
from annelid.springs.modes import modes
from annelid.studies import energy
from annelid.studies.beam_frequency import BeamFrequency
from annelid.studies.energy import INTEGRATORS, Energy
from annelid.studies.natural_frequency import Case, NaturalFrequency
from annelid.studies.study import run
from annelid.studies.support import beams
from annelid.studies.support.beams import Cantilever, vibrate
from annelid.studies.support.signals import peak_frequency, zero_crossing_frequency

from .conftest import by_name

COARSE = Cantilever(material("tpu"), 0.32, 0.032, 2, 1)
SHORT = replace(COARSE, length=0.16)  # vibrates four times as fast


@pytest.fixture
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    """Load and watch beams for as many periods of SHORT as the study does of its beam."""
    monkeypatch.setattr(beams, "SETTLING", 0.5 / 4.0)
    monkeypatch.setattr(beams, "FREE", 1.0 / 4.0)


def test_formula_of_a_thin_beam() -> None:
    """A steel ruler of 0.3 m x 30 mm x 1 mm: f = 0.1615 h/L² √(E/ρ)."""
    ruler = Cantilever(material("steel"), 0.3, 0.001, 1, 30)
    assert ruler.euler_bernoulli() == pytest.approx(0.16154 * 0.001 / 0.09 * np.sqrt(210e9 / 7850), rel=1e-3)


def test_timoshenko_approaches_the_thin_beam() -> None:
    thicker = [replace(COARSE, length=0.032 * n) for n in (3, 10, 50)]
    ratios = [beam.timoshenko() / beam.euler_bernoulli() for beam in thicker]
    assert 0.85 < ratios[0] < ratios[1] < ratios[2] < 1.0
    assert ratios[1] == pytest.approx(0.99245, abs=1e-4)
    assert ratios[2] == pytest.approx(1.0, abs=5e-4)


@pytest.mark.usefixtures("fast")
@pytest.mark.parametrize("integrator", ["symplectic", "verlet", "rk4"])
def test_released_beam_has_the_frequency_of_its_matrices(integrator: str, chosen: wp.Device) -> None:
    predicted = modes(SHORT.body(), 2).frequencies[1]  # the first one is sideways
    motion = vibrate([SHORT], integrator, chosen, None)
    assert peak_frequency(motion.times, motion.tips[:, 0]) == pytest.approx(predicted, rel=1e-3)
    assert zero_crossing_frequency(motion.times, motion.tips[:, 0]) == pytest.approx(predicted, rel=5e-3)


class CoarseBeams(BeamFrequency):
    """Two cells along the height: exponents hold, absolute values do not."""

    cells = 2  # type: ignore[assignment]

    def resolution(self) -> list[Cantilever]:
        return [self._beam(cells=n, width_cells=1) for n in (2, 3)]


def test_exponents_and_convergence(cpu: wp.Device, silence: Progress, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beams, "SETTLING", 0.1)
    monkeypatch.setattr(beams, "FREE", 0.7)
    study = CoarseBeams(quick=True)
    rows = by_name(run(study, cpu, None, silence))
    for name, row in rows.items():
        if "exponent" in name:
            assert row.passed, row
    assert len([name for name in rows if "exponent" in name]) == 9
    assert rows["error-3-cells"].value < 0.6 * rows["error-2-cells"].value
    assert rows["methods-differ"].passed


class CoarseEnergy(Energy):
    def beam(self) -> Cantilever:
        return COARSE


def test_energy_is_kept(cpu: wp.Device, silence: Progress, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    watch = energy._watch_energy  # the short life of forward Euler need not be seen at every 20 µs
    monkeypatch.setattr(energy, "_watch_energy", lambda s, seconds, every: watch(s, seconds, max(every, 2e-4)))
    study = CoarseEnergy(quick=True)
    found = study.compute(cpu, None, silence)
    rows = by_name(study.measure(found))
    for name in INTEGRATORS:
        assert rows[f"drift-{name}"].value < 0.05
    lifetimes = [row.value for name, row in rows.items() if name.startswith("forward-euler")]
    assert len(lifetimes) == 3
    assert lifetimes[0] < lifetimes[1] < lifetimes[2] <= 100.0
    before = found.records["verlet"].total[found.records["verlet"].times < -0.3]
    assert np.ptp(before) > 10 * np.ptp(found.records["verlet"].after_release().total)
    pytest.importorskip("matplotlib")
    (path,) = study.plot(found, tmp_path)
    assert path.stat().st_size > 10_000


class CoarseModes(NaturalFrequency):
    def cases(self) -> list[Case]:
        return [
            Case("small", lambda: Cantilever(material("nylon"), 10.0, 1.0, 2, 1).body(), 9.81, 0.1),
            Case("large", lambda: Cantilever(self.soft, 10.0, 1.0, 2, 1).body(), 9.81, 0.5),
        ]

    soft = material("tpu").with_(youngs_modulus=30e6)


def test_matrices_predict_the_motion(cpu: wp.Device, silence: Progress) -> None:
    rows = by_name(run(CoarseModes(quick=True), cpu, None, silence))
    assert rows["large-sag"].value > 25.0
    for name, row in rows.items():
        if name.endswith("difference"):
            assert row.passed, row
            assert row.value < 0.02
    json.dumps([row.value for row in rows.values()])
