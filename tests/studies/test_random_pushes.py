"""The study of trunks that push: drafts are drawn alike, and bad options are refused."""

from __future__ import annotations

import numpy as np
import pytest

from annelid.core.device import device
from annelid.core.errors import InvalidValue
from annelid.fem.contact.state import Touching
from annelid.studies.random_pushes import Draft, Pushed, RandomPushes


def test_drafts_are_drawn_alike_and_kinds_come_in_turn() -> None:
    drawn = [Draft.drawn(np.random.default_rng([0, number]), number) for number in range(3)]
    assert [draft.kind for draft in drawn] == ["box", "cylinder", "mesh"]
    assert drawn[1] == Draft.drawn(np.random.default_rng([0, 1]), 1)


def test_a_mesh_is_read_from_a_file() -> None:
    draft = Draft("mesh", size=0.03, mass=0.03, friction=0.4, heading=2.0, layers=8, modulus=300e3)
    robot = draft.robot(device("cpu"), 1)
    assert robot.touched is not None
    assert robot.touched.rigids[1].kind == "closed mesh"
    assert isinstance(robot.touch_state, Touching)
    assert not robot.contact_forces().any()


def test_it_measures_misses_and_touches() -> None:
    draft = Draft.drawn(np.random.default_rng(0), 0)
    touches = np.array([False, True, True, False])
    pushed = Pushed(draft, 289, np.array([1e-5, 2e-5, 1e-4, 3e-5]), touches, np.full(4, 0.5), 0.02)
    assert pushed.kept == pytest.approx(2 / 3)
    measured = {each.name: each.value for each in RandomPushes().measure([pushed])}
    assert measured["largest-distance"] == pytest.approx(0.1)
    assert "touched in 66.7 % of steps" in pushed.in_words()


def test_bad_options_are_refused() -> None:
    with pytest.raises(InvalidValue, match="trunks"):
        RandomPushes(trunks=0)
    with pytest.raises(InvalidValue, match="stride"):
        RandomPushes(stride=-1.0)
