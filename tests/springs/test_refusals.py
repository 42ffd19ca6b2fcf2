"""What cannot be meant is refused in one sentence with the value and the remedy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from annelid import springs
from annelid.core.errors import AnnelidError
from annelid.shapes import Box

NO: Any = "no"
THREE: Any = 3
PAIR: Any = np.zeros(2)


def simulated(**options: Any) -> Any:
    return springs.simulation(springs.block((2, 2, 2)), device="cpu", threads=1, **options)


def hinged(**options: Any) -> Any:
    low, high = springs.block((2, 2, 2)).group("low", None), springs.block((2, 2, 2)).moved((0.0, 0.0, 0.3))
    body = springs.join([low, high.group("high", None)])
    point: dict[str, Any] = {"point": (0.0, 0.0, 0.2), "direction": (1.0, 0.0, 0.0)}
    return springs.hinge(**{"body": body, "name": "knee", "rotor": "low", "stator": "high", **point, **options})


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (lambda: simulated(integrator=["euler"]), r"integrator of a simulation of springs must be one of euler"),
        (lambda: simulated(precision=["float32"]), r"precision .* must be one of float32, float64, not "),
        (lambda: simulated(drag="a lot"), "drag .* must be a finite number of 0 kg/m or more, not 'a lot'"),
        (
            lambda: simulated(velocity_damping=None),
            "velocity_damping .* must be a finite number of 0 .*, not None",
        ),
        (lambda: simulated(prepare=3), "prepare = 3 cannot be used; give a tuple of damping and breaking"),
        (lambda: springs.lattice(Box((0.1, 0.1, 0.1)), 0.05, "pdms", breaking=NO), "breaking of a lattice .* not 'no'"),
        (lambda: springs.lattice(Box((0.1, 0.1, 0.1)), 0.05, "pdms", repair=NO), "repair of a lattice of springs must"),
        (lambda: springs.lattice(Box((0.1, 0.1, 0.1)), 0.05, "pdms", mass=NO), "mass = 'no' cannot be used"),
        (lambda: springs.quasi_lattice(THREE, 0.05, "pdms"), "the shape must be a shape, .*, not int: 3"),
        (lambda: springs.quasi_lattice(Box((0.1, 0.1, 0.1)), 0.05, "pdms", reach=NO), "reach must be between 1.8 and"),
        (lambda: springs.truss(np.eye(3), NO, "pdms", 0.01), "bars of a truss must be whole numbers, not 'no'"),
        (lambda: springs.truss(np.eye(3), [[0, 1]], "pdms", 0.01, breaking=NO), "breaking must be True or False"),  # type: ignore[arg-type]
        (lambda: springs.block((2, 2, 2), stiffness=NO), "the stiffness of a block must be given as numbers"),
        (lambda: springs.block((2, 2, 2), stiffness=PAIR), "one for each of its 28 springs, not an array"),
        (lambda: simulated(dashpots=PAIR), "dashpots .* must be one of constant, growing, None, not "),
        (lambda: simulated(worlds=True), "worlds of a simulation of .* must be a whole number of 1 or more"),
        (lambda: springs.lower(0.1, PAIR), "the axis of a condition must be 'x', 'y' or 'z', not array"),
        (lambda: springs.join(THREE), "bodies to join must be a list of springs.Body, not int: 3"),
        (lambda: springs.bar_stiffness(NO, 1.0, 1.0), "youngs_modulus of a bar must be positive, not 'no'"),
        (lambda: springs.lattice_stiffness(1.0, NO), "pitch = 'no' cannot be used"),
        (lambda: springs.equilibrium(THREE), "the body must be a springs.Body, not int: 3"),
        (lambda: springs.equilibrium(springs.block((2, 2, 2)), gravity=NO), "gravity = 'no' cannot be used"),
        (lambda: springs.equilibrium(springs.block((2, 2, 2)), limit=NO), "limit = 'no' cannot be used"),
        (lambda: springs.modes(THREE), "the body must be a springs.Body, not int: 3"),
        (lambda: springs.modes(springs.block((2, 2, 2)), NO), "count = 'no' modes cannot be had"),
        (lambda: springs.contact_radii(THREE), "the body must be a springs.Body, not int: 3"),
        (lambda: springs.split_moduli(THREE), "the material must be a material, .*, not int: 3"),
        (lambda: springs.swing(NO, 1.0), "amplitude = 'no' of a signal cannot be used"),
        (lambda: springs.Collide(THREE, "ground"), "the first group of a collision must be a word, not 3"),
        (lambda: springs.Motor(THREE, torque=1.0), "the hinge of a motor must be a word, not 3"),
        (lambda: springs.Motor("knee", torque=NO), "the torque of the motor of hinge 'knee' must be given as numbers"),
        (lambda: springs.Motor("knee", speed=1.0, limit=NO), "the limit of the motor of hinge 'knee' must be positive"),
        (lambda: hinged(body=3), "the body must be a springs.Body, not int: 3"),
        (lambda: hinged(name=["knee"]), "the name of a hinge must be a word"),
        (lambda: hinged(stator=[]), "the stator of a hinge has no masses"),
        (lambda: hinged(point="here"), "the point of a hinge must be given as numbers, not 'here'"),
        (lambda: hinged(links="some"), "the links of a hinge must be a whole number of 3 or more, not 'some'"),
        (lambda: springs.block((2, 2, 2)).near(NO), "the radius around a mass must be 0 m or more, not 'no'"),
        (lambda: springs.block((2, 2, 2)).fix([[0], [1, 2]]), "choose by a mask or by whole numbers"),  # type: ignore[arg-type]
        (lambda: springs.block((2, 2, 2)).linked([[0, 7]], stiffness=NO), "stiffness must be given as numbers"),  # type: ignore[arg-type]
    ],
)
def test_refused(wrong: Callable[[], Any], sentence: str) -> None:
    with pytest.raises(AnnelidError, match=sentence):
        wrong()


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (lambda edit: edit.add_masses("here", 1.0), "positions of new masses must be given as numbers, not 'here'"),
        (
            lambda edit: edit.add_masses([[0, 0, 1]], 1.0, fixed="no"),
            "fixed of new masses must be True or False, or one",
        ),
        (lambda edit: edit.add_masses([[0, 0, 1]], 1.0, fixed=[True, False]), "fixed has shape .*, expected one value"),
        (lambda edit: edit.change_masses([0], fixed="no"), "fixed of masses must be True or False, .* not 'no'"),
        (lambda edit: edit.change_masses([0], fixed=3), "fixed of masses must be True or False, .* not 3"),
        (lambda edit: edit.remove_masses([0], with_springs="no"), "with_springs must be True or False, not 'no'"),
        (lambda edit: edit.remove_springs([[0], [1, 2]]), "choose a spring by its handle, .*, not by"),
        (lambda edit: edit.add_springs([0], [7], stiffness="no"), "stiffness must be given as numbers, not 'no'"),
    ],
)
def test_edits(wrong: Callable[[Any], Any], sentence: str) -> None:
    with pytest.raises(AnnelidError, match=sentence), simulated().edit() as edit:
        wrong(edit)


def test_masses_are_fixed_by_truth_values() -> None:
    body = springs.Body(np.eye(3), 1.0, [[0, 1]], 1.0, 1.0, fixed=[1, 0, 0])
    assert body.fixed.tolist() == [True, False, False]
    with pytest.raises(AnnelidError, match="fixed must be True or False, or one for each, not 'no'"):
        springs.Body(np.eye(3), 1.0, [[0, 1]], 1.0, 1.0, fixed="no")
