"""How solids and obstacles stand to each other to begin with, also between nodes, and what a failed step leaves."""

import warnings

import numpy as np
import pytest
import warp as wp

from annelid import fem
from annelid.core.errors import InvalidValue
from annelid.core.state import state_arrays
from annelid.fem.contact.contacts import Contacts
from annelid.fem.contact.start import CoarseForContact
from annelid.fem.contact.turning import largest_turn
from annelid.fem.newton import NoEquilibrium
from annelid.shapes import Box, Capsule, HeightField, Rigid, Sphere, TetMesh, ground, tet_hollow_cylinder

from .bodies import SOFT, block, least_gap

CPU = wp.get_device("cpu")
MIDDLE = (0.05, 0.055, 0.02)
coarse = pytest.mark.filterwarnings("ignore::annelid.fem.contact.start.CoarseForContact")


def touching(solid: fem.Solid, *obstacles: Rigid | HeightField, push: bool = False) -> Contacts:
    """What a solid touches."""
    return Contacts(solid, obstacles, fem.Contact(overlapping="push" if push else "refuse"), CPU)


@coarse
@pytest.mark.parametrize(
    ("obstacle", "sentence"),
    [
        (Rigid(Sphere(0.005), position=MIDDLE), r"a Sphere: between its nodes, at \(0.05, 0.055, .*is 0.025 m deep"),
        (Rigid(Sphere(0.005), position=(0.04, 0.04, 0.02)), "is 0.025 m deep"),  # where tetrahedra meet
        (Rigid(Box((0.01, 0.01, 0.004)), position=MIDDLE), "a Box: between its nodes"),
        (Rigid(Box((0.01, 0.01, 0.004)), position=MIDDLE, motion="free"), "a Box: between its nodes"),
        (Rigid(Capsule(0.001, 0.3), position=MIDDLE), "a Capsule: between its nodes"),
        (Rigid(Box((0.3, 0.3, 0.004)), position=MIDDLE), r"a Box: their surfaces cross near \("),
        (HeightField([[-0.2] * 3, [-0.2, 0.03, -0.2], [-0.2] * 3], 0.06, corner=(-0.01, -0.01)), "a HeightField: betw"),
    ],
    ids=["ball", "middle", "box", "free", "rod", "plate", "peak"],
)
def test_what_starts_in_a_solid_between_its_nodes_is_refused(obstacle: Rigid | HeightField, sentence: str) -> None:
    with pytest.raises(InvalidValue, match=sentence):
        touching(block(), obstacle)


@coarse
@pytest.mark.parametrize(
    "thing",
    [Sphere(0.002), Sphere(0.0118), Box((0.004, 0.004, 0.004)), Capsule(0.002, 0.01, axis="x")],
    ids=["small ball", "ball as wide as the tube", "box", "rod"],
)
def test_what_starts_in_a_chamber_is_refused(thing: Sphere | Box | Capsule) -> None:
    tube = fem.Solid(tet_hollow_cylinder(0.012, 0.06, wall=3e-3, cells=2, layers=3, axis="x"), SOFT)
    for motion in ("fixed", "free"):
        with pytest.raises(InvalidValue, match=r"the solid starts in obstacle 0, a \w+: between its nodes"):
            touching(tube, Rigid(thing, position=(0.03, 0.0, 1e-4), motion=motion))
    touching(tube, Rigid(thing, position=(0.03, 0.0, 0.03)))
    touching(tube.fix(None), Rigid(thing, position=(0.03, 0.0, 1e-4)))  # what is held touches nothing


def test_a_surface_too_coarse_for_the_peaks_of_a_height_field_is_warned_of() -> None:
    peaks = np.zeros((9, 9))
    peaks[::2, ::2] = 0.05
    for heights, told in (
        (peaks, True),
        (np.outer(0.1 * np.arange(9.0), np.ones(9)), False),
        (np.zeros((2, 2)), False),
    ):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            touching(block(at=(0.0, 0.0, 5.0)), HeightField(heights, 0.03, corner=(-0.1, -0.1)))
        assert [each.category for each in caught] == [CoarseForContact] * told


@pytest.mark.parametrize("gap", [1e-3, 0.0, -1e-6, -4e-3])
def test_a_solid_begins_off_a_box_that_lies_on_it_between_nodes(gap: float) -> None:
    found = touching(block(), Rigid(Box((0.01, 0.01, 0.01)), position=(0.05, 0.055, 0.045 + gap)))
    np.testing.assert_allclose(found.shift[2], gap - found.nodes.reach, rtol=1e-6)


@coarse
def test_a_free_box_begins_off_a_block_that_is_held_and_lies_on_it() -> None:
    held = block().fix(lambda p: p[:, 2] < 1e-9)
    box = Rigid(Box((0.01, 0.01, 0.01)), position=(0.05, 0.055, 0.045), motion="free", name="box")
    simulation = fem.simulation(held, obstacles=[box], dt=0.01, device="cpu", threads=1)
    simulation.step(10)
    places, velocities = simulation.state.touch.places.numpy(), simulation.state.touch.velocities.numpy()
    assert 0.045 < places[0, 2] < 0.058
    assert np.abs(velocities).max() < 5e-3
    with pytest.raises(InvalidValue, match="starts in obstacle 0, a Box"):
        touching(held, Rigid(Box((0.01, 0.01, 0.01)), position=(0.05, 0.055, 0.045)))


def test_bars_that_cross_without_a_corner_in_each_other_are_refused() -> None:
    bars = [
        Rigid(Box((0.3, 0.01, 0.01)), position=(0.0, 0.0, 0.5)),
        Rigid(Box((0.01, 0.3, 0.02)), position=(0.0, 0.0, 0.5), motion="free"),
    ]
    with pytest.raises(InvalidValue, match="obstacle 0, a Box, starts in obstacle 1, a Box"):
        touching(block(), *bars)


def test_flat_sides_do_not_cross_however_they_are_turned_and_a_piece_in_another_is_refused() -> None:
    large, small = block((0.06, 0.05, 0.04), (3, 3, 3)).mesh, block((0.01, 0.01, 0.01), (1, 1, 1)).mesh
    assert isinstance(large, TetMesh)
    assert isinstance(small, TetMesh)
    for angle in (0.3, 0.7, 1.1, 1.9):
        touching(fem.Solid(large.rotated((1.0, 0.5, 0.2), angle) + small.moved((0.0, 0.0, 0.3)), SOFT))
    inside = large + small.moved((0.027, 0.022, 0.013))
    with pytest.raises(InvalidValue, match=r"starts in another|too near|crosses itself"):
        touching(fem.Solid(inside, SOFT))
    with pytest.raises(InvalidValue, match="a piece of the solid starts in another"):
        Contacts(fem.Solid(inside, SOFT), [], fem.Contact(reach=1e-4), CPU)


@coarse
def test_a_ball_that_spins_fast_does_not_get_into_a_block_and_a_step_that_fails_leaves_nothing() -> None:
    ball = Rigid(Sphere(0.02), motion="free", position=(0.04, 0.04, 0.1), velocity=(0.0, 0.0, -1.0), spin=(0, 60.0, 0))
    plate = Rigid(Box((0.2, 0.2, 0.02)), motion="driven", position=(0.04, 0.04, 0.2), name="plate")
    simulation = fem.simulation(
        block(at=(0.0, 0.0, 0.02)), obstacles=[ground(), ball, plate], dt=0.02, device="cpu", threads=1
    )
    for _ in range(5):
        simulation.step()
        assert least_gap(simulation) > 0.0
    simulation.solver.drive(simulation.state, "plate", velocity=(0.0, 0.0, -1e4))
    before = {name: array.numpy().copy() for name, array in state_arrays(simulation.state).items()}
    with pytest.raises(NoEquilibrium, match=r"such as \S+ s instead of 0.02 s"):
        simulation.step()
    for name, array in state_arrays(simulation.state).items():
        np.testing.assert_array_equal(array.numpy(), before[name], err_msg=name)


def test_turns_are_found_however_quaternions_are_signed() -> None:
    contacts = touching(block(at=(0.0, 0.0, 0.1)), Rigid(Sphere(0.2), position=(0.0, 0.0, -0.3)))
    turned = np.array([[0.0, 0.0, np.sin(0.5), np.cos(0.5)]])
    contacts.goal.set(contacts.now.places, -turned)
    assert largest_turn(contacts.now, contacts.goal) == pytest.approx(1.0)


def test_a_reach_larger_than_the_solid_is_refused() -> None:
    with pytest.raises(InvalidValue, match="reach of a contact = 2 m is more than the whole solid, 0.08 m"):
        Contacts(block(), [ground()], fem.Contact(reach=2.0), CPU)
