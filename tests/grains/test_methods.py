"""The methods beside the default: Hertz's collision, the paper's algorithm, and the paper's search for contacts."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial import cKDTree

from annelid import grains
from annelid.core.errors import InvalidValue, UnknownName
from annelid.core.simulation import Simulation
from annelid.grains.filling import jittered_lattice
from annelid.grains.linked import ARRANGEMENTS, LinkedHash
from annelid.shapes import box_walls

RADIUS = 0.01
APART = [3.0, 0.0, 0.0]  # where a grain of another size and kind waits, so that one kernel serves all collisions
ANOTHER = grains.Grain(restitution=0.3)


def collision(radii: tuple[float, float], speed: float, modulus: float) -> tuple[float, float, np.ndarray]:
    """Time in contact and deepest overlap, over Hertz's, and the velocities after a head-on collision."""
    material = grains.Grain(restitution=1.0, friction=0.0, youngs_modulus=modulus, poisson_ratio=0.25)
    gap = 1e-4
    spots = np.array([[0.0, 0.0, 0.0], [sum(radii) + gap, 0.0, 0.0], APART])
    velocities = np.array([[speed, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    bed = grains.Bed(
        spots, np.array([*radii, 0.015]), (material, ANOTHER), kinds=[0, 0, 1], velocities=velocities
    )  # fmt: skip
    effective = modulus / (2.0 * (1.0 - 0.25**2))
    mass = 1.0 / (1.0 / bed.masses[:2]).sum()
    radius = radii[0] * radii[1] / sum(radii)
    expected = 2.87 * (mass**2 / (radius * effective**2 * speed)) ** 0.2
    dt = expected / 400.0
    simulation = grains.simulation(bed, method="hertz", dt=dt, gravity=(0.0, 0.0, 0.0), device="cpu", threads=1)
    deepest, touching, before = 0.0, 0.0, -gap
    while simulation.time < gap / speed + 1.5 * expected:
        simulation.step()
        x = simulation.solver.readout.positions(simulation.state)
        depth = sum(radii) - float(np.linalg.norm(x[1] - x[0]))
        if depth > 0.0 or before > 0.0:  # the share of a step that lies in contact
            touching += dt * (max(depth, 0.0) + max(before, 0.0)) / (abs(depth) + abs(before))
        deepest, before = max(deepest, depth), depth
    depth = (15.0 * mass * speed**2 / (16.0 * effective * radius**0.5)) ** 0.4
    return touching / expected, deepest / depth, simulation.solver.readout.velocities(simulation.state)[:2]


@pytest.mark.parametrize(
    ("radii", "speed", "modulus"), [((0.01, 0.01), 1.0, 5e6), ((0.01, 0.02), 0.4, 5e7), ((0.01, 0.01), 0.05, 1e6)]
)
def test_hertz_collisions_last_and_press_as_long_and_deep_as_they_should(
    radii: tuple[float, float], speed: float, modulus: float
) -> None:
    duration, depth, velocities = collision(radii, speed, modulus)
    assert duration == pytest.approx(1.0, abs=0.01)
    assert depth == pytest.approx(1.0, abs=0.01)
    masses = np.array(radii) ** 3
    assert masses @ velocities[:, 0] == pytest.approx(masses[0] * speed, rel=1e-4)
    assert velocities[1, 0] - velocities[0, 0] == pytest.approx(speed, rel=0.01)


@pytest.mark.parametrize("restitution", [0.2, 0.5, 0.9])
def test_a_hertz_collision_keeps_the_restitution(restitution: float) -> None:
    material = grains.Grain(restitution=restitution, friction=0.0)
    spots, velocities = [[0.0, 0.0, 0.0], [0.0201, 0.0, 0.0], APART], [[0.5, 0.0, 0.0], [-0.5, 0.0, 0.0], [0.0] * 3]
    bed = grains.Bed(spots, [0.01, 0.01, 0.015], (material, ANOTHER), kinds=[0, 0, 1], velocities=velocities)
    options = {"method": "hertz", "dt": 2e-6, "gravity": (0.0, 0.0, 0.0)}
    simulation = grains.simulation(bed, device="cpu", threads=1, **options)  # type: ignore[arg-type]
    simulation.run(0.01)
    speeds = simulation.solver.readout.velocities(simulation.state)[:, 0]
    assert speeds[1] - speeds[0] == pytest.approx(restitution, rel=0.01)


def bed_by(method: str, **options: object) -> Simulation[grains.Solver]:
    spots = jittered_lattice((6, 6, 8), 2.1 * RADIUS, jitter=0.04 * RADIUS, seed=3)
    walls = box_walls((0.0, 0.0, 0.0), (12.6 * RADIUS, 12.6 * RADIUS, 1.0))
    bed = grains.Bed(spots, RADIUS, grains.Grain(friction=0.5))
    return grains.simulation(bed, obstacles=walls, method=method, device="cpu", threads=1, **options)  # type: ignore[arg-type]


def test_the_papers_algorithm_overlaps_more_than_ours() -> None:
    largest = {}
    for method in ("nonsmooth", "paper"):
        simulation = bed_by(method)
        simulation.run(0.5)
        largest[method] = simulation.solver.readout.overlap(simulation.state).largest
    assert largest["nonsmooth"] < 0.04
    assert 0.05 < largest["paper"] < 0.9  # no heap of coinciding grains either


@pytest.fixture(scope="module")
def pressed() -> Simulation[grains.Solver]:
    """A bed by Hertz, with a few hundred contacts that overlap."""
    simulation = bed_by("hertz")
    simulation.run(0.15)
    return simulation


@pytest.mark.parametrize("order", ARRANGEMENTS)
@pytest.mark.parametrize("size", [7, 300, 2000])
def test_the_linked_hash_finds_every_contact(pressed: Simulation[grains.Solver], order: str, size: int) -> None:
    table = LinkedHash(pressed.solver.model, pressed.state, size=size, order=order)
    table.search()
    rows = pressed.state.positions.numpy()[:-1, :3]
    pairs = cKDTree(rows).query_pairs(2.0 * RADIUS, output_type="ndarray")
    touching = np.linalg.norm(rows[pairs[:, 0]] - rows[pairs[:, 1]], axis=1) < np.float32(2.0 * RADIUS)
    found = table.found()
    assert touching.sum() > 100
    assert found.contacts == 2 * touching.sum()
    assert found.contacts < found.candidates
    counted = np.rint(table.changes.numpy()[:, 3])
    assert np.array_equal(counted, np.bincount(pairs[touching].ravel(), minlength=len(rows)))


def test_two_loops_and_two_kernels_answer_alike(pressed: Simulation[grains.Solver]) -> None:
    answers = []
    for order in ("two-loops", "two-kernels"):
        table = LinkedHash(pressed.solver.model, pressed.state, order=order)
        table.search()
        answers.append(table.changes.numpy())
    assert np.abs(answers[0][:, :3]).max() > 0.0
    assert np.allclose(answers[0], answers[1], atol=1e-4)


def test_a_hash_that_cannot_be_made_is_refused(pressed: Simulation[grains.Solver]) -> None:
    with pytest.raises(UnknownName, match="one-loop"):
        LinkedHash(pressed.solver.model, pressed.state, order="three-loops")
    with pytest.raises(InvalidValue, match="0"):
        LinkedHash(pressed.solver.model, pressed.state, size=0)


@pytest.mark.parametrize(
    ("method", "name"),
    [
        ("hertz", "rolling"),
        ("hertz", "cohesion"),
        ("paper", "restitution"),
        ("paper", "rolling"),
        ("paper", "cohesion"),
    ],
)
def test_what_a_method_would_leave_out_is_refused(method: str, name: str) -> None:
    bed = grains.Bed([[0.0, 0.0, 0.01]], 0.01, grains.Grain(**{name: 0.25}))
    with pytest.raises(InvalidValue, match=f"method='{method}' knows no {name}, and that of the grains is 0.25"):
        grains.simulation(bed, method=method, device="cpu")
