"""Beds: packing reached, no overlap, wholly inside, the same again for a seed, refusals."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from annelid.core.errors import InvalidMesh, InvalidValue
from annelid.grains.apart import push_apart
from annelid.grains.filling import fill, jittered_lattice, pour
from annelid.grains.packing import overlaps, packing_fraction
from annelid.shapes import Box, Capsule, Cylinder, Shape, SignedDistanceGrid, Sphere, TriangleMesh

BOX = Box((0.3, 0.24, 0.2), center=(0.1, 0.2, 0.3))


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def volume_of(radii: np.ndarray) -> float:
    return float((4.0 / 3.0 * math.pi * radii**3).sum())


def require_bed(region: Shape, positions: np.ndarray, radii: np.ndarray, *, slack: float = 1e-12) -> None:
    """No overlap beyond a ten-millionth of a diameter, and nothing outside."""
    assert overlaps(positions, radii).deepest <= 1e-7
    assert (region.signed_distance(positions) + radii).max() <= slack


@pytest.mark.parametrize("packing", [0.1, 0.4, 0.55])
@pytest.mark.parametrize("region", [BOX, Cylinder(0.12, 0.3, axis=(1.0, 0.0, 2.0))], ids=["box", "cylinder"])
def test_equal_grains_reach_the_packing(region: Shape, packing: float, device: str) -> None:
    positions, radii = fill(region, 0.012, packing, device=device)
    require_bed(region, positions, radii)
    one = volume_of(radii[:1])
    assert packing * region.volume - one <= volume_of(radii) <= packing * region.volume


def test_a_deep_bed_is_as_dense_as_a_poured_one_in_its_bulk() -> None:
    box = Box((0.3, 0.3, 0.3))
    positions, radii = fill(box, 0.01, 0.58)
    require_bed(box, positions, radii)
    assert 0.585 < packing_fraction(positions, radii, box, top=0.15) < 0.635


def test_sizes_may_differ() -> None:
    positions, radii = fill(BOX, (0.005, 0.015), 0.55, seed=3)
    require_bed(BOX, positions, radii)
    assert radii.min() < 0.006
    assert radii.max() > 0.014
    positions, radii = fill(BOX, lambda g, n: g.lognormal(math.log(0.01), 0.2, n), 0.5)
    require_bed(BOX, positions, radii)


@pytest.mark.parametrize(
    "region",
    [Sphere(0.1).surface(48), Capsule(0.08, 0.1, axis="x"), Box((0.2, 0.2, 0.1)).surface()],
    ids=["ball", "capsule", "mesh"],
)
def test_any_closed_shape_is_filled(region: Shape) -> None:
    positions, radii = fill(region, 0.01, 0.45)
    require_bed(region, positions, radii, slack=1e-9)


def test_a_concave_mesh_is_filled() -> None:
    corners = np.array([(0, 0), (0.2, 0), (0.2, 0.08), (0.08, 0.08), (0.08, 0.2), (0, 0.2)])  # an L
    triangles = np.array([(0, 1, 2), (0, 2, 3), (0, 3, 5), (3, 4, 5)])
    low, high = np.insert(corners, 2, 0.0, axis=1), np.insert(corners, 2, 0.1, axis=1)
    i = np.arange(6)
    j = (i + 1) % 6
    sides = np.concatenate([np.stack([i, j, j + 6], 1), np.stack([i, j + 6, i + 6], 1)])
    mesh = TriangleMesh(np.concatenate([low, high]), np.concatenate([triangles[:, ::-1], triangles + 6, sides]))
    positions, radii = fill(mesh, 0.008, 0.4)
    require_bed(mesh, positions, radii, slack=1e-9)


def test_a_seed_gives_one_bed() -> None:
    first, again, other = (fill(BOX, 0.015, 0.5, seed=seed)[0] for seed in (7, 7, 8))
    assert (first == again).all()
    assert not (first == other).all()


def test_a_bed_is_not_a_lattice() -> None:
    """Distances from a grain to its nearest neighbour are spread, and no direction is preferred."""
    positions, _ = fill(BOX, 0.012, 0.4)
    pairs = overlaps(positions, 1.3 * 0.012).pairs
    direction = positions[pairs[:, 0]] - positions[pairs[:, 1]]
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    assert (direction**2).mean(axis=0) == pytest.approx(1.0 / 3.0, abs=0.06)
    assert (np.abs(direction).max(axis=1) > 0.999).mean() < 0.02


@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(1, 400), st.floats(0.004, 0.02), st.integers(0, 5))
def test_poured_grains_hang_apart_above_the_region(count: int, radius: float, seed: int) -> None:
    positions, radii = pour(BOX, count, (0.5 * radius, radius), seed=seed)
    assert len(positions) == count
    assert overlaps(positions, radii).count == 0
    assert (positions[:, 2] - radii).min() >= BOX.bounds()[1][2]
    low, high = BOX.bounds()
    assert (positions[:, :2] - radii[:, None] >= low[:2] - 1e-12).all()
    assert (positions[:, :2] + radii[:, None] <= high[:2] + 1e-12).all()


def test_pouring_follows_the_section_of_a_cylinder() -> None:
    cylinder = Cylinder(0.1, 0.3)
    positions, radii = pour(cylinder, 500, 0.01, height=1.0)
    assert (np.hypot(positions[:, 0], positions[:, 1]) + radii).max() <= 0.1 + 1e-12
    assert (positions[:, 2] - radii).min() >= 1.0


def test_the_case_of_ten_thousand_spheres() -> None:
    positions = jittered_lattice((20, 20, 25), 0.021, jitter=4e-4)
    assert positions.shape == (10_000, 3)
    assert overlaps(positions, 0.01).count == 0
    assert (positions[:, :2] >= 0.01).all()
    assert (positions[:, :2] <= 0.41).all()
    assert positions[1] - positions[0] == pytest.approx([0.0, 0.0, 0.021], abs=8e-4)


def test_pushing_apart_reports_and_mends(device: str) -> None:
    generator = np.random.default_rng(0)
    positions = generator.uniform(-0.1, 0.1, (600, 3))
    ball = Sphere(0.04)
    parted = push_apart(positions, 0.01, [ball], room=Box((0.3, 0.3, 0.3)), device=device)
    assert parted.overlaps.count == overlaps(positions, 0.01).count > 100
    assert parted.inside == int((np.linalg.norm(positions, axis=1) < 0.05).sum())
    assert parted.deepest_inside == pytest.approx(0.05 - np.linalg.norm(positions, axis=1).min())
    assert overlaps(parted.positions, 0.01).deepest < 1e-6
    assert ball.signed_distance(parted.positions).min() > 0.01 * (1.0 - 1e-6)
    assert Box((0.3, 0.3, 0.3)).signed_distance(parted.positions).max() < -0.01 * (1.0 - 1e-9)
    assert "grains stood in a body" in str(parted)


def test_bodies_may_be_meshes_grids_or_functions() -> None:
    positions = np.random.default_rng(1).uniform(-0.06, 0.06, (40, 3))
    box = Box((0.06, 0.06, 0.06))
    for body in (box.surface(), SignedDistanceGrid.bake(box, resolution=24, margin=0.05), box.signed_distance):
        parted = push_apart(positions, 0.008, [body])
        assert overlaps(parted.positions, 0.008).deepest < 1e-6
        assert box.signed_distance(parted.positions).min() > 0.0075


def test_what_is_apart_stays_where_it_is() -> None:
    positions = jittered_lattice((5, 5, 5), 0.03)
    parted = push_apart(positions, 0.01)
    assert (parted.positions == positions).all()
    assert (parted.overlaps.count, parted.inside, parted.moved) == (0, 0, 0.0)


def test_two_grains_in_one_place_part() -> None:
    parted = push_apart(np.zeros((2, 3)), 0.01)
    assert parted.overlaps.deepest == 1.0
    assert np.linalg.norm(parted.positions[0] - parted.positions[1]) >= 0.02 * (1.0 - 1e-6)


def test_bad_input_is_refused() -> None:
    with pytest.raises(InvalidValue, match="packing = 0.7 is more than"):
        fill(BOX, 0.01, 0.7)
    with pytest.raises(InvalidValue, match="packing = 0.6 is more than grains of this size"):
        fill(BOX, 0.02, 0.6)
    with pytest.raises(InvalidValue, match="packing = -1"):
        fill(BOX, 0.01, -1.0)
    with pytest.raises(InvalidValue, match="radius = nan"):
        fill(BOX, math.nan, 0.5)
    with pytest.raises(InvalidValue, match="more than 20000000"):
        fill(BOX, 1e-5, 0.5)
    with pytest.raises(InvalidValue, match="has room"):
        fill(BOX, 0.5, 0.5)
    with pytest.raises(InvalidMesh, match="open"):
        fill(TriangleMesh([(0, 0, 0), (1, 0, 0), (0, 1, 0)], [(0, 1, 2)]), 0.1, 0.3)
    with pytest.raises(InvalidValue, match="no grain of radius 0.2"):
        pour(BOX, 10, 0.2)
    with pytest.raises(InvalidValue, match="cannot be pushed apart"):
        push_apart(np.zeros((200, 3)), 0.03, room=Box((0.1, 0.1, 0.1)), rounds=5)
    with pytest.raises(InvalidValue, match="one for each of 2"):
        push_apart(np.zeros((2, 3)), [0.1, 0.1, 0.1])
    with pytest.raises(InvalidValue, match="400 finite numbers|finite numbers above 0"):
        fill(BOX, lambda g, n: np.zeros(3), 0.4)
