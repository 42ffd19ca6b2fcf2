"""The robots move as they should, on a small scale."""

import numpy as np
import pytest

from annelid.scenes.cantilever_topology import CantileverTopology
from annelid.scenes.heater import Heater
from annelid.scenes.runner import Runner
from annelid.scenes.swarm import Swarm
from annelid.scenes.walker import Walker
from annelid.scenes.worm import Worm
from annelid.scenes.worms import Worms


def values(scene, simulation):
    return {m.name: m.value for m in scene.measure(simulation)}


def test_every_worm_of_a_crowd_crawls_like_one_alone():
    crowd, alone = Worms(count=3), Worm()
    together, single = crowd.build(device="cpu"), alone.build(device="cpu")
    together.run(0.15)
    single.run(0.15)
    assert values(crowd, together)["mean-distance"] == pytest.approx(values(alone, single)["distance"], abs=1e-4)
    assert together.solver.model.spring_count == 3 * single.solver.model.spring_count


def test_a_hundred_worms_have_as_many_springs_as_titan_had():
    assert Worms().build(device="cpu").solver.model.spring_count >= 339_200


def test_the_swarm_is_as_large_as_titan_s_and_loosely_coupled():
    body = Swarm().body()
    assert body.mass_count >= 100_000
    assert body.spring_count >= 784_000
    thin, thick = body.diameters == 0.4e-3, body.diameters == 1.0e-3
    assert (thin | thick).all()
    assert 0 < thin.sum() < 0.1 * thick.sum()
    simulation = Swarm(side=2).build(device="cpu")
    simulation.run(0.05)
    assert np.isfinite(simulation.state.positions.numpy()).all()


def test_the_walker_has_five_groups_and_walks():
    scene = Walker()
    simulation = scene.build(device="cpu")
    simulation.run(0.5)
    assert values(scene, simulation)["actuator-groups"] == 5
    assert values(scene, simulation)["distance"] > 0.003


def test_the_runner_runs_where_its_motors_turn():
    for speed, sign in ((12.0, 1.0), (-12.0, -1.0)):
        scene = Runner(motor_speed=speed)
        simulation = scene.build(device="cpu")
        simulation.run(0.25)
        assert sign * values(scene, simulation)["distance"] > 0.04


def test_the_heated_strip_bends_like_a_bilayer():
    scene = Heater(thickness=2)
    simulation = scene.build(device="cpu")
    simulation.run(scene.duration)
    curvature = scene.measure(simulation)[1]
    # One cell for each half of the thickness bends 22 % less than the bilayer, two cells 7 % less (the default).
    assert 0.75 * curvature.reference < curvature.value < curvature.reference


def test_topology_writes_its_shape_and_curve(tmp_path):
    scene = CantileverTopology(mass=0.9)
    simulation = scene.build(device="cpu")
    simulation.run(1.6)
    assert [path.name for path in scene.outputs(simulation, tmp_path)] == ["shape.png", "curve.png"]
    assert values(scene, simulation)["mass-share"] == pytest.approx(0.9, abs=0.01)
