"""Steps whose friction goes round in circles are solved on the nodes that touch, to the bit from any saved state."""

from pathlib import Path

import numpy as np
import pytest

from annelid import fem
from annelid.core.state import state_hash
from annelid.fem.contact.newton import TouchingNewton
from annelid.fem.contact.second_newton import SecondNewton
from annelid.studies.support.squeezes import CASES

FIRST = 11  # of the steps with the ball that iterations of all nodes do not settle


@pytest.mark.filterwarnings("ignore::annelid.fem.contact.start.CoarseForContact")
def test_what_goes_round_in_circles_is_settled_on_few_nodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pressed, alone = (CASES["ball"](np.random.default_rng([0, 1, 0]), 1) for _ in range(2))
    for simulation in (pressed, alone):
        simulation.solver.newton.settings = fem.Settings(1e-6, 30)  # many more iterations would settle them too
    pressed.step(FIRST)
    pressed.save(tmp_path / "state")
    alone.load(tmp_path / "state")
    pressed.step(2)
    alone.step(2)
    assert int(pressed.state.unsettled.numpy()[0]) == 0
    assert state_hash(pressed.state) == state_hash(alone.state)
    places = pressed.positions()
    alone.load(tmp_path / "state")
    monkeypatch.setattr(SecondNewton, "settle", TouchingNewton.settle)
    alone.step(2)
    assert int(alone.state.unsettled.numpy()[0]) == 2
    np.testing.assert_allclose(alone.positions(), places, atol=5e-4)
