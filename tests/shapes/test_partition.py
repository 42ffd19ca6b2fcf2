"""A mesh sliced by a grid and divided among cells: nothing is lost, and what remains of it is closed."""

from __future__ import annotations

import numpy as np
import pytest
import trimesh
from hypothesis import given
from hypothesis import strategies as st

from annelid.shapes import Box, Sphere, TriangleMesh
from annelid.shapes.lattice import Lattice
from annelid.shapes.partition import Partition
from annelid.shapes.slicing import cells_of, sliced
from annelid.shapes.topology import edges_of, signed_volumes

RING = trimesh.creation.torus(1.0, 0.3, 24, 12)
MESHES = {
    "ball": Sphere(1.0).surface(resolution=16),
    "box in the planes of the grid": Box((2.0, 1.0, 1.5)).surface(),
    "tilted box": Box((2.0, 1.0, 1.5)).surface().rotated((1.0, 2.0, 3.0), 0.7),
    "ring": TriangleMesh(RING.vertices, RING.faces),
}


@given(
    st.integers(1, 9),
    st.floats(0.05, 2.0),
    st.lists(st.floats(-0.5, 0.5), min_size=3, max_size=3),
    st.sampled_from(sorted(MESHES)),
)
def test_slices_are_the_same_surface_in_cells(count: int, pitch: float, shift: list[float], name: str) -> None:
    mesh, counts = MESHES[name], (count, count, 2 * count)
    points, triangles = sliced(mesh.vertices / max(pitch, 0.1) + shift, mesh.triangles, counts)
    cells, corners = cells_of(points, triangles, counts), points[triangles]
    assert not edges_of(triangles).balance.any()
    assert signed_volumes(points, triangles).sum() == pytest.approx(mesh.volume / max(pitch, 0.1) ** 3, rel=1e-4)
    low, high = np.where(cells == 0, -np.inf, cells), np.where(cells == np.array(counts) - 1, np.inf, cells + 1)
    assert (corners >= low[:, None] - 1e-5).all()
    assert (corners <= high[:, None] + 1e-5).all()


def closed(triangles: np.ndarray) -> bool:
    """Whether each edge is shared; walls may be folded over, thus their edges need not run both ways."""
    sides = np.sort(np.stack([triangles, np.roll(triangles, -1, axis=1)], axis=-1).reshape(-1, 2), axis=1)
    return bool((np.unique(sides, axis=0, return_counts=True)[1] % 2 == 0).all())


@pytest.mark.parametrize("pitch", [0.5, 0.2])
@pytest.mark.parametrize("name", MESHES)
def test_what_remains_is_closed(name: str, pitch: float) -> None:
    """Whatever cells are taken away; and two halves are as large as the whole."""
    mesh = MESHES[name]
    parts = Partition(mesh, Lattice.fill(mesh, pitch))
    points, cells = np.concatenate([parts.points, parts.walls.points]), len(parts.lattice.corners)
    for seed in range(3):
        chosen = np.random.default_rng(seed).random(cells) < 0.5
        volumes = []
        for standing in (chosen, ~chosen):
            sides = standing[parts.walls.owners]
            ahead, behind = sides[:, 0] & ~sides[:, 1], sides[:, 1] & ~sides[:, 0]
            walls = [parts.walls.triangles[ahead], parts.walls.triangles[behind][:, ::-1]]
            shown = np.concatenate([parts.triangles[standing[parts.walls.skin]], *walls])
            assert closed(shown)
            volumes.append(signed_volumes(points, shown).sum())
        assert min(volumes) > 0.0
        assert sum(volumes) == pytest.approx(mesh.volume, rel=1e-9)


def test_surfaces_on_both_sides_of_a_gap_belong_to_their_own_side() -> None:
    """A slit that is narrower than a cell, and lies inside one: each of its sides is held by the matter behind it."""
    low, high = (Box((1.0, 1.0, 0.45), center=(0.0, 0.0, z)).surface() for z in (-0.255, 0.255))
    both = TriangleMesh(
        np.concatenate([low.vertices, high.vertices]),
        np.concatenate([low.triangles, high.triangles + len(low.vertices)]),
    )
    parts = Partition(both, Lattice.fill(both, 0.13))
    height = parts.lattice.cell_centers[parts.lattice.cells][parts.owners][:, 2]
    side = parts.points[parts.triangles].mean(axis=1)[:, 2]
    assert (np.sign(height) == np.sign(side)).all()
