"""Spheres on surface masses and between them close the surface to grains."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from annelid import coupling, springs
from annelid.coupling.guests import Party
from annelid.coupling.holes import hole_reach
from annelid.coupling.surface import meeting_points
from annelid.shapes import Capsule, Sphere

from .conftest import block, box, dropped


def _widest_hole(corners: np.ndarray, radii: np.ndarray) -> float:
    """Half the width of the widest hole in triangles, by trying many of their points [m]."""
    weights = np.random.default_rng(0).dirichlet(np.ones(3), 400)
    weights = np.concatenate([weights, [[0.5, 0.5, 0.0], [0.5, 0.0, 0.5], [0.0, 0.5, 0.5]]])
    points = np.einsum("pk,tki->tpi", weights, corners)
    gaps = np.linalg.norm(points[:, :, None] - corners[:, None], axis=3) - radii[:, None]
    return float(gaps.min(axis=2).max())


@given(st.floats(0.2, 2.4), st.floats(1.0, 2.2))
def test_no_hole_is_wider_than_a_grain_at_rest_nor_lets_one_through_stretched(pitch: float, stretch: float) -> None:
    body = block(masses=3, pitch=pitch)
    points = meeting_points(body, 1.0, stretch=stretch)
    weights = np.random.default_rng(0).dirichlet(np.ones(3), 100)
    tried = np.einsum("pk,tki->tpi", weights, body.positions[body.triangles]).reshape(-1, 3)
    away = np.linalg.norm(tried[:, None] - points.mixed(body.positions)[None], axis=2)
    assert (away - points.radii).min(axis=1).max() <= 0.5 + 1e-9
    assert (stretch * away - points.radii).min(axis=1).max() <= 0.6 + 1e-9
    assert points.radii.max() <= 0.7  # a coarse surface that is to stretch much


@given(st.floats(0.2, 2.4))
def test_grains_meet_the_surface_through_the_masses(pitch: float) -> None:
    body = block(masses=3, pitch=pitch)
    assert abs(coupling.standoff(body, 1.0)) <= 0.021
    assert meeting_points(body, 1.0).radii.max() <= 0.15


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
    places = points.mixed(body.positions)
    assert np.allclose(points.weights.sum(axis=1), 1.0)
    assert len(np.unique(places.round(9), axis=0)) == len(points)
    # Each of the six faces has 3 x 3 squares, sides in three parts: vertices of a closed surface, by Euler's formula.
    triangles = 6 * 2 * (3 * 3) ** 2
    assert len(points) == 2 + triangles // 2
    on = points.weights[:, 0] == 1.0
    assert np.array_equal(np.sort(points.corners[on, 0]), np.unique(body.triangles))


def test_points_turn_with_the_corners_of_the_triangles_they_lie_on() -> None:
    body = block(masses=4, pitch=0.016)
    points = meeting_points(body, 0.01)
    sizes = np.diff(points.first)
    hung_on = (points.weights > 0.0).sum(axis=1)
    assert set(sizes[hung_on == 3]) == {3}
    assert set(sizes[hung_on == 2]) == {4}  # the corners of two triangles
    assert sizes[hung_on == 1].min() >= 4
    owner = np.repeat(np.arange(len(points)), sizes)
    around = set(zip(owner.tolist(), points.around.tolist(), strict=True))
    for corner in range(3):
        assert all((g, m) in around for g, m in enumerate(points.corners[:, corner].tolist()))


def test_guests_share_the_mass_of_the_surface() -> None:
    party = Party(block(masses=4, pitch=0.016), 0.01, 1.15)
    assert party.loads.sum() == pytest.approx(len(party))
    on_face = party.masses[party.points.weights[:, 0] == 1.0].min()
    assert on_face == pytest.approx(party.body.masses[0] / party.loads.max())
    assert 0.9 <= party.masses.sum() / party.body.masses[party.members].sum() <= 1.0 + 1e-9


def test_grains_shot_at_a_body_do_not_get_in(device: str) -> None:
    """Forty grains at 8 m/s against a held block, most of them across its holes."""
    body = block().moved((0.0, 0.0, 0.3))
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
    simulation = coupling.simulation(body, both, sand.walls(), device=device, threads=1, dt=1e-4, grain_dt=2e-4)
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
