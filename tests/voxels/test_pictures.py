"""Snapshots: thin plates in the x-z plane, coloured by area; and the scenes that make them."""

from dataclasses import replace

import numpy as np
import pytest

from annelid import voxels
from annelid.core.errors import UnknownName
from annelid.core.snapshot import Look, Mesh
from annelid.scenes.voxel_listing import VoxelListing
from annelid.scenes.voxel_worm import VoxelWorm
from annelid.voxels import Voxel


def meshes(simulation: object, **look: object) -> dict[str, Mesh]:
    snapshot = simulation.snapshot(Look(**look))  # type: ignore[attr-defined]
    return {part.name: part for part in snapshot.parts if isinstance(part, Mesh)}


def volume(mesh: Mesh) -> float:
    a, b, c = (mesh.vertices[mesh.triangles[:, i]] for i in range(3))
    return float(np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6.0)


def test_colours_follow_the_area() -> None:
    simulation = voxels.simulation([voxels.box(1, 1, Voxel.v1())] * 3, gravity=(0.0, 0.0, 0.0), device="cpu")
    simulation.solver.set_controls(simulation.state, np.array([1.0, 0.0, -1.0]))
    simulation.step(200)
    drawn = {name: mesh for name, mesh in meshes(simulation).items() if volume(mesh) > 1e-6}
    red, green, yellow = (drawn[f"robots-{n}"] for n in (0, 3, 6))
    assert len(drawn) == 3
    assert red.color[0] > 2 * red.color[1]
    assert green.color[1] > 2 * green.color[0]
    assert min(yellow.color[:2]) > 2 * yellow.color[2]
    depth = 0.4 * 3.0
    assert [volume(m) / depth for m in (red, green, yellow)] == pytest.approx([7.2, 9.0, 10.8], rel=1e-3)


def test_plates_lie_in_the_x_z_plane_and_worlds_in_a_grid() -> None:
    simulation = voxels.simulation([voxels.worm(3)] * 4, gravity=(0.0, 0.0, 0.0), device="cpu")
    mesh = meshes(simulation, fields=("area",))["robots"]
    assert np.ptp(mesh.vertices[:, 1]) == pytest.approx(1.2)
    places = mesh.vertices.reshape(4, -1, 3).mean(axis=1)
    assert len(np.unique(places[:, 0].round(6))) == 2
    assert len(np.unique(places[:, 2].round(6))) == 2
    np.testing.assert_allclose(mesh.fields["area"].values, 1.0, atol=1e-6)


def test_topology_does_not_change() -> None:
    simulation = replace(VoxelWorm(), length=4).build(device="cpu")
    before = meshes(simulation)
    simulation.step(30)
    after = meshes(simulation)
    assert before.keys() == after.keys()
    assert all(before[name].triangles is after[name].triangles for name in before if name.startswith("robots"))


def test_fields_masses_and_scaffolding() -> None:
    simulation = voxels.simulation(voxels.biped(), obstacles=[voxels.terrain("flat")], device="cpu")
    assert simulation.fields == ("area", "control", "material")
    with pytest.raises(UnknownName, match="stress"):
        simulation.snapshot(Look(fields=("stress",)))
    parts = {
        part.name: part for part in simulation.snapshot(Look(spheres=True, lines=True, fields=("material",))).parts
    }
    assert len(parts["masses"].centers) == 24
    assert len(parts["scaffolding"].segments) == 36


@pytest.mark.parametrize("scene", [VoxelWorm(robots=2), VoxelListing()])
def test_scenes_run(scene: VoxelWorm | VoxelListing) -> None:
    simulation = scene.build(device="cpu")
    simulation.run(2.0)
    assert all(np.isfinite(m.value) for m in scene.measure(simulation))


def test_listing_has_the_two_measures_of_the_paper() -> None:
    simulation = VoxelListing().build(device="cpu")
    simulation.run(2.0)
    velocity, effort = VoxelListing().measure(simulation)
    assert velocity.unit == "m/s"
    assert effort.value == pytest.approx(4.0, rel=0.02)  # eight sines
