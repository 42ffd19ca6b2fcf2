"""Spheres on surface masses close the surface to grains."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from annelid import coupling, springs
from annelid.coupling.surface import _hole_reach, surface_neighbours
from annelid.shapes import Capsule, Sphere

from .conftest import block, box, dropped


def _widest_hole(corners: np.ndarray, radii: np.ndarray) -> float:
    """Half the width of the widest hole in triangles, by trying many of their points [m]."""
    weights = np.random.default_rng(0).dirichlet(np.ones(3), 400)
    weights = np.concatenate([weights, [[0.5, 0.5, 0.0], [0.5, 0.0, 0.5], [0.0, 0.5, 0.5]]])
    points = np.einsum("pk,tki->tpi", weights, corners)
    gaps = np.linalg.norm(points[:, :, None] - corners[:, None], axis=3) - radii[:, None]
    return float(gaps.min(axis=2).max())


@given(st.floats(0.2, 2.4), st.floats(1.0, 1.6))
def test_no_hole_is_wider_than_a_grain_at_rest_nor_lets_one_through_stretched(pitch: float, stretch: float) -> None:
    body = block(masses=3, pitch=pitch)
    radii = coupling.closing_radii(body, 1.0, stretch=stretch)
    corners = body.positions[body.triangles]
    assert 2.0 * _widest_hole(corners, radii[body.triangles]) <= 1.0 + 1e-9
    assert _widest_hole(stretch * corners, radii[body.triangles]) <= 0.85


@given(st.lists(st.floats(-1.0, 1.0), min_size=9, max_size=9))
def test_the_reach_of_holes_in_any_triangle(numbers: list[float]) -> None:
    corners = np.array(numbers).reshape(1, 3, 3)
    sampled = _widest_hole(corners, np.zeros((1, 3)))
    assert sampled <= _hole_reach(corners)[0] * (1.0 + 1e-6) + 1e-9


@pytest.mark.parametrize("shape", [Sphere(0.05), Capsule(0.03, 0.08, axis="x")])
def test_masses_inside_have_no_sphere_and_all_at_the_surface_do(shape: Sphere | Capsule) -> None:
    body = springs.lattice(shape, 0.01, "ecoflex-00-30")
    radii = coupling.closing_radii(body, 0.008)
    outside = np.isin(np.arange(body.mass_count), body.triangles)
    assert (radii[outside] > 0.0).all()
    assert not radii[~outside].any()
    assert (radii <= springs.contact_radii(body) * 1.15 + 1e-12).all()


def test_neighbours_are_mutual_and_name_themselves() -> None:
    body = block()
    members = np.unique(body.triangles)
    first, around = surface_neighbours(body, members)
    owner = np.repeat(np.arange(len(members)), np.diff(first))
    pairs = set(zip(owner.tolist(), around.tolist(), strict=True))
    assert all((b, a) in pairs for a, b in pairs)
    assert all((n, n) in pairs for n in range(len(members)))
    assert np.diff(first).min() >= 4


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
