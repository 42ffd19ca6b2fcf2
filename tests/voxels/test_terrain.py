"""Terrains: those of the original by name, heights, and lines that are refused."""

import itertools

import numpy as np
import pytest

from annelid.core.errors import InvalidValue, UnknownName
from annelid.voxels import Terrain, terrain
from annelid.voxels.terrain import _java_gaussian, _java_random


def test_random_numbers_are_those_of_java() -> None:
    assert list(itertools.islice(_java_random(42), 2)) == [0.7275636800328681, 0.6832234717598454]
    assert next(_java_gaussian(42)) == pytest.approx(1.1419053154730547, abs=1e-15)


def test_flat() -> None:
    ground = terrain("flat")
    np.testing.assert_allclose(ground.height([10.0, 500.0, 1990.0]), 0.0)
    assert ground.height(5.0) == pytest.approx(50.0)  # the wall behind the start
    assert ground.start == 11.0


def test_pieces_have_their_left_end_and_a_normal_that_points_up() -> None:
    ground = terrain("hilly-1-5-0")
    pieces, along = ground.pieces(), np.diff(ground.points, axis=0)
    np.testing.assert_array_equal(pieces[:, :2], ground.points[:-1])
    np.testing.assert_allclose(np.linalg.norm(pieces[:, 2:], axis=1), 1.0)
    np.testing.assert_allclose((pieces[:, 2:] * along).sum(axis=1), 0.0, atol=1e-12)
    assert (pieces[:, 3] > 0.0).all()


def test_uneven_has_points_every_40_m_below_its_height() -> None:
    points = terrain("uneven5").points[1:-1]
    assert len(points) == 50
    np.testing.assert_allclose(np.diff(points[:, 0]), 1998.0 / 50)
    assert points[0, 1] == pytest.approx(5.0 * 0.7308781907032909)
    assert 0.0 <= points[:, 1].min() < points[:, 1].max() <= 5.0


def test_hilly_and_steppy() -> None:
    hills, steps = terrain("hilly-1-10-3").points[1:-1], terrain("steppy-1-10-3").points[1:-1]
    assert np.diff(hills[:, 0]).min() >= 1.0
    assert np.diff(hills[:, 0]).mean() == pytest.approx(10.0, rel=0.1)
    assert np.diff(hills[:, 1]).std() == pytest.approx(1.0, rel=0.2)
    np.testing.assert_allclose(np.diff(steps[:, 0])[1::2], 0.5)
    np.testing.assert_allclose(np.diff(steps[:, 1])[::2], 0.0)


@pytest.mark.parametrize(("name", "sign"), [("uphill-10", 1.0), ("downhill-10", -1.0)])
def test_slopes(name: str, sign: float) -> None:
    ground = terrain(name)
    rise = ground.height(1010.0) - ground.height(1000.0)
    assert rise == pytest.approx(sign * 10.0 * np.sin(np.radians(10.0)))


def test_height_goes_on_beyond_the_ends() -> None:
    ground = Terrain([[0.0, 0.0], [10.0, 1.0], [20.0, 0.0]])
    np.testing.assert_allclose(ground.height([-10.0, 5.0, 15.0, 30.0]), [-1.0, 0.5, 0.5, -1.0])


def test_buckets_cover_the_ground() -> None:
    ground = terrain("steppy-2-3-1")
    starts, tops = ground.buckets()
    xs = np.random.default_rng(0).uniform(ground.points[0, 0], ground.points[-1, 0], 2000)
    bucket = np.clip(((xs - ground.points[0, 0]) / ground.bucket).astype(int), 0, len(starts) - 1)
    assert np.all(ground.height(xs) <= tops[bucket] + 1e-9)
    assert np.all(ground.points[starts[bucket], 0] <= xs + 1e-9)


@pytest.mark.parametrize(
    "points",
    [[[0.0, 0.0]], [[0.0, 0.0], [0.0, 1.0]], [[0.0, 0.0], [2.0, 0.0], [1.0, 0.0]], [[0.0, np.nan], [1.0, 0.0]]],
)
def test_bad_lines(points: list[list[float]]) -> None:
    with pytest.raises(InvalidValue, match="terrain"):
        Terrain(points)


def test_backwards_is_said_so() -> None:
    with pytest.raises(InvalidValue, match="backwards: point 2"):
        Terrain([[0.0, 0.0], [2.0, 0.0], [1.0, 0.0]])


def test_unknown_name() -> None:
    with pytest.raises(UnknownName, match="flat"):
        terrain("flatt")
