"""What does not fit: lists that grow, grains that are too fast, and grains that start inside each other."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial import cKDTree

from annelid import grains
from annelid.core.errors import GrainsPushed, InvalidValue, SimulationDiverged, StepTooLong, UnknownName
from annelid.shapes import Plane, Rigid, Sphere, ground

RADIUS = 0.01


def ball_of(count: int, radius: float) -> np.ndarray:
    """Points spread evenly over a sphere."""
    k = np.arange(count) + 0.5
    z = 1.0 - 2.0 * k / count
    angle = np.pi * (1.0 + 5.0**0.5) * k
    flat = np.sqrt(1.0 - z * z)
    return radius * np.column_stack([flat * np.cos(angle), flat * np.sin(angle), z])


def test_lists_grow_when_a_grain_has_more_neighbours_than_room() -> None:
    small = ball_of(200, 0.0555)
    spots = np.concatenate([[[0.0, 0.0, 0.0]], small])
    radii = np.concatenate([[0.05], np.full(len(small), 0.005)])
    velocities = -0.2 * spots / np.maximum(np.linalg.norm(spots, axis=1, keepdims=True), 1e-9)
    bed = grains.Bed(spots, radii, grains.Grain(friction=0.0), velocities=velocities)
    # Ground out of reach, and a number of the world: with them, the kernels are those of another test.
    far, worlds = ground(height=-1.0), np.zeros(len(bed), np.int32)
    simulation = grains.simulation(
        bed, gravity=(0.0, 0.0, 0.0), dt=2e-4, obstacles=[far], world_of=worlds, device="cpu", threads=1
    )
    simulation.run(0.02)
    x = simulation.solver.readout.positions(simulation.state)
    distances = np.linalg.norm(x[1:] - x[0], axis=1)
    assert (distances > 0.98 * 0.055).all()  # none was lost on the way into the large one
    near = int((distances < 0.0556).sum())
    counts = simulation.state.counts.numpy()[:, 0]
    assert near > 100
    assert counts.max() >= near


def thrown(too_fast: str) -> tuple[grains.Bed, list[Rigid], dict[str, object]]:
    bed = grains.Bed(np.array([[0.0, 0.0, 0.5]]), RADIUS, velocities=np.array([[0.0, 0.0, -90.0]]))
    return bed, [Plane()], {"dt": 1e-3, "too_fast": too_fast, "device": "cpu", "threads": 1}


def test_a_grain_that_is_too_fast_is_named_once() -> None:
    bed, floor, options = thrown("warn")
    simulation = grains.simulation(bed, obstacles=floor, **options)
    with pytest.warns(StepTooLong, match=r"grain 0 .* too_fast='substep'") as caught:
        simulation.run(0.003)
    assert len(caught) == 1


def test_or_stops_the_simulation() -> None:
    bed, floor, options = thrown("stop")
    with pytest.raises(SimulationDiverged, match="shorter step"):
        grains.simulation(bed, obstacles=floor, **options).run(0.01)


def test_or_takes_shorter_steps_and_does_not_get_through() -> None:
    bed, floor, options = thrown("substep")
    simulation = grains.simulation(bed, obstacles=floor, **options)
    simulation.run(0.02)
    assert simulation.time == pytest.approx(0.02)
    assert simulation.solver.readout.positions(simulation.state)[0, 2] > 0.9 * RADIUS


def heap() -> tuple[grains.Bed, grains.World]:
    spots = np.array([[0.0, 0.0, 0.05], [0.0, 0.0, 0.062], [0.2, 0.0, 0.05], [0.05, 0.05, 0.05]])
    ball = Rigid(Sphere(0.03), position=(0.2, 0.0, 0.05), name="ball")
    return grains.Bed(spots, RADIUS), grains.World(obstacles=[Plane(), ball])


def test_grains_that_start_inside_each_other_are_refused_with_numbers() -> None:
    bed, world = heap()
    with pytest.raises(InvalidValue) as caught:
        grains.Model(bed, world=world, device="cpu")
    sentence = str(caught.value)
    assert "overlapping='push'" in sentence
    assert "1" in sentence


def test_or_pushed_apart() -> None:
    bed, world = heap()
    with pytest.warns(GrainsPushed, match=r"1 pair of grains starts .* 1 grain starts .* pushed apart, by up to 0.04"):
        model = grains.Model(bed, world=world, overlapping="push", device="cpu")
    x = model.bed.positions
    assert len(cKDTree(x).query_pairs(1.8 * RADIUS)) == 0
    assert np.linalg.norm(x[2] - [0.2, 0.0, 0.05]) > 0.03 + 0.8 * RADIUS
    assert np.allclose(x[3], bed.positions[3])  # what is apart stays


def test_or_left_as_they_are() -> None:
    bed, world = heap()
    assert np.allclose(grains.Model(bed, world=world, overlapping="allow", device="cpu").bed.positions, bed.positions)
    with pytest.raises(UnknownName, match="refuse"):
        grains.Model(bed, world=world, overlapping="ignore", device="cpu")


@pytest.mark.parametrize("too_fast", ["warn", "substep"])
def test_a_body_that_is_pulled_to_infinity_diverges_and_the_rest_goes_on_from_before(too_fast: str) -> None:
    bed = grains.Bed([[0.0, 0.0, RADIUS], [0.0, 0.05, RADIUS]], RADIUS)
    ball = Rigid(Sphere(0.01), motion="free", position=(0.0, 0.0, 0.1), name="ball")
    pull = grains.force_control("pull", ball, "x", low=-1e38, high=1e38)
    simulation = grains.simulation(
        bed, obstacles=[Plane(), ball], controls=[pull], too_fast=too_fast, device="cpu", threads=1
    )
    simulation.step(5)
    simulation.controls["pull"] = 1e38
    with pytest.raises(SimulationDiverged, match="diverged at step 6"):
        simulation.step(100)
    assert simulation.step_count == 5
    simulation.controls["pull"] = 0.0
    simulation.step(20)
    assert simulation.solver.readout.body_position(simulation.state, ball)[0] == 0.0


def test_what_spins_apart_is_called_by_its_name() -> None:
    bed = grains.Bed([[0.0, 0.0, RADIUS]], RADIUS)
    top = Rigid(Sphere(0.01), motion="free", position=(0.0, 0.0, 0.1), name="top")
    turn = grains.torque_control("turn", top, "z", low=0.0, high=1e14)
    simulation = grains.simulation(bed, obstacles=[Plane(), top], controls=[turn], device="cpu", threads=1)
    simulation.controls.command({"turn": 1e13}, ramp=1.0)
    with pytest.raises(SimulationDiverged, match="a Sphere named 'top', moves fastest, at .* a weaker force or torque"):
        simulation.step(2000)


def test_a_step_that_would_be_taken_as_millions_is_a_divergence() -> None:
    bed = grains.Bed([[0.0, 0.0, RADIUS]], RADIUS, velocities=[[1e8, 0.0, 0.0]])
    simulation = grains.simulation(bed, obstacles=[Plane()], dt=1e-3, too_fast="substep", device="cpu", threads=1)
    with pytest.raises(SimulationDiverged, match=r"taken as 2e\+07 smaller ones: grain 0 moves fastest, .* helps\.$"):
        simulation.step(3)
