"""The co-design study in a form that takes a second, and that it goes on where it was left."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import warp as wp

from annelid.core.errors import FileFormatError, InvalidValue
from annelid.core.progress import Progress
from annelid.studies.codesign import Codesign, Found
from annelid.studies.support.body_search import Evolution, fixed_lights
from annelid.studies.support.light_seeking import rate_at
from annelid.studies.support.seeker_film import moments

from .conftest import by_name

SMALL = Codesign(
    batches=2, bodies=3, steps=10, every=5, hidden=(4,), waves=2, population=3, generations=2, precision="float64"
)


def test_a_brain_is_learnt_and_bodies_evolve(cpu: wp.Device, silence: Progress, tmp_path: Path) -> None:
    found = SMALL.inside(tmp_path).compute(cpu, 1, silence)
    assert len(found.pretraining.losses) == 2
    assert found.evolution is not None
    best = np.array(found.evolution.course)[:, 0]
    assert len(best) == 3
    assert (np.diff(best) <= 0.0).all()
    rows = by_name(SMALL.measure(found))
    assert rows["network-loss"].reference == found.wave <= 1.0
    assert rows["evolved-loss"].passed is not None
    short = Codesign(**{**vars(SMALL), "quick": True})
    assert [path.name for path in short.plot(found, tmp_path) if path.is_file()] == ["codesign.png"]
    best, light = found.evolution.grids[0], fixed_lights()[0]
    shown = list(moments(SMALL.task(cpu, 1), found.pretraining.weights, best, light))
    assert len(shown) == 1  # of a walk shorter than the time between two frames
    low, high = shown[0].bounds()
    np.testing.assert_allclose(
        [low[2], high[0]], [0.0, light[0] + 0.05], atol=0.02
    )  # on the floor, and a ball as light
    assert -0.5 < low[0] < 0.0
    again = Codesign(**{**vars(SMALL), "resume": True, "folder": tmp_path}).compute(cpu, 1, silence)
    assert again.pretraining.losses == found.pretraining.losses
    assert again.evolution is not None
    assert again.evolution.course == found.evolution.course


def test_pretraining_goes_on_to_the_bit(cpu: wp.Device, silence: Progress, tmp_path: Path) -> None:
    def learnt(batches: int, resume: bool, folder: Path) -> Found:
        study = Codesign(**{**vars(SMALL), "batches": batches, "resume": resume, "folder": folder})
        return study.compute(cpu, 1, silence)

    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    learnt(1, False, tmp_path / "two")
    (tmp_path / "two" / "evolution.npz").unlink()  # of another network
    went_on, whole = learnt(2, True, tmp_path / "two"), learnt(2, False, tmp_path / "one")
    np.testing.assert_array_equal(went_on.pretraining.weights, whole.pretraining.weights)
    with pytest.raises(FileFormatError, match="belongs to other options"):
        Codesign(**{**vars(SMALL), "seed": 1, "resume": True, "folder": tmp_path / "one"}).compute(cpu, 1, silence)
    with pytest.raises(FileFormatError, match="belongs to other options"):
        Evolution.load(tmp_path / "one" / "evolution.npz", {})


def test_rates_fall_and_begin_anew() -> None:
    rates = [rate_at(batch, 3e-3) for batch in range(70)]
    assert rates[0] == pytest.approx(3e-3)
    assert rates[10] == pytest.approx(0.65 * 3e-3)
    assert rates[30] == pytest.approx(0.65**2 * 3e-3)
    assert all(later < before for before, later in zip(rates[10:29], rates[11:30], strict=True))
    assert min(rates) > 0.0


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"batches": 0}, "batches of codesign must be .* 1 or more"),
        ({"steps": 7}, "multiple of every"),
        ({"rate": 0.0}, "rate of codesign must be"),
        ({"hidden": ()}, "hidden of codesign must be one or more numbers"),
        ({"seed": -1}, "seed of codesign must be .* 0 or more"),
        ({"minutes": -1.0}, "minutes of codesign must be a finite number above 0 or None"),
        ({"quick": True, "resume": True}, "keeps nothing that --resume"),
    ],
)
def test_bad_options_are_refused(given: dict[str, int], message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        Codesign(**given)
