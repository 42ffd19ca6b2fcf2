"""Squeezing at random: a few steps of each body, records that are gone on from, and the exact test of crossings."""

import json
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
import warp as wp

from annelid.core.errors import AnnelidError, FileFormatError, InvalidValue
from annelid.core.progress import Progress
from annelid.shapes import Box
from annelid.studies.squeeze import Squeeze, Squeezed
from annelid.studies.support.crossings import crossings, own_crossings

from .conftest import by_name


def test_nothing_inverts_or_crosses_in_a_few_steps() -> None:
    study = Squeeze(quick=True)
    found = study.compute(wp.get_device("cpu"), 1, Progress("squeeze", 1.0, quiet=True))
    assert [one.case for one in found] == ["jaws", "ball", "fingers", "curl"]
    assert not any(one.ended for one in found)
    rows = by_name(study.measure(found))
    assert rows["steps"].value == 12.0
    for name in ("steps-with-an-inverted-element", "steps-with-a-crossing", "steps-with-a-lost-number"):
        assert rows[name].value == 0.0


def test_it_goes_on_from_its_records(tmp_path: Path) -> None:
    quiet = Progress("squeeze", 1.0, quiet=True)
    first = Squeeze(steps=2, each=2, only=("ball",)).inside(tmp_path).compute(wp.get_device("cpu"), 1, quiet)
    study = Squeeze(steps=2, each=2, only=("ball",), resume=True).inside(tmp_path)
    assert study.compute(wp.get_device("cpu"), 1, quiet) == first
    elsewhere = {"seed": 0, "squeezes": [asdict(Squeezed("ball", number, steps=50)) for number in (0, 1000)]}
    (tmp_path / "squeezes_of_another.json").write_text(json.dumps(elsewhere))
    added = replace(study, steps=100).compute(wp.get_device("cpu"), 1, quiet)
    assert sorted((one.number, one.steps) for one in added) == [(0, 50), (1000, 50)]  # the same motion counts once
    with pytest.raises(InvalidValue, match="--seed"):
        replace(study, seed=1).compute(wp.get_device("cpu"), 1, quiet)
    (tmp_path / "squeezes.json").write_text('{"seed": 0, "squeezes": [{"case": 3}]}')
    with pytest.raises(FileFormatError, match="squeezes"):
        study.compute(wp.get_device("cpu"), 1, quiet)


@pytest.mark.parametrize("wrong", [{"steps": 0}, {"each": 0}, {"minutes": 0.0}, {"only": ("egg",)}])
def test_options_that_cannot_be(wrong: dict) -> None:
    with pytest.raises(AnnelidError):
        Squeeze(**wrong)


def test_crossings_are_told_from_touches_without_rounding() -> None:
    one, two = Box((1.0, 1.0, 1.0)).surface(), Box((0.4, 0.4, 0.4), center=(0.61, 0.02, 0.01)).surface()
    points, triangles = np.array(one.vertices), np.array(one.triangles)
    others, more = np.array(two.vertices), np.array(two.triangles)
    assert crossings(points, triangles, others, more) > 0
    assert crossings(points, triangles, others + np.array([0.1, 0.0, 0.0]), more) == 0
    ends = np.array(
        [[0.25, 0.25, -1.0], [0.25, 0.25, 0.0], [0.25, 5.0, -1.0]]
    )  # one corner in the plane of the triangle
    flat = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    corner = np.array([[0, 1, 2]])
    assert crossings(ends, corner, flat, corner) == 0
    ends[1, 2] = 1e-300
    assert crossings(ends, corner, flat, corner) == 2
    assert own_crossings(points, triangles) == 0
