"""Triangle meshes: checks, closedness, volume, transforms and repair."""

from __future__ import annotations

import contextlib
import copy
import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from annelid.core.errors import InvalidMesh, InvalidValue
from annelid.shapes import Box, Capsule, Cylinder, Sphere, TriangleMesh

pytestmark = pytest.mark.filterwarnings("ignore::annelid.core.errors.MeshRepaired")  # test_parts looks for them

CUBE = Box((1.0, 1.0, 1.0)).surface()


def joined(*meshes: TriangleMesh) -> TriangleMesh:
    starts = np.cumsum([0] + [len(mesh.vertices) for mesh in meshes[:-1]])
    triangles = [mesh.triangles + start for mesh, start in zip(meshes, starts, strict=True)]
    return TriangleMesh(np.concatenate([mesh.vertices for mesh in meshes]), np.concatenate(triangles))


def soup(mesh: TriangleMesh) -> TriangleMesh:
    """The same triangles, each with corners of its own, as in an STL file."""
    return TriangleMesh(mesh.vertices[mesh.triangles].reshape(-1, 3), np.arange(mesh.triangles.size).reshape(-1, 3))


def turned_at_random(mesh: TriangleMesh, seed: int) -> TriangleMesh:
    flip = np.random.default_rng(seed).random(len(mesh.triangles)) < 0.5
    return TriangleMesh(mesh.vertices, np.where(flip[:, None], mesh.triangles[:, ::-1], mesh.triangles))


# What a mesh is


def test_volume_area_and_bounds_of_a_cube() -> None:
    assert pytest.approx(1.0) == CUBE.volume
    assert pytest.approx(6.0) == CUBE.area
    assert np.array_equal(CUBE.bounds(), [[-0.5] * 3, [0.5] * 3])
    assert CUBE.surface() is CUBE
    assert repr(CUBE) == "TriangleMesh(8 vertices, 12 triangles)"


def test_an_inside_out_mesh_is_turned() -> None:
    turned = TriangleMesh(CUBE.vertices, CUBE.triangles[:, ::-1])
    assert turned.volume == pytest.approx(1.0)
    assert turned.contains([[0.0, 0.0, 0.0], [0.0, 0.0, 0.6]]).tolist() == [True, False]


def test_volume_does_not_depend_on_the_place() -> None:
    assert CUBE.moved((1e4, -1e4, 1e4)).volume == pytest.approx(1.0, rel=1e-9)


def test_unused_vertices_do_not_count_as_extent() -> None:
    mesh = TriangleMesh(np.concatenate([CUBE.vertices, [[9.0, 9.0, 9.0]]]), CUBE.triangles)
    assert np.array_equal(mesh.bounds(), CUBE.bounds())


def test_arrays_are_copied_and_cannot_be_written() -> None:
    vertices = CUBE.vertices.copy()
    mesh = TriangleMesh(vertices, CUBE.triangles)
    vertices[:] = 0.0
    assert mesh.volume == pytest.approx(1.0)
    with pytest.raises(ValueError, match="read-only"):
        mesh.vertices[0] = 0.0


def test_a_used_mesh_can_be_copied_and_pickled() -> None:
    CUBE.contains([[0.0, 0.0, 0.0]])
    for other in (copy.deepcopy(CUBE), pickle.loads(pickle.dumps(CUBE))):
        assert np.array_equal(other.vertices, CUBE.vertices)
        assert np.array_equal(other.triangles, CUBE.triangles)


@pytest.mark.parametrize(
    ("vertices", "triangles", "sentence"),
    [
        ([[0, 0, 0], [1, 0, 0], [0, math.nan, 0]], [[0, 1, 2]], "1 of 3 vertices .* vertex 2 at \\(0, nan, 0\\)"),
        ([[0, 0, 0], [1, 0, 0], [0, 1e40, 0]], [[0, 1, 2]], "above 1e\\+30 m"),
        ([[0, 0], [1, 0], [0, 1]], [[0, 1, 2]], "shape \\[n, 3\\]"),
        ("mesh", [[0, 1, 2]], "shape \\[n, 3\\]"),
        ([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [], "empty"),
        ([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 3]], "triangle 0 is \\[0, 1, 3\\].* vertices 0 to 2"),
        ([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, -1]], "triangle 0"),
        ([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0.5, 1.0, 2.0]], "integers"),
        ([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [0, 1, 2], "integers of shape \\[m, 3\\]"),
    ],
)
def test_arrays_that_are_no_mesh_are_refused(vertices, triangles, sentence: str) -> None:
    with pytest.raises(InvalidMesh, match=sentence):
        TriangleMesh(vertices, triangles)


# Closedness


def test_an_open_mesh_names_its_edges_and_the_remedy() -> None:
    mesh = TriangleMesh(CUBE.vertices, CUBE.triangles[1:])
    assert not mesh.is_closed
    assert sorted(map(tuple, mesh.open_edges())) == sorted(
        tuple(sorted(pair)) for pair in zip(CUBE.triangles[0], np.roll(CUBE.triangles[0], -1), strict=True)
    )
    with pytest.raises(InvalidMesh) as caught:
        mesh.require_closed()
    sentence = str(caught.value)
    assert "3 edges are open" in sentence
    assert "(-0.5, -0.5, -0.5) to (-0.5, -0.5, 0.5)" in sentence
    assert "mesh.repaired()" in sentence
    assert "repair=True" in sentence
    for use in (lambda: mesh.volume, lambda: mesh.signed_distance([[0.0, 0.0, 0.0]])):
        with pytest.raises(InvalidMesh, match="3 edges are open"):
            use()


def test_a_surface_whose_edges_have_four_triangles_is_not_said_to_be_open() -> None:
    thrice = np.concatenate([CUBE.triangles, CUBE.triangles[[0, 0]]])
    with pytest.raises(InvalidMesh, match="has no clear inside: 3 edges are shared by more than two triangles"):
        TriangleMesh(CUBE.vertices, thrice).require_closed()


def test_a_fin_and_a_flipped_triangle_are_told_apart() -> None:
    fin = TriangleMesh(
        np.concatenate([CUBE.vertices, [[2.0, 2.0, 2.0]]]), np.concatenate([CUBE.triangles, [[0, 1, 8]]])
    )
    with pytest.raises(InvalidMesh, match="2 edges are open, 1 edge is shared by more than two triangles"):
        fin.require_closed()
    flipped = CUBE.triangles.copy()
    flipped[4] = flipped[4, ::-1]
    with pytest.raises(InvalidMesh, match="has no clear inside: 3 edges are between triangles that face opposite ways"):
        TriangleMesh(CUBE.vertices, flipped).require_closed()


def test_cubes_that_share_an_edge_are_closed(hinged) -> None:
    mesh = hinged.mesh()
    assert mesh.require_closed() is mesh
    assert mesh.volume == pytest.approx(0.25)


def test_a_cavity_is_not_part_of_the_volume(hollow) -> None:
    assert hollow.mesh().volume == pytest.approx(1.0 - 0.125)


def test_a_sheet_folded_back_on_itself_is_no_solid() -> None:
    sheet = TriangleMesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2], [0, 2, 1]])
    assert sheet.is_closed
    with pytest.raises(InvalidMesh, match="encloses no volume"):
        sheet.require_closed()


# Transforms


@given(st.tuples(*[st.floats(-3.0, 3.0)] * 3), st.floats(-7.0, 7.0), st.sampled_from(["x", "y", "z", (1.0, -2.0, 0.5)]))
def test_moving_and_turning_keep_volume_and_distances(offset, angle: float, axis) -> None:
    mesh = Cylinder(0.3, 1.0).surface(12)
    moved = mesh.rotated(axis, angle, about=offset).moved(offset)
    assert moved.volume == pytest.approx(mesh.volume)
    edges = [
        np.linalg.norm(m.vertices[m.triangles[:, 0]] - m.vertices[m.triangles[:, 1]], axis=1) for m in (mesh, moved)
    ]
    assert edges[0] == pytest.approx(edges[1])


def test_turning_is_right_handed_about_a_point() -> None:
    turned = CUBE.moved((2.0, 0.0, 0.0)).rotated("z", math.pi / 2)
    assert np.mean(turned.bounds(), axis=0) == pytest.approx([0.0, 2.0, 0.0])
    turned = CUBE.rotated("x", math.pi, about=(0.0, 1.0, 0.0))
    assert np.mean(turned.bounds(), axis=0) == pytest.approx([0.0, 2.0, 0.0])


def test_scaling_by_one_factor_and_by_three() -> None:
    assert CUBE.scaled(2.0).volume == pytest.approx(8.0)
    assert CUBE.scaled((1.0, 2.0, 3.0), about=(0.5, 0.5, 0.5)).bounds()[1] == pytest.approx([0.5, 0.5, 0.5])


def test_a_mirrored_mesh_still_faces_outwards() -> None:
    mirrored = Capsule(0.3, 1.0, center=(1.0, 0.0, 0.0)).surface(12).scaled((-1.0, 1.0, 1.0))
    assert mirrored.volume > 0.0
    assert mirrored.contains([[-1.0, 0.0, 0.0], [1.0, 0.0, 0.0]]).tolist() == [True, False]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda: CUBE.moved((0.0, math.nan, 0.0)), "offset"),
        (lambda: CUBE.rotated("x", math.inf), "angle = inf"),
        (lambda: CUBE.rotated("q", 1.0), "axis = 'q'"),
        (lambda: CUBE.scaled(0.0), "factor = 0.0"),
        (lambda: CUBE.scaled((1.0, math.nan, 1.0)), "factor"),
    ],
)
def test_transforms_refuse_what_they_cannot_do(change, sentence: str) -> None:
    with pytest.raises(InvalidValue, match=sentence):
        change()


# Repair


def test_repair_leaves_a_good_mesh_as_it_is() -> None:
    mesh = CUBE.repaired()
    assert np.array_equal(mesh.vertices, CUBE.vertices)
    assert np.array_equal(mesh.triangles, CUBE.triangles)


@pytest.mark.parametrize("gone", [1, 2])
def test_repair_fills_flat_holes_exactly(gone: int) -> None:
    assert TriangleMesh(CUBE.vertices, CUBE.triangles[gone:]).repaired().volume == pytest.approx(1.0)


def test_repair_cuts_off_a_missing_corner() -> None:
    kept = CUBE.triangles[(CUBE.triangles != 7).all(axis=1)]
    mesh = TriangleMesh(CUBE.vertices, kept).repaired()
    assert 0.4 < mesh.volume < 1.0


def test_repair_fills_the_end_of_a_tube() -> None:
    cylinder = Cylinder(0.5, 2.0).surface(32)
    lidless = TriangleMesh(cylinder.vertices, cylinder.triangles[:-32])
    assert len(lidless.open_edges()) == 32
    assert lidless.repaired().volume == pytest.approx(cylinder.volume)


def test_repair_fills_several_holes() -> None:
    sphere = Sphere(1.0).surface(32)
    holed = TriangleMesh(sphere.vertices, np.delete(sphere.triangles, [0, 200, 400], axis=0))
    assert holed.repaired().volume == pytest.approx(sphere.volume, rel=1e-3)


def test_repair_welds_corners_that_rounding_tore_apart() -> None:
    torn = soup(Sphere(1.0).surface(24))
    noise = np.random.default_rng(0).uniform(-1e-7, 1e-7, torn.vertices.shape)
    torn = TriangleMesh(torn.vertices + noise, torn.triangles)
    assert not torn.is_closed
    mended = torn.repaired()
    assert len(mended.vertices) == len(Sphere(1.0).surface(24).vertices)
    assert mended.volume == pytest.approx(Sphere(1.0).surface(24).volume, rel=1e-5)


def test_repair_closes_the_seam_of_a_t_junction() -> None:
    """One side of an edge has a vertex more than the other: the gap has no area, but it is a gap."""
    first, second, third = CUBE.triangles[0]
    middle = 0.5 * (CUBE.vertices[first] + CUBE.vertices[second])
    split = [[first, 8, third], [8, second, third]]
    mesh = TriangleMesh(np.concatenate([CUBE.vertices, [middle]]), np.concatenate([CUBE.triangles[1:], split]))
    assert len(mesh.open_edges()) == 3
    assert mesh.repaired().volume == pytest.approx(1.0)


@pytest.mark.parametrize("seed", range(4))
def test_repair_makes_winding_consistent(seed: int, torus) -> None:
    mesh = torus.mesh()
    scrambled = turned_at_random(mesh, seed)
    assert not scrambled.is_closed
    assert scrambled.repaired().volume == pytest.approx(mesh.volume)


def test_repair_turns_every_shell_outwards_and_cavities_inwards() -> None:
    inner = CUBE.scaled(0.5)
    core = CUBE.scaled(0.2)
    beside = CUBE.moved((3.0, 0.0, 0.0))
    mesh = turned_at_random(joined(CUBE, inner, core, beside), seed=3).repaired()
    assert mesh.volume == pytest.approx(1.0 - 0.125 + 0.008 + 1.0)
    points = [[0.4, 0.0, 0.0], [0.2, 0.0, 0.0], [0.0, 0.0, 0.0], [3.0, 0.0, 0.0], [1.5, 0.0, 0.0]]
    assert mesh.contains(points).tolist() == [True, False, True, True, False]


def test_repair_does_not_take_overlapping_bodies_for_cavities() -> None:
    mesh = joined(CUBE, CUBE.moved((0.5, 0.4, 0.3))).repaired()
    assert mesh.contains([[0.25, 0.2, 0.2], [-0.4, 0.0, 0.0], [0.9, 0.8, 0.7]]).all()


def test_repair_drops_doubled_triangles() -> None:
    doubled = TriangleMesh(CUBE.vertices, np.concatenate([CUBE.triangles, CUBE.triangles[:3]]))
    assert not doubled.is_closed
    assert len(doubled.repaired().triangles) == 12


def test_repair_keeps_cubes_that_share_an_edge(hinged) -> None:
    assert soup(hinged.mesh()).repaired().volume == pytest.approx(0.25)


def test_repair_says_when_it_cannot() -> None:
    inner_wall = TriangleMesh(
        np.concatenate([CUBE.vertices, [[0.0, 0.0, 0.0]]]), np.concatenate([CUBE.triangles, [[0, 1, 8], [1, 3, 8]]])
    )
    with pytest.raises(InvalidMesh, match="cannot be repaired: .*modelling program"):
        inner_wall.repaired()
    with pytest.raises(InvalidMesh, match="encloses no volume"):
        TriangleMesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]]).repaired()


@pytest.mark.parametrize("far", [1e6, -1e9, 1e29])
def test_a_mesh_of_which_nothing_remains_is_refused(far: float) -> None:
    mesh = Box((1.0, 0.5, 0.2)).surface()
    vertices = mesh.vertices.copy()
    vertices[3] = far
    with pytest.raises(InvalidMesh, match=r"nothing remains of the mesh when vertices closer than .* far away"):
        TriangleMesh(vertices, mesh.triangles).repaired()


def test_meshes_damaged_at_random_are_repaired_or_refused() -> None:
    mesh = Box((1.0, 0.5, 0.2)).surface()
    for seed in range(150):
        rng = np.random.default_rng(seed)
        vertices, triangles = mesh.vertices.copy(), mesh.triangles.copy()
        vertices[rng.integers(len(vertices))] = rng.choice([1e6, 1e-30, 0.0, 0.3])
        triangles[rng.integers(len(triangles))] = rng.integers(0, len(vertices), 3)
        triangles = triangles[rng.integers(len(triangles), size=rng.integers(1, 2 * len(triangles)))]
        if seed % 3 == 0:
            vertices *= rng.choice([1e-200, 1e-20, 1e9])
        with contextlib.suppress(InvalidMesh):
            assert TriangleMesh(vertices, triangles).repaired().is_closed
