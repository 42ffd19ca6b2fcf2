"""What is read and seen of contact: sensors, forces of pairs, pictures, checkpoints, worlds."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from annelid import fem
from annelid.core.errors import InvalidValue, SimulationDiverged, UnknownName
from annelid.core.simulation import Simulation
from annelid.core.snapshot import Look, Mesh, Plane
from annelid.core.state import state_hash
from annelid.fem.contact.start import CoarseForContact
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
    simulation.sensors.add("carried", [fem.contact_force_between("box", 0), fem.contact_force_between(0, "box")])
    simulation.sensors.add("beside", fem.contact_force_between("box", "post"))
    simulation.step(30)
    weight = 9.81 * simulation.solver.model.solid.mass
    assert simulation.sensors["ground"][0] == pytest.approx([0.0, 0.0, -weight], abs=1e-3 * weight)
    assert 0.5 * weight < simulation.sensors["under"][0][2] < weight
    assert simulation.sensors["post"][0] == pytest.approx([0.0, 0.0, 0.0])
    assert simulation.sensors["box"][0] == pytest.approx([-0.1, 0.04, 0.02], abs=0.012)
    carried = 9.81 * 1000.0 * 0.04**3
    assert simulation.sensors["carried"][0] == pytest.approx([0.0, 0.0, carried, 0.0, 0.0, -carried], abs=1e-6)
    assert simulation.sensors["beside"][0] == pytest.approx([0.0, 0.0, 0.0])
    forces = simulation.solver.readout.contact_forces(simulation.state)
    assert forces.shape == (simulation.solver.model.node_count, 3, 3)
    assert forces[:, 0, 2].sum() == pytest.approx(weight, rel=1e-3)
    with pytest.raises(UnknownName, match="pole"):
        simulation.sensors.add("pole", fem.contact_force_of("pole"))
    with pytest.raises(InvalidValue, match="give fem.simulation obstacles"):
        fem.simulation(block(), device="cpu").sensors.add("any", fem.contact_force_on())
    with pytest.raises(InvalidValue, match="name one that is"):
        simulation.sensors.add("none", fem.contact_force_between("post"))


def test_a_name_of_two_obstacles_and_a_list_of_solids_are_refused() -> None:
    twins = [Rigid(Box((0.02, 0.02, 0.02)), position=(x, 0.0, -0.1), name="stone") for x in (0.0, 0.1)]
    simulation = fem.simulation(block(), obstacles=twins, device="cpu")
    with pytest.raises(InvalidValue, match="2 obstacles are called 'stone', numbers 0, 1"):
        simulation.sensors.add("force", fem.contact_force_of("stone"))
    with pytest.raises(InvalidValue, match="join their meshes"):
        fem.simulation([block(), block()], device="cpu")


def test_a_solid_that_touches_nothing_but_itself_is_drawn_by_contact() -> None:
    simulation = fem.simulation(block(), contact=fem.Contact(itself=True), device="cpu")
    readout, state = simulation.solver.readout, simulation.state
    assert readout.contact_forces(state).shape == (len(simulation.positions()), 0, 3)
    assert not readout.contact_sizes(state).any()
    simulation.snapshot(Look(fields=("contact",)))
    with pytest.raises(InvalidValue, match=r"fem\.self_contact_force_on"):
        simulation.sensors.add("force", fem.contact_force_on())
    with pytest.raises(InvalidValue, match=r"contact=fem.Contact\(itself=True\)"):
        resting().sensors.add("own", fem.self_contact_force_on())


def test_a_small_body_that_would_hover_is_warned_of() -> None:
    pebble = Rigid(Box((0.02, 0.02, 0.02)), motion="free", position=(0.3, 0.0, 0.1), name="pebble")
    with pytest.warns(CoarseForContact, match=r"named 'pebble', is only 0.02 m wide.*Contact\(reach=0.002\)"):
        fem.simulation(block(), obstacles=[pebble], device="cpu")


def test_friction_and_masses_of_bodies_differ_in_worlds_one_by_one() -> None:
    def shoved(worlds: int | None, friction: object, mass: object) -> Simulation[fem.Solver]:
        simulation = resting(worlds)
        simulation.parameters.set({"friction": friction, "body_mass": mass, "push_x": 3.0})
        simulation.sensors.add("ground", fem.contact_force_between("box", 0))
        simulation.step(12)
        return simulation

    many, alone = shoved(2, [0.0, 1.4], [1.0, 2.0]), shoved(None, 1.4, 2.0)
    smooth, rough = (np.split(many.positions(), 2)[k] - block().nodes for k in range(2))
    assert smooth[:, 0].mean() > 5.0 * rough[:, 0].mean()  # the rough one sticks, but for what it shears
    weights = many.sensors["ground"][:, 2]
    assert weights[1] == pytest.approx(2.0 * weights[0], rel=0.05)
    np.testing.assert_array_equal(np.split(many.positions(), 2)[1], alone.positions())
    np.testing.assert_array_equal(many.state.touch.places.numpy()[3:], alone.state.touch.places.numpy())


def test_pictures_show_obstacles_where_they_are() -> None:
    simulation = resting()
    simulation.step(2)
    parts = {part.name: part for part in simulation.snapshot(Look()).parts}
    assert isinstance(parts["plane-0"], Plane)
    box = parts["box-2"]
    assert isinstance(box, Mesh)
    middle = simulation.state.touch.places.numpy()[2]
    np.testing.assert_allclose(np.asarray(box.vertices).mean(axis=0), middle, atol=1e-6)
    shown = {part.name: part for part in simulation.snapshot(Look(fields=("contact",))).parts}["solid"]
    forces = simulation.solver.readout.contact_forces(simulation.state).sum(axis=1)
    assert shown.fields["contact"].unit == "N"
    assert np.max(shown.fields["contact"].values) == pytest.approx(np.linalg.norm(forces, axis=1).max(), rel=1e-6)
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
    forces = simulation.solver.readout.contact_forces(simulation.state)
    np.testing.assert_array_equal(many.solver.readout.contact_forces(many.state), np.tile(forces, (2, 1, 1)))
    assert many.solver.readout.own_forces(many.state).shape == many.positions().shape
    before = many.state.touch.places.numpy().copy()
    many.solver.place(many.state, "box", [(-0.2, 0.0, 0.1), (-0.3, 0.0, 0.1)], mask=[False, True])
    moved = many.state.touch.places.numpy()
    np.testing.assert_array_equal(moved[:5], before[:5])
    np.testing.assert_array_equal(moved[5], [-0.3, 0.0, 0.1])
    with pytest.raises(InvalidValue, match="3 finite numbers for all worlds or for each of 2"):
        many.solver.place(many.state, "box", [0.0, 1.0])
    for world in range(2):
        one = many.solver.world(many.state, world)
        np.testing.assert_array_equal(one.positions.numpy(), simulation.positions())
        np.testing.assert_array_equal(one.touch.stretches.numpy(), simulation.state.touch.stretches.numpy())


def test_what_is_placed_stays_turned_and_where_it_is_in_something_the_next_step_tells_what_and_how_deep() -> None:
    many = resting(worlds=2)
    place = many.solver.place
    place(many.state, "box", (-0.2, 0.0, 0.1), (0.0, 0.0, 1.2, 1.6), mask=[False, True])
    turns = many.state.touch.turns.numpy().copy()
    assert abs(turns[5] - turns[2]).max() > 0.1
    np.testing.assert_allclose(np.linalg.norm(turns, axis=1), 1.0)
    with pytest.raises(InvalidValue, match="its turns must be quaternions x, y, z, w that are not all 0"):
        place(many.state, "box", (-0.2, 0.0, 0.1), (0.0, 0.0, 0.0, 0.0))
    place(many.state, "box", [(-0.1, 0.04, 0.1), (-0.1, 0.04, 0.0)])
    np.testing.assert_array_equal(many.state.touch.turns.numpy(), turns)
    deep = r"in world 1 a step begins with obstacle 2, a Box named 'box', 0.02 m deep in obstacle 0, a Plane: put what"
    with pytest.raises(SimulationDiverged, match=deep):
        many.step()
    place(many.state, "box", (-0.1, 0.04, 0.1))
    many.step()
    one = resting()
    one.solver.place(one.state, "box", (0.04, 0.04, 0.04))
    with pytest.raises(fem.NoEquilibrium, match=r"node \d+ of the solid 0\.0\d+ m deep in obstacle 2, a Box"):
        one.step()


def test_an_equilibrium_among_obstacles() -> None:
    solid = block()
    positions = fem.equilibrium(solid, obstacles=[ground()], device="cpu", threads=1)
    assert positions[:, 2].min() > 0.0
    driven = Rigid(Box((0.1, 0.1, 0.1)), motion="driven", position=(0.0, 0.0, -1.0))
    with pytest.raises(InvalidValue, match="an equilibrium has fixed obstacles only"):
        fem.equilibrium(solid, obstacles=[driven], device="cpu")


def test_a_step_that_is_torn_apart_at_its_end_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who presses Ctrl-C twice ends it at once, perhaps where friction is written already and obstacles are not."""
    simulation, other = resting(), resting()
    for each in (simulation, other):
        each.step(3)
    before = state_hash(simulation.state)

    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(simulation.solver.contacts.bodies, "end", interrupted)
        with pytest.raises(KeyboardInterrupt):
            simulation.step()
    assert (state_hash(simulation.state), simulation.step_count) == (before, 3)
    for each in (simulation, other):
        each.step()
    assert state_hash(simulation.state) == state_hash(other.state)
