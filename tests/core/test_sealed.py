"""Attributes that do not exist are refused with the nearest name, and one number is spread over an array."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from annelid import fem, grains, shapes, springs, voxels, voxels3d
from annelid.core.errors import InvalidValue, ReadOnly, UnknownAttribute


def _solid() -> fem.Solid:
    return fem.Solid(shapes.tet_beam(0.1, 0.02, 0.02, cells=(2, 1, 1)), "ecoflex-00-30").fix(lambda p: p[:, 0] < 1e-6)


def _robot() -> fem.Robot:
    return fem.Robot(_solid(), [fem.PointForce(name="pull", at=(0.1, 0.0, 0.0), direction=(0, 0, 1))], device="cpu")


BODIES: dict[str, Callable[[], Any]] = {
    "springs": lambda: springs.block((2, 2, 2), 0.01),
    "grains": lambda: grains.Bed([[0.0, 0.0, 0.1]], 0.01),
    "fem": _solid,
    "robot": _robot,
}

SIMULATIONS: dict[str, Callable[[], Any]] = {
    "springs": lambda: springs.simulation(BODIES["springs"](), obstacles=[shapes.Plane()], device="cpu"),
    "grains": lambda: grains.simulation(BODIES["grains"](), obstacles=[shapes.Plane()], device="cpu"),
    "fem": lambda: fem.simulation(_solid(), device="cpu"),
    "voxels": lambda: voxels.simulation(voxels.Robot(np.zeros((2, 2), int), (voxels.Voxel(),)), device="cpu"),
    "voxels3d": lambda: voxels3d.simulation(voxels3d.Robot(np.zeros((2, 1, 1), int)), device="cpu"),
}


@pytest.mark.parametrize("kind", BODIES)
def test_each_attribute_of_a_body_is_refused_when_it_is_misspelt(kind: str) -> None:
    body = BODIES[kind]()
    for name in [name for name in vars(body) if not name.startswith("_")]:
        wrong = name[:2] + name[3:] if len(name) > 4 else name + "s"
        with pytest.raises(UnknownAttribute, match=f"'{name}'"):
            setattr(body, wrong, 1.0)
        setattr(body, name, getattr(body, name))


@pytest.mark.parametrize("kind", SIMULATIONS)
@pytest.mark.parametrize("name", ["gravity", "friction", "dt", "controls", "parameters", "sensors", "step", "velocity"])
def test_a_simulation_refuses_what_would_have_no_effect(kind: str, name: str) -> None:
    simulation = SIMULATIONS[kind]()
    with pytest.raises((UnknownAttribute, ReadOnly), match=name):
        setattr(simulation, name, 1.0)
    for channels in (simulation.controls, simulation.parameters, simulation.sensors):
        with pytest.raises(UnknownAttribute, match=name):
            setattr(channels, name, 1.0)


def test_a_simulation_names_what_can_be_set_instead() -> None:
    simulation = SIMULATIONS["springs"]()
    with pytest.raises(AttributeError, match=r"option of springs.simulation.*parameters\['gravity'\] is its factor"):
        simulation.gravity = (0.0, 0.0, 0.0)
    with pytest.raises(AttributeError, match=r"parameters\['friction'\] is its factor on the friction"):
        simulation.friction = 0.3


@pytest.mark.parametrize("kind", BODIES)
def test_one_number_is_spread_over_an_array(kind: str) -> None:
    body = BODIES[kind]()
    for name, present in list(vars(body).items()):
        if isinstance(present, np.ndarray) and not name.startswith("_"):
            setattr(body, name, 1)
            given = getattr(body, name)
            assert given.shape == present.shape
            assert given.dtype == present.dtype
            assert (given == 1).all()
            with pytest.raises(InvalidValue, match=name):
                setattr(body, name, "five")


def test_a_body_changed_by_numbers_is_the_body_changed_by_arrays() -> None:
    one, other = BODIES["springs"](), BODIES["springs"]()
    one.stiffness, one.damping, one.masses = 5.0, 3, 0.2
    other.stiffness[:], other.damping[:], other.masses[:] = 5.0, 3.0, 0.2
    hashes = [springs.simulation(body, dt=1e-4, device="cpu").state_hash() for body in (one, other)]
    assert hashes[0] == hashes[1]
    one.damping = [1.0, 2.0]
    with pytest.raises(InvalidValue, match=r"damping has shape \[2\], expected \[28\]"):
        springs.simulation(one, device="cpu")


def test_the_efforts_of_a_robot_are_exerted_when_they_are_set() -> None:
    robot = _robot()
    robot.efforts = [0.5]
    np.testing.assert_array_equal(robot.efforts, [0.5])
    with pytest.raises(InvalidValue, match="efforts"):
        robot.efforts = [0.5, 0.5]


def test_what_a_class_takes_can_be_asked_for() -> None:
    assert list(inspect.signature(fem.Robot).parameters)[:3] == ["solid", "actuators", "effectors"]
    assert list(inspect.signature(springs.Body).parameters)[:3] == ["positions", "masses", "springs"]
    assert list(inspect.signature(grains.Bed).parameters)[:2] == ["positions", "radii"]


def test_a_class_of_the_user_keeps_the_attributes_that_it_begins_with() -> None:
    class Own(fem.Solid):
        def __init__(self) -> None:
            super().__init__(shapes.tet_beam(0.1, 0.02, 0.02, cells=(2, 1, 1)), "ecoflex-00-30")
            self.remark = ""

    own = Own()
    own.remark = "soft"
    with pytest.raises(UnknownAttribute, match="remark"):
        own.remarks = "soft"  # type: ignore[attr-defined]
