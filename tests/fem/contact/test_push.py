"""How solids push: slopes of the element set, Hertz's contact, moves that are cut, and how they stand to begin with."""

import numpy as np
import pytest
import warp as wp

from annelid import fem
from annelid.core.errors import InvalidValue
from annelid.fem.contact.contacts import Contacts
from annelid.fem.contact.start import CoarseForContact, PushedOut
from annelid.shapes import Box, Capsule, HeightField, Plane, Rigid, Sphere, Surface, ground, turned_about

from .bodies import SOFT, block, least_gap, octant, velocity

CPU = wp.get_device("cpu")


def test_forces_are_slopes_of_the_energy_and_the_tangent_is_that_of_the_forces() -> None:
    solid = block(at=(-0.04, -0.04, 0.2))
    obstacles = [
        Rigid(Sphere(0.2), position=(0.01, 0.0, -0.0063)),
        Rigid(Box((0.3, 0.3, 0.3)), rotation=turned_about("y", 0.2), position=(0.0, 0.0, 0.023)),
        Rigid(Capsule(0.1, 0.3, axis="x"), position=(0.0, 0.02, 0.0915)),
    ]
    contacts = Contacts(solid.fix([0]), obstacles, fem.Contact(reach=0.02), CPU)
    rng = np.random.default_rng(5)
    start = contacts.first_state()
    start.stretches.assign(1e-3 * rng.normal(size=(len(start.stretches), 3)))
    there = wp.array(solid.nodes, dtype=wp.vec3d, device="cpu")
    contacts.begin(there, start, 0.01, 0.01)
    contacts.nodes.follow(there)

    def at(positions: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        contacts.nodes.evaluate(wp.array(positions, dtype=wp.vec3d, device="cpu"))
        found = contacts.nodes
        return found.energy.numpy().sum(), found.forces.numpy()[:, 0].copy(), found.tangent.numpy()[:, 0, 0].copy()

    moved = solid.nodes + 1e-4 * rng.normal(size=solid.nodes.shape)
    _, forces, tangent = at(moved)
    assert (np.linalg.norm(forces, axis=1) > 0.0).sum() >= 3
    step = 1e-7
    for node, number in enumerate(contacts.outer):
        for axis in range(3):
            nudge = np.zeros_like(moved)
            nudge[number, axis] = step
            more, less = at(moved + nudge), at(moved - nudge)
            assert forces[node, axis] == pytest.approx((less[0] - more[0]) / (2 * step), rel=1e-4, abs=1e-4)
            slope = (less[1][node] - more[1][node]) / (2 * step)
            np.testing.assert_allclose(tangent[node, axis], slope, rtol=1e-3, atol=0.2)


def test_a_soft_ball_is_flattened_as_hertz_says() -> None:
    """Pressed between plates; a ball is stiffer than the half-space of the formula where contact is a third of it."""
    ball = fem.Solid(octant(4, 2.0).quadratic(), SOFT)
    ball.fix(lambda p: p[:, 0] < 1e-9, axes="x").fix(lambda p: p[:, 1] < 1e-9, axes="y")
    ball.fix(lambda p: p[:, 2] > 1.0 - 1e-9, axes="z")
    reach = 0.006
    plate = Rigid(Plane(point=(0.0, 0.0, -reach)), Surface(friction=0.0), motion="driven", velocity=(0.0, 0.0, 0.03))
    simulation = fem.simulation(
        ball, dynamic=False, obstacles=[plate], gravity=(0.0, 0.0, 0.0), dt=1.0, contact=fem.Contact(reach=reach),
        device="cpu", threads=1,
    )  # fmt: skip
    for depth in (0.03, 0.06):
        simulation.step()
        force = 4.0 * simulation.state.touch.forces.numpy().sum(axis=0)[2]
        hertz = 4.0 / 3.0 * SOFT.youngs_modulus / (1.0 - SOFT.poisson_ratio**2) * depth**1.5
        assert force == pytest.approx(hertz, rel=0.05)


def test_a_fast_block_does_not_go_through_thin_ground() -> None:
    """It flies 5 cm a step towards a plate of 5 mm."""
    plate = Rigid(Box((0.4, 0.4, 0.005)), position=(0.04, 0.04, -0.1))
    simulation = fem.simulation(block(), obstacles=[plate], gravity=(0.0, 0.0, 0.0), dt=0.01, device="cpu", threads=1)
    simulation.state.velocities.fill_(wp.vec3d(0.0, 0.0, -5.0))
    for _ in range(8):
        simulation.step()
        assert least_gap(simulation) > 0.0
    assert int(simulation.state.touch.cut.numpy()[0]) >= 1
    assert simulation.positions()[:, 2].min() > -0.0975
    assert velocity(simulation)[2] > -0.5


@pytest.mark.parametrize(
    "obstacle",
    [
        Rigid(Box((0.3, 0.3, 0.1)).surface(), position=(0.04, 0.04, -0.06), cells=16),
        HeightField(np.full((4, 5), -0.01), 0.1),
        Rigid(Box((0.3, 0.3, 0.2)), inside=True, position=(0.04, 0.04, 0.09)),
    ],
    ids=["mesh", "heights", "inside"],
)
def test_a_block_comes_to_rest_on_everything(obstacle: Rigid | HeightField) -> None:
    simulation = fem.simulation(block(), obstacles=[obstacle], velocity_damping=20.0, dt=0.02, device="cpu", threads=1)
    simulation.step(25)
    assert least_gap(simulation) > 0.0
    np.testing.assert_allclose(velocity(simulation), 0.0, atol=1e-4)
    weight = 9.81 * simulation.solver.model.solid.mass
    np.testing.assert_allclose(simulation.state.touch.forces.numpy().sum(axis=0), [0.0, 0.0, weight], atol=1e-2)


def test_a_solid_that_nothing_holds_finds_its_equilibrium_on_the_ground() -> None:
    solid = block(at=(0.0, 0.0, 0.01))
    simulation = fem.simulation(solid, dynamic=False, obstacles=[ground()], device="cpu", threads=1)
    simulation.step()
    weight = 9.81 * simulation.solver.model.solid.mass
    assert simulation.state.touch.forces.numpy()[:, 2].sum() == pytest.approx(weight, rel=1e-6)


def test_a_solid_on_the_ground_begins_just_above_it_and_one_in_the_ground_is_refused() -> None:
    contacts = fem.simulation(block(), obstacles=[Plane()], device="cpu", threads=1).solver.contacts
    assert contacts is not None
    np.testing.assert_allclose(contacts.shift, [0.0, 0.0, contacts.nodes.reach], rtol=1e-9)
    with pytest.raises(InvalidValue, match=r"starts in obstacle 0, a Plane: node \d+ at .* is 0.03 m deep; move"):
        fem.simulation(block(at=(0.0, 0.0, -0.03)), obstacles=[Plane()], device="cpu")
    with pytest.raises(InvalidValue, match="starts in obstacle 0"):
        fem.simulation(block().fix(lambda p: p[:, 0] < 1e-9), obstacles=[Plane()], device="cpu")


def test_a_surface_too_coarse_for_a_round_obstacle_is_warned_of() -> None:
    with pytest.warns(CoarseForContact, match=r"coarse for obstacle 0, a Sphere: .* sinks in by 0.0"):
        fem.simulation(block(), obstacles=[Rigid(Sphere(0.01), position=(0.0, 0.0, -0.1))], device="cpu")


@pytest.mark.parametrize("wrong", [{"reach": 0.0}, {"stiffness": -1.0}, {"skin": float("nan")}])
def test_bad_settings_of_contact_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(InvalidValue, match="of a contact must be"):
        fem.Contact(**wrong)


@pytest.mark.filterwarnings("ignore::annelid.fem.contact.start.CoarseForContact")
def test_a_solid_that_starts_deep_in_obstacles_is_pushed_out_on_request() -> None:
    post = Rigid(Box((0.04, 0.04, 0.04)), position=(0.1, 0.04, 0.0))
    with pytest.raises(InvalidValue, match="overlapping='push'"):
        fem.simulation(block(at=(0.0, 0.0, -0.03)), obstacles=[ground(), post], device="cpu")
    contact = fem.Contact(overlapping="push")
    with pytest.warns(PushedOut, match="the solid started 0.0.* m deep in an obstacle and was pushed out, by 0.0"):
        pushed = fem.simulation(
            block(at=(0.01, 0.0, -0.03)), obstacles=[ground(), post], contact=contact, dt=0.01, device="cpu", threads=1
        )
    assert least_gap(pushed) > 0.0
    free = Rigid(Sphere(0.04), motion="free", position=(0.3, 0.0, 0.0))
    with pytest.warns(PushedOut, match="a free body started 0.04 m deep"):
        beside = fem.simulation(block(at=(0.0, 0.0, 0.02)), obstacles=[ground(), free], contact=contact, device="cpu")
    assert beside.state.touch.places.numpy()[1, 2] > 0.04
    held = block(at=(0.0, 0.0, -0.03))
    held.fix(lambda p: p[:, 2] > 0.0)
    with pytest.raises(InvalidValue, match="starts in obstacle 0"):  # nothing may move what is held
        fem.simulation(held, obstacles=[ground()], contact=contact, device="cpu")
    with pytest.raises(InvalidValue, match="one of refuse, push"):
        fem.Contact(overlapping="pull")


def test_a_solid_that_stands_still_for_an_element_that_is_flat_is_told_so() -> None:
    solid = block(at=(0.0, 0.0, 0.2)).fix([0])
    contacts = Contacts(solid, [ground()], fem.Contact(), CPU)

    def stuck(height: float, moved: float) -> str | None:
        places = solid.nodes.copy()
        places[:, 2] = 0.2 + height * (places[:, 2] - 0.2)
        ends = (wp.array(each, dtype=wp.vec3d, device="cpu") for each in (places, places + moved))
        return contacts.stuck(*ends)

    assert stuck(1.0, 0.0) is None
    assert stuck(0.052, 1e-3) is None  # what moves may recover
    told = stuck(0.052, 0.0)
    assert told is not None
    assert "m is squeezed to a twentieth of its volume, so that nothing can move: take a material with a law" in told
