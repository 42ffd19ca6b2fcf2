"""Discs, rods and spheres on surface masses and between them close the surface to grains, and make it smooth."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial import cKDTree

from annelid import coupling, grains, springs
from annelid.coupling.facets import axes_of, nearest
from annelid.coupling.guests import Guests
from annelid.coupling.holes import hole_reach
from annelid.coupling.surface import Points, meeting_points
from annelid.shapes import Capsule, Sphere, Surface

from .conftest import RADIUS, block, box, dropped


def _widest_hole(corners: np.ndarray, radii: np.ndarray) -> float:
    """Half the width of the widest hole in triangles, by trying many of their points [m]."""
    weights = np.random.default_rng(0).dirichlet(np.ones(3), 400)
    weights = np.concatenate([weights, [[0.5, 0.5, 0.0], [0.5, 0.0, 0.5], [0.0, 0.5, 0.5]]])
    points = np.einsum("pk,tki->tpi", weights, corners)
    gaps = np.linalg.norm(points[:, :, None] - corners[:, None], axis=3) - radii[:, None]
    return float(gaps.min(axis=2).max())


def _gaps(body: springs.Body, points: Points, tried: np.ndarray) -> np.ndarray:
    """Distance of places of the surface from the nearest of those discs, rods or spheres whose centres are near [m]."""
    centres = points.division.mixed(body.positions)
    near = cKDTree(centres).query(tried, k=min(12, len(centres)))[1]
    away = tried[:, None] - centres[near]
    axes = axes_of(body.positions, points.extents, points.spans)[near]
    away = away - nearest(away, axes, points.extents[near])
    return np.asarray(np.linalg.norm(away, axis=2).min(axis=1))


@settings(max_examples=30)
@given(st.floats(0.2, 4.5), st.floats(1.0, 2.2))
def test_no_hole_is_wider_than_a_grain_at_rest_nor_lets_one_through_stretched(pitch: float, stretch: float) -> None:
    body = block(masses=3, pitch=pitch)
    points = meeting_points(body, 1.0, stretch=stretch)
    weights = np.random.default_rng(0).dirichlet(np.ones(3), 100)
    tried = np.einsum("pk,tki->tpi", weights, body.positions[body.triangles]).reshape(-1, 3)
    gaps = _gaps(body, points, tried)
    assert gaps.max() <= 0.5
    assert stretch * gaps.max() <= 0.6
    assert points.radii.max() <= 0.1
    assert (points.radii + np.abs(points.extents)).max() <= 1.0 + 1e-9  # what cells hold


@settings(max_examples=30)
@given(st.floats(0.2, 4.5))
def test_grains_meet_the_surface_through_the_masses(pitch: float) -> None:
    body = block(masses=3, pitch=pitch)
    assert 0.0 <= coupling.standoff(body, 1.0) <= 0.021
    assert meeting_points(body, 1.0).radii.max() <= 0.05


@given(st.lists(st.floats(-1.0, 1.0), min_size=9, max_size=9))
def test_the_reach_of_holes_in_any_triangle(numbers: list[float]) -> None:
    corners = np.array(numbers).reshape(1, 3, 3)
    sampled = _widest_hole(corners, np.zeros((1, 3)))
    assert sampled <= hole_reach(corners)[0] * (1.0 + 1e-6) + 1e-9


@pytest.mark.parametrize("shape", [Sphere(0.05), Capsule(0.03, 0.08, axis="x")])
def test_masses_inside_have_no_sphere_and_all_at_the_surface_do(shape: Sphere | Capsule) -> None:
    body = springs.lattice(shape, 0.01, "ecoflex-00-30")
    radii = coupling.closing_radii(body, 0.008)
    outside = np.isin(np.arange(body.mass_count), body.triangles)
    assert (radii[outside] > 0.0).all()
    assert not radii[~outside].any()
    assert radii.max() <= 0.2 * 0.008


def test_points_are_on_and_between_masses_once_each() -> None:
    body = block(masses=4, pitch=0.016)
    points = meeting_points(body, 0.01)
    places = points.division.mixed(body.positions)
    assert np.allclose(points.division.weights.sum(axis=1), 1.0)
    assert len(np.unique(places.round(9), axis=0)) == len(points)
    # Each of the six faces has 3 x 3 squares, sides in two parts: vertices of a closed surface, by Euler's formula.
    triangles = 6 * 2 * (3 * 2) ** 2
    assert len(points) == 2 + triangles // 2
    on = points.division.weights[:, 0] == 1.0
    assert np.array_equal(np.sort(points.division.corners[on, 0]), np.unique(body.triangles))


def test_points_turn_with_the_corners_of_the_triangles_they_lie_on() -> None:
    body = block(masses=4, pitch=0.02)
    points = meeting_points(body, 0.01)
    sizes = np.diff(points.division.first)
    hung_on = (points.division.weights > 0.0).sum(axis=1)
    assert set(sizes[hung_on == 3]) == {3}
    assert set(sizes[hung_on == 2]) == {4}  # the corners of two triangles
    assert sizes[hung_on == 1].min() >= 4
    owner = np.repeat(np.arange(len(points)), sizes)
    around = set(zip(owner.tolist(), points.division.around.tolist(), strict=True))
    for corner in range(3):
        assert all((g, m) in around for g, m in enumerate(points.division.corners[:, corner].tolist()))


def test_guests_share_the_mass_of_the_surface() -> None:
    body = block(masses=4, pitch=0.016)
    guests = Guests(body, meeting_points(body, 0.01))
    assert guests.loads.sum() == pytest.approx(len(guests))
    on_face = guests.masses[guests.points.division.weights[:, 0] == 1.0].min()
    assert on_face == pytest.approx(guests.body.masses[0] / guests.loads.max())
    assert 0.9 <= guests.masses.sum() / guests.body.masses[guests.members].sum() <= 1.0 + 1e-9


def test_faces_are_discs_edges_rods_and_corners_spheres() -> None:
    body = block(masses=5, pitch=0.01).moved((0.0, 0.0, -0.02))
    points = meeting_points(body, 0.01)
    places, axes = points.division.mixed(body.positions), axes_of(body.positions, points.extents, points.spans)
    faces = np.abs(np.abs(places) - 0.02) < 1e-9
    disc, rod = points.extents > 0.0, points.extents < 0.0
    assert np.array_equal(disc, faces.sum(axis=1) == 1)
    assert np.array_equal(rod, faces.sum(axis=1) == 2)
    assert np.allclose(np.abs(axes[disc]), faces[disc])
    assert np.allclose(np.abs(axes[rod]), ~faces[rod])
    # None stands out beyond an edge.
    assert (np.abs(places)[disc] * ~faces[disc]).max() + points.extents.max() <= 0.02 + 1e-9
    assert (np.abs(places)[rod] * ~faces[rod]).max() - points.extents.min() <= 0.02 + 1e-9


@settings(max_examples=12)
@given(st.integers(1, 40))
def test_discs_stay_in_the_surface_of_round_bodies(seed: int) -> None:
    """A ball whose masses do not lie in planes: what is not flat has no disc, and none leans out of its triangles."""
    body = springs.lattice(Sphere(0.05), 0.01, "ecoflex-00-30")
    body.positions += 2e-3 * np.random.default_rng(seed).standard_normal(body.positions.shape)
    points = meeting_points(body, 0.012)
    rows, owners = points.division.place, points.division.owners
    corners = body.positions[body.triangles]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normals /= np.linalg.norm(normals, axis=1)[:, None]
    axes = axes_of(body.positions, points.extents, points.spans)
    disc = points.extents[rows] > 0.0
    lean = np.abs((axes[rows] * normals[owners]).sum(axis=1))[disc]
    assert lean.min() >= np.cos(np.radians(20.0))


def _plate(long: int) -> springs.Body:
    """A held plate whose lower face is 0.1 m above the ground."""
    body = springs.block((long, 5, 3), 0.012, mass=0.1, stiffness=600.0, damping=1.0)
    body = body.moved((-0.006 * (long - 1), -0.024, 0.1))
    body.fix()
    return body


@pytest.mark.parametrize("friction", [0.1, 0.5])
def test_a_grain_slides_over_a_face_as_over_a_plate(friction: float) -> None:
    """Without bumps it loses speed by friction alone, v = v0 - mu g t, until it rolls with 5/7 of its speed."""
    body = _plate(12)
    top, speed = float(body.positions[:, 2].max()), 0.4
    grain = grains.Grain(density=2650.0, friction=friction)
    start = np.array([[-0.05, 0.003, top + RADIUS + coupling.standoff(body, RADIUS)]])
    bed = grains.Bed(start, np.full(1, RADIUS), grain, velocities=np.array([[speed, 0.0, 0.0]]))
    simulation = coupling.simulation(
        body, bed, skin=Surface(friction=friction), device="cpu", threads=1, dt=1e-4, spring_dt=1e-4
    )
    rolls = 2.0 * speed / (7.0 * friction * 9.81)
    simulation.run(0.6 * rolls)
    sliding = _velocity(simulation)
    assert sliding[0] == pytest.approx(speed - 0.6 * rolls * friction * 9.81, rel=0.02)
    simulation.run(min(0.9 * rolls, 0.08))
    assert _velocity(simulation)[0] == pytest.approx(5.0 / 7.0 * speed, rel=0.02)
    assert abs(_velocity(simulation)[1:]).max() <= 0.02 * speed


@pytest.mark.parametrize("place", [(0.0, 0.0), (0.003, 0.001), (0.006, 0.006)])
def test_a_grain_bounces_rolls_and_sticks_as_on_a_plate(place: tuple[float, float]) -> None:
    """Discs overlap: what a grain feels must not depend on how many of them it lies on."""
    body = _plate(9)
    top = float(body.positions[:, 2].max()) + RADIUS + coupling.standoff(body, RADIUS)

    def alone(z: float, velocity: tuple[float, float, float], spin: float = 0.0, **answer: float) -> Any:
        bed = grains.Bed(
            np.array([[*place, z]]), np.full(1, RADIUS), grains.Grain(density=2650.0, **answer),
            velocities=np.array([velocity]), spins=np.array([[0.0, spin, 0.0]]),
        )  # fmt: skip
        return coupling.simulation(body, bed, skin=Surface(**answer), device="cpu", threads=1, dt=1e-4, spring_dt=1e-4)

    bouncing = alone(top + 0.01, (0.0, 0.0, -2.0), friction=0.3, restitution=0.8)
    bouncing.run(0.01)
    assert _velocity(bouncing)[2] == pytest.approx(0.8 * np.hypot(2.0, np.sqrt(2.0 * 9.81 * 0.01)), rel=0.05)
    assert np.abs(_velocity(bouncing)[:2]).max() <= 0.002
    rolling = alone(top, (0.3, 0.0, 0.0), 0.3 / RADIUS, friction=0.5, rolling=0.1)
    rolling.run(0.1)
    assert _velocity(rolling)[0] == pytest.approx(0.3 - 0.1 * 5.0 / 7.0 * 0.1 * 9.81, rel=0.01)
    weight = 4.0 / 3.0 * np.pi * RADIUS**3 * 2650.0 * 9.81
    bottom = 0.1 - RADIUS - coupling.standoff(body, RADIUS)
    for share in (0.8, 1.2):
        hanging = alone(bottom, (0.0, 0.0, 0.0), friction=0.5, cohesion=share * weight)
        hanging.run(0.08)
        fallen = bottom - hanging.solver.readout.grain_positions(hanging.state)[0, 2]
        assert fallen < 0.1 * RADIUS if share > 1.0 else fallen > 0.5 * RADIUS


def test_discs_do_not_reach_over_edges_of_graded_surfaces() -> None:
    """Narrow rows of masses beside wide ones: a grain that falls closely past the edge touches nothing."""
    columns = np.array([-0.044, -0.022, 0.0, 0.002, 0.004])
    body = springs.block((5, 5, 5), 0.01, mass=0.1, stiffness=600.0)
    body.positions[:, 0] = columns[np.rint(body.positions[:, 0] / 0.01).astype(int)]
    body.fix()
    points = meeting_points(body, 0.01)
    places, axes = points.division.mixed(body.positions), axes_of(body.positions, points.extents, points.spans)
    top = (points.extents > 0.0) & (np.abs(axes[:, 2]) > 0.99)
    assert (places[top, 0] + points.extents[top]).max() <= 0.004 + 2e-4


def _velocity(simulation: Any) -> np.ndarray:
    return np.asarray(simulation.solver.readout.grain_velocities(simulation.state))[0]


@pytest.mark.parametrize(("masses", "pitch"), [(5, 0.016), (3, 0.045)])
def test_grains_shot_at_a_body_do_not_get_in(device: str, masses: int, pitch: float) -> None:
    """Forty grains at 8 m/s against a held block, most of them between its masses."""
    body = block(masses, pitch).moved((0.0, 0.0, 0.3))
    body.fix()
    sand = box()
    bed = sand.bed()
    height = body.bounds()[1][2] + 0.05
    spots = np.stack(np.meshgrid(np.linspace(-0.03, 0.03, 3), np.linspace(-0.03, 0.03, 3)), axis=-1).reshape(-1, 2)
    shots = np.column_stack([np.tile(spots, (4, 1)) + 0.004, height + 0.03 * np.repeat(np.arange(4), 9)])
    more = bed.copy(
        positions=shots, radii=np.full(36, 0.01), kinds=np.zeros(36), velocities=np.tile([0.0, 0.0, -8.0], (36, 1)),
        spins=np.zeros((36, 3)),
    )  # fmt: skip
    both = bed.copy(**{n: np.concatenate([getattr(bed, n), getattr(more, n)]) for n in
                       ("positions", "radii", "kinds", "velocities", "spins")})  # fmt: skip
    simulation = coupling.simulation(
        body, both, obstacles=sand.walls(), device=device, threads=1, dt=2e-4, spring_dt=1e-4
    )
    for _ in range(8):
        simulation.run(0.005)
        assert len(simulation.solver.readout.grains_inside(simulation.state)) == 0


def test_a_body_pressed_into_the_bed_stays_closed() -> None:
    body = block(stiffness=600.0).moved((0.0, 0.0, 0.1))
    body.push(body.positions[:, 2] > body.positions[:, 2].max() - 1e-6, (0.0, 0.0, -150.0))
    simulation = dropped(body, box(), inside="remove")
    for _ in range(4):
        simulation.run(0.05)
        assert len(simulation.solver.readout.grains_inside(simulation.state)) == 0
