"""What is read and seen of contact: sensors, forces of pairs, pictures, checkpoints, worlds."""

from pathlib import Path

import numpy as np
import pytest

from annelid import fem
from annelid.core.errors import InvalidValue, UnknownName
from annelid.core.simulation import Simulation
from annelid.core.snapshot import Look, Mesh, Plane
from annelid.core.state import state_hash
from annelid.shapes import Box, Rigid, ground

from .bodies import block


def resting(worlds: int | None = None) -> Simulation[fem.Solver]:
    """A block on the ground beside a post and a box."""
    post = Rigid(Box((0.02, 0.02, 0.2)), position=(0.2, 0.04, 0.1), name="post")
    box = Rigid(Box((0.04, 0.04, 0.04)), motion="free", position=(-0.1, 0.04, 0.02), name="box")
    return fem.simulation(
        block(), obstacles=[ground(), post, box], dt=0.02, velocity_damping=20.0, worlds=worlds,
        device="cpu", threads=1,
    )  # fmt: skip


def test_sensors_read_forces_on_nodes_and_obstacles() -> None:
    simulation = resting()
    simulation.sensors.add("under", fem.contact_force_on(lambda p: p[:, 0] < 0.041))
    simulation.sensors.add("ground", fem.contact_force_of(0))
    simulation.sensors.add("post", fem.contact_force_on(obstacle="post"))
    simulation.sensors.add("box", fem.obstacle_position("box"))
    simulation.step(30)
    weight = 9.81 * simulation.solver.model.solid.mass
    assert simulation.sensors["ground"][0] == pytest.approx([0.0, 0.0, -weight], abs=1e-3 * weight)
    assert 0.5 * weight < simulation.sensors["under"][0][2] < weight
    assert simulation.sensors["post"][0] == pytest.approx([0.0, 0.0, 0.0])
    assert simulation.sensors["box"][0] == pytest.approx([-0.1, 0.04, 0.02], abs=0.012)
    forces = simulation.solver.readout.contact_forces(simulation.state)
    assert forces.shape == (simulation.solver.model.node_count, 3, 3)
    assert forces[:, 0, 2].sum() == pytest.approx(weight, rel=1e-3)
    with pytest.raises(UnknownName, match="pole"):
        simulation.sensors.add("pole", fem.contact_force_of("pole"))
    with pytest.raises(InvalidValue, match="give fem.simulation obstacles"):
        fem.simulation(block(), device="cpu").sensors.add("any", fem.contact_force_on())


def test_pictures_show_obstacles_where_they_are() -> None:
    simulation = resting()
    simulation.step(2)
    parts = {part.name: part for part in simulation.snapshot(Look()).parts}
    assert isinstance(parts["plane-0"], Plane)
    box = parts["box-2"]
    assert isinstance(box, Mesh)
    middle = simulation.state.touch.places.numpy()[2]
    np.testing.assert_allclose(np.asarray(box.vertices).mean(axis=0), middle, atol=1e-6)
    (seen,) = [one for one in simulation.solver.scenery().moving if one.part.name == "box-2"]
    np.testing.assert_allclose(seen.points(simulation.state).numpy(), box.vertices, atol=1e-6)


def test_a_checkpoint_goes_on_with_the_same_bits_and_so_does_each_of_many_worlds(tmp_path: Path) -> None:
    simulation = resting()
    simulation.step(3)
    simulation.save(tmp_path / "state")
    simulation.step(3)
    again = resting()
    again.load(tmp_path / "state")
    again.step(3)
    assert state_hash(again.state) == state_hash(simulation.state)
    many = resting(worlds=2)
    many.step(6)
    for world in range(2):
        one = many.solver.world(many.state, world)
        np.testing.assert_array_equal(one.positions.numpy(), simulation.positions())
        np.testing.assert_array_equal(one.touch.stretches.numpy(), simulation.state.touch.stretches.numpy())


def test_an_equilibrium_among_obstacles() -> None:
    solid = block()
    positions = fem.equilibrium(solid, obstacles=[ground()], device="cpu", threads=1)
    assert positions[:, 2].min() > 0.0
    driven = Rigid(Box((0.1, 0.1, 0.1)), motion="driven", position=(0.0, 0.0, -1.0))
    with pytest.raises(InvalidValue, match="an equilibrium has fixed obstacles only"):
        fem.equilibrium(solid, obstacles=[driven], device="cpu")
