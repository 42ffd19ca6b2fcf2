"""What cannot be meant is refused in one sentence with the value and the remedy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from annelid import grains
from annelid.core.errors import AnnelidError
from annelid.grains.filling import fill, jittered_lattice, pour
from annelid.robots import Sandbox
from annelid.shapes import Box, Medium, Plane, Rigid, Sphere

BED = grains.Bed([[0.0, 0.0, 0.1], [0.0, 0.0, 0.2]], 0.01)


def simulated(obstacles: Any = (), **options: Any) -> Any:
    return grains.simulation(grains.Bed([[0.0, 0.0, 0.1]], 0.01), obstacles=obstacles, device="cpu", **options)


def reserved(places: Any) -> None:
    simulation = simulated()
    simulation.solver.reserve(simulation.state, places, 8)


def measured(**options: Any) -> float:
    return grains.packing_fraction([[0, 0, 0]], 0.01, Box((0.1, 0.1, 0.1)), **options)


def commanded(**options: Any) -> None:
    plate = Rigid(Sphere(0.01), motion="driven", position=(0.0, 0.0, 0.3), name="plate")
    given = {"name": "lift", "body": "plate", "axis": "z", "low": -1.0, "high": 1.0, **options}
    simulated([plate], controls=[grains.velocity_control(**given)])


def driven(path: Any) -> Rigid:
    return Rigid(Sphere(0.01), motion=path)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (lambda: simulated(gravty=(0, 0, -1)), "named 'gravty'. Did you mean 'gravity'?"),
        (lambda: simulated(gravity=-9.81), "gravity of a simulation of grains must be three finite numbers, not -9.81"),
        (lambda: simulated(dt="short"), "must be a finite number above 0 s or 'auto', not 'short'"),
        (lambda: simulated(Plane()), "obstacles .* must be a list, such as .one., not Plane"),
        (lambda: simulated([Plane(), "wall"]), "obstacle 1 is a str: give a Rigid"),
        (lambda: grains.Grain(friction="a lot"), "friction of a grain must be a number of 0 or more, not 'a lot'"),  # type: ignore[arg-type]
        (lambda: grains.Grain(density="heavy"), "density of a grain must be a number above 0, not 'heavy'"),  # type: ignore[arg-type]
        (lambda: grains.Bed("here", 0.01), "positions must be an array of numbers, not 'here'"),
        (lambda: grains.Bed([[0, 0, 0]], 0.01, (grains.SAND, grains.GLASS)), "2 materials needs kinds"),
        (lambda: grains.Bed([[0, 0, 0]], 0.01, 3.5), "materials must be one grains.Grain or several, not 3.5"),  # type: ignore[arg-type]
        (lambda: fill(Box((0.1, 0.1, 0.1)), 0.01, 0.3, seed=-1), "seed = -1 cannot be used"),
        (lambda: fill("here", 0.01), "the region must be a shape, .* not str: 'here'"),  # type: ignore[arg-type]
        (lambda: fill(Box((0.1, 0.1, 0.1)), (1.0, 2.0, 3.0)), "radius = .* give one, or two ends of a range"),  # type: ignore[arg-type]
        (lambda: pour(Box((0.1, 0.1, 0.1)), 3, 0.01, height=float("nan")), "height = nan cannot be used"),
        (lambda: pour(Box((0.1, 0.1, 0.1)), 3, 0.01, jitter="some"), "jitter = 'some' cannot be used"),  # type: ignore[arg-type]
        (lambda: jittered_lattice((2, 2), 0.1), "counts = \\(2, 2\\) cannot be used; give three numbers"),  # type: ignore[arg-type]
        (lambda: grains.push_apart([[0, 0, 0]], 0.01, rounds=0), "rounds = 0 cannot be used"),
        (lambda: grains.push_apart([[0, 0, 0]], 0.01, bodies=3), "bodies to leave must be a list of shapes"),  # type: ignore[arg-type]
        (lambda: grains.push_apart([[0, 0, 0]], 0.01, bodies=["box"]), "a shape or a function of points, not 'box'"),  # type: ignore[list-item]
        (lambda: grains.push_apart([[0, 0, 0]], 0.01, room=3), "the room must be a shape or None, not int: 3"),  # type: ignore[arg-type]
        (lambda: grains.packing_fraction([[0, 0, 0]], 0.01, 3), "the region must be a shape, .*, not int: 3"),  # type: ignore[arg-type]
        (lambda: measured(margin="wide"), "margin = 'wide' cannot be used; give a finite number of 0 or more"),
        (lambda: measured(top="lid"), "top = 'lid' cannot be used; give a height"),
        (lambda: grains.overlaps([[0, 0, 0]], 0.01, period=3), "period = 3 cannot be used; give three finite numbers"),
        (lambda: grains.overlaps([[0, 0, 0]], 0.01, period=(-1, 0, 0)), "give three lengths of 0 or more"),
        (lambda: grains.overlaps([[0, 0, 0]], 0.01, worlds="first"), "worlds of spheres must be whole numbers"),
        (lambda: grains.overlaps([[0, 0, 0]], 0.01, worlds=[0, 1]), "worlds must be one number or one for each of 1"),
        (lambda: fill(Box((0.1, 0.1, 0.1)), 0.01, 0.3, steps="many"), "steps = 'many' cannot be used"),  # type: ignore[arg-type]
        (lambda: simulated(softness=None), "softness .* must be above 0 and at most 10, not None"),
        (lambda: simulated(iterations=True), "must be a whole number between 1 and 1000 or None, not True"),
        (lambda: simulated(converge="no"), "converge .* must be True, False or 'auto', not 'no'"),
        (lambda: simulated(world_of=[10**9]), "world_of names world 1000000000, and 1 grains and bodies"),
        (lambda: simulated(worlds=True), "worlds of a simulation of .* must be a whole number of 1 or more, not True"),
        (lambda: commanded(name=["lift"]), "the name of a control must be a word"),
        (lambda: commanded(low="far"), "needs finite numbers low ≤ rest ≤ high"),
        (
            lambda: grains.Model(grains.Bed([[0, 0, 0]], 0.01), world="flat"),
            "the world must be a grains.World, not str",
        ),  # type: ignore[arg-type]
        (lambda: Rigid(Sphere(0.1), rotation="up"), "a quaternion of four numbers, not 'up'"),  # type: ignore[arg-type]
        (lambda: Rigid(Sphere(0.1), mass="heavy"), "mass of a rigid body must be a number above 0, not 'heavy'"),  # type: ignore[arg-type]
        (lambda: Rigid(Sphere(0.1), world=-1), "world of a rigid body must be a whole number of 0 or more, not -1"),
        (
            lambda: Sandbox(length="long", width=1.0, depth=1.0, radius=0.1),
            "length of a sandbox must be a finite number above 0 m, not",
        ),  # type: ignore[arg-type]
        (lambda: Medium(name="mud", coefficients=3.0), "coefficients of a medium must be 9 numbers"),  # type: ignore[arg-type]
        (lambda: Medium(name="mud", parts=None), "parts of a medium must be three factors"),  # type: ignore[arg-type]
        (lambda: simulated().parameters.randomise(["gravity"]), "distributions must be a table such as"),  # type: ignore[arg-type]
        (lambda: reserved(None), "places = None cannot be used; give a whole number"),
        (lambda: BED.moved([1.0, 2.0]), "the shift of a bed = \\[1.0, 2.0\\] cannot be used"),
        (lambda: BED.moved("up"), "the shift of a bed = 'up' cannot be used"),
        (lambda: BED.where("all"), "must be a mask of 2 truth values or indices below 2, not 'all'"),
        (lambda: BED.where([True, False, True]), "a mask of 2 truth values"),
        (lambda: BED.where([2]), "indices below 2, not '\\[2\\]'"),
        (lambda: BED.repeated(0), "count of copies of a bed = 0 cannot be used; give a whole number from 1"),
        (lambda: BED + 1, "what is added to a bed must be a grains.Bed, not int: 1"),
        (lambda: BED.copy(velocites=np.zeros((2, 3))), "named 'velocites'. Did you mean 'velocities'?"),
        (lambda: grains.Bed([[0, 0, 10**400]], 0.01), "positions must be an array of numbers"),
        (lambda: grains.height_map((0, 0), (1, 1), np.array("few")), "the cells of a height map are two whole numbers"),
        (lambda: Rigid(Sphere(0.1), color=np.array(1.0)), "color of a rigid body must be three numbers"),
        (lambda: driven(lambda times: np.zeros(3)), "positions of shape \\[k, 3\\] and quaternions"),
        (lambda: driven(lambda times: (np.zeros((1, 2)), np.ones((1, 4)))), "not \\[1, 2\\] and \\[1, 4\\] for 1"),
        (lambda: driven(lambda times: (np.zeros((1, 3)), np.zeros((1, 4)))), "a quaternion of 0"),
    ],
)
def test_refused(wrong: Callable[[], Any], sentence: str) -> None:
    with pytest.raises(AnnelidError, match=sentence):
        wrong()
