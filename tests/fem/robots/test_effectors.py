"""Effectors: points, several points, orientations, and the targets that they accept."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from annelid import fem
from annelid.core.errors import InvalidValue, UnknownName
from annelid.fem.robots.effectors import EffectorRows

from .robots import LENGTH, trunk_mesh

SOLID = fem.Solid(trunk_mesh(), "ecoflex-00-30")
TRIANGLE = [(LENGTH, 0.0, 0.0), (LENGTH - 0.02, 0.005, 0.0), (LENGTH - 0.02, 0.0, 0.005)]


def test_points_are_found_and_follow() -> None:
    rows = EffectorRows(
        [fem.Point(name="a", at=(0.1, 0.001, 0.002)), fem.Points(name="b", at=[3, (0.05, 0, 0)])], SOLID
    )
    np.testing.assert_allclose(rows.rest, [[0.1, 0.001, 0.002], SOLID.nodes[3], [0.05, 0.0, 0.0]], atol=1e-12)
    turn = Rotation.from_rotvec([0.3, -0.2, 0.5]).as_matrix()
    np.testing.assert_allclose(rows.places(SOLID.nodes @ turn.T + 1.0), rows.rest @ turn.T + 1.0, atol=1e-12)


def test_an_orientation_does_not_feel_where_it_is() -> None:
    effector = fem.Orientation(name="o", at=TRIANGLE)
    rows = EffectorRows([effector], SOLID)
    turn = Rotation.from_rotvec([0.1, 0.4, -0.2])
    places = rows.places(SOLID.nodes @ turn.as_matrix().T + [1.0, 2.0, 3.0])
    for target in (turn.as_matrix(), turn.as_rotvec()):
        goals = rows.goals(target)
        np.testing.assert_allclose(places, goals, atol=1e-12)
    assert effector.angle(rows.rest, goals) == pytest.approx(turn.magnitude(), abs=1e-9)


def test_axes_that_do_not_count_do_not_count() -> None:
    rows = EffectorRows([fem.Point(name="a", at=(0.1, 0.0, 0.0), axes="xz")], SOLID)
    goals = rows.goals((0.1, 5.0, 0.003))
    assert rows.distances(rows.rest, goals)["a"] == pytest.approx(0.003)


@pytest.mark.parametrize(
    ("target", "words"),
    [((float("nan"), 0.0, 0.0), "three finite numbers"), ((1.0, 2.0), "three finite numbers"), ("up", "three finite")],
)
def test_bad_targets_are_refused(target, words: str) -> None:
    rows = EffectorRows([fem.Point(name="tip", at=(0.1, 0.0, 0.0))], SOLID)
    with pytest.raises(InvalidValue, match=f"target of tip must be {words}"):
        rows.goals(target)


def test_targets_must_belong_to_effectors() -> None:
    rows = EffectorRows([fem.Point(name="a", at=0), fem.Point(name="b", at=1)], SOLID)
    with pytest.raises(UnknownName, match="no effector named 'c'"):
        rows.goals({"a": (0, 0, 0), "b": (0, 0, 0), "c": (0, 0, 0)})
    with pytest.raises(InvalidValue, match="'b' has no target"):
        rows.goals({"a": (0, 0, 0)})
    with pytest.raises(InvalidValue, match="several effectors"):
        rows.goals((0, 0, 0))


def test_bad_effectors_are_refused() -> None:
    with pytest.raises(InvalidValue, match="on one line"):
        EffectorRows([fem.Orientation(name="o", at=[(0.01, 0, 0), (0.02, 0, 0), (0.03, 0, 0)])], SOLID)
    with pytest.raises(InvalidValue, match="needs three"):
        fem.Orientation(name="o", at=[0, 1])
    with pytest.raises(InvalidValue, match="axes of p"):
        fem.Point(name="p", at=0, axes="w")
    with pytest.raises(InvalidValue, match="one name"):
        EffectorRows([fem.Point(name="p", at=0), fem.Point(name="p", at=1)], SOLID)
    with pytest.raises(InvalidValue, match="no rotation"):
        EffectorRows([fem.Orientation(name="o", at=TRIANGLE)], SOLID).goals(2.0 * np.eye(3))
