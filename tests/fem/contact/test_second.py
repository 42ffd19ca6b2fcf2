"""Steps whose friction goes round in circles are solved on the nodes that touch, to the bit from any saved state."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from annelid import Simulation, fem
from annelid.core.state import state_hash
from annelid.fem.contact import reduced, second_newton
from annelid.fem.contact.newton import TouchingNewton
from annelid.fem.contact.second_newton import SecondNewton
from annelid.fem.newton import Attempt
from annelid.shapes import Rigid, Sphere, Surface, ground, tet_beam
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


def resting_on_a_post() -> Simulation[Any]:
    """A beam that falls onto a post and rubs along it while its held end is drawn back."""
    beam = fem.Solid(tet_beam(0.08, 0.02, 0.02, cells=(5, 2, 2)), "ecoflex-00-30/neo-hooke")
    beam.fix(lambda p: p[:, 0] < 1e-9)
    back = fem.Slide(name="back", where=lambda p: p[:, 0] < 1e-9, direction=(-1, 0, 0), travel=(0.0, 0.02))
    post = Rigid(Sphere(0.01), Surface(friction=0.5), position=(0.06, 0.0, -0.022))
    made = fem.simulation(beam, actuators=[back], obstacles=[post], dt=0.01, velocity_damping=5.0, device="cpu")
    made.controls.command({"back": 0.01}, ramp=0.15)
    return made


def counted(newton: SecondNewton, monkeypatch: pytest.MonkeyPatch) -> list[Attempt]:
    """Attempts that it makes from now on."""
    attempt = newton._attempt
    made: list[Attempt] = []

    def noted(*arguments: Any, **options: Any) -> Attempt:
        made.append(attempt(*arguments, **options))
        return made[-1]

    monkeypatch.setattr(newton, "_attempt", noted)
    return made


@pytest.mark.filterwarnings("ignore::annelid.fem.contact.start.CoarseForContact")
def test_large_solids_begin_on_few_nodes_and_take_fewer_iterations(monkeypatch: pytest.MonkeyPatch) -> None:
    places, counts = [], []
    for least in (0, 10**6):
        monkeypatch.setattr(second_newton, "LARGE", least)
        simulation = resting_on_a_post()
        tried = counted(simulation.solver.newton, monkeypatch)
        simulation.step(20)
        assert int(simulation.state.unsettled.numpy()[0]) == 0
        assert np.abs(simulation.state.touch.forces.numpy()).max() > 0.0
        counts.append(sum(each.iterations for each in tried))
        places.append(simulation.positions())
    assert counts[0] < 0.7 * counts[1]
    np.testing.assert_allclose(places[0], places[1], atol=1e-6)


@pytest.mark.filterwarnings("ignore::annelid.fem.contact.start.CoarseForContact")
def test_a_body_at_rest_is_known_to_rest_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(second_newton, "LARGE", 0)
    beam = fem.Solid(tet_beam(0.06, 0.02, 0.02, cells=(3, 1, 1)), "ecoflex-00-30").fix(lambda p: p[:, 0] < 1e-9)
    ball = Rigid(Sphere(0.01), motion="free", mass=0.02, position=(0.03, 0.0, -0.0395))
    simulation = fem.simulation(beam, obstacles=[ground(0.5, height=-0.05), ball], dt=0.01, device="cpu")
    simulation.step(30)
    look, looks = reduced._Problem._look, []

    def noted(self: reduced._Problem, *arguments: Any) -> Any:
        looks.append(self)
        return look(self, *arguments)

    monkeypatch.setattr(reduced._Problem, "_look", noted)
    simulation.step(1)
    assert 0 < len(looks) < 10
