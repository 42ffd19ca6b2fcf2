"""Clones, copies and pickles of simulations go on to the bit and share nothing; robots, bodies and states copy, too."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from typing import Any

import numpy as np
import pytest
import warp as wp

from annelid import Simulation, control, coupling, fem, grains, robots, shapes, springs, voxels, voxels3d
from annelid.core import distributions
from annelid.core.errors import AnnelidError, LeftBehind
from annelid.core.snapshot import Spheres
from annelid.core.state import state_hash
from annelid.shapes.resistive import sinking

pytestmark = pytest.mark.filterwarnings("ignore")
GROUND = shapes.ground(friction=0.6)
CPU: dict[str, Any] = {"device": "cpu"}


def body() -> springs.Body:
    made = springs.block((3, 3, 3), 0.02, mass=1e-3, stiffness=50.0, damping=0.01).control("leg", np.arange(10, 14))
    return made.actuate(springs.expand_contract(0.1, 2.0), np.arange(4))


def bed() -> grains.Bed:
    return grains.Bed(grains.jittered_lattice((4, 4, 2), 0.021, corner=(0.0, 0.0, 0.02)), 0.01)


def low_bed() -> grains.Bed:
    return grains.Bed(grains.jittered_lattice((5, 3, 1), 0.021, corner=(-0.02, -0.03, -0.05)), 0.01)


def finger() -> fem.Solid:
    solid = fem.Solid(shapes.tet_beam(0.06, 0.02, 0.02, cells=(3, 1, 1)), "ecoflex-00-30")
    return solid.fix(lambda p: p[:, 0] < 1e-9)


def cable() -> fem.Cable:
    return fem.Cable(name="cable", through=[15, 11, 3], tension=(0.0, 1.0))


def robot() -> fem.Robot:
    return fem.Robot(finger(), [cable()], [fem.Point(name="tip", at=12)], **CPU)


def pulling(time: float) -> dict[str, float]:
    return {"cable": 0.5 * time}


def reaching(time: float) -> dict[str, tuple[float, float, float]]:
    return {"tip": (0.06, -0.01, -0.01 - 0.02 * time)}


MAKERS: dict[str, Callable[[], Simulation[Any]]] = {
    "springs": lambda: springs.simulation(body(), obstacles=[GROUND], **CPU),
    "springs in worlds": lambda: springs.simulation(body(), obstacles=[GROUND], worlds=2, **CPU),
    "grains": lambda: grains.simulation(bed(), obstacles=[GROUND], **CPU),
    "voxels": lambda: voxels.simulation([voxels.biped(4)], obstacles=[voxels.terrain("flat")], **CPU),
    "voxels3d": lambda: voxels3d.simulation(
        voxels3d.Robot(np.zeros((3, 2, 2), int), amplitude=5.0, frequency=4.0), obstacles=[GROUND], **CPU
    ),
    "solids": lambda: fem.simulation(finger(), actuators=[cable()], **CPU),
    "solids that touch": lambda: fem.simulation(
        finger(), obstacles=[shapes.Rigid(shapes.Sphere(0.01), position=(0.05, 0.0, -0.022))], **CPU
    ),
    "solids in worlds": lambda: fem.simulation(finger(), actuators=[cable()], worlds=2, together=False, **CPU),
    "solids at rest": lambda: fem.simulation(finger(), actuators=[cable()], dynamic=False, **CPU),
    "robots": lambda: fem.forward_simulation(robot(), pulling),
    "inverse control": lambda: fem.inverse_simulation(robot(), script=reaching),
    "coupled springs": lambda: coupling.simulation(body().moved((0.0, 0.0, 0.07)), bed(), obstacles=[GROUND], **CPU),
    "coupled solids": lambda: coupling.simulation(
        finger().release(), low_bed(), obstacles=[shapes.ground(height=-0.07)], **CPU
    ),
    "sinking": lambda: sinking.simulation(
        shapes.ResistiveGround("poppy-loose"),
        [shapes.Rigid(shapes.Box((0.05, 0.05, 0.05)), motion="free", position=(0.0, 0.0, 0.04))],
        **CPU,
    ),
}


def commanded(simulation: Simulation[Any]) -> Simulation[Any]:
    """After some steps under a command."""
    simulation.step(7)
    for name in simulation.controls.names[:1]:
        simulation.controls[name] = {"leg": 1.1}.get(name, 0.5)
    simulation.step(3)
    return simulation


WAYS: dict[str, Callable[[Any], Any]] = {
    "clone": lambda simulation: simulation.clone(),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda simulation: pickle.loads(pickle.dumps(simulation)),
}


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("way", ["clone", "pickle"])
def test_a_copy_goes_on_to_the_bit_and_shares_nothing(kind: str, way: str) -> None:
    first = commanded(MAKERS[kind]())
    before = first.state_hash()
    twin = WAYS[way](first)
    assert (twin.step_count, twin.state_hash()) == (first.step_count, before)
    twin.step(20)
    assert first.state_hash() == before
    first.step(20)
    assert first.state_hash() == twin.state_hash() != before
    twin.reset()
    assert first.state_hash() != twin.state_hash()
    again = twin.clone()  # of a clone
    assert again.state_hash() == twin.state_hash()


@pytest.mark.parametrize("way", WAYS)
def test_every_way_to_copy_makes_a_clone(way: str) -> None:
    first = commanded(MAKERS["springs"]())
    first.marks = (Spheres("a mark", np.zeros((1, 3)), 0.01),)
    twin = WAYS[way](first)
    assert [mark.name for mark in twin.marks] == ["a mark"]
    assert twin.state is not first.state
    before = first.state_hash()
    twin.step(5)
    assert first.state_hash() == before


def test_a_clone_has_edits_parameters_and_what_broke() -> None:
    made = springs.simulation(body(), obstacles=[GROUND], prepare=("breaking",), **CPU)
    made.parameters["stiffness"] = 1.2
    made.step(5)
    with made.edit() as edit:
        edit.remove_masses([0, 1], with_springs=True)
    twin = made.clone()
    made.step(10)
    twin.step(10)
    assert twin.state_hash() == made.state_hash()
    assert twin.parameters["stiffness"] == made.parameters["stiffness"]


def test_a_clone_draws_the_same_parameters_when_it_begins_again() -> None:
    made = springs.simulation(body(), worlds=3, **CPU)
    made.parameters.randomise({"stiffness": distributions.Uniform(0.8, 1.2)}, seeds=5)
    twin = pickle.loads(pickle.dumps(made))
    for each in (made, twin):
        each.reset()
        each.step(5)
    assert twin.state_hash() == made.state_hash()
    assert len(set(twin.parameters["stiffness"])) == 3


def test_what_cannot_be_cloned_says_what_to_do() -> None:
    model = springs.Model(body(), springs.World(), wp.get_device("cpu"))
    with pytest.raises(AnnelidError, match=r"make it by the simulation\(\.\.\.\) of its physics"):
        Simulation(springs.Solver(model)).clone()
    changed = body()
    made = springs.simulation(changed, **CPU)
    changed.masses[0] *= 2.0
    with pytest.raises(AnnelidError, match="was changed afterwards"):
        made.clone()


def test_a_clone_of_a_controlled_simulation_warns_of_the_controller() -> None:
    made = springs.simulation(body(), **CPU)
    control.connect(made, lambda time, readings: 1.0, every=0.01)
    with pytest.warns(LeftBehind, match="controllers"):
        made.clone()


def test_a_clone_while_it_runs() -> None:
    made = MAKERS["springs"]()
    made.start()
    try:
        twin = made.clone()
    finally:
        made.stop()
    assert twin.step_count <= made.step_count
    twin.step(made.step_count - twin.step_count)
    assert twin.state_hash() == made.state_hash()


THINGS: dict[str, Callable[[], Any]] = {
    "spring body": body,
    "spring robot": robots.quadruped,
    "bed": bed,
    "solid": finger,
    "voxel robot": lambda: voxels.biped(4),
    "3-D voxel robot": lambda: voxels3d.Robot.from_array([[[1, 1]]] * 3),
    "obstacle": lambda: GROUND,
    "mesh": lambda: shapes.Box((1.0, 1.0, 1.0)).surface(),
    "sand": lambda: shapes.ResistiveGround("poppy-loose"),
    "cable": cable,
    "worlds": lambda: springs.World(obstacles=[GROUND]),
}


@pytest.mark.parametrize("kind", THINGS)
def test_what_simulations_are_made_of_is_copied_and_pickled(kind: str) -> None:
    thing = THINGS[kind]()
    for twin in (pickle.loads(pickle.dumps(thing)), copy.deepcopy(thing)):
        assert type(twin) is type(thing)
        assert repr(twin) == repr(thing)


@pytest.mark.parametrize("kind", MAKERS)
def test_states_are_copied_and_pickled(kind: str) -> None:
    simulation = MAKERS[kind]()
    before = state_hash(simulation.state)
    twins = pickle.loads(pickle.dumps(simulation.state)), copy.deepcopy(simulation.state)
    assert {state_hash(twin) for twin in twins} == {before}
    simulation.step(2)
    assert {state_hash(twin) for twin in twins} == {before}


def test_pictures_are_copied_and_pickled() -> None:
    shot = MAKERS["springs"]().snapshot()
    for twin in (pickle.loads(pickle.dumps(shot)), copy.deepcopy(shot)):
        assert [part.name for part in twin.parts] == [part.name for part in shot.parts]
        assert twin.numbers == shot.numbers


@pytest.mark.parametrize("way", ["copy", "deepcopy", "pickle"])
def test_a_robot_is_copied_where_it_stands(way: str) -> None:
    first = robot()
    fem.Forward(first).settle({"cable": 0.3})
    twin: fem.Robot = WAYS[way](first)
    assert np.array_equal(twin.positions.numpy(), first.positions.numpy())
    assert np.array_equal(twin.efforts, first.efforts)
    fem.Forward(twin).settle({"cable": 0.6})
    assert twin.efforts[0] == 0.6 != first.efforts[0]
    assert not np.array_equal(twin.positions.numpy(), first.positions.numpy())


def height(simulation: Simulation[Any], steps: int) -> float:
    simulation.step(steps)
    return float(simulation.positions()[:, 2].mean())


def test_simulations_are_handed_to_a_pool() -> None:
    made = commanded(MAKERS["springs"]())
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        there = list(pool.map(partial(height, made.clone()), [5, 10]))
    assert there == [height(made.clone(), 5), height(made.clone(), 10)]
