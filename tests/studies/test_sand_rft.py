"""The study of plates in grains: plates in a tiny bed, and how a map is judged, fitted and drawn."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import warp as wp

from annelid.core.errors import BedTooSmall, InvalidValue
from annelid.core.progress import Progress
from annelid.shapes import ResistiveGround
from annelid.shapes.resistive.law import plane_stress, space_stress
from annelid.shapes.resistive.media import MEDIA, write_medium
from annelid.studies.sand_rft import Found, SandRft
from annelid.studies.support.intruders import Laboratory
from annelid.studies.support.stress_maps import StressMap

from .conftest import by_name

SEEDS = MEDIA["poppy-close"]


def seeds() -> Found:
    """What closely packed poppy seeds would give."""
    angles = SandRft().angles()
    stresses = np.stack(plane_stress(np.array(SEEDS.coefficients), *angles.T), axis=1)
    return Found(StressMap(angles, stresses), 0.62, 700.0, 1000, 0.01)


def test_plates_are_pushed_back_by_a_tiny_bed() -> None:
    laboratory = Laboratory(plate=2.0, room=1.0, below=0.5, deep=1.5, speed=0.1, harder=1.0, close=False)
    cpu = wp.get_device("cpu")
    settled = laboratory.settled(cpu, 1)
    assert 0.5 < settled.packing < 0.66
    down, up, ahead = laboratory.pull(settled, np.radians([[0.0, 90.0], [0.0, -90.0], [90.0, 0.0]]), cpu, 1)
    assert down.depths[-1] - down.depths[0] == pytest.approx(0.5 * laboratory.width, rel=0.05)
    assert up.depths[-1] < up.depths[0]
    assert down.per_depth[1] > 1e5 > -up.per_depth[1] > 0.0, "it is harder to push a plate down than to lift it"
    assert ahead.per_depth[0] > 1e4


def test_a_map_is_compared_with_the_published_one(tmp_path: Path) -> None:
    study, found = SandRft(), seeds()
    assert len(found.map.angles) == 6 * 13
    rows = by_name(study.measure(found))
    assert rows["fitted-correlation-against"].passed
    assert rows["fitted-correlation-upwards"].passed
    assert rows["fitted-correlation-against"].value == pytest.approx(rows["correlation-against"].value)
    assert rows["correlation-against"].reference == pytest.approx(0.857, abs=1e-3), "the law in space is no closer"
    assert rows["correlation-upwards"].reference == pytest.approx(0.926, abs=1e-3)
    assert rows["scale"].value == pytest.approx(0.45, abs=0.03)
    assert rows["flat-down-over-up"].value == pytest.approx(4.64 / 0.92)
    assert rows["upright-up-over-against"].value == pytest.approx(0.02 / 1.07)
    assert rows["tilted-against-over-up"].value == pytest.approx(1.281 / 3.266, rel=1e-3)
    turned = replace(found, map=StressMap(found.map.angles, found.map.stresses[:, ::-1]))
    assert by_name(study.measure(turned))["fitted-correlation-against"].passed is False
    spatial = replace(found, map=StressMap(found.map.angles, found.map.in_space))
    assert by_name(study.measure(spatial))["correlation-3d-against"].value == pytest.approx(1.0)
    (path,) = study.plot(found, tmp_path)
    assert path.stat().st_size > 1000


def test_coefficients_are_fitted_and_read_again(tmp_path: Path) -> None:
    medium, left = seeds().map.fitted("ours", 700.0)
    assert left < 1e-12
    angles = seeds().map.angles
    forward, _, up = space_stress(angles[:, 0], 0.0, angles[:, 1], (1.2, 0.8, 1.1))
    own, _ = StressMap(angles, 2e6 * np.stack([-forward, up], axis=1)).fitted("own", 700.0)
    assert own.resistance is not None
    assert np.multiply(own.parts, own.resistance) == pytest.approx([2.4e6, 1.6e6, 2.2e6])
    assert medium.coefficients == pytest.approx(SEEDS.coefficients, rel=1e-9)
    assert medium.resistance == pytest.approx(SEEDS.resistance, rel=0.3)
    write_medium(tmp_path / "ours.json", medium)
    assert ResistiveGround(tmp_path / "ours.json", law="2d").of == medium


def test_small_beds_are_warned_of_and_bad_options_refused() -> None:
    with pytest.warns(BedTooSmall, match="walls are 2 plate widths away, less than the 3 from which on"):
        Laboratory(room=2.0).warn_of_size()
    with pytest.warns(BedTooSmall, match="a plate is 4 grain diameters wide, less than the 10"):
        Laboratory(plate=4.0).warn_of_size()
    with pytest.raises(InvalidValue, match="--fit must name a file .json, not sand.toml"):
        SandRft(fit=Path("sand.toml"))
    with pytest.raises(InvalidValue, match="room of an experiment with plates must be above 0, not -1"):
        Laboratory(room=-1.0)


def test_a_file_that_cannot_be_written_is_refused_before_plates_are_pulled(tmp_path: Path) -> None:
    (tmp_path / "folder.json").mkdir()
    (tmp_path / "file").write_text("mine")
    for path, why in (
        (tmp_path / "folder.json", "is not a file that can be replaced"),
        (tmp_path / "file" / "a.json", "file is not a folder"),
    ):
        with pytest.raises(InvalidValue, match=why):
            SandRft(fit=path).compute(wp.get_device("cpu"), 1, Progress("plates", 1.0, quiet=True))
