"""Solids that touch other solids, and themselves: pieces of one mesh, and a ring that is squeezed flat."""

from typing import Any

import numpy as np
import pytest
import warp as wp

from annelid import fem
from annelid.core.errors import InvalidValue
from annelid.core.simulation import Simulation
from annelid.fem.contact.candidates import Candidates
from annelid.fem.contact.contacts import Contacts
from annelid.fem.contact.coupled import CoupledSolver
from annelid.fem.contact.state import TouchingItself
from annelid.fem.contact.surface import outer_faces
from annelid.shapes import Box, Rigid, Surface, TetMesh, ground, tet_beam

from .bodies import SOFT, angular_momentum, block, turning, velocity
from .intersections import own_crossings


def two_blocks(gap: float = 0.025, *, turn: float = 0.0, friction: float = 0.5) -> tuple[fem.Solid, int]:
    """A smaller block above a larger one, a gap between them; and how many nodes the larger one has."""
    lower, upper = block().mesh, block((0.05, 0.05, 0.04)).mesh.rotated((1.0, 0.5, 0.2), turn)
    assert isinstance(lower, TetMesh)
    assert isinstance(upper, TetMesh)
    upper = upper.moved(np.array([0.01, 0.02, 0.04 + gap]) - upper.nodes.min(axis=0))
    return fem.Solid(lower + upper, SOFT, surface=Surface(friction=friction)), len(lower.nodes)


def own_forces(simulation: Simulation[fem.Solver]) -> np.ndarray:
    """Force of the surface on each node [N], shape [n, 3]."""
    return np.asarray(simulation.solver.readout.own_forces(simulation.state))


def ring() -> TetMesh:
    """A strip bent to a ring with a gap."""
    strip = tet_beam(1.0, 0.015, 0.008, cells=(16, 1, 1))
    along, across, up = (strip.nodes - strip.nodes.min(axis=0)).T
    angle, radius = 0.4 + (2.0 * np.pi - 0.8) * along, 0.03 + up
    nodes = np.stack([radius * np.cos(angle), across, -radius * np.sin(angle)], axis=1)
    return TetMesh(nodes, strip.tetrahedra, cells=strip.cells)


def test_a_block_dropped_on_another_rests_there_with_its_weight() -> None:
    solid, first = two_blocks()
    simulation = fem.simulation(solid, obstacles=[ground()], velocity_damping=20.0, dt=0.02, device="cpu", threads=1)
    simulation.step(16)
    forces, weight = own_forces(simulation), 9.81 * 1000.0 * 0.05 * 0.05 * 0.04
    np.testing.assert_allclose(forces[first:].sum(axis=0), [0.0, 0.0, weight], atol=1e-3 * weight)
    simulation.sensors.add("upper", fem.self_contact_force_on(np.arange(first, solid.node_count)))
    np.testing.assert_allclose(simulation.sensors["upper"][0], forces[first:].sum(axis=0), atol=1e-6)
    np.testing.assert_allclose(forces.sum(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(velocity(simulation), 0.0, atol=1e-4)
    ground_force = simulation.state.touch.forces.numpy().sum(axis=0)[2]
    assert ground_force == pytest.approx(9.81 * simulation.summary().mass, rel=1e-3)
    assert own_crossings(simulation.positions(), outer_faces(solid)) == 0


def distances(pairs: Candidates, x: np.ndarray) -> np.ndarray:
    """Least distance of each pair [m], among points of both sides, a little more than the true one."""
    s, t = (each.ravel() for each in np.meshgrid(*2 * [np.linspace(0.0, 1.0, 8)]))
    inside = s + t <= 1.0
    corners = np.stack([1.0 - s - t, s, t], axis=1)[inside]
    ends = np.stack([1.0 - np.linspace(0.0, 1.0, 8), np.linspace(0.0, 1.0, 8)], axis=1)
    found = np.zeros(len(pairs.nodes))
    for row, nodes in enumerate(pairs.nodes):
        one, two = (x[nodes[:1]], corners @ x[nodes[1:]]) if row < pairs.edges_from else (
            ends @ x[nodes[:2]], ends @ x[nodes[2:]]
        )  # fmt: skip
        found[row] = np.linalg.norm(one[:, None] - two[None], axis=2).min()
    return found


@pytest.mark.parametrize("seed", range(3))
def test_no_pair_that_touches_on_a_way_is_missed_and_few_that_do_not_are_kept(seed: int) -> None:
    solid, _ = two_blocks(0.002)
    faces, reach, rng = outer_faces(solid), 0.003, np.random.default_rng(seed)
    few, all_near = (Candidates(faces, far, wp.get_device("cpu")) for far in (reach, 0.012))
    step = np.array([0.03, 0.0, -0.02]) + rng.normal(0.0, 0.002, solid.nodes.shape)
    off = np.clip(rng.normal(0.0, 0.2 * reach, solid.nodes.shape), -0.25 * reach, 0.25 * reach)
    few.cover(solid.nodes, step)
    assert not few.cover(solid.nodes + 0.3 * step + [0.0, 0.5, 0.0], None)
    kept = few.keys
    for part in (0.0, 0.5, 1.0):
        x = solid.nodes + part * step + off
        assert not few.cover(x, None)
        all_near.cover(x, None)
        touching = all_near.keys[distances(all_near, x) < reach]
        assert len(touching) > 0
        assert np.isin(touching, kept).all()
    assert len(kept) < 0.5 * len(all_near.keys)
    few.forget()
    few.cover(two_blocks(0.05)[0].nodes, None)
    assert len(few.keys) == 0


def test_forces_of_pairs_are_slopes_of_their_energy_and_have_no_moment() -> None:
    solid, first = two_blocks(turn=0.1)
    contacts = Contacts(solid, [], fem.Contact(reach=0.012), wp.get_device("cpu"))
    pairs, start, rng = contacts.pairs, contacts.first_state(), np.random.default_rng(3)
    assert pairs is not None
    assert isinstance(start, TouchingItself)
    here = solid.nodes.copy()
    here[first:, 2] -= 0.019
    there = wp.array(here, dtype=wp.vec3d, device="cpu")
    slid = here - 1e-3 * rng.normal(size=here.shape)
    slid[first:, 0] -= 2e-3
    pairs.begin(wp.array(slid, dtype=wp.vec3d, device="cpu"), start)
    pairs.follow(there)

    def at(positions: np.ndarray) -> tuple[float, np.ndarray]:
        pairs.evaluate(wp.array(positions, dtype=wp.vec3d, device="cpu"))
        forces = np.zeros_like(positions)
        forces[pairs.numbers] = pairs.forces.numpy()[:, 0]
        return float(pairs.energy.numpy().sum()), forces

    forces = at(here)[1]
    across = np.abs(forces[first:].sum(axis=0)[:2]).max()
    total = np.abs(forces).sum()
    assert across > 0.02 * total  # friction
    np.testing.assert_allclose(forces.sum(axis=0), 0.0, atol=1e-14 * total)
    np.testing.assert_allclose(np.cross(here, forces).sum(axis=0), 0.0, atol=1e-15 * total)
    for _ in range(3):
        way = 1e-7 * rng.normal(size=here.shape)
        slope = at(here + way)[0] - at(here - way)[0]
        assert slope == pytest.approx(-2.0 * float((forces * way).sum()), rel=1e-4)


def test_two_solids_that_collide_keep_their_momenta_and_no_energy_grows() -> None:
    solid, first = two_blocks(turn=0.7)
    simulation = fem.simulation(
        solid, gravity=(0.0, 0.0, 0.0), dt=0.01, settings=fem.Settings(1e-11, 40), device="cpu", threads=1
    )
    start = np.zeros((solid.node_count, 3))
    start[first:] = (0.1, 0.0, -1.0)
    simulation.state.velocities.assign(start)
    momentum, energy = simulation.summary().momentum, simulation.summary().kinetic
    turns = np.linalg.norm(angular_momentum(simulation))
    for _ in range(6):
        assert np.linalg.norm(turning(simulation)) < 1e-9 * turns
        now = simulation.summary()
        np.testing.assert_allclose(now.momentum, momentum, atol=1e-13)
        assert now.kinetic + now.elastic <= energy * (1.0 + 1e-12)
        assert own_crossings(simulation.positions(), outer_faces(solid)) == 0
        energy = now.kinetic + now.elastic
    assert simulation.velocities()[:first, 2].mean() < -0.1


def test_a_block_sticks_to_another_on_a_slope_without_creep_and_slides_without_friction() -> None:
    slope = np.deg2rad(15.0)
    pull = (9.81 * np.sin(slope), 0.0, -9.81 * np.cos(slope))
    paths = []
    for friction in (0.5, 0.0):
        solid, first = two_blocks(0.012, friction=friction)
        solid.fix(lambda p: p[:, 2] < 1e-9)
        simulation = fem.simulation(solid, gravity=pull, velocity_damping=20.0, dt=0.02, device="cpu", threads=1)
        simulation.step(25)
        before = simulation.positions()[first:, 0].mean()
        simulation.step(3)
        paths.append(abs(simulation.positions()[first:, 0].mean() - before))
    assert paths[0] < 1e-7
    assert paths[1] > 1e-3


def test_a_squeezed_ring_does_not_cross_itself_and_no_element_inverts() -> None:
    solid = fem.Solid(ring(), SOFT)
    plate = Box((0.1, 0.05, 0.02))
    jaws = [
        Rigid(plate, position=(0.0, 0.0075, 0.053 * side), motion="driven", velocity=(0.0, 0.0, -0.4 * side))
        for side in (-1.0, 1.0)
    ]
    simulation = fem.simulation(
        solid, obstacles=jaws, contact=fem.Contact(itself=True), gravity=(0.0, 0.0, 0.0), dt=0.005, device="cpu",
        threads=1,
    )  # fmt: skip
    rest = solid.nodes[solid.elements]
    volumes, faces = np.linalg.det(rest[:, 1:] - rest[:, :1]), outer_faces(solid)
    most = 0.0
    for _ in range(14):
        simulation.step()
        corners = simulation.positions()[solid.elements]
        assert (np.linalg.det(corners[:, 1:] - corners[:, :1]) / volumes).min() > 0.05
        assert own_crossings(simulation.positions(), faces) == 0
        most = max(most, float(np.abs(own_forces(simulation)).max()))
    assert most > 0.01


def test_iterations_and_elimination_solve_the_same_equations() -> None:
    ends = []
    for few in (600, 0):
        solid, _ = two_blocks(0.012)
        simulation = fem.simulation(
            solid, obstacles=[ground()], velocity_damping=20.0, dt=0.02, device="cpu", threads=1
        )
        contacts = simulation.solver.contacts
        assert contacts is not None
        assert contacts.pairs is not None
        contacts.pairs.few = few
        simulation.step(4)
        linear = simulation.solver.newton.linear
        assert isinstance(linear, CoupledSolver)
        assert (linear.last_iterations > 0) == (few == 0)
        ends.append(simulation.positions())
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-7)


def test_one_piece_touches_itself_only_when_told() -> None:
    contacts = fem.simulation(block(), obstacles=[ground()], device="cpu", threads=1).solver.contacts
    assert contacts is not None
    assert contacts.pairs is None
    solid, _ = two_blocks()
    alone = fem.simulation(solid, contact=fem.Contact(itself=False), device="cpu", threads=1)
    assert alone.solver.contacts is None


def test_walls_of_a_chamber_that_collapses_touch_and_do_not_cross() -> None:
    mesh = tet_beam(0.04, 0.03, 0.012, cells=(4, 4, 5))
    middles = np.abs(mesh.nodes[mesh.tetrahedra].mean(axis=1) - mesh.nodes.mean(axis=0))
    mesh = TetMesh(mesh.nodes, mesh.tetrahedra[(middles > (0.01, 0.0075, 0.0012)).any(axis=1)])
    (cavity,) = mesh.cavities()
    air = fem.Pneumatic(name="air", pressure=(-5e4, 0.0))
    crossed = []
    for itself in (False, True):
        solid = fem.Solid(mesh, SOFT).fix(lambda p: p[:, 0] < p[:, 0].min() + 1e-9)
        contact = fem.Contact(itself=itself)
        still = fem.simulation(
            solid, dt=0.01, gravity=(0.0, 0.0, 0.0), actuators=[air], contact=contact, device="cpu", threads=1
        )
        still.controls["air"] = -3e4
        still.step(2)
        crossed.append(own_crossings(still.positions(), cavity))
    assert crossed[0] > 0
    assert crossed[1] == 0
    assert own_forces(still)[np.unique(cavity)].any()
    assert still.solver.contacts is not None
    assert still.solver.contacts.pairs is not None
    nodes, walls = still.solver.contacts.pairs.candidates.nodes, np.isin(np.arange(len(mesh.nodes)), cavity)
    assert (walls[nodes].all(axis=1) | ~walls[nodes].any(axis=1)).all()  # none through a wall


def test_pieces_that_begin_in_or_too_near_each_other_are_refused() -> None:
    wrong: Any = "yes"
    with pytest.raises(InvalidValue, match=r"crosses itself at rest, near \(.*itself=False"):
        fem.simulation(two_blocks(-0.01, turn=0.3)[0], device="cpu")
    with pytest.raises(InvalidValue, match=r"begin too near, .* a gap of 0.001 m, where contact begins at 0.0"):
        fem.simulation(two_blocks(0.001)[0], device="cpu")
    with pytest.raises(InvalidValue, match="itself of a contact must be True, False or None"):
        fem.Contact(itself=wrong)


def test_a_shaken_beam_with_a_block_on_it_goes_on_to_the_bit(tmp_path: Any) -> None:
    def shaken(times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.outer(0.005 * np.sin(20.0 * times), (0.0, 0.0, 1.0)), np.tile((0.0, 0.0, 0.0, 1.0), (len(times), 1))

    def laden(worlds: int | None = None) -> Simulation[fem.Solver]:
        beam, load = tet_beam(0.06, 0.015, 0.015, cells=(3, 1, 1)), tet_beam(0.02, 0.015, 0.015, cells=(1, 1, 1))
        solid = fem.Solid(beam + load.moved((0.03, 0.0, 0.021)), "dragon-skin-10/ogden", surface=Surface(friction=0.6))
        solid.fix(lambda p: p[:, 0] < 1e-9, motion=shaken)
        return fem.simulation(solid, dt=5e-3, velocity_damping=3.0, worlds=worlds, device="cpu", threads=1)

    simulation, other, worlds = laden(), laden(), laden(worlds=2)
    simulation.step(3)
    simulation.save(tmp_path / "state")
    simulation.step(3)
    other.load(tmp_path / "state")
    other.step(3)
    np.testing.assert_array_equal(other.positions(), simulation.positions())
    worlds.step(6)
    for world in range(2):
        own = worlds.solver.world(worlds.state, world)
        np.testing.assert_array_equal(own.positions.numpy(), simulation.positions())
