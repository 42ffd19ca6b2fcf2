"""Isosurface stuffing: angle bounds, volumes, cavities of STL files, adversarial surfaces, lattices too coarse."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annelid.core.errors import InvalidMesh, InvalidValue, TooLarge
from annelid.robots import finger_mesh
from annelid.shapes import (
    Box,
    Capsule,
    Cylinder,
    Shape,
    SignedDistanceGrid,
    Sphere,
    TetMesh,
    TriangleMesh,
    tet_fill,
)
from annelid.shapes.tet import clipping
from annelid.shapes.tet.bcc import BccLattice
from annelid.shapes.tet.depths import depths
from annelid.shapes.tet.topology import boundary_of, dihedral_angles_of, volumes_of
from annelid.shapes.topology import edges_of, signed_volumes


def hollowed(outer: Shape, *cavities: Shape) -> TriangleMesh:
    """A shape's surface with the surfaces of others, inside out, in it."""
    parts = [outer.surface(32), *(cavity.surface(32) for cavity in cavities)]
    starts = np.cumsum([0] + [len(part.vertices) for part in parts])
    triangles = [part.triangles + start for part, start in zip(parts, starts[:-1], strict=True)]
    triangles[1:] = [each[:, ::-1] for each in triangles[1:]]
    return TriangleMesh(np.concatenate([part.vertices for part in parts]), np.concatenate(triangles))


SHAPES = {
    "ball in a box": lambda: hollowed(Box((0.1, 0.06, 0.05)), Sphere(0.018)),
    "two chambers in a capsule": lambda: hollowed(
        Capsule(0.02, 0.06, axis="x"),
        Capsule(0.01, 0.01, axis="x", center=(-0.02, 0.0, 0.0)),
        Box((0.02, 0.016, 0.016), center=(0.02, 0.0, 0.0)),
    ),
    "tilted tube": lambda: hollowed(Cylinder(0.02, 0.08), Cylinder(0.013, 0.06)).rotated((1.0, 2.0, 0.5), 0.7),
}


def assert_within_bounds(nodes: np.ndarray, tetrahedra: np.ndarray) -> None:
    angles = np.degrees(dihedral_angles_of(nodes, tetrahedra))
    assert angles.min() >= 10.7
    assert angles.max() <= 164.8
    assert volumes_of(nodes, tetrahedra).min() > 0.0


@pytest.mark.parametrize("name", SHAPES)
def test_stl_shapes_with_cavities(name: str, tmp_path: Path) -> None:
    drawn = SHAPES[name]()
    drawn.write(tmp_path / "shape.stl")
    shape = TriangleMesh.read(tmp_path / "shape.stl")
    mesh = tet_fill(shape)
    assert_within_bounds(mesh.nodes, mesh.tetrahedra)
    assert mesh.volume == pytest.approx(drawn.volume, rel=0.01)
    assert len(mesh.surfaces()) == 1 + len(mesh.cavities())
    assert len(mesh.cavities()) == (2 if "two" in name else 1)
    for cavity in mesh.cavities():
        assert not edges_of(cavity).balance.any()
        assert signed_volumes(mesh.nodes, cavity).sum() > 0.0
    on_surface = mesh.nodes[np.unique(mesh.boundary())]
    assert np.abs(shape.signed_distance(on_surface)).max() < 1e-6


def test_the_surface_of_a_finger_is_meshed_with_its_bellows() -> None:
    finger = finger_mesh(length=0.05, chambers=2, wall=3e-3, groove=3e-3)
    mesh = tet_fill(finger.surface(), pitch=1.6e-3, tolerance=0.03)
    assert_within_bounds(mesh.nodes, mesh.tetrahedra)
    assert len(mesh.cavities()) == 1


@pytest.mark.parametrize("seed", range(3))
def test_bounds_hold_for_the_worst_cut_points(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Random insides, and cut points where the limits for warping just do or do not apply."""
    generator = np.random.default_rng(seed)
    limits = np.array([clipping.LONG, clipping.SHORT, 1.0 - clipping.LONG, 1.0 - clipping.SHORT])
    places = np.concatenate([limits - 1e-6, limits + 1e-6, [1e-9, 0.5]])
    monkeypatch.setattr(clipping, "_crossings", lambda start, *_: generator.choice(places, len(start)))
    lattice = BccLattice.around(np.zeros(3), np.ones(3), 0.1)

    for density in (0.3, 0.5, 0.7, 0.9):
        random = generator.random(len(lattice.positions())) < density
        distance = np.where((np.abs(lattice.positions() - 0.5).max(axis=1) < 0.5) & random, -1.0, 1.0)
        nodes, tetrahedra = clipping.clipped(lattice, lambda _, distance=distance: distance)
        assert_within_bounds(nodes, tetrahedra)
        boundary_of(tetrahedra)  # refuses what does not conform


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_smooth_random_surfaces_keep_the_bounds(seed: int) -> None:
    generator = np.random.default_rng(seed)
    waves, phases = generator.normal(size=(6, 3)) * 12.0, generator.uniform(0.0, 6.0, 6)

    def distance(points: np.ndarray) -> np.ndarray:
        bumps = 0.1 * np.sin(points @ waves.T + phases).sum(axis=1)
        return np.maximum(bumps, np.abs(points - 0.5).max(axis=1) - 0.5)

    nodes, tetrahedra = clipping.clipped(BccLattice.around(np.zeros(3), np.ones(3), 0.1), distance)
    assert_within_bounds(nodes, tetrahedra)
    boundary_of(tetrahedra)


def test_lattice_tetrahedra_fill_space_with_one_shape() -> None:
    lattice = BccLattice.around(np.zeros(3), np.array([0.5, 0.3, 0.4]), 0.1)
    positions = lattice.positions()
    tetrahedra = lattice.tetrahedra(np.ones(len(positions), dtype=bool))
    assert volumes_of(positions, tetrahedra) == pytest.approx(0.1**3 / 12.0)
    angles = np.sort(np.degrees(dihedral_angles_of(positions, tetrahedra)), axis=1)
    assert np.abs(angles - [60.0, 60.0, 60.0, 60.0, 90.0, 90.0]).max() < 1e-9
    boundary_of(tetrahedra)


def test_depths_are_signed_right_and_exact_at_the_surface() -> None:
    capsule = Capsule(0.2, 0.5, axis=(1.0, 1.0, 0.3))
    low, high = capsule.bounds()
    lattice = BccLattice.around(low, high, 0.03)
    true = -capsule.signed_distance(lattice.positions())
    asked: list[int] = []

    def counting(points: np.ndarray) -> np.ndarray:
        asked.append(len(points))
        return capsule.signed_distance(points)

    found = depths(lattice, counting)
    near = np.abs(true) < 0.4 * 0.03
    assert np.array_equal(np.sign(found), np.sign(true))
    assert found[near] == pytest.approx(true[near])
    assert (np.abs(found) <= np.abs(true) + 1e-12).all()
    assert sum(asked) < 0.6 * len(true)


def test_volume_of_a_ball_converges_with_order_two() -> None:
    ball = Sphere(1.0)
    errors = [abs(tet_fill(ball, pitch=pitch, tolerance=None).volume / ball.volume - 1.0) for pitch in (0.4, 0.2, 0.1)]
    assert errors[0] / errors[1] > 3.0
    assert errors[1] / errors[2] > 3.0


def test_faces_on_lattice_planes_are_exact() -> None:
    mesh = tet_fill(Box((0.4, 0.3, 0.2), center=(0.2, 0.15, 0.1)), pitch=0.05)
    assert mesh.volume == pytest.approx(0.024)


def test_without_a_pitch_the_tolerance_is_kept() -> None:
    ball = Sphere(0.02)
    coarse, fine = tet_fill(ball, tolerance=0.05), tet_fill(ball, tolerance=0.002)
    assert coarse.volume == pytest.approx(ball.volume, rel=0.05)
    assert fine.volume == pytest.approx(ball.volume, rel=0.002)
    assert len(coarse.tetrahedra) < len(fine.tetrahedra)


def test_baked_and_homemade_distances_can_be_filled() -> None:
    class Gyroid:
        def bounds(self) -> tuple[np.ndarray, np.ndarray]:
            return np.zeros(3), np.ones(3)

        def signed_distance(self, points: np.ndarray) -> np.ndarray:
            x, y, z = 2.0 * np.pi * np.asarray(points).T
            sheet = (np.sin(x) * np.cos(y) + np.sin(y) * np.cos(z) + np.sin(z) * np.cos(x)) / 10.0
            return np.maximum(sheet, np.abs(np.asarray(points) - 0.5).max(axis=1) - 0.5)

    for solid, volume in ((Gyroid(), 0.5), (SignedDistanceGrid.bake(Sphere(0.5), resolution=40), Sphere(0.5).volume)):
        mesh = tet_fill(solid, pitch=0.05)
        assert_within_bounds(mesh.nodes, mesh.tetrahedra)
        assert mesh.volume == pytest.approx(volume, rel=0.02)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"pitch": 0.0}, "pitch = 0"),
        ({"pitch": float("nan")}, "pitch = nan"),
        ({"pitch": 1e-6}, "too many"),
        ({"tolerance": -1.0}, "tolerance = -1"),
    ],
)
def test_bad_options_are_refused(options: dict[str, float], sentence: str) -> None:
    with pytest.raises(InvalidValue, match=sentence):
        tet_fill(Sphere(1.0), **options)


def test_lattices_that_are_too_coarse_say_so() -> None:
    shape = hollowed(Box((1.0, 1.0, 1.0)), Sphere(0.05))
    with pytest.raises(InvalidMesh, match="1 outer surfaces and 1 cavities become 1 and 0; use one of about 0.18 m"):
        tet_fill(shape, pitch=0.3, tolerance=0.2)
    with pytest.raises(InvalidMesh, match=r"the volume of the cavity at \(.*\) m is .* off, more than 5 %"):
        tet_fill(shape, pitch=0.05)
    with pytest.raises(InvalidMesh, match="volume is -.* % off, more than 1 %"):
        tet_fill(Sphere(1.0), pitch=0.7)
    with pytest.raises(InvalidMesh, match="none of its points lies inside"):
        tet_fill(Sphere(0.01, center=(0.3, 0.1, 0.2)), pitch=1.0)
    assert isinstance(tet_fill(shape, pitch=0.3, tolerance=None), TetMesh)


def test_inner_surfaces_must_face_inwards() -> None:
    shape = hollowed(Box((1.0, 1.0, 1.0)), Sphere(0.3))
    inner = np.arange(len(shape.triangles)) >= 12
    filled = TriangleMesh(shape.vertices, np.where(inner[:, None], shape.triangles[:, ::-1], shape.triangles))
    with pytest.raises(InvalidMesh, match="2 closed surfaces that face outwards lie inside others"):
        tet_fill(filled)
    assert len(tet_fill(filled.repaired()).cavities()) == 1


def beside(*shapes: Shape) -> TriangleMesh:
    """Surfaces of shapes in one mesh, all facing outwards."""
    apart = hollowed(*shapes)
    first = np.arange(len(apart.triangles)) < len(shapes[0].surface(32).triangles)
    return TriangleMesh(apart.vertices, np.where(first[:, None], apart.triangles, apart.triangles[:, ::-1]))


def through_itself(width: float) -> TriangleMesh:
    """A closed tube along an eight."""
    along = np.linspace(0.0, 2.0 * np.pi, 60, endpoint=False)[:, None]
    path = np.concatenate([np.sin(along), np.sin(2.0 * along), 0.1 * np.cos(along)], axis=1)
    ring = width * np.array([(0.0, 1.0), (-1.0, 0.0), (0.0, -1.0), (1.0, 0.0)])
    ahead = np.roll(path, -1, axis=0) - np.roll(path, 1, axis=0)
    side = np.cross(ahead, (0.0, 0.0, 1.0))
    side /= np.linalg.norm(side, axis=1)[:, None]
    vertices = path[:, None] + ring[:, :1] * side[:, None] + ring[:, 1:] * np.array((0.0, 0.0, 1.0))
    i, j = np.divmod(np.arange(240), 4)
    here, next_here = 4 * i + j, 4 * i + (j + 1) % 4
    there, next_there = (here + 4) % 240, (next_here + 4) % 240
    triangles = [np.stack([here, next_here, next_there], 1), np.stack([here, next_there, there], 1)]
    return TriangleMesh(vertices.reshape(-1, 3), np.concatenate(triangles))


@pytest.mark.parametrize(
    ("mesh", "fault"),
    [
        (beside(Sphere(0.3), Sphere(0.3, center=(0.3, 0.0, 0.0))), "overlap or touch"),
        (beside(Box((1.0, 0.2, 0.2)), Box((0.2, 0.2, 1.0), center=(0.07, 0.0, 0.03))), "overlap or touch"),
        (beside(Box((1.0, 0.2, 0.2)), Box((0.2, 0.2, 0.2), center=(0.13, 0.2, 0.0))), "overlap or touch"),
        (hollowed(Box((1.0, 0.2, 0.2)), Box((0.2, 0.1, 0.2), center=(0.0, 0.0, 0.05))), "overlap or touch"),
        (hollowed(Box((1.0, 0.4, 0.4)), Sphere(0.1), Sphere(0.1, center=(0.1, 0.0, 0.0))), "overlap or touch"),
        (hollowed(Box((1.0, 0.4, 0.4)), Box((0.2, 0.2, 0.2), center=(0.4, 0.0, 0.0))), "overlap or touch, as at"),
        (hollowed(Box((1.0, 0.4, 0.4)), Box((0.2, 0.4, 0.4), center=(0.4, 0.0, 0.0))), "overlap or touch"),
        (hollowed(Box((1.0, 0.4, 0.4)), Sphere(0.2), Sphere(0.1)), "a cavity of the mesh lies .* in another cavity"),
        (hollowed(Box((1.0, 0.4, 0.4)), Sphere(0.1, center=(2.0, 0.0, 0.0))), "a cavity of the mesh lies out of"),
        (through_itself(0.3), "overlap or touch"),
    ],
)
def test_surfaces_that_overlap_are_refused_before_anything_is_filled(mesh: TriangleMesh, fault: str) -> None:
    """Finer pitches were tried for minutes, up to 12 GB of memory: none keeps these surfaces apart."""
    with pytest.raises(InvalidMesh, match=f"{fault}.* in a modelling program"):
        tet_fill(mesh)
    assert len(tet_fill(mesh, pitch=0.05, tolerance=None).tetrahedra) > 0


def bad_meshes() -> list[tuple[TriangleMesh, str]]:
    """Random boxes with walls, gaps and fins that no mesh of a reasonable size has cells for."""
    generator = np.random.default_rng(5)
    found = []
    for _ in range(4):
        size, thin = generator.uniform(0.02, 0.06, 3), 10.0 ** generator.uniform(-6.0, -4.5)
        box, smaller = Box(tuple(size)), 0.5 * size
        aside = (0.5 * (size[0] - smaller[0]) - thin, 0.0, 0.0)
        found += [
            (hollowed(box, Box(tuple(size - 2.0 * thin))), "a wall, or a gap .* is thinner"),
            (hollowed(box, Box(tuple(smaller), center=aside)).rotated((1.0, 2.0, 0.5), 0.6), "a wall, or a gap"),
            (beside(box, Box(tuple(size), center=(size[0] + thin, 0.0, 0.0))), "a wall, or a gap"),
            (Box((size[0], size[1], 0.1 * thin)).surface(), "a wall, or a gap|overlap or touch"),
        ]
    return found


def test_what_needs_too_many_cells_is_refused_with_the_place_before_anything_is_filled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """They took 23 GB."""
    monkeypatch.setattr("annelid.shapes.tet.stuffing._filled", lambda *_: pytest.fail("it was filled"))
    for mesh, fault in bad_meshes():
        with pytest.raises(InvalidMesh, match=rf"({fault}).* at \(.*\) m"):
            tet_fill(mesh)


def test_no_mesh_is_finer_than_the_most_tetrahedra_unless_a_pitch_is_given() -> None:
    apart = beside(Sphere(0.01), Sphere(0.01, center=(0.7, 0.6, 0.5)))
    with pytest.raises(InvalidMesh, match="is too coarse: .* A mesh of more than 400000 tetrahedra is made where"):
        tet_fill(apart, tolerance=1e-4)


def test_meshes_larger_than_the_memory_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("annelid.core.memory.machine_memory", lambda: 50_000_000)
    with pytest.raises(TooLarge, match="a mesh of .* tetrahedra needs about .* choose a pitch above"):
        tet_fill(Sphere(0.02), pitch=1e-3)
    with pytest.raises(TooLarge, match="a lattice of .* points needs about"):
        tet_fill(Sphere(0.02), pitch=2e-4)


def test_long_thin_triangles_do_not_cross() -> None:
    rod = Cylinder(0.01, 0.03, axis=(1.0, 0.3, 0.1)).surface(700)
    assert rod.query().crossing(1e-5) is None
    assert hollowed(Cylinder(0.01, 0.03), Cylinder(0.005, 0.02)).query().crossing(1e-5) is None


def test_parts_side_by_side_and_in_a_chamber_are_filled() -> None:
    apart = beside(Box((1.0, 0.2, 0.2)), Box((1.0, 0.2, 0.2), center=(0.0, 0.4, 0.0)))
    assert len(tet_fill(apart, pitch=0.05, tolerance=0.1).surfaces()) == 2


def test_open_meshes_and_things_without_an_inside_are_refused() -> None:
    box = Box((1.0, 1.0, 1.0)).surface()
    with pytest.raises(InvalidMesh, match="3 edges are open"):
        tet_fill(TriangleMesh(box.vertices, box.triangles[1:]))
    with pytest.raises(InvalidValue, match="type int cannot be filled"):
        tet_fill(3)  # type: ignore[arg-type]
