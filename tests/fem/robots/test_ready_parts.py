"""Ready parts do what their names say: wound tubes bend, lengthen, shorten and twist, pneu-nets bend, bellows open."""

from typing import Any

import numpy as np
import pytest

from annelid import fem, robots
from annelid.core.errors import InvalidValue, UnknownName


def moved(robot: fem.Robot, pressure: float) -> tuple[np.ndarray, float]:
    """How far the tip has gone from where no pressure has it [m], and how far the end has turned about x [rad]."""
    forward = fem.Forward(robot)
    forward.settle([0.0])
    hanging = robot.places()[0].copy()
    forward.settle([pressure])
    end = robot.solid.nodes[:, 0] > robot.solid.nodes[:, 0].max() - 1e-9
    rest, now = (nodes[end, 1:] - nodes[end, 1:].mean(axis=0) for nodes in (robot.solid.nodes, robot.positions.numpy()))
    turn = np.arctan2((rest[:, 0] * now[:, 1] - rest[:, 1] * now[:, 0]).sum(), (rest * now).sum())
    return robot.places()[0] - hanging, float(turn)


def tube(**options: Any) -> fem.Robot:
    return robots.fibre_actuator(**{"length": 0.06, "limited": False, "device": "cpu", "threads": 1, **options})


def test_a_wound_tube_lengthens_shortens_twists_or_bends_as_its_winding_says() -> None:
    lengthened, turn = moved(tube(), 20e3)
    assert lengthened[0] > 4e-3
    assert abs(turn) < 1e-3
    shortened, _ = moved(tube(angle=np.radians(30.0), starts=6), 20e3)
    assert shortened[0] < -5e-4
    _, twisted = moved(tube(angle=np.radians(70.0), double=False), 10e3)
    assert abs(twisted) > 0.1
    bending = tube(limited=True)
    bent, _ = moved(bending, 20e3)
    assert bent[2] < -5e-3
    limit = bending.solid.threads[1]
    assert limit.thread.name == "limit"
    assert abs(limit.strains(bending.positions.numpy())).max() < 0.02


def test_a_braided_muscle_with_stiff_ends_shortens_by_a_quarter() -> None:
    muscle = robots.fibre_actuator(
        angle=np.radians(30.0), starts=16, limited=False, silicone="dragon-skin-10", stiffness=5000.0, ends="tpu",
        pressure=3e5, device="cpu", threads=1,
    )  # fmt: skip
    length = muscle.places()[0][0]
    forward = fem.Forward(muscle)
    for pressure, least, most in (
        (10e3, 0.05, 0.2),
        (300e3, 0.22, 1.0 - np.cos(np.arctan(np.sqrt(2.0))) / np.cos(np.pi / 6)),
    ):
        forward.settle([pressure])
        assert least < 1.0 - muscle.places()[0][0] / length < most


def test_a_pneu_net_bends_towards_its_sheet() -> None:
    robot = robots.pneunet(length=0.03, chambers=2, device="cpu", threads=1)
    bent, turn = moved(robot, 10e3)
    assert bent[2] < -1.5e-3
    assert abs(turn) < 1e-6


def test_a_bellows_lengthens_under_pressure_and_shortens_under_suction() -> None:
    robot = robots.bellows(folds=2, length=0.03, device="cpu", threads=1)
    assert moved(robot, 5e3)[0][0] > 5e-4
    assert moved(robot, -3e3)[0][0] < -3e-4


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"depth": 0.014}, "leave no cavity in a bellows"),
        ({"layers": 3}, "layers = 3 cannot be used"),
        ({"folds": 0}, "folds = 0"),
    ],
)
def test_a_bellows_without_room_is_refused(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InvalidValue, match=sentence):
        robots.bellows_mesh(**options)


@pytest.mark.parametrize(
    ("make", "options", "sentence"),
    [
        (robots.fibre_actuator, {"length": np.nan}, "length = nan"),
        (robots.fibre_actuator, {"length": "long"}, "length = 'long'"),
        (robots.pneunet, {"sheet": 5.0}, r"sheet = 5\.0 .* give its modulus"),
        (robots.pneunet, {"sheet": (1e9,)}, "give its modulus"),
        (robots.bellows, {"resolution": 1000}, "resolution = 1000 cannot be used; give a whole number from 1 to 50"),
    ],
)
def test_parameters_that_no_part_has_are_refused_before_it_is_built(
    make: Any, options: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(InvalidValue, match=sentence):
        make(device="cpu", **options)
    with pytest.raises(UnknownName, match="named 'lenght'. Did you mean 'length'"):
        make(lenght=0.1)


@pytest.mark.parametrize(
    "make",
    [
        robots.fibre_actuator,
        robots.pneunet,
        robots.bellows,
        robots.bellows_mesh,
        robots.finger_mesh,
        robots.pendulum_mesh,
    ],
)
def test_parts_are_refined_by_one_name(make: Any) -> None:
    with pytest.raises(UnknownName, match="named 'cells'.*resolution"):
        make(cells=4)


def test_a_part_is_wound_afterwards() -> None:
    part = robots.bellows(folds=2, length=0.03, device="cpu", threads=1)
    limit = fem.Thread(np.array([[0.0, 0.0, -8e-3], [2e-3, 0.0, -8e-3]]), stiffness=50.0)
    wound = part.reinforced(limit)
    assert repr(wound).endswith("actuators air, effectors tip)")
    assert len(wound.solid.threads) == 1
    assert not part.solid.threads
    part.solid.reinforce(limit)
    with pytest.raises(InvalidValue, match=r"take robot.reinforced"):
        fem.Forward(part)


def test_control_finds_beyond_a_limit_from_which_small_changes_lead_away() -> None:
    """While threads are slack, pressure lifts the tip that more of it lowers."""
    robot = tube(limited=True, length=0.1)
    forward = fem.Forward(robot)
    forward.settle([15e3])
    goal = robot.places()[0].copy()
    forward.settle([0.0])
    control = fem.Inverse(robot)
    assert control.step(goal).active
    assert control.reach(goal).reached
    assert robot.efforts[0] == pytest.approx(15e3, rel=0.01)
