"""Corners and edges of rigid things against triangles: what would pass between nodes."""

import numpy as np
import pytest
import warp as wp

from annelid import fem
from annelid.core.simulation import Simulation
from annelid.fem.contact.contacts import Contacts
from annelid.shapes import Box, Cylinder, Rigid, Surface, turned_about

from .bodies import block, turning

TIP = Box((0.02, 0.02, 0.02))
UPRIGHT = turned_about((1.0, -1.0, 0.0), float(np.arctan(np.sqrt(2.0))))
"""A cube on its corner."""


def test_forces_of_corners_are_slopes_of_their_energy() -> None:
    solid = block(cells=(1, 1, 1))
    tip = Rigid(TIP, position=(0.03, 0.05, 0.04 + 0.01 * np.sqrt(3.0) + 0.004), rotation=UPRIGHT)
    contacts = Contacts(solid.fix([0]), [tip], fem.Contact(reach=0.008), wp.get_device("cpu"))
    start = contacts.first_state()
    rng = np.random.default_rng(2)
    start.corner_stretches.assign(1e-3 * rng.normal(size=(len(contacts.corners), 3)))
    there = wp.array(solid.nodes, dtype=wp.vec3d, device="cpu")
    contacts.begin(there, start, 0.01, 0.01)
    contacts.follow(there)

    def at(positions: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        found = contacts.corners
        found.evaluate(wp.array(positions, dtype=wp.vec3d, device="cpu"))
        forces, count = np.zeros_like(positions), len(positions)
        np.add.at(forces, found.faces, found.forces.numpy())
        matrix = np.zeros((count, 3, count, 3))
        for nodes, blocks in zip(found.faces, found.tangent.numpy(), strict=True):
            for a in range(3):
                for c in range(3):
                    matrix[nodes[a], :, nodes[c]] += blocks[a, c]
        return found.energy.numpy().sum(), forces, matrix

    moved = solid.nodes + 1e-4 * rng.normal(size=solid.nodes.shape)
    energy, forces, matrix = at(moved)
    assert energy > 0.0
    step = 1e-7
    for node, axis in np.ndindex(*moved.shape):
        nudge = np.zeros_like(moved)
        nudge[node, axis] = step
        more, less = at(moved + nudge), at(moved - nudge)
        assert forces[node, axis] == pytest.approx((less[0] - more[0]) / (2 * step), rel=1e-4, abs=1e-4)
        slope = (less[1] - more[1]) / (2 * step)
        # The tangent leaves out how the normal turns, by force over distance.
        np.testing.assert_allclose(matrix[node, axis], slope, atol=1e-3 * np.abs(matrix).max())
    at(moved)
    points = np.sum([load.force for load in contacts.corners.loads_in(contacts.now)], axis=0)
    np.testing.assert_allclose(forces.sum(axis=0), -points, atol=1e-9)


def test_a_corner_in_a_dent_touches_both_sides_and_no_push_jumps_between_them() -> None:
    solid = block(cells=(1, 1, 1))
    (high,) = {z for z in solid.nodes[:, 2] if z > 0.02}
    over = np.array([0.5 * solid.nodes[:, 0].max(), 0.5 * solid.nodes[:, 1].max()])  # on the diagonal of the upper face
    tip = Rigid(TIP, position=(*over, high + 0.01 * np.sqrt(3.0) + 0.008), rotation=UPRIGHT)
    contacts = Contacts(solid.fix([0]), [tip], fem.Contact(reach=0.02), wp.get_device("cpu"))
    start, there = contacts.first_state(), wp.array(solid.nodes, dtype=wp.vec3d, device="cpu")
    contacts.begin(there, start, 0.01, 0.01)
    contacts.follow(there)
    (lowest,) = np.flatnonzero(contacts.corners.strengths.numpy() == contacts.corners.strengths.numpy().max())

    def push(positions: np.ndarray) -> np.ndarray:
        contacts.corners.follow(wp.array(positions, dtype=wp.vec3d, device="cpu"))
        return np.array(contacts.corners.strengths.numpy()[lowest] * contacts.corners._normals.numpy()[lowest])

    stiffness = contacts.corners.forms.stiffnesses.numpy()[0]
    for aside in (-0.004, 0.0, 0.004):  # as hard over the edge of two flat triangles as over one of them
        np.testing.assert_allclose(
            push(solid.nodes + np.array([aside, 0.0, 0.0])), [0, 0, 0.012 * stiffness], rtol=1e-9, atol=1e-9
        )
    upper = contacts.corners.faces[(solid.nodes[contacts.corners.faces, 2] == high).all(axis=1)]
    ends = np.intersect1d(*upper)
    dented = solid.nodes.copy()
    dented[np.setdiff1d(upper, ends), 2] += 0.01
    across = solid.nodes[np.setdiff1d(upper, ends)[0]] - solid.nodes[np.setdiff1d(upper, ends)[1]]
    across /= np.linalg.norm(across)
    one, other = (push(dented + step * across) for step in (-1e-9, 1e-9))
    assert one[2] > 0.9 * 0.012 * stiffness
    assert one @ across == pytest.approx(0.0, abs=1e-6 * one[2])
    np.testing.assert_allclose(one, other, atol=1e-6 * one[2])


def deepest(simulation: Simulation[fem.Solver], tips: np.ndarray) -> float:
    """How far tips [m] are above the upper face of a block, by its triangles."""
    contacts, positions = simulation.solver.contacts, simulation.positions()
    assert contacts is not None
    faces = contacts.corners.faces
    a, b, c = (positions[faces[:, i]] for i in range(3))
    normals = np.cross(b - a, c - a)
    above = np.einsum("ti,ti->t", tips[0] - a, normals) / np.linalg.norm(normals, axis=1)
    inside = above[normals[:, 2] > 0.5 * np.linalg.norm(normals, axis=1)]
    return float(inside.min())


def test_a_corner_that_is_driven_between_nodes_dents_the_block() -> None:
    start = 0.04 + 0.01 * np.sqrt(3.0) + 0.012
    tip = Rigid(TIP, position=(0.03, 0.06, start), rotation=UPRIGHT, motion="driven", velocity=(0.0, 0.0, -0.1))
    solid = block().fix(lambda p: p[:, 2] < 1e-9)
    simulation = fem.simulation(solid, obstacles=[tip], gravity=(0.0, 0.0, 0.0), device="cpu", threads=1)
    simulation.step(20)
    assert simulation.state.touch.places.numpy()[0, 2] == pytest.approx(start - 0.02)
    lowest = np.array([[0.03, 0.06, start - 0.02 - 0.01 * np.sqrt(3.0)]])
    assert lowest[0, 2] < 0.04  # it is below where the face was
    assert deepest(simulation, lowest) > 0.0
    assert simulation.state.touch.forces.numpy()[:, 2].sum() < -0.1


def test_a_free_box_stands_on_its_corner_in_a_block_and_momenta_are_kept() -> None:
    box = Rigid(
        TIP, Surface(friction=0.5), position=(0.03, 0.06, 0.04 + 0.01 * np.sqrt(3.0) + 0.012), rotation=UPRIGHT,
        motion="free", velocity=(0.05, 0.0, -0.4), density=4000.0,
    )  # fmt: skip
    simulation = fem.simulation(
        block(), obstacles=[box], gravity=(0.0, 0.0, 0.0), dt=0.005, settings=fem.Settings(1e-11, 30),
        device="cpu", threads=1,
    )  # fmt: skip
    made = np.sum([turning(simulation) for _ in range(8)], axis=0)
    velocity = simulation.state.touch.velocities.numpy()[0]
    assert velocity[2] > -0.3
    assert velocity[0] < 0.049  # by friction
    total = simulation.summary().momentum + box.total_mass * velocity
    np.testing.assert_allclose(total, box.total_mass * np.array([0.05, 0.0, -0.4]), atol=1e-11)
    np.testing.assert_allclose(made, 0.0, atol=1e-11)


@pytest.mark.filterwarnings("ignore::annelid.fem.contact.start.CoarseForContact")
def test_rims_of_cylinders_are_sharp_and_balls_are_not() -> None:
    post = Rigid(Cylinder(0.01, 0.05), position=(0.3, 0.0, 0.0))
    contacts = Contacts(block(), [post, Rigid(TIP, position=(-0.3, 0.0, 0.0))], fem.Contact(), wp.get_device("cpu"))
    assert (contacts.corners.owners == 0).sum() >= 16
    assert (contacts.corners.owners == 1).sum() >= 8


@pytest.mark.parametrize("of", ["box", "mesh"])
def test_edges_push_edges_and_none_passes_another(of: str) -> None:
    solid, device = block(), wp.get_device("cpu")  # its upper edge along y is at x = 0, z = 0.04
    over = 0.04 + 0.015 * np.sqrt(2.0) + 0.004
    shape = Box((0.05, 0.03, 0.03))
    rigid = Rigid(
        shape if of == "box" else shape.surface(),
        position=(-0.02, 0.01, over),
        rotation=turned_about("x", 0.25 * np.pi),
    )
    contacts = Contacts(solid, [rigid], fem.Contact(reach=0.006), device)
    assert len(contacts.edges) == 12
    places = wp.array(solid.nodes, dtype=wp.vec3d, device=device)
    contacts.begin(places, contacts.first_state(), 0.01, 0.01)
    contacts.follow(places)
    contacts.edges.evaluate(places)
    forces = contacts.edges.forces.numpy().reshape(-1, 3).sum(axis=0)
    assert forces[2] < 0.0
    np.testing.assert_allclose(sum(load.force for load in contacts.edges.loads_of()), -forces, rtol=1e-12)
    here = contacts.now.device_pose
    for rise, passes in ((0.003, True), (0.01, False)):
        step = wp.array(np.broadcast_to((0.0, 0.0, rise), solid.nodes.shape), dtype=wp.vec3d, device=device)
        part = contacts.edges.free_part(places, step, here, here)
        assert (part == 1.0) == passes
        assert part * rise < 0.004
    away = wp.array(np.broadcast_to((0.0, 0.0, -0.01), solid.nodes.shape), dtype=wp.vec3d, device=device)
    assert contacts.edges.free_part(places, away, here, here) == 1.0


def test_elements_that_are_nearly_flat_get_no_flatter() -> None:
    solid, device = block(), wp.get_device("cpu")
    contacts = Contacts(solid, [Rigid(TIP, position=(0.0, 0.0, 1.0))], fem.Contact(), device)
    flat = solid.nodes * (1.0, 1.0, 0.04)
    contacts.begin(wp.array(flat, dtype=wp.vec3d, device=device), contacts.first_state(), 0.01, 0.01)
    step = wp.array(flat * (0.0, 0.0, -0.9), dtype=wp.vec3d, device=device)
    for _ in range(4):
        places = wp.array(flat, dtype=wp.vec3d, device=device)
        flat = flat + contacts.free_part(places, step) * step.numpy()
    assert np.ptp(flat[:, 2]) > 0.95 * 0.04 * np.ptp(solid.nodes[:, 2])
